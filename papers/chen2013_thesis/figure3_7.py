"""Figure 3.7: code lengths, without parameters, of test images."""

from pathlib import Path

from matplotlib.figure import Figure

from papers.chen2013_thesis import codes, pictures
from papers.chen2013_thesis.figure3_5 import names_of
from papers.chen2013_thesis.figure3_6 import KEYS
from papers.claims import Row


def run(quick: bool, folder: Path) -> list[Row]:
    """Code test images with the sizes chosen by the training images."""
    prefix, rows, found = "quick." if quick else "", [], {}
    for name in names_of(quick):
        coded = codes.methods(name, quick)
        found[name] = [each.test[-1] for each in coded]
        length = dict(zip(KEYS, found[name], strict=True))
        rows += [Row(f"{prefix}{name}.{key}", value) for key, value in length.items()]
        rows.append(Row(f"{prefix}{name}.long", codes.long_herding(name, quick).test[-1]))
        ours = length.pop("herding")
        if name == "8":
            latent = length.pop("latent")
            rows.append(Row(f"{prefix}8.latent.gap", ours / latent - 1))
            length.pop("vq")
        rows.append(Row(f"{prefix}{name}.gap", ours - min(length.values())))
    _draw(found, [each.name for each in codes.methods("8", quick)], folder / "figure3_7.png")
    return rows


def _draw(found: dict[str, list[float]], labels: list[str], path: Path) -> None:
    figure = Figure(figsize=(4.4 * len(found), 3.4), layout="constrained")
    grid = figure.subplots(1, len(found), squeeze=False)[0]
    for axes, (name, lengths) in zip(grid, found.items(), strict=True):
        axes.bar(range(len(lengths)), lengths, color=pictures.HERDED)
        axes.set_xticks(range(len(lengths)), labels, rotation=35, ha="right")
        title = "digit 8" if name == "8" else "all digits"
        pictures.tidy(axes, "", "bits per test image", title)
    pictures.save(figure, path)
