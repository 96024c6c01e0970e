"""Broken rows of a file, refused or counted."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from herder.core.summary import counted
from herder.data.source import BrokenRow

__all__ = ["BrokenRows"]


@dataclass
class BrokenRows:
    """Broken rows: the first is refused, or all are counted and left out.

    Parameters
    ----------
    skip : bool
        Whether they are left out.
    remedy : str
        What an error adds, with ``{unit}`` for line or row.
    """

    skip: bool = False
    remedy: str = ""
    count: int = field(default=0, init=False)
    first: str = field(default="", init=False)

    def add(self, path: Path, unit: str, found: Iterable[BrokenRow]) -> None:
        """Count broken rows of a file, or refuse the first of them."""
        for place, rule, word in found:
            text = f"{unit} {place:,} of {path} {rule}, got {word}"
            if not self.skip:
                remedy = self.remedy.format(unit=unit)
                raise ValueError(f"{text}; {remedy}" if remedy else text)
            self.first = self.first or text
            self.count += 1

    def lines(self) -> list[str]:
        """Return a line on how many were left out, if any."""
        if not self.count:
            return []
        return [f"{counted(self.count, 'broken line')} left out, the first: {self.first}"]
