"""Figure 2.4: autocorrelation of herded states of random models with ten states.

Herding rows of a table of features is kernel herding of these rows with the linear kernel, from
weights that start at the target; so `kernel_herd` runs it, and `herd` verifies the first steps.
"""

from itertools import islice
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from herder import EnumeratedSystem, herd, kernel_herd, study
from papers.chen2013_thesis import data, pictures
from papers.chen2013_thesis.curves import mean_and_spread
from papers.claims import Row

Floats = NDArray[np.float64]

N_STATES, N_FEATURES = 10, 7
N_MODELS, N_SAMPLES, N_LAGS = 100, 100_000, 100
N_QUICK_MODELS, N_QUICK_SAMPLES = 3, 5000

#: Steps of the first model that are verified with the specification loop.
N_RETRACED = 1000


def run(quick: bool, folder: Path) -> list[Row]:
    """Herd each model; average equation 2.12 over the models."""
    n_models, n_samples = (N_QUICK_MODELS, N_QUICK_SAMPLES) if quick else (N_MODELS, N_SAMPLES)
    found, drawn, worst, retraced = [], [], 0.0, 0.0
    for k in range(n_models):
        random = np.random.default_rng([data.SEED, 24, k])
        features, share = _model(random)
        states = kernel_herd(features, n_samples, kernel=_linear, sample_weight=share).indices
        if k == 0:
            retraced = _differences(features, share, states[:N_RETRACED])
        found.append(study.autocorrelation(states, N_LAGS)[1:])
        apart = random.choice(N_STATES, n_samples, p=share)
        drawn.append(study.autocorrelation(apart, N_LAGS)[1:])
        error = np.abs(features[states].mean(axis=0) - share @ features).max()
        worst = max(worst, float(error))
    curves, usual = np.array(found), np.array(drawn)
    _draw(curves, usual, folder / "figure2_4.png")
    prefix = "quick." if quick else ""
    first = curves[:, 0]
    far = np.abs(curves.mean(axis=0)[N_LAGS // 2 :]).max()
    noise = f"Independent states, all lags: {np.abs(usual.mean(axis=0)).max():.1e}."
    return [
        Row(f"{prefix}first", *mean_and_spread(first)),
        Row(f"{prefix}positive", float(np.mean(first >= 0)), note=f"Of {n_models} models."),
        *(
            Row(f"{prefix}{name}", *mean_and_spread(curves[:, lag]))
            for lag, name in enumerate(("second", "third", "fourth", "fifth"), start=1)
        ),
        Row(f"{prefix}far", float(far), limit=abs(float(first.mean())) / 5, note=noise),
        Row(f"{prefix}far.spread", float(curves[:, N_LAGS // 2 :].std(axis=0, ddof=1).mean())),
        Row(f"{prefix}moments", worst, note=f"After {n_samples} steps, over all models."),
        Row(f"{prefix}retraced", retraced),
    ]


def _model(random: np.random.Generator) -> tuple[Floats, Floats]:
    """Standard normal features and parameters, and the shares of the states."""
    features = random.standard_normal((N_STATES, N_FEATURES))
    share = np.exp(features @ random.standard_normal(N_FEATURES))
    return features, share / share.sum()


def _linear(a: Floats, b: Floats) -> Floats:
    return a @ b.T


def _differences(features: Floats, share: Floats, states: NDArray[np.intp]) -> float:
    system = EnumeratedSystem(features, probabilities=share)
    steps = islice(herd(system, system.target), len(states))
    return float(sum(step.state != state for step, state in zip(steps, states, strict=True)))


def _draw(curves: Floats, usual: Floats, path: Path) -> None:
    figure = Figure(figsize=(7.4, 3.8), layout="constrained")
    axes = figure.subplots()
    lags = np.arange(1, curves.shape[1] + 1)
    mean, spread = curves.mean(axis=0), curves.std(axis=0, ddof=1)
    axes.fill_between(
        lags, mean - spread, mean + spread, color=pictures.HERDED, alpha=0.2, linewidth=0
    )
    axes.plot(lags, mean, ".-", color=pictures.HERDED, lw=1, ms=4, label="herding")
    axes.plot(lags, usual.mean(axis=0), color=pictures.RANDOM, lw=1, label="independent states")
    axes.axhline(0, color=pictures.LEVEL, lw=0.7)
    axes.set_xscale("log")
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    pictures.tidy(axes, "lag t", "R(t)", f"mean and standard deviation over {len(curves)} models")
    pictures.save(figure, path)
