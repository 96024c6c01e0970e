r"""Choose the rows that carry a weighted thinning: greedily, then by exchange.

A support S is judged by the best weights it allows. With t the target mean at the rows and
:math:`k_\varepsilon(i, j) = k(x_i, x_j) + c + \varepsilon [i = j]`,

.. math:: \min_w \; \mathrm{MMD}^2(w) + c \, (1 - \textstyle\sum w)^2 + \varepsilon |w|^2
          = \mathrm{const} - |P_S \mu|^2,

where P_S projects on the span of the :math:`k_\varepsilon(s, \cdot)`: a support is as good as
its span is close to the mean. The constant c stands for the rule that weights sum to one (0
where they need not); the ridge :math:`\varepsilon` keeps the weights small, and with them
positive. What a row i adds to a span is

.. math:: g_i = r_i^2 / p_i, \qquad r = t - P_S t, \qquad p_i = k_\varepsilon(i, i)
          - |P_S k_\varepsilon(i, \cdot)|^2.

*Start*: add the row with the largest g_i, m times. *Exchange*: take one row out, put the one with
the largest g_i in, for each in turn. Where weights must not be negative only rows with
:math:`r_i > 0` may come in (their weight is :math:`r_i / p_i`), and a row whose weight is
negative leaves whatever it adds. The ridge follows the error down: `RIDGE` times the MMD^2
reached, per :math:`|w|^2`. Good supports turn out to have positive weights, as the nodes of
Gaussian quadrature do.

All of this is done in an orthonormal basis of the span and not with an inverse of the Gram
matrix, which loses all digits where the Gram matrix is nearly singular, the usual case.

Each sweep looks at one part of the rows, every q-th of them, and the next sweep at the next
part, so that the cost does not depend on the number of rows: with N rows looked at, a sweep
takes about 3 m^2 N operations per m/4 exchanges and 4 m N for each exchange, and the memory is
about 3 m N numbers: 20 MB for 256 rows of 100,000.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from herder.kernel._lanes import Progress
from herder.kernel.candidates import Candidates

__all__ = ["Task", "choose_support", "lower_factor"]

#: Rows looked at in a sweep, at least. Measured on 10,000 rows: 2,500 at a time are as good as
#: all, since the next sweep looks at others, and four times as quick.
POOL = 2048

#: Rows outside the support in a sweep, at least, when the support is large.
SPARE = 1024

#: Sweeps at most, and sweeps that lower MMD^2 by less than `LEAST_GAIN` of it before the search
#: ends.
SWEEPS, PATIENCE, LEAST_GAIN = 12, 2, 0.02

#: An exchange must lower the loss by this part of it, or it is not worth its cost.
LEAST_STEP = 1e-4

#: Gains this close, relative to the largest, tie, and the lowest row wins. They pass through the
#: square root of a nearly singular matrix and are known to about this many digits.
TIES = 1e-6

#: Penalty on |w|^2, as a part of the MMD^2 reached, and how far it may fall in a sweep.
RIDGE, RIDGE_FALL = 0.1, 30.0

#: First and last ridge, relative to the mean of k(x, x): the last is a thousand times the
#: rounding error of a kernel value.
FIRST_RIDGE, LAST_RIDGE = 1e-6, 2e-13

#: Exchanges between two rebuilds of the basis, per row of the support.
DELAY = 0.25


@dataclass(frozen=True)
class Task:
    """What a support is chosen for, and from.

    Parameters
    ----------
    target : array of shape (n_rows,)
        Target mean at every row.
    norm : float
        Squared norm of the target mean, or a guess of it.
    n_select : int
        Size of the support.
    rows : array of int
        Rows to choose from, in order; ``fixed`` is among them.
    fixed : array of int
        Rows that are in whatever happens.
    weigh : callable
        The weights of a support that the mode gives, and MMD^2 without the norm.
    """

    target: NDArray[np.float64]
    norm: float
    n_select: int
    rows: NDArray[np.intp]
    fixed: NDArray[np.intp]
    weigh: Callable[[NDArray[np.intp]], tuple[NDArray[np.float64], float]]


def choose_support(
    candidates: Candidates, task: Task, progress: Progress | None = None
) -> NDArray[np.intp]:
    """Choose ``task.n_select`` distinct rows whose best weights come close to the target.

    The best support met is returned, judged by ``task.weigh`` after each sweep.
    """
    scale = _scale(candidates.diagonal[task.rows])
    ridge = FIRST_RIDGE * scale
    pools = _pools(task)
    support = _greedy(candidates, task, next(pools), scale, ridge)
    weights, value = task.weigh(support)
    best, lowest, idle = support, value, 0
    for sweep in range(SWEEPS):
        error = RIDGE * max(task.norm + value, 0.0)
        wanted = max(error / float(weights @ weights), ridge / RIDGE_FALL)
        ridge = max(LAST_RIDGE * scale, min(ridge, wanted))
        basis = _Basis(candidates, task, support, next(pools), scale, ridge)
        moved = _exchange(basis, task)
        support = basis.support
        weights, value = task.weigh(support)
        idle = 0 if value < lowest - LEAST_GAIN * max(task.norm + lowest, 0.0) else idle + 1
        if value < lowest:
            best, lowest = support, value
        if progress is not None:
            progress((sweep + 1) / SWEEPS, "exchange with weights")
        if idle >= PATIENCE or (moved == 0 and len(basis.rows) == len(task.rows)):
            break
    return best


def lower_factor(gram: NDArray[np.float64], ridge: float) -> NDArray[np.float64] | None:
    """Cholesky factor of ``gram`` plus ``ridge`` on its diagonal; None if it has none."""
    matrix = gram.copy()
    matrix[np.diag_indices_from(matrix)] += ridge
    try:
        return cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None


def _scale(diagonal: NDArray[np.float64]) -> float:
    """Mean of k(x, x), or 1 where all rows sit at the zero of the kernel."""
    mean = float(diagonal.mean())
    return mean if mean > 0 else 1.0


def _pools(task: Task) -> Iterator[NDArray[np.intp]]:
    """Every q-th of the rows, from the first, the second, ... on, round and round."""
    stride = max(1, len(task.rows) // max(POOL, task.n_select + SPARE))
    while True:
        for first in range(stride):
            yield task.rows[first::stride]


def _first_top(scores: NDArray[np.float64], rows: NDArray[np.intp]) -> int:
    """Position of the largest score; among ties the one with the lowest row."""
    tied = np.flatnonzero(scores >= scores.max() * (1 - TIES))
    return int(tied[np.argmin(rows[tied])])


def _gains(
    residual: NDArray[np.float64], power: NDArray[np.float64], ridge: float
) -> NDArray[np.float64]:
    """Return what each row adds to the span; the power of a new row is never below the ridge."""
    used = np.maximum(residual, 0.0)
    return used * used / np.maximum(power, ridge)


def _greedy(
    candidates: Candidates, task: Task, pool: NDArray[np.intp], shift: float, ridge: float
) -> NDArray[np.intp]:
    """Add the row with the largest gain, again and again; the Newton basis grows along."""
    rows = np.union1d(pool, task.fixed)
    forced = np.searchsorted(rows, task.fixed)
    newton = np.empty((task.n_select, len(rows)))
    power = candidates.diagonal[rows] + (shift + ridge)
    residual = task.target[rows] + shift
    free = np.ones(len(rows), bool)
    picks = np.empty(task.n_select, np.intp)
    for i in range(task.n_select):
        if i < len(forced):
            j = int(forced[i])
        else:
            gains = _gains(residual, power, ridge)
            gains[~free] = -1.0
            if not gains.max() > 0:  # nothing left to gain: widen the span
                gains = np.where(free, np.maximum(power, ridge), -1.0)
            j = _first_top(gains, rows)
        column = candidates.gram(rows[j : j + 1], rows)[0] + shift
        column[j] += ridge
        column -= newton[:i, j] @ newton[:i]
        height = math.sqrt(max(float(power[j]), ridge))
        column /= height
        newton[i] = column
        residual -= float(residual[j]) / height * column
        power -= column * column
        free[j] = False
        picks[i] = j
    return rows[picks]


class _Basis:
    """Orthonormal basis of the span of a support, as values at the rows of a pool.

    Functions in the span are vectors of coordinates; an exchange appends one basis function, so
    that all earlier coordinates stay valid, and after `DELAY` of them the basis is built anew.
    ``dual[:, s]`` holds the function that is one at support row s and zero at the others: its
    direction is what the span loses when s leaves, its product with the target the weight of s.
    """

    def __init__(
        self,
        candidates: Candidates,
        task: Task,
        support: NDArray[np.intp],
        pool: NDArray[np.intp],
        shift: float,
        ridge: float,
    ) -> None:
        self.candidates, self.shift, self.ridge = candidates, shift, ridge
        self.rows = np.concatenate([support, np.setdiff1d(pool, support, assume_unique=True)])
        self.places = np.arange(len(support))
        self.target = task.target[self.rows] + shift
        self.delay = math.ceil(DELAY * len(support))
        self.values = np.empty((len(support) + self.delay, len(self.rows)))
        self.build()

    @property
    def support(self) -> NDArray[np.intp]:
        """Rows in the support."""
        return self.rows[self.places]

    def build(self) -> None:
        """Orthonormalise the kernel functions of the support anew.

        The ridge grows tenfold until it covers the rounding errors of the kernel values.
        """
        m = len(self.places)
        size = m + self.delay
        cross = self.candidates.gram(self.support, self.rows)
        cross += self.shift
        gram = cross[:, self.places]
        ridge = self.ridge
        while (factor := lower_factor(gram, ridge)) is None:
            ridge *= 10
        self.ridge = ridge
        cross[np.arange(m), self.places] += ridge
        basis = solve_triangular(factor, cross, lower=True, overwrite_b=True, check_finite=False)
        self.size = m
        self.values[:m] = basis
        self.corners = np.zeros((size, m))  # coordinates of the kernel functions
        self.corners[:m] = factor.T
        self.dual = np.zeros((size, m))
        self.dual[:m] = solve_triangular(factor, np.eye(m), lower=True, check_finite=False)
        self.aim = np.zeros(size)  # coordinates of the target
        self.aim[:m] = solve_triangular(
            factor, self.target[self.places], lower=True, check_finite=False
        )
        self.residual = self.target - self.aim[:m] @ basis
        diagonal = self.candidates.diagonal[self.rows] + (self.shift + ridge)
        self.power = diagonal - np.einsum("ij,ij->j", basis, basis)
        # The dual functions at the rows: as built, and what exchanges since then have added.
        self.built = self.dual[:m].T @ basis
        self.kept = np.ones(m)
        self.added = np.empty((2 * self.delay, len(self.rows)))
        self.shares = np.zeros((2 * self.delay, m))
        self.n_added = 0

    def without(
        self, k: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Direction the span loses without its k-th row; residual and power then."""
        dual = self.dual[: self.size, k]
        length = math.sqrt(float(dual @ dual))
        direction = dual / length
        lost = self.shares[: self.n_added, k] @ self.added[: self.n_added]
        lost += self.kept[k] * self.built[k]
        lost /= length
        self.lost = lost
        residual = self.residual + float(direction @ self.aim[: self.size]) * lost
        return direction, residual, self.power + lost * lost

    def swap(
        self,
        k: int,
        j: int,
        direction: NDArray[np.float64],
        residual: NDArray[np.float64],
        power: NDArray[np.float64],
    ) -> None:
        """Put pool row j in place of the k-th support row; the rest is what `without` gave."""
        size = self.size
        dual, values = self.dual[:size], self.values[:size]
        column = self.candidates.gram(self.rows[j : j + 1], self.rows)[0] + self.shift
        column[j] += self.ridge
        place = values[:, j].copy()
        leaving = direction @ dual
        inner = place @ dual - float(place @ direction) * leaving
        inner[k] = 0.0
        fresh = place - self.corners[:size] @ inner
        self.aim[:size] -= float(direction @ self.aim[:size]) * direction
        # A row that is new to the basis brings at least the ridge, and a function that is zero at
        # all rows it was built from; one that was in it before lies in its span.
        rest = float(column[j] - place @ place)
        if rest > 0.5 * self.ridge:
            within, profile = np.stack([place, fresh]) @ values
            height = math.sqrt(rest)
            self.values[size] = (column - within) / height
            profile += height * self.values[size]
            place, fresh = np.append(place, height), np.append(fresh, height)
            direction = np.append(direction, 0.0)
            self.size = size = size + 1
        else:
            profile = fresh @ values
        length = math.sqrt(float(fresh @ fresh))
        fresh /= length
        profile /= length
        inner /= length
        step = float(residual[j]) / length
        self.residual = residual - step * profile
        self.power = power - profile * profile
        self.aim[:size] += step * fresh
        self.dual[:size] -= np.column_stack([direction, fresh]) @ np.stack([leaving, inner])
        self.dual[:size, k] = fresh / length
        self.corners[:size, k] = place
        self.corners[size:, k] = 0.0
        n = self.n_added
        self.added[n : n + 2] = self.lost, profile
        self.shares[n : n + 2] = -leaving, -inner
        self.shares[:, k] = 0.0
        self.shares[n + 1, k] = 1 / length
        self.kept[k] = 0.0
        self.n_added = n + 2
        self.places[k] = j
        if self.n_added == len(self.added):
            self.build()


def _exchange(basis: _Basis, task: Task) -> int:
    """Try to exchange each row of the support once; return how many were exchanged."""
    moved = 0
    keep = np.isin(basis.support, task.fixed)
    total = task.norm + basis.shift
    for k in np.flatnonzero(~keep).tolist():
        direction, residual, power = basis.without(k)
        gains = _gains(residual, power, basis.ridge)
        held = float(gains[basis.places[k]])
        gains[basis.places] = -1.0
        j = _first_top(gains, basis.rows)
        loss = max(total - float(basis.aim @ basis.aim), 0.0)
        if gains[j] > held * (1 + TIES) + LEAST_STEP * loss:
            basis.swap(k, j, direction, residual, power)
            moved += 1
    return moved
