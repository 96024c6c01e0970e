r"""Distances between distributions, and the distribution P(k) of the number of ones.

For rows :math:`x \in \{0, 1\}^D` the count distribution is
:math:`P(k) = \mathrm{Pr}(\sum_i x_i = k)`, k = 0, ..., D. It depends on moments of every order,
so a herd that was given only pairs has to predict it: [welling2009]_ compares herds by

.. math:: \mathrm{KL}(p \,\|\, q) = \sum_{k : p_k > 0} p_k \log \frac{p_k}{q_k}.

A sample of q has empty cells where p has none, and the divergence would then be infinite.
We add a floor to every cell of q and normalise again; the paper does not say what it did.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._csr import summed_csr
from herder._errors import ParameterError, ParameterTypeError
from herder._validation import plain_array, positive_int, real_array, share

__all__ = ["count_distribution", "kl_divergence", "total_variation"]


def count_distribution(X: Any, n_variables: int | None = None) -> NDArray[np.float64]:
    """Return the share of rows with k ones, for k = 0, ..., D.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, D)
        Rows of 0 and 1, of any dtype.
    n_variables : int, optional
        Length of the result minus one, at least D and by default D: rows of another
        width are then compared on the same axis.

    Returns
    -------
    ndarray of shape (n_variables + 1,)
        P(k); sums to one.

    Examples
    --------
    >>> from herder import count_distribution
    >>> count_distribution([[0, 1, 1], [0, 0, 1]])
    array([0. , 0.5, 0.5, 0. ])
    """
    rows: Any = plain_array(X, "X", "be a table with rows and columns")
    values = rows
    # SciPy's matrices are known by their method: SciPy itself is not imported for this.
    if hasattr(X, "tocsr"):
        rows = summed_csr(X)
        values = rows.data
    if rows.ndim != 2 or 0 in rows.shape:
        raise ParameterError("X", "be a table with rows and columns", got=f"shape {rows.shape}")
    width = rows.shape[1] if n_variables is None else positive_int(n_variables, "n_variables")
    if width < rows.shape[1]:
        raise ParameterError("n_variables", f"be at least {rows.shape[1]}, the width of X", width)
    if values.dtype.kind not in "biufO":
        raise ParameterTypeError("X", "hold the numbers 0 and 1", got=f"dtype {values.dtype}")
    if values.dtype.kind == "O":
        rows = values = real_array(values, "X", "hold only 0 and 1")
    wrong = values[(values != 0) & (values != 1)]
    if wrong.size:
        raise ParameterError("X", "hold only 0 and 1", wrong.flat[0])
    counts = np.asarray(rows.sum(axis=1)).ravel().astype(np.intp)
    return np.bincount(counts, minlength=width + 1) / rows.shape[0]


def kl_divergence(p: ArrayLike, q: ArrayLike, *, floor: float = 1e-10) -> float:
    """Return the Kullback-Leibler divergence of ``q`` from ``p``, in nats.

    Parameters
    ----------
    p, q : array-like of the same shape
        Non-negative and not all zero; each is divided by its sum, so that counts will do.
    floor : float, default 1e-10
        From 0 to below 1, added to every cell of ``q``, which is then normalised. With 0 the
        divergence is infinite where ``q`` is zero and ``p`` is not.

    Examples
    --------
    >>> from herder import kl_divergence
    >>> round(kl_divergence([0.5, 0.5], [0.25, 0.75]), 6)
    0.143841
    """
    p_cells, q_cells = _pair(p, q)
    floor = share(floor, "floor")
    q_cells = (q_cells + floor) / (1 + floor * q_cells.size)
    held = p_cells > 0
    if (q_cells[held] == 0).any():
        return float("inf")
    # Rounding can leave a sum of about -1e-17; the divergence is never negative.
    return max(0.0, float(np.sum(p_cells[held] * np.log(p_cells[held] / q_cells[held]))))


def total_variation(p: ArrayLike, q: ArrayLike) -> float:
    """Return the total variation distance: half the sum of ``|p - q|``, between 0 and 1.

    Parameters
    ----------
    p, q : array-like of the same shape
        Non-negative and not all zero; each is divided by its sum, so that counts will do.

    Examples
    --------
    >>> from herder import total_variation
    >>> total_variation([0.5, 0.5], [0.25, 0.75])
    0.25
    """
    p_cells, q_cells = _pair(p, q)
    return float(np.abs(p_cells - q_cells).sum() / 2)


def _pair(p: ArrayLike, q: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    p_cells, q_cells = _distribution(p, "p"), _distribution(q, "q")
    if p_cells.shape != q_cells.shape:
        raise ParameterError("q", f"have the shape of p, {p_cells.shape}", q_cells.shape)
    return p_cells, q_cells


def _distribution(values: ArrayLike, name: str) -> NDArray[np.float64]:
    cells = real_array(values, name)
    if not np.isfinite(cells).all() or (cells < 0).any():
        wrong = cells[~(np.isfinite(cells) & (cells >= 0))].flat[0]
        raise ParameterError(name, "hold finite non-negative numbers", wrong)
    with np.errstate(over="ignore"):
        total = cells.sum()
    if not 0 < total < np.inf:
        raise ParameterError(name, "have a positive finite sum", total)
    return cells / total
