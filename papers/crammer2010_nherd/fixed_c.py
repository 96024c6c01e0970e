"""NHERD_P against AROW_P with a fixed C, without tuning."""

from pathlib import Path

from matplotlib.figure import Figure

from papers.claims import Row
from papers.crammer2010_nherd import duels, pictures, protocol

STYLES = {0.0: ":", 0.1: "--", 0.3: "-"}


def run(quick: bool, folder: Path) -> list[Row]:
    """Count wins and average errors at every fixed C."""
    trials = protocol.trials(quick)
    rows, shares, means = [], {}, {}
    for noise in protocol.NOISES:
        mine = duels.at(trials, noise)
        for C in protocol.FIXED_C:
            herd, arow = (duels.fixed(mine, name, C) for name in protocol.FIXED_LEARNERS)
            found = duels.duel(herd, arow)
            shares[noise, C] = found.share
            means[noise, C] = 100.0 * herd.mean(), 100.0 * arow.mean()
            note = f"{found} Mean errors {100 * herd.mean():.2f} and {100 * arow.mean():.2f} %."
            rows.append(Row(f"{duels.percent(noise)}.{C:g}", found.share, note=note))
    _draw(shares, means, folder / "fixed_c.png")
    if quick:
        return [Row(f"quick.{row.id}", row.ours, note=row.note) for row in rows]
    return rows


def _draw(
    shares: dict[tuple[float, float], float],
    means: dict[tuple[float, float], tuple[float, float]],
    path: Path,
) -> None:
    figure = Figure(figsize=(9.6, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.axhline(50.0, color=pictures.PALE, linewidth=1.0)
    for noise, style in STYLES.items():
        label = f"{duels.percent(noise)} % noise"
        share = [shares[noise, C] for C in protocol.FIXED_C]
        left.plot(protocol.FIXED_C, share, style, marker="o", color=pictures.INK, label=label)
        for place, name in enumerate(protocol.FIXED_LEARNERS):
            error = [means[noise, C][place] for C in protocol.FIXED_C]
            colour = pictures.COLOURS[name]
            right.plot(
                protocol.FIXED_C, error, style, marker="o", color=colour, label=f"{name}, {label}"
            )
    for axes in (left, right):
        axes.set_xscale("log")
        axes.legend(frameon=False, fontsize=8)
    left.set_ylim(0.0, 100.0)
    pictures.tidy(left, "C", "tasks won by NHERD_P, %", "NHERD_P against AROW_P, C fixed")
    pictures.tidy(right, "C", "mean test error, %")
    pictures.save(figure, path)
