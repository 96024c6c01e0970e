"""Draw the figures of the README and of the first pages: ``python docs/pictures.py``.

Writes _static/pairs_and_rate.png, _static/thinning.png, of which it prints the numbers,
_static/codec.png from the results of benchmarks/codec.py, and _static/go.png.
"""

import json
from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from herder import GaussianMixture, Moments, count_distribution, moment_herd, thin
from herder.apps.go import read_game, territory
from herder.datasets import load_breast_cancer_binary, load_digits_binary
from herder.plots import plot_territory

HERD, RANDOM, TABLE = "#0f766e", "#d97706", "#cbd2d9"


def draw_counts(ax: plt.Axes) -> None:
    X = load_breast_cancer_binary().X
    herded = moment_herd(Moments.from_data(X), 20_000).samples
    alone = np.ones(1)
    for share in X.mean(axis=0):
        alone = np.convolve(alone, [1 - share, share])
    k = np.arange(X.shape[1] + 1)
    ax.bar(k, count_distribution(X), color=TABLE, width=0.85, label="table")
    ax.plot(k, count_distribution(herded), "o-", color=HERD, label="herded rows")
    ax.plot(k, alone, "s-", color=RANDOM, label="independent columns")
    ax.set_xlabel("number of ones per row, k")
    ax.set_ylabel("proportion of rows, P(k)")


def draw_rate(ax: plt.Axes) -> None:
    X = load_digits_binary().X[:, [10, 18, 20, 26, 28, 34, 42, 50]].astype(float)
    n = 2**17
    trace = moment_herd(Moments.from_data(X.astype(int)), n).diagnostics.trace
    drawn = X[np.random.default_rng(0).integers(len(X), size=n)]
    target = X.T @ X / len(X)
    error = []
    for t in trace.t:
        both = drawn[:t].T @ drawn[:t] / t - target
        one = both.diagonal()
        cells = both, one - both, one[:, None] + one - both
        error.append(max(np.abs(cell).max() for cell in cells))
    ax.loglog(trace.t, error, "s-", color=RANDOM, label=r"random rows, $1/\sqrt{T}$")
    ax.loglog(trace.t, trace.error, "o-", color=HERD, label="herded rows, $1/T$")
    ax.set_xlabel("number of rows, T")
    ax.set_ylabel("largest error of a cell")


def draw_points(ax: plt.Axes, X: np.ndarray) -> None:
    """Draw the sample and the selected rows."""
    chosen = thin(X, 200)
    ax.plot(*X[::5].T, ",", color="#7b8794", alpha=0.6)
    ax.plot(*X[chosen].T, "o", color=HERD, markersize=3.2, markeredgecolor="white", mew=0.4)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_title(f"{len(X):,} rows, 200 selected", fontsize=9)
    ax.set_xticks([])
    ax.set_yticks([])
    print(f"MMD of 200 rows {chosen.mmd:.1e}, random subset {chosen.mmd_random:.1e}", end="")
    print(f": {chosen.mmd_random / chosen.mmd:.0f}x closer")


def draw_distances(ax: plt.Axes, X: np.ndarray) -> None:
    """Draw the MMD to the full sample against the number of rows, for each method."""
    sizes = [10, 20, 50, 100, 200]
    nested = thin(X, sizes[-1], refine=False)
    best = [thin(X, m) for m in sizes]
    lines = {
        "random rows": ("s-", RANDOM, [choice.mmd_random for choice in best]),
        "herding, refine=False": ("^-", "#7c3aed", nested.path[np.array(sizes) - 1]),
        "exchange, refine=True (default)": ("o-", HERD, [choice.mmd for choice in best]),
    }
    for name, (style, colour, values) in lines.items():
        ax.loglog(sizes, values, style, color=colour, label=name)
        print(f"{name:<32}" + "".join(f"{value:10.1e}" for value in values))
    ax.set_xticks(sizes, [str(m) for m in sizes])
    ax.minorticks_off()
    ax.set_ylim(1e-2, 3)  # with room for the legend
    ax.set_xlabel("number of selected rows")
    ax.set_ylabel("MMD to the full sample")


def draw_sizes(ax: plt.Axes, name: str) -> None:
    """Draw the bits per image of every format on a set of images."""
    path = Path(__file__).parents[1] / "benchmarks" / "results" / "codec.json"
    rows = [row for row in json.loads(path.read_text())["rows"] if row["set"] == name]
    rows.sort(key=lambda row: -row["bits_per_image"])
    ours = [row["format"].startswith("herder") for row in rows]
    bits = [row["bits_per_image"] for row in rows]
    bars = ax.barh(
        [row["format"] for row in rows], bits, color=[HERD if own else TABLE for own in ours]
    )
    ax.bar_label(bars, [f"{value:.0f}" for value in bits], padding=3)
    ax.set_xlabel("bits per image, whole file")
    ax.set_title(name, fontsize=9)


def two_panels(name: str, left: Callable, right: Callable) -> None:
    style = {"font.size": 9, "lines.markersize": 3.5, "lines.linewidth": 1.2}
    with plt.rc_context(style):
        figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.1), layout="constrained")
        left(axes[0])
        right(axes[1])
        for ax in axes:
            ax.spines[["top", "right"]].set_visible(False)
            if ax.get_legend_handles_labels()[0]:
                ax.legend(frameon=False)
        path = Path(__file__).parent / "_static" / name
        figure.savefig(path, dpi=130, metadata={"Software": None})


def draw_boards() -> None:
    here = Path(__file__).parent
    game, moves = read_game(here.parent / "examples" / "ear_reddening.sgf"), [20, 80, 150]
    positions = zip(moves, game.positions(moves), strict=True)
    figure = plot_territory([territory(board, move) for move, board in positions])
    figure.savefig(here / "_static" / "go.png", dpi=90, metadata={"Software": None})


def main() -> None:
    draw_boards()
    two_panels("pairs_and_rate.png", draw_counts, draw_rate)
    mixture = GaussianMixture(
        [[-2.0, 0.0], [1.5, 1.5], [1.5, -1.8]],
        [[[0.5, 0.6], [0.6, 1.2]], [[1.0, -0.5], [-0.5, 0.5]], [[0.1, 0.0], [0.0, 0.1]]],
        [0.45, 0.35, 0.2],
    )
    X = mixture.sample(20_000, random_state=0)
    two_panels("thinning.png", lambda ax: draw_points(ax, X), lambda ax: draw_distances(ax, X))
    two_panels(
        "codec.png", lambda ax: draw_sizes(ax, "USPS"), lambda ax: draw_sizes(ax, "MNIST test")
    )


if __name__ == "__main__":
    main()
