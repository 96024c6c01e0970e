r"""Restricted Boltzmann machines: visible and hidden sites, with couplings between the two only.

.. math:: E(v, h) = - b^T v - c^T h - v^T W h, \qquad P(v, h) = e^{-E(v, h)} / Z .

Sites are 0/1 or -1/+1. Given the visible sites the hidden ones are independent, and the reverse:

.. math:: P(h_k = \text{upper} \mid v) = \sigma(\Delta (c_k + \sum_j v_j W_{jk})),

where :math:`\Delta` is 1 for 0/1 and 2 for -1/+1. Summed over the hidden sites, a visible state
has the free energy :math:`F(v) = -b^T v - \sum_k \log \sum_h \exp(h (c_k + (W^T v)_k))`, and
:math:`P(v) = e^{-F(v)} / Z` [hinton2002]_. The same sum over the other side makes Z exact when
either side has few sites.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logsumexp

from herder._errors import ParameterError
from herder.core.blas import one_blas_thread
from herder.core.plain import Arrays, Header, read_array
from herder.core.state import State
from herder.core.summary import Fact, Facts, Summarised, Summary, counted
from herder.data.states import check_alphabet
from herder.models.graph import finite_array
from herder.models.pairwise import PairwiseModel

__all__ = ["RBMModel"]

#: Sites of the smaller side up to which the partition function is summed: a million terms.
EXACT_SITES = 20

#: Numbers that are held at a time while states are enumerated.
BLOCK = 2**22


@dataclass(frozen=True, eq=False, init=False, repr=False)
class RBMModel(Summarised):
    """Visible and hidden binary sites; the mathematics is at the top of the module.

    Parameters
    ----------
    couplings : array-like of shape (n_visible, n_hidden)
        Between visible and hidden sites.
    visible_biases : array-like of shape (n_visible,), optional
        Zero by default.
    hidden_biases : array-like of shape (n_hidden,), optional
        Zero by default.
    states : (0, 1) or (-1, 1)
        The two values of a site; the second is called the upper one.

    Examples
    --------
    >>> from herder import RBMModel
    >>> model = RBMModel([[1.0], [-1.0]], states=(-1, 1))
    >>> model.free_energy([[1, 1], [1, -1]]).round(3)
    array([-0.693, -2.018])
    """

    couplings: NDArray[np.float64]
    visible_biases: NDArray[np.float64]
    hidden_biases: NDArray[np.float64]
    states: tuple[int, int]

    def __init__(
        self,
        couplings: ArrayLike,
        visible_biases: ArrayLike | None = None,
        hidden_biases: ArrayLike | None = None,
        states: Sequence[int] = (0, 1),
    ) -> None:
        table = finite_array(couplings, "couplings")
        if table.ndim != 2 or 0 in table.shape:
            rule = "be a table of visible by hidden sites, at least one of each"
            raise ParameterError("couplings", rule, got=f"shape {table.shape}")
        given = {"visible_biases": visible_biases, "hidden_biases": hidden_biases}
        for (name, biases), n_sites in zip(given.items(), table.shape, strict=True):
            checked = np.zeros(n_sites) if biases is None else finite_array(biases, name)
            if checked.shape != (n_sites,):
                rule = f"be one number for each of {n_sites} sites"
                raise ParameterError(name, rule, got=f"shape {checked.shape}")
            checked.setflags(write=False)
            vars(self)[name] = checked
        table.setflags(write=False)
        vars(self).update(couplings=table, states=check_alphabet(states))

    def __repr__(self) -> str:
        visible, hidden = self.couplings.shape
        return f"RBMModel({visible} visible, {hidden} hidden, states={self.states})"

    @property
    def n_visible(self) -> int:
        """Number of visible sites."""
        return self.couplings.shape[0]

    @property
    def n_hidden(self) -> int:
        """Number of hidden sites."""
        return self.couplings.shape[1]

    def summary(self) -> Summary:
        """Return the sizes of the model and of its parameters."""
        parts = {
            "couplings": self.couplings,
            "visible biases": self.visible_biases,
            "hidden biases": self.hidden_biases,
        }
        facts = [
            Fact(name, float(np.sqrt(np.mean(part**2))), ".3g", "root mean square")
            for name, part in parts.items()
        ]
        sizes = (
            f"{counted(self.n_visible, 'visible site')}, {counted(self.n_hidden, 'hidden site')}"
        )
        return Summary(
            f"RBM, {sizes}, states {self.states[0]} and {self.states[1]}", [Facts(facts)]
        )

    def energy(self, visible: ArrayLike, hidden: ArrayLike) -> NDArray[np.float64]:
        """Return the energies of pairs of states, (n, n_visible) and (n, n_hidden)."""
        v, h = self._rows(visible, "visible"), self._rows(hidden, "hidden")
        if len(v) != len(h):
            raise ParameterError("hidden", f"have {len(v)} rows, as visible", len(h))
        drive = self._product(v, self.couplings)
        return -(v @ self.visible_biases) - np.einsum("ij,ij->i", drive + self.hidden_biases, h)

    def free_energy(self, visible: ArrayLike) -> NDArray[np.float64]:
        """Return the free energies of visible states: -log of their probability times Z."""
        v = self._rows(visible, "visible")
        field = self._product(v, self.couplings) + self.hidden_biases
        return -(v @ self.visible_biases) - self._log_sums(field).sum(axis=1)

    def hidden_probabilities(self, visible: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of the upper state of each hidden site, given visible states."""
        v = self._rows(visible, "visible")
        return expit(self._gap * (self._product(v, self.couplings) + self.hidden_biases))

    def visible_probabilities(self, hidden: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of the upper state of each visible site, given hidden states."""
        h = self._rows(hidden, "hidden")
        return expit(self._gap * (self._product(h, self.couplings.T) + self.visible_biases))

    def exact_log_partition(self) -> float:
        """Return log Z by a sum over all states of the smaller side, of up to 20 sites."""
        n_sites = min(self.couplings.shape)
        if n_sites > EXACT_SITES:
            rule = f"have a side of at most {EXACT_SITES} sites to be summed exactly"
            raise ParameterError("model", rule, got=f"{self.n_visible} and {self.n_hidden}")
        table, own, other = self.couplings, self.visible_biases, self.hidden_biases
        if n_sites < self.n_visible:
            table, own, other = table.T, other, own
        size = max(1, BLOCK // table.shape[1])
        terms = []
        for start in range(0, 2**n_sites, size):
            codes = np.arange(start, min(start + size, 2**n_sites))[:, None] >> np.arange(n_sites)
            rows = self.states[0] + self._gap * (codes & 1).astype(np.float64)
            field = self._product(rows, table) + other
            terms.append(logsumexp(rows @ own + self._log_sums(field).sum(axis=1)))
        return float(np.asarray(logsumexp(terms)))

    def to_pairwise(self) -> PairwiseModel:
        """Return the pairwise model over all sites, visible ones first."""
        n = self.n_visible
        couplings = np.zeros((n + self.n_hidden,) * 2)
        couplings[:n, n:], couplings[n:, :n] = self.couplings, self.couplings.T
        biases = np.concatenate([self.visible_biases, self.hidden_biases])
        return PairwiseModel(couplings, biases, self.states)

    def to_states(self, states: Sequence[int]) -> "RBMModel":
        """Return the same distribution on the other alphabet."""
        wanted = check_alphabet(states)
        if wanted == self.states:
            return self
        W, b, c = self.couplings, self.visible_biases, self.hidden_biases
        if wanted == (-1, 1):
            return RBMModel(W / 4, b / 2 + W.sum(1) / 4, c / 2 + W.sum(0) / 4, wanted)
        return RBMModel(4 * W, 2 * (b - W.sum(1)), 2 * (c - W.sum(0)), wanted)

    def to_state(self) -> State:
        """Return the parameters, and a header that JSON can hold."""
        names = ("couplings", "visible_biases", "hidden_biases")
        return {name: getattr(self, name) for name in names}, {"states": list(self.states)}

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Make a model of what `to_state` returned."""
        couplings = read_array(arrays, "couplings", (None, None))
        visible = read_array(arrays, "visible_biases", (len(couplings),))
        hidden = read_array(arrays, "hidden_biases", (couplings.shape[1],))
        return cls(couplings, visible, hidden, header["states"])

    @property
    def _gap(self) -> int:
        return self.states[1] - self.states[0]

    def _rows(self, rows: Any, side: str) -> NDArray[np.float64]:
        """Return states of one side, of shape (n, n_sites); a single state is one row."""
        found = np.atleast_2d(finite_array(rows, side))
        n_sites = self.n_visible if side == "visible" else self.n_hidden
        if found.ndim != 2 or found.shape[1] != n_sites:
            raise ParameterError(side, f"have {n_sites} columns", got=f"shape {found.shape}")
        wrong = found[(found != self.states[0]) & (found != self.states[1])]
        if wrong.size:
            raise ParameterError(side, f"hold {self.states[0]} or {self.states[1]} only", wrong[0])
        return found

    def _log_sums(self, field: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log sum over the two states h of exp(h field)."""
        return self.states[0] * field + np.logaddexp(0.0, self._gap * field)

    @staticmethod
    def _product(rows: NDArray[np.float64], table: NDArray[np.float64]) -> NDArray[np.float64]:
        with one_blas_thread():  # the same bits for any number of threads
            return rows @ table
