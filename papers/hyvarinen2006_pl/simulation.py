"""Section 6: errors of pseudo-likelihood and of likelihood against the number of rows."""

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from herder import BoltzmannMachine
from papers.claims import Row
from papers.hyvarinen2006_pl import data, pictures

Floats = NDArray[np.float64]

SIZES, QUICK_SIZES = (500, 1000, 2000, 4000, 8000, 16_000), (500, 2000, 8000)

#: Machines, each of which gives one data set of each size; the paper has five data sets.
N_PRINTED, N_SETS, N_QUICK_SETS = 5, {"half": 40, "five": 10}, 4

METHODS = ("pl", "ml")


class Outcome(NamedTuple):
    """log10 of the errors, fits without a maximum (methods, sizes, sets), and states seen."""

    errors: Floats
    failed: NDArray[np.bool_]
    seen: float


def run(quick: bool, folder: Path) -> list[Row]:
    """Fit machines of both variances to rows of all sizes."""
    sizes = QUICK_SIZES if quick else SIZES
    prefix = "quick." if quick else ""
    found = {
        name: _outcome(variance, sizes, N_QUICK_SETS if quick else N_SETS[name])
        for name, variance in (("half", data.MEANT), ("five", data.PRINTED))
    }
    _draw(sizes, found, folder / "simulation.png")
    rows = []
    for name, outcome in found.items():
        rows += _rows(prefix + name, sizes, outcome)
    return rows


def _outcome(variance: float, sizes: tuple[int, ...], n_sets: int) -> Outcome:
    errors = np.empty((len(METHODS), len(sizes), n_sets))
    failed, seen = np.zeros(errors.shape, dtype=bool), []
    for k in range(n_sets):
        task = data.machine(variance, k)
        for s, n_rows in enumerate(sizes):
            rows = task.rows(n_rows)
            seen.append(len(np.unique(rows, axis=0)))
            for m, method in enumerate(METHODS):
                fitted, warned = _fit(method, rows)
                failed[m, s, k] = warned or not fitted.converged_
                off = data.distance(fitted.couplings_, fitted.biases_, task.model)
                errors[m, s, k] = np.log10(off)
    return Outcome(errors, failed, float(np.median(seen)))


def _fit(method: str, rows: NDArray[np.int64]) -> tuple[BoltzmannMachine, bool]:
    """Fit without a penalty; also return whether the library warned that there is no maximum."""
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        fitted = BoltzmannMachine(method, penalty=None, states=(-1, 1)).fit(rows)
    return fitted, bool(complaints)


def _rows(name: str, sizes: tuple[int, ...], outcome: Outcome) -> list[Row]:
    errors, failed = outcome.errors, outcome.failed
    kept = finite(outcome)
    means, few = errors[:, :, kept].mean(axis=2), errors[:, :, :N_PRINTED].mean(axis=2)
    everywhere = errors.mean(axis=2)
    gaps = errors[0] - errors[1]
    gap = gaps[:, kept]
    together = float(np.corrcoef(errors[0][:, kept].ravel(), errors[1][:, kept].ravel())[0, 1])
    printed, exact = (", ".join(f"{value:.2f}" for value in curve) for curve in few)
    n_few = min(errors.shape[2], N_PRINTED)
    shown = f"The first {n_few} machines, by size: {printed} (PL); {exact} (ML)."
    whole = f"All machines: {gaps.mean():.3f}."
    shares = ", ".join(f"{share:.2f}" for share in failed[0].mean(axis=1))
    without = f"By size: {shares}. ML: {failed[1].mean():.2f}."
    of = f"{kept.sum()} of {len(kept)} machines."
    return [
        Row(f"{name}.first", float(means[0, 0]), note=f"{of} {shown}"),
        Row(f"{name}.last", float(means[0, -1])),
        *(
            Row(
                f"{name}.{method}",
                _slope(sizes, means[m]),
                note=f"{of} All machines: {_slope(sizes, everywhere[m]):.2f}.",
            )
            for m, method in enumerate(METHODS)
        ),
        Row(f"{name}.gap", float(gap.mean()), float(gap.std(ddof=1)), note=f"{of} {whole}"),
        Row(f"{name}.together", together),
        Row(f"{name}.failed", float(failed[0].mean()), note=without),
        Row(f"{name}.seen", outcome.seen),
    ]


def finite(outcome: Outcome) -> NDArray[np.bool_]:
    """Machines all of whose fits have a maximum; all machines if there are none."""
    failed = outcome.failed.reshape(-1, outcome.failed.shape[2])
    kept = np.array([not column.any() for column in failed.T])
    return kept if kept.any() else np.ones_like(kept)


def _slope(sizes: tuple[int, ...], curve: Floats) -> float:
    return float(np.polyfit(np.log10(sizes), curve, 1)[0])


def _draw(sizes: tuple[int, ...], found: dict[str, Outcome], path: Path) -> None:
    figure = Figure(figsize=(8.6, 3.8), layout="constrained")
    titles = {"half": "variance 0.5", "five": "variance 5, as printed"}
    looks = (
        ("pseudo-likelihood", pictures.PSEUDO, "o-"),
        ("likelihood", pictures.LIKELIHOOD, "s--"),
    )
    for axes, (name, outcome) in zip(figure.subplots(1, 2), found.items(), strict=True):
        kept = outcome.errors[:, :, finite(outcome)].mean(axis=2)
        for curve, (label, colour, style) in zip(kept, looks, strict=True):
            axes.plot(sizes, curve, style, color=colour, ms=4, label=label)
        start = kept[1, 0]
        rate = start - 0.5 * np.log10(np.array(sizes) / sizes[0])
        axes.plot(sizes, rate, ":", color=pictures.RATE, lw=1, label=r"rate $1/\sqrt{n}$")
        axes.set_xscale("log")
        pictures.tidy(axes, "number of rows, n", "mean log10 of the error", titles[name])
    figure.axes[0].legend(frameon=False, fontsize=9)
    pictures.save(figure, path)
