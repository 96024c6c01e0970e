"""Sparse matrices at the public border: indices in range, no column twice in a row.

SciPy checks neither when a matrix is made, and remembers rather than looks whether its rows are
in order. Compiled loops would read and write outside their arrays.
"""

from typing import Any

import numpy as np

from herder._errors import ParameterError, ParameterTypeError

__all__ = ["distinct_columns", "sound_sparse", "summed_csr"]

#: Least length of the table of columns: rows of up to some hundred then seldom collide in it.
TABLE = 2**12


def sound_sparse(X: Any, name: str = "X") -> Any:
    """Return a sparse matrix that can be converted to CSR, if all its indices are in range."""
    if not X.dtype.isnative:
        raise ParameterTypeError(name, "have the byte order of this machine", got=str(X.dtype))
    try:
        if X.format == "coo":
            return type(X)((X.data, X.coords), shape=X.shape)  # which checks them
        if X.format in ("csc", "bsr"):
            X.check_format(full_check=True)
    except ValueError as error:
        raise ParameterError(name, f"be a sound sparse matrix, got: {error}") from None
    if X.format == "csr" and X.ndim == 2:
        _look(X, name)
    return X


def distinct_columns(rows: Any, name: str = "X") -> Any:
    """Return CSR rows with each column at most once, themselves if they are so.

    Entries of one column are added up where the first of them is: what has no repeats keeps its
    order, and its sums their bits.
    """
    from herder import _csr_jit as _jit

    if _look(rows, name) == _jit.SORTED:
        return rows
    longest = int(np.diff(rows.indptr).max())
    size = max(TABLE, 1 << (4 * longest).bit_length())
    if not _jit.has_repeats(rows.indptr, rows.indices, np.zeros(size, np.int64)):
        return rows
    given = rows.indptr, rows.indices, rows.data
    indptr, indices, data = map(np.empty_like, given)
    with np.errstate(over="ignore", invalid="ignore"):  # callers look for what is not finite
        _jit.add_repeats(*given, indptr, indices, data, np.zeros(size, np.int64))
    stop = indptr[-1]
    return type(rows)((data[:stop], indices[:stop], indptr), shape=rows.shape)


def summed_csr(X: Any, name: str = "X") -> Any:
    """Return a copy of a sparse matrix of any dtype as CSR, sorted, with repeats added up."""
    rows = sound_sparse(X, name).tocsr(copy=True)
    rows.has_sorted_indices = rows.has_canonical_format = False  # look, do not remember
    rows.sum_duplicates()
    return rows


def _look(rows: Any, name: str) -> int:
    """Return what the compiled look finds, if nothing is wrong."""
    from herder import _csr_jit as _jit

    indptr, indices = rows.indptr, rows.indices
    whole = indptr.dtype.kind == indices.dtype.kind == "i"
    if not (whole and indptr.dtype.isnative and indices.dtype.isnative):
        found = f"dtypes {indptr.dtype} and {indices.dtype}"
        raise ParameterError(name, "have whole numbers as indptr and indices", got=found)
    n_rows, n_columns = rows.shape
    n_entries = min(len(indices), len(rows.data))
    state = _jit.BROKEN
    if indptr.shape == (n_rows + 1,):
        state = _jit.look(indptr, indices, n_entries, n_columns)
    if state == _jit.BROKEN:
        rule = f"have an indptr of {n_rows + 1} numbers from 0 to {n_entries} that never fall"
        raise ParameterError(name, rule, got=f"one of shape {indptr.shape} that does not")
    if state == _jit.OUT_OF_RANGE:
        used = indices[: indptr[-1]]
        at = int(((used < 0) | (used >= n_columns)).argmax())
        row = int(np.searchsorted(indptr, at, side="right")) - 1
        rule = f"have column indices from 0 to {n_columns - 1}"
        raise ParameterError(name, rule, got=f"{used[at]} in row {row}")
    return state
