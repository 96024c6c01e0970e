"""Win percentages, sign tests and means over the trials."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from papers.crammer2010_nherd.protocol import Trial

TEXTS = ("texts", "many texts")


@dataclass(frozen=True)
class Duel:
    """Number of tasks with a lower, equal and higher error than the second algorithm."""

    wins: int
    ties: int
    losses: int

    @property
    def share(self) -> float:
        """Percentage of tasks won; a tie is half a win."""
        return 100.0 * (self.wins + self.ties / 2) / (self.wins + self.ties + self.losses)

    def p_value(self, alternative: str = "two-sided") -> float:
        """Sign test, without the ties, as if the tasks were independent, which they are not."""
        decided = self.wins + self.losses
        if decided == 0:
            return 1.0
        return float(binomtest(self.wins, decided, 0.5, alternative=alternative).pvalue)

    def __str__(self) -> str:
        """Show wins, ties and losses."""
        counts = f"{self.wins} won, {self.ties} tied, {self.losses} lost"
        return f"{counts}; p = {self.p_value():.2g} if tasks were independent."


def duel(first: NDArray[np.float64], second: NDArray[np.float64]) -> Duel:
    """Compare two learners task by task."""
    return Duel(
        int(np.sum(first < second)), int(np.sum(first == second)), int(np.sum(first > second))
    )


def at(trials: Iterable[Trial], noise: float, *, texts: bool | None = None) -> list[Trial]:
    """Return the trials at a noise level: all, or texts only, or digits only."""
    return [
        trial
        for trial in trials
        if trial.noise == noise and texts in (None, trial.task.group in TEXTS)
    ]


def tuned(trials: Iterable[Trial], learner: str) -> NDArray[np.float64]:
    """Errors of a learner with its own C and epochs."""
    return np.array([trial.tuned[learner].error for trial in trials])


def fixed(trials: Iterable[Trial], learner: str, C: float) -> NDArray[np.float64]:
    """Errors of a learner with a C that was not chosen."""
    return np.array([trial.fixed[learner, C] for trial in trials])


def percent(noise: float) -> str:
    """Format a noise level."""
    return f"{round(100 * noise)}"
