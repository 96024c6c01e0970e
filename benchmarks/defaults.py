"""Which kernel and scaling should `thin` have by default: errors of what users compute.

Run with ``HERDER_DATA=... python benchmarks/defaults.py``; it takes about five minutes. Four
posteriors and four tables, none of which was used to develop thinning; 50 and 200 rows of each
(50 of a table of less than 800 rows). Errors of means, standard deviations, 2.5 % and 97.5 %
quantiles, correlations, averages of functions that were not part of the sample (predictions of a
posterior; how often two columns of a table lie on the same side of their means), and the largest
difference of the distribution functions of a column. Errors are root mean squares in units of the
error of a random subset, which is 1 by definition; a ratio below 1 is better than random.

The second part asks from which ratio of scales on columns should be standardised: one column of a
standardised sample is multiplied by a factor, and the errors of the other columns are compared.
"""

import logging
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

N_RANDOM = 100
SIZES = (50, 200)
KERNELS = ("gaussian", "matern32", "laplace", "inverse-multiquadric", "energy")
FACTORS = (1, 3, 10, 30, 100)
QUANTITIES = ("mean", "sd", "2.5/97.5 %", "correlation", "functions", "distribution")

Array = NDArray[np.float64]


class Sample(NamedTuple):
    """A sample, and functions of its rows to average."""

    name: str
    rows: Array
    functions: Array

    @property
    def sizes(self) -> list[int]:
        return [m for m in SIZES if 4 * m <= len(self.rows)]


def samples() -> Iterator[Sample]:
    for name, make in POSTERIORS.items():
        posterior = make()
        rows = draw(posterior)
        yield Sample(name, rows, posterior.predict(rows))
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
        yield Sample(name, rows, np.sign(centred[:, i] * centred[:, j]))


class Errors:
    """Squared errors of a choice of rows, in units of the columns and functions."""

    def __init__(self, sample: Sample) -> None:
        spread = sample.rows.std(axis=0)
        self.unit = (sample.rows - sample.rows.mean(axis=0)) / np.where(spread > 0, spread, 1)
        spread = sample.functions.std(axis=0)
        self.functions = sample.functions / np.where(spread > 0, spread, 1)
        self.sorted = np.sort(self.unit, axis=0)
        n = len(self.unit)
        self.truth = self._statistics(np.arange(n), np.full(n, 1 / n))

    def __call__(self, chosen: NDArray[np.intp], weights: Array | None = None) -> Array:
        if weights is None:
            weights = np.full(len(chosen), 1 / len(chosen))
        gaps = [
            np.abs(found - truth)
            for found, truth in zip(self._statistics(chosen, weights), self.truth, strict=True)
        ]
        gaps[-1] = gaps[-1].max(axis=1)  # of distribution functions
        return np.array([np.square(gap).mean() for gap in gaps], np.float64)

    def random(self, m: int) -> Array:
        """Return the mean squared errors of random subsets."""
        rng = np.random.default_rng(0)
        drawn = [rng.choice(len(self.unit), m, replace=False) for _ in range(N_RANDOM)]
        return np.array([self(chosen) for chosen in drawn]).mean(axis=0)

    def _statistics(self, chosen: NDArray[np.intp], weights: Array) -> list[Array]:
        part = self.unit[chosen]
        mean = weights @ part
        sd = np.sqrt(weights @ np.square(part - mean))
        scaled = (part - mean) / np.where(sd > 0, sd, 1)
        correlation = ((scaled * weights[:, None]).T @ scaled)[np.triu_indices(len(mean), k=1)]
        tails, below = [], []
        for column, place in zip(part.T, self.sorted.T, strict=True):
            order = np.argsort(column, kind="stable")
            share = np.cumsum(weights[order])
            tails.append(np.interp([0.025, 0.975], share - weights[order] / 2, column[order]))
            below.append(np.r_[0, share][np.searchsorted(column[order], place, side="right")])
        functions = weights @ self.functions[chosen]
        return [mean, sd, np.ravel(tails), correlation, functions, np.array(below)]


def choices(rows: Array, m: int) -> Iterator[tuple[str, NDArray[np.intp], Array | None]]:
    """Yield the methods: a label, the rows, and their weights unless they are equal."""
    yield "every k-th row", np.linspace(0, len(rows) - 1, m).astype(np.intp), None
    for kernel in KERNELS:
        for standardise in (False, True):
            choice = thin(rows, m, kernel=kernel, standardise=standardise)
            yield f"{kernel}{', standardised' * standardise}", choice.indices, None
    for kernel in ("gaussian", "energy"):
        choice = thin(rows, m, kernel=kernel, standardise=True, weights="simplex")
        yield f"{kernel}, standardised, simplex", choice.indices, choice.weights


def compare(every: list[Sample]) -> list[dict[str, object]]:
    """Compare kernels and scalings, and print what is found."""
    rows: list[dict[str, object]] = []
    ratios: dict[str, list[Array]] = {}
    for sample in every:
        errors = Errors(sample)
        for m in sample.sizes:
            random = errors.random(m)
            for label, chosen, weights in choices(sample.rows, m):
                ratio = np.sqrt(errors(chosen, weights) / random)
                ratios.setdefault(label, []).append(ratio)
                facts = dict(zip(QUANTITIES, ratio.round(4).tolist(), strict=True))
                rows.append({"sample": sample.name, "rows": m, "method": label, **facts})
            show(f"{m} rows of {sample.name}", {name: found[-1] for name, found in ratios.items()})
    means = {label: np.exp(np.mean(np.log(values), axis=0)) for label, values in ratios.items()}
    show("geometric mean over all samples", means)
    worst = {label: np.max(values, axis=0) for label, values in ratios.items()}
    show("worst sample", worst)
    return rows


def compare_scales(every: list[Sample]) -> list[dict[str, object]]:
    """Multiply one column by factors; return the errors of the other columns, unscaled kernels."""
    table = Table("kernel", *(f"x {factor}" for factor in FACTORS), title="one column multiplied")
    found: list[dict[str, object]] = []
    for kernel in ("gaussian", "energy"):
        ratios = []
        for sample in every:
            others = Errors(Sample(sample.name, sample.rows[:, 1:], sample.functions))
            random = others.random(SIZES[0])[:2]
            unit = Errors(sample).unit
            for factor in FACTORS:
                scaled = unit * np.r_[factor, np.ones(unit.shape[1] - 1)]
                chosen = thin(scaled, SIZES[0], kernel=kernel, standardise=False).indices
                ratios.append(np.sqrt(others(chosen)[:2] / random))
        mean = np.exp(np.log(ratios).reshape(len(every), len(FACTORS), 2).mean(axis=(0, 2)))
        table.add_row(kernel, *(f"{value:.3f}" for value in mean))
        found += [
            {"kernel": kernel, "factor": factor, "others": round(value, 4)}
            for factor, value in zip(FACTORS, mean.tolist(), strict=True)
        ]
    Console(width=110).print(table, "mean and sd of the other columns, random subset = 1")
    return found


def show(title: str, found: dict[str, Array]) -> None:
    """Print one line a method; the last column is the geometric mean of the others."""
    table = Table("method", *QUANTITIES, "all", title=f"{title}: error, random subset = 1")
    for label, values in found.items():
        overall = float(np.exp(np.mean(np.log(values))))
        table.add_row(label, *(f"{value:.3f}" for value in (*values, overall)))
    Console(width=120).print(table)


def main() -> None:
    logging.getLogger("herder").setLevel(logging.ERROR)  # unlike scales are the point here
    every = list(samples())
    rows = compare(every) + compare_scales(every)
    Console().print(f"results: {write_results('defaults', rows)}")


if __name__ == "__main__":
    main()
