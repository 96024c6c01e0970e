"""The state protocol: all that an object holds, as arrays and a header, and its file.

An object that can be saved, or gone on from, has two methods::

    to_state() -> (arrays, header)
    from_state(arrays, header) -> an equal object            (a class method)

``arrays`` are plain NumPy arrays of numbers by name, and ``header`` is what JSON can hold. Parts
that live within an object of known settings, such as the chains of a sampler, have ``restore``
in place of ``from_state``: it fills a part that was made with the same settings. A state may come
from a stranger, so that nothing in it is trusted: kinds, shapes and ranges are checked before
anything is made of it, by the functions of `herder.core.plain`.

A file is safetensors: the arrays, the header, and a SHA-256 digest over both. The header says
besides which class it belongs to, the versions of the format and of herder, and what the user
keeps beside it (``meta``). Nothing in it is ever run, unlike a pickle. Format 1, which herder
0.1.0 wrote, had the same header and no digest; positions and checkpoints had other words for
their class.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import mapping
from herder.core.files import PathLike, whole_file
from herder.core.plain import Arrays, Header

__all__ = [
    "FORMAT_VERSION",
    "ModelFileError",
    "SavedState",
    "State",
    "Stateful",
    "load_as",
    "nest",
    "read_file",
    "read_state",
    "unnest",
    "write_file",
    "write_state",
]

State = tuple[Arrays, Header]

FORMAT = "herder model"

#: Goes up when older versions of herder could no longer read a file. From 2 on there is a digest.
FORMAT_VERSION = 2

#: What files of 0.1.0 that were not models said they were, and their class.
OLD_KINDS = {
    "herder checkpoint 1": "Checkpoint",
    "herder moment position 1": "Position",
    "herder sampling position 1": "SamplingPosition",
}

#: What a state that makes no sense can end in.
FAULTS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


class ModelFileError(ValueError):
    """A file is broken, was changed, or does not hold what is asked for."""


class Stateful(Protocol):
    """What can be saved."""

    def to_state(self) -> State:
        """Return arrays, and a header that JSON can hold."""
        ...

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Make an equal object of what `to_state` gave."""
        ...


T = TypeVar("T", bound=Stateful)


@dataclass(frozen=True, slots=True, eq=False)
class SavedState:
    """What a file holds, before an object is made of it."""

    path: PathLike
    name: str
    arrays: Arrays
    header: Header

    def build(self, kind: type[T]) -> T:
        """Make the object; whatever is wrong with its state is a `ModelFileError`."""
        try:
            return kind.from_state(self.arrays, self.header)
        except FAULTS as error:
            found = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise ModelFileError(
                f"{self.path} must hold a whole {self.name}, got: {found}"
            ) from error


def write_state(path: PathLike, thing: Stateful, meta: Mapping[str, Any] | None = None) -> None:
    """Write an object to a file, whole or not at all.

    Parameters
    ----------
    path : str or path
        The file, replaced if it exists.
    thing : Stateful
        The object.
    meta : mapping, optional
        Plain facts to keep beside it, in place of those of its own header.
    """
    arrays, own = thing.to_state()
    header: Header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "herder": version("herder"),
        "class": type(thing).__name__,
        "meta": {},
        **own,
    }
    if meta is not None:
        header["meta"] = dict(mapping(meta, "meta", "name to value"))
        try:
            json.dumps(header["meta"])
        except (TypeError, ValueError, RecursionError) as error:
            raise ParameterError("meta", "hold what JSON can hold", got=str(error)) from None
    write_file(path, arrays, header)


def read_state(path: PathLike) -> SavedState:
    """Read what a file holds, of this format or one before."""
    arrays, header, has_digest = read_file(path)
    name = OLD_KINDS.get(str(header.get("format", header.get("kind"))))
    is_signed = False
    if name is None:
        is_signed = _check_version(path, header) > 1
        name, meta = header.get("class"), header.get("meta")
        if not isinstance(name, str) or not isinstance(meta, dict):
            raise ModelFileError(f"{path} must name a class and hold meta, got {name!r}, {meta!r}")
    if has_digest != is_signed:
        found = "one" if has_digest else "none"
        raise ModelFileError(f"{path} must have a digest from format 2 on, got {found}")
    return SavedState(path, name, arrays, header)


def load_as(kind: type[T], path: PathLike) -> T:
    """Read a file that must hold an object of that class."""
    saved = read_state(path)
    if saved.name != kind.__name__:
        raise ModelFileError(f"{path} must hold a {kind.__name__}, got a {saved.name}")
    return saved.build(kind)


def _check_version(path: PathLike, header: Header) -> int:
    if header.get("format") != FORMAT:
        raise ModelFileError(
            f"{path} must be a model file of herder, got another safetensors file"
        )
    found = header.get("format_version")
    if type(found) is not int or found < 1:
        raise ModelFileError(f"{path} must be a model file of herder, got format {found!r}")
    if found > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} must be of format {FORMAT_VERSION} or before, got {found!r} from herder "
            f"{header.get('herder')}: a newer herder reads it"
        )
    return found


def write_file(path: PathLike, arrays: Mapping[str, ArrayLike], header: Header) -> None:
    """Write arrays of numbers, a JSON header and their digest, whole or not at all."""
    safetensors = _safetensors()
    given = _path(path)
    try:
        given.resolve()
    except (RuntimeError, ValueError) as error:  # links in a circle, a NUL
        raise ParameterError("path", "name a file", str(path)) from error
    plain = {name: np.asarray(value, order="C") for name, value in arrays.items()}
    for name, value in plain.items():
        if not _holds_numbers(value):
            kind = f"dtype {value.dtype}"
            raise ParameterTypeError(f"arrays[{name!r}]", "hold numbers", got=kind)
        plain[name] = value.astype(value.dtype.newbyteorder("="), copy=False)
    facts: Header = json.loads(json.dumps(header))  # as it will be read
    facts["digest"] = _digest(facts, plain)
    notes = {"meta": json.dumps(facts, ensure_ascii=False)}
    try:
        with whole_file(path) as part:
            mode = part.stat().st_mode
            safetensors.numpy.save_file(plain, part, metadata=notes)
            part.chmod(mode)  # safetensors makes files that only their owner can read
    except safetensors.SafetensorError as error:  # a full disk, among others
        raise OSError(f"{path} could not be written: {error}") from error


def read_file(path: PathLike) -> tuple[Arrays, Header, bool]:
    """Read arrays, a header, and whether a digest proves them; one that does not is an error."""
    safetensors = _safetensors()
    if not _path(path).is_file():
        raise FileNotFoundError(f"path must name a file that exists, got {str(path)!r}")
    arrays: Arrays = {}
    digest = None
    try:
        with safetensors.safe_open(path, framework="numpy") as stream:
            notes: dict[str, str] = stream.metadata() or {}
            header: Any = json.loads(notes.get("meta", "null"))
            if header is not None:  # else it is not ours: its arrays are of any size and dtype
                digest = header.pop("digest", None)
                arrays |= {name: stream.get_tensor(name) for name in list(stream.keys())}
    except (safetensors.SafetensorError, *FAULTS) as error:
        raise ModelFileError(f"{path} must be a whole safetensors file, got: {error}") from error
    strange = [value.dtype.name for value in arrays.values() if not _holds_numbers(value)]
    if header is None or strange:
        found = f"arrays of {strange[0]}" if strange else "another safetensors file"
        raise ModelFileError(f"{path} must be a model file of herder, got {found}")
    if digest is not None and digest != _digest(header, arrays):
        raise ModelFileError(f"{path} must be as it was written, got one that was changed")
    return arrays, header, digest is not None


def _path(path: Any) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise ParameterTypeError("path", "be a text or a path", path) from None


def _holds_numbers(value: NDArray[Any]) -> bool:
    return value.dtype.kind in "biuf" and value.dtype.itemsize <= 8


def _safetensors() -> Any:
    """Import the library, which declares no types."""
    import_module("safetensors.numpy")
    return import_module("safetensors")


def _digest(header: Header, arrays: Arrays) -> str:
    """Return the SHA-256 digest of a header and arrays: names, dtypes, shapes, bytes."""
    found = sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        value = arrays[name]
        found.update(f"\0{name}\0{value.dtype.name}\0{value.shape}\0".encode())
        found.update(np.ascontiguousarray(value, value.dtype.newbyteorder("<")).data)
    return found.hexdigest()


def nest(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return the arrays of a part with a prefix, to lie among those of the whole."""
    return {f"{prefix}{name}": value for name, value in arrays.items()}


def unnest(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return the arrays of a part, which lie under a prefix among those of the whole."""
    own = (name for name in arrays if name.startswith(prefix))
    return {name.removeprefix(prefix): arrays[name] for name in own}
