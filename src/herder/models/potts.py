r"""Potts models: sites with q states, neighbours that like, or dislike, to be equal.

.. math:: E(x) = c - \sum_{i < j} J_{ij} [x_i = x_j] - \sum_i h_i(x_i), \qquad
          P(x) = e^{-E(x)} / Z.

Two states make an Ising model: :math:`J [x_i = x_j]` is :math:`(J / 2) s_i s_j` but for a
constant.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import finite_number, generator, positive_int, positive_number
from herder.core.blas import one_blas_thread
from herder.core.plain import Arrays, Header, read_array
from herder.core.state import State
from herder.models.coupled import Coupled
from herder.models.graph import (
    Couplings,
    check_couplings,
    check_names,
    couplings_of_edges,
    finite_array,
    graph_edges,
    grid_edges,
    read_evidence,
    row_blocks,
    size_of,
    split_couplings,
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
            raise ParameterError(
                "fields",
                f"have a row for each of {n_sites} sites and 2 to {MAX_STATES} columns",
                got=f"shape {table.shape}",
            )
        table.setflags(write=False)
        parts = {
            "couplings": checked,
            "fields": table,
            "offset": finite_number(offset, "offset"),
            "names": check_names(names, n_sites),
        }
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"PottsModel({self.n_sites} sites, {len(self.edges)} edges, {self.n_states} states)"

    @property
    def n_sites(self) -> int:
        """Number of sites."""
        return self.fields.shape[0]

    @property
    def n_states(self) -> int:
        """Number of states of one site."""
        return self.fields.shape[1]

    @property
    def states(self) -> tuple[int, ...]:
        """The states of a site."""
        return tuple(range(self.n_states))

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
        """Give, for each site, the probabilities of its states given all other sites."""
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
        """Make a model of what `to_state` gave."""
        fields = read_array(arrays, "fields", (None, None))
        return cls(fields=fields, **cls._read_parts(arrays, header, len(fields)))

    def at_temperature(self, temperature: float) -> "PottsModel":
        """Return the model with all energies divided by ``temperature``."""
        scale = 1 / positive_number(temperature, "temperature")
        rows: Any = self.couplings
        offset = self.offset * scale
        return PottsModel(rows * scale, self.fields * scale, offset=offset, names=self.names)

    def given(self, evidence: Mapping[Any, Any]) -> tuple["PottsModel", NDArray[np.intp]]:
        """Return the model of the other sites once some are known, and which sites these are.

        Energies are those of the whole state.

        Parameters
        ----------
        evidence : mapping
            Sites, by number or name, to their states.
        """
        held, values = self.read_evidence(evidence)
        free = np.setdiff1d(np.arange(self.n_sites), held)
        if not len(free):
            raise ParameterError("evidence", "leave a site free", got="all sites")
        among, across, fixed = split_couplings(self.couplings, free, held)
        known = np.zeros((len(held), self.n_states))
        known[np.arange(len(held)), values] = 1
        offset = self.offset - float(np.sum((fixed @ known / 2 + self.fields[held]) * known))
        names = None if self.names is None else [self.names[site] for site in free]
        fields = self.fields[free] + across @ known
        return PottsModel(among, fields, offset=offset, names=names), free

    def read_evidence(
        self, evidence: Mapping[Any, Any] | None
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the sites of evidence and their states, checked."""
        held, values = read_evidence(evidence, self.n_sites, self.names)
        for site, value in zip(held, values, strict=True):
            if isinstance(value, str) or value not in self.states:
                raise ParameterError(
                    "evidence",
                    f"be a state from 0 to {self.n_states - 1}",
                    got=f"{value!r} at site {site}",
                )
        return held, np.array(values, dtype=np.intp)

    def codes(self, x: ArrayLike, name: str = "x") -> NDArray[np.uint8]:
        """Return states as rows of whole numbers from 0, checked."""
        rows = np.atleast_2d(np.asarray(x))
        if rows.ndim != 2 or rows.shape[1] != self.n_sites:
            raise ParameterError(
                name, f"have {self.n_sites} sites in each row", got=f"shape {np.shape(x)}"
            )
        if rows.dtype.kind not in "biuf":
            raise ParameterTypeError(name, "be numbers", got=str(rows.dtype))
        wrong = ~((rows >= 0) & (rows < self.n_states)) | (rows != np.floor(rows))
        if wrong.any():
            raise ParameterError(name, f"be states from 0 to {self.n_states - 1}", rows[wrong][0])
        return rows.astype(np.uint8)

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
        edges = grid_edges(shape, periodic=periodic)
        n_sites = math.prod(np.atleast_1d(shape).tolist())
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
            Where the parameters come from.
        """
        n_sites = positive_int(n_sites, "n_sites")
        rng = generator(random_state)
        edges = graph_edges(graph, n_sites)
        rows: Any = couplings_of_edges(
            n_sites, edges, rng.normal(size=len(edges)) * finite_number(coupling_sd, "coupling_sd")
        )
        if isinstance(graph, str) and graph == "complete":
            rows = rows.toarray()
        size = (n_sites, positive_int(n_states, "n_states"))
        return cls(rows, rng.normal(size=size) * finite_number(field_sd, "field_sd"))
