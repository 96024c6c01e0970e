"""Labels and names as plain text, and back."""

import math
import re
from collections.abc import Hashable
from typing import Any

__all__ = ["MISSING", "is_blank", "label_text", "name_text", "read_label", "read_name"]

#: How the label of a missing value is written.
MISSING = "(missing)"

# No leading zeros: codes such as 007 are labels, not numbers.
_INT = re.compile(r"0|-?[1-9][0-9]*")
_FLOAT = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)


def is_blank(field: Any) -> bool:
    """Whether a field of a table is left empty: None, NaN or nothing but spaces."""
    if isinstance(field, str):
        return not field.strip()
    return field is None or type(field).__name__ == "NAType" or field != field


def label_text(label: Hashable) -> str:
    """Write a label so that `read_label` gives it back.

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
        return f"'{label}'" if read_label(label) != label or _reads_as_number(label) else label
    return str(label)


def read_label(field: Any) -> Hashable:
    """Read a label: a number where it looks like one, else text; whole numbers are int."""
    if not isinstance(field, str):
        if isinstance(field, float) and field.is_integer():
            return int(field)
        return field if isinstance(field, bool | int | float) else str(field)
    text = field.strip()
    if text == MISSING:
        return None
    if _is_quoted(text):
        return text[1:-1]
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(float(text)):
        return read_label(float(text))
    return text


def name_text(name: str) -> str:
    """Write a name so that `read_name` gives it back, also if a file takes it for a number."""
    number = _reads_as_number(name) and not _INT.fullmatch(name)
    return f"'{name}'" if number or read_name(name) != name or not name else name


def read_name(field: Any) -> str:
    """Read the name of a column."""
    text = str(field).strip()
    return text[1:-1] if _is_quoted(text) else text


def _is_quoted(text: str) -> bool:
    return len(text) >= 2 and text[0] == text[-1] == "'"


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text
    return True
