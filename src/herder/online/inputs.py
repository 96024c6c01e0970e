"""What a learner is given beside labels: rows, an order, and rows to hold back or to keep."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from herder._errors import ParameterError
from herder._validation import generator, share
from herder.core.plain import Arrays, read_array

__all__ = ["RandomState", "RowsLike", "hold_back", "read_rows", "row_arrays"]

#: Rows as they are given: an array, a list, a frame, or a sparse matrix.
RowsLike: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix

#: What ``random_state`` may be.
RandomState: TypeAlias = int | np.random.Generator | None


def hold_back(
    n_rows: int, fraction: float | None, random_state: RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows to learn and those held out for early stopping, none without a fraction."""
    rows = np.arange(n_rows)
    if fraction is None:
        return rows, rows[:0]
    n_test = int(share(fraction, "validation_fraction") * n_rows)
    if not 0 < n_test < n_rows:
        raise ParameterError(
            "validation_fraction", "leave rows on both sides", got=f"{fraction!r} of {n_rows} rows"
        )
    mixed = generator(random_state).permutation(n_rows)
    return np.sort(mixed[n_test:]), np.sort(mixed[:n_test])


def row_arrays(rows: Any) -> Arrays:
    """Return rows that a model keeps, dense or CSR, as arrays by name."""
    if not sparse.issparse(rows):
        return {"supports": rows.copy()}
    parts = {name: getattr(rows, name).copy() for name in ("data", "indices", "indptr")}
    return parts | {"shape": np.array(rows.shape, np.int64)}


def read_rows(arrays: Arrays, n_rows: int, n_features: int) -> Any:
    """Take back what `row_arrays` gave; a table without rows may have no columns either."""
    if "supports" in arrays:
        rows, shape = arrays["supports"].copy(), arrays["supports"].shape
        values = rows
    else:
        shape = tuple(read_array(arrays, "shape", (2,), np.int64).tolist())
        values = read_array(arrays, "data", (None,), arrays["data"].dtype)
        parts = (values, *(arrays[name].copy() for name in ("indices", "indptr")))
        rows = sparse.csr_array(parts, shape=shape)
        rows.check_format(full_check=True)
    if shape != (n_rows, n_features) and (n_rows or shape[0]):
        raise ValueError(f"rows of shape {shape}, not {(n_rows, n_features)}")
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        raise ValueError("rows with values that are not finite")
    return rows
