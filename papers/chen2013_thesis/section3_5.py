"""Section 3.5.2 and figure 3.10: marginals that contradict each other, the nearest that do not."""

from itertools import combinations, islice, product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.optimize import nnls

from herder import EnumeratedSystem, PatchTables, herd, herd_marginals
from papers.chen2013_thesis import pictures
from papers.claims import Row

Floats = NDArray[np.float64]

#: Systems of so many sites, steps of each, and those of a quick run.
N_SYSTEMS, N_SITES, N_STEPS = 50, 5, 20_000
QUICK_SYSTEMS, QUICK_STEPS = 5, 2_000

#: The sum of the shares of the states weighs this much in the oracle.
HEAVY = 1e4

#: Rates of the pairs in the case of large lambda.
LAMBDA = 500.0

#: Figure 3.10: corners of the polytope, states within, and the target.
CORNERS = [[-1.0, -0.8], [1.2, -0.6], [1.5, 0.9], [0.2, 1.4], [-1.2, 0.9]]
WITHIN, TARGET = [[0.3, 0.1], [-0.2, -0.3]], [2.1, 0.0]


def run(quick: bool, folder: Path) -> list[Row]:
    """Herd systems whose moments contradict each other, and compare with quadratic programming."""
    n_systems, n_steps = (QUICK_SYSTEMS, QUICK_STEPS) if quick else (N_SYSTEMS, N_STEPS)
    steps = np.unique(np.rint(np.geomspace(10, n_steps, 60)).astype(np.intp))
    found = [_measured(seed, steps) for seed in range(n_systems)]
    errors, angles, gains = (np.array(part) for part in zip(*found, strict=True))
    _draw(steps, errors, folder / "section3_5.png")
    scaled = errors * steps
    early = float(scaled[:, steps <= n_steps // 10].max())
    prefix = "quick." if quick else ""
    fits = [np.polyfit(np.log(steps), np.log(own), 1)[0] for own in errors]
    return [
        Row(f"{prefix}rate", float(scaled.max()), limit=2 * early, note=f"T up to {n_steps}."),
        Row(f"{prefix}slope", float(np.mean(fits)), spread=float(np.std(fits))),
        Row(f"{prefix}lemma", float(angles.max())),
        Row(f"{prefix}corollary", float(gains.max())),
        Row(f"{prefix}lambda", _large_lambda()),
    ]


def _measured(seed: int, steps: NDArray[np.intp]) -> tuple[Floats, float, float]:
    """Return errors after some steps, the largest product of the lemma, and of the corollary."""
    rng = np.random.default_rng([2013, seed])
    phi, target = _features(rng)
    goal = nearest(phi, target)
    states = [s.state for s in islice(herd(EnumeratedSystem(phi, target), target), int(steps[-1]))]
    averages = phi[states].cumsum(axis=0)[steps - 1] / steps[:, None]
    errors = np.linalg.norm(averages - goal, axis=1)
    angle = float(((phi - goal) @ (target - goal)).max())
    true = rng.dirichlet(np.ones(len(phi)), 200) @ phi
    before, after = (np.linalg.norm(true - point, axis=1) for point in (target, goal))
    return errors, angle, float((after / before).max())


def _features(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return features of all states, and marginals of sites and pairs, each drawn on its own."""
    states = np.array(list(product([0, 1], repeat=N_SITES)))
    pairs = list(combinations(range(N_SITES), 2))
    singles = rng.dirichlet([1.0, 1.0], N_SITES)
    tables = rng.dirichlet(np.full(4, 0.5), len(pairs))
    cells = [states[:, i] == value for i in range(N_SITES) for value in (0, 1)]
    cells += [2 * states[:, i] + states[:, j] == cell for i, j in pairs for cell in range(4)]
    return np.column_stack(cells).astype(float), np.concatenate([singles.ravel(), tables.ravel()])


def nearest(phi: Floats, target: Floats) -> Floats:
    """Return the nearest point of the convex hull, by non-negative least squares."""
    left, right = np.vstack([phi.T, np.full(len(phi), HEAVY)]), np.append(target, HEAVY)
    shares, _ = nnls(left, right, maxiter=100_000)
    return shares / shares.sum() @ phi


def _large_lambda() -> float:
    """Return the largest difference of a site's marginal from the mean of what was given."""
    rng = np.random.default_rng(35)
    size = 8
    sites = np.arange(size * size).reshape(size, size)
    edges = np.vstack(
        [
            np.column_stack([sites[:, :-1].ravel(), sites[:, 1:].ravel()]),
            np.column_stack([sites[:-1].ravel(), sites[1:].ravel()]),
        ]
    )
    black = rng.random(size * size)
    marginals = {
        "sites": PatchTables(sites.reshape(-1, 1), np.column_stack([1 - black, black])),
        "edges": PatchTables(edges, np.zeros(len(edges)), "differ"),
    }
    found: Any = herd_marginals(marginals, 1_000, rates={"edges": LAMBDA}, maximiser="cut")
    return float(np.abs(found.marginals[:, 1] - black.mean()).max())


def _draw(steps: NDArray[np.intp], errors: Floats, path: Path) -> None:
    figure = Figure(figsize=(9.2, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    features, target = np.array([*CORNERS, *WITHIN]), np.array(TARGET)
    states = [s.state for s in islice(herd(EnumeratedSystem(features, target), target), 300)]
    averages = features[states].cumsum(axis=0) / np.arange(1, 301)[:, None]
    left.fill(*np.transpose(CORNERS), color="#e4e7eb")
    left.plot(*features.T, "o", color=pictures.LEVEL, label="states")
    left.plot(*averages.T, "-", color=pictures.HERDED, lw=1, label="averages")
    left.plot(*target, "x", color=pictures.RANDOM, ms=8, label="target")
    left.plot(*np.array([target, averages[-1]]).T, ":", color=pictures.LEVEL, lw=1)
    left.set_aspect("equal")
    left.legend(frameon=False, fontsize=8)
    pictures.tidy(left, "first feature", "second feature")
    right.loglog(steps, errors.T, color=pictures.HERDED, lw=0.5, alpha=0.5)
    level = np.median(errors[:, 0]) * steps[0]
    right.loglog(steps, level / steps, "--", color=pictures.TRUE, lw=1, label="rate 1/T")
    right.legend(frameon=False, fontsize=8)
    pictures.tidy(right, "steps", "distance to the projection")
    pictures.save(figure, path)
