"""Sections 3.3.2 and 3.3.3: moments of herds driven by rows, by rates and by prototypes.

Moments are counted from the visible and hidden states themselves, not read off the weights.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from herder.fields.hidden_engine import HiddenHerd
from herder.fields.parametric import UNIT, Completion
from papers.chen2013_thesis import codes, pictures
from papers.chen2013_thesis.curves import counts_to, upper_slope
from papers.chen2013_thesis.hidden import Floats, images
from papers.claims import Row

N_STEPS, N_QUICK = 100_000, 400

#: A small machine, for which the constant of the bound is soon reached: pixels and hidden sites.
SMALL_SIDE, SMALL_HIDDEN = 4, 3

#: Steps in which rows and the same rows as prototypes are compared.
N_RETRACED = 500

#: Every so many steps, what the rows would ask for along the herd of the prototypes.
EVERY = 100


def run(quick: bool, folder: Path) -> list[Row]:
    """Run the three herds, and compare what drives them with their states."""
    rows = Completion(images("8", quick).train)
    n_hidden = 20 if quick else codes.N_HIDDEN
    counts = counts_to(N_QUICK if quick else N_STEPS, per_decade=20)
    small = HiddenHerd(_middle(rows.signs), SMALL_HIDDEN)
    by_rows = HiddenHerd(rows.signs, n_hidden)
    found = {name: _errors(herd, counts) for name, herd in (("small", small), ("rows", by_rows))}
    by_rates = HiddenHerd.of_rates(by_rows.rates, by_rows.centre)
    found["rates"] = _errors(by_rates, counts, by_rows.rates)
    learnt = codes.learn_prototypes("8", quick, 4 if quick else 20)
    by_prototypes = _herd(learnt, n_hidden)
    found["prototypes"] = _errors(by_prototypes, counts)
    _draw(counts, found, folder / "section3_3.png")
    prefix = "quick." if quick else ""
    herds = {"small": small, "rows": by_rows, "rates": by_rates, "prototypes": by_prototypes}
    given = []
    for name, error in found.items():
        scaled, start = error * counts, int(counts[-1]) // 100
        restarts, violations = (int(n) for n in herds[name].counts)
        note = f"Of {counts[-1]} steps."
        early = float(scaled[counts <= counts[-1] // 10].max())
        span = f"T from {start} to {counts[-1]}."
        given += [
            Row(f"{prefix}{name}.slope", upper_slope(error, counts, start), note=span),
            Row(f"{prefix}{name}.bound", float(scaled.max()), limit=2 * early),
            Row(f"{prefix}{name}.violations", violations / counts[-1], note=note),
        ]
        if name in ("rows", "prototypes"):
            given.append(Row(f"{prefix}{name}.restarts", restarts / counts[-1], note=note))
    given.append(Row(f"{prefix}prototypes.gap", _gap(_herd(learnt, n_hidden), rows, counts[-1])))
    given.append(Row(f"{prefix}retraced", _differences(rows.signs, n_hidden)))
    return [*given, *_bits_back(quick, prefix)]


def _herd(learnt: codes.ParametricHerder, n_hidden: int) -> HiddenHerd:
    return HiddenHerd(learnt.prototypes_, n_hidden, votes=learnt.shares_, unit=UNIT)


def _errors(herd: HiddenHerd, counts: NDArray[np.intp], target: Floats | None = None) -> Floats:
    """Return the largest difference of moments, of what drives the herd and of its states."""
    sums, found = np.zeros(herd.weights.shape), np.empty(len(counts))
    for k, count in enumerate(counts):
        visible, hidden = herd.run(int(count) - herd.t)
        ones = np.ones((len(visible), 1))
        sums += np.hstack([hidden, ones]).T @ np.hstack([visible, ones])
        driven = herd.rates if target is None else target
        found[k] = np.abs(driven - sums / count).max()
    return found


def _middle(signs: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the pixels in the middle of the images."""
    side = round(signs.shape[1] ** 0.5)
    middle = slice((side - SMALL_SIDE) // 2, (side + SMALL_SIDE) // 2)
    return signs.reshape(-1, side, side)[:, middle, middle].reshape(len(signs), -1)


def _gap(herd: HiddenHerd, rows: Completion, n_steps: int) -> float:
    """Root mean square of what prototypes and rows ask for on average, relative to the rows."""
    asked = np.zeros(herd.weights.shape)
    n_parts = n_steps // EVERY
    for _ in range(n_parts):
        asked += rows.asked(herd.weights / herd.scale, 0) / n_parts
        herd.run(EVERY)
    gap = (herd.rates - asked)[:-1]
    return float(np.sqrt(np.mean(gap**2) / np.mean(asked[:-1] ** 2)))


def _differences(signs: NDArray[np.int8], n_hidden: int) -> float:
    """Count the steps that differ when all rows are prototypes of one vote."""
    votes = np.ones(len(signs), np.int64)
    pair = (HiddenHerd(signs, n_hidden), HiddenHerd(signs, n_hidden, votes=votes))
    first, second = (herd.run(N_RETRACED)[0] for herd in pair)
    return float((first != second).any(axis=1).sum())


def _bits_back(quick: bool, prefix: str) -> list[Row]:
    """Compare equations 3.25 and 3.27 for each image, with the words of vector quantisation."""
    given = images("8", quick)
    words = codes.learn_words("8", quick, 4 if quick else 20, True)
    joint = words.log_joint(given.train)
    hard, soft = words.length(given.train, True), words.length(given.train, False)
    longer = float((joint.max(axis=1) - np.logaddexp.reduce(joint, axis=1)).max() / np.log(2))
    note = f"Means: {hard.code:.2f} and {soft.code:.2f} bits per image."
    return [
        Row(f"{prefix}refund.least", longer, note=note),
        Row(f"{prefix}refund.mean", hard.code - soft.code),
    ]


def _label(name: str) -> str:
    return "a small machine" if name == "small" else f"driven by {name}"


def _draw(counts: NDArray[np.intp], found: dict[str, Floats], path: Path) -> None:
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    colours = ("#7a7a7a", pictures.HERDED, pictures.TRUE, pictures.RANDOM)
    for (name, error), colour in zip(found.items(), colours, strict=True):
        axes.loglog(counts, error, color=colour, label=_label(name))
    axes.loglog(counts, 10 / counts, "--", color=pictures.LEVEL, lw=0.7, label="10 / T")
    axes.legend(frameon=False, fontsize=9)
    pictures.tidy(axes, "steps T", "largest moment error")
    pictures.save(figure, path)
