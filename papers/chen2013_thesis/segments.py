"""Superpixels with local models, and the fields that the thesis compares herding with."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder import PatchTables, herd_marginals
from herder.maximise.cut import maximise_by_cut

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Probabilities are kept this far from 0 and 1.
SMALLEST = 1e-6

N_STEPS = 100


class Superpixels(NamedTuple):
    """Probabilities of the labels of superpixels (n, K), pairs, and whether these differ."""

    chances: Floats
    pairs: Indices
    differ: Floats


def herd(given: Superpixels, weight: float) -> tuple[Floats, Floats]:
    """Return averages of labels, and of pairs that differ; rates are 1 and ``weight``.

    A rate of 1 belongs to both cells of two labels, but to one feature of a pair.
    """
    own = PatchTables(np.arange(len(given.chances))[:, None], given.chances)
    both = PatchTables(given.pairs, given.differ, "differ")
    options = {"rates": {"pairs": weight}, "maximiser": "cut"}
    found = herd_marginals({"own": own, "pairs": both}, N_STEPS, **options)
    return found.marginals, 1 - found.tables["pairs"].trace(axis1=1, axis2=2)


def logs(given: Superpixels, weight: float, *, clipped: bool = False) -> Indices:
    """Return the labels of least energy of equation 3.46, or with log odds of no less than 0."""
    differ = np.clip(given.differ, SMALLEST, 1 - SMALLEST)
    cost = np.maximum(np.log((1 - differ) / differ), 0) if clipped else -np.log(differ)
    return _least(
        np.log(np.maximum(given.chances, SMALLEST)), given, np.zeros_like(cost), -cost, weight
    )


def linear(given: Superpixels, weight: float) -> Indices:
    """Return the labels of least energy if it is linear in the probabilities."""
    return _least(given.chances, given, 1 - given.differ, given.differ, weight)


def _least(
    fields: Floats, given: Superpixels, equal: Floats, unequal: Floats, weight: float
) -> Indices:
    same = np.eye(fields.shape[1], dtype=bool)
    tables = np.where(same, equal[:, None, None], unequal[:, None, None])
    return maximise_by_cut(fields, given.pairs, weight * tables, fields.argmax(axis=1))
