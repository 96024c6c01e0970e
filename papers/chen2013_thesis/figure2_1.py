"""Figure 2.1: attractors of tempered herding with four states and two features."""

from itertools import count
from pathlib import Path

import numpy as np

from herder import plots, study
from papers.chen2013_thesis import pictures
from papers.chen2013_thesis.dynamics import random_system
from papers.claims import Row

N_TEMPERATURES, N_SYSTEMS = 600, 150
N_QUICK_TEMPERATURES, N_QUICK_SYSTEMS = 120, 6

#: Temperatures at which random systems are examined.
HEATS = np.append(np.geomspace(5, 0.01, 60), 0)


def run(quick: bool, folder: Path) -> list[Row]:
    """Follow the cascade of one system; count that of random ones."""
    n_heats, n_systems = (
        (N_QUICK_TEMPERATURES, N_QUICK_SYSTEMS) if quick else (N_TEMPERATURES, N_SYSTEMS)
    )
    features, moments = study.four_states()
    heats = np.append(0, np.linspace(0.03, 0.6, n_heats))
    found = study.bifurcation(features, moments, heats)
    pictures.save(plots.plot_bifurcation(found), folder / "figure2_1.png")
    at = found.thresholds
    middles = [1.1 * at[1], *(np.sqrt(at[p] * at[2 * p]) for p in (1, 2, 4, 8))]
    periods = study.bifurcation(features, moments, middles).periods
    ratio = (at[8] - at[16]) / (at[16] - at[32])
    lengths = [_doublings(k) for k in range(n_systems)]
    prefix = "quick." if quick else ""
    return [
        Row(f"{prefix}missing", float(np.sum(periods != [1, 2, 4, 8, 16]))),
        *(Row(f"{prefix}threshold.{p}", at[p]) for p in (1, 2, 4, 8, 16)),
        Row(f"{prefix}ratio", float(ratio)),
        Row(f"{prefix}end", float(at[32] - (at[16] - at[32]) / (ratio - 1))),
        Row(f"{prefix}doubles", float(np.mean(np.array(lengths) >= 1)), note=f"Of {n_systems}."),
        Row(f"{prefix}eight", float(np.mean(np.array(lengths) >= 3)), note=f"Of {n_systems}."),
    ]


def _doublings(k: int) -> int:
    """How often the period of a random system doubles, from 1 on, as it cools."""
    found = study.bifurcation(*random_system(21, k, 4, 2), HEATS).thresholds
    return next(n for n in count() if 2**n not in found)
