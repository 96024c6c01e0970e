r"""Exact answers on a field: partition function, marginals, entropy, independent samples.

Two ways lead to the same numbers: over all states (`herder.models.enumeration`), up to
2^25 of them, and site by site (`herder.models.transfer`), for graphs of any size whose
frontier stays narrow. From the marginals of sites and edges follow

.. math:: \langle E \rangle = c - \sum_i \langle h_i(x_i) \rangle
          - \sum_{(i, j)} w_{ij} \langle T(x_i, x_j) \rangle, \qquad
          H = \log Z + \langle E \rangle.
"""

from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import generator, one_of, positive_int
from herder.core.summary import Fact, Facts, Summarised, Summary, counted
from herder.models import enumeration, transfer
from herder.models.factors import Factors, Field, check_model, factors_of
from herder.models.frontier import MAX_CELLS, Plan, plan_sum
from herder.models.pairwise import PairwiseModel

__all__ = ["Exact", "exact_field", "exact_samples"]

METHODS = ("auto", "enumerate", "transfer")

#: Cells that "auto" sums site by site at most, and what one takes on a usual machine.
MAX_COST = 2**30
SECONDS_PER_CELL = 6e-8


@dataclass(frozen=True, slots=True, eq=False)
class Exact(Summarised):
    """Exact answers on a field.

    Parameters
    ----------
    log_partition : float
        Logarithm of Z, the offset of the energy included.
    marginals : ndarray of shape (n_sites,) or (n_sites, n_states)
        Probability of the upper state of each binary site; of each state for a `PottsModel`.
    edges : ndarray of intp of shape (n_edges, 2)
        Pairs of coupled sites.
    pair_marginals : ndarray of shape (n_edges, n_states, n_states)
        Probability of each pair of states on each edge; for binary sites 1 is the upper state.
    mean_energy, entropy : float
        Mean of the energy, and the entropy in nats.
    method : str
        ``"enumerate"`` or ``"transfer"``.
    probabilities : ndarray of shape (n_states ** n_sites,) or None
        Probability of every state when they were enumerated and are at most 2^20. In the number
        of a state, site 0 is the lowest digit.
    """

    log_partition: float
    marginals: NDArray[np.float64]
    edges: NDArray[np.intp]
    pair_marginals: NDArray[np.float64]
    mean_energy: float
    entropy: float
    method: str
    probabilities: NDArray[np.float64] | None = None

    def log_prob(self, model: Field, x: ArrayLike) -> Any:
        """Return the logarithm of the probability of states of the same model."""
        check_model(model)
        return -model.energy(x) - self.log_partition

    def summary(self) -> Summary:
        """Return partition function, energy and entropy."""
        facts = [
            Fact("log Z", self.log_partition, ".6f"),
            Fact("mean energy", self.mean_energy, ".6f"),
            Fact("entropy", self.entropy, ".6f", "nats"),
        ]
        sites = counted(len(self.marginals), "site")
        return Summary(f"Exact answers on {sites} ({self.method})", [Facts(facts)])


def exact_field(model: Field, method: str = "auto") -> Exact:
    """Return the partition function and all marginals of a model.

    Parameters
    ----------
    model : PairwiseModel or PottsModel
        The field.
    method : {"auto", "enumerate", "transfer"}
        Over all states, or site by site. ``"auto"`` enumerates up to 2^20 states, and takes the
        cheaper way beyond, if that takes about a minute at most.

    Examples
    --------
    >>> from herder.models.pairwise import PairwiseModel
    >>> ring = PairwiseModel.grid(1000, periodic=True)
    >>> exact = exact_field(ring)
    >>> exact.method, round(exact.log_partition / 1000, 6)
    ('transfer', 1.126928)
    """
    factors = factors_of(model)
    plan = _plan(factors, method)
    if plan is None:
        sums = enumeration.enumerate_states(factors)
    else:
        sums = transfer.transfer_sums(factors, plan)
    pairs = np.einsum("mab,ab->m", sums.pair_marginals, factors.table)
    # the mean of -energy, without the offset
    score = float(np.sum(factors.fields * sums.marginals) + np.sum(factors.weights * pairs))
    binary = isinstance(model, PairwiseModel)
    return Exact(
        sums.log_partition - model.offset,
        sums.marginals[:, 1].copy() if binary else sums.marginals,
        factors.edges,
        sums.pair_marginals,
        model.offset - score,
        max(0.0, sums.log_partition - score),  # a difference of sums: rounding may pass zero
        "enumerate" if plan is None else "transfer",
        sums.probabilities,
    )


def exact_samples(
    model: Field,
    n_samples: SupportsIndex,
    *,
    method: str = "auto",
    random_state: int | np.random.Generator | None = 0,
) -> NDArray[np.int8]:
    """Draw independent states from the distribution itself, without a chain.

    Parameters
    ----------
    model : PairwiseModel or PottsModel
        The field.
    n_samples : int
        How many states.
    method : {"auto", "enumerate", "transfer"}
        As in `exact_field`.
    random_state : int, Generator or None, default 0
        Source of the random numbers.

    Returns
    -------
    ndarray of int8 of shape (n_samples, n_sites)
        In the states of the model.

    Examples
    --------
    >>> from herder.models.pairwise import PairwiseModel
    >>> grid = PairwiseModel.grid((8, 30), temperature=2.3)
    >>> exact_samples(grid, 5, random_state=0).shape
    (5, 240)
    """
    n_samples = positive_int(n_samples, "n_samples")
    rng = generator(random_state)
    factors = factors_of(model)
    plan = _plan(factors, method)
    if plan is None:
        codes = enumeration.draw(factors, n_samples, rng)
    else:
        codes = transfer.draw(factors, plan, n_samples, rng)
    return np.array(model.states, dtype=np.int8)[codes]


def _plan(factors: Factors, method: str) -> Plan | None:
    """Return the plan of a sum site by site, or None to enumerate all states."""
    one_of(method, "method", METHODS)
    n, q = factors.n_sites, factors.n_states
    n_states = q**n  # a Python integer: it does not overflow
    fits = n_states <= enumeration.MAX_STATES
    if fits and (
        method == "enumerate" or (method == "auto" and n_states <= enumeration.MAX_LISTED)
    ):
        return None
    plan = None if method == "enumerate" else plan_sum(n, factors.edges, q)
    if plan is not None and (method == "transfer" or plan.cost < min(n_states, MAX_COST)):
        return plan
    if fits and method == "auto":
        return None
    if plan is not None:
        minutes = plan.cost * SECONDS_PER_CELL / 60
        rule = f"be 'transfer' for a sum that takes about {minutes:.0f} minutes"
        remedy = "log_partition(model, method='ais') estimates Z"
        raise ParameterError("method", rule, got=f"{method!r}; {remedy}")
    states, cells = enumeration.MAX_STATES.bit_length() - 1, MAX_CELLS.bit_length() - 1
    rule = f"have at most 2^{states} states in all, or 2^{cells} states on its frontier"
    remedy = "log_partition estimates Z by annealing, and samplers estimate the rest"
    raise ParameterError("model", rule, got=f"{n} sites of {q} states: {remedy}")
