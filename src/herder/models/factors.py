r"""Fields of both kinds in one form: a table for each site and one for all edges.

Up to the offset, minus the energy of a state is

.. math:: \sum_i h_i(x_i) + \sum_{(i, j)} w_{ij} T(x_i, x_j),

where :math:`T(a, b)` is the product of two states in a `PairwiseModel` and 1 for equal, 0 for
different states in a `PottsModel`. Exact sums use nothing else of a model.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._validation import of_kind
from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel

__all__ = ["Factors", "Field", "Sums", "check_model", "factors_of"]

Field = PairwiseModel | PottsModel


class Factors(NamedTuple):
    """Tables of a field; states are counted from 0, the lower one."""

    fields: NDArray[np.float64]  # (n, q)
    edges: NDArray[np.intp]  # (m, 2) with i < j
    weights: NDArray[np.float64]  # (m,)
    table: NDArray[np.float64]  # (q, q), symmetric

    @property
    def n_sites(self) -> int:
        """Number of sites."""
        return self.fields.shape[0]

    @property
    def n_states(self) -> int:
        """Number of states of one site."""
        return self.fields.shape[1]


class Sums(NamedTuple):
    """Results of sums over all states."""

    log_partition: float  # without the offset
    marginals: NDArray[np.float64]  # (n, q)
    pair_marginals: NDArray[np.float64]  # (m, q, q)
    probabilities: NDArray[np.float64] | None = None  # (q^n,), site 0 is the lowest digit


def check_model(model: object) -> None:
    """Raise an error unless ``model`` is a field."""
    of_kind(model, "model", (PairwiseModel, PottsModel), "a PairwiseModel or a PottsModel")


def factors_of(model: Field) -> Factors:
    """Return the tables of a model."""
    check_model(model)
    if isinstance(model, PairwiseModel):
        states = np.array(model.states, dtype=np.float64)
        fields, table = np.outer(model.biases, states), np.outer(states, states)
    else:
        fields, table = model.fields, np.eye(model.n_states)
    return Factors(fields, model.edges, model.edge_weights, table)
