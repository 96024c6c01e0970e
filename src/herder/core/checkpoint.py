"""Checkpoints: a step of a herd on disk, from which it goes on exactly.

The file is a safetensors file with a JSON header, written whole or not at all. The state must
be an integer or an array. Fractions are kept as text, so they come back exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder.core.dynamics import Step
from herder.core.state import load_arrays, save_arrays

__all__ = ["Checkpoint", "load_checkpoint", "save_checkpoint"]

#: Written into each file; a reader refuses what it does not know.
FORMAT = "herder checkpoint 1"


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """Where a herd stood.

    Attributes
    ----------
    weights : array
        Weights after the step.
    state : int or array
        The last state.
    t : int
        Steps done.
    scale : float
        Scale of the weights.
    arrays : dict of str to array
        What else was saved, such as sums of running averages.
    meta : dict
        What else was saved, as JSON.
    """

    weights: NDArray[Any]
    state: Any
    t: int
    scale: float
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict[str, NDArray[Any]])
    meta: dict[str, Any] = field(default_factory=dict[str, Any])


def save_checkpoint(
    path: str | PathLike[str],
    step: Step[Any] | Checkpoint,
    *,
    arrays: dict[str, NDArray[Any]] | None = None,
    meta: dict[str, Any] | None = None,
) -> None:
    """Write a step to a file; ``herd`` goes on from it as if never stopped.

    Parameters
    ----------
    path : path
        File to write, replaced if it exists.
    step : Step or Checkpoint
        Its state must be an integer or an array of numbers.
    arrays : dict of str to array, optional
        More arrays to keep with it.
    meta : dict, optional
        More to keep with it: anything that JSON can hold.
    """
    kept: NDArray[Any] = np.asarray(step.state)
    known = isinstance(step.state, (int, np.integer, np.ndarray))
    if not known or kept.dtype.kind not in "biuf":
        raise ParameterTypeError(
            "state", "be an integer or an array", got=type(step.state).__name__
        )
    header = {
        "format": FORMAT,
        "t": int(step.t),
        "scale": float(step.scale),
        "scalar_state": kept.ndim == 0,
        "weights_shape": list(step.weights.shape),
        "exact": step.weights.dtype == np.object_,
        "meta": dict(meta or {}),
    }
    weights = _as_text(step.weights) if header["exact"] else step.weights
    content: dict[str, NDArray[Any]] = {
        "weights": np.ascontiguousarray(weights),
        "state": np.ascontiguousarray(np.atleast_1d(kept)),
    }
    for name, array in (arrays or {}).items():
        content[f"arrays.{name}"] = np.ascontiguousarray(array)
    save_arrays(path, content, header)


def load_checkpoint(path: str | PathLike[str]) -> Checkpoint:
    """Read what `save_checkpoint` wrote.

    Parameters
    ----------
    path : path
        File to read.

    Returns
    -------
    Checkpoint
        Go on with ``herd(system, c.weights, state=c.state, t=c.t, scale=c.scale)``.
    """
    content, header = load_arrays(path)
    if header.get("format") != FORMAT or not {"weights", "state"} <= content.keys():
        raise ParameterError("path", f"be a {FORMAT!r} file", str(path))
    weights, state = content["weights"], content["state"]
    if header["exact"]:
        weights = _from_text(weights).reshape(header["weights_shape"])
    return Checkpoint(
        weights=weights,
        state=int(state[0]) if header["scalar_state"] else state,
        t=int(header["t"]),
        scale=float(header["scale"]),
        arrays={
            name.removeprefix("arrays."): array
            for name, array in content.items()
            if name.startswith("arrays.")
        },
        meta=dict(header["meta"]),
    )


def _as_text(weights: NDArray[Any]) -> NDArray[np.uint8]:
    text = " ".join(str(entry) for entry in weights.flat)
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8)


def _from_text(text: NDArray[Any]) -> NDArray[Any]:
    entries = [Fraction(entry) for entry in text.tobytes().decode("ascii").split()]
    weights = np.empty(len(entries), dtype=object)
    weights[:] = entries
    return weights
