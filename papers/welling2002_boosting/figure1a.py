"""Figure 1a: errors by round, with and without weights, and other classifiers of the same rows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegressionCV
from sklearn.neighbors import KNeighborsClassifier

from herder import RBM
from papers import pictures
from papers.claims import Row
from papers.welling2002_boosting import data, digits
from papers.welling2002_boosting.data import Split

N_SPLITS, N_ROUNDS = 5, 600

#: The paper's numbers of hidden units.
N_HIDDEN = (50, 100, 200)

#: Rounds and splits of a quick run.
QUICK_SPLITS, QUICK_ROUNDS = 2, 60

#: The penalty of the logistic regression is chosen by cross-validation.
SEARCH: Any = {
    "Cs": 5,
    "l1_ratios": (0.0,),
    "scoring": "accuracy",
    "use_legacy_attributes": False,
}

#: Errors are measured in each of the first rounds, and then in every tenth.
N_DENSE, STRIDE = 100, 10

#: Training error, in per cent, that both algorithms are to reach.
AIM = 1.0

COLOUR = {"weighted": "#0f766e", "unweighted": "#d97706"}


def run(quick: bool, folder: Path) -> list[Row]:
    """Draw the figure; measure errors, and how soon they are small."""
    n_rounds = QUICK_ROUNDS if quick else N_ROUNDS
    rounds = np.arange(1, n_rounds + 1)
    rounds = rounds[(rounds <= N_DENSE) | (rounds % STRIDE == 0)]
    splits = list(data.splits(QUICK_SPLITS if quick else N_SPLITS, quick=quick))
    curves = {
        name: np.array(
            [
                digits.errors_by_round(
                    digits.fit_fields(k, name == "weighted", n_rounds, quick), split, rounds
                )
                for k, split in enumerate(splits)
            ]
        )
        for name in COLOUR
    }
    _draw(rounds, curves, folder / "figure1a.png")
    needed = {
        name: np.array([_first(each[0], rounds) for each in found])
        for name, found in curves.items()
    }
    slower = float(needed["weighted"].mean() / needed["unweighted"].mean())
    if quick:
        test = float(curves["weighted"][:, 1, -1].mean())
        return [Row("quick.test", test), Row("quick.slower", slower)]
    rows = [Row("slower", slower)]
    for name, found in curves.items():
        at = {n: int(np.flatnonzero(rounds == n)[0]) for n in (100, N_ROUNDS)}
        rows += [_row(f"{name}.{n}", found[:, 1, place]) for n, place in at.items()]
        rows += [_row(f"{name}.train.{n}", found[:, 0, place]) for n, place in at.items()]
        rows.append(_row(f"{name}.rounds", needed[name]))
    others: dict[str, list[float]] = {}
    for split in splits:
        for name, error in _others(split):
            others.setdefault(name, []).append(error)
    return [*rows, *(_row(name, np.array(found)) for name, found in others.items())]


def _others(split: Split) -> Iterator[tuple[str, float]]:
    """Yield the test errors of other classifiers, in per cent."""
    simple: dict[str, Any] = {
        "logistic": LogisticRegressionCV(**SEARCH),
        "nearest": KNeighborsClassifier(1),
    }
    for name, model in simple.items():
        fitted = model.fit(split.X, split.y)
        yield name, 100 * (1 - fitted.score(split.X_test, split.y_test))
    for n in N_HIDDEN:
        machines = [
            RBM(n, n_epochs=50, random_state=data.SEED).fit(split.X[split.y == digit])
            for digit in (0, 1)
        ]
        learnt, tested = (
            np.column_stack([machine.free_energy(rows) for machine in machines])
            for rows in (split.X, split.X_test)
        )
        yield f"rbm.{n}", digits.on_energies(learnt, tested, split)[1]


def _row(name: str, values: NDArray[Any]) -> Row:
    return Row(name, float(values.mean()), spread=float(values.std(ddof=1)))


def _first(errors: NDArray[np.float64], rounds: NDArray[np.intp]) -> int:
    """Return the first round whose error is at most the aim; the last one if there is none."""
    met = np.flatnonzero(errors <= AIM)
    return int(rounds[met[0] if len(met) else -1])


def _draw(rounds: NDArray[np.intp], curves: dict[str, NDArray[np.float64]], path: Path) -> None:
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    for name, found in curves.items():
        train, test = found.mean(axis=0)
        colour = COLOUR[name]
        axes.plot(rounds, test, color=colour, linewidth=1.6, label=f"{name}, test")
        style = {"linestyle": "--", "linewidth": 1.1}
        axes.plot(rounds, train, color=colour, label=f"{name}, training", **style)
    axes.set_ylim(0, 5)
    axes.set_xlim(0, rounds[-1])
    pictures.tidy(axes, "round", "error in per cent, mean of the splits")
    axes.legend(frameon=False, fontsize=9)
    pictures.save(figure, path)
