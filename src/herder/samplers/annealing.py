r"""The partition function, exactly where possible and else by annealed importance sampling.

Let the couplings grow from nothing to their own size, with the fields as they are:

.. math:: f_k(x) = \exp\Bigl( \sum_i h_i(x_i) + \beta_k S(x) \Bigr), \qquad
          0 = \beta_0 < \beta_1 < \dots < \beta_K = 1,

where S is the part of the score that the edges give. Sites are independent at first, so that
:math:`Z_0` is a product and an exact state is easily drawn. A chain then sweeps once at every
:math:`\beta_k`, and carries the weight

.. math:: \log w = \sum_{k=1}^K (\beta_k - \beta_{k-1}) \, S(x_{k-1}), \qquad
          E[w] = Z / Z_0,

however few the sweeps and however badly they mix [neal2001]_. With the mean of C independent
weights the estimate of log Z has the standard error :math:`s_w / (\bar w \sqrt C)`, to first
order. That holds when many chains share the weight: their effective number is
:math:`(\sum w)^2 / \sum w^2`. When only a few carry it, log Z is most likely too small, and a
warning says so. All chains may miss a mode that is far more probable than what they saw, with
weights that look fine; so a few chains of Gibbs sampling look for lower energies.
"""

import warnings
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from herder._errors import ParameterError
from herder._validation import one_of, positive_int
from herder.core.lanes import Progress, WorkUnit, run_lanes
from herder.core.summary import Summarised, Summary, Text
from herder.models.factors import factors_of
from herder.samplers import _annealing_jit as _jit
from herder.samplers.gibbs import chain_seeds, gibbs
from herder.samplers.orders import Field, check_model

__all__ = ["AnnealingWarning", "LogPartition", "log_partition"]

#: Fewer effective chains than this, and the error is no more to be trusted than the value.
FEWEST_CHAINS = 10

#: Share of the couplings after the first step when the shares grow geometrically.
FIRST_SHARE = 1e-3

#: Random numbers that a chain draws at a time.
NOISE = 2**16


#: Chains of Gibbs sampling that look for states that annealing missed, and their sweeps.
N_SCOUTS = 8
SCOUT_SWEEPS = 300

#: Energies this many standard deviations lower than the annealed ones are another mode.
DEEPER = 6.0


class AnnealingWarning(UserWarning):
    """The estimate of log Z is not to be trusted: few chains carry it, or a mode was missed."""


@dataclass(frozen=True, eq=False)
class LogPartition(Summarised):
    """Logarithm of the partition function.

    Parameters
    ----------
    value : float
        log Z, the offset of the energy included.
    error : float
        Standard error of ``value``; zero when it is exact.
    method : str
        ``"enumerate"``, ``"transfer"`` or ``"ais"``.
    n_chains, n_temperatures : int
        Of the annealing; zero when the value is exact.
    effective_chains : float
        How many chains share the weight; infinite when the value is exact.
    log_weights : ndarray of shape (n_chains,)
        Log weight of each chain, relative to independent sites.
    missed : bool
        Whether Gibbs sampling found states far more probable than all that were annealed: then
        log Z is too small by an unknown amount.
    """

    value: float
    error: float
    method: str
    n_chains: int
    n_temperatures: int
    effective_chains: float
    log_weights: NDArray[np.float64]
    missed: bool = False

    @property
    def reliable(self) -> bool:
        """Whether enough chains share the weight for the error to mean something."""
        return self.effective_chains >= FEWEST_CHAINS and not self.missed

    def summary(self) -> Summary:
        """Return value, error, how they were found, and whether to trust them."""
        if self.method != "ais":
            return Summary(f"log Z = {self.value:.6f}, exact ({self.method})")
        title = (
            f"log Z = {self.value:.4f} +- {self.error:.4f} by annealing "
            f"({self.n_chains} chains, {self.effective_chains:.1f} effective, "
            f"{self.n_temperatures} temperatures)"
        )
        if self.reliable:
            return Summary(title)
        why = "more probable states were missed" if self.missed else "too few effective chains"
        return Summary(title, [Text(f"not to be trusted: {why}", "warning")])


def log_partition(
    model: Field,
    *,
    method: str = "auto",
    n_chains: SupportsIndex = 100,
    n_temperatures: SupportsIndex = 1000,
    spacing: str = "linear",
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> LogPartition:
    """Return the logarithm of the partition function, with its standard error.

    Parameters
    ----------
    model : PairwiseModel or PottsModel
        The field.
    method : {"auto", "exact", "ais"}
        Exact sums, annealed importance sampling, or the first where the model is small enough.
    n_chains : int, default 100
        Independent chains, at least 2; the error falls with its root.
    n_temperatures : int, default 1000
        Steps from no coupling to all. More steps make the weights of the chains more alike.
    spacing : {"linear", "geometric"}
        Whether the share of the couplings grows by equal steps or by equal factors; the second is
        for couplings so strong that all is decided while their share is small.
    random_state : int, Generator or None, default 0
        Seed; every chain has its own generator made from it.
    n_jobs : int, optional
        Threads; all cores by default. It changes no result.
    progress : callable, optional
        Called with the share done and a word on what is done.

    Returns
    -------
    LogPartition
        Value, error, and how far to trust them.

    Examples
    --------
    >>> from herder.models.pairwise import PairwiseModel
    >>> grid = PairwiseModel.grid((6, 6), coupling=0.3)
    >>> exact, estimate = log_partition(grid), log_partition(grid, method="ais")
    >>> abs(estimate.value - exact.value) < 4 * estimate.error
    True
    """
    check_model(model)
    one_of(method, "method", ("auto", "exact", "ais"))
    one_of(spacing, "spacing", ("linear", "geometric"))
    n_chains = positive_int(n_chains, "n_chains")
    n_temperatures = positive_int(n_temperatures, "n_temperatures")
    if n_chains < 2:
        raise ParameterError("n_chains", "be at least 2, or there is no error", n_chains)
    if method != "ais":
        try:
            exact = model.exact()
        except ValueError:  # too large, which is what annealing is for
            if method == "exact":
                raise
        else:
            nothing = np.empty(0)
            return LogPartition(
                exact.log_partition, 0.0, exact.method, 0, 0, float("inf"), nothing
            )
    if spacing == "linear":
        scales = np.linspace(0.0, 1.0, n_temperatures + 1)
    else:
        steps = np.geomspace(FIRST_SHARE, 1.0, n_temperatures) if n_temperatures > 1 else [1.0]
        scales = np.concatenate([[0.0], steps])
    chains = _Chains(model, n_chains, random_state)
    size = max(1, NOISE // model.n_sites)
    units = [(k, min(k + size, n_temperatures)) for k in range(0, n_temperatures, size)]

    def work(lane: int, unit: WorkUnit) -> None:
        chains.advance(lane, scales[unit[0] : unit[1] + 1])

    run_lanes(work, n_chains, units, n_jobs=n_jobs, progress=progress, note="annealing")
    base = chains.log_start - model.offset
    value = base + float(logsumexp(chains.log_weights) - np.log(n_chains))
    missed = _missed(model, chains, value, random_state)
    return _summarise(base, chains.log_weights, n_temperatures, missed)


class _Chains:
    """Chains that start at independent sites, with the log weights they have gathered."""

    def __init__(
        self, model: Field, n_chains: int, random_state: int | np.random.Generator | None
    ) -> None:
        factors = factors_of(model)
        self.fields = np.ascontiguousarray(factors.fields)
        self.table, self.near = factors.table, model.adjacency
        alone: Any = logsumexp(self.fields, axis=1, keepdims=True)
        self.log_start = float(alone.sum())
        self.log_weights = np.zeros(n_chains)
        self.rngs = [np.random.default_rng(seed) for seed in chain_seeds(random_state, n_chains)]
        chances = np.exp(self.fields - alone)
        edges = np.cumsum(chances, axis=1)[:, :-1]  # beyond the last there is the last state
        self.states = [
            (rng.random((len(edges), 1)) >= edges).sum(axis=1).astype(np.uint8)
            for rng in self.rngs
        ]

    def advance(self, lane: int, scales: NDArray[np.float64]) -> None:
        """Take one chain through shares of the couplings, from the first to the last."""
        uniforms = self.rngs[lane].random((len(scales) - 1, len(self.fields)))
        rest = self.table, self.fields, scales, uniforms, self.states[lane]
        self.log_weights[lane] += _jit.anneal(*self.near, *rest)


def _missed(
    model: Field, chains: _Chains, value: float, random_state: int | np.random.Generator | None
) -> bool:
    """Whether chains from elsewhere end at states that annealing never saw.

    Some of them begin with all sites in one state, and some anywhere. A single state that would
    have a probability above 1 proves it; energies far below the annealed ones make it plain.
    """
    low, high = model.states[0], model.states[-1]
    places = np.array(model.states)
    rng = np.random.default_rng(chain_seeds(random_state, 1)[0])
    start = places[rng.integers(0, len(places), (N_SCOUTS, model.n_sites))]
    start[0], start[1] = low, high
    scouts = gibbs(
        model, 1, n_chains=N_SCOUTS, burn_in=SCOUT_SWEEPS, start=start, random_state=rng
    )
    annealed = model.energy(places[np.array(chains.states)])
    spread = max(float(annealed.std()), 1.0)
    lowest = float(model.energy(scouts.samples).min())
    return -lowest > value or lowest < annealed.min() - DEEPER * spread


def _summarise(
    base: float, log_weights: NDArray[np.float64], n_temperatures: int, missed: bool
) -> LogPartition:
    n_chains = len(log_weights)
    log_mean = float(logsumexp(log_weights) - np.log(n_chains))
    relative = np.exp(log_weights - log_mean)
    effective = float(relative.sum() ** 2 / (relative**2).sum())
    if effective < FEWEST_CHAINS:
        warnings.warn(
            f"log Z rests on {effective:.1f} effective chains of {n_chains}: it is most likely "
            f"too small, and its error too; take more than {n_temperatures} temperatures, more "
            'chains, or spacing="geometric" where couplings are strong',
            AnnealingWarning,
            stacklevel=3,
        )
    elif missed:
        warnings.warn(
            "log Z is too small: Gibbs sampling found states far more probable than all that were "
            "annealed; the model has modes that annealing does not reach",
            AnnealingWarning,
            stacklevel=3,
        )
    return LogPartition(
        value=base + log_mean,
        error=float(relative.std(ddof=1) / np.sqrt(n_chains)),
        method="ais",
        n_chains=n_chains,
        n_temperatures=n_temperatures,
        effective_chains=effective,
        log_weights=log_weights,
        missed=missed,
    )
