"""Figure 2.9: the Fibonacci neuron and the rabbit sequence."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from herder import study
from papers.chen2013_thesis import pictures
from papers.claims import Row

N_TERMS, N_QUICK_TERMS = 1_000_000, 20_000
LONGEST, LONGEST_QUICK = 200, 50

#: Steps that are drawn, as in the thesis.
N_DRAWN = 30

GOLDEN = (-1, 1, 2, 5)


def run(quick: bool, folder: Path) -> list[Row]:
    """Compare a million terms with the rabbit sequence and count the words."""
    n, longest = (N_QUICK_TERMS, LONGEST_QUICK) if quick else (N_TERMS, LONGEST)
    states = study.neuron(study.Quadratic(*GOLDEN), n, study.Quadratic(-2, 1, 1, 5))
    rabbits = rabbit_sequence(n)
    words = study.complexity(states, longest)
    _draw(states[:N_DRAWN], rabbits[:N_DRAWN], folder / "figure2_9.png")
    prefix = "quick." if quick else ""
    return [
        Row(f"{prefix}differ", float((states != rabbits).sum()), note=f"Of {n:,}."),
        Row(f"{prefix}words", float(np.abs(words - np.arange(2, longest + 2)).max())),
    ]


def rabbit_sequence(n: int) -> NDArray[np.uint8]:
    """Footnote 2: 0 becomes 1 and 1 becomes 10; each word is the last one and the one before."""
    young, old = np.array([1], dtype=np.uint8), np.array([1, 0], dtype=np.uint8)
    while len(old) < n:
        young, old = old, np.concatenate([old, young])
    return old[:n]


def _draw(states: NDArray[np.uint8], rabbits: NDArray[np.uint8], path: Path) -> None:
    figure = Figure(figsize=(8.0, 2.9), layout="constrained")
    above, below = figure.subplots(1, 2)
    pi = float(study.Quadratic(*GOLDEN))
    steps = np.arange(len(states) + 1)
    weights = 2 * pi - 1 + steps * pi - np.append(0, np.cumsum(states))
    above.plot(steps, weights, ".-", color=pictures.HERDED, lw=0.8)
    above.axhline(0, color=pictures.LEVEL, lw=0.7)
    pictures.tidy(above, "step", "weight", "weights of the Fibonacci neuron")
    below.imshow([states, rabbits], cmap="gray", aspect="auto", vmin=0, vmax=1)
    below.axhline(0.5, color="white", lw=3)
    pictures.tidy(below, "step", "", "its states above, the rabbit sequence below")
    below.set_yticks([])
    pictures.save(figure, path)
