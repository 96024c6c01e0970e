"""Rows on their way from a file to a learner, and what is wrong with some of them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Batch", "Faults", "LabelKind", "counted", "joined", "label_kind", "label_value"]

#: No leading zeros: codes such as 007 are words.
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)

LabelKind: TypeAlias = Literal["int", "text"]


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
    numbers : ndarray of shape (n,)
        Which line or row of the file each is, counted from 1.
    unit : str
        What is counted: ``"line"`` or ``"row"``.
    done : int
        How much of the file has been read, in its own measure (bytes or rows).
    """

    path: Path
    X: Any
    codes: NDArray[np.intp]
    names: Sequence[str]
    weight: NDArray[np.float64] | None
    numbers: NDArray[np.int64]
    unit: str
    done: int

    def __len__(self) -> int:
        return len(self.codes)

    def rows(self, which: slice | NDArray[Any]) -> "Batch":
        """Give some of the rows."""
        return replace(
            self,
            X=self.X[which],
            codes=self.codes[which],
            weight=None if self.weight is None else self.weight[which],
            numbers=self.numbers[which],
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the features."""
        if not hasattr(self.X, "indptr"):
            return self.X.nbytes
        return self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes

    def place(self, row: int) -> str:
        """Say where a row is."""
        return f"{self.unit} {int(self.numbers[row]):,} of {self.path}"


def joined(batches: Sequence[Batch]) -> Batch:
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
        numbers=np.concatenate([batch.numbers for batch in batches]),
    )


@dataclass
class Faults:
    """Broken lines: refused, or counted and left out.

    Parameters
    ----------
    skip : bool
        Whether they are left out.
    """

    skip: bool = False
    count: int = 0
    first: str = field(default="", init=False)

    def add(self, path: Path, unit: str, found: Iterable[tuple[int, str, str]]) -> None:
        """Take (number, rule, word) of broken lines, the first of them first."""
        for number, rule, word in found:
            text = f"{unit} {number:,} of {path} {rule}, got {word}"
            if not self.skip:
                raise ValueError(f"{text}; --skip-broken leaves such {unit}s out")
            self.first = self.first or text
            self.count += 1

    def lines(self) -> list[str]:
        """Say how many were left out, if any."""
        if not self.count:
            return []
        return [f"{counted(self.count, 'broken line')} left out, the first: {self.first}"]


def counted(n: int, what: str) -> str:
    """Say how many there are of something."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def label_kind(names: Iterable[str]) -> LabelKind:
    """Tell whether labels are whole numbers or words; other numbers are no classes."""
    kind: LabelKind = "int"
    for name in names:
        if not _NUMBER.fullmatch(name):
            return "text"
        if not float(name).is_integer() or abs(float(name)) > 2**53:
            raise ValueError(
                f"labels must be classes, whole numbers or words, got the measurement {name}"
            )
    return kind


def label_value(name: str, kind: LabelKind) -> int | str:
    """Give a label as a number or text; a word among numbers is refused."""
    if kind == "text":
        return name
    if label_kind([name]) == "text":
        raise ValueError(f"label must be a whole number, as the others are, got {name!r}")
    return int(float(name))
