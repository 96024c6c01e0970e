"""Orders in which a sweep visits the sites."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import plain_array
from herder.models.factors import Field, check_model
from herder.models.graph import Adjacency

__all__ = ["ORDERS", "Field", "check_model", "colour_sites", "scan_order"]

ORDERS = ("sequential", "reversed", "checkerboard")


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
    check_model(model)
    sites, fixed = np.arange(model.n_sites), plain_array(held, "held", "be site numbers")
    if fixed.size and (fixed.ndim != 1 or fixed.dtype.kind not in "iu"):
        raise ParameterTypeError("held", "be site numbers", got=f"{fixed.dtype} {fixed.shape}")
    if not isinstance(order, str):
        path = _check_path(order, model.n_sites, np.setdiff1d(sites, fixed))
    elif order == "checkerboard":
        path = np.argsort(colour_sites(model.adjacency), kind="stable")
    elif order in ORDERS:
        path = sites if order == "sequential" else sites[::-1]
    else:
        options = ", ".join(map(repr, ORDERS))
        raise ParameterError("order", f"be {options} or an array of sites", order)
    return path[~np.isin(path, fixed)]


def _check_path(order: ArrayLike, n_sites: int, needed: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return an order that is given as numbers of sites; it must visit those that are needed."""
    found = plain_array(order, "order", "be a row of site numbers")
    if found.ndim != 1 or found.dtype.kind not in "iu":
        got = f"{found.dtype} {found.shape}"
        raise ParameterTypeError("order", "be a row of site numbers", got=got)
    wrong = found[(found < 0) | (found >= n_sites)]
    if len(wrong):
        raise ParameterError("order", f"have sites from 0 to {n_sites - 1}", wrong[0])
    missing = np.setdiff1d(needed, found)
    if len(missing):
        raise ParameterError("order", "visit every site", got=f"none at site {missing[0]}")
    return found.astype(np.intp)


def colour_sites(adjacency: Adjacency) -> NDArray[np.intp]:
    """Assign to each site the lowest colour that no neighbour before it has."""
    from herder.samplers._orders_jit import fill_colours

    colours = np.full(len(adjacency.indptr) - 1, -1, dtype=np.intp)
    fill_colours(adjacency.indptr, adjacency.indices, colours)
    return colours
