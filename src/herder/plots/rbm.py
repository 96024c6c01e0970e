"""Pictures of restricted Boltzmann machines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from herder._errors import ParameterError
from herder._validation import of_kind, plain_array, positive_int
from herder.learn.rbm import RBM
from herder.plots._style import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_filters"]

#: Width of the gap between two filters, in pixels.
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
    height, width = _image_shape(shape, filters.shape[1])
    n_filters = min(positive_int(n_filters, "n_filters"), len(filters))
    order = np.argsort(-np.linalg.norm(filters, axis=1), kind="stable")[:n_filters]
    per_line = math.ceil(math.sqrt(n_filters * height / width))
    n_lines = math.ceil(n_filters / per_line)
    sheet = np.full((n_lines * (height + GAP) - GAP, per_line * (width + GAP) - GAP), np.nan)
    for place, unit in enumerate(order):
        top, left = (place // per_line) * (height + GAP), (place % per_line) * (width + GAP)
        sheet[top : top + height, left : left + width] = filters[unit].reshape(height, width)
    limit = float(np.abs(filters[order]).max()) or 1.0
    figure, axes = new_figure()
    image = axes.imshow(sheet, cmap="PuOr", vmin=-limit, vmax=limit, interpolation="nearest")
    axes.set_axis_off()
    axes.set_title(f"couplings of {n_filters} of {len(filters)} hidden units")
    figure.colorbar(image, ax=axes, shrink=0.7, label="coupling")
    return figure


def _image_shape(shape: Any, n_visible: int) -> tuple[int, int]:
    if shape is None:
        side = math.isqrt(n_visible)
        return (side, side) if side * side == n_visible else (1, n_visible)
    found = np.ravel(plain_array(shape, "shape"))
    if found.shape != (2,) or found.dtype.kind not in "iu" or found.prod() != n_visible:
        rule = f"be two numbers whose product is {n_visible}"
        raise ParameterError("shape", rule, shape)
    return int(found[0]), int(found[1])
