r"""Graphs with a table of their own for each site and each edge.

.. math:: S(s) = \sum_i f_i(s_i) + \sum_{e = (a, b)} T_e(s_a, s_b)

is what graph cuts maximise and what belief propagation takes as the logarithm of unnormalised
probabilities; a conditional random field on one input is of this form.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import plain_array
from herder.models.graph import finite_array

__all__ = ["check_ends", "check_labels", "check_tables", "total_score"]


def check_tables(
    fields: ArrayLike, edges: ArrayLike, tables: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.float64]]:
    """Return fields (n, K), edges (m, 2) and tables (m, K, K), checked.

    Row a, column b of a table belong to the first end in state a and the second in state b.
    """
    gains, own = finite_array(fields, "fields"), finite_array(tables, "tables")
    if gains.ndim != 2 or not len(gains) or gains.shape[1] < 2:
        rule = "have a row for each site and 2 columns or more"
        raise ParameterError("fields", rule, got=f"shape {gains.shape}")
    n, k = gains.shape
    pairs = check_ends(edges, n)
    if own.shape != (len(pairs), k, k):
        rule = f"be one of {k} x {k} for each of {len(pairs)} edges"
        raise ParameterError("tables", rule, got=f"shape {own.shape}")
    return gains, pairs, own


def check_ends(edges: ArrayLike, n_sites: int) -> NDArray[np.intp]:
    """Return edges (m, 2) as they are given: in either direction, also several between two."""
    given = plain_array(edges, "edges", "be pairs of site numbers")
    if not given.size:
        return np.empty((0, 2), dtype=np.intp)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise ParameterError("edges", "be pairs of site numbers", got=f"shape {given.shape}")
    pairs = given.astype(np.intp)
    wrong = (pairs < 0).any(axis=1) | (pairs >= n_sites).any(axis=1) | (pairs[:, 0] == pairs[:, 1])
    if wrong.any():
        rule = f"join two sites from 0 to {n_sites - 1}"
        raise ParameterError("edges", rule, tuple(pairs[wrong][0].tolist()))
    return pairs


def check_labels(labels: ArrayLike, n_sites: int, n_states: int, name: str) -> NDArray[np.intp]:
    """Return one state, counted from 0, for each site, as a new array."""
    given = plain_array(labels, name, "be states of the sites")
    if given.shape != (n_sites,) or given.dtype.kind not in "biu":
        rule = f"be a whole number for each of {n_sites} sites"
        raise ParameterError(name, rule, got=f"{given.dtype} of shape {given.shape}")
    found = given.astype(np.intp)
    if found.min() < 0 or found.max() >= n_states:
        wrong = found[(found < 0) | (found >= n_states)][0]
        raise ParameterError(name, f"be states from 0 to {n_states - 1}", wrong)
    return found


def total_score(
    fields: NDArray[np.float64],
    edges: NDArray[np.intp],
    tables: NDArray[np.float64],
    labels: NDArray[Any],
) -> float:
    """Return the sum of fields and tables at one state of all sites."""
    one, other = labels[edges].T
    own = fields[np.arange(len(fields)), labels].sum()
    return float(own + tables[np.arange(len(edges)), one, other].sum())
