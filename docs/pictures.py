"""Draw the README's picture: ``python docs/pictures.py`` writes _static/pairs_and_rate.png."""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from herder import Moments, count_distribution, moment_herd
from herder.datasets import load_breast_cancer_binary, load_digits_binary

HERD, RANDOM, TABLE = "#0f766e", "#d97706", "#cbd2d9"


def draw_counts(ax: plt.Axes) -> None:
    X = load_breast_cancer_binary().X
    herded = moment_herd(Moments.from_data(X), 20_000, encoding="+-1").samples
    alone = np.ones(1)
    for share in X.mean(axis=0):
        alone = np.convolve(alone, [1 - share, share])
    k = np.arange(X.shape[1] + 1)
    ax.bar(k, count_distribution(X), color=TABLE, width=0.85, label="table")
    ax.plot(k, count_distribution(herded), "o-", color=HERD, label="herd, from pair counts")
    ax.plot(k, alone, "s-", color=RANDOM, label="independent columns")
    ax.set_xlabel("ones in a row, k")
    ax.set_ylabel("share of rows, P(k)")


def draw_rate(ax: plt.Axes) -> None:
    X = load_digits_binary().X[:, [10, 18, 20, 26, 28, 34, 42, 50]].astype(float)
    n = 2**17
    trace = moment_herd(Moments.from_data(X.astype(int)), n).diagnostics.trace
    drawn = X[np.random.default_rng(0).integers(len(X), size=n)]
    target = X.T @ X / len(X)
    error = [np.abs(drawn[:t].T @ drawn[:t] / t - target).max() for t in trace.t]
    ax.loglog(trace.t, error, "s-", color=RANDOM, label=r"random rows, $1/\sqrt{T}$")
    ax.loglog(trace.t, trace.error, "o-", color=HERD, label="herd, $1/T$")
    ax.set_xlabel("rows, T")
    ax.set_ylabel("error of the worst pair")


def main() -> None:
    style = {"font.size": 9, "lines.markersize": 3.5, "lines.linewidth": 1.2}
    with plt.rc_context(style):
        figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.1), layout="constrained")
        draw_counts(axes[0])
        draw_rate(axes[1])
        for ax in axes:
            ax.spines[["top", "right"]].set_visible(False)
            ax.legend(frameon=False)
        path = Path(__file__).parent / "_static" / "pairs_and_rate.png"
        figure.savefig(path, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
