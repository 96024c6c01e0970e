"""What a learner is given beside labels: rows, an order, and rows to hold back."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from herder._errors import ParameterError
from herder._validation import share

__all__ = ["RandomState", "RowsLike", "hold_back"]

#: Rows as they are given: an array, a list, a frame, or a sparse matrix.
RowsLike: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix

#: What ``random_state`` may be.
RandomState: TypeAlias = int | np.random.Generator | None


def hold_back(
    n_rows: int, fraction: float | None, random_state: RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Give the rows to learn and those held back for early stopping, none without a fraction."""
    rows = np.arange(n_rows)
    if fraction is None:
        return rows, rows[:0]
    n_test = int(share(fraction, "validation_fraction") * n_rows)
    if not 0 < n_test < n_rows:
        raise ParameterError(
            "validation_fraction", "leave rows on both sides", got=f"{fraction!r} of {n_rows} rows"
        )
    mixed = np.random.default_rng(random_state).permutation(n_rows)
    return np.sort(mixed[n_test:]), np.sort(mixed[:n_test])
