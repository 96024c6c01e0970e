"""Pictures of classifiers with hidden units: mistakes while they learn, and decision regions."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import check_fitted, of_kind
from herder.learn.conditional import ConditionalHerder
from herder.online.inputs import distinct_labels, read_labels
from herder.plots._inputs import by_label, numbers
from herder.plots._style import BESIDE, INK, SERIES, STATES, Figure, log_line, new_figure

__all__ = ["plot_boundary", "plot_training"]

#: Points of the grid along each axis.
GRID = 200

#: Part of the range of the rows that is drawn around them.
MARGIN = 0.08

#: Colours of rows, darker than those of the regions, and their markers.
DOTS = (*SERIES, "#1d4ed8", "#4d7c0f")
MARKERS = "o^sDvP"


def plot_training(model: ConditionalHerder) -> Figure:
    """Draw the share of mistakes in each pass, on a logarithmic axis.

    Parameters
    ----------
    model : ConditionalHerder
        A fitted classifier.
    """
    from matplotlib.ticker import LogLocator

    check_fitted(of_kind(model, "model", ConditionalHerder, "a ConditionalHerder"), "history_")
    passes, mistakes = np.arange(1.0, model.n_iter_ + 1), model.history_
    figure, ax = new_figure(width=6.0)
    ax.set_xlabel("pass")
    ax.set_ylabel("proportion of mistakes")
    if not mistakes.any():
        ax.plot(passes, mistakes, "o", color=SERIES[0])
        return figure
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter("")
    log_line(ax, passes, mistakes, color=SERIES[0], marker="o", markersize=3)
    if not mistakes[-1]:
        ax.axvline(passes[-1], color=INK, linewidth=0.9, linestyle="--", label="no mistakes")
        ax.legend(frameon=False, fontsize=9)
    return figure


def plot_boundary(classifier: Any, X: ArrayLike, y: ArrayLike) -> Figure:
    """Draw the decision regions of classifiers in the plane, their boundaries, and rows.

    Parameters
    ----------
    classifier : classifier or mapping of str to classifier
        Any that was fitted to two columns, of this package or of another. Several are drawn side
        by side, under their names.
    X : array-like of shape (n_rows, 2)
        The rows.
    y : array-like of shape (n_rows,)
        Their labels.
    """
    rows = numbers(X, "X", 2)
    if rows.shape[1] != 2 or not len(rows):
        raise ParameterError("X", "have two columns and at least one row", got=f"{rows.shape}")
    labels = read_labels(y, len(rows))
    several = isinstance(classifier, Mapping)
    named = by_label(classifier, "classifier") if several else {"": classifier}
    for one in named.values():
        if not callable(getattr(one, "predict", None)) or isinstance(one, type):
            raise ParameterTypeError("classifier", "be a fitted classifier", one)
    low, high = rows.min(axis=0), rows.max(axis=0)
    spare = np.where(high > low, MARGIN * (high - low), 1.0)
    across, up = np.linspace(low - spare, high + spare, GRID).T
    plane = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    found = [np.asarray(one.predict(plane)) for one in named.values()]
    try:
        if len({each.dtype.kind in "USOT" for each in (labels, *found)}) > 1:
            raise TypeError
        classes = np.unique(np.concatenate([distinct_labels(labels)[0], *found]))
    except TypeError:
        rule = "have labels of the kind that is predicted"
        raise ParameterError("y", rule, got=f"{labels[0]!r}") from None
    figure, axes = new_figure(len(named), width=4.2 if several else 5.2, height=4.0)
    for ax, name, labelled in zip(np.ravel(axes), named, found, strict=True):
        regions = np.searchsorted(classes, labelled).reshape(GRID, GRID)
        _draw_regions(ax, across, up, regions)
        for k, label in enumerate(classes.tolist()):
            style = {"color": DOTS[k % len(DOTS)], "marker": MARKERS[k % len(MARKERS)]}
            own = rows[labels == label]
            ax.scatter(*own.T, s=11, linewidths=0.3, edgecolors="white", label=label, **style)
        ax.set_title(str(name), fontsize=10, color=INK)
        ax.locator_params(nbins=6)
    style = {"title": "class", "title_fontsize": 9, "fontsize": 9, "frameon": False}
    figure.axes[-1].legend(**style, **BESIDE)
    return figure


def _draw_regions(
    ax: Any, across: NDArray[np.float64], up: NDArray[np.float64], regions: NDArray[np.intp]
) -> None:
    """Fill the region of each class, and draw the lines between them."""
    from matplotlib.colors import ListedColormap

    style = {"cmap": ListedColormap(STATES), "vmin": -0.5, "vmax": len(STATES) - 0.5}
    extent = (across[0], across[-1], up[0], up[-1])
    shown = regions % len(STATES)
    ax.imshow(
        shown, origin="lower", extent=extent, aspect="auto", interpolation="nearest", **style
    )
    for k in np.unique(regions)[1:]:  # between each class and those before it
        ax.contour(across, up, regions >= k, levels=[0.5], colors=INK, linewidths=1.0)
    ax.grid(visible=False)
