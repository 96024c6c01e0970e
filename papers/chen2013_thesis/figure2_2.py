"""Figure 2.2: the Tipi function, with the attractor of herding on it."""

from pathlib import Path

import numpy as np

from herder import EnumeratedSystem, plots, study
from papers.chen2013_thesis import data, pictures
from papers.chen2013_thesis.dynamics import random_system
from papers.claims import Row

N_SYSTEMS, N_POINTS = 100, 1000
N_QUICK_SYSTEMS = 5


def run(quick: bool, folder: Path) -> list[Row]:
    """Verify the three properties of section 2.3 at random weights of random systems."""
    found = study.attractor(*study.six_states(), 20_000 if quick else 1_000_000)
    pictures.save(plots.plot_tipi_surface(found), folder / "figure2_2.png")
    tops, bends, scales = zip(
        *(_properties(k) for k in range(N_QUICK_SYSTEMS if quick else N_SYSTEMS)), strict=True
    )
    prefix = "quick." if quick else ""
    return [
        Row(f"{prefix}top", max(tops)),
        Row(f"{prefix}bend", max(bends)),
        Row(f"{prefix}scale", max(scales)),
    ]


def _properties(k: int) -> tuple[float, float, float]:
    """Largest value, deviation from concavity, and from linearity along rays."""
    system = EnumeratedSystem(*random_system(22, k, 6, 2))
    random = np.random.default_rng([data.SEED, 22, k, 1])
    ends = random.standard_normal((N_POINTS, 2, 2))
    values = np.array([[system.tipi(w) for w in pair] for pair in ends], dtype=np.float64)
    middles = np.array([system.tipi(pair.mean(axis=0)) for pair in ends], dtype=np.float64)
    thrice = np.array([system.tipi(3 * pair[0]) for pair in ends], dtype=np.float64)
    bend = float((values.mean(axis=1) - middles).max())
    return float(values.max()), bend, float(np.abs(thrice - 3 * values[:, 0]).max())
