"""Figure 4: the tournament, win percentages of five algorithms at three noise levels."""

from itertools import combinations
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from papers.claims import Row
from papers.crammer2010_nherd import duels, pictures, protocol
from papers.crammer2010_nherd.learners import TOURNAMENT

#: Pairs of which the text says that the first is better.
SAID = (
    ("NHERD_P", "NHERD_E"),
    ("NHERD_E", "NHERD_D"),
    ("AROW_P", "AROW_D"),
    ("NHERD_P", "AROW_P"),
    ("NHERD_D", "AROW_D"),
)

#: Pairs of which the text says that the difference grows with noise.
GROWS = (("NHERD_P", "AROW_P"), ("NHERD_D", "AROW_D"))

#: The figure's order, except that AROW_P precedes NHERD_D (see the text of the page).
ORDER = ("NHERD_P", "NHERD_E", "AROW_P", "NHERD_D", "AROW_D")


def run(quick: bool, folder: Path) -> list[Row]:
    """Count wins of every pair and test the statements of the text."""
    trials = protocol.trials(quick)
    shares, rows = {}, []
    for noise in protocol.NOISES:
        errors = {name: duels.tuned(duels.at(trials, noise), name) for name in TOURNAMENT}
        level = duels.percent(noise)
        for pair in combinations(ORDER, 2):
            found = duels.duel(errors[pair[0]], errors[pair[1]])
            shares[noise, pair] = found.share
            rows.append(Row(f"{level}.{pair[0]}>{pair[1]}", found.share, note=str(found)))
    _draw(shares, folder / "figure4.png")
    if quick:
        wanted = {f"{duels.percent(noise)}.NHERD_P>AROW_P" for noise in protocol.NOISES}
        return [Row(f"quick.{r.id}", r.ours, note=r.note) for r in rows if r.id in wanted]
    for noise in protocol.NOISES:
        mine = duels.at(trials, noise)
        for first, second in SAID:
            found = duels.duel(duels.tuned(mine, first), duels.tuned(mine, second))
            name = f"p.{duels.percent(noise)}.{first}>{second}"
            rows.append(Row(name, found.p_value("greater"), note=f"{found.share:.0f} % won."))
    least, most = protocol.NOISES[0], protocol.NOISES[-1]
    for pair in GROWS:
        fall = shares[least, pair] - shares[most, pair]
        rows.append(Row(f"fall.{pair[0]}>{pair[1]}", fall))
    return rows


def _draw(shares: dict[tuple[float, tuple[str, str]], float], path: Path) -> None:
    figure = Figure(figsize=(12.0, 3.9), layout="constrained")
    for axes, noise in zip(figure.subplots(1, 3), protocol.NOISES, strict=True):
        table = np.full((len(ORDER), len(ORDER)), np.nan)
        for (level, (first, second)), share in shares.items():
            if level == noise:
                row, column = ORDER.index(first), ORDER.index(second)
                table[row, column], table[column, row] = share, 100.0 - share
        axes.imshow(table, cmap="PuOr", vmin=0.0, vmax=100.0)
        for (row, column), share in np.ndenumerate(table):
            if row != column:
                dark = abs(share - 50.0) > 30.0
                axes.text(
                    column,
                    row,
                    f"{share:.0f}",
                    ha="center",
                    va="center",
                    color="white" if dark else pictures.INK,
                )
        axes.set_xticks(range(len(ORDER)), ORDER, fontsize=8, rotation=30)
        axes.set_yticks(range(len(ORDER)), ORDER, fontsize=8)
        axes.set_title(
            f"{duels.percent(noise)} % noise: share won by the row", fontsize=10, loc="left"
        )
    pictures.save(figure, path)
