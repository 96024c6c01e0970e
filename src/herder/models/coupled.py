"""What all models with pairwise couplings have in common."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import plain_array, positive_number
from herder.core.blas import one_blas_thread
from herder.core.plain import Arrays, Header, read_array, read_texts
from herder.core.state import State
from herder.models.graph import (
    Adjacency,
    Couplings,
    adjacency_of,
    couplings_of_edges,
    edges_of,
    read_evidence,
    size_of,
    split_couplings,
)

if TYPE_CHECKING:
    from herder.models.exact import Exact

__all__ = ["Coupled"]


class Coupled(ABC):
    """A model with couplings and energies: its graph, and what follows from all its states."""

    couplings: Couplings
    states: Any
    offset: float
    names: tuple[str, ...] | None

    #: Name of the array of what sites gain by their own states, and the type of evidence.
    _own: ClassVar[str]
    _value_type: ClassVar[type]

    @abstractmethod
    def energy(self, x: ArrayLike) -> Any:
        """Return the energy of one state (n_sites,) or of many (n, n_sites)."""

    @abstractmethod
    def _encode(self, rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return codes of states from 0, and which entries are no states."""

    @property
    def n_sites(self) -> int:
        """Number of sites."""
        return size_of(self.couplings)

    @property
    def n_states(self) -> int:
        """Number of states of one site."""
        return len(self.states)

    @property
    def is_sparse(self) -> bool:
        """Whether the couplings are kept as CSR."""
        return not isinstance(self.couplings, np.ndarray)

    @property
    def edges(self) -> NDArray[np.intp]:
        """Pairs (i, j) with i < j that are coupled, of shape (n_edges, 2), in row order."""
        return self._listed[0]

    @property
    def edge_weights(self) -> NDArray[np.float64]:
        """Couplings of the ``edges``."""
        return self._listed[1]

    @cached_property
    def adjacency(self) -> Adjacency:
        """Neighbours of all sites, and the couplings to them, as CSR."""
        return adjacency_of(self.couplings)

    def codes(self, x: ArrayLike, name: str = "x") -> NDArray[np.uint8]:
        """Return states as rows of codes from 0, the lowest state, checked."""
        rows = np.atleast_2d(plain_array(x, name, "be numbers"))
        if rows.ndim != 2 or rows.shape[1] != self.n_sites:
            rule = f"have {self.n_sites} sites in each row"
            raise ParameterError(name, rule, got=f"shape {rows.shape}")
        if rows.dtype.kind not in "biuf":
            raise ParameterTypeError(name, "be numbers", got=str(rows.dtype))
        codes, wrong = self._encode(rows)
        if wrong.any():
            raise ParameterError(name, self._rule, rows[wrong][0])
        return codes.astype(np.uint8)

    def at_temperature(self, temperature: float) -> Self:
        """Return the model with all energies divided by ``temperature``."""
        scale = 1 / positive_number(temperature, "temperature")
        model: Any = self
        scaled = {part: getattr(self, part) * scale for part in ("couplings", self._own, "offset")}
        return replace(model, **scaled)

    @one_blas_thread()
    def given(self, evidence: Mapping[Any, Any]) -> tuple[Self, NDArray[np.intp]]:
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
        own: NDArray[np.float64] = getattr(self, self._own)
        known = values if own.ndim == 1 else np.eye(own.shape[1])[values]
        parts: Any = {"couplings": among, self._own: own[free] + across @ known}
        offset = self.offset - float(np.vdot(fixed @ known / 2 + own[held], known))
        names = None if self.names is None else [self.names[site] for site in free]
        model: Any = self
        return replace(model, offset=offset, names=names, **parts), free

    def read_evidence(
        self, evidence: Mapping[Any, Any] | None
    ) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Return the sites of evidence and their states, checked."""
        held, values = read_evidence(evidence, self.n_sites, self.names)
        for site, value in zip(held, values, strict=True):
            if isinstance(value, str) or value not in self.states:
                raise ParameterError("evidence", self._rule, got=f"{value!r} at site {site}")
        return held, np.array(values, dtype=self._value_type)

    @property
    def _rule(self) -> str:
        low, *between, high = self.states
        return f"be a state from {low} to {high}" if between else f"be {low} or {high}"

    def to_state(self) -> State:
        """Return couplings, as a matrix or a list of edges, and the facts of the model."""
        if self.is_sparse:
            arrays = {"edges": self.edges.astype(np.int64), "edge_weights": self.edge_weights}
        else:
            arrays = {"couplings": np.asarray(self.couplings)}
        names = None if self.names is None else list(self.names)
        return arrays, {"model": {"offset": self.offset, "names": names}}

    @staticmethod
    def _read_parts(arrays: Arrays, header: Header, n_sites: int) -> dict[str, Any]:
        """Return arguments of a model from what `to_state` returned; the model checks them."""
        facts = header["model"]
        if "couplings" in arrays:
            couplings: Any = read_array(arrays, "couplings", (None, None))
        else:
            weights = read_array(arrays, "edge_weights", (None,))
            couplings = couplings_of_edges(n_sites, arrays["edges"], weights)
        names = None if facts["names"] is None else read_texts(facts["names"], "names")
        return {"couplings": couplings, "offset": facts["offset"], "names": names}

    def exact(self, *, method: str = "auto") -> "Exact":
        """Return the partition function and all marginals, exactly.

        Parameters
        ----------
        method : {"auto", "enumerate", "transfer"}
            Over all states, up to 2^25 of them; or site by site, for chains, rings and narrow
            grids of any length.
        """
        from herder.models.exact import exact_field

        model: Any = self
        return exact_field(model, method)

    def log_prob(self, x: ArrayLike) -> Any:
        """Return the logarithm of the probability of states, from the exact partition function."""
        return -self.energy(x) - self._log_partition

    @cached_property
    def _listed(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        return edges_of(self.couplings)

    @cached_property
    def _log_partition(self) -> float:
        return self.exact().log_partition
