"""Table 3.1, joint procedure: voted perceptron, discriminative RBMs, conditional herding."""

from pathlib import Path

import numpy as np

from herder import Perceptron
from herder.fields.conditional import class_codes
from herder.fields.conditional_engine import ConditionalHerd
from papers.chen2013_thesis.classifiers import NAMES, Cell, fill
from papers.claims import Row

#: Methods and numbers of hidden units.
COLUMNS = [
    ("vp", 0),
    ("drbm", 50),
    ("drbm", 100),
    ("drbm", 500),
    ("ch", 50),
    ("ch", 100),
    ("ch", 500),
]

#: Cells that the thesis leaves out.
EMPTY = {("news", "drbm", 50), ("news", "ch", 50)}


def run(quick: bool, folder: Path) -> list[Row]:
    """Fill the table."""
    rows = [fill(cell, quick) for cell in cells(quick)]
    return [*rows, *_statements({row.id: row.ours for row in rows}, quick), *laws(quick)]


def cells(quick: bool) -> list[Cell]:
    """Return data set, procedure, method and hidden units of each number."""
    if quick:
        return [("digits", "joint", "vp", 0), ("digits", "joint", "ch", 50)]
    return [
        (name, "joint", method, n_hidden)
        for name in NAMES
        for method, n_hidden in COLUMNS
        if (name, method, n_hidden) not in EMPTY
    ]


def _statements(errors: dict[str, float], quick: bool) -> list[Row]:
    """Return what the thesis says of the table, as ratios of errors."""
    if quick:
        ratio = errors["quick.digits.joint.ch.50"] / errors["quick.digits.joint.vp.0"]
        return [Row("quick.hidden", ratio)]
    hidden = [errors[f"{name}.joint.ch.100"] / errors[f"{name}.joint.vp.0"] for name in NAMES[:3]]
    even = [
        errors[f"{name}.joint.ch.100"] / errors[f"{name}.joint.drbm.100"] for name in NAMES[:2]
    ]
    better = errors["news.joint.ch.100"] / errors["news.joint.drbm.100"]
    level = errors["pendigits.joint.ch.500"] / errors["pendigits.joint.ch.100"]
    return [
        Row("hidden", max(hidden), note="Largest of MNIST, USPS and Pendigits."),
        Row("even", max(even), note="Larger of MNIST and USPS."),
        Row("better", better),
        Row("level", level),
    ]


def laws(quick: bool) -> list[Row]:
    """Return the slope of equation 3.36, violations of the PCT, and the perceptron's gap."""
    prefix, rng = "quick." if quick else "", np.random.default_rng(0)
    times = [100, 1000, 10_000] if quick else [100, 1000, 10_000, 100_000]
    rows, labels = np.repeat(rng.normal(size=(5, 2)), 2, axis=0), rng.integers(3, size=10)
    labels[1::2] = (labels[::2] + 1) % 3  # the same rows again: there are always mistakes
    herd = ConditionalHerd(2, 3, class_codes(3), dtype=np.float64)
    herd.weights[:] = rng.normal(size=herd.weights.size)
    start, gaps = herd.weights.copy(), []
    for time in times:
        herd.run(rows, labels, time - herd.n_steps, place=0, size=10)
        gaps.append(np.abs(herd.weights - start).max() / time)
    slope = float(np.polyfit(np.log(times), np.log(gaps), 1)[0])
    rows = rng.integers(-8, 9, (500, 20)) / 8
    labels = (rows @ rng.normal(size=20) + rng.normal(size=500) > 0).astype(np.intp)
    plain = Perceptron(fit_intercept=False, shuffle=False)
    special = ConditionalHerd(20, 0, class_codes(2), bias=False, dtype=np.float64)
    gap = 0.0
    for i in range(len(rows)):
        special.run(rows, labels, 1, place=i, size=1)
        plain.partial_fit(rows[i : i + 1], labels[i : i + 1], classes=[0, 1])
        gap = max(gap, float(np.abs(special.weights - 2 * plain.coef_[0]).max()))
    return [
        Row(
            f"{prefix}slope",
            slope,
            note=f"{herd.n_violations} PCT violations in {times[-1]} steps.",
        ),
        Row(f"{prefix}perceptron", gap, note=f"{special.n_wrong} mistakes in 500 rows."),
    ]
