"""Compiled counting of clique tables. It trusts its arguments: callers validate."""

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit


@jit
def count_cells(
    columns: NDArray[np.integer],  # (D, n) codes, C-contiguous
    members: NDArray[np.intp],  # (C, m) variables of each clique, padded with -1
    strides: NDArray[np.intp],  # (C, m) step of each member in the clique's table
    offsets: NDArray[np.intp],  # (C + 1,) where each table starts
    row_weight: NDArray[np.float64],  # (n,), or empty when every row counts once
    counts: NDArray[np.float64],  # (offsets[-1],), added to in place
    cell: NDArray[np.intp],  # (n,) scratch
) -> None:
    """Add every row to the table of every clique, one clique at a time."""
    n_rows = columns.shape[1]
    for c in range(members.shape[0]):
        for r in range(n_rows):
            cell[r] = offsets[c]
        for m in range(members.shape[1]):
            i = members[c, m]
            if i < 0:
                break
            step = strides[c, m]
            for r in range(n_rows):
                cell[r] += step * columns[i, r]
        if row_weight.shape[0] == 0:
            for r in range(n_rows):
                counts[cell[r]] += 1.0
        else:
            for r in range(n_rows):
                counts[cell[r]] += row_weight[r]
