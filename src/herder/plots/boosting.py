"""Pictures of boosted fields: how their rounds went, and densities of two columns of numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import check_fitted, flag, of_kind, plain_array
from herder.core.summary import counted
from herder.learn.boosted_features import DimpleFeatures
from herder.learn.boosting import BoostedField
from herder.plots._inputs import numbers
from herder.plots._style import INK, SERIES, Figure, colour_bar, new_figure

__all__ = ["plot_boosted_density", "plot_boosted_rounds"]

Floats = NDArray[np.float64]

#: Points of the grid along each axis.
GRID = 160

#: Part of the range of the rows that is drawn around them.
MARGIN = 0.12

#: Log densities this far below the largest one, in nats, have the lightest colour.
DEPTH = 8.0

#: Contours, and samples that are drawn in place of rows.
N_LEVELS, N_SAMPLES = 9, 500

#: Dimples that are drawn at most, those with the largest coefficients; with more, none is seen.
N_DIMPLES = 30

#: Numbers of rounds that are drawn at most, and the points of an ellipse.
MOST_STAGES, N_POINTS = 8, 73

#: Colours from low to high densities.
HEIGHTS = ("#ffffff", "#d5efea", "#99d8cf", "#3fa796")


def plot_boosted_rounds(field: BoostedField) -> Figure:
    """Draw the gain of log density in each round, their sum, and the effective sample size.

    Parameters
    ----------
    field : BoostedField
        A fitted field.
    """
    check_fitted(of_kind(field, "field", BoostedField, "a BoostedField"), "gains_")
    rounds, marker = np.arange(1, field.n_rounds_ + 1), "o" if field.n_rounds_ < 3 else ""
    figure, (left, middle, right) = new_figure(3, width=3.5, height=3.1)
    given = ((left, field.gains_.cumsum(), "log density"), (middle, field.gains_, "gain"))
    for ax, values, label in given:
        ax.plot(rounds, values, color=SERIES[0], linewidth=1.2, marker=marker)
        ax.set_ylabel(f"{label}, nats a row")
    left.set_title("gain of all rounds so far", fontsize=10, color=INK)
    middle.set_title("gain of each round", fontsize=10, color=INK)
    if field.gains_.min() < 0:
        middle.axhline(0, color=INK, linewidth=0.8)
    right.plot(rounds, 100 * field.ess_, color=SERIES[1], linewidth=1.2, marker=marker)
    right.set_ylabel("per cent")
    right.set_title("effective sample size", fontsize=10, color=INK)
    right.set_ylim(0, 105)
    for ax in (left, middle, right):
        ax.set_xlabel("round")
        ax.xaxis.get_major_locator().set_params(integer=True)
    return figure


def plot_boosted_density(
    field: BoostedField,
    X: ArrayLike | None = None,
    *,
    n_rounds: int | Sequence[int] | None = None,
    dimples: bool = True,
) -> Figure:
    """Draw the log density of two columns of numbers, rows and dimples.

    Parameters
    ----------
    field : BoostedField
        Fitted to two columns of numbers.
    X : array-like of shape (n_rows, 2), optional
        Rows that are drawn; by default samples of the field.
    n_rounds : int or sequence of int, optional
        Numbers of rounds, side by side; by default all rounds. Contours are then relative to
        the largest density of each of them.
    dimples : bool, default True
        Whether to draw the narrow Gaussians of the dimples with the largest coefficients, as
        ellipses of one standard deviation; the lines of larger ones are thicker.
    """
    check_fitted(of_kind(field, "field", BoostedField, "a BoostedField"), "gains_")
    if field._model.signs or field.n_features_in_ != 2:
        raise ParameterError("field", "be fitted to two columns of numbers", got="other columns")
    stages, outlines = _stages(n_rounds, field.n_rounds_), flag(dimples, "dimples")
    if X is None:
        shown, rows = field.sample(N_SAMPLES), None
    else:
        shown = rows = numbers(X, "X", 2)
        if rows.shape[1] != 2 or not len(rows):
            raise ParameterError("X", "have two columns and at least one row", got=f"{rows.shape}")
    low, high = shown.min(axis=0), shown.max(axis=0)
    units: Floats = np.linalg.inv(field._frame.scale).astype(np.float64)
    spare = np.where(high > low, MARGIN * (high - low), np.abs(units).sum(axis=0))
    across, up = np.linspace(low - spare, high + spare, GRID).T
    heights = _heights(field, np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2), stages)
    several = len(stages) > 1
    figure, axes = new_figure(len(stages), width=4.0 if several else 5.6, height=4.0)
    drawn: Any = None
    for ax, stage in zip(np.ravel(axes), stages, strict=True):
        logs = heights[stage].reshape(GRID, GRID)
        dots = _draws(across, up, logs) if rows is None else rows
        drawn = _draw_heights(ax, across, up, logs)
        ax.plot(*dots.T, ".", color=INK, markersize=2.2, alpha=0.7, linestyle="none")
        if outlines and isinstance(field._model.family, DimpleFeatures):
            _draw_dimples(ax, field, stage, units)
        ax.set_xlim(across[0], across[-1])
        ax.set_ylim(up[0], up[-1])
        if several:
            ax.set_title(counted(stage, "round"), fontsize=10, color=INK)
        ax.locator_params(nbins=6)
    colour_bar(figure.axes[len(stages) - 1], drawn, "log density, below the largest", extend="min")
    return figure


def _stages(n_rounds: Any, n: int) -> list[int]:
    """Return numbers of rounds, at most as many as there were and as there is room for."""
    if n_rounds is None:
        return [n]
    rule = f"be 1 to {MOST_STAGES} numbers from 1 to {n}"
    found = np.ravel(plain_array(n_rounds, "n_rounds", rule))
    if found.dtype.kind not in "iu":
        raise ParameterTypeError("n_rounds", rule, got=f"{found.dtype} {found.shape}")
    if not 1 <= len(found) <= MOST_STAGES or found.min() < 1 or found.max() > n:
        raise ParameterError("n_rounds", rule, n_rounds)
    return [int(each) for each in found]


def _heights(field: BoostedField, points: Floats, stages: list[int]) -> dict[int, Floats]:
    """Return log densities after some numbers of rounds, less the largest of each."""
    found = {}
    with np.errstate(over="ignore", invalid="ignore"):
        # past the validator, which warns of rows without names if those of fit had some
        for k, energies in enumerate(field._model.staged(field._frame.scaled(points))):
            if k in stages:
                found[k] = energies.min() - energies
            if k == max(stages):
                break
    if not all(np.isfinite(each).all() for each in found.values()):
        raise ParameterError("X", "be nearer to the rows of the field", got="distant rows")
    return found


def _draws(across: Floats, up: Floats, logs: Floats) -> Floats:
    """Draw rows from the cells of the grid, and uniformly within them."""
    rng, shares = np.random.default_rng(0), np.exp(logs).ravel()
    cells = rng.choice(len(shares), size=N_SAMPLES, p=shares / shares.sum())
    at = np.column_stack([across[cells % GRID], up[cells // GRID]])
    return at + (rng.random(at.shape) - 0.5) * [across[1] - across[0], up[1] - up[0]]


def _draw_heights(ax: Any, across: Floats, up: Floats, logs: Floats) -> Any:
    """Draw log densities as colours, pale where they are low, and their contours."""
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("heights", HEIGHTS)
    levels = np.linspace(-DEPTH, 0, N_LEVELS)
    extent = (across[0], across[-1], up[0], up[-1])
    style = {"origin": "lower", "extent": extent, "aspect": "auto", "cmap": colours}
    drawn = ax.imshow(logs, vmin=-DEPTH, vmax=0, interpolation="bilinear", **style)
    if logs.min() < levels[-2]:
        ax.contour(across, up, logs, levels=levels, colors="white", linewidths=0.6)
    ax.grid(visible=False)
    return drawn


def _draw_dimples(ax: Any, field: BoostedField, stage: int, units: Floats) -> None:
    """Draw the narrow Gaussians of the dimples with the largest coefficients."""
    sizes = field.coefficients_[:stage]
    turn = np.linspace(0, 2 * np.pi, N_POINTS)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    for k in np.argsort(-sizes, kind="stable")[:N_DIMPLES]:
        if sizes[k] > 0:
            means, logs = np.split(field.parameters_[k], 2)
            line = (means + np.exp(-logs / 2) * circle) @ units + field._frame.centre
            ax.plot(*line.T, color=SERIES[1], linewidth=0.3 + 1.2 * sizes[k] / sizes.max())
