r"""Pictures of a thinned sample: where the chosen rows lie, marginals, MMD against size.

Rows are shown in their first two principal components, those of the columns divided by their
standard deviations: the directions are the leading right singular vectors of the standardised
table. The root mean square MMD of a random subset of T of n rows falls as
:math:`\sqrt{(1/T) (n - T) / (n - 1)}`, that of herding at best as :math:`1 / T`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import check_function, plain_array, positive_int, row_weights
from herder.kernel.result import Thinning
from herder.plots._inputs import indices, numbers, require_drawable, texts
from herder.plots._style import GREY, INK, SERIES, Figure, log_line, new_figure, tidy

__all__ = ["plot_density", "plot_marginals", "plot_mmd_path", "plot_picks"]

#: Rows that are drawn, and rows that the principal components are found from, at most: every
#: k-th row is taken. More dots only darken the picture.
MAX_DOTS, MAX_ROWS = 8000, 5000

#: Columns whose marginals are drawn, at most.
MAX_COLUMNS = 9

#: Bins of a histogram, and the share of rows beyond its first and its last bin's edge.
N_BINS, TAIL = 24, 0.002

#: Cells of one block of rows.
BLOCK_CELLS = 2**20

#: Points on either axis of a density picture.
GRID = 120

PALE = "#cbd2d9"


def plot_picks(
    X: ArrayLike,
    picks: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> Figure:
    """Draw chosen rows over all rows, in two principal components, with both histograms.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The sample; it may be memory-mapped.
    picks : array-like of int
        Chosen rows, for example a `Thinning`.
    weights : array-like, optional
        Of the chosen rows; the area of a dot follows its size.
    sample_weight : array-like of shape (n,), optional
        Of all rows, for the histograms.
    names : sequence of str, optional
        Of the columns, which are the axes when there are at most two.
    """
    values = _table(X)
    chosen = indices(picks, "picks", len(values))
    mass = _mass(sample_weight, len(values))
    places, heads = _places(values, _names(names, values.shape[1]))
    require_drawable(places, "X")
    share = _shares(weights, len(chosen))
    flat = places.shape[1] == 1
    figure, ax = new_figure(width=6.0, height=2.4 if flat else 5.4)
    dots = np.column_stack([places, np.zeros(len(places))]) if flat else places
    style: dict[str, Any] = {"s": 4, "color": GREY, "alpha": 0.35, "linewidths": 0}
    seen = dots[:: -(-len(dots) // MAX_DOTS)]
    ax.scatter(*seen.T, rasterized=True, label=f"{len(dots):,} rows", **style)
    style = {"s": 22 * np.abs(share) * len(chosen), "edgecolors": "white", "linewidths": 0.5}
    style["c"] = [SERIES[0] if positive else SERIES[3] for positive in share >= 0]
    ax.scatter(*dots[chosen].T, label=f"{len(chosen):,} chosen", **style)
    ax.set(xlabel=heads[0], ylabel="" if flat else heads[1])
    strips = [(ax.inset_axes((0, 1.02, 1, 0.6 if flat else 0.16), sharex=ax), "vertical")]
    if flat:
        ax.set_yticks([])
    else:
        strips.append((ax.inset_axes((1.02, 0, 0.16, 1), sharey=ax), "horizontal"))
    for column, (strip, orientation) in zip(places.T, strips, strict=True):
        _compare(strip, column, mass, column[chosen], share, orientation)
        strip.set_axis_off()
    figure.legend(frameon=False, fontsize=9, loc="outside upper center", ncols=2, markerscale=1.6)
    return figure


def plot_marginals(
    X: ArrayLike,
    picks: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    columns: Sequence[int] | None = None,
) -> Figure:
    """Draw the histograms of columns, of all rows and of the chosen ones.

    Parameters
    ----------
    X, picks, weights, sample_weight, names
        As for `plot_picks`.
    columns : sequence of int, optional
        Which columns; the first nine by default.
    """
    values = _table(X)
    chosen, d = indices(picks, "picks", len(values)), values.shape[1]
    mass, heads = _mass(sample_weight, len(values)), _names(names, d)
    shown = list(range(min(d, MAX_COLUMNS)))
    if columns is not None:
        shown = indices(columns, "columns", d).tolist()
    share = _shares(weights, len(chosen))
    width = min(len(shown), 3)
    height = -(-len(shown) // width)
    figure, axes = new_figure(width, width=3.1, height=2.1 * height, n_rows=height)
    grid = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    for ax, j in zip(grid, shown, strict=False):
        column = np.asarray(values[:, j], dtype=np.float64)
        require_drawable(column, "X")
        _compare(ax, column, mass, column[chosen], share, "vertical")
        ax.set_xlabel(heads[j], fontsize=9)
        ax.set_yticks([])
        # so few numbers that none overlap; large ones share an exponent
        ax.locator_params(axis="x", nbins=4)
        ax.ticklabel_format(axis="x", scilimits=(-4, 5))
        ax.xaxis.get_offset_text().set_fontsize(8)
    for ax in grid[len(shown) :]:
        ax.set_axis_off()
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=9, loc="outside upper center", ncols=2)
    return figure


def plot_mmd_path(
    sizes: ArrayLike,
    mmd: ArrayLike,
    random: ArrayLike,
    *,
    final: tuple[int, float] | None = None,
) -> Figure:
    """Draw the MMD of the first T chosen rows against T, beside that of random subsets.

    Parameters
    ----------
    sizes : array-like of int
        Values of T.
    mmd, random : array-like of float
        MMD of the first T chosen rows, and root mean square MMD of T random rows. Either may be
        empty.
    final : tuple of int and float, optional
        Size and MMD of the choice itself, marked by a dot.
    """
    t = numbers(sizes, "sizes")
    if (t <= 0).any():
        raise ParameterError("sizes", "be positive", t.min())
    figure, ax = new_figure()
    lines = (("random rows", random, SERIES[1], "s"), ("chosen rows", mmd, SERIES[0], "o"))
    for label, values, colour, marker in lines:
        line = numbers(values, "random" if label == "random rows" else "mmd")
        if not line.size:
            continue
        if line.shape != t.shape:
            raise ValueError(f"mmd and random must have {len(t)} values, got {len(line)}")
        held = log_line(ax, t, line, color=colour, label=label, marker=marker, markersize=3.5)
        if label == "chosen rows" and held.any():
            guide = line[held][0] * t[held][0] / t
            ax.plot(t, guide, color=GREY, linestyle="--", linewidth=1.2, label="1/T")
    choice = None if final is None else numbers(final, "final", rule="be size and MMD")
    if choice is not None and len(choice) != 2:
        raise ParameterError("final", "be size and MMD", final)
    if choice is not None and choice.min() > 0:
        ax.scatter(*choice[:, None], s=46, color=SERIES[3], zorder=4, label="the choice")
    ax.set(xscale="log", yscale="log", xlabel="rows, T", ylabel="MMD to all rows")
    ax.legend(frameon=False, fontsize=9)
    return figure


def draw_picks(chosen: Thinning) -> Figure:
    """Draw the rows that a thinning chose over all rows."""
    return plot_picks(**_arguments(chosen))


def draw_marginals(chosen: Thinning, columns: Sequence[int]) -> Figure:
    """Draw columns of a thinned sample."""
    return plot_marginals(**_arguments(chosen), columns=columns)


def draw_mmd(chosen: Thinning) -> Figure:
    """Draw the MMD of a thinning against the number of rows."""
    return plot_mmd_path(*chosen.herded_path(), final=(len(chosen), chosen.mmd))


def _arguments(chosen: Thinning) -> dict[str, Any]:
    weights = {"weights": chosen.weights, "sample_weight": chosen.sample_weight}
    return {"X": chosen.rows.values, "picks": chosen, "names": chosen.rows.value_names, **weights}


def plot_density(
    density: Callable[[NDArray[np.float64]], ArrayLike],
    points: ArrayLike,
    *,
    others: ArrayLike | None = None,
    labels: tuple[str, str] = ("herded", "i.i.d."),
    levels: int = 8,
) -> Figure:
    """Draw the contours of a density in the plane, herded points, and others to compare.

    Parameters
    ----------
    density : callable
        Takes points of shape (n, 2), returns n values.
    points : array-like of shape (m, 2)
        Herded points, drawn as squares.
    others : array-like of shape (k, 2), optional
        Independent draws, drawn as circles.
    labels : tuple of two str
        Names of the two.
    levels : int, default 8
        Contours.
    """
    check_function(density, "density")
    herded = numbers(points, "points", 2)
    drawn = np.empty((0, 2)) if others is None else numbers(others, "others", 2)
    for name, given in (("points", herded), ("others", drawn)):
        if given.shape[1] != 2:
            raise ParameterError(name, "be of shape (n, 2)", given.shape)
    if not len(herded):
        raise ParameterError("points", "hold at least one", got="none")
    heads, n_levels = texts(labels, "labels", 2), positive_int(levels, "levels")
    everything = np.concatenate([herded, drawn])
    low, high = everything.min(axis=0), everything.max(axis=0)
    margin = 0.15 * np.maximum(high - low, 1e-9)
    x, y = np.linspace(low - margin, high + margin, GRID).T
    plane = np.stack(np.meshgrid(x, y), axis=-1)
    rule = "return a finite number for each point"
    heights = numbers(density(plane.reshape(-1, 2)), "density", rule=rule)
    if len(heights) != GRID**2:
        raise ParameterError("density", rule, got=f"{len(heights)} for {GRID**2} points")
    figure, ax = new_figure(width=5.6, height=4.8)
    ax.grid(visible=False)
    if np.ptp(heights) > 0:
        field = heights.reshape(GRID, GRID)
        ax.contour(x, y, field, levels=n_levels, colors=GREY, linewidths=0.8)
    edge: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.6, "zorder": 3}
    if len(drawn):
        ax.scatter(*drawn.T, s=34, marker="o", color=SERIES[2], label=heads[1], **edge)
    ax.scatter(*herded.T, s=34, marker="s", color=SERIES[3], label=heads[0], **edge)
    ax.legend(frameon=False, fontsize=9)
    ax.tick_params(colors=INK)
    return figure


def _shares(weights: ArrayLike | None, m: int) -> NDArray[np.float64]:
    given = np.ones(m) if weights is None else numbers(weights, "weights")
    if len(given) != m or given.sum() == 0:
        raise ParameterError("weights", f"be {m} numbers whose sum is not 0", got=f"{len(given)}")
    return given / given.sum()


def _table(X: ArrayLike) -> NDArray[Any]:
    """Return the sample, which may be memory-mapped, as it is."""
    values = plain_array(X, "X", "be a table of numbers")
    if values.ndim != 2 or 0 in values.shape or values.dtype.kind not in "biuf":
        got = f"{values.dtype} {values.shape}"
        raise ParameterTypeError("X", "be a table of numbers", got=got)
    return values


def _names(names: Sequence[str] | None, d: int) -> list[str]:
    return [f"x{j}" for j in range(d)] if names is None else texts(names, "names", d)


def _mass(sample_weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    mass = row_weights(sample_weight, n)
    if not mass.any():
        raise ParameterError("sample_weight", "be positive for some row", got="zeros only")
    return mass


def _places(
    values: NDArray[Any], names: Sequence[str]
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return every row's place in the picture, (n, 1) or (n, 2), and the names of the axes."""
    n, d = values.shape
    if d <= 2:
        return np.asarray(values, dtype=np.float64), tuple(names)
    some = np.asarray(values[:: -(-n // MAX_ROWS)], dtype=np.float64)
    require_drawable(some, "X")
    centre, spread = some.mean(axis=0), some.std(axis=0)
    spread[spread == 0] = 1.0
    _, strengths, directions = np.linalg.svd((some - centre) / spread, full_matrices=False)
    axes = np.zeros((2, d))
    axes[: len(directions)] = directions[:2]
    # A direction has no sign of its own: its largest entry is made positive.
    axes *= np.sign(axes[[0, 1], np.abs(axes).argmax(axis=1)] + 1e-300)[:, None]
    places, size = np.empty((n, 2)), max(1, BLOCK_CELLS // d)
    for low in range(0, n, size):
        block = np.asarray(values[low : low + size], dtype=np.float64)
        require_drawable(block, "X")
        places[low : low + size] = ((block - centre) / spread) @ axes.T
    parts = strengths**2 / max(float((strengths**2).sum()), 1e-300)
    first, second, *_ = [*parts.tolist(), 0.0]
    name = "principal component"
    return places, (f"first {name} ({first:.0%})", f"second {name} ({second:.0%})")


def _compare(
    ax: Any,
    column: NDArray[np.float64],
    weight: ArrayLike | None,
    chosen: NDArray[np.float64],
    share: NDArray[np.float64],
    orientation: str,
) -> None:
    """Draw two histograms over the same bins; values beyond the ends go into the end bins."""
    tidy(ax)
    ax.grid(visible=False)
    low, high = np.quantile(column, [TAIL, 1 - TAIL])
    if low == high:
        low, high = column.min(), column.max()
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, N_BINS + 1)
    whole, _ = np.histogram(column.clip(low, high), edges, weights=weight)
    part, _ = np.histogram(chosen.clip(low, high), edges, weights=share)
    style: dict[str, Any] = {"baseline": 0, "orientation": orientation}
    ax.stairs(whole / whole.sum(), edges, fill=True, color=PALE, label="all rows", **style)
    ax.stairs(part, edges, color=SERIES[0], linewidth=1.6, label="chosen rows", **style)
