"""Figure 2.8: the map of a single neuron, its interval, and how far the spikes are off."""

from fractions import Fraction
from pathlib import Path

import numpy as np

from herder import plots, study
from papers.chen2013_thesis import pictures
from papers.claims import Row

N_STEPS, N_QUICK_STEPS = 1_000_000, 10_000

#: (a + b sqrt(d)) / c, all irrational and between 0 and 1.
RATES = [(-1, 1, 2, 5), (-1, 1, 1, 2), (0, 1, 2, 3), (0, 1, 10, 2), (-7, 1, -9, 11)]


def run(quick: bool, folder: Path) -> list[Row]:
    """Herd neurons of irrational rates in exact arithmetic."""
    n = N_QUICK_STEPS if quick else N_STEPS
    rates = [study.Quadratic(*parts) for parts in RATES]
    pictures.save(plots.plot_neuron(rates[0]), folder / "figure2_8.png")
    one = max(study.discrepancy(study.neuron(rate, n), rate) for rate in rates)
    half = Fraction(1, 2)
    two = max(study.discrepancy(study.neuron(rate, n, rate - half), rate) for rate in rates)
    prefix = "quick." if quick else ""
    return [
        Row(f"{prefix}outside", float(sum(_outside(rate, n) for rate in rates))),
        Row(f"{prefix}one", one),
        Row(f"{prefix}half", two),
    ]


def _outside(rate: study.Quadratic, n: int) -> int:
    """Steps after which the weight is not between rate - 1 and rate, up to rounding."""
    steps = np.arange(1, n + 1)
    pi = float(rate)
    weights = 2 * pi - 1 + steps * pi - np.cumsum(study.neuron(rate, n))
    slack = 1e-15 * n
    return int(((weights <= pi - 1 - slack) | (weights > pi + slack)).sum())
