"""Figure 3.9: decision boundaries on the banana and the Lithuanian set."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from herder import ConditionalHerder, DiscriminativeRBM, datasets
from papers.chen2013_thesis import pictures
from papers.chen2013_thesis.data import SEED
from papers.claims import Row

#: Rows to learn from, and new rows.
N_ROWS, N_NEW = 500, 10_000

#: Classifiers of the figure: name and colour of the boundary.
DRAWN = {
    "vp": ("voted perceptron", pictures.RANDOM),
    "ch": ("conditional herding", pictures.HERDED),
    "drbm": ("discriminative RBM", pictures.TRUE),
}


def run(quick: bool, folder: Path) -> list[Row]:
    """Draw the boundaries, and count errors on new rows."""
    rows: list[Row] = []
    drawn: dict[str, Any] = {}
    for name, make in (("banana", datasets.make_banana), ("lithuanian", datasets.make_lithuanian)):
        train: Any = make(N_ROWS, random_state=SEED)
        new: Any = make(N_NEW, random_state=SEED + 1)
        models = {key: model.fit(train.X, train.y) for key, model in _models(quick).items()}
        errors = {key: 100 * (1 - model.score(new.X, new.y)) for key, model in models.items()}
        drawn[name] = models, train
        rows += [Row(f"{name}.{key}", errors[key]) for key in ("vp", "ch", "drbm")]
        note = f"Logistic regression {errors['line']:.2f} %."
        rows.append(Row(f"{name}.line", errors["vp"] / errors["line"], note=note))
        if name == "banana":
            rows.append(Row("banana.gain", errors["ch"] / errors["vp"]))
    _draw(drawn, folder / "figure3_9.png")
    if quick:
        return [Row("quick.banana.gain", row.ours) for row in rows if row.id == "banana.gain"]
    return rows


def _models(quick: bool) -> dict[str, Any]:
    herding: dict[str, Any] = {"batch_size": 100, "normalising_feature": True}
    herding |= {"max_iter": 100 if quick else 1000, "random_state": SEED}
    return {
        "vp": ConditionalHerder(0, **herding),
        "ch": ConditionalHerder(20, **herding),
        "drbm": DiscriminativeRBM(20, batch_size=N_ROWS, random_state=SEED),
        "line": LogisticRegression(),
    }


def _draw(drawn: dict[str, Any], path: Path) -> None:
    """Draw the boundaries of the three classifiers into the rows of each set."""
    figure = Figure(figsize=(4.4 * len(drawn), 3.8), layout="constrained")
    for axes, (name, (models, train)) in zip(
        figure.subplots(1, len(drawn)), drawn.items(), strict=True
    ):
        low, high = train.X.min(axis=0) - 1, train.X.max(axis=0) + 1
        across, up = np.linspace(low, high, 200).T
        plane = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
        for label, marker in ((0, "o"), (1, "^")):
            axes.plot(*train.X[train.y == label].T, marker, ms=2, color=pictures.LEVEL, alpha=0.6)
        for key, (label, colour) in DRAWN.items():
            regions = models[key].predict(plane).reshape(200, 200)
            axes.contour(across, up, regions, levels=[0.5], colors=colour, linewidths=1.6)
            axes.plot([], [], color=colour, label=label)
        pictures.tidy(axes, "", "", name)
    figure.axes[0].legend(frameon=False, fontsize=8)
    pictures.save(figure, path)
