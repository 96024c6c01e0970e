"""Table 3.1: errors of the voted perceptron, discriminative RBMs and conditional herding."""

from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from herder import Perceptron
from herder.fields.conditional import class_codes
from herder.fields.conditional_engine import ConditionalHerd
from papers.chen2013_thesis.classifiers import NAMES, choose, classifier, error, splits
from papers.claims import Row

#: Columns of both halves of the table: methods and numbers of hidden units.
COLUMNS = {
    "one-vs-rest": [("vp", 0), ("drbm", 100), ("drbm", 200), ("ch", 100), ("ch", 200)],
    "joint": [
        ("vp", 0),
        *(("drbm", n_hidden) for n_hidden in (50, 100, 500)),
        *(("ch", n_hidden) for n_hidden in (50, 100, 500)),
    ],
}

#: Cells that the thesis leaves out.
EMPTY = {("news", "joint", "drbm", 50), ("news", "joint", "ch", 50)}

Cell = tuple[str, str, str, int]


def cells(quick: bool) -> list[Cell]:
    """Return data set, procedure, method and hidden units of each number."""
    if quick:
        return [("digits", "joint", "vp", 0), ("digits", "joint", "ch", 50)]
    found = [
        (name, procedure, method, n_hidden)
        for name in NAMES
        for procedure, columns in COLUMNS.items()
        for method, n_hidden in columns
    ]
    return [cell for cell in found if cell not in EMPTY]


def run(quick: bool, folder: Path) -> list[Row]:
    """Fill the table, two cells at a time."""
    todo = cells(quick)
    if quick:
        found = [_fill(cell, {"max_iter": 10}) for cell in todo]
    else:
        kinds = sorted({(name, method) for name, _, method, _ in todo})
        jobs = Parallel(n_jobs=2)
        settings = dict(zip(kinds, jobs(delayed(choose)(*kind) for kind in kinds), strict=True))
        found = jobs(delayed(_fill)(cell, settings[cell[0], cell[2]]) for cell in todo)
    rows = [row for row in found if row is not None]
    return [*rows, *_statements({row.id: row.ours for row in rows}, quick), *laws(quick)]


def _fill(cell: Cell, setting: dict[str, float]) -> Row:
    """Return the mean error over the folds, and its standard deviation if there are several."""
    name, procedure, method, n_hidden = cell
    model = classifier(method, procedure, n_hidden, **setting)
    errors = [error(model, split) for split in splits(name)]
    told = ", ".join(f"{key} {value:g}" for key, value in setting.items())
    key = ".".join([*(["quick"] if name == "digits" else []), *map(str, cell)])
    spread = float(np.std(errors)) if len(errors) > 1 else None
    return Row(key, float(np.mean(errors)), spread=spread, note=f"{told}.")


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
