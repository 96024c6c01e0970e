"""Section 2.6.3: how fast the number of words grows with their length."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.special import stdtrit

from herder import study
from papers.chen2013_thesis import pictures
from papers.chen2013_thesis.dynamics import Floats, random_system
from papers.claims import Row

N_STATES = 6
N_SYSTEMS, N_QUICK_SYSTEMS = 20, 3

#: Longest words by number of features, and starts where words are counted over them.
LENGTHS, QUICK_LENGTHS = {1: 200, 2: 100, 3: 24}, {1: 60, 2: 24, 3: 10}
STARTS, QUICK_STARTS = {1: 2**14, 3: 2**22}, {1: 2**12, 3: 2**16}


def run(quick: bool, folder: Path) -> list[Row]:
    """Count words of random systems; fit their exponents over the longer ones."""
    n_systems = N_QUICK_SYSTEMS if quick else N_SYSTEMS
    lengths = QUICK_LENGTHS if quick else LENGTHS
    starts = QUICK_STARTS if quick else STARTS
    prefix, rows, curves = "quick." if quick else "", [], {}
    for k, longest in lengths.items():
        found = [_words(k, i, longest, starts) for i in range(n_systems)]
        slopes = np.array([words.exponent().value for words in found])
        curves[k] = np.array([words.counts for words in found], dtype=np.float64)
        rows.append(_mean(f"{prefix}exponent.{k}", slopes, longest))
    neuron = study.count_words([[0.0], [1.0]], [0.5 * 5**0.5 - 0.5], 40).counts
    rows.append(Row(f"{prefix}neuron", float(np.abs(neuron - np.arange(2, 42)).max())))
    _draw(curves, folder / "section2_6.png")
    return rows


def _words(k: int, i: int, longest: int, starts: dict[int, int]) -> study.Words:
    features, moments = random_system(260 + k, i, N_STATES, k)
    if k == 2:
        return study.split_words(features, moments, longest)
    return study.count_words(features, moments, longest, n_starts=starts[k])


def _mean(name: str, slopes: Floats, longest: int) -> Row:
    """The mean over systems, its spread, and in the note its interval."""
    spread = float(slopes.std(ddof=1))
    half = stdtrit(len(slopes) - 1, 0.975) * spread / np.sqrt(len(slopes))
    low, high = slopes.mean() - half, slopes.mean() + half
    note = (
        f"95 % interval of the mean: {low:.2f} to {high:.2f}; T from {longest // 4} to {longest}."
    )
    return Row(name, float(slopes.mean()), spread, note=note)


def _draw(curves: dict[int, Floats], path: Path) -> None:
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    colours = {1: pictures.RANDOM, 2: pictures.HERDED, 3: pictures.TRUE}
    for k, counts in curves.items():
        lengths = np.arange(1, counts.shape[1] + 1)
        axes.loglog(lengths, counts.T, color=colours[k], lw=0.5, alpha=0.5)
        middle = np.exp(np.log(counts).mean(axis=0))
        axes.loglog(lengths, middle, color=colours[k], lw=2, label=f"K = {k}")
        power = middle[-1] * (lengths / lengths[-1]) ** k
        axes.loglog(lengths, power, "--", color=pictures.LEVEL, lw=0.7)
    axes.legend(frameon=False, fontsize=9)
    pictures.tidy(axes, "length T", "M(T)", "words of random systems; dashed: slope K")
    pictures.save(figure, path)
