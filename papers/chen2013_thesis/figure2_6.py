"""Figure 2.6: states of a critical Ising model, by Swendsen-Wang and by herding."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from papers.chen2013_thesis import ising, pictures
from papers.claims import Row

Floats = NDArray[np.float64]

#: Distance of the sites whose correlation is reported.
APART = 10


def run(quick: bool, folder: Path) -> list[Row]:
    """Draw two states; compare averages that herding matches and others that it does not."""
    edges, sampled = ising.torus(quick).edges, ising.sample(quick)
    side = ising.QUICK_SIDE if quick else ising.SIDE
    herded, shuffled = ising.herd(quick), ising.herd(quick, "random")
    reach = np.unique(np.rint(np.geomspace(1, side // 2, 20)).astype(np.intp))
    curves = {
        "Swendsen-Wang": (ising.correlation(sampled.states, reach), pictures.RANDOM),
        "herding": (ising.correlation(herded.states, reach), pictures.HERDED),
        "herding, random scan": (ising.correlation(shuffled.states, reach), pictures.TRUE),
    }
    _draw(sampled.states[-1], herded.states[-1], reach, curves, folder / "figure2_6.png")
    pairs = [ising.pair_average(state, edges) for state in herded.states]
    far = [
        float(ising.correlation(found.states, np.array([APART]))[0])
        for found in (sampled, herded, shuffled)
    ]
    sizes = [float(np.abs(found.states.mean(axis=1)).mean()) for found in (sampled, herded)]
    error, exact = sampled.error, ising.exact_pair(side)
    prefix = "quick." if quick else ""
    return [
        Row(
            f"{prefix}pair.off",
            abs(sampled.pair - exact) / error,
            note=f"{sampled.pair:.5f} found, {exact:.5f} expected, standard error {error:.0e}.",
        ),
        Row(f"{prefix}moments", herded.error, note=f"PCT violations: {herded.violations} steps."),
        Row(f"{prefix}pair.spread", float(np.std(pairs)), note=f"Mean {np.mean(pairs):.4f}."),
        Row(f"{prefix}size.sampled", sizes[0]),
        Row(f"{prefix}size.herded", sizes[1]),
        Row(f"{prefix}far.sampled", far[0]),
        Row(f"{prefix}far.herded", far[1], note=f"With a random scan order {far[2]:.3f}."),
    ]


def _draw(
    sampled: ising.States,
    herded: ising.States,
    reach: NDArray[np.intp],
    curves: dict[str, tuple[Floats, str]],
    path: Path,
) -> None:
    figure = Figure(figsize=(9.6, 3.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    side = round(np.sqrt(len(sampled)))
    for axes, state, title in ((left, sampled, "Swendsen-Wang"), (middle, herded, "herding")):
        axes.imshow(state.reshape(side, side), cmap="gray", interpolation="nearest")
        axes.set_title(title, fontsize=10, loc="left")
        axes.set_axis_off()
    for name, (curve, colour) in curves.items():
        right.plot(reach, curve, ".-", color=colour, lw=1, ms=4, label=name)
    right.set_xscale("log")
    right.axhline(0, color=pictures.LEVEL, lw=0.7)
    right.legend(frameon=False, fontsize=8)
    pictures.tidy(right, "distance", "mean product of two sites")
    pictures.save(figure, path)
