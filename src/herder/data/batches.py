"""Labelled rows on their way from a file to a learner."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Batch", "join_batches"]


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows of a file.

    Parameters
    ----------
    path : Path
        The file.
    X : sparse matrix or ndarray of shape (n, width)
        Features. The width of svmlight rows is that of the widest among them.
    codes : ndarray of shape (n,)
        Labels, as places in ``names``; -1 where there is none.
    names : sequence of str
        The distinct labels as they are written.
    weight : ndarray of shape (n,) or None
        Weights of the rows.
    places : ndarray of shape (n,)
        Which line or row of the file each is, counted from 1.
    unit : {"line", "row"}
        What is counted.
    done : int
        How much of the file has been read, in its own measure (bytes or rows).
    """

    path: Path
    X: Any
    codes: NDArray[np.intp]
    names: Sequence[str]
    weight: NDArray[np.float64] | None
    places: NDArray[np.int64]
    unit: str
    done: int

    def __len__(self) -> int:
        return len(self.codes)

    def rows(self, which: slice | NDArray[Any]) -> "Batch":
        """Return some of the rows."""
        return replace(
            self,
            X=self.X[which],
            codes=self.codes[which],
            weight=None if self.weight is None else self.weight[which],
            places=self.places[which],
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the features."""
        if not hasattr(self.X, "indptr"):
            return self.X.nbytes
        return self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes

    def place(self, row: int) -> str:
        """Return where a row is, in words."""
        return f"{self.unit} {int(self.places[row]):,} of {self.path}"


def join_batches(batches: Sequence[Batch]) -> Batch:
    """Put batches together, as wide as the widest; the path is that of the first."""
    from scipy.sparse import vstack

    names = sorted({name for batch in batches for name in batch.names})
    places = {name: k for k, name in enumerate(names)}
    codes = [np.array([*map(places.get, b.names), -1], np.intp)[b.codes] for b in batches]
    width = max(batch.X.shape[1] for batch in batches)
    rows = [batch.X for batch in batches]
    if hasattr(rows[0], "indptr"):
        for X in rows:
            X.resize((X.shape[0], width))
    weights = [batch.weight for batch in batches if batch.weight is not None]
    return replace(
        batches[0],
        X=vstack(rows, format="csr") if hasattr(rows[0], "indptr") else np.vstack(rows),
        codes=np.concatenate(codes),
        names=names,
        weight=np.concatenate(weights) if weights else None,
        places=np.concatenate([batch.places for batch in batches]),
    )
