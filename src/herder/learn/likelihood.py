r"""Maximum likelihood of a fully visible field, by summing over all of its states.

With 0/1 rows :math:`x_n` of weight :math:`\pi_n` the penalised likelihood to minimise is

.. math:: J(W, b) = \log Z(W, b) - \sum_n \pi_n \Bigl[ \tfrac{1}{2} x_n^T W x_n + b^T x_n \Bigr]
                    + \alpha \sum_{i \ne j} W_{ij}^2 ,

which is convex; its gradient is the difference of the moments of the field and of the rows,

.. math:: \partial J / \partial W_{ij} = E[x_i x_j] - \hat E[x_i x_j] + 4 \alpha W_{ij},
          \qquad \partial J / \partial b_i = E[x_i] - \hat E[x_i] ,

so that without a penalty the fit has the moments of the rows [ackley1985]_.

The moments of the field are sums over 2^n states. Cut the sites into two halves with states h and
l: the score of a state is :math:`s(h) + s(l) + h^T W_{hl} l`, one matrix product for all states,
and with :math:`P_{hl}` the probabilities, :math:`E[x_h x_l^T] = H^T P L` is another. Exponentials
are taken relative to the largest score so far.

L-BFGS works on :math:`y = R^T \theta`, where :math:`R R^T` is the covariance of the features
:math:`(x_i, x_i x_j)` over the rows: at the optimum the curvature of the likelihood is the same
covariance under the field, so that few steps suffice where the field fits the rows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from herder.learn.fit import Fit

__all__ = ["MAX_SITES", "FieldMoments", "field_moments", "fit_ml", "log_odds", "row_moments"]

#: 2^25 states take about a second for one gradient.
MAX_SITES = 25

#: States whose probabilities are in memory at once: 8 MB.
BLOCK = 2**20

#: Rows whose features are in memory at once.
BLOCK_ROWS = 4096

#: Share of the variances of independent sites in the covariance that scales the variables: rows
#: may be fewer than parameters, and a pair that never occurs has no variance of its own.
SHRINKAGE = 0.1

#: A gradient below this is rounding of moments, whatever the tolerance.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class FieldMoments:
    """Sums over all states of a 0/1 field.

    Parameters
    ----------
    log_partition : float
        Log of the sum of the exponentiated scores.
    pairs : ndarray of shape (n, n)
        E[x_i x_j]; its diagonal holds the means E[x_i].
    counts : ndarray of shape (n + 1,)
        P(k ones).
    """

    log_partition: float
    pairs: NDArray[np.float64]
    counts: NDArray[np.float64]


def field_moments(couplings: NDArray[np.float64], biases: NDArray[np.float64]) -> FieldMoments:
    """Sum over all states of a field over 0/1 sites, at most ``MAX_SITES`` of them.

    Parameters
    ----------
    couplings : ndarray of shape (n, n)
        Symmetric, with a zero diagonal.
    biases : ndarray of shape (n,)
        One for each site.

    Examples
    --------
    >>> field_moments(np.zeros((2, 2)), np.zeros(2)).pairs
    array([[0.5 , 0.25],
           [0.25, 0.5 ]])
    """
    n = len(biases)
    n_low = n // 2
    low, high = _all_states(n_low), _all_states(n - n_low)
    score_low = _state_scores(low, couplings[:n_low, :n_low], biases[:n_low])
    score_high = _state_scores(high, couplings[n_low:, n_low:], biases[n_low:])
    pull = couplings[n_low:, :n_low] @ low.T
    ones_low, ones_high = low.sum(axis=1).astype(np.intp), high.sum(axis=1).astype(np.intp)
    top = -np.inf
    row_sums = np.zeros(len(high))
    column_sums = np.zeros((n - n_low + 1, len(low)))
    cross = np.zeros((n - n_low, n_low))
    n_rows = max(1, BLOCK // len(low))
    for start in range(0, len(high), n_rows):
        part = slice(start, start + n_rows)
        cells = high[part] @ pull
        cells += score_high[part, None]
        cells += score_low
        peak = float(cells.max())
        if peak > top:
            for sums in (row_sums, column_sums, cross):
                sums *= np.exp(top - peak)
            top = peak
        cells -= top
        np.exp(cells, out=cells)
        row_sums[part] = cells.sum(axis=1)
        has_ones = ones_high[part] == np.arange(n - n_low + 1)[:, None]
        column_sums += has_ones.astype(float) @ cells
        cross += high[part].T @ (cells @ low)
    total = row_sums.sum()
    row_sums /= total
    column_sums /= total
    pairs = np.empty((n, n))
    pairs[:n_low, :n_low] = low.T @ (column_sums.sum(axis=0)[:, None] * low)
    pairs[n_low:, n_low:] = high.T @ (row_sums[:, None] * high)
    pairs[n_low:, :n_low] = cross / total
    pairs[:n_low, n_low:] = cross.T / total
    counts = np.zeros(n + 1)
    for k in range(n - n_low + 1):
        counts[k : k + n_low + 1] += np.bincount(ones_low, column_sums[k], n_low + 1)
    return FieldMoments(float(top + np.log(total)), pairs, counts)


def fit_ml(
    rows: NDArray[np.uint8],
    weights: NDArray[np.float64],
    *,
    alpha: float,
    start: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    max_iter: int = 500,
    tol: float = 1e-6,
) -> Fit:
    """Fit couplings and biases by maximum likelihood.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n) of 0 and 1
        Rows of states, each column with both values.
    weights : ndarray of shape (n_rows,)
        Weights of the rows, with sum 1.
    alpha : float
        Weight of the sum of all squared couplings, each pair counted twice.
    start : tuple of couplings and biases, optional
        Where to start; independent sites by default.
    max_iter : int, default 500
        Most iterations of L-BFGS.
    tol : float, default 1e-6
        Norm of the gradient to stop at, relative to its norm at independent sites.

    Raises
    ------
    ValueError
        If there are more than ``MAX_SITES`` columns.
    """
    n = rows.shape[1]
    if n > MAX_SITES:
        raise ValueError(
            f'method="ml" sums over all states and takes at most {MAX_SITES} columns, got {n}; '
            'take method="pl", or method="pcd" for an estimate of the likelihood fit'
        )
    from scipy.linalg import cholesky, solve_triangular
    from scipy.optimize import minimize

    strength = 4 * alpha  # the second derivative of the penalty by a coupling
    moments, upper = row_moments(rows, weights), np.triu_indices(n, 1)
    target = np.concatenate([moments.diagonal(), moments[upper]])
    root = cholesky(_curvature(rows, weights, target, strength), lower=True)

    def unpack(theta: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        couplings = np.zeros((n, n))
        couplings[upper] = theta[n:]
        return couplings + couplings.T, theta[:n].copy()

    def evaluate(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        field = field_moments(*unpack(theta))
        gradient = np.concatenate([field.pairs.diagonal(), field.pairs[upper]]) - target
        gradient[n:] += strength * theta[n:]
        value = field.log_partition - theta @ target + strength / 2 * (theta[n:] @ theta[n:])
        return float(value), gradient

    first = np.concatenate([log_odds(target[:n]), np.zeros(len(target) - n)])
    reference = float(np.linalg.norm(evaluate(first)[1]))
    if start is not None:
        first = np.concatenate([start[1], start[0][upper]])
    goal = max(tol * reference, ROUNDING)
    last = first, *evaluate(first)

    def objective(y: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        nonlocal last
        theta = solve_triangular(root, y, lower=True, trans=1)
        last = theta, *evaluate(theta)
        return last[1], solve_triangular(root, last[2], lower=True)

    def stop(intermediate_result: object) -> None:
        if np.linalg.norm(last[2]) <= goal:
            raise StopIteration

    n_iter = 0
    if np.linalg.norm(last[2]) > goal:
        # The callback alone decides when to stop, by the gradient in the parameters themselves.
        options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": 0.0, "gtol": 0.0}
        found = minimize(
            objective, root.T @ first, jac=True, method="L-BFGS-B", callback=stop, options=options
        )
        n_iter = int(found.nit)
        objective(found.x)
    theta, value, gradient = last
    size = float(np.linalg.norm(gradient))
    relative = size / reference if reference > ROUNDING else 0.0
    return Fit(*unpack(theta), n_iter, size <= goal, relative, value)


def log_odds(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the biases of independent sites with these means, finite at 0 and 1."""
    inside = np.clip(means, ROUNDING, 1 - ROUNDING)
    return np.log(inside / (1 - inside))


def row_moments(rows: NDArray[np.uint8], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the second moments of weighted rows; the diagonal holds the means."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for start in range(0, len(rows), BLOCK_ROWS):
        part = rows[start : start + BLOCK_ROWS].astype(np.float64)
        total += part.T @ (weights[start : start + BLOCK_ROWS, None] * part)
    return total


def _all_states(n: int) -> NDArray[np.float64]:
    """Return all 0/1 states of n sites, site 0 changing fastest."""
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)


def _state_scores(
    states: NDArray[np.float64], couplings: NDArray[np.float64], biases: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return minus the energies of rows of 0/1 states."""
    return np.einsum("ni,ni->n", states @ (couplings / 2), states) + states @ biases


def _curvature(
    rows: NDArray[np.uint8],
    weights: NDArray[np.float64],
    mean: NDArray[np.float64],
    strength: float,
) -> NDArray[np.float64]:
    """Return the covariance of the features over the rows, shrunk, plus that of the penalty."""
    n = rows.shape[1]
    first, second = np.triu_indices(n, 1)
    covariance = np.zeros((len(mean), len(mean)))
    for start in range(0, len(rows), BLOCK_ROWS):
        part = rows[start : start + BLOCK_ROWS].astype(np.float64)
        features = np.hstack([part, part[:, first] * part[:, second]]) - mean
        covariance += features.T @ (weights[start : start + BLOCK_ROWS, None] * features)
    ones = np.clip(mean[:n], ROUNDING, 1 - ROUNDING)
    expected = np.concatenate([ones, ones[first] * ones[second]])
    covariance *= 1 - SHRINKAGE
    diagonal = np.einsum("ii->i", covariance)  # a view
    diagonal += SHRINKAGE * expected * (1 - expected)
    diagonal[n:] += strength
    return covariance
