r"""Weighted thinning: few rows with weights, whose kernel mean is that of all rows.

For chosen rows S with Gram matrix K, target mean t at these rows and weights w,

.. math:: \mathrm{MMD}^2(w) = |\mu|^2 - 2 w \cdot t + w \cdot K w.

*Simplex*: the minimum over :math:`w \ge 0, \sum w = 1`, a quadratic programme, solved by active
sets until the conditions of Karush, Kuhn and Tucker hold:
:math:`K w - t = \lambda` where w > 0 and :math:`K w - t \ge \lambda` where w = 0.

*Optimal*: the minimum over all w, :math:`K w = t`. These are the weights of Bayesian quadrature,
to which herding with weights amounts ([huszar2012]_; section 4.2.2 of [chen2014]_). They may be
negative and need not sum to one. Where t = 0, as for Stein kernels, the minimum is w = 0, which
is of no use: there the weights are made to sum to one.

*Ridge.* K is often singular to rounding: duplicates, or a bandwidth so large that few functions
matter. So :math:`\varepsilon |w|^2` is added to what is minimised. By default
:math:`\varepsilon = 8 m u \max_i K_{ii}`, where u is the unit roundoff: K is only known to that,
as rounding each entry by u changes eigenvalues by up to :math:`m u \max K`. The price is bounded:
for every w', :math:`\mathrm{MMD}^2(w) \le \mathrm{MMD}^2(w') + \varepsilon |w'|^2`, which is
:math:`\varepsilon` at most for w' in the simplex, and
:math:`|w|^2 \le |\mu|^2 / \varepsilon`. Of equal rows none is preferred.

`choose_weighted` chooses the rows as well: see `herder.kernel.supports`.
"""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import one_of, positive_int, real_array
from herder.core.blas import one_blas_thread
from herder.core.lanes import Progress
from herder.kernel.candidates import Candidates
from herder.kernel.span import lower_factor
from herder.kernel.supports import Search, choose_support, squared_length

__all__ = ["Mode", "choose_weighted", "optimal_weights", "simplex_weights"]

Mode: TypeAlias = Literal["simplex", "optimal"]

#: Ridge in units of m u max(K): see the module docstring.
ROUNDINGS = 8.0

#: Gram matrices may be this far from symmetric, relative to their largest entry: single
#: precision.
ASYMMETRY = 1e-6

#: Part of MMD^2 that is traded for more even weights, where some are not positive.
EVENNESS = 0.01

#: Rows that the norm of an unknown mean is estimated from: per row of the support, and at most.
NORM_ROWS, MOST_NORM_ROWS = 4, 2048


@one_blas_thread()
def simplex_weights(
    gram: ArrayLike, target: ArrayLike, *, ridge: float | None = None
) -> NDArray[np.float64]:
    """Return the non-negative weights with sum one that minimise the MMD to a target mean.

    Parameters
    ----------
    gram : array-like of shape (m, m)
        Kernel values between the chosen rows.
    target : array-like of shape (m,)
        Target mean at the chosen rows.
    ridge : float, optional
        Penalty on the sum of squared weights; by default the rounding error of ``gram``.

    Returns
    -------
    ndarray of shape (m,)
        The weights; zeros are exact.

    Examples
    --------
    >>> import numpy as np
    >>> from herder.kernel.quadrature import simplex_weights
    >>> simplex_weights(np.eye(3), [0.5, 0.3, -1.0]).round(6)
    array([0.6, 0.4, 0. ])
    """
    matrix, aim = _checked(gram, target)
    matrix, slack = _regular(matrix, ridge)
    return _simplex(matrix, aim, slack)


@one_blas_thread()
def optimal_weights(
    gram: ArrayLike,
    target: ArrayLike,
    *,
    sum_to_one: bool | None = None,
    ridge: float | None = None,
) -> NDArray[np.float64]:
    """Return the weights of any sign that minimise the MMD to a target mean.

    Parameters
    ----------
    gram : array-like of shape (m, m)
        Kernel values between the chosen rows.
    target : array-like of shape (m,)
        Target mean at the chosen rows.
    sum_to_one : bool, optional
        Whether the weights must sum to one; by default only where the target is zero, since the
        weights would be zero as well.
    ridge : float, optional
        Penalty on the sum of squared weights; by default the rounding error of ``gram``.

    Returns
    -------
    ndarray of shape (m,)
        The weights.

    Examples
    --------
    >>> import numpy as np
    >>> from herder.kernel.quadrature import optimal_weights
    >>> optimal_weights(np.eye(3), [0.5, 0.3, -1.0]).round(6)
    array([ 0.5,  0.3, -1. ])
    """
    matrix, aim = _checked(gram, target)
    matrix, _ = _regular(matrix, ridge)
    affine = not aim.any() if sum_to_one is None else sum_to_one
    return _solve(matrix, aim, affine)[0]


def choose_weighted(
    candidates: Candidates,
    target: NDArray[np.float64],
    n_select: int,
    mode: Mode,
    *,
    sample_weight: NDArray[np.float64] | None = None,
    allowed: NDArray[np.bool_] | None = None,
    include: NDArray[np.intp] | None = None,
    rival: NDArray[np.intp] | None = None,
    progress: Progress | None = None,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Choose rows and their weights.

    If some weights are not positive, MMD^2 may grow by up to 1 % (`EVENNESS`) to make them more
    even. Weights of exactly zero remain only if no other row was found that lowers the MMD, as
    when the error is that of rounding.

    Parameters
    ----------
    candidates : Candidates
        Rows to choose from, under one kernel.
    target : array of shape (n,)
        Target mean at every row; zeros for a Stein kernel.
    n_select : int
        Number of rows. If there are not as many, all of them are taken.
    mode : {"simplex", "optimal"}
        Weights that are not negative and sum to one, or any weights.
    sample_weight : array of shape (n,), optional
        Weights p of the rows, with sum one, if ``target`` is their mean. By default the target
        may come from elsewhere, and its norm is estimated.
    allowed : array of shape (n,), optional
        Rows that may be chosen.
    include : array of int, optional
        Rows that must be chosen; their weights may still be zero.
    rival : array of int, optional
        ``n_select`` rows chosen in another way, by the same rules: they are taken if their best
        weights have a lower MMD.
    progress : callable, optional
        Called with the share done and a note.

    Returns
    -------
    indices : array of min(n_select, number of allowed rows)
        Distinct rows, in ascending order.
    weights : array of the same length
        Their weights.
    """
    one_of(mode, "mode", ("simplex", "optimal"))
    n_select = positive_int(n_select, "n_select")
    rows = np.arange(candidates.n_rows) if allowed is None else np.flatnonzero(allowed)
    fixed = np.unique(np.zeros(0, np.intp) if include is None else include)
    if not len(rows):
        raise ParameterError("allowed", "leave at least one row", got="none")
    if outside := np.setdiff1d(fixed, rows).tolist():
        raise ParameterError("include", "hold allowed rows", got=f"{outside[:5]} among them")
    if len(fixed) > n_select:
        raise ParameterError("include", f"hold at most n_select = {n_select} rows", len(fixed))
    affine = not target.any()

    def weigh(
        support: NDArray[np.intp], ridge: float | None = None
    ) -> tuple[NDArray[np.float64], float]:
        gram, aim = candidates.gram(support), target[support]
        matrix, slack = _regular(gram, ridge)
        if mode == "simplex":
            weights = _simplex(matrix, aim, slack)
        else:
            weights, _ = _solve(matrix, aim, affine)
        return weights, float(weights @ (gram @ weights) - 2 * weights @ aim)

    # The products are many and small: waking a second thread for each costs more than it saves.
    with one_blas_thread():
        if len(rows) <= n_select:
            own = _own_weights(candidates, target, sample_weight)
            if own is not None and len(rows) == len(own):
                return rows, own
            return rows, weigh(rows)[0]
        if sample_weight is not None:
            norm = float(sample_weight @ target)
        else:
            norm = _estimated_norm(candidates, target, rows, n_select)
        search = Search(target, norm, n_select, rows, fixed, mode == "optimal", weigh)
        support = np.sort(choose_support(candidates, search, progress))
        weights, value = weigh(support)
        if rival is not None:
            other = np.sort(rival)
            other_weights, other_value = weigh(other)
            if other_value < value:
                support, weights, value = other, other_weights, other_value
        if (weights <= 0).any():
            # By the bound of the module docstring this ridge costs the stated part at most.
            even = EVENNESS * max(norm + value, 0.0) / squared_length(weights)
            weights, _ = weigh(support, max(even, _rounding(candidates.gram(support))))
    return support, weights


def _own_weights(
    candidates: Candidates, target: NDArray[np.float64], sample_weight: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """Return the weights of the rows in the sample, if the target is their mean under them."""
    n = candidates.n_rows
    if sample_weight is not None:
        return sample_weight.copy() if target.any() else None
    tolerance = ROUNDINGS * n * np.finfo(np.float64).eps * float(candidates.diagonal.max())
    same = np.abs(candidates.mean() - target).max() <= tolerance
    return np.full(n, 1 / n) if same else None


def _estimated_norm(
    candidates: Candidates, target: NDArray[np.float64], rows: NDArray[np.intp], n_select: int
) -> float:
    """Return the squared norm of the target mean, projected on the span of evenly spaced rows.

    A lower bound. Where few functions matter, and the norm is needed to choose the ridge, the
    span has nearly all of it.
    """
    wanted = min(NORM_ROWS * n_select, MOST_NORM_ROWS)
    few = rows[:: -(-len(rows) // wanted)]
    matrix, _ = _regular(candidates.gram(few), None)
    return float(target[few] @ _solve(matrix, target[few], False)[0])


def _checked(
    gram: ArrayLike, target: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both as float64 arrays, if they fit."""
    matrix, aim = real_array(gram, "gram"), real_array(target, "target")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ParameterError("gram", "be a square matrix", got=f"an array of shape {matrix.shape}")
    if aim.shape != matrix.shape[:1]:
        raise ParameterError("target", f"have shape {matrix.shape[:1]}", aim.shape)
    for name, values in (("gram", matrix), ("target", aim)):
        if not np.isfinite(values).all():
            raise ParameterError(name, "be finite", got="NaN or infinity")
    gap = float(np.abs(matrix - matrix.T).max())
    if gap > ASYMMETRY * float(np.abs(matrix).max()):
        raise ParameterError("gram", "be symmetric", got=f"entries that differ by {gap:.3g}")
    return (matrix + matrix.T) / 2, aim


def _rounding(gram: NDArray[np.float64]) -> float:
    """Bound the rounding error of the eigenvalues of a Gram matrix, with room to spare."""
    return ROUNDINGS * len(gram) * np.finfo(np.float64).eps * _largest(gram)


def _largest(gram: NDArray[np.float64]) -> float:
    """Return the largest diagonal entry, or 1 for the zero matrix."""
    return float(gram.diagonal().max()) or 1.0


def _regular(gram: NDArray[np.float64], ridge: float | None) -> tuple[NDArray[np.float64], float]:
    """Add the ridge, tenfold as often as it takes; return the matrix and the ridge."""
    if ridge is not None and not (np.isfinite(ridge) and ridge >= 0):
        raise ParameterError("ridge", "be a number of at least 0", ridge)
    least = _rounding(gram) if ridge is None else float(ridge)
    _, used = lower_factor(gram, least, _largest(gram))
    matrix = gram.copy()
    matrix[np.diag_indices_from(matrix)] += used
    return matrix, used


def _solve(
    matrix: NDArray[np.float64], aim: NDArray[np.float64], affine: bool
) -> tuple[NDArray[np.float64], float]:
    """Minimise over all weights, or those with sum one; also return the multiplier."""
    from scipy.linalg import cho_solve

    factor, _ = lower_factor(matrix, 0.0, _largest(matrix))
    if not affine:
        return cho_solve((factor, True), aim, check_finite=False), 0.0
    sides = np.column_stack([aim, np.ones(len(aim))])
    plain, ones = cho_solve((factor, True), sides, check_finite=False).T
    multiplier = (1 - plain.sum()) / ones.sum()
    weights = plain + multiplier * ones
    return weights / weights.sum(), float(multiplier)


def _simplex(
    matrix: NDArray[np.float64], aim: NDArray[np.float64], slack: float
) -> NDArray[np.float64]:
    """Minimise over the simplex by active sets; the matrix is positive definite.

    Begin with all rows free and drop those with negative weights until there are none; then let
    in the row that breaks its condition most, as long as one does by more than ``slack``. The
    loss falls with each row let in, so no set of free rows comes twice.
    """

    def on(free: NDArray[np.bool_]) -> tuple[NDArray[np.float64], float]:
        weights = np.zeros(len(aim))
        weights[free], multiplier = _solve(matrix[np.ix_(free, free)], aim[free], True)
        return weights, multiplier

    def loss(weights: NDArray[np.float64]) -> float:
        return float(weights @ (matrix @ weights) - 2 * weights @ aim)

    free = np.ones(len(aim), bool)
    weights, multiplier = on(free)
    while (weights < 0).any():
        free = weights > 0
        weights, multiplier = on(free)
    rejected = np.zeros(len(aim), bool)
    while not (free | rejected).all():
        excess = multiplier - (matrix @ weights - aim)
        excess[free | rejected] = -np.inf
        entering = int(np.argmax(excess))
        if excess[entering] <= slack:
            break
        trial, now = free.copy(), weights
        trial[entering] = True
        aimed, level = on(trial)
        while aimed[trial].min() <= 0:
            falling = np.flatnonzero(trial & (aimed <= 0))
            fall = np.maximum(now[falling] - aimed[falling], np.finfo(np.float64).tiny)
            steps = now[falling] / fall
            now = now + steps.min() * (aimed - now)
            trial[falling[np.argmin(steps)]] = False
            trial &= now > 0
            now = np.where(trial, now, 0.0)
            aimed, level = on(trial)
        if loss(aimed) < loss(weights):
            free, weights, multiplier = trial, aimed, level
            rejected[:] = False
        else:  # a gain below rounding
            rejected[entering] = True
    return weights
