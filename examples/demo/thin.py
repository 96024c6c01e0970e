r"""Thinning: the 100 most representative of 20,000 draws of a posterior.

The posterior is that of a logistic regression on four measurements of the breast cancer data,

.. math:: \log p(b) = \sum_i [ y_i x_i \cdot b - \log(1 + \exp(x_i \cdot b)) ] - |b|^2 / (2 s^2),

with s = `PRIOR`. It is sampled by random-walk Metropolis, four chains side by side, whose steps
have the covariance of the Laplace approximation times :math:`2.38^2 / d`.
"""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder import Thinning, mmd, thin
from herder.core.summary import (
    Fact,
    Facts,
    Picture,
    Section,
    Summary,
    Table,
    Text,
    lowest_marked,
)
from herder.plots import plot_marginals, plot_mmd_path, plot_picks

__all__ = ["job"]

COMPARED = ("job", "measured", "herder", "alternative")

#: Number of chains, total number of draws, and number of selected draws.
N_CHAINS, N_DRAWS, N_SELECT = 4, 20_000, 100

#: Random subsets over which the prediction error is averaged.
N_RANDOM = 200

#: Prior standard deviation of a coefficient.
PRIOR = 5.0

COLUMNS = ("mean radius", "mean texture", "mean smoothness", "mean concavity")


class Regression(NamedTuple):
    """Standardised measurements with a column of ones, and whether the tumour is malignant."""

    inputs: NDArray[np.float64]
    labels: NDArray[np.float64]
    names: tuple[str, ...]


def job() -> Summary:
    """Thin the draws of a posterior, and compare with every k-th draw and random subsets."""
    data = _regression()
    draws = sample_posterior(data, N_DRAWS // N_CHAINS)
    flat = draws.reshape(-1, draws.shape[2])
    began = time.perf_counter()
    chosen = thin(draws, N_SELECT)
    seconds = time.perf_counter() - began
    stride = len(flat) // N_SELECT
    every = np.arange(0, len(flat), stride)[:N_SELECT]
    errors = _prediction_errors(data, flat, chosen.indices, every)
    spaced = f"every {stride}th draw"
    distances = {spaced: mmd(flat, flat[every]), "random": chosen.mmd_random}
    others = {spaced: errors.spaced, "random": errors.random}
    section = Section(
        "A posterior in 100 draws",
        [
            Text(
                f"A logistic regression distinguishes malignant from benign tumours by "
                f"{len(COLUMNS)} measurements. Metropolis sampling produced {len(flat):,} draws "
                f"of its {flat.shape[1]} coefficients, in {N_CHAINS} chains. A costly simulation "
                f"with each draw can only use a few. herder.thin(draws, {N_SELECT}) selected "
                f"{N_SELECT} in {seconds:.1f} s (compilation included). The baselines are every "
                f"{stride}th draw and random subsets."
            ),
            Facts(
                [
                    Fact(
                        "distance to all draws (MMD)",
                        f"{chosen.mmd:.4f}",
                        meaning=f"{distances[spaced]:.4f} ({spaced}); {distances['random']:.4f} "
                        "(random, root mean square)",
                    ),
                    Fact(
                        "largest error of a predicted probability",
                        f"{errors.chosen:.4f}",
                        meaning=f"over all patients; {others[spaced]:.4f} ({spaced}); "
                        f"{others['random']:.4f} (random, mean of {N_RANDOM} subsets)",
                    ),
                ]
            ),
            Picture(
                "picks",
                plot_picks(flat, chosen, names=data.names),
                "All draws and the selected ones in two principal components.",
                "All draws in their first two principal components, and the selected ones, which "
                "are more evenly spread than random draws.",
            ),
            Picture(
                "marginals",
                plot_marginals(flat, chosen, names=data.names),
                "Histograms of each coefficient, of all draws and of the selected ones.",
                "Each coefficient, all draws (filled) and the selected ones (line).",
            ),
            _column_errors(chosen, data.names),
            _path(draws, chosen),
        ],
    )
    what = f"thin {len(flat):,} draws to {N_SELECT}"
    rows = [
        (what, "MMD to all draws", *lowest_marked({"": chosen.mmd}, distances, ".4f")),
        (what, "largest prediction error", *lowest_marked({"": errors.chosen}, others, ".4f")),
    ]
    return Summary("Thinning", [Table(COMPARED, rows)], [section])


def _regression() -> Regression:
    from sklearn.datasets import load_breast_cancer

    data: Any = load_breast_cancer()
    found = {str(name): j for j, name in enumerate(data.feature_names)}
    X = data.data[:, [found[name] for name in COLUMNS]]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    malignant = (data.target == 0).astype(np.float64)
    return Regression(np.column_stack([np.ones(len(X)), X]), malignant, ("intercept", *COLUMNS))


def sample_posterior(data: Regression, n_draws: int) -> NDArray[np.float64]:
    """Draws of shape (chain, draw, coefficient), by random-walk Metropolis."""
    d = data.inputs.shape[1]
    peak, shape = _peak(data)
    step = np.linalg.cholesky(shape) * 2.38 / np.sqrt(d)
    rng = np.random.default_rng(0)
    burn_in = n_draws // 10
    # All chains start near the mode, dispersed by one standard deviation.
    now = peak + rng.normal(size=(N_CHAINS, d)) @ np.linalg.cholesky(shape).T
    height = _log_posterior(data, now)
    draws = np.empty((N_CHAINS, n_draws, d))
    for t in range(-burn_in, n_draws):
        proposed = now + rng.normal(size=(N_CHAINS, d)) @ step.T
        other = _log_posterior(data, proposed)
        taken = np.log(rng.random(N_CHAINS)) < other - height
        now = np.where(taken[:, None], proposed, now)
        height = np.where(taken, other, height)
        if t >= 0:
            draws[:, t] = now
    return draws


def _log_posterior(data: Regression, b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Up to a constant, at each row of b."""
    logits = b @ data.inputs.T
    fit = logits @ data.labels - np.logaddexp(0.0, logits).sum(axis=1)
    return fit - np.square(b).sum(axis=1) / (2 * PRIOR**2)


def _peak(data: Regression) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mode of the posterior, by Newton's method, and the inverse of the curvature there."""
    X = data.inputs
    b = np.zeros(X.shape[1])
    shape = np.eye(X.shape[1])
    # Newton doubles the digits at each step; a dozen steps are ample from zero.
    for _ in range(12):
        p = 1 / (1 + np.exp(-X @ b))
        curvature = (X.T * (p * (1 - p))) @ X + np.eye(X.shape[1]) / PRIOR**2
        shape = np.linalg.inv(curvature).astype(np.float64)
        b = b + shape @ (X.T @ (data.labels - p) - b / PRIOR**2)
    return b, shape


class _Errors(NamedTuple):
    chosen: float
    spaced: float
    random: float


def _prediction_errors(
    data: Regression,
    flat: NDArray[np.float64],
    chosen: NDArray[np.intp],
    every: NDArray[np.intp],
) -> _Errors:
    """Largest error, over patients, of the predicted probability that a tumour is malignant."""

    def predict(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return (1 / (1 + np.exp(-rows @ data.inputs.T))).mean(axis=0)

    parts = [predict(block) for block in np.array_split(flat, 20)]
    sizes = [len(block) for block in np.array_split(flat, 20)]
    whole = np.average(parts, axis=0, weights=sizes)

    def error(rows: NDArray[np.intp]) -> float:
        return float(np.abs(predict(flat[rows]) - whole).max())

    rng = np.random.default_rng(1)
    subsets = [rng.choice(len(flat), N_SELECT, replace=False) for _ in range(N_RANDOM)]
    return _Errors(error(chosen), error(every), float(np.mean([error(s) for s in subsets])))


def _column_errors(chosen: Thinning, names: tuple[str, ...]) -> Table:
    found = chosen.column_errors()
    values = np.column_stack(
        [
            *(found.mean_before, found.mean_after, found.sd_before, found.sd_after),
            *(found.quantiles_before[0], found.quantiles_after[0]),
            *(found.quantiles_before[-1], found.quantiles_after[-1]),
        ]
    )
    low, high = (f"{100 * found.quantiles[place]:g} %" for place in (0, -1))
    return Table(
        ("coefficient", "mean", "thinned", "sd", "thinned", low, "thinned", high, "thinned"),
        [(name, *row) for name, row in zip(names, values.tolist(), strict=True)],
        ("", *[".2f"] * values.shape[1]),
        "Error per column",
    )


def _path(draws: NDArray[np.float64], chosen: Thinning) -> Picture:
    """Draw the MMD of plain herding, a nested ordering."""
    n = draws.shape[0] * draws.shape[1]
    path = thin(draws, N_SELECT, refine=False).path
    sizes = np.unique(np.geomspace(1, N_SELECT, 20).round().astype(np.intp))
    scale = chosen.mmd_random * np.sqrt(N_SELECT / (n - N_SELECT))
    return Picture(
        "mmd",
        plot_mmd_path(
            sizes,
            path[sizes - 1],
            scale * np.sqrt((n - sizes) / sizes),
            final=(N_SELECT, chosen.mmd),
        ),
        "MMD of the first T rows, herded and random, on logarithmic axes.",
        f"MMD to all draws. The line is herding with refine=False, a nested ordering; "
        f"the dot is the set of {N_SELECT} after exchange sweeps.",
    )


if __name__ == "__main__":
    print(job())
