"""Text that is a number, and text that only looks like one.

A number is written in plain form: digits with or without a sign, a point and an exponent, and no
zeros in front. ``007`` is a code: as a number it would not come back out as it was.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "INT",
    "NUMBER",
    "SPECIAL",
    "as_floats",
    "is_digits",
    "is_int",
    "is_number",
    "is_special",
    "python_reads",
]

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


def is_special(text: str) -> bool:
    """Whether a text is NaN or infinite."""
    return SPECIAL.fullmatch(text) is not None


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
