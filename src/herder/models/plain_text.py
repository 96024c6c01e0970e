"""Labels and names as plain text, and back."""

import math
from collections.abc import Hashable
from typing import Any

from herder.data.columns import is_missing
from herder.data.intervals import read_interval
from herder.data.numerals import is_int, is_number, python_reads

__all__ = [
    "MISSING",
    "ROUNDED",
    "ROWS",
    "is_blank",
    "label_text",
    "name_text",
    "read_label",
    "read_name",
    "shown",
    "states",
]

#: How the label of a missing value is written.
MISSING = "(missing)"

#: What stands in place of a name in the row that says how many rows follow.
ROWS = "(rows)"

#: And in the row that says what counts were rounded to multiples of.
ROUNDED = "(rounded)"

#: Whole numbers with more digits are text; Python refuses to read thousands of them.
MAX_DIGITS = 1000


def is_blank(field: Any) -> bool:
    """Return whether a field of a table is left empty: None, NaN or nothing but spaces."""
    return not field.strip() if isinstance(field, str) else is_missing(field)


def label_text(label: Hashable) -> str:
    """Write a label so that `read_label` reads it back.

    Examples
    --------
    >>> [label_text(label) for label in (1, 0.5, True, "red", "1", None)]
    ['1', '0.5', '1', 'red', "'1'", '(missing)']
    """
    if label is None:
        return MISSING
    if isinstance(label, bool):
        return str(int(label))
    if isinstance(label, str):
        quoted = not label or read_label(label) != label or python_reads(label)
        return f"'{label}'" if quoted else label
    return str(label)


def shown(label: Hashable) -> str:
    """Return a label as summaries and messages have it, for a person."""
    if label is None:
        return MISSING
    return f"{label:g}" if isinstance(label, float) else str(label)


def read_label(field: Any) -> Hashable:
    """Read a label: a number or bin where it looks like one, else text; whole numbers are int."""
    if not isinstance(field, str):
        if isinstance(field, float) and field.is_integer():
            return int(field)
        return field if isinstance(field, bool | int | float) else str(field)
    text = field.strip()
    if text == MISSING:
        return None
    if _is_quoted(text):
        return text[1:-1]
    if is_int(text) and len(text) <= MAX_DIGITS:
        return int(text)
    if is_number(text) and math.isfinite(float(text)):
        return read_label(float(text))
    return read_interval(text) or text


def name_text(name: str) -> str:
    """Write a name so that `read_name` reads it back, also if a file takes it for a number."""
    other = (python_reads(name) and not is_int(name)) or name.strip() in (ROWS, ROUNDED)
    return f"'{name}'" if other or read_name(name) != name or not name else name


def read_name(field: Any) -> str:
    """Read the name of a column."""
    text = str(field).strip()
    return text[1:-1] if _is_quoted(text) else text


def states(field: Any, what: str) -> bool:
    """Return whether a row has `ROWS` or `ROUNDED` in the field where others have a name."""
    return isinstance(field, str) and field.strip() == what


def _is_quoted(text: str) -> bool:
    return len(text) >= 2 and text[0] == text[-1] == "'"
