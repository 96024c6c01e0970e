r"""Pairwise models of binary sites: Ising models, Boltzmann machines.

A state x has the energy and the probability

.. math:: E(x) = c - \tfrac{1}{2} x^T W x - b^T x, \qquad P(x) = e^{-E(x)} / Z,

with symmetric couplings W of zero diagonal, biases b and a constant c that shifts all energies
and changes no probability. Sites are 0/1 or -1/+1. With :math:`x = (1 + s) / 2` one is the other:

.. math:: W_s = W / 4, \quad b_s = b / 2 + W 1 / 4, \quad
          c_s = c - 1^T W 1 / 8 - 1^T b / 2,

so that `PairwiseModel.to_states` keeps every energy. Given the other sites, a site is at its
upper state with probability :math:`\sigma(\Delta (b_i + \sum_j W_{ij} x_j))`, where
:math:`\Delta` is 1 for 0/1 and 2 for -1/+1 [hyvarinen2006]_.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from herder._errors import ParameterError
from herder._validation import (
    finite_number,
    generator,
    non_negative_int,
    positive_int,
    positive_number,
)
from herder.core.blas import one_blas_thread
from herder.core.plain import Arrays, Header, read_array
from herder.core.state import State
from herder.core.summary import Summary, Table, counted
from herder.data.states import check_alphabet
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

__all__ = ["PairwiseModel"]


@dataclass(frozen=True, eq=False, init=False, repr=False)
class PairwiseModel(Coupled):
    """Binary sites with pairwise couplings; the mathematics is at the top of the module.

    Parameters
    ----------
    couplings : array-like or SciPy sparse array of shape (n_sites, n_sites)
        Symmetric, zero on the diagonal. Dense stays dense and sparse becomes CSR.
    biases : array-like of shape (n_sites,), optional
        Zero by default.
    states : (0, 1) or (-1, 1)
        The two values of a site; the second is called the upper one.
    offset : float
        Energy that all states have in common.
    names : iterable of str, optional
        Names of the sites.

    Examples
    --------
    >>> from herder import PairwiseModel
    >>> model = PairwiseModel([[0, 1], [1, 0]], [0.5, -0.5], states=(-1, 1))
    >>> model.energy([[1, 1], [1, -1]])
    array([-1.,  0.])
    """

    couplings: Couplings
    biases: NDArray[np.float64]
    states: tuple[int, int]
    offset: float
    names: tuple[str, ...] | None

    _own, _value_type = "biases", np.float64

    def __init__(
        self,
        couplings: Any,
        biases: ArrayLike | None = None,
        states: Sequence[int] = (0, 1),
        *,
        offset: float = 0.0,
        names: Iterable[object] | None = None,
    ) -> None:
        checked = check_couplings(couplings)
        n_sites = size_of(checked)
        field = np.zeros(n_sites) if biases is None else finite_array(biases, "biases")
        if field.shape != (n_sites,):
            rule = f"be one number for each of {n_sites} sites"
            raise ParameterError("biases", rule, field.shape)
        field.setflags(write=False)
        vars(self).update(
            couplings=checked,
            biases=field,
            states=check_alphabet(states),
            offset=finite_number(offset, "offset"),
            names=check_names(names, n_sites),
        )

    def __repr__(self) -> str:
        size = f"{self.n_sites} sites, {len(self.edges)} edges"
        return f"PairwiseModel({size}, states={self.states})"

    def summary(self, *, top: int = 15) -> Summary:
        """Return the ``top`` strongest couplings and biases."""
        top = non_negative_int(top, "top")
        names = self.names or tuple(f"x{i}" for i in range(self.n_sites))
        edges = np.argsort(-np.abs(self.edge_weights), kind="stable")[:top]
        sites = np.argsort(-np.abs(self.biases), kind="stable")[:top]
        pairs = [(self.edge_weights[e], ", ".join(names[i] for i in self.edges[e])) for e in edges]
        tables = [
            Table(("coupling", "sites"), pairs, (".5g", "")),
            Table(("bias", "site"), [(self.biases[i], names[i]) for i in sites], (".5g", "")),
        ]
        size = f"{counted(self.n_sites, 'site')}, {counted(len(self.edges), 'coupling')}"
        return Summary(f"{type(self).__name__}, {size}", tables)

    def energy(self, x: ArrayLike) -> Any:
        """Return the energy of one state (n_sites,) or of many (n, n_sites)."""
        rows = self.codes(x)
        found = np.empty(len(rows))
        for part in row_blocks(*rows.shape):
            values = self._values(rows[part])
            found[part] = -np.einsum("ij,ij->i", self._drive(values) / 2 + self.biases, values)
        found += self.offset
        return float(found[0]) if np.ndim(x) == 1 else found

    def conditional(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return, for each site, the probability of its upper state given all other sites."""
        rows = self.codes(x)
        found = np.empty(rows.shape)
        for part in row_blocks(*rows.shape):
            found[part] = expit(self._gap * (self._drive(self._values(rows[part])) + self.biases))
        return found[0] if np.ndim(x) == 1 else found

    def to_state(self) -> State:
        """Return couplings and biases, and a header that JSON can hold."""
        arrays, header = super().to_state()
        header["model"]["states"] = list(self.states)
        return {"biases": self.biases, **arrays}, header

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Make a model of what `to_state` returned."""
        biases = read_array(arrays, "biases", (None,))
        states, parts = header["model"]["states"], cls._read_parts(arrays, header, len(biases))
        return cls(biases=biases, states=states, **parts)

    def to_states(self, states: Sequence[int]) -> "PairwiseModel":
        """Return the same distribution, and the same energies, on the other alphabet."""
        wanted = check_alphabet(states)
        if wanted == self.states:
            return self
        rows: Any = self.couplings
        total = np.asarray(rows.sum(axis=1)).ravel()
        if wanted == (-1, 1):
            factor, biases = 0.25, self.biases / 2 + total / 4
            shift = total.sum() / 8 + self.biases.sum() / 2
        else:
            factor, biases = 4.0, 2 * (self.biases - total)
            shift = total.sum() / 2 - self.biases.sum()
        offset = self.offset - shift
        return PairwiseModel(rows * factor, biases, wanted, offset=offset, names=self.names)

    @classmethod
    def grid(
        cls,
        shape: int | Sequence[int],
        coupling: float = 1.0,
        field: ArrayLike = 0.0,
        *,
        periodic: bool = False,
        temperature: float = 1.0,
        states: Sequence[int] = (-1, 1),
    ) -> Self:
        """Make an Ising grid: neighbours along every axis are coupled alike.

        Parameters
        ----------
        shape : int or sequence of int
            Sites along each axis; they are numbered in C order.
        coupling : float
            Positive: neighbours like to be equal.
        field : float or array-like of that shape
            Bias of the sites.
        periodic : bool
            Whether the last site of an axis is a neighbour of the first.
        temperature : float
            Divides coupling and field; 2 / log(1 + sqrt(2)) = 2.269... is critical in two
            dimensions.
        states : (0, 1) or (-1, 1)
            The two values of a site.
        """
        sizes = check_shape(shape)
        edges = grid_edges(sizes, periodic=periodic)
        n_sites = math.prod(sizes)
        biases = spread_field(field, sizes).ravel()
        scale = 1 / positive_number(temperature, "temperature")
        rows = couplings_of_edges(n_sites, edges, finite_number(coupling, "coupling") * scale)
        return cls(rows, biases * scale, states)

    @classmethod
    def random(
        cls,
        n_sites: int,
        *,
        coupling_sd: float = 0.3,
        bias_sd: float = 0.3,
        graph: str | ArrayLike = "complete",
        states: Sequence[int] = (-1, 1),
        random_state: int | np.random.Generator | None = 0,
    ) -> Self:
        """Make a model with normal couplings and biases of zero mean.

        Parameters
        ----------
        n_sites : int
            Number of sites.
        coupling_sd, bias_sd : float
            Standard deviations.
        graph : {"complete", "grid", "loop", "empty"} or (m, 2) array of edges
            Which sites are coupled; a grid is square.
        states : (0, 1) or (-1, 1)
            The two values of a site.
        random_state : int, Generator or None
            Source of the parameters.
        """
        n_sites = positive_int(n_sites, "n_sites")
        rng = generator(random_state)
        rows = random_couplings(n_sites, graph, coupling_sd, rng)
        return cls(rows, rng.normal(size=n_sites) * finite_number(bias_sd, "bias_sd"), states)

    @classmethod
    def from_edges(
        cls,
        n_sites: int,
        edges: ArrayLike,
        weights: ArrayLike,
        biases: ArrayLike | None = None,
        states: Sequence[int] = (0, 1),
        *,
        offset: float = 0.0,
        names: Iterable[object] | None = None,
    ) -> Self:
        """Make a sparse model from a list of edges and one weight for each, or for all."""
        rows = couplings_of_edges(positive_int(n_sites, "n_sites"), edges, weights)
        return cls(rows, biases, states, offset=offset, names=names)

    @classmethod
    def from_dimod(cls, quadratic: Any) -> "PairwiseModel":
        """Make the model whose energies are those of a dimod BinaryQuadraticModel."""
        from herder.models.conversion import from_dimod

        return from_dimod(quadratic)

    def to_dimod(self) -> Any:
        """Return a dimod BinaryQuadraticModel with the same energies."""
        from herder.models.conversion import to_dimod

        return to_dimod(self)

    @classmethod
    def from_networkx(
        cls, graph: Any, states: Sequence[int] | None = None, *, weight: str = "weight"
    ) -> "PairwiseModel":
        """Make a model from a graph: edges have a ``weight``, nodes may have a ``bias``.

        ``states`` are by default those of a graph that `to_networkx` made, else (0, 1); ``weight``
        is the attribute of the edges that holds their couplings.
        """
        from herder.models.conversion import from_networkx

        return from_networkx(graph, states, weight=weight)

    def to_networkx(self) -> Any:
        """Return a networkx graph with the weights of edges and the biases of nodes."""
        from herder.models.conversion import to_networkx

        return to_networkx(self)

    @property
    def _gap(self) -> int:
        return self.states[1] - self.states[0]

    def _encode(self, rows: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        upper = rows == self.states[1]
        return upper, ~upper & (rows != self.states[0])

    def _values(self, codes: NDArray[np.uint8]) -> NDArray[np.float64]:
        return self.states[0] + self._gap * codes.astype(np.float64)

    def _drive(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of couplings times neighbours, for rows of values."""
        rows: Any = self.couplings
        if self.is_sparse:
            return (rows @ values.T).T
        with one_blas_thread():  # the same bits for any number of threads
            return values @ rows
