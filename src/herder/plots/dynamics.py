r"""Pictures of the Tipi function of a system with two features, and of the path of its weights.

With two features the Tipi function :math:`\ell_0(w) = \langle w, \bar\phi \rangle - \max_x
\langle w, \phi(x) \rangle` is a surface over the plane: a tent whose flat sides are cones, one
per state ([welling2009]_, figure 1). At each step the state whose cone holds the weights is
emitted, and the weights move up its side, by the target minus the features of the state.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import iterated, of_kind
from herder.core.dynamics import Step
from herder.core.enumerated import EnumeratedSystem
from herder.plots._inputs import numbers, texts
from herder.plots._style import BESIDE, GREY, INK, SERIES, STATES, Figure, new_figure

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
) -> Figure:
    """Draw the Tipi function of a two-feature system and the path of the weights on it.

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
    of_kind(system, "system", EnumeratedSystem, "an EnumeratedSystem")
    if system.target.shape != (2,):
        raise ParameterError("system", "have 2 features", system.target.shape[0])
    unit = float(system.units.total)
    first = np.zeros(2) if start is None else numbers(start, "start")
    run = [of_kind(one, "steps", Step, "steps") for one in iterated(steps, "steps", "Step")]
    # Exact integers and fractions become floats, for the eye only.
    points = [numbers(one.weights, "steps") for one in run]
    for name, point in (("start", first), *(("steps", point) for point in points)):
        if point.shape != (2,):
            raise ParameterError(name, "have 2 weights", point.shape)
    path = np.array([first, *points]) / unit
    features = np.asarray(system.features, dtype=np.float64) / unit
    target = np.asarray(system.target, dtype=np.float64) / unit
    n_states = len(features)
    names = texts(range(n_states) if labels is None else labels, "labels", n_states)

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
    ax.set(aspect="equal", xlabel="$w_1$", ylabel="$w_2$")
    return figure


def _draw_cones(
    ax: Any, axis: NDArray[np.float64], best: NDArray[np.intp], names: list[str]
) -> None:
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    colours = [STATES[i % len(STATES)] for i in range(len(names))]
    style = {"cmap": ListedColormap(colours), "vmin": -0.5, "vmax": len(names) - 0.5}
    extent = (axis[0], axis[-1], axis[0], axis[-1])
    ax.imshow(best, origin="lower", extent=extent, interpolation="nearest", **style)
    patches = [Patch(facecolor=colours[i], label=names[i]) for i in np.unique(best).tolist()]
    title = {"title": "state emitted", "title_fontsize": 9}
    ax.legend(handles=patches, fontsize=9, frameon=False, **title, **BESIDE)


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
