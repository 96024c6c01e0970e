"""Figure 5: accuracy of NHERD_P against that of AROW_P, digits and texts, by noise."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from papers.claims import Row
from papers.crammer2010_nherd import duels, pictures, protocol

MARKERS = {
    "usps": ("o", "#1b6ca8"),
    "mnist": ("s", "#2a9d8f"),
    "mnist rest": ("^", "#b03a2e"),
    "texts": ("o", "#d9a441"),
    "many texts": ("^", "#7c3aed"),
    "digits": ("o", "#1b6ca8"),
}
NAMES = {
    "mnist rest": "mnist, one against the rest",
    "texts": "text, two classes",
    "many texts": "text, many classes",
}


def run(quick: bool, folder: Path) -> list[Row]:
    """Draw the scatter plot; count markers above the line and measure the mean gain."""
    trials = protocol.trials(quick)
    kinds = {"digits": False} if quick else {"digits": False, "texts": True}
    figure = Figure(figsize=(8.4, 11.4), layout="constrained")
    table = figure.subplots(len(protocol.NOISES), len(kinds), squeeze=False)
    rows = []
    for line, noise in zip(table, protocol.NOISES, strict=True):
        for axes, (kind, texts) in zip(line, kinds.items(), strict=True):
            mine = duels.at(trials, noise, texts=texts)
            herd, arow = (duels.tuned(mine, name) for name in ("NHERD_P", "AROW_P"))
            title = f"{kind}, {duels.percent(noise)} % noise"
            _scatter(axes, mine, title)
            found = duels.duel(herd, arow)
            name = f"{duels.percent(noise)}.{kind}"
            rows.append(Row(f"{name}.share", found.share, note=str(found)))
            gain = 100.0 * float(np.mean(arow - herd))
            note = f"NHERD_P {100 * herd.mean():.2f} %, AROW_P {100 * arow.mean():.2f} %."
            rows.append(Row(f"{name}.gain", gain, note=note))
    pictures.save(figure, folder / "figure5.png", dpi=90)
    if quick:
        return [Row(f"quick.{row.id}", row.ours, note=row.note) for row in rows]
    least, most = protocol.NOISES[0], protocol.NOISES[-1]
    statements = (
        ("not improved", most, None),
        ("digits.not improved", most, False),
        ("digits.not won", least, False),
    )
    for name, noise, texts in statements:
        mine = duels.at(trials, noise, texts=texts)
        found = duels.duel(duels.tuned(mine, "NHERD_P"), duels.tuned(mine, "AROW_P"))
        rows.append(Row(name, 100.0 - found.share, note=str(found)))
    return rows


def _scatter(axes: Axes, trials: list[protocol.Trial], title: str) -> None:
    accuracies = []
    for group in dict.fromkeys(trial.task.group for trial in trials):
        mine = [trial for trial in trials if trial.task.group == group]
        x, y = (100.0 * (1.0 - duels.tuned(mine, name)) for name in ("AROW_P", "NHERD_P"))
        marker, colour = MARKERS[group]
        axes.scatter(
            x, y, s=16, marker=marker, color=colour, alpha=0.75, label=NAMES.get(group, group)
        )
        accuracies += [*x, *y]
    low, high = min(accuracies) - 0.3, min(max(accuracies) + 0.3, 100.2)
    axes.plot([low, high], [low, high], color=pictures.PALE, linewidth=1.0, zorder=0)
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.set_aspect("equal")
    axes.legend(frameon=False, fontsize=8)
    pictures.tidy(axes, "accuracy of AROW_P, %", "accuracy of NHERD_P, %", title)
