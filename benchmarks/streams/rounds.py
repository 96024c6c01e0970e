"""Rounds in which every method runs once, in turn, by CPU time.

The machine is noisy, so only ratios within a round count. A round begins with another method each
time, rounds go on until the time is spent, and the garbage collector waits until a run is over.
"""

import gc
import time
from collections.abc import Callable, Mapping
from statistics import median, quantiles
from typing import NamedTuple

__all__ = ["Bar", "Run", "Speed", "compare", "play"]

#: A run is repeated within its round until it has taken this long: short ones are unsteady.
ENOUGH_SECONDS = 0.02

LEAST_ROUNDS, MOST_ROUNDS = 7, 60

Run = Callable[[], object]


class Speed(NamedTuple):
    """How many times as fast as the base: the median of the rounds, and its quartiles.

    ``best`` is the ratio of the least times of all rounds, which other work on the machine hardly
    touches.
    """

    ratio: float
    lower: float
    upper: float
    best: float
    rounds: int


class Bar(NamedTuple):
    """A speed that is promised, with what was measured."""

    text: str
    limit: float
    value: float
    lower: float
    upper: float
    best: float

    @property
    def met(self) -> bool:
        return self.value >= self.limit


def seconds_of(run: Run) -> float:
    """CPU seconds of one run, by the mean of as many as it takes to be steady."""
    gc.collect()
    gc.disable()
    try:
        runs, start = 0, time.process_time()
        while True:
            run()
            runs += 1
            spent = time.process_time() - start
            if spent >= ENOUGH_SECONDS:
                return spent / runs
    finally:
        gc.enable()


def play(methods: Mapping[str, Run], seconds: float) -> dict[str, list[float]]:
    """Run all methods in turn for about so many seconds, after one round that does not count."""
    names = list(methods)
    for name in names:
        methods[name]()
    spent: dict[str, list[float]] = {name: [] for name in names}
    start = time.perf_counter()
    for turn in range(MOST_ROUNDS):
        if turn >= LEAST_ROUNDS and time.perf_counter() - start > seconds:
            break
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            spent[name].append(seconds_of(methods[name]))
    return spent


def compare(spent: Mapping[str, list[float]], ours: str, base: str) -> Speed:
    """Say how many times as fast as the base a method is."""
    ratios = [b / a for a, b in zip(spent[ours], spent[base], strict=True)]
    lower, _, upper = quantiles(ratios, n=4)
    best = min(spent[base]) / min(spent[ours])
    return Speed(median(ratios), lower, upper, best, len(ratios))
