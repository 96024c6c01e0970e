"""Arrays of numbers with a JSON header, as safetensors."""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder.core.files import PathLike, whole_file

__all__ = ["load_arrays", "save_arrays"]


def save_arrays(
    path: PathLike, arrays: Mapping[str, ArrayLike], meta: Mapping[str, Any] | None = None
) -> None:
    """Save arrays of numbers and a JSON header as safetensors, whole or not at all."""
    safetensors: Any = import_module("safetensors.numpy")  # its types are not known
    plain = {name: np.asarray(value, order="C") for name, value in arrays.items()}
    for name, value in plain.items():
        if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
            raise TypeError(f"arrays[{name!r}] must hold numbers, got dtype {value.dtype}")
        plain[name] = value.astype(value.dtype.newbyteorder("="), copy=False)
    header = {"meta": json.dumps(dict(meta or {}), ensure_ascii=False)}
    with whole_file(path) as part:
        safetensors.save_file(plain, part, metadata=header)


def load_arrays(path: PathLike) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Load what `save_arrays` saved: the arrays and the header."""
    safetensors: Any = import_module("safetensors")
    if not Path(path).is_file():
        raise FileNotFoundError(f"path must name a file that exists, got {str(path)!r}")
    try:
        with safetensors.safe_open(path, framework="numpy") as stream:
            arrays = {name: np.asarray(stream.get_tensor(name)) for name in stream.keys()}  # noqa: SIM118
            header: dict[str, str] = stream.metadata() or {}
        return arrays, json.loads(header.get("meta", "{}"))
    except (safetensors.SafetensorError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} must be a whole safetensors file, got: {error}") from error
