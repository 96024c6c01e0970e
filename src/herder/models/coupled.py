"""What all models with pairwise couplings have in common."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder.core.plain import Arrays, Header, read_array, read_texts
from herder.core.state import State
from herder.models.graph import Adjacency, Couplings, adjacency_of, couplings_of_edges, edges_of

if TYPE_CHECKING:
    from herder.models.exact import Exact

__all__ = ["Coupled"]


class Coupled(ABC):
    """A model with couplings and energies: its graph, and what follows from all its states."""

    couplings: Couplings
    offset: float
    names: tuple[str, ...] | None

    @abstractmethod
    def energy(self, x: ArrayLike) -> Any:
        """Return the energy of one state (n_sites,) or of many (n, n_sites)."""

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
        """Return arguments of a model from what `to_state` gave; the model checks them."""
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
