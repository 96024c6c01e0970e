"""Kinds of arguments: what is not a number or a table. Errors read ``name must ..., got ...``."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import form_of

__all__ = [
    "check_function",
    "file_path",
    "flag",
    "function_or_none",
    "iterated",
    "listed",
    "mapping",
    "of_kind",
]

T = TypeVar("T")


def check_function(value: Any, name: str) -> Any:
    """Return ``value`` if it can be called."""
    if not callable(value):
        raise ParameterTypeError(name, "be callable", got=type(value).__name__)
    return value


def file_path(path: Any, name: str = "path") -> Path:
    """Return the path of a file, given as text or by an object of ``pathlib``."""
    given = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(given, str) or not given:
        raise ParameterTypeError(name, "be a text or a pathlib.Path", got=_words(path))
    if "\0" in given:
        raise ParameterError(name, "have no character of code 0", path)
    return Path(given)


def flag(value: Any, name: str) -> bool:
    """Return ``value`` as a bool; 0 and 1 count as well."""
    if isinstance(value, bool | np.bool_ | int | np.integer) and value in (0, 1):
        return bool(value)
    raise ParameterTypeError(name, "be True or False", got=_words(value))


def function_or_none(value: Any, name: str) -> Any:
    """Return ``value`` if it can be called or is None."""
    if value is not None and not callable(value):
        raise ParameterTypeError(name, "be callable or None", got=type(value).__name__)
    return value


def iterated(values: Any, name: str, what: str) -> Iterator[Any]:
    """Return what goes through such an iterable, one entry at a time."""
    try:
        if isinstance(values, str | bytes) or form_of(values) in ("lazy", "sparse"):
            raise TypeError
        return iter(values)
    except TypeError:
        raise ParameterTypeError(name, f"be a sequence of {what}", got=_words(values)) from None


def listed(values: Any, name: str, what: str) -> list[Any]:
    """Return the entries of an iterable that is no text, which are called ``what``."""
    return list(iterated(values, name, what))


def mapping(values: Any, name: str, what: str) -> Mapping[Any, Any]:
    """Return ``values`` if it is a mapping, of ``what``."""
    return of_kind(values, name, Mapping, f"a mapping of {what}")


def of_kind(value: Any, name: str, kinds: type[T] | tuple[type[T], ...], what: str) -> T:
    """Return ``value`` if it is an instance of ``kinds``, which are called ``what``."""
    if not isinstance(value, kinds):
        raise ParameterTypeError(name, f"be {what}", got=type(value).__name__)
    return value


def _words(value: object) -> str:
    """Return a short value as it is, else its type."""
    return repr(value) if isinstance(value, str | bytes | int | float) else type(value).__name__
