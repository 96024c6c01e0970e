"""Compiled looks at the indices of a CSR matrix. They trust that these are whole numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit

#: What `look` finds.
SORTED, UNSORTED, OUT_OF_RANGE, BROKEN = range(4)

#: Entries that are counted in 32 bits.
BLOCK = 2**30

#: A column times ODD, without its last bits, is spread over the table.
ODD, LOW, SHIFT = np.uint64(0x9E3779B1), np.uint64(2**31 - 1), np.uint64(16)


@jit
def look(
    indptr: NDArray[np.integer], indices: NDArray[np.integer], n_entries: int, n_columns: int
) -> int:
    """Return the first that holds of BROKEN, OUT_OF_RANGE, UNSORTED and SORTED.

    Rows are broken if they do not begin with entry 0, go back, or end beyond ``n_entries``;
    sorted if the columns of each increase strictly.
    """
    before = indptr[0]
    steps_back = 0
    for i in range(1, indptr.shape[0]):
        steps_back += indptr[i] < before
        before = indptr[i]
    stop = indptr[-1]
    if indptr[0] != 0 or steps_back or stop > n_entries:
        return BROKEN
    if stop == 0:
        return SORTED
    # All entries in loops without branches, whose counts are as short as the indices, so that
    # they fill the width of the machine; then falls from one row to the next are taken back.
    least = most = indices[0]
    falls = 0
    for low in range(0, stop, BLOCK):
        part = indices[low : min(low + BLOCK + 1, stop)]
        some = np.int32(0)
        for k in range(1, part.shape[0]):
            column = part[k]
            least = min(least, column)
            most = max(most, column)
            some = np.int32(some + np.int32(column <= part[k - 1]))
        falls += some
    if least < 0 or most >= n_columns:
        return OUT_OF_RANGE
    for i in range(1, indptr.shape[0] - 1):
        k = indptr[i]
        if indptr[i - 1] < k < stop:
            falls -= indices[k] <= indices[k - 1]
    return UNSORTED if falls else SORTED


@jit
def _place(table: NDArray[np.int64], indices: NDArray[np.integer], start: int, column: int) -> Any:
    """Return the place of a column in a table of entries, which are counted from 1.

    Entries up to ``start`` are of other rows: such a place is free.
    """
    one, mask = np.uint64(1), np.uint64(table.shape[0] - 1)
    place = ((np.uint64(column) & LOW) * ODD >> SHIFT) & mask
    while table[place] > start and indices[np.uint64(table[place] - 1)] != column:
        place = (place + one) & mask
    return place


@jit
def has_repeats(
    indptr: NDArray[np.integer],
    indices: NDArray[np.integer],
    table: NDArray[np.int64],  # zeros, a power of two and longer than any row
) -> bool:
    """Return whether a row has a column twice."""
    for i in range(indptr.shape[0] - 1):
        start = indptr[i]
        for k in range(start, indptr[i + 1]):
            place = _place(table, indices, start, indices[k])
            if table[place] > start:
                return True
            table[place] = k + 1
    return False


@jit
def add_repeats(
    indptr: NDArray[np.integer],
    indices: NDArray[np.integer],
    data: NDArray[Any],
    new_indptr: NDArray[np.integer],  # filled, as the next two are up to their new end
    new_indices: NDArray[np.integer],
    new_data: NDArray[Any],
    table: NDArray[np.int64],  # zeros, a power of two and longer than any row
) -> None:
    """Add the entries of each row that have one column, where the first of them is."""
    end = 0
    new_indptr[0] = 0
    for i in range(indptr.shape[0] - 1):
        start = end
        for k in range(indptr[i], indptr[i + 1]):
            place = _place(table, new_indices, start, indices[k])
            if table[place] > start:
                new_data[np.uint64(table[place] - 1)] += data[k]
            else:
                new_indices[end] = indices[k]
                new_data[end] = data[k]
                end += 1
                table[place] = end
        new_indptr[i + 1] = end
