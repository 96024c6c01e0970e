r"""The landscape that a small herd walks in.

With two features the Tipi function :math:`\ell_0(w) = \langle w, \bar\phi \rangle - \max_x
\langle w, \phi(x) \rangle` is a surface over the plane: a tent whose flat sides are cones, one
per state ([welling2009]_, figure 1). Wherever the weights stand, the state of that cone is
emitted and the weights move up the side, by the target minus the features of the state.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder.core.dynamics import Step
from herder.core.enumerated import EnumeratedSystem
from herder.plots._style import GREY, INK, SERIES, STATES, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_tipi"]

#: Points of the grid along each axis.
GRID = 240

#: Steps up to this many are numbered and joined by arrows; longer runs are dots.
MAX_ARROWS = 30


def plot_tipi(
    system: EnumeratedSystem,
    steps: Iterable[Step[int]],
    *,
    start: ArrayLike | None = None,
    labels: Iterable[str] | None = None,
) -> "Figure":
    """Draw the Tipi function of a two-feature system and the weights that walk on it.

    Parameters
    ----------
    system : EnumeratedSystem
        With two features.
    steps : iterable of Step
        A finite run of `herder.herd` on it.
    start : array-like of shape (2,), optional
        Weights before the first step; zero by default.
    labels : iterable of str, optional
        Names of the states; their numbers by default.
    """
    if system.target.shape != (2,):
        raise ParameterError("system", "have 2 features", system.target.shape[0])
    unit = float(system.units.total)
    first = np.zeros(2) if start is None else _numbers(np.asarray(start))
    path = np.array([first, *(_numbers(step.weights) for step in steps)]) / unit
    features, target = _numbers(system.features) / unit, _numbers(system.target) / unit
    names = [str(i) for i in range(len(features))] if labels is None else list(labels)
    if len(names) != len(features):
        raise ParameterError("labels", f"name {len(features)} states", len(names))

    reach = 1.15 * float(np.abs(path).max(initial=0.5))
    axis = np.linspace(-reach, reach, GRID)
    plane = np.stack(np.meshgrid(axis, axis), axis=-1)
    scores = plane @ features.T
    tipi = plane @ target - scores.max(axis=-1)
    figure, ax = new_figure(width=5.2, height=4.6)
    ax.grid(visible=False)
    _draw_cones(ax, axis, scores.argmax(axis=-1), names)
    lines = ax.contour(axis, axis, tipi, levels=7, colors="white", linestyles="solid")
    ax.clabel(lines, fontsize=7, fmt="%.2g", colors=INK)
    _draw_path(ax, path)
    ax.set_aspect("equal")
    ax.set_xlabel("$w_1$")
    ax.set_ylabel("$w_2$")
    return figure


def _draw_cones(
    ax: Any, axis: NDArray[np.float64], best: NDArray[np.intp], names: list[str]
) -> None:
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    colours = [STATES[i % len(STATES)] for i in range(len(names))]
    ax.imshow(
        best,
        origin="lower",
        extent=(axis[0], axis[-1], axis[0], axis[-1]),
        cmap=ListedColormap(colours),
        vmin=-0.5,
        vmax=len(names) - 0.5,
        interpolation="nearest",
    )
    used = np.unique(best).tolist()
    patches = [Patch(facecolor=colours[i], label=names[i]) for i in used]
    ax.legend(
        handles=patches,
        title="state emitted",
        fontsize=9,
        title_fontsize=9,
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
    )


def _draw_path(ax: Any, path: NDArray[np.float64]) -> None:
    if len(path) > MAX_ARROWS + 1:
        ax.scatter(*path.T, s=5, color=INK, alpha=0.6, linewidths=0)
        return
    for before, after in pairwise(path):
        style = {"arrowstyle": "-|>", "color": INK, "linewidth": 0.9, "shrinkA": 2, "shrinkB": 2}
        ax.annotate("", xy=after, xytext=before, arrowprops=style)
    ax.scatter(*path.T, s=14, color=GREY, edgecolors=INK, linewidths=0.7, zorder=3)
    ax.scatter(*path[:1].T, s=42, color=SERIES[3], zorder=4)
    ax.annotate("start", path[0], xytext=(6, -11), textcoords="offset points", fontsize=9)


def _numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return exact integers and fractions as floats, for the eye only."""
    return np.asarray(values, dtype=np.float64)
