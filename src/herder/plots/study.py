r"""Pictures of herding as a dynamical system: [chen2014]_, figures 2.1, 2.2 and 2.8 to 2.11."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import of_kind, positive_int
from herder.plots._style import (
    BESIDE,
    GREY,
    INK,
    SERIES,
    STATES,
    Figure,
    colour_bar,
    line_style,
    new_figure,
)
from herder.study.attractors import Attractor, box_counts
from herder.study.bifurcations import Bifurcation
from herder.study.mixing import Mixing
from herder.study.neurons import Real, neuron
from herder.study.words import Words

__all__ = [
    "plot_attractor",
    "plot_bifurcation",
    "plot_cones",
    "plot_mixing",
    "plot_neuron",
    "plot_tipi_surface",
    "plot_words",
]

Floats = NDArray[np.float64]

#: Boxes of a picture along each axis, and those of the plane below it.
PIXELS, GRID = 700, 300

#: Dots of an attractor that are drawn one by one, and at each temperature.
DOTS, DOTS_EACH = 4000, 150

#: Colours from few points to many: lighter is fewer, so that grey prints show it as well.
FILL = ("#ffffff", "#99d8cf", "#0f766e", "#06302d")


def plot_neuron(rate: Real, n: int = 30, w0: Real | None = None) -> Figure:
    """Draw the map of a neuron's weight, its first weights, and its word.

    Parameters
    ----------
    rate, w0 : Fraction, Quadratic, int or float
        Firing rate and first weight, as of `herder.study.neuron`.
    n : int, default 30
        Number of steps.
    """
    steps = positive_int(n, "n")
    states = neuron(rate, steps, w0)
    mean, first = float(rate), 2 * float(rate) - 1 if w0 is None else float(w0)
    weights = first + np.append(0, mean * np.arange(1, steps + 1) - np.cumsum(states))
    figure, (left, middle, right) = new_figure(3, width=3.5, height=2.9)
    ends = np.array([mean - 1, mean])
    left.plot(ends, ends, color=GREY, linewidth=0.8)
    for low, high, fires in ((mean - 1, 0, 0), (0, mean, 1)):
        part = np.array([low, high])
        label = "fires" if fires else "rests"
        left.plot(part, part + mean - fires, **line_style(fires), linewidth=2, label=label)
    left.legend(fontsize=8, frameon=False, loc="upper right")
    left.set(xlabel="$w_{t-1}$", ylabel="$w_t$", aspect="equal")
    middle.plot(weights, ".-", color=SERIES[0], linewidth=0.8)
    middle.axhline(0, color=INK, linewidth=0.8)
    middle.set(xlabel="step", ylabel="weight")
    right.imshow(1 - states[None], cmap="gray", aspect="auto", vmin=0, vmax=1)
    right.set(xlabel="step", yticks=[], xticks=range(0, steps, max(steps // 5, 1)))
    right.grid(visible=False)
    right.set_title("black: the neuron fires", fontsize=9, color=INK)
    return figure


def plot_bifurcation(result: Bifurcation) -> Figure:
    """Draw the first weight of each attractor by temperature, periods, and the plane.

    Parameters
    ----------
    result : Bifurcation
        What `herder.study.bifurcation` returned; with two features the plane is drawn as well.
    """
    of_kind(result, "result", Bifurcation, "a Bifurcation")
    heats, plane = result.temperatures, result.attractors[0].shape[1] == 2
    figure, axes = new_figure(3 if plane else 2, width=3.9, height=3.6)
    left, middle = axes[:2]
    some = [_some(points, DOTS_EACH) for points in result.attractors]
    at = np.repeat(heats, [len(points) for points in some])
    dots = {"color": SERIES[0], "markersize": 1.2, "rasterized": True}
    left.plot(at, np.concatenate(some)[:, 0], ".", **dots)
    left.set_ylabel("$w_1$ on the attractor")
    periodic = result.periods > 0
    middle.plot(heats[periodic], result.periods[periodic], ".", color=SERIES[0], markersize=4)
    middle.set_yscale("log", base=2)
    middle.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    middle.set_ylabel("period")
    for ax in (left, middle):
        ax.set_xlabel("temperature")
        for period, threshold in result.thresholds.items():
            if period & (period - 1):  # of a window further down
                continue
            ax.axvline(threshold, color=SERIES[1], linewidth=0.5, alpha=0.6)
    if plane:
        _draw_cycles(axes[2], result, some)
    return figure


def plot_attractor(result: Attractor) -> Figure:
    """Draw how often herding visits each part of the plane of its weights.

    Parameters
    ----------
    result : Attractor
        What `herder.study.attractor` returned for two features.
    """
    low, high = _plane(result)
    figure, ax = new_figure(width=5.6, height=5.0)
    side = float((high - low).max())
    counts = box_counts(result.points, low, side, PIXELS).reshape(PIXELS, PIXELS).T
    extent = (low[0], low[0] + side, low[1], low[1] + side)
    style: dict[str, Any] = {"origin": "lower", "extent": extent, "interpolation": "nearest"}
    logs = np.log10(np.maximum(counts, 1), dtype=np.float32)
    shown = np.where(counts > 0, logs + 0.3 * max(float(logs.max()), 1.0), 0)
    ax.imshow(shown, cmap=_colours(), **style)
    ax.grid(visible=False)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.set(xlabel="$w_1$", ylabel="$w_2$")
    return figure


def plot_cones(result: Attractor) -> Figure:
    """Draw the cone of each state, half of the translation within it, and the attractor.

    Parameters
    ----------
    result : Attractor
        What `herder.study.attractor` returned for two features.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    low, high = _plane(result)
    reach = 1.3 * float(np.abs([low, high]).max())
    axis = np.linspace(-reach, reach, GRID)
    across, up = np.meshgrid(axis, axis)
    plane = np.stack([across, up], axis=-1)
    best = (plane @ result.features.T).argmax(axis=-1)
    n_states = len(result.features)
    colours = [STATES[i % len(STATES)] for i in range(n_states)]
    figure, ax = new_figure(width=5.4, height=4.6)
    style = {"cmap": ListedColormap(colours), "vmin": -0.5, "vmax": n_states - 0.5}
    ax.imshow(best, origin="lower", extent=(-reach, reach, -reach, reach), **style)
    ax.plot(*_some(result.points, DOTS).T, ".", color=INK, markersize=0.8, rasterized=True)
    seen = np.unique(best).tolist()
    inside = np.hypot(across, up) < reach
    for state in seen:
        middle = plane[(best == state) & inside].mean(axis=0)
        end = middle + (result.moments - result.features[state]) / 2
        arrow = {"arrowstyle": "-|>", "color": SERIES[3], "linewidth": 1.4}
        ax.annotate("", xy=end, xytext=middle, arrowprops=arrow)
    patches = [Patch(facecolor=colours[state], label=str(state)) for state in seen]
    ax.legend(
        handles=patches, title="state", title_fontsize=9, fontsize=9, frameon=False, **BESIDE
    )
    ax.grid(visible=False)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel="$w_1$", ylabel="$w_2$")
    return figure


def plot_tipi_surface(result: Attractor) -> Figure:
    """Draw the Tipi function as a surface, with weights of herding on it.

    Parameters
    ----------
    result : Attractor
        What `herder.study.attractor` returned for two features.
    """
    low, high = _plane(result)
    figure = Figure(figsize=(6.0, 5.0), layout="constrained")
    ax: Any = figure.add_subplot(projection="3d")
    across, up = (np.linspace(low[k], high[k], 90) for k in (0, 1))
    plane = np.stack(np.meshgrid(across, up), axis=-1)
    style = {"cmap": _colours(), "alpha": 0.55, "linewidth": 0, "rcount": 90, "ccount": 90}
    heights = _tipi(result, plane)
    ax.plot_surface(plane[..., 0], plane[..., 1], heights, rasterized=True, **style)
    dots = _some(result.points, DOTS)
    ax.plot(*dots.T, _tipi(result, dots), ".", color=INK, markersize=1.5, rasterized=True)
    ax.set(xlabel="$w_1$", ylabel="$w_2$", zlabel=r"$\ell_0(w)$")
    ax.view_init(elev=35, azim=-60)
    ax.tick_params(labelsize=8, labelcolor=INK)
    return figure


def plot_words(result: Words) -> Figure:
    """Draw the number of words by their length, and their entropy.

    Parameters
    ----------
    result : Words
        What `herder.study.split_words` or `count_words` returned.
    """
    of_kind(result, "result", Words, "a Words")
    lengths, k = np.arange(1, len(result.counts) + 1), result.n_features
    figure, (left, right) = new_figure(2, width=4.4, height=3.5)
    power = lengths**k * (result.counts[-1] / lengths[-1] ** k)
    left.loglog(lengths, result.counts, ".-", color=SERIES[0], label="M(T)")
    left.loglog(lengths, power, "--", color=SERIES[1], label=f"$T^{{{k}}}$, to the last one")
    left.set(xlabel="length T", ylabel="words")
    right.plot(lengths, result.entropy, ".-", color=SERIES[0], label="log M(T)")
    for place, part, label in ((1, k, "K log T"), (2, k / 2, "(K / 2) log T, Bayes")):
        right.plot(lengths, part * np.log(lengths), color=SERIES[place], ls="--", label=label)
    right.set(xlabel="length T", ylabel="entropy, nats", xscale="log")
    for ax in (left, right):
        ax.legend(fontsize=8, frameon=False)
    return figure


def plot_mixing(result: Mixing) -> Figure:
    """Draw the autocorrelation of states by lag for each method.

    Parameters
    ----------
    result : Mixing
        What `herder.study.compare_mixing` returned.
    """
    of_kind(result, "result", Mixing, "a Mixing")
    figure, ax = new_figure(width=6.4)
    for place, (name, curve) in enumerate(result.correlations.items()):
        lags = np.arange(1, len(curve))
        ax.plot(lags, curve[1:], marker=".", **line_style(place), linewidth=1, label=name)
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.set(xlabel="lag t", ylabel="R(t)", xscale="log")
    ax.legend(fontsize=9, frameon=False)
    return figure


def _draw_cycles(ax: Any, result: Bifurcation, some: list[Floats]) -> None:
    """Draw the cycles by temperature, in front of the coldest attractor."""
    heats = result.temperatures
    cold = result.attractors[int(heats.argmin())]
    ax.plot(*cold.T, ".", color=GREY, markersize=1.5, rasterized=True)
    warm = np.flatnonzero(result.periods).tolist()
    if warm:
        points = np.concatenate([some[i] for i in warm])
        colours = np.repeat(heats[warm], [len(some[i]) for i in warm])
        style = {"s": 4, "cmap": "viridis", "linewidths": 0, "rasterized": True}
        drawn = ax.scatter(*points.T, c=colours, **style)
        colour_bar(ax, drawn, "temperature of a cycle")
    ax.set(xlabel="$w_1$", ylabel="$w_2$")


def _plane(result: Any) -> tuple[Floats, Floats]:
    """Return the corners of an attractor in the plane, with a margin."""
    of_kind(result, "result", Attractor, "an Attractor")
    if result.points.shape[1] != 2:
        raise ParameterError("result", "have 2 features", result.points.shape[1])
    low, high = result.points.min(axis=0), result.points.max(axis=0)
    spare = 0.04 * max(float((high - low).max()), 1e-9)
    return low - spare, high + spare


def _tipi(result: Attractor, at: Floats) -> Floats:
    return at @ result.moments - (at @ result.features.T).max(axis=-1)


def _some(points: Floats, n: int) -> Floats:
    return points[:: max(1, len(points) // n)]


def _colours() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("visits", FILL)
