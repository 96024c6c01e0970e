"""The frame of the rows of boosted fields: two states as signs, numbers whitened."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.core.plain import Arrays, Header, read_array
from herder.core.state import State

__all__ = ["RowFrame", "States", "whitening"]

Floats = NDArray[np.float64]

#: The two values of all rows, or None for numbers.
States = tuple[int, int] | None

#: Columns whose deviation is below this share of their largest entry count as constant.
ROUNDING = 1e-12

#: Deviations below the first have no inverse, and sums of numbers above the second no end.
SMALLEST, LARGEST = 1e-300, 1e300

#: Least variance of a direction of standardised columns; less is due to rounding.
LEAST_VARIANCE = 1e-8

#: Rows must be nearer to the mean than this, in standard deviations: their squares are finite.
FARTHEST = 1e100


@dataclass(frozen=True, eq=False)
class RowFrame:
    """What is subtracted from rows, and what they are then multiplied by.

    Parameters
    ----------
    states : tuple of int or None
        The two values of all rows; None for numbers.
    centre : ndarray of shape (n_columns,)
        What is subtracted.
    scale : ndarray of shape (n_columns, n_columns)
        Whitens numbers; for two states it has one entry.
    """

    states: States
    centre: Floats
    scale: Floats

    @classmethod
    def around(cls, points: Floats, states: States) -> Self:
        """Return the frame of some rows."""
        if states is not None:
            middle = np.full(points.shape[1], sum(states) / 2)
            return cls(states, middle, np.array([[2 / (1 - states[0])]]))
        if len(points) < 2:
            raise ParameterError("X", "have at least two rows of numbers", got="1 sample")
        return cls(None, points.mean(axis=0), whitening(points))

    def scaled(self, points: Floats) -> Floats:
        """Return rows as signs, or whitened."""
        if self.states is not None:
            if not np.isin(points, self.states).all():
                rule = f"hold {self.states[0]} and {self.states[1]}, as the rows of fit"
                raise ParameterError("X", rule, got="other values")
            return (points - self.centre) * self.scale[0, 0]
        with np.errstate(over="ignore", invalid="ignore"):
            rows = (points - self.centre) @ self.scale
        far = ~(np.abs(rows).max(axis=1, initial=0) < FARTHEST)
        if far.any():
            rule = f"lie within {FARTHEST:g} standard deviations of the rows of fit"
            raise ParameterError("X", rule, got=f"row {far.argmax()}")
        return rows

    def unscaled(self, rows: Floats) -> NDArray[Any]:
        """Return what `scaled` was given, states as small integers."""
        if self.states is not None:
            return np.where(rows > 0, 1, self.states[0]).astype(np.int8)
        return rows @ np.linalg.inv(self.scale) + self.centre

    def log_volume(self) -> float:
        """Return what the log density of scaled rows lacks, to be that of the rows."""
        return 0.0 if self.states else float(np.linalg.slogdet(self.scale)[1])

    def to_state(self) -> State:
        """Return centre and scale, and the two states."""
        return {"centre": self.centre, "scale": self.scale}, {"states": list(self.states or ())}

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Return the frame that `to_state` described."""
        states = tuple(header["states"]) or None
        if states not in (None, (0, 1), (-1, 1)):
            raise ValueError(f"states {states}")
        centre = read_array(arrays, "centre", (None,))
        size = 1 if states else len(centre)
        scale = read_array(arrays, "scale", (size, size))
        if not size or not len(centre) or not np.isfinite(np.linalg.slogdet(scale)[1]):
            raise ValueError("scale without an inverse")
        return cls(states, centre, scale)


def whitening(points: Floats) -> Floats:
    """Return the matrix by which centred rows get the unit covariance.

    It is symmetric in standardised columns, so that columns change as little as possible.

    Parameters
    ----------
    points : ndarray of shape (n_rows, n_columns)
        The rows; no column may be constant.
    """
    largest = np.abs(points).max(axis=0)
    if largest.max() > LARGEST:
        raise ParameterError("X", f"hold numbers up to {LARGEST:g}", float(largest.max()))
    centred = points / np.where(largest > 0, largest, 1.0)
    centred -= centred.mean(axis=0)
    spread = centred.std(axis=0)
    constant = np.flatnonzero((spread <= ROUNDING) | (largest * spread < SMALLEST))
    if len(constant):
        got = f"column {constant[0]} with one value"
        raise ParameterError("X", "vary in each column", got=got)
    standard = centred / spread
    values, vectors = np.linalg.eigh(standard.T @ standard / len(points))
    roots = np.sqrt(np.maximum(values, LEAST_VARIANCE))
    return (vectors / roots) @ vectors.T / (largest * spread)[:, None]
