"""Figure 2.11: fractal attractors of six states and two features, and their dimension."""

from pathlib import Path

import numpy as np

from herder import plots, study
from papers.chen2013_thesis import pictures
from papers.chen2013_thesis.curves import mean_and_spread
from papers.chen2013_thesis.dynamics import random_system
from papers.claims import Row

N_SYSTEMS, N_STEPS = 100, 1_000_000
N_QUICK_SYSTEMS, N_QUICK_STEPS = 4, 50_000

#: Two orbits that differ by less than this, in total variation over boxes, have one attractor.
SAME = 0.02

#: Steps before the first point: the box dimension counts stray weights on the way.
BURN_IN = 200_000


def run(quick: bool, folder: Path) -> list[Row]:
    """Measure dimensions, and herd from a second start."""
    n_systems, n_steps = (N_QUICK_SYSTEMS, N_QUICK_STEPS) if quick else (N_SYSTEMS, N_STEPS)
    shown = study.attractor(*study.four_states(), n_steps)
    pictures.save(plots.plot_attractor(shown), folder / "figure2_11.png")
    burn_in = min(BURN_IN, n_steps)
    boxes, pairs, far = [], [], []
    for k in range(n_systems):
        features, moments = random_system(211, k, 6, 2)
        found = study.attractor(features, moments, n_steps, burn_in=burn_in)
        other = study.attractor(features, moments, n_steps, start=[5.0, -3.0], burn_in=burn_in)
        boxes.append(found.box_dimension().value)
        pairs.append(found.correlation_dimension().value)
        far.append(found.distance(other))
    dimension = shown.box_dimension()
    interval = f"95 %: {dimension.low:.2f} to {dimension.high:.2f}, for boxes of side "
    prefix = "quick." if quick else ""
    return [
        Row(f"{prefix}box", *mean_and_spread(boxes), note=f"Of {n_systems} systems."),
        Row(f"{prefix}below", float(np.mean(np.array(boxes) < 1)), note=f"Of {n_systems}."),
        Row(f"{prefix}correlation", *mean_and_spread(pairs)),
        Row(
            f"{prefix}shown",
            dimension.value,
            note=f"{interval}{dimension.first:.1e} to {dimension.last:.2f}.",
        ),
        Row(f"{prefix}start", float(np.median(far))),
        Row(f"{prefix}several", float(np.mean(np.array(far) > SAME)), note=f"Of {n_systems}."),
    ]
