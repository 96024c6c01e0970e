"""Figure 3.4: code lengths of digit 8, with herds driven by rows, prototypes and rates."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from herder import HiddenHerder
from papers.chen2013_thesis import codes, hidden, pictures
from papers.claims import Row

#: Prototypes, and hidden sites of herding with rates.
SIZES, RATES = (20, 50, 100, 200), (20, 100)

#: Words, three codebooks for each decade; rates are averages over as many steps.
N_WORDS, N_QUICK = 100_000, 300

#: A length that is at least this share above another one is much higher.
MUCH = 0.1

Curves = dict[str, tuple[hidden.Floats, hidden.Floats]]


def run(quick: bool, folder: Path) -> list[Row]:
    """Make a codebook with each herd; code training and test images with it."""
    given = hidden.images("8", quick)
    n_words = N_QUICK if quick else N_WORDS
    ends = sorted({max(1, round(n_words / 10 ** (k / 3))) for k in range(10)})
    sites = (20,) if quick else RATES
    found: Curves = {}
    for n_hidden in sites:
        herder = HiddenHerder(n_hidden, n_steps=n_words).fit(given.train)
        words = herder.sample(n_words, drive="rates")
        found[f"rates.{n_hidden}"] = _code(given, words, ends)
    herder = HiddenHerder(sites[-1], n_steps=1).fit(given.train)
    found["rows"] = _code(given, herder.sample(n_words), ends)
    for size in (4,) if quick else SIZES:
        words = codes.learn_prototypes("8", quick, size).sample(n_words)
        found[f"prototypes.{size}"] = _code(given, words, ends)
    _draw(found, ends, folder / "figure3_4.png")
    prefix = "quick." if quick else ""
    rows = []
    for name, curve in found.items():
        for part, lengths in zip(("train", "test"), curve, strict=True):
            rows.append(Row(f"{prefix}{name}.{part}", float(lengths[-1])))
    return rows if quick else [*rows, *_compare(found)]


def _code(
    given: hidden.Images, words: NDArray[np.int8], ends: list[int]
) -> tuple[hidden.Floats, hidden.Floats]:
    train, test = hidden.curves(given, words, ends)
    return np.sum(train, axis=1), np.sum(test, axis=1)


def _compare(found: Curves) -> list[Row]:
    """Judge what the thesis says of the training images."""
    last = {name: float(train[-1]) for name, (train, _) in found.items()}
    others = min(length for name, length in last.items() if name != "rows")
    sizes = [last[f"prototypes.{size}"] for size in SIZES]
    test = {name: float(curve[1][-1]) for name, curve in found.items()}
    ratio = last["prototypes.20"] / last["rates.20"]
    return [
        Row("lowest", last["rows"] - others, note="Bits per training image."),
        Row("lowest.test", test["rows"] - min(test.values()), note="Bits per test image."),
        Row("more", float(np.diff(sizes).max()), note="Largest step from 20 to 200 prototypes."),
        Row("similar", last["prototypes.200"] / last["rates.100"] - 1),
        Row("similar.100", last["prototypes.100"] / last["rates.100"] - 1),
        Row("equal", ratio, limit=1 - MUCH),
        Row("descending", float(np.diff(found["prototypes.20"][0])[-3:].max())),
    ]


def _draw(found: Curves, ends: list[int], path: Path) -> None:
    figure = Figure(figsize=(8.4, 3.9), layout="constrained")
    for k, (axes, title) in enumerate(
        zip(figure.subplots(1, 2, sharey=True), ("training images", "test images"), strict=True)
    ):
        for name, curve in found.items():
            kind, _, size = name.partition(".")
            style = {"rows": "-", "rates": ":", "prototypes": "--"}[kind]
            colour = {"rows": pictures.LEVEL, "rates": pictures.TRUE}.get(kind, pictures.HERDED)
            strength = 1.0 if not size else 0.4 + 0.6 * int(size) / 200
            label = f"{size} prototypes" if kind == "prototypes" else kind
            label += f", {size} hidden" if kind == "rates" else ""
            axes.semilogx(ends, curve[k], style, color=colour, alpha=strength, label=label)
        pictures.tidy(axes, "words", "" if k else "bits per image", title)
    figure.axes[0].legend(frameon=False, fontsize=8)
    pictures.save(figure, path)
