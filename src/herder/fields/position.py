"""The position of a moment herd, and its file."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from herder.core.files import PathLike
from herder.core.plain import Arrays, Header, read_array, read_number
from herder.core.state import State, load_as, write_state

__all__ = ["Position"]


@dataclass(frozen=True, eq=False)
class Position:
    """The position of a herd: all that is needed to continue.

    Parameters
    ----------
    t : int
        Steps done.
    weights : ndarray of int64
        Weights after them, in units of 1/N.
    state : ndarray
        The last state, as codes.
    visited : ndarray of shape (n, n_variables)
        States that a restart may begin from.
    origin : str
        Digest of the moments, encoding and rates that it belongs to.
    """

    t: int
    weights: NDArray[np.int64]
    state: NDArray[np.integer]
    visited: NDArray[np.integer]
    origin: str

    def save(self, path: PathLike) -> None:
        """Write the position to a file, whole or not at all."""
        write_state(path, self)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read a position that `save` wrote."""
        return load_as(cls, path)

    def to_state(self) -> State:
        """Return the arrays, and a header that JSON can hold."""
        arrays = {"weights": self.weights, "state": self.state, "visited": self.visited}
        return arrays, {"t": self.t, "origin": self.origin}

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Make a position of what `to_state` returned; `MomentHerd` checks its codes."""
        t, weights = read_number(header, "t"), read_array(arrays, "weights", (None,), np.int64)
        return cls(t, weights, arrays["state"], arrays["visited"], str(header["origin"]))
