r"""Potts models: sites with q states, neighbours that like, or dislike, to be equal.

.. math:: E(x) = c - \sum_{i < j} J_{ij} [x_i = x_j] - \sum_i h_i(x_i), \qquad
          P(x) = e^{-E(x)} / Z.

Two states make an Ising model: :math:`J [x_i = x_j]` is :math:`(J / 2) s_i s_j` but for a
constant.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from herder._errors import ParameterError
from herder._validation import finite_number, generator, positive_int, positive_number
from herder.core.blas import one_blas_thread
from herder.core.plain import Arrays, Header, read_array
from herder.core.state import State
from herder.models.coupled import Coupled
from herder.models.graph import (
    Couplings,
    check_couplings,
    check_names,
    check_shape,
    couplings_of_edges,
    finite_array,
    grid_edges,
    random_couplings,
    row_blocks,
    size_of,
    spread_field,
)

__all__ = ["PottsModel"]

#: States are kept as int8.
MAX_STATES = 127


@dataclass(frozen=True, eq=False, init=False, repr=False)
class PottsModel(Coupled):
    """Sites with states 0 to q - 1; the mathematics is at the top of the module.

    Parameters
    ----------
    couplings : array-like or SciPy sparse array of shape (n_sites, n_sites)
        Symmetric, zero on the diagonal: what two sites gain by being equal.
    fields : array-like of shape (n_sites, n_states)
        What a site gains by each state.
    offset : float
        Energy that all states have in common.
    names : iterable of str, optional
        Names of the sites.

    Examples
    --------
    >>> from herder import PottsModel
    >>> model = PottsModel([[0, 1], [1, 0]], [[0.0, 0.5, 1.0], [0.0, 0.0, 0.0]])
    >>> model.energy([[2, 2], [1, 2]])
    array([-2. , -0.5])
    """

    couplings: Couplings
    fields: NDArray[np.float64]
    offset: float
    names: tuple[str, ...] | None

    _own, _value_type = "fields", np.intp

    def __init__(
        self,
        couplings: Any,
        fields: ArrayLike,
        *,
        offset: float = 0.0,
        names: Iterable[object] | None = None,
    ) -> None:
        checked = check_couplings(couplings)
        n_sites = size_of(checked)
        table = finite_array(fields, "fields")
        if table.ndim != 2 or len(table) != n_sites or not 2 <= table.shape[1] <= MAX_STATES:
            rule = f"have a row for each of {n_sites} sites and 2 to {MAX_STATES} columns"
            raise ParameterError("fields", rule, got=f"shape {table.shape}")
        table.setflags(write=False)
        vars(self).update(
            couplings=checked,
            fields=table,
            offset=finite_number(offset, "offset"),
            names=check_names(names, n_sites),
        )

    def __repr__(self) -> str:
        return f"PottsModel({self.n_sites} sites, {len(self.edges)} edges, {self.n_states} states)"

    @property
    def states(self) -> tuple[int, ...]:
        """The states of a site."""
        return tuple(range(self.fields.shape[1]))

    @one_blas_thread()
    def energy(self, x: ArrayLike) -> Any:
        """Return the energy of one state (n_sites,) or of many (n, n_sites)."""
        rows = self.codes(x)
        found = np.full(len(rows), self.offset)
        sites = np.arange(self.n_sites)
        i, j = self.edges.T
        for part in row_blocks(len(rows), max(self.n_sites, len(self.edges))):
            block = rows[part]
            found[part] -= self.fields[sites, block].sum(axis=1)
            found[part] -= (block[:, i] == block[:, j]) @ self.edge_weights
        return float(found[0]) if np.ndim(x) == 1 else found

    def conditional(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return, for each site, the probabilities of its states given all other sites."""
        rows = self.codes(x)
        found = np.empty((*rows.shape, self.n_states))
        couplings: Any = self.couplings
        for part in row_blocks(len(rows), self.n_sites * self.n_states):
            for state in range(self.n_states):
                with one_blas_thread():  # the same bits for any number of threads
                    found[part, :, state] = (couplings @ (rows[part] == state).T.astype(float)).T
            found[part] = softmax(found[part] + self.fields, axis=-1)
        return found[0] if np.ndim(x) == 1 else found

    def to_state(self) -> State:
        """Return couplings and fields, and a header that JSON can hold."""
        arrays, header = super().to_state()
        return {"fields": self.fields, **arrays}, header

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Make a model of what `to_state` returned."""
        fields = read_array(arrays, "fields", (None, None))
        return cls(fields=fields, **cls._read_parts(arrays, header, len(fields)))

    def _encode(self, rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        return rows, ~((rows >= 0) & (rows < self.n_states)) | (rows != np.floor(rows))

    @classmethod
    def grid(
        cls,
        shape: int | Sequence[int],
        n_states: int = 3,
        coupling: float = 1.0,
        field: ArrayLike | None = None,
        *,
        periodic: bool = False,
        temperature: float = 1.0,
    ) -> Self:
        """Make a grid of sites with q states: neighbours along every axis are coupled alike.

        Parameters
        ----------
        shape : int or sequence of int
            Sites along each axis; they are numbered in C order.
        n_states : int
            States of a site.
        coupling : float
            Positive: neighbours like to be equal.
        field : array-like of shape (n_states,) or (n_sites, n_states), optional
            What sites gain by each state; nothing by default.
        periodic : bool
            Whether the last site of an axis is a neighbour of the first.
        temperature : float
            Divides coupling and field; 1 / log(1 + sqrt(q)) is critical in two dimensions.
        """
        sizes = check_shape(shape)
        edges = grid_edges(sizes, periodic=periodic)
        n_sites = math.prod(sizes)
        size = (n_sites, positive_int(n_states, "n_states"))
        gains = spread_field(0.0 if field is None else field, size)
        scale = 1 / positive_number(temperature, "temperature")
        rows = couplings_of_edges(n_sites, edges, finite_number(coupling, "coupling") * scale)
        return cls(rows, gains * scale)

    @classmethod
    def random(
        cls,
        n_sites: int,
        n_states: int = 3,
        *,
        coupling_sd: float = 0.3,
        field_sd: float = 0.3,
        graph: str | ArrayLike = "complete",
        random_state: int | np.random.Generator | None = 0,
    ) -> Self:
        """Make a model with normal couplings and fields of zero mean.

        Parameters
        ----------
        n_sites, n_states : int
            Number of sites, and of states of each.
        coupling_sd, field_sd : float
            Standard deviations.
        graph : {"complete", "grid", "loop", "empty"} or (m, 2) array of edges
            Which sites are coupled; a grid is square.
        random_state : int, Generator or None
            Source of the parameters.
        """
        n_sites = positive_int(n_sites, "n_sites")
        rng = generator(random_state)
        rows = random_couplings(n_sites, graph, coupling_sd, rng)
        size = (n_sites, positive_int(n_states, "n_states"))
        return cls(rows, rng.normal(size=size) * finite_number(field_sd, "field_sd"))
