"""Figure 2.10: cones of six states and the translations within them."""

from pathlib import Path

import numpy as np

from herder import plots, study
from papers.chen2013_thesis import pictures
from papers.chen2013_thesis.dynamics import random_system
from papers.claims import Row

N_SYSTEMS, N_STEPS = 100, 10_000
N_QUICK_SYSTEMS, N_QUICK_STEPS = 3, 1000

#: A translation is recovered from two weights up to rounding.
ROUNDING = 1e-9


def run(quick: bool, folder: Path) -> list[Row]:
    """Compare each move with the translation of the cone that holds the weights."""
    n_systems, n_steps = (N_QUICK_SYSTEMS, N_QUICK_STEPS) if quick else (N_SYSTEMS, N_STEPS)
    found = study.attractor(*study.six_states(), 20_000)
    pictures.save(plots.plot_cones(found), folder / "figure2_10.png")
    pairs = [_moves(k, n_steps) for k in range(n_systems)]
    wrong, apart = np.sum(pairs, axis=0)
    prefix = "quick." if quick else ""
    note = f"Of {n_systems * n_steps:,} steps."
    return [
        Row(f"{prefix}moves", float(wrong), note=note),
        Row(f"{prefix}distances", float(apart), note=note),
    ]


def _moves(k: int, n_steps: int) -> tuple[int, int]:
    """Moves that are no translation of their cone; neighbours in one cone that move apart."""
    features, moments = random_system(210, k, 6, 2)
    points = study.attractor(features, moments, n_steps + 1, burn_in=0).points
    best = (points[:-1] @ features.T).argmax(axis=1)
    moves = np.diff(points, axis=0)
    wrong = np.abs(moves - (moments - features[best])).max(axis=1) > ROUNDING
    order = np.lexsort((points[:-1, 0], best))
    same = best[order[1:]] == best[order[:-1]]
    before = points[order[1:]] - points[order[:-1]]
    after = points[order[1:] + 1] - points[order[:-1] + 1]
    apart = (np.abs(after - before).max(axis=1) > ROUNDING) & same
    return int(wrong.sum()), int(apart.sum())
