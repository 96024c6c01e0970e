"""Models and tables of the benchmark of random fields."""

import os
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from herder import PairwiseModel, datasets
from papers.welling2009_herding import data

__all__ = ["CRITICAL", "critical_torus", "random_grid", "root_mean_square", "tables"]

#: Onsager's temperature of the square lattice.
CRITICAL = 2 / np.log(1 + np.sqrt(2))


def random_grid(coupling_sd: float, seed: int, side: int = 10) -> PairwiseModel:
    """Give a square grid with normal couplings and with biases of standard deviation 0.3."""
    return PairwiseModel.random(
        side**2, graph="grid", coupling_sd=coupling_sd, bias_sd=0.3, random_state=seed
    )


def critical_torus(side: int) -> PairwiseModel:
    """Give the Ising model on a square torus at its critical temperature."""
    return PairwiseModel.grid((side, side), periodic=True, temperature=CRITICAL)


def tables() -> Mapping[str, NDArray[np.uint8]]:
    """Return the 0/1 tables: the papers' where HERDER_DATA names them, else bundled digits."""
    if "HERDER_DATA" not in os.environ:
        digits = np.asarray(datasets.load_digits_binary().X, dtype=np.uint8)
        varies = digits.min(axis=0) < digits.max(axis=0)  # a regression needs two classes
        return {"digits 8x8, columns that vary": digits[:, varies]}
    return {"USPS 3/5 8x8": data.digits()[0], "News w100": data.news()}


def root_mean_square(errors: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))
