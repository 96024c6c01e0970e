r"""Choose the rows that carry a weighted thinning: greedily, then by exchange.

A support S is judged by the best weights it allows. With t the target mean at the rows and
:math:`k_\varepsilon(i, j) = k(x_i, x_j) + c + \varepsilon [i = j]`,

.. math:: \min_w \; \mathrm{MMD}^2(w) + c \, (1 - \textstyle\sum w)^2 + \varepsilon |w|^2
          = \mathrm{const} - |P_S \mu|^2,

where P_S projects on the span of the :math:`k_\varepsilon(s, \cdot)`: a support is as good as
its span is close to the mean. The constant c, the mean of k(x, x), asks for a sum of one; the
ridge :math:`\varepsilon` keeps the weights small, and with them positive. What a row i adds to a
span is

.. math:: g_i = r_i^2 / p_i, \qquad r = t - P_S t, \qquad p_i = k_\varepsilon(i, i)
          - |P_S k_\varepsilon(i, \cdot)|^2.

*Start*: add the row with the largest g_i, m times. *Exchange*: take one row out, put the one with
the largest g_i in, for each in turn. Only rows with :math:`r_i > 0` may come in (their weight is
:math:`r_i / p_i`), and a row whose weight is negative leaves whatever it adds. The ridge follows
the error down: `RIDGE` times the MMD^2 reached, per :math:`|w|^2`. Good supports turn out to have
positive weights, as the nodes of Gaussian quadrature do. So the search keeps to this rule for
weights of any sign as well, where it ends in better supports more often than not; small supports
are also searched for without it.

Each sweep looks at one part of the rows, every q-th of them, and the next sweep at the next
part, so that the cost does not depend on the number of rows: with N rows looked at, a sweep
takes about 3 m^2 N operations per m/4 exchanges and 4 m N for each exchange, and the memory is
about 4 m N numbers: 20 MB for 256 rows of 100,000.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from herder.core.lanes import Progress
from herder.kernel.candidates import Candidates
from herder.kernel.span import LAST_RIDGE, Span

__all__ = ["Search", "choose_support", "squared_length"]

#: Rows looked at in a sweep, at least. Measured on 10,000 rows: 2,500 at a time are as good as
#: all, since the next sweep looks at others, and four times as quick.
POOL = 2048

#: Rows outside the support in a sweep, at least, when the support is large.
SPARE = 1024

#: Sweeps at most; and once the ridge has come down, sweeps that lower MMD^2 by less than
#: `LEAST_GAIN` of it before the search ends.
SWEEPS, PATIENCE, LEAST_GAIN = 12, 2, 0.02

#: An exchange must lower the loss by this part of it, or it is not worth its cost.
LEAST_STEP = 1e-4

#: Residuals are known to about this part of the mean of k(x, x): gains below that are noise.
NOISE = 64 * float(np.finfo(np.float64).eps)

#: Gains this close, relative to the largest, tie, and the lowest row wins. The square root of a
#: nearly singular matrix leaves them about this many digits.
TIES = 1e-6

#: Penalty on |w|^2, as a part of the MMD^2 reached, and how far it may fall in a sweep.
RIDGE, RIDGE_FALL = 0.1, 30.0

#: First ridge, relative to the mean of k(x, x). Supports of up to `SMALL` rows, which are quick,
#: are searched for from each of them, since the best start is not known in advance.
FIRST_RIDGES, SMALL = (1e-6, 1e-4, 1e-2), 64


@dataclass(frozen=True)
class Search:
    """The target of a support, and the rows to choose it from.

    Parameters
    ----------
    target : array of shape (n_rows,)
        Target mean at every row.
    norm : float
        Squared norm of the target mean, or an estimate of it.
    n_select : int
        Size of the support.
    rows : array of int
        Rows to choose from, in order; ``fixed`` is among them.
    fixed : array of int
        Rows that are forced in.
    signed : bool
        Weights may be negative.
    weigh : callable
        Returns the weights of a support in the mode, and MMD^2 without the norm.
    """

    target: NDArray[np.float64]
    norm: float
    n_select: int
    rows: NDArray[np.intp]
    fixed: NDArray[np.intp]
    signed: bool
    weigh: Callable[[NDArray[np.intp]], tuple[NDArray[np.float64], float]]


def choose_support(
    candidates: Candidates, search: Search, progress: Progress | None = None
) -> NDArray[np.intp]:
    """Choose distinct rows: the best support met, judged by ``search.weigh`` after each sweep."""
    mean = float(candidates.diagonal[search.rows].mean())
    scale = mean if mean > 0 else 1.0  # all rows may lie at the zero of the kernel
    pools = _pools(search)
    strict = replace(search, signed=False)
    starts = [(strict, FIRST_RIDGES[0])]
    if search.n_select <= SMALL:
        ways = (strict, search) if search.signed else (strict,)
        starts = [(way, first) for way in ways for first in FIRST_RIDGES]
    found: list[tuple[float, NDArray[np.intp]]] = []
    for i, (way, first) in enumerate(starts):
        sweeps = [(i + (sweep + 1) / SWEEPS) / len(starts) for sweep in range(SWEEPS)]
        found.append(_search_from(candidates, way, pools, scale, first * scale, sweeps, progress))
    return min(found, key=lambda pair: pair[0])[1]


def _search_from(
    candidates: Candidates,
    search: Search,
    pools: Iterator[NDArray[np.intp]],
    scale: float,
    ridge: float,
    sweeps: Sequence[float],
    progress: Progress | None,
) -> tuple[float, NDArray[np.intp]]:
    """Choose greedily with a first ridge, then exchange; return MMD^2 less the norm, and rows.

    ``sweeps`` holds the share of all work that is done after each sweep.
    """
    floor = LAST_RIDGE * scale
    support = _greedy(candidates, search, next(pools), scale, ridge)
    weights, value = search.weigh(support)
    best, lowest, idle = support, value, 0
    for done in sweeps:
        error = max(search.norm + value, 0.0)
        wanted = max(RIDGE * error / squared_length(weights), floor)
        ridge = min(ridge, max(wanted, ridge / RIDGE_FALL))
        span = Span(candidates, search.target, support, next(pools), scale, ridge)
        moved = _exchange(span, search)
        support = span.support
        weights, value = search.weigh(support)
        falling = ridge > wanted
        gained = value < lowest - LEAST_GAIN * max(search.norm + lowest, 0.0)
        idle = 0 if gained or falling else idle + 1
        if value < lowest:
            best, lowest = support, value
        if progress is not None:
            progress(done, "exchange with weights")
        converged = moved == 0 and not falling and len(span.rows) == len(search.rows)
        if converged or idle >= PATIENCE:
            break
    return lowest, best


def squared_length(weights: NDArray[np.float64]) -> float:
    """Return the sum of the squared weights, or that of equal weights with sum one if larger."""
    return max(float(weights @ weights), 1 / len(weights))


def _pools(search: Search) -> Iterator[NDArray[np.intp]]:
    """Yield every q-th of the rows, from the first, the second, ... on, in an endless cycle."""
    stride = max(1, len(search.rows) // max(POOL, search.n_select + SPARE))
    while True:
        for first in range(stride):
            yield search.rows[first::stride]


def _first_top(scores: NDArray[np.float64], rows: NDArray[np.intp]) -> int:
    """Return the position of the largest score; among ties the one with the lowest row."""
    tied = np.flatnonzero(scores >= scores.max() * (1 - TIES))
    return int(tied[np.argmin(rows[tied])])


def _gains(
    residual: NDArray[np.float64], power: NDArray[np.float64], ridge: float, signed: bool
) -> NDArray[np.float64]:
    """Return the gain of adding each row; the power of a new row is never below the ridge."""
    used = residual if signed else np.maximum(residual, 0.0)
    return used * used / np.maximum(power, ridge)


def _greedy(
    candidates: Candidates, search: Search, pool: NDArray[np.intp], shift: float, ridge: float
) -> NDArray[np.intp]:
    """Add the row with the largest gain, again and again; the Newton basis grows along."""
    rows = np.union1d(pool, search.fixed)
    forced = np.searchsorted(rows, search.fixed)
    newton = np.empty((search.n_select, len(rows)))
    power = candidates.diagonal[rows] + (shift + ridge)
    residual = search.target[rows] + shift
    free = np.ones(len(rows), bool)
    picks = np.empty(search.n_select, np.intp)
    for i in range(search.n_select):
        if i < len(forced):
            j = int(forced[i])
        else:
            gains = _gains(residual, power, ridge, search.signed)
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


def _exchange(span: Span, search: Search) -> int:
    """Try to exchange each row of the support once; return how many were exchanged."""
    moved = 0
    keep = np.isin(span.support, search.fixed)
    total = search.norm + span.shift
    for k in np.flatnonzero(~keep).tolist():
        direction, residual, power = span.without(k)
        gains = _gains(residual, power, span.ridge, search.signed)
        held = float(gains[span.places[k]])
        gains[span.places] = -1.0
        j = _first_top(gains, span.rows)
        loss = max(total - float(span.aim @ span.aim), 0.0)
        noise = (NOISE * span.shift) ** 2 / span.ridge
        if gains[j] > held * (1 + TIES) + LEAST_STEP * loss + noise:
            span.swap(k, j, direction, residual, power)
            moved += 1
    return moved
