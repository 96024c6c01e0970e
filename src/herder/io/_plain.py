"""What the header of a model file can hold, and arrays of the shape they should have."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arrays", "Header", "fill", "plain_params", "read_names", "read_params"]

Arrays = dict[str, NDArray[Any]]

Header = dict[str, Any]


def plain_params(model: Any) -> Header:
    """Give the parameters of an estimator as JSON can hold them."""
    return {key: _plain(key, value) for key, value in model.get_params(deep=False).items()}


def read_params(params: Header) -> Header:
    """Take back what `plain_params` gave."""
    return {key: _value(value) for key, value in params.items()}


def _plain(key: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {"pairs": [[_plain(key, k), _plain(key, v)] for k, v in value.items()]}
    if isinstance(value, list | tuple | np.ndarray):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_plain(key, item) for item in value]}
    remedy = f"model.set_params({key}=...)"
    raise TypeError(
        f"{key} must be a number, a text or None to be saved, got {type(value).__name__}: {remedy}"
    )


def _value(plain: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    if "tuple" in plain:
        return tuple(map(_value, plain["tuple"]))
    return list(map(_value, plain["list"])) if "list" in plain else dict(plain["pairs"])


def read_names(model: Any, names: Any) -> None:
    """Give a model the names of its features, if there are any."""
    if not names:
        return
    model.feature_names_in_ = np.array(names, dtype=object)
    if len(model.feature_names_in_) != model.n_features_in_:
        raise ValueError(f"{len(model.feature_names_in_)} names of features")


def fill(into: NDArray[Any], arrays: Arrays, name: str, *, positive: bool = False) -> None:
    """Copy an array that must be of the shape and kind of ``into``."""
    value = arrays[name]
    if value.shape != into.shape or value.dtype != into.dtype:
        raise ValueError(f"{name} of shape {value.shape} and {value.dtype}, not {into.shape}")
    if not np.isfinite(value).all() or (positive and not (value > 0).all()):
        raise ValueError(f"{name} with values that are not {'positive' if positive else 'finite'}")
    into[...] = value
