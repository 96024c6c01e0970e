"""Rows on their way from a file to a learner, and what is wrong with some of them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Batch", "Faults", "LabelKind", "label_kind", "label_values"]

#: No leading zeros: codes such as 007 are words.
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)

LabelKind = str  # "int", "float" or "text"


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

    def place(self, row: int) -> str:
        """Say where a row is."""
        return f"{self.unit} {int(self.numbers[row]):,} of {self.path}"


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


def label_kind(names: Iterable[str]) -> LabelKind:
    """Give the narrowest kind of labels that all are of."""
    kind = "int"
    for name in names:
        if not _NUMBER.fullmatch(name):
            return "text"
        number = float(name)
        if not number.is_integer() or abs(number) > 2**53:
            kind = "float"
    return kind


def label_values(names: Sequence[str], kind: LabelKind) -> NDArray[Any]:
    """Give labels as numbers or texts; one that is no number of that kind is refused."""
    if kind == "text":
        return np.array(names, dtype=np.str_)
    for name in names:
        if label_kind([name]) not in ("int", kind):
            wanted = "a whole number" if kind == "int" else "a number"
            raise ValueError(f"label must be {wanted} like those before it, got {name!r}")
    numbers = [float(name) for name in names]
    return np.array(numbers, dtype=np.int64 if kind == "int" else np.float64)
