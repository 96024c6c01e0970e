"""The third scene: a single neuron, its weight on a circle, and its word."""

import re
from fractions import Fraction

import numpy as np

from herder._errors import ParameterError
from herder.explore.frames import Frame
from herder.explore.settings import Settings
from herder.study import Quadratic, complexity, neuron

__all__ = ["NeuronScene"]

#: Terms of a run, and those in which words are counted, up to a length.
RUN_TERMS, COUNTED, LONGEST = 20_000, 4_000, 16

#: Rates by name: golden mean, and the root of 2 less 1.
RATES = {"golden": Quadratic(-1, 1, 2, 5), "silver": Quadratic(-1, 1, 1, 2)}

#: Largest denominator of a rate.
MOST_PARTS = 10**6


class NeuronScene:
    """A neuron that fires at a given rate.

    Parameters
    ----------
    settings : Settings
        ``rate``: "golden", "silver", or a fraction or decimal number from 0 to 1; ``centred`` for
        a start at rate - 1/2 instead of 2 rate - 1.
    previous : object
        The scene before.
    """

    def __init__(self, settings: Settings, previous: object) -> None:
        self.rate = _read_rate(settings.text("rate", 40))
        half = Fraction(1, 2)
        start = self.rate - half if settings.flag("centred") else None
        self.states = neuron(self.rate, RUN_TERMS, start)
        self.done, rate = 0, float(self.rate)
        steps = np.arange(1, RUN_TERMS + 1)
        self.errors = np.cumsum(self.states) - steps * rate
        self.first_weight = float(2 * rate - 1 if start is None else start)

    def first(self) -> Frame:
        """Return the rate, the first weight, and the period of a rational rate."""
        period = self.rate.denominator if isinstance(self.rate, Fraction) else 0
        return {
            "rate": float(self.rate),
            "weight": self.first_weight,
            "period": period,
            "limit": RUN_TERMS,
        }

    def advance(self, settings: Settings) -> Frame:
        """Return some more terms, and how many words of each length there have been."""
        low = self.done
        self.done = min(low + settings.whole("n", 1_000), RUN_TERMS)
        part = slice(low, self.done)
        seen = self.states[: min(self.done, COUNTED)]
        return {
            "t": self.done,
            "states": self.states[part],
            "errors": self.errors[part].astype(np.float32),
            "words": complexity(seen, min(LONGEST, len(seen))).astype(np.int32),
        }


def _read_rate(text: str) -> Fraction | Quadratic:
    if text in RATES:
        return RATES[text]
    rule = "be a number from 0 to 1 such as 5/8 or 0.618, 'golden' or 'silver'"
    if not re.fullmatch(r"\s*\d{1,7}(\s*/\s*\d{1,7}|\.\d{1,12})?\s*|\s*\.\d{1,12}\s*", text):
        raise ParameterError("rate", rule, text)
    parts = text.replace(" ", "")
    if re.fullmatch(r"\d+/0+", parts) or not 0 <= Fraction(parts) <= 1:
        raise ParameterError("rate", rule, text)
    return Fraction(parts).limit_denominator(MOST_PARTS)
