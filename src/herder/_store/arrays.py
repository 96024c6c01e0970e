"""Arrays of numbers with a JSON header, as safetensors."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._store.files import PathLike, whole_file

__all__ = ["load_arrays", "save_arrays"]


def save_arrays(
    path: PathLike, arrays: Mapping[str, ArrayLike], meta: Mapping[str, Any] | None = None
) -> None:
    """Save arrays of numbers and a JSON header as safetensors, whole or not at all."""
    from safetensors.numpy import save_file

    plain = {name: np.asarray(value, order="C") for name, value in arrays.items()}
    for name, value in plain.items():
        if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
            raise TypeError(f"arrays[{name!r}] must hold numbers, got dtype {value.dtype}")
        plain[name] = value.astype(value.dtype.newbyteorder("="), copy=False)
    header = {"meta": json.dumps(dict(meta or {}), ensure_ascii=False)}
    with whole_file(path) as part:
        save_file(plain, part, metadata=header)


def load_arrays(path: PathLike) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Load what `save_arrays` saved: the arrays and the header."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise FileNotFoundError(f"path must name a file that exists, got {str(path)!r}")
    try:
        with safe_open(path, framework="numpy") as stream:
            names = stream.keys()
            arrays = {name: np.asarray(stream.get_tensor(name)) for name in names}
            header = stream.metadata() or {}
        return arrays, json.loads(header.get("meta", "{}"))
    except (SafetensorError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} must be a whole safetensors file, got: {error}") from error
