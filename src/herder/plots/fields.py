r"""Pictures of random fields: couplings, states, energies, marginals.

A matrix of couplings is drawn in colours that are white at zero and of equal strength at
:math:`\pm r`, so that no sign looks stronger than the other; r is the 99th percentile of
:math:`|W|`, so that a few strong couplings do not make all others pale.
"""

from collections.abc import Mapping, Sequence
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import check_fitted, finite_number, flag, of_kind, plain_array
from herder.models.exact import Exact
from herder.models.graph import check_shape
from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel
from herder.plots._inputs import by_label, numbers, texts
from herder.plots._sites import draw_map, draw_sorted, name_sites
from herder.plots._style import (
    GREY,
    INK,
    SERIES,
    STATES,
    Axes,
    Figure,
    colour_bar,
    line_style,
    new_figure,
)
from herder.samplers.sampling import EXACT_STATES, Sampling

__all__ = ["plot_couplings", "plot_energies", "plot_sampling", "plot_state"]

#: Models of more sites are drawn as one dot for each coupling: their matrix would be mostly empty,
#: and its cells smaller than a dot of the printer.
MAX_CELLS = 600

#: More points than this are drawn as one image inside the picture, to keep it small.
MAX_VECTOR_POINTS = 1500

#: More sites than this are drawn as a map of their grid, or in order of size: single dots would
#: overlap.
MAX_SITES = 500

#: Share of couplings that the scale of colours reaches.
REACHED = 0.99

#: Bins of a histogram of energies, and points of a trace, at most.
N_BINS, MAX_TRACE = 40, 2000

#: States whose energies are drawn, at most.
N_ENERGIES = 20_000

#: An R-hat above this shows that chains disagree.
R_HAT = 1.01

#: Colours of couplings: negative, none, positive.
DIVERGING = (SERIES[1], "#ffffff", SERIES[0])

#: Colours of the lower and the upper state of a binary site.
BINARY = ("#f5f7fa", INK)


def plot_couplings(model: Any, *, truth: Any = None, ax: Any = None) -> Figure:
    """Draw the couplings of a model as a matrix of colours.

    Parameters
    ----------
    model : PairwiseModel, PottsModel or BoltzmannMachine
        Whose couplings are drawn; of a machine that has been fitted, those found.
    truth : PairwiseModel, PottsModel or BoltzmannMachine, optional
        A model of as many sites, on the same states: its couplings go above the diagonal and those
        of ``model`` below it. The closer to symmetric the picture is, the better the two agree.
    ax : Axes, optional
        Where to draw; in a new figure by default.
    """
    from matplotlib.colors import LinearSegmentedColormap

    field = _field_of(model, "model")
    upper = field if truth is None else _field_of(truth, "truth")
    ours, theirs = ((type(one).__name__, one.n_sites, one.states) for one in (field, upper))
    if ours != theirs:
        raise ParameterError("truth", f"have the sites and states of model, {ours}", theirs)
    weights = np.concatenate([field.edge_weights, upper.edge_weights])
    sizes = np.abs(weights) if len(weights) else np.ones(1)
    reach = float(np.quantile(sizes, REACHED, method="higher"))  # of up to 100, the largest
    largest = float(sizes.max())
    if ax is None:
        _, ax = new_figure(width=5.2, height=4.4)
    of_kind(ax, "ax", Axes, "an Axes of matplotlib")
    colours = LinearSegmentedColormap.from_list("couplings", DIVERGING)
    style: dict[str, Any] = {"cmap": colours, "vmin": -reach, "vmax": reach}
    if field.n_sites <= MAX_CELLS:
        matrix = np.zeros((field.n_sites, field.n_sites))
        matrix[field.edges[:, 1], field.edges[:, 0]] = field.edge_weights
        matrix[upper.edges[:, 0], upper.edges[:, 1]] = upper.edge_weights
        drawn = ax.imshow(matrix, interpolation="nearest", **style)
    else:
        places = np.concatenate([field.edges[:, ::-1], upper.edges])
        drawn = ax.scatter(*places.T[::-1], c=weights, s=2, linewidths=0, rasterized=True, **style)
        ends = (-0.5, field.n_sites - 0.5)
        ax.set(aspect="equal", xlim=ends, ylim=ends[::-1])
    ax.grid(visible=False)
    for axis in (ax.xaxis, ax.yaxis):
        name_sites(axis, field.names)
    if truth is not None:
        ax.set_title("above the diagonal: truth; below: model", fontsize=10, color=INK)
    is_cut = largest > reach
    beyond = f"\nthe strongest are beyond the scale: up to {largest:.3g}" if is_cut else ""
    colour_bar(ax, drawn, f"coupling{beyond}", extend="both" if is_cut else "neither")
    return ax.get_figure()


def plot_state(
    shape: "int | Sequence[int] | PairwiseModel | PottsModel",
    x: ArrayLike,
    *,
    titles: Sequence[str] | None = None,
    colours: Sequence[str] | None = None,
) -> Figure:
    """Draw states as pictures, one pixel for each site.

    Parameters
    ----------
    shape : int, sequence of two int, PairwiseModel or PottsModel
        Rows and columns of a picture. A model makes a square, so that the number of its sites
        must be one; a single number makes one row.
    x : array-like of shape (n_sites,) or (n, n_sites)
        One state or several, which are drawn side by side.
    titles : sequence of str, optional
        One for each state.
    colours : sequence of str, optional
        One for each value that a site can have, the lowest first.
    """
    height, width = _shape_of(shape)
    states = np.atleast_2d(plain_array(x, "x", "be states"))
    if states.dtype.kind not in "biuf" or np.isnan(states).any():
        raise ParameterTypeError("x", "be states", got=str(states.dtype))
    if states.ndim != 2 or states.shape[1] != height * width or not len(states):
        got = f"shape {states.shape}"
        raise ParameterError("x", f"have {height * width} sites in each row", got=got)
    heads = None if titles is None else texts(titles, "titles", len(states))
    values = _alphabet(shape, states)
    palette = _palette(len(values), colours)
    tall = min(max(height / width, 0.3), 3.0)
    figure, axes = new_figure(len(states), width=2.4, height=2.4 * tall + 0.3)
    for place, ax in enumerate(np.atleast_1d(np.asarray(axes, dtype=object))):
        codes = np.searchsorted(values, states[place]).reshape(height, width)
        ax.imshow(codes, interpolation="nearest", **palette)
        ax.grid(visible=False)
        ax.set(xticks=[], yticks=[])
        if heads is not None:
            ax.set_title(heads[place], fontsize=9, color=INK)
    return figure


def plot_energies(
    energies: Mapping[str, ArrayLike], *, exact: float | None = None, trace: bool = True
) -> Figure:
    """Draw the energies that samplers visit: how often, and in which order.

    Parameters
    ----------
    energies : mapping of label to array-like of shape (n,)
        Energies of the states of each sampler, one after the other.
    exact : float, optional
        The mean energy, if it is known, drawn as a line.
    trace : bool, default True
        Whether to draw the energies in their order as well, on the right.
    """
    given = by_label(energies, "energies")
    found = {label: numbers(values, "energies") for label, values in given.items()}
    for label, values in found.items():
        if not values.size:
            raise ParameterError("energies", "be finite numbers in a row", got=f"{label!r}: none")
    trace = flag(trace, "trace")
    mean = None if exact is None else finite_number(exact, "exact")
    edges = _bin_edges(np.concatenate(list(found.values())))
    figure, axes = new_figure(1 + trace, width=4.6)
    left, right = axes if trace else (axes, None)
    for place, (label, values) in enumerate(found.items()):
        counts, _ = np.histogram(values, edges)
        style = line_style(place)
        left.stairs(counts / len(values), edges, linewidth=1.5, label=label, **style)
        if right is not None:
            step = -(-len(values) // MAX_TRACE)
            t = np.arange(1, len(values) + 1)[::step]
            right.plot(t, values[::step], linewidth=0.8, alpha=0.8, **style)
    if mean is not None:
        left.axvline(mean, color=GREY, linestyle="--", linewidth=1.2, label="exact mean")
        if right is not None:
            right.axhline(mean, color=GREY, linestyle="--", linewidth=1.2)
    left.set(xlabel="energy", ylabel="share of states")
    left.legend(frameon=False, fontsize=9)
    if right is not None:
        right.set(xlabel="state", ylabel="energy")
    return figure


def draw_energies(run: Sampling) -> Figure:
    """Draw the energies of the states of a run, with the exact mean of a small model."""
    states = run.samples[:: -(-len(run.samples) // N_ENERGIES)]
    small = run.model.n_states**run.model.n_sites <= EXACT_STATES and not len(run.held)
    mean = run.model.exact().mean_energy if small else None
    return plot_energies({run.method: run.model.energy(states)}, exact=mean)


def draw_last_state(run: Sampling, shape: Sequence[int]) -> Figure:
    """Draw the last state of a run on a grid."""
    return plot_state(shape, run.samples[-1])


def plot_sampling(
    sampling: Sampling, *, exact: Exact | None = None, shape: Sequence[int] | None = None
) -> Figure:
    """Draw the marginals of a run with their errors, and whether its chains agree.

    Parameters
    ----------
    sampling : Sampling
        Of `herder.gibbs`, `herder.herded_gibbs` or `herder.swendsen_wang`.
    exact : Exact, optional
        Of the same model: then the marginals are drawn against the exact ones.
    shape : sequence of two int, optional
        Rows and columns of a grid.

    Returns
    -------
    Figure
        On the left the marginals with two standard errors, of every site, or of every state of
        every site; on the right R-hat by site. More than 500 sites are drawn as maps of their
        grid, of Potts models the likeliest state, or from the smallest number to the largest.
    """
    for name, result, parts in (
        ("sampling", sampling, ("marginals", "errors", "r_hat", "names")),
        ("exact", exact, () if exact is None else ("marginals",)),
    ):
        if not all(hasattr(result, part) for part in parts):
            got = type(result).__name__
            raise ParameterTypeError(name, f"have {' and '.join(parts)}", got=got)
    reached = _by_site(sampling.marginals)
    spread = 2 * _by_site(sampling.errors)
    sites = np.arange(len(reached))
    grid = None if shape is None else _shape_of(shape)
    if grid is not None and grid[0] * grid[1] != len(sites):
        raise ParameterError("shape", f"have {len(sites)} cells, one a site", shape)
    if exact is None:
        places = np.broadcast_to(sites[:, None], reached.shape)
    else:
        places = _by_site(exact.marginals)
        if places.shape != reached.shape:
            rule = f"have marginals of shape {np.shape(sampling.marginals)}"
            raise ParameterError("exact", rule, np.shape(exact.marginals))
    figure, (left, right) = new_figure(2, width=4.6, height=3.7)
    r_hat = np.asarray(sampling.r_hat, dtype=np.float64)
    if len(sites) > MAX_SITES and grid is not None and exact is None:
        n_columns = reached.shape[1]
        label, low = ("P(upper state)", 0.0) if n_columns == 1 else ("P(likeliest)", 1 / n_columns)
        draw_map(left, reached.max(axis=1), grid, (low, 1.0), label)
        top = float(r_hat[np.isfinite(r_hat)].max(initial=R_HAT))
        draw_map(right, r_hat, grid, (1.0, top), "R-hat")
        return figure
    if exact is not None:
        left.axline((0, 0), slope=1, color=GREY, linewidth=1, zorder=1)
    many = reached.size > MAX_VECTOR_POINTS
    for k in range(reached.shape[1]):
        style: dict[str, Any] = {"color": SERIES[k % len(SERIES)], "label": f"state {k}"}
        if len(sites) > MAX_SITES and exact is None:
            draw_sorted(left, reached[:, k], spread[:, k], style)
            continue
        dots = {"fmt": "o", "markersize": 3, "elinewidth": 0.8, "rasterized": many}
        left.errorbar(places[:, k], reached[:, k], spread[:, k], **dots, **style)
    left.set_ylabel("marginal, two standard errors")
    if reached.shape[1] > 1:
        left.legend(frameon=False, fontsize=9)
    if len(sites) > MAX_SITES:
        draw_sorted(right, r_hat, None, {"color": SERIES[0]})
    else:
        right.plot(sites, r_hat, "o", color=SERIES[0], markersize=3)
        for ax in (right,) if exact is not None else (left, right):
            name_sites(ax.xaxis, sampling.names)
    if exact is not None:
        left.set_xlabel("exact marginal")
    right.axhline(R_HAT, color=GREY, linestyle="--", linewidth=1.2, label=f"{R_HAT:g}")
    right.set_ylabel("R-hat")
    right.legend(frameon=False, fontsize=9)
    return figure


def _field_of(model: Any, name: str) -> PairwiseModel | PottsModel:
    """Return the model itself, or that of a fitted machine."""
    if isinstance(model, PairwiseModel | PottsModel):
        return model
    if isinstance(model, BaseEstimator):
        check_fitted(model, "model_")
        found: Any = model
        return _field_of(found.model_, name)
    rule = "be a PairwiseModel, a PottsModel or a BoltzmannMachine"
    raise ParameterTypeError(name, rule, got=type(model).__name__)


def _palette(n_values: int, colours: Sequence[str] | None) -> dict[str, Any]:
    """Return the arguments of imshow that draw codes 0, 1, ... each in its own colour."""
    from matplotlib.colors import ListedColormap, is_color_like

    if colours is None:
        colours = BINARY if n_values <= 2 else [STATES[k % len(STATES)] for k in range(n_values)]
    else:
        colours = texts(colours, "colours", n_values)
        wrong = [colour for colour in colours if not is_color_like(colour)]
        if wrong:
            raise ParameterError("colours", "be colours of matplotlib", wrong[0])
    return {"cmap": ListedColormap(list(colours)), "vmin": -0.5, "vmax": len(colours) - 0.5}


def _shape_of(shape: Any) -> tuple[int, int]:
    if isinstance(shape, PairwiseModel | PottsModel):
        side = isqrt(shape.n_sites)
        if side**2 != shape.n_sites:
            rule = f"be rows and columns: the model's {shape.n_sites} sites make no square"
            raise ParameterError("shape", rule)
        return side, side
    sizes = check_shape(shape)
    if len(sizes) > 2:
        raise ParameterError("shape", "be rows and columns", shape)
    height, width = (1, *sizes)[-2:]
    return height, width


def _alphabet(shape: Any, states: NDArray[Any]) -> NDArray[Any]:
    """Return all states of a site: those of the model, or those that are there."""
    if isinstance(shape, PairwiseModel | PottsModel):
        if not np.isin(states, shape.states).all():
            got = str(np.unique(states))
            raise ParameterError("x", f"hold the states {shape.states}", got=got)
        return np.array(shape.states)
    for binary in ((0, 1), (-1, 1)):
        if np.isin(states, binary).all():
            return np.array(binary)
    return np.unique(states)


def _bin_edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the edges of bins; of evenly spaced energies each bin holds the same number."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        return np.array([low - 0.5, low + 0.5])
    # Equal energies differ by rounding, of the order of 1e-16 of them.
    levels = np.unique(np.round((values - low) / (high - low), 9))
    step = float(np.diff(levels).min())
    n_levels = round(1 / step) + 1
    is_even = np.allclose(levels / step, np.round(levels / step), rtol=0, atol=0.05)
    if not is_even or n_levels > 10 * len(levels):
        return np.linspace(low, high, N_BINS + 1, dtype=np.float64)
    width = -(-n_levels // N_BINS)
    n_bins = -(-n_levels // width)
    reach = step * (width * np.arange(n_bins + 1, dtype=np.float64) - 0.5)
    return low + (high - low) * reach


def _by_site(values: ArrayLike) -> NDArray[np.float64]:
    """Return marginals as a table, of one column for binary sites."""
    table = np.asarray(values, dtype=np.float64)
    return table.reshape(len(table), -1)
