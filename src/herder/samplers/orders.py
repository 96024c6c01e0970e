"""Orders in which a sweep visits the sites."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder.models.factors import Field
from herder.models.graph import Adjacency
from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel

__all__ = ["ORDERS", "Field", "check_model", "colour_sites", "scan_order"]

ORDERS = ("sequential", "reversed", "checkerboard")


def check_model(model: object) -> None:
    """Raise a TypeError unless ``model`` can be sampled."""
    if not isinstance(model, PairwiseModel | PottsModel):
        kind = type(model).__name__
        raise ParameterTypeError("model", "be a PairwiseModel or a PottsModel", got=kind)


def scan_order(model: Field, order: str | ArrayLike, held: ArrayLike = ()) -> NDArray[np.intp]:
    """Return the sites in the order of a sweep.

    Parameters
    ----------
    model : PairwiseModel or PottsModel
        What is sampled.
    order : {"sequential", "reversed", "checkerboard"} or array-like of int
        By number; by number from the last; by colour, so that no two neighbours follow each
        other within a colour; or the sites themselves, each at least once.
    held : array-like of int
        Sites that are left out, wherever they are in the order.
    """
    fixed = np.asarray(held, dtype=np.intp)
    path = _whole_order(model, order, fixed)
    return path[~np.isin(path, fixed)] if len(fixed) else path


def _whole_order(model: Field, order: str | ArrayLike, held: NDArray[np.intp]) -> NDArray[np.intp]:
    sites = np.arange(model.n_sites)
    if isinstance(order, str):
        if order == "sequential":
            return sites
        if order == "reversed":
            return sites[::-1].copy()
        if order == "checkerboard":
            return np.argsort(colour_sites(model.adjacency), kind="stable")
        options = ", ".join(repr(name) for name in ORDERS)
        raise ParameterError("order", f"be {options} or an array of sites", order)
    found: Any = np.asarray(order)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise ParameterTypeError(
            "order", "be a row of site numbers", got=f"{found.dtype} {found.shape}"
        )
    if len(found) and not (found.min() >= 0 and found.max() < model.n_sites):
        wrong = found[(found < 0) | (found >= model.n_sites)][0]
        raise ParameterError("order", f"have sites from 0 to {model.n_sites - 1}", wrong)
    missing = np.setdiff1d(np.setdiff1d(sites, held), found)
    if len(missing):
        raise ParameterError("order", "visit every site", got=f"none at site {missing[0]}")
    return found.astype(np.intp)


def colour_sites(adjacency: Adjacency) -> NDArray[np.intp]:
    """Assign to each site the lowest colour that no neighbour before it has."""
    from herder.samplers._orders_jit import fill_colours

    colours = np.full(len(adjacency.indptr) - 1, -1, dtype=np.intp)
    fill_colours(adjacency.indptr, adjacency.indices, colours)
    return colours
