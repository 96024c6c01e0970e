"""Pictures of restricted Boltzmann machines, and of rows that are images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import of_kind, plain_array, positive_int, real_array
from herder.fields.hidden import HiddenHerder
from herder.fields.parametric import ParametricHerder
from herder.learn.rbm import RBM
from herder.plots._style import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_prototypes", "draw_samples", "plot_filters", "plot_images"]

#: Width of the gap between two images, in pixels.
GAP = 1


def plot_filters(
    machine: RBM, *, shape: Sequence[int] | None = None, n_filters: int = 64
) -> Figure:
    """Draw the couplings of each hidden unit as an image, those with the largest norms first.

    Parameters
    ----------
    machine : RBM
        A fitted machine.
    shape : (int, int), optional
        Rows and columns of an image; by default a square, or one row if the number of visible
        units is no square.
    n_filters : int, default 64
        Hidden units that are drawn at most.
    """
    filters = of_kind(machine, "machine", RBM, "a fitted RBM").components_
    n_filters = min(positive_int(n_filters, "n_filters"), len(filters))
    order = np.argsort(-np.linalg.norm(filters, axis=1), kind="stable")[:n_filters]
    limit = float(np.abs(filters[order]).max()) or 1.0
    figure, axes = new_figure()
    sheet = _sheet(filters[order], shape)
    image = axes.imshow(sheet, cmap="PuOr", vmin=-limit, vmax=limit, interpolation="nearest")
    axes.set_axis_off()
    axes.set_title(f"couplings of {n_filters} of {len(filters)} hidden units")
    figure.colorbar(image, ax=axes, shrink=0.7, label="coupling")
    return figure


def plot_images(
    rows: ArrayLike, *, shape: Sequence[int] | None = None, n_images: int = 64
) -> Figure:
    """Draw rows as images, such as samples, prototypes or digits; large values are dark.

    Parameters
    ----------
    rows : array-like of shape (n_rows, n_pixels)
        Numbers.
    shape : (int, int), optional
        Rows and columns of an image; by default a square, or one row if the number of pixels is
        no square.
    n_images : int, default 64
        Rows that are drawn at most, from the first on.
    """
    values = real_array(rows, "rows")
    if values.ndim != 2 or not values.size:
        rule = "be rows of pixels, at least one"
        raise ParameterError("rows", rule, got=f"shape {values.shape}")
    figure, axes = new_figure()
    shown = _sheet(values[: positive_int(n_images, "n_images")], shape)
    axes.imshow(shown, cmap="gray_r", interpolation="nearest")
    axes.set_axis_off()
    return figure


def draw_samples(herder: HiddenHerder) -> Figure:
    """Draw samples of a herder, every tenth."""
    return plot_images(herder.sample(640)[::10])


def draw_prototypes(herder: ParametricHerder) -> Figure:
    """Draw the prototypes of a herder."""
    return plot_images(herder.prototypes_)


def _sheet(images: NDArray[Any], shape: Sequence[int] | None) -> NDArray[np.float64]:
    """Return images side by side, with gaps that are not a number."""
    height, width = _image_shape(shape, images.shape[1])
    per_line = math.ceil(math.sqrt(len(images) * height / width))
    n_lines = math.ceil(len(images) / per_line)
    sheet = np.full((n_lines * (height + GAP) - GAP, per_line * (width + GAP) - GAP), np.nan)
    for place, image in enumerate(images):
        top, left = (place // per_line) * (height + GAP), (place % per_line) * (width + GAP)
        sheet[top : top + height, left : left + width] = image.reshape(height, width)
    return sheet


def _image_shape(shape: Any, n_visible: int) -> tuple[int, int]:
    if shape is None:
        side = math.isqrt(n_visible)
        return (side, side) if side * side == n_visible else (1, n_visible)
    found = np.ravel(plain_array(shape, "shape"))
    if found.shape != (2,) or found.dtype.kind not in "iu" or found.prod() != n_visible:
        rule = f"be two numbers whose product is {n_visible}"
        raise ParameterError("shape", rule, shape)
    return int(found[0]), int(found[1])
