"""What a state can hold, and how it is read back: plain values, and arrays of known shape.

Each function raises a ValueError that names the part that is wrong, or a KeyError with the name of
one that is missing.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import DTypeLike, NDArray

from herder._errors import ParameterTypeError

__all__ = [
    "LARGEST_COUNT",
    "POSITIVE",
    "Arrays",
    "Header",
    "plain_classes",
    "plain_estimator",
    "read_array",
    "read_classes",
    "read_dtype",
    "read_estimator",
    "read_number",
    "read_record",
    "read_texts",
]

Arrays = dict[str, NDArray[Any]]
Header = dict[str, Any]

#: The least float above zero, as a bound of `read_array`.
POSITIVE = float(np.nextafter(0.0, 1.0))

#: Counts beyond this are a mistake, and would not fit into 64 bits.
LARGEST_COUNT = 2**62

#: Kinds of arrays that a list of classes may be to be saved.
CLASS_KINDS = "biufUO"

T = TypeVar("T")


def read_array(
    arrays: Mapping[str, NDArray[Any]],
    name: str,
    shape: tuple[int | None, ...],
    kind: DTypeLike = np.float64,
    *,
    low: float | None = None,
    high: float | None = None,
) -> NDArray[Any]:
    """Return a copy of an array, which must be of that shape and kind, finite and within bounds.

    Parameters
    ----------
    arrays : mapping
        Arrays by name.
    name : str
        Which one.
    shape : tuple
        Its shape; None stands for any length.
    kind : dtype
        Its dtype.
    low, high : number, optional
        Bounds of its entries, both included. Integers that have a lower bound only are counts.
    """
    value = arrays[name]
    if low is not None and high is None and value.dtype.kind in "iu":
        high = LARGEST_COUNT
    lengths = zip(shape, value.shape, strict=False)
    fits = value.ndim == len(shape) and all(n is None or n == m for n, m in lengths)
    if not fits or value.dtype != kind:
        raise ValueError(f"{name} of shape {value.shape} and {value.dtype}, not {shape}")
    if not np.isfinite(value).all():
        raise ValueError(f"{name} with values that are not finite")
    if value.size and (
        (low is not None and value.min() < low) or (high is not None and value.max() > high)
    ):
        raise ValueError(f"{name} from {value.min()} to {value.max()}, which is out of bounds")
    return np.array(value, order="C")


def read_number(
    header: Mapping[str, Any], name: str, kind: type = int, *, low: float | None = 0
) -> Any:
    """Return a number of that type: finite and not below ``low``, or with None any at all."""
    value = header[name]
    if type(value) is not kind or (
        low is not None and not (math.isfinite(value) and low <= value <= LARGEST_COUNT)
    ):
        raise ValueError(f"{name} = {value!r}")
    return value


def read_texts(texts: Any, name: str) -> list[str]:
    """Return a list of texts."""
    found = cast("list[Any]", texts)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in found):
        raise ValueError(f"{name} that are not texts")
    return found


def plain_estimator(model: Any, **replaced: Any) -> Header:
    """Return the parameters of an estimator and the names of its features, for JSON.

    Parameters that JSON cannot hold, and that the caller keeps otherwise, may be replaced.
    """
    params: Header = model.get_params(deep=False) | replaced
    names: Iterable[str] = getattr(model, "feature_names_in_", ())
    return {
        "params": {key: _plain(key, value) for key, value in params.items()},
        "feature_names": list(names),
    }


def read_estimator(kind: type[T], header: Header, n_features: int) -> T:
    """Make an estimator with the parameters and names that `plain_estimator` gave."""
    model = kind(**{key: _value(value) for key, value in header["params"].items()})
    names = read_texts(header["feature_names"], "names of features")
    parts = vars(model)
    parts["n_features_in_"] = n_features
    if names:
        parts["feature_names_in_"] = np.array(names, dtype=object)
        if len(names) != n_features:
            raise ValueError(f"{len(names)} names of features")
    return model


def plain_classes(classes: NDArray[Any]) -> Header:
    """Return a list of classes as JSON can hold it."""
    values: list[Any] = classes.tolist()
    if classes.dtype.kind not in CLASS_KINDS or not all(
        isinstance(value, bool | int | float | str) for value in values
    ):
        raise ParameterTypeError("classes", "be numbers or texts to be saved", values[:5])
    return {"dtype": classes.dtype.str if classes.dtype.kind != "O" else "O", "values": values}


def read_classes(plain: Header) -> NDArray[Any]:
    """Return the classes that `plain_classes` described."""
    values: list[Any] = plain["values"]
    if type(values) is not list or not all(isinstance(v, int | float | str) for v in values):
        raise ValueError("classes that are not numbers or texts")
    classes: NDArray[Any] = np.array(values, read_dtype(plain["dtype"], CLASS_KINDS, values))
    if not len(classes) or not (classes[:-1] < classes[1:]).all():
        raise ValueError("classes that are not in order")
    return classes


def read_dtype(text: Any, kinds: str, values: Iterable[Any]) -> np.dtype[Any]:
    """Return a dtype for values, of one of some kinds; texts are no wider than the longest."""
    if not isinstance(text, str) or (dtype := np.dtype(text)).kind not in kinds:
        raise ValueError(f"values of dtype {text!r}")
    if dtype.kind not in "US":
        return dtype
    longest = max((len(value) for value in values if isinstance(value, str | bytes)), default=0)
    width = min(dtype.itemsize // np.dtype(f"{dtype.kind}1").itemsize, longest)
    return np.dtype(f"{dtype.kind}{width}")


def _plain(key: str, value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return _plain(key, cast(Any, value).tolist())
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value)
        return {"pairs": [[_plain(key, k), _plain(key, v)] for k, v in pairs.items()]}
    if isinstance(value, list | tuple):
        items = cast("Iterable[Any]", value)
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_plain(key, item) for item in items]}
    remedy = f"model.set_params({key}=...)"
    raise ParameterTypeError(
        key, "be a number, a text or None to be saved", got=f"{type(value).__name__}: {remedy}"
    )


def _value(plain: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    parts = cast(Header, plain)
    if "tuple" in parts:
        return tuple(map(_value, parts["tuple"]))
    if "list" in parts:
        return list(map(_value, parts["list"]))
    return {_value(key): _value(value) for key, value in parts["pairs"]}


def read_record(kind: type[T], facts: Any) -> T:
    """Make a dataclass of what `dataclasses.asdict` gave, each field of its type."""
    if not isinstance(facts, dict):
        raise ValueError(f"{facts!r} in the place of a {kind.__name__}")
    hints, old = get_type_hints(kind), getattr(kind, "old_names", {})
    given = {old.get(name, name): plain for name, plain in cast(Header, facts).items()}
    strange = given.keys() - {field.name for field in fields(cast(Any, kind))}
    if strange:
        raise ValueError(f"a {kind.__name__} with {min(strange)!r}")
    found: dict[str, Any] = {}
    for name, plain in given.items():
        try:
            found[name] = _typed(plain, hints[name])
        except TypeError:
            raise ValueError(f"{name} = {plain!r}") from None
    return kind(**found)


def _typed(plain: Any, hint: Any) -> Any:
    """Return a value of JSON as the type of a field; TypeError if it is none."""
    if isinstance(hint, UnionType):
        if plain is None and type(None) in get_args(hint):
            return None
        return _typed(plain, next(kind for kind in get_args(hint) if kind is not type(None)))
    if is_dataclass(hint):
        return read_record(cast(Any, hint), plain)
    if get_origin(hint) is tuple:
        kinds = get_args(hint)
        items = cast("list[Any]", plain)
        if isinstance(plain, list) and kinds[-1] is ...:
            return tuple(_typed(item, kinds[0]) for item in items)
        if isinstance(plain, list) and len(items) == len(kinds):
            return tuple(map(_typed, items, kinds))
    elif type(plain) is hint or (hint is float and type(plain) is int):
        return hint(plain)
    raise TypeError
