r"""The partition function, exactly where possible and else by annealed importance sampling.

Let the couplings grow from zero to their full size, with the fields as they are:

.. math:: f_k(x) = \exp\Bigl( \sum_i h_i(x_i) + \beta_k S(x) \Bigr), \qquad
          0 = \beta_0 < \beta_1 < \dots < \beta_K = 1,

where S is the part of the score that is due to the edges. Sites are independent at first, so that
:math:`Z_0` is a product and an exact state is easily drawn. A chain then sweeps once at every
:math:`\beta_k`, and carries the weight

.. math:: \log w = \sum_{k=1}^K (\beta_k - \beta_{k-1}) \, S(x_{k-1}), \qquad
          E[w] = Z / Z_0,

however few the sweeps and however badly they mix [neal2001]_. With the mean of C independent
weights the estimate of log Z has the standard error :math:`s_w / (\bar w \sqrt C)`, to first
order. That holds when many chains share the weight: their effective number is
:math:`(\sum w)^2 / \sum w^2`. When only a few carry it, log Z is most likely too small, and there
is a warning. All chains may miss a mode that is far more probable than the states they visited,
with weights that look fine; so a few chains of Gibbs sampling search for lower energies.

Of a restricted Boltzmann machine the hidden sites are summed out, which makes the weights more
equal, and the visible sites start at the means of such chains (base rates) [salakhutdinov2008]_:

.. math:: \log f_k(v) = ((1 - \beta_k) a + \beta_k b)^T v
          + \sum_j \log \sum_h e^{h \beta_k (c_j + (W^T v)_j)} .

The random numbers of 17 chains are spread evenly over [0, 1) at each site: chain c has the
fractional part of :math:`u + c a / 17`, with u uniform and a from 1 to 16, drawn anew for each
site and sweep. Each chain on its own is as before, and any two fall into different parts, so that
their mean usually fluctuates less than that of independent chains. The error is stated as if they
were independent.
"""

import warnings
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from herder._errors import ParameterError
from herder._validation import function_or_none, generator, one_of, positive_int
from herder.core.blas import one_blas_thread
from herder.core.lanes import Progress, WorkUnit, run_lanes
from herder.core.summary import Summarised, Summary, Text
from herder.models.factors import factors_of
from herder.models.rbm import RBMModel
from herder.samplers import _annealing_jit as _jit
from herder.samplers.blocks import block_gibbs
from herder.samplers.gibbs import chain_seeds, gibbs
from herder.samplers.orders import Field, check_model

__all__ = ["AnnealingWarning", "LogPartition", "log_partition"]

#: With fewer effective chains than this, neither the value nor its error can be trusted.
FEWEST_CHAINS = 10

#: Share of the couplings after the first step when the shares grow geometrically.
FIRST_SHARE = 1e-3

#: Random numbers that a chain draws at a time.
NOISE = 2**16

#: Chains of Gibbs sampling that look for states that annealing missed, and their sweeps.
N_SCOUTS = 8
SCOUT_SWEEPS = 300

#: Chains of a restricted Boltzmann machine that are moved together; a prime, see `_spread`.
BLOCK_CHAINS = 17

#: Base rates are kept this far from 0 and 1.
BASE_SHARE = 0.01

#: Energies this many standard deviations below the annealed ones are of another mode.
DEEPER = 6.0


class AnnealingWarning(UserWarning):
    """The estimate of log Z is unreliable: few chains carry it, or a mode was missed."""


@dataclass(frozen=True, eq=False)
class LogPartition(Summarised):
    """Logarithm of the partition function.

    Parameters
    ----------
    value : float
        log Z, the offset of the energy included.
    error : float
        Standard error of ``value``, for independent chains; zero when it is exact.
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
        """Whether enough chains share the weight, and no mode was missed."""
        return self.effective_chains >= FEWEST_CHAINS and not self.missed

    def summary(self) -> Summary:
        """Return value, error, how they were computed, and whether they are reliable."""
        if self.method != "ais":
            return Summary(f"log Z = {self.value:.6f}, exact ({self.method})")
        title = (
            f"log Z = {self.value:.4f} ± {self.error:.4f} by annealing "
            f"({self.n_chains} chains, {self.effective_chains:.1f} effective, "
            f"{self.n_temperatures} temperatures)"
        )
        if self.reliable:
            return Summary(title)
        why = "more probable states were missed" if self.missed else "too few effective chains"
        return Summary(title, [Text(f"not to be trusted: {why}", "warning")])


@one_blas_thread()  # the same bits for any number of threads
def log_partition(
    model: Field | RBMModel,
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
    model : PairwiseModel, PottsModel or RBMModel
        The field.
    method : {"auto", "exact", "ais"}
        Exact sums, annealed importance sampling, or the first where the model is small enough.
    n_chains : int, default 100
        Independent chains, at least 2; the error falls as the inverse of its square root.
    n_temperatures : int, default 1000
        Steps from no couplings to full ones. More steps make the weights of the chains more equal.
    spacing : {"linear", "geometric"}
        Whether the share of the couplings grows by equal steps or by equal factors; the second is
        for couplings so strong that states freeze while their share is small.
    random_state : int, Generator or None, default 0
        Seed; every chain has its own generator made from it.
    n_jobs : int, optional
        Threads; all cores by default. It changes no result.
    progress : callable, optional
        Called with the fraction done and a word on what is done.

    Returns
    -------
    LogPartition
        Value, error, and whether they are reliable.

    Examples
    --------
    >>> from herder.models.pairwise import PairwiseModel
    >>> grid = PairwiseModel.grid((6, 6), coupling=0.3)
    >>> exact, estimate = log_partition(grid), log_partition(grid, method="ais")
    >>> abs(estimate.value - exact.value) < 4 * estimate.error
    True
    """
    if not isinstance(model, RBMModel):
        check_model(model)
    one_of(method, "method", ("auto", "exact", "ais"))
    one_of(spacing, "spacing", ("linear", "geometric"))
    function_or_none(progress, "progress")
    n_chains = positive_int(n_chains, "n_chains")
    n_temperatures = positive_int(n_temperatures, "n_temperatures")
    generator(random_state)  # refuses a wrong one for exact sums too
    if n_chains < 2:
        raise ParameterError("n_chains", "be at least 2, or there is no error", n_chains)
    if method != "ais":
        try:
            value, how = _exact(model)
        except ValueError:  # too large, which is what annealing is for
            if method == "exact":
                raise
        else:
            return LogPartition(value, 0.0, how, 0, 0, float("inf"), np.empty(0))
    if spacing == "linear":
        scales = np.linspace(0.0, 1.0, n_temperatures + 1)
    else:
        steps = np.geomspace(FIRST_SHARE, 1.0, n_temperatures) if n_temperatures > 1 else [1.0]
        scales = np.concatenate([[0.0], steps])
    if isinstance(model, RBMModel):
        chains = _BlockChains(model, scales, n_chains, random_state)
    else:
        chains = _Chains(model, scales, n_chains, random_state)
    units = [
        (k, min(k + chains.step, n_temperatures)) for k in range(0, n_temperatures, chains.step)
    ]
    run_lanes(
        chains.advance, chains.n_lanes, units, n_jobs=n_jobs, progress=progress, note="annealing"
    )
    log_mean = float(logsumexp(chains.log_weights) - np.log(n_chains))
    value = chains.log_start + log_mean
    relative = np.exp(chains.log_weights - log_mean)
    found = LogPartition(
        value=value,
        error=float(relative.std(ddof=1) / np.sqrt(n_chains)),
        method="ais",
        n_chains=n_chains,
        n_temperatures=n_temperatures,
        effective_chains=float(relative.sum() ** 2 / (relative**2).sum()),
        log_weights=chains.log_weights,
        missed=chains.missed(value),
    )
    if not found.reliable:
        warnings.warn(_warning(found), AnnealingWarning, stacklevel=2)
    return found


def _warning(found: LogPartition) -> str:
    """Return why a value is unreliable, and what to do."""
    if found.effective_chains >= FEWEST_CHAINS:
        return (
            "log Z is too small: Gibbs sampling found states far more probable than all that were "
            "annealed; the model has modes that annealing does not reach"
        )
    return (
        f"log Z rests on {found.effective_chains:.1f} effective chains of {found.n_chains}: it is "
        f"most likely too small, and its error too; take more than {found.n_temperatures} "
        'temperatures, more chains, or spacing="geometric" where couplings are strong'
    )


def _exact(model: Field | RBMModel) -> tuple[float, str]:
    """Return log Z by exact sums, and how it was computed."""
    if isinstance(model, RBMModel):
        return model.exact_log_partition(), "enumerate"
    exact = model.exact()
    return exact.log_partition, exact.method


class _Chains:
    """Chains that start at independent sites, with the log weights they have gathered."""

    def __init__(
        self,
        model: Field,
        scales: NDArray[np.float64],
        n_chains: int,
        random_state: int | np.random.Generator | None,
    ) -> None:
        factors = factors_of(model)
        self.model, self.random_state = model, random_state
        self.n_lanes, self.step = n_chains, max(1, NOISE // model.n_sites)
        self.fields, self.scales = np.ascontiguousarray(factors.fields), scales
        self.table, self.near = factors.table, model.adjacency
        alone: Any = logsumexp(self.fields, axis=1, keepdims=True)
        self.log_start = float(alone.sum()) - model.offset
        self.log_weights = np.zeros(n_chains)
        seed = chain_seeds(random_state)
        self.rngs = [np.random.default_rng(seed(k)) for k in range(n_chains)]
        edges = np.cumsum(np.exp(self.fields - alone), axis=1)[:, :-1]  # the last state has no end
        self.states = [
            (rng.random((len(edges), 1)) >= edges).sum(axis=1).astype(np.uint8)
            for rng in self.rngs
        ]

    def advance(self, number: int, unit: WorkUnit) -> None:
        """Take one chain through some shares of the couplings."""
        scales = self.scales[unit[0] : unit[1] + 1]
        uniforms = self.rngs[number].random((len(scales) - 1, len(self.fields)))
        rest = self.table, self.fields, scales, uniforms, self.states[number]
        self.log_weights[number] += _jit.anneal(*self.near, *rest)

    def missed(self, value: float) -> bool:
        """Whether chains from other starts end at states that annealing never saw.

        Some of them begin with all sites in one state, and some at random states.
        """
        model, states = self.model, np.array(self.model.states)
        rng = np.random.default_rng(chain_seeds(self.random_state)(0))
        start = states[rng.integers(0, len(states), (N_SCOUTS, model.n_sites))]
        start[0], start[1] = states[0], states[-1]
        scouts = gibbs(
            model, 1, n_chains=N_SCOUTS, burn_in=SCOUT_SWEEPS, start=start, random_state=rng
        )
        annealed = model.energy(states[np.array(self.states)])
        return _deeper(model.energy(scouts.samples), annealed, value)


class _BlockChains:
    """Chains of a restricted Boltzmann machine, hidden sites summed out; some make a lane."""

    def __init__(
        self,
        model: RBMModel,
        scales: NDArray[np.float64],
        n_chains: int,
        random_state: int | np.random.Generator | None,
    ) -> None:
        self.model, self.scales, self.step = model, scales, 10
        self.n_lanes = -(-n_chains // BLOCK_CHAINS)
        seed = chain_seeds(random_state)
        low, high = model.states
        rng = np.random.default_rng(seed(self.n_lanes))
        start = np.where(rng.random((N_SCOUTS, model.n_visible)) < 0.5, low, high).astype(float)
        start[0], start[1] = low, high
        sweeps = list(islice(block_gibbs(model, start, rng), SCOUT_SWEEPS))
        self.scouts = sweeps[-1][0]
        means = np.mean([chances for _, chances in sweeps[SCOUT_SWEEPS // 2 :]], axis=(0, 1))
        share = BASE_SHARE + (1 - 2 * BASE_SHARE) * means
        self.base = np.log(share / (1 - share)) / (high - low)
        self.log_start = float(np.logaddexp(low * self.base, high * self.base).sum())
        self.log_start += model.n_hidden * np.log(2.0)
        self.rngs = [np.random.default_rng(seed(k)) for k in range(self.n_lanes)]
        sizes = [min(BLOCK_CHAINS, n_chains - k * BLOCK_CHAINS) for k in range(self.n_lanes)]
        self.visible = [
            np.where(_spread(rng, (size, model.n_visible)) < share, high, low).astype(float)
            for rng, size in zip(self.rngs, sizes, strict=True)
        ]
        self.log_weights = np.zeros(n_chains)

    def advance(self, number: int, unit: WorkUnit) -> None:
        """Take the chains of a lane through some shares of the couplings."""
        model, rng, visible = self.model, self.rngs[number], self.visible[number]
        low, gap = model.states[0], model.states[1] - model.states[0]
        gain = np.zeros(len(visible))
        shift = model.visible_biases - self.base
        for before, scale in pairwise(self.scales[unit[0] : unit[1] + 1]):
            fields = visible @ model.couplings + model.hidden_biases
            gain += (scale - before) * (visible @ shift + low * fields.sum(axis=1))
            soft = np.logaddexp(0.0, gap * scale * fields) - np.logaddexp(
                0.0, gap * before * fields
            )
            gain += soft.sum(axis=1)
            upper = _spread(rng, fields.shape) < expit(gap * scale * fields)
            fields = scale * ((low + gap * upper) @ model.couplings.T) + self.base + scale * shift
            visible = low + gap * (_spread(rng, fields.shape) < expit(gap * fields)).astype(float)
        first = number * BLOCK_CHAINS
        self.log_weights[first : first + len(gain)] += gain
        self.visible[number] = visible

    def missed(self, value: float) -> bool:
        """Whether the chains that looked for base rates ended at states annealing never saw."""
        annealed = self.model.free_energy(np.concatenate(self.visible))
        return _deeper(self.model.free_energy(self.scouts), annealed, value)


def _spread(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return uniforms of chains and sites, those of a site spread over [0, 1).

    Any chain has independent ones, and any two chains have different parts of a site, at random.
    """
    starts, slopes = rng.random((2, shape[1]))
    slopes = np.floor(1 + (BLOCK_CHAINS - 1) * slopes) / BLOCK_CHAINS
    uniforms = np.arange(shape[0])[:, None] * slopes
    uniforms += starts
    uniforms -= np.floor(uniforms)
    return uniforms


def _deeper(found: NDArray[np.float64], annealed: NDArray[np.float64], value: float) -> bool:
    """Whether states were found whose energies annealing missed.

    A single state that would have a probability above 1 proves it; energies far below the annealed
    ones suggest it.
    """
    lowest, spread = float(found.min()), max(float(annealed.std()), 1.0)
    return -lowest > value or lowest < annealed.min() - DEEPER * spread
