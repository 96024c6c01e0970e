"""Figure 3.6: total lengths of all methods in three parts."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from herder.apps.codec import encode
from papers.chen2013_thesis import codes, pictures
from papers.chen2013_thesis.figure3_5 import names_of
from papers.chen2013_thesis.hidden import images
from papers.claims import Row

#: Models of the codec whose files are measured.
MODELS = ("herding", "mixture", "chain")

#: The methods as ids of rows, in their order.
KEYS = ("herding", "cd", "pcd", "latent", "vq", "mixture")


def run(quick: bool, folder: Path) -> list[Row]:
    """Compare the methods with the benchmark and with a general coder of binary images."""
    prefix, rows, found = "quick." if quick else "", [], {}
    for name in names_of(quick):
        coded = codes.methods(name, quick)
        found[name] = coded
        benchmark = images(name, quick).benchmark
        for key, each in zip(KEYS, coded, strict=True):
            ratio = each.last.total / benchmark
            note = f"{each.last.total:.1f} bits, size {each.size}. {each.last}"
            rows.append(Row(f"{prefix}{name}.{key}", ratio, note=note))
        others = min(coded[1:], key=lambda each: each.last.total)
        lead = coded[0].last.total - others.last.total
        rows.append(Row(f"{prefix}{name}.shortest", lead, note=f"The best other: {others.name}."))
        long = codes.long_herding(name, quick)
        lead, note = (
            long.last.total - others.last.total,
            f"{long.last.total:.1f} bits. {long.last}",
        )
        rows.append(Row(f"{prefix}{name}.long", lead, note=note))
        if not quick:
            rows.append(Row(f"{name}.jbig", jbig(name)))
            rows += [Row(f"{name}.file.{model}", file_size(name, model)) for model in MODELS]
    _draw(found, folder / "figure3_6.png")
    return rows


def file_size(name: str, model: str) -> float:
    """Bits per training image of a whole file of the codec."""
    given = images(name, False)
    pixels = (given.train > 0).reshape(len(given.train), given.side, given.side)
    return 8 * len(encode(pixels, model=model)) / len(pixels)


def jbig(name: str) -> float:
    """Bits per training image as a column of images in one file of JBIG1; NaN without a coder."""
    program = shutil.which("pbmtojbg")
    if program is None:
        return float("nan")
    given = images(name, False)
    lines = given.train.reshape(-1, given.side)
    head = f"P4\n{given.side} {len(lines)}\n".encode()
    done = subprocess.run(
        [program, "-q"],
        input=head + np.packbits(lines, axis=1).tobytes(),
        capture_output=True,
        check=True,
    )
    return 8 * len(done.stdout) / len(given.train)


def _draw(found: dict[str, list[codes.Coded]], path: Path) -> None:
    figure = Figure(figsize=(4.6 * len(found), 3.8), layout="constrained")
    grid = figure.subplots(1, len(found), squeeze=False)[0]
    for axes, (name, coded) in zip(grid, found.items(), strict=True):
        bottom = np.zeros(len(coded))
        for part, colour in zip(
            ("parameters", "index", "errors"),
            (pictures.TRUE, pictures.RANDOM, pictures.HERDED),
            strict=True,
        ):
            values = np.array([getattr(each.last, part) for each in coded])
            axes.bar(range(len(coded)), values, bottom=bottom, color=colour, label=part)
            bottom += values
        axes.set_xticks(range(len(coded)), [each.name for each in coded], rotation=35, ha="right")
        title = "digit 8" if name == "8" else "all digits"
        pictures.tidy(axes, "", "bits per image", title)
    figure.legend(
        *grid[0].get_legend_handles_labels(), frameon=False, loc="outside upper right", ncols=3
    )
    pictures.save(figure, path)
