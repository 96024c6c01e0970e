"""Figure 3.5: total length, with parameters, against the number of samples of a codebook."""

from pathlib import Path

from matplotlib.figure import Figure

from herder.fields.parametric import UNIT
from papers.chen2013_thesis import codes, pictures
from papers.chen2013_thesis.hidden import images
from papers.claims import Row

#: Sizes with about the same number of parameters: prototypes, or hidden sites.
EQUAL = 20


def names_of(quick: bool) -> tuple[str, ...]:
    """Return the data sets of a run."""
    return ("8",) if quick else ("8", "all")


def run(quick: bool, folder: Path) -> list[Row]:
    """Code both data sets by herding and by samples of machines."""
    prefix, rows, found = "quick." if quick else "", [], {}
    for name in names_of(quick):
        coded = codes.codebooks(name, quick)
        found[name] = coded
        rows.append(Row(f"{prefix}{name}.benchmark", images(name, quick).benchmark))
        for key, each in zip(("herding", "cd", "pcd"), coded, strict=True):
            note = f"{each.size} {'prototypes' if key == 'herding' else 'hidden sites'}. "
            note += f"{each.last} Code and total by size: {_tried(each)}."
            rows.append(Row(f"{prefix}{name}.{key}", each.last.total, note=note))
        gaps = [
            ours.total - min(cd.total, pcd.total)
            for ours, cd, pcd in zip(*(each.train for each in coded), strict=True)
        ]
        rows.append(Row(f"{prefix}{name}.gap", max(gaps), note=f"At the end {gaps[-1]:.1f}."))
        rows.append(Row(f"{prefix}{name}.first", gaps[0]))
        coarsest = max(each.step for each in coded[1:])
        # A coupling of 0/1 sites is four times that of -1/+1 sites, which are those of herding.
        rows.append(Row(f"{prefix}{name}.step", coarsest / 4 * UNIT, note="CD-10 or PCD."))
        slopes = [each.train[-1].total - each.train[-4].total for each in coded]
        rows.append(Row(f"{prefix}{name}.falling", max(slopes), note="Bits in the last decade."))
    _draw(found, quick, folder / "figure3_5.png")
    if quick:
        return rows
    lengths = [dict(each.tried)[EQUAL].code for each in found["8"]]
    note = "Herding {:.1f}, CD-10 {:.1f}, PCD {:.1f} bits per image.".format(*lengths)
    return [*rows, Row("equal", lengths[0] / min(lengths[1:]), note=note)]


def _tried(coded: codes.Coded) -> str:
    return ", ".join(f"{n}: {each.code:.0f}, {each.total:.0f}" for n, each in coded.tried)


def _draw(found: dict[str, list[codes.Coded]], quick: bool, path: Path) -> None:
    figure = Figure(figsize=(4.2 * len(found), 3.8), layout="constrained")
    grid = figure.subplots(1, len(found), squeeze=False)[0]
    styles = (("x-", pictures.HERDED), ("o-", pictures.TRUE), ("s-", pictures.RANDOM))
    for axes, (name, coded) in zip(grid, found.items(), strict=True):
        for each, (style, colour) in zip(coded, styles, strict=True):
            totals = [length.total for length in each.train]
            axes.semilogx(each.ends, totals, style, color=colour, ms=4, lw=1, label=each.name)
        axes.axhline(images(name, quick).benchmark, color=pictures.LEVEL, lw=1, label="benchmark")
        pictures.tidy(axes, "samples", "total bits per image", _title(name))
    grid[0].legend(frameon=False, fontsize=8)
    pictures.save(figure, path)


def _title(name: str) -> str:
    return "digit 8" if name == "8" else "all digits"
