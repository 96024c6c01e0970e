"""Settings of a scene as the page sends them: read one by one, and refused by name."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import finite_number, positive_int, real_array

__all__ = ["Settings"]


class Settings:
    """What the page sends with a command.

    Parameters
    ----------
    given : mapping
        Names to JSON values.
    """

    def __init__(self, given: Any) -> None:
        if not isinstance(given, Mapping):
            raise ParameterTypeError("settings", "be a mapping", got=type(given).__name__)
        self.given: Mapping[str, Any] = given

    def number(self, name: str, low: float, high: float) -> float:
        """Return a number from an interval."""
        value = finite_number(self._value(name), name)
        if not low <= value <= high:
            raise ParameterError(name, f"be from {low:g} to {high:g}", value)
        return value

    def whole(self, name: str, high: int) -> int:
        """Return a whole number from 1 on."""
        value = positive_int(self._value(name), name)
        if value > high:
            raise ParameterError(name, f"be at most {high:,}", value)
        return value

    def text(self, name: str, most: int = 100) -> str:
        """Return a text of some length at most."""
        value = self._value(name)
        if not isinstance(value, str):
            raise ParameterTypeError(name, "be a text", got=type(value).__name__)
        if len(value) > most:
            raise ParameterError(name, f"have at most {most:,} characters", len(value))
        return value

    def points(self, name: str, most: int) -> NDArray[np.float64]:
        """Return points of the plane."""
        value = self._value(name)
        if not isinstance(value, list) or not 1 <= len(value) <= most:
            got = f"{len(value):,}" if isinstance(value, list) else type(value).__name__
            raise ParameterError(name, f"be 1 to {most:,} points", got=got)
        points = real_array(value, name)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ParameterError(name, "be points of the plane", got=f"shape {points.shape}")
        if not (np.abs(points) <= 1e3).all():
            raise ParameterError(name, "be from -1000 to 1000")
        return points

    def flag(self, name: str) -> bool:
        """Return whether a flag is set; it may be left out."""
        return self.given.get(name) is True

    def _value(self, name: str) -> Any:
        if name not in self.given:
            raise ParameterError(name, "be given")
        return self.given[name]
