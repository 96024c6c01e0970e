"""What pictures are drawn of, checked: rows and tables of numbers, texts, results by label."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import listed, mapping, plain_array, real_array

__all__ = ["by_label", "indices", "numbers", "require_drawable", "texts"]

#: Larger numbers have no place on an axis: its ends and ticks would not be floats any more.
LARGEST = 1e150


def numbers(values: Any, name: str, ndim: int = 1, rule: str | None = None) -> NDArray[np.float64]:
    """Return finite numbers, in a row or a table."""
    wanted = rule or ("be finite numbers in a row" if ndim == 1 else "be a table of numbers")
    found = real_array(values, name, wanted)
    if found.ndim != ndim:
        raise ParameterError(name, wanted, got=f"shape {found.shape}")
    require_drawable(found, name)
    return found


def require_drawable(values: NDArray[np.float64], name: str) -> None:
    """Raise an error unless all numbers have a place on an axis."""
    wrong = ~(np.abs(values) <= LARGEST)
    if wrong.any():
        raise ParameterError(name, f"be finite numbers up to {LARGEST:g}", values[wrong][0])


def by_label(values: Any, name: str) -> dict[Any, Any]:
    """Return a mapping of label to what is compared, at least one."""
    found = dict(mapping(values, name, "label to what is drawn"))
    if not found:
        raise ParameterError(name, "hold at least one", got="none")
    return found


def indices(values: Any, name: str, n: int) -> NDArray[np.intp]:
    """Return numbers of some of n rows."""
    found = plain_array(values, name, "be row numbers")
    if found.ndim != 1 or not found.size or found.dtype.kind not in "iu":
        raise ParameterTypeError(name, "be row numbers", got=f"{found.dtype} {found.shape}")
    if found.min() < 0 or found.max() >= n:
        wrong = found[(found < 0) | (found >= n)][0]
        raise ParameterError(name, f"be row numbers from 0 to {n - 1}", wrong)
    return found.astype(np.intp)


def texts(values: Any, name: str, n: int) -> list[str]:
    """Return n texts."""
    found = [str(one) for one in listed(values, name, "texts")]
    if len(found) != n:
        raise ParameterError(name, f"be {n} texts", len(found))
    return found
