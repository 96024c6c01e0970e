"""Figure 2: one update of a Gaussian over weights, with x = (1, 2) and y = +1."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.optimize import brentq

from herder import AROW, NHERD
from papers.claims import Row
from papers.crammer2010_nherd import pictures

Floats = NDArray[np.float64]

#: The paper does not give its C; with 1 the numbers are easy to check by hand.
C = 1.0
X = np.array([1.0, 2.0])

#: Best first, as in figure 4.
RANKING = ("NHERD_P", "NHERD_E", "AROW_P", "NHERD_D", "AROW_D")
FORMS = {"P": "project", "E": "exact", "D": "drop"}


def run(quick: bool, folder: Path) -> list[Row]:
    """Draw the picture; compare areas, and the updates with equations 10 and 11."""
    prefix = "quick." if quick else ""
    areas = {name: area(name, C) for name in RANKING}
    order = sorted(RANKING, key=lambda name: areas[name])
    swaps = sum(
        areas[worse] < areas[better]
        for place, better in enumerate(RANKING)
        for worse in RANKING[place + 1 :]
    )
    turn: Any = brentq(lambda c: area("AROW_P", c) - area("NHERD_D", c), 1e-3, C)
    full, diagonal = transform("full"), transform("exact")
    _draw(folder / "figure2.png", full, diagonal)
    rows = [
        Row("full", float(np.abs(full @ full.T - covariance(NHERD(C, covariance="full"))).max())),
        Row("exact", float(np.abs(diagonal**2 - np.diag(_diagonal("NHERD_E", C))).max())),
        Row("smallest", areas["NHERD_P"] / areas[order[1]], note=f"Next: {order[1]}."),
        Row("largest", areas[order[-2]] / areas["AROW_D"], note=f"Next: {order[-2]}."),
        Row("swaps", swaps, note=f"Areas rise in the order {', '.join(order)}."),
        Row("turn", turn),
        *(Row(f"area.{name}", areas[name]) for name in RANKING),
    ]
    return [Row(prefix + row.id, row.ours, note=row.note) for row in rows]


def transform(form: str) -> Floats:
    """Return the matrix A of equation 11, or of section 4.1 for the diagonal, from S = I."""
    if form == "full":
        return np.linalg.inv(np.eye(2) + C * np.outer(X, X)).astype(np.float64)
    return np.diag(1.0 / (1.0 + C * X**2))


def covariance(model: NHERD | AROW) -> Floats:
    """Return the covariance after the example; without a bias there are two weights."""
    model.set_params(fit_intercept=False)
    model.partial_fit(X[None], [1], classes=[-1, 1])
    return np.asarray(model.covariance_)


def area(name: str, c: float) -> float:
    """Area of the ellipse after the update over that before."""
    return float(np.sqrt(np.prod(_diagonal(name, c))))


def _diagonal(name: str, c: float) -> Floats:
    kind, form = name.split("_")
    model = (NHERD if kind == "NHERD" else AROW)(c, covariance=FORMS[form])
    return covariance(model).ravel()


def _draw(path: Path, full: Floats, diagonal: Floats) -> None:
    figure = Figure(figsize=(12.0, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    mean = X / (X @ X + 1.0 / C)
    _flow(left, full, mean, "NHERD, full covariance")
    _flow(middle, diagonal, mean, "NHERD, exact diagonal covariance")
    circle = _circle(1.0, 200)
    right.plot(*circle, color=pictures.PALE, linestyle="--", label="before")
    for name in RANKING:
        spread = np.sqrt(_diagonal(name, C))[:, None] * circle
        right.plot(*(mean[:, None] + spread), color=pictures.COLOURS[name], label=name)
    right.legend(frameon=False, fontsize=8, loc="lower left")
    _frame(right, mean, "one update of each, C = 1")
    pictures.save(figure, path)


def _flow(axes: Axes, matrix: Floats, mean: Floats, title: str) -> None:
    """Draw the displacement of weights of norm 1 and 2: w -> A w + mean."""
    for radius, colour in ((1.0, "#1b6ca8"), (2.0, "#8ab17d")):
        before, some = _circle(radius, 200), _circle(radius, 16)
        axes.plot(*before, color=colour, linestyle="--", linewidth=0.9)
        axes.plot(*(matrix @ before + mean[:, None]), color=colour)
        ends = matrix @ some + mean[:, None]
        for start, end in zip(some.T, ends.T, strict=True):
            axes.annotate(
                "", end, start, arrowprops={"arrowstyle": "->", "color": colour, "lw": 0.6}
            )
    _frame(axes, mean, title)


def _frame(axes: Axes, mean: Floats, title: str) -> None:
    for margin, style in ((0.0, ":"), (1.0, "--")):
        x = np.array([-4.0, 4.0])
        axes.plot(
            x, (margin - X[0] * x) / X[1], color=pictures.INK, linewidth=0.8, linestyle=style
        )
    axes.plot(*mean, marker="s", color="#be123c", markersize=5)
    axes.set_xlim(-2.1, 2.1)
    axes.set_ylim(-2.1, 2.1)
    axes.set_aspect("equal")
    pictures.tidy(axes, "weight 1", "weight 2", title)


def _circle(radius: float, n_points: int) -> Floats:
    angle = np.linspace(0.0, 2.0 * np.pi, n_points, endpoint=n_points > 100)
    return radius * np.array([np.cos(angle), np.sin(angle)])
