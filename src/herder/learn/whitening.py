"""Columns of numbers on one scale and without correlation."""

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError

__all__ = ["whitening"]

#: Columns whose deviation is below this share of their largest entry count as constant.
ROUNDING = 1e-12

#: Deviations below the first have no inverse, and sums of numbers above the second no end.
SMALLEST, LARGEST = 1e-300, 1e300

#: Least variance of a direction of standardised columns; less is due to rounding.
LEAST_VARIANCE = 1e-8


def whitening(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix by which centred rows get the unit covariance.

    It is symmetric in standardised columns, so that columns change as little as possible.

    Parameters
    ----------
    points : ndarray of shape (n_rows, n_columns)
        The rows; no column may be constant.
    """
    largest = np.abs(points).max(axis=0)
    if largest.max() > LARGEST:
        raise ParameterError("X", f"hold numbers up to {LARGEST:g}", float(largest.max()))
    centred = points / np.where(largest > 0, largest, 1.0)
    centred -= centred.mean(axis=0)
    spread = centred.std(axis=0)
    constant = np.flatnonzero((spread <= ROUNDING) | (largest * spread < SMALLEST))
    if len(constant):
        got = f"column {constant[0]} with one value"
        raise ParameterError("X", "vary in each column", got=got)
    standard = centred / spread
    values, vectors = np.linalg.eigh(standard.T @ standard / len(points))
    roots = np.sqrt(np.maximum(values, LEAST_VARIANCE))
    return (vectors / roots) @ vectors.T / (largest * spread)[:, None]
