"""Section 5, text only: mean errors, and the baselines that the paper does not show."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from papers.claims import Row
from papers.crammer2010_nherd import duels, pictures, protocol
from papers.crammer2010_nherd.learners import LEARNERS

BASELINES = ("PA-II", "CW", "perceptron")


def run(quick: bool, folder: Path) -> list[Row]:
    """Average errors over the tasks, and compare NHERD_P with first-order learners."""
    trials = protocol.trials(quick)
    rows, means = [], {}
    for noise in protocol.NOISES:
        mine = duels.at(trials, noise)
        for name in LEARNERS:
            errors = duels.tuned(mine, name)
            means[noise, name] = 100.0 * float(errors.mean())
            note = _choices(mine, name)
            rows.append(Row(f"{duels.percent(noise)}.{name}", means[noise, name], note=note))
    _draw(means, folder / "baselines.png")
    most = duels.at(trials, protocol.NOISES[-1])
    herd = duels.tuned(most, "NHERD_P")
    if quick:
        ratio = float(herd.mean() / duels.tuned(most, "perceptron").mean())
        return [Row("quick.ratio", ratio, note="NHERD_P over the perceptron.")]
    for name in BASELINES:
        found = duels.duel(herd, duels.tuned(most, name))
        rows.append(Row(f"p.{name}", found.p_value("greater"), note=str(found)))
    for kind, texts in (("all", None), ("digits", False), ("texts", True)):
        mine = duels.at(most, protocol.NOISES[-1], texts=texts)
        herd, first = (duels.tuned(mine, name) for name in ("NHERD_P", "PA-II"))
        medians = f"Medians: {100 * np.median(herd):.2f} and {100 * np.median(first):.2f} %."
        rows.append(Row(f"ratio.{kind}", float(herd.mean() / first.mean()), note=medians))
    raw = [
        np.array([trial.raw[name].error for trial in most if trial.raw])
        for name in protocol.RAW_LEARNERS
    ]
    note = f"{100 * raw[0].mean():.2f} and {100 * raw[1].mean():.2f} %."
    rows.append(Row("ratio.raw", float(raw[0].mean() / raw[1].mean()), note=note))
    return rows


def _choices(trials: list[protocol.Trial], name: str) -> str:
    """Describe the chosen settings by their medians over the tasks."""
    epochs = np.median([trial.tuned[name].epochs for trial in trials])
    if name == "perceptron":
        return f"Epochs {epochs:g} (median)."
    letter = "confidence" if name == "CW" else "C"
    value = np.median([trial.tuned[name].parameter for trial in trials])
    edge = np.mean(
        [
            trial.tuned[name].parameter in (LEARNERS[name].grid[0], LEARNERS[name].grid[-1])
            for trial in trials
        ]
    )
    return (
        f"Median {letter} {value:g}, epochs {epochs:g}; {100 * edge:.0f} % at an end of the grid."
    )


def _draw(means: dict[tuple[float, str], float], path: Path) -> None:
    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(LEARNERS)
    greys = ("#555555", "#8a8a8a", "#c0c0c0")
    colours = pictures.COLOURS | dict(zip(BASELINES, greys, strict=True))
    for place, name in enumerate(LEARNERS):
        heights = [means[noise, name] for noise in protocol.NOISES]
        left = np.arange(len(heights)) + (place - 0.5 * len(LEARNERS) + 0.5) * width
        axes.bar(left, heights, width, color=colours[name], label=name)
    axes.set_xticks(
        range(len(protocol.NOISES)), [f"{duels.percent(n)} % noise" for n in protocol.NOISES]
    )
    axes.legend(frameon=False, fontsize=8, ncols=2)
    pictures.tidy(axes, "", "mean test error, %")
    pictures.save(figure, path)
