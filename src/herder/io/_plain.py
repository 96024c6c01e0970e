"""What the header of a model file can hold, and arrays of the shape they should have."""

from collections.abc import Mapping
from dataclasses import fields
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterTypeError

__all__ = [
    "Arrays",
    "Header",
    "check",
    "fill",
    "plain_params",
    "read_names",
    "read_params",
    "read_record",
    "read_states",
    "take",
]

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
    raise ParameterTypeError(
        key, "be a number, a text or None to be saved", got=f"{type(value).__name__}: {remedy}"
    )


def _value(plain: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    if "tuple" in plain:
        return tuple(map(_value, plain["tuple"]))
    if "list" in plain:
        return list(map(_value, plain["list"]))
    return {_value(key): _value(value) for key, value in plain["pairs"]}


def read_names(model: Any, names: Any) -> None:
    """Give a model the names of its features, if there are any."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("names of features that are not texts")
    if not names:
        return
    model.feature_names_in_ = np.array(names, dtype=object)
    if len(model.feature_names_in_) != model.n_features_in_:
        raise ValueError(f"{len(model.feature_names_in_)} names of features")


def read_states(states: Any) -> tuple[int, ...]:
    """Give the states of binary sites, which their model checks."""
    if not isinstance(states, list) or any(type(state) is not int for state in states):
        raise ValueError(f"states must be (0, 1) or (-1, 1), got {states!r}")
    return tuple(states)


def read_record(kind: Any, facts: Any) -> Any:
    """Make a dataclass from what `dataclasses.asdict` gave, each field of its type."""
    if not isinstance(facts, dict):
        raise ValueError(f"{facts!r} in the place of a {kind.__name__}")
    hints, old = get_type_hints(kind), getattr(kind, "old_names", {})
    facts = {old.get(name, name): plain for name, plain in facts.items()}
    strange = facts.keys() - {field.name for field in fields(kind)}
    if strange:
        raise ValueError(f"a {kind.__name__} with {min(strange)!r}")
    found = {}
    for name, plain in facts.items():
        try:
            found[name] = _typed(plain, hints[name])
        except TypeError:
            raise ValueError(f"{name} = {plain!r}") from None
    return kind(**found)


def _typed(plain: Any, hint: Any) -> Any:
    """Give a value of JSON as the type of a field; TypeError if it is none."""
    if isinstance(hint, UnionType):
        if plain is None and type(None) in get_args(hint):
            return None
        return _typed(plain, next(kind for kind in get_args(hint) if kind is not type(None)))
    if get_origin(hint) is tuple:
        kinds = get_args(hint)
        if isinstance(plain, list) and kinds[-1] is ...:
            return tuple(_typed(item, kinds[0]) for item in plain)
        if isinstance(plain, list) and len(plain) == len(kinds):
            return tuple(map(_typed, plain, kinds))
    elif type(plain) is hint or (hint is float and type(plain) is int):
        return hint(plain)
    raise TypeError


def check(
    arrays: Arrays, name: str, shape: tuple[int, ...], kind: Any, *, positive: bool = False
) -> NDArray[Any]:
    """Give an array that must be of that shape and kind; nothing is made before it is."""
    value = arrays[name]
    if value.shape != shape or value.dtype != kind:
        raise ValueError(f"{name} of shape {value.shape} and {value.dtype}, not {shape}")
    if not np.isfinite(value).all() or (positive and not (value > 0).all()):
        raise ValueError(f"{name} with values that are not {'positive' if positive else 'finite'}")
    return value


def fill(into: NDArray[Any], arrays: Arrays, name: str, *, positive: bool = False) -> None:
    """Copy an array that must be of the shape and kind of ``into``."""
    into[...] = check(arrays, name, into.shape, into.dtype, positive=positive)


def take(arrays: Arrays, name: str, *shape: int) -> NDArray[np.float64]:
    """Give a copy of an array of floats of that shape."""
    return check(arrays, name, shape, np.float64).copy()
