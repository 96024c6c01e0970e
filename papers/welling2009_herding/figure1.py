"""Figure 1: 300 pseudo-samples of News (pairs) above 300 documents in random order."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from herder import MomentHerder
from papers.claims import Row
from papers.welling2009_herding import data, pictures

#: Burn-in: from zero weights the first states are all zeros or ones.
N_SKIPPED = 1000
N_SHOWN = 300
N_SAMPLES = 100_000


def run(quick: bool, folder: Path) -> list[Row]:
    """Draw the figure; measure the errors of first and second moments."""
    table = data.bundled()[0] if quick else data.news()
    herding = (
        MomentHerder(2, encoding="01", restarts="none")
        .fit(table)
        .herd(3000 if quick else N_SAMPLES)
    )
    order = np.random.default_rng(data.SEED).permutation(len(table))[:N_SHOWN]
    shown = herding.samples[N_SKIPPED : N_SKIPPED + N_SHOWN]
    _draw(shown, table[order], folder / "figure1.png", "words" if not quick else "pixels")
    name = "quick" if quick else "news"
    return [
        Row(
            f"{name}.moments",
            herding.diagnostics.moment_error,
            note=f"After {len(herding.samples)} pseudo-samples.",
        ),
        Row(f"{name}.ones", float(shown.mean()), note=f"All data: {table.mean():.4f}."),
    ]


def _draw(herded: np.ndarray, rows: np.ndarray, path: Path, what: str) -> None:
    figure = Figure(figsize=(8.2, 5.8), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    for axes, states, title in (
        (upper, herded, "pseudo-samples, in order"),
        (lower, rows, "data"),
    ):
        axes.imshow(states.T, cmap="gray", aspect="auto", interpolation="nearest", vmin=0, vmax=1)
        axes.set_ylabel(what)
        axes.set_title(title, fontsize=10, loc="left")
    lower.set_xlabel("documents" if what == "words" else "images")
    pictures.save(figure, path)
