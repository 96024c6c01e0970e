"""Text that is a number, and text that only looks like one.

A number is written in plain form: digits with or without a sign, a point and an exponent, and no
zeros in front. ``007`` is a code: as a number it would not come back out as it was.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "INT",
    "NUMBER",
    "SPECIAL",
    "LabelKind",
    "as_floats",
    "class_kind",
    "is_digits",
    "is_int",
    "is_number",
    "label_kind",
    "label_value",
    "python_reads",
]

LabelKind: TypeAlias = Literal["int", "text"]

INT = re.compile(r"0|-?[1-9][0-9]*")
NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
SPECIAL = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_DIGITS = re.compile(r"[+-]?[0-9]+")


def is_int(text: str) -> bool:
    """Whether a text is a whole number in plain form, which prints as it was written."""
    return INT.fullmatch(text) is not None


def is_number(text: str) -> bool:
    """Whether a text is a finite number in plain form."""
    return NUMBER.fullmatch(text) is not None


def is_digits(text: str) -> bool:
    """Whether a text is nothing but digits and a sign: a whole number, or a code."""
    return _DIGITS.fullmatch(text) is not None


def python_reads(text: str | bytes) -> bool:
    """Whether Python's float reads a text, in whatever form."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_floats(column: NDArray[Any], read: Callable[[str], float]) -> NDArray[np.float64]:
    """Return a column of a table as floats: NaN for a missing value, ``read`` for text."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    return np.array(
        [
            np.nan if value is None else read(value) if isinstance(value, str) else float(value)
            for value in column.tolist()
        ],
        np.float64,
    )


def label_kind(names: Iterable[str]) -> LabelKind:
    """Return whether labels are whole numbers or words; other numbers are no classes."""
    for name in names:
        if not is_number(name):
            return "text"
        if not float(name).is_integer() or abs(float(name)) > 2**53:
            raise ValueError(
                f"labels must be classes, whole numbers or words, got the measurement {name}"
            )
    return "int"


def class_kind(classes: NDArray[Any]) -> LabelKind:
    """Return whether the classes of a model are whole numbers or words."""
    return "text" if classes.dtype.kind in "UO" else "int"


def label_value(name: str, kind: LabelKind) -> int | str:
    """Return a label as a number or text; a word among numbers is refused."""
    if kind == "text":
        return name
    if label_kind([name]) == "text":
        raise ValueError(f"label must be a whole number, as the others are, got {name!r}")
    return int(float(name))
