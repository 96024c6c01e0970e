"""Which kernel and scaling should `thin` have by default: errors of what users compute.

Run with ``HERDER_DATA=... python benchmarks/defaults.py``. Four posteriors and four tables, none
of which was used to develop thinning. For each choice of 200 rows: errors of means, standard
deviations, 2.5 % and 97.5 % quantiles, correlations, and of averages of functions that were not
part of the sample (predictions of a posterior; products of columns of a table). Errors are root
mean squares in units of the error of a random subset, which is 1 by definition; a ratio below 1 is
better than random.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn import datasets

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.pairing import write_results
from benchmarks.thinning.posteriors import POSTERIORS, draw
from herder import thin
from herder.datasets import abalone, load_spambase

N_RANDOM = 200
KERNELS = ("gaussian", "matern32", "laplace", "inverse-multiquadric", "energy")
QUANTITIES = ("mean", "sd", "2.5/97.5 %", "correlation", "functions")

Array = NDArray[np.float64]


class Sample(NamedTuple):
    """A sample, how many rows to choose, and functions of its rows to average."""

    name: str
    rows: Array
    n_select: int
    functions: Array


def samples() -> Iterator[Sample]:
    for name, make in POSTERIORS.items():
        posterior = make()
        rows = draw(posterior)
        yield Sample(name, rows, 200, posterior.predict(rows))
    bundled: Any = datasets
    tables = {
        "abalone": abalone().X[:, 1:],  # sex is no number
        "spambase": load_spambase().X,
        "diabetes": bundled.load_diabetes(scaled=False).data,
        "breast cancer": bundled.load_breast_cancer().data,
    }
    for name, table in tables.items():
        rows = np.asarray(table, np.float64)
        centred = rows - rows.mean(axis=0)
        i, j = np.triu_indices(rows.shape[1], k=1)
        products = np.sign(centred[:, i] * centred[:, j])  # how often two columns agree
        yield Sample(name, rows, min(200, len(rows) // 5), products)


def statistics(
    sample: Sample, chosen: NDArray[np.intp], weights: Array | None = None
) -> list[Array]:
    """Return what is compared, in units of the columns' standard deviations."""
    spread = sample.rows.std(axis=0)
    unit = (sample.rows - sample.rows.mean(axis=0)) / np.where(spread > 0, spread, 1)
    part = unit[chosen]
    if weights is None:
        weights = np.full(len(part), 1 / len(part))
    mean = weights @ part
    sd = np.sqrt(weights @ np.square(part - mean))
    tails = np.quantile(part, [0.025, 0.975], axis=0, weights=weights, method="inverted_cdf")
    scaled = (part - mean) / np.where(sd > 0, sd, 1)
    correlation = (scaled * weights[:, None]).T @ scaled
    above = np.triu_indices(len(mean), k=1)
    return [mean, sd, tails.ravel(), correlation[above], weights @ sample.functions[chosen]]


def errors(sample: Sample, found: list[Array], truth: list[Array]) -> Array:
    spread = sample.functions.std(axis=0)
    units = [1.0, 1.0, 1.0, 1.0, np.where(spread > 0, spread, 1)]
    parts = zip(found, truth, units, strict=True)
    return np.array([np.mean(np.square((a - b) / unit)) for a, b, unit in parts])


def main() -> None:
    rng = np.random.default_rng(0)
    rows: list[dict[str, object]] = []
    ratios: dict[str, list[Array]] = {}
    for sample in samples():
        n, m = len(sample.rows), sample.n_select
        truth = statistics(sample, np.arange(n))
        drawn = [
            errors(sample, statistics(sample, rng.choice(n, m, replace=False)), truth)
            for _ in range(N_RANDOM)
        ]
        random = np.mean(drawn, axis=0)
        found: dict[str, tuple[Any, Any]] = {
            "every k-th row": (np.linspace(0, n - 1, m).astype(np.intp), None)
        }
        for kernel in KERNELS:
            for standardise in (False, True):
                choice = thin(sample.rows, m, kernel=kernel, standardise=standardise)
                label = f"{kernel}{', standardised' * standardise}"
                found[label] = (choice.indices, None)
        for kernel in ("gaussian", "energy"):
            choice = thin(sample.rows, m, kernel=kernel, standardise=True, weights="simplex")
            found[f"{kernel}, standardised, simplex"] = (choice.indices, choice.weights)
        for label, (chosen, weights) in found.items():
            ratio = np.sqrt(errors(sample, statistics(sample, chosen, weights), truth) / random)
            ratios.setdefault(label, []).append(ratio)
            facts = dict(zip(QUANTITIES, ratio.round(4).tolist(), strict=True))
            rows.append({"sample": sample.name, "method": label, **facts})
        show(sample.name, {label: values[-1] for label, values in ratios.items()})
    means = {label: np.exp(np.mean(np.log(values), axis=0)) for label, values in ratios.items()}
    show("geometric mean over all samples", means)
    worst = {label: np.max(values, axis=0) for label, values in ratios.items()}
    show("worst sample", worst)
    Console().print(f"results: {write_results('defaults', rows)}")


def show(title: str, found: dict[str, Array]) -> None:
    """Print one line a method; the last column is the geometric mean of the others."""
    table = Table("method", *QUANTITIES, "all", title=f"{title}: error, random subset = 1")
    for label, values in found.items():
        overall = float(np.exp(np.mean(np.log(values))))
        table.add_row(label, *(f"{value:.3f}" for value in (*values, overall)))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
