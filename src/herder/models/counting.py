r"""Counting of clique tables: by matrix products for 0/1 columns, else cell by cell.

For 0/1 columns the counts of all-ones suffice: the other cells follow by inclusion and
exclusion, one column at a time,

.. math:: n(x_i = 0, rest) = n(rest) - n(x_i = 1, rest).
"""

import numpy as np
from numpy.typing import NDArray

from herder.core.blas import one_blas_thread
from herder.data.variables import Codes
from herder.models.layout import CliqueLayout

__all__ = ["binary_tables", "count_binary", "count_cells", "exclude"]

#: Rows counted at a time: a float32 sum of that many ones is exact.
BLOCK = 65_536


def count_cells(
    codes: Codes, layout: CliqueLayout, weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], float]:
    """Count any cliques over any alphabets, block by block."""
    from herder.models import _moments_jit as _jit

    n_rows = codes.rows.shape[0]
    counts = np.zeros(layout.offsets[-1])
    for start in range(0, n_rows, BLOCK):
        block = slice(start, min(start + BLOCK, n_rows))
        columns = np.ascontiguousarray(codes.dense(block).T)
        row_weight = np.empty(0) if weight is None else weight[block]
        cell = np.empty(columns.shape[1], dtype=np.intp)
        _jit.count_cells(
            columns, layout.members, layout.strides, layout.offsets, row_weight, counts, cell
        )
    return counts, float(n_rows if weight is None else weight.sum())


@one_blas_thread()
def count_binary(
    codes: Codes, order: int, weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], float]:
    """Count all singles, pairs and triples of 0/1 columns by matrix products."""
    n_rows, width = codes.rows.shape
    kind = np.float32 if weight is None else np.float64
    ones, total = np.zeros(width), 0.0
    pairs = np.zeros((width, width))
    triples = np.zeros((width, width, width) if order == 3 else (0, 0, 0))
    for start in range(0, n_rows, BLOCK):
        block = slice(start, min(start + BLOCK, n_rows))
        rows = codes.dense(block).astype(kind)
        scaled = rows if weight is None else rows * weight[block, None]
        total += float(len(rows) if weight is None else weight[block].sum())
        ones += scaled.sum(axis=0, dtype=np.float64)
        if order >= 2:
            pairs += scaled.T @ rows
        if order == 3:
            for i in range(width):
                on = rows[:, i] > 0
                triples[i] += scaled[on].T @ rows[on]
    counts = binary_tables(total, ones, pairs, triples, order)
    # rounding must not leave a weight slightly below zero
    return counts if weight is None else np.maximum(counts, 0.0), total


def binary_tables(
    total: float,
    ones: NDArray[np.float64],
    pairs: NDArray[np.float64],
    triples: NDArray[np.float64],
    order: int,
) -> NDArray[np.float64]:
    """Return the full tables of all cliques, flat, from the counts of all-ones."""
    width = len(ones)
    levels = [[np.full(width, total), ones]]
    if order >= 2 and width >= 2:
        i, j = np.triu_indices(width, 1)
        levels.append([np.full(len(i), total), ones[j], ones[i], pairs[i, j]])
    if order >= 3 and width >= 3:
        i, j, k = _triple_indices(width)
        low = [np.full(len(i), total), ones[k], ones[j], pairs[j, k]]
        levels.append([*low, ones[i], pairs[i, k], pairs[i, j], triples[i, j, k]])
    return np.concatenate([exclude(np.stack(level, axis=1)).ravel() for level in levels])


def exclude(ones: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cells of many 0/1 tables from counts of ones, by inclusion and exclusion.

    Parameters
    ----------
    ones : ndarray of shape (n_tables, 2 ** n_columns)
        In position ``b`` the count of rows with ones in the columns whose bit of ``b`` is
        set, whatever the others hold; the first column has the highest bit.

    Examples
    --------
    >>> exclude(np.array([[10.0, 5.0, 4.0, 3.0]]))
    array([[4., 2., 1., 3.]])
    """
    cells = ones.reshape(len(ones), *[2] * (ones.shape[1].bit_length() - 1)).copy()
    for axis in range(1, cells.ndim):
        along = np.moveaxis(cells, axis, 0)
        along[0] -= along[1]
    return cells.reshape(ones.shape)


def _triple_indices(width: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return all i < j < k in lexicographic order."""
    j, k = np.triu_indices(width, 1)
    first = np.searchsorted(j, np.arange(width), side="right")  # of the pairs beyond i
    tail = np.concatenate([np.arange(start, len(j)) for start in first])
    return np.repeat(np.arange(width), len(j) - first), j[tail], k[tail]
