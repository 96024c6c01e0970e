"""Figure 4.6: herded Gibbs on four sites: where it converges, and where it does not."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from herder import PairwiseModel, gibbs, herded_gibbs
from papers.chen2013_thesis import data, pictures
from papers.chen2013_thesis.curves import counts_to, upper_slope
from papers.claims import Row

Floats = NDArray[np.float64]

N_SITES = 4
#: All 16 states; bit i of a state's number is site i.
STATES = np.arange(2**N_SITES)[:, None] >> np.arange(N_SITES) & 1
N_MODELS, N_SWEEPS = 10, 10_000_000
N_QUICK_MODELS, N_QUICK_SWEEPS = 2, 20_000


class Panel(NamedTuple):
    """A graph, and the order in which its sites are visited."""

    id: str
    title: str
    edges: tuple[tuple[int, int], ...]
    order: tuple[int, ...]


LOOP = ((0, 1), (1, 2), (2, 3), (0, 3))
PANELS = (
    Panel("empty", "no edges", (), (0, 1, 2, 3)),
    Panel("complete", "all edges", (*LOOP, (0, 2), (1, 3)), (0, 1, 2, 3)),
    Panel("loop.1324", "loop, order 1-3-2-4", LOOP, (0, 2, 1, 3)),
    Panel("loop.1234", "loop, order 1-2-3-4", LOOP, (0, 1, 2, 3)),
)


def run(quick: bool, folder: Path) -> list[Row]:
    """Compute the total variation distance of all models on all graphs."""
    n_models, n_sweeps = (N_QUICK_MODELS, N_QUICK_SWEEPS) if quick else (N_MODELS, N_SWEEPS)
    counts = counts_to(n_sweeps)
    prefix = "quick." if quick else ""
    found, usual, rows = [], [], []
    for panel in PANELS:
        herded, drawn = [], []
        for k in range(n_models):
            model = _model(panel, np.random.default_rng([data.SEED, 46, k]))
            share = np.exp(np.asarray(model.log_prob(STATES)))
            states = herded_gibbs(model, n_sweeps, order=panel.order).samples
            herded.append(distances(states, share, counts))
            # The key includes the graph: chains of two graphs must not share random numbers.
            random = np.random.default_rng([data.SEED, 46, k, PANELS.index(panel)])
            states = gibbs(model, n_sweeps, order=panel.order, random_state=random).samples
            drawn.append(distances(states, share, counts))
        found.append(np.array(herded))
        usual.append(np.array(drawn))
        rows += _rows(prefix + panel.id, found[-1], usual[-1], counts)
    _draw(counts, found, usual, folder / "figure4_6.png")
    return rows


def distances(states: NDArray[np.int8], share: Floats, counts: NDArray[np.intp]) -> Floats:
    """Total variation distance of the first T states to ``share``, for all T in ``counts``."""
    codes = states @ (1 << np.arange(N_SITES, dtype=np.int8))
    parts = np.split(codes, counts)[: len(counts)]
    seen = np.cumsum([np.bincount(part, minlength=len(share)) for part in parts], axis=0)
    return np.abs(seen / counts[:, None] - share).sum(axis=1) / 2


def _model(panel: Panel, random: np.random.Generator) -> PairwiseModel:
    """Standard normal parameters; each graph uses those of its own edges."""
    couplings, biases = random.standard_normal((N_SITES, N_SITES)), random.standard_normal(N_SITES)
    weights = [couplings[edge] for edge in panel.edges]
    return PairwiseModel.from_edges(N_SITES, list(panel.edges), weights, biases)


def _rows(name: str, herded: Floats, usual: Floats, counts: NDArray[np.intp]) -> list[Row]:
    slopes = [upper_slope(curve, counts) for curve in herded]
    late = [upper_slope(curve, counts, counts[-1] // 10) for curve in herded]
    last, other = herded[:, -1], float(np.median(usual[:, -1]))
    spread = f"{last.min():.1e} to {last.max():.1e} over {len(herded)} models; Gibbs: {other:.1e}."
    return [
        Row(f"{name}.slope", float(np.median(slopes)), note=_range(slopes)),
        Row(f"{name}.late", float(np.median(late)), note=_range(late)),
        Row(f"{name}.last", float(np.median(last)), limit=other, note=spread),
    ]


def _range(slopes: list[float]) -> str:
    return f"{min(slopes):.2f} to {max(slopes):.2f}."


def _draw(counts: NDArray[np.intp], found: list[Floats], usual: list[Floats], path: Path) -> None:
    figure = Figure(figsize=(8.6, 6.4), layout="constrained")
    for axes, panel, herded, drawn in zip(
        figure.subplots(2, 2, sharex=True, sharey=True).flat, PANELS, found, usual, strict=True
    ):
        for k, (curve, other) in enumerate(zip(herded, drawn, strict=True)):
            names = ("Gibbs", "herded Gibbs") if k == 0 else (None, None)
            axes.loglog(counts, 1 / other, color=pictures.RANDOM, lw=0.6, label=names[0])
            axes.loglog(counts, 1 / curve, color=pictures.HERDED, lw=0.8, label=names[1])
        pictures.tidy(axes, "sweeps T", "1 / total variation", panel.title)
    figure.axes[0].legend(frameon=False, fontsize=9, loc="upper left")
    pictures.save(figure, path)
