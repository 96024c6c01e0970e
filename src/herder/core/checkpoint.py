"""Checkpoints: a step of a herd on disk, from which it resumes exactly.

The file is that of `herder.core.state`. The state must be an integer or an array. Fractions are
kept as text, so they come back exactly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterTypeError
from herder.core.dynamics import Step
from herder.core.plain import Arrays, Header, read_array, read_number
from herder.core.state import State, load_as, nest, unnest, write_state

__all__ = ["Checkpoint", "load_checkpoint", "save_checkpoint"]

#: A fraction as `str` writes it. `Fraction` reads more than that, such as 1e30000000.
FRACTION = re.compile(r"-?[0-9]+(/[0-9]+)?")


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A step of a herd, as it was saved.

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

    def to_state(self) -> State:
        """Return arrays, and a header that JSON can hold."""
        kept: NDArray[Any] = np.asarray(self.state)
        known = isinstance(self.state, int | np.integer | np.ndarray)
        if not known or kept.dtype.kind not in "biuf":
            kind = type(self.state).__name__
            raise ParameterTypeError("state", "be an integer or an array", got=kind)
        exact = self.weights.dtype == np.object_
        header = {
            "t": int(self.t),
            "scale": float(self.scale),
            "scalar_state": kept.ndim == 0,
            "weights_shape": list(self.weights.shape),
            "exact": exact,
            "meta": self.meta,
        }
        weights = _as_text(self.weights) if exact else self.weights
        return {
            "weights": weights,
            "state": np.atleast_1d(kept),
            **nest("arrays.", self.arrays),
        }, header

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Return the checkpoint that `to_state` was called on."""
        weights, state = arrays["weights"], arrays["state"]
        if read_number(header, "exact", bool):
            text = read_array(arrays, "weights", (None,), np.uint8)
            weights = _from_text(text).reshape(header["weights_shape"])
        is_scalar = read_number(header, "scalar_state", bool)
        if is_scalar and (state.shape != (1,) or state.dtype.kind not in "biu"):
            raise ValueError(f"a state of shape {state.shape} and {state.dtype}, not an integer")
        return cls(
            weights=weights,
            state=int(state[0]) if is_scalar else state,
            t=read_number(header, "t"),
            scale=read_number(header, "scale", float),
            arrays=unnest("arrays.", arrays),
            meta=dict(header["meta"]),
        )


def save_checkpoint(
    path: str | PathLike[str],
    step: Step[Any] | Checkpoint,
    *,
    arrays: dict[str, NDArray[Any]] | None = None,
    meta: dict[str, Any] | None = None,
) -> None:
    """Write a step to a file, from which ``herd`` resumes as if never stopped.

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
    kept = Checkpoint(step.weights, step.state, step.t, step.scale, arrays or {}, dict(meta or {}))
    write_state(path, kept)


def load_checkpoint(path: str | PathLike[str]) -> Checkpoint:
    """Read what `save_checkpoint` wrote.

    Parameters
    ----------
    path : path
        File to read.

    Returns
    -------
    Checkpoint
        Resume with ``herd(system, c.weights, state=c.state, t=c.t, scale=c.scale)``.
    """
    return load_as(Checkpoint, path)


def _as_text(weights: NDArray[Any]) -> NDArray[np.uint8]:
    text = " ".join(str(entry) for entry in weights.flat)
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8)


def _from_text(text: NDArray[Any]) -> NDArray[Any]:
    entries = text.tobytes().decode("ascii").split()
    if not all(map(FRACTION.fullmatch, entries)):
        raise ValueError("weights that are not fractions")
    return np.array([Fraction(entry) for entry in entries], dtype=object)
