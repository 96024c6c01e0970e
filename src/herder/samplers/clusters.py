r"""Swendsen-Wang: sampling by whole clusters [swendsen1987]_.

Each edge between equal sites is frozen with probability :math:`1 - e^{-J}`, where J is what the
two gain by being equal (twice the coupling of -1/+1 sites). Sites that frozen edges join form
clusters, which are independent of each other: each draws a new common state a with probability
proportional to :math:`\exp \sum_i h_i(a)` over its sites. At the critical temperature, where
single-site updates mix slowly, a few sweeps decorrelate the state.

A negative coupling of binary sites freezes unequal ends instead, and the cluster flips as a
whole. With three states and more there is no such rule, and negative couplings are refused.
Strong fields, or frustrated couplings, leave the samples correct but make clusters inefficient:
then `gibbs` with temperatures is the better choice.
"""

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.core.plain import Arrays, read_array
from herder.models.pairwise import PairwiseModel
from herder.samplers import _clusters_jit as _jit
from herder.samplers.condition import ConditionedModel
from herder.samplers.gibbs import NOISE, chain_seeds, random_codes
from herder.samplers.orders import Field
from herder.samplers.run import ChainFactory, RunOptions, check_options, run_chains
from herder.samplers.sampling import Sampling

__all__ = ["cluster_factory", "swendsen_wang"]


def swendsen_wang(
    model: Field,
    n_sweeps: int,
    *,
    random_state: int | np.random.Generator | None = 0,
    evidence: Mapping[Any, Any] | None = None,
    **run: Unpack[RunOptions],
) -> Sampling:
    """Sample a model by updating whole clusters of sites.

    Parameters
    ----------
    model : PairwiseModel or PottsModel
        What is sampled; couplings of a Potts model must not be negative.
    n_sweeps : int
        Sweeps of each chain, after the burn-in; each yields a state.
    random_state : int, Generator or None
        Seed; every chain has its own generators made from it.
    evidence : mapping, optional
        Sites, by number or name, to values that they are held at.
    **run
        Chains, burn-in, what to keep and to average: see `RunOptions`.

    Returns
    -------
    Sampling
        States, marginals with errors, and in the diagnostics the mean size of a cluster.

    Examples
    --------
    >>> from herder import PairwiseModel, swendsen_wang
    >>> model = PairwiseModel.grid((32, 32), temperature=2.27)
    >>> result = swendsen_wang(model, 1000, burn_in=100)
    >>> bool(abs(result.marginals - 0.5).max() < 0.1)
    True
    """
    run = check_options("swendsen_wang", run)
    condition = ConditionedModel(model, evidence)
    factory = cluster_factory(condition, random_state=random_state)
    return run_chains("swendsen-wang", condition, factory, n_sweeps, **run)


def cluster_factory(
    condition: ConditionedModel, *, random_state: int | np.random.Generator | None = 0
) -> ChainFactory:
    """Return the maker of chains."""
    field: Any = condition.field
    binary = isinstance(field, PairwiseModel)
    if not binary and (field.edge_weights < 0).any():
        got = f"{field.edge_weights.min():g}: use gibbs"
        raise ParameterError("couplings", "not be negative for a Potts model here", got=got)
    if binary:
        field = field.to_states((-1, 1))
    gains = field.edge_weights * (2 if binary else 1)
    one, other = np.array(field.edges.T, dtype=np.int32, order="C")
    bonds = _jit.Bonds(
        one,
        other,
        np.minimum(-np.expm1(-np.abs(gains)) * 2**32, 2**32 - 1).astype(np.uint32),
        (gains > 0).astype(np.uint8),
    )
    base = field.biases if binary else field.fields
    seed = chain_seeds(random_state)
    return ChainFactory(lambda k, start: _ClusterChain(bonds, base, start, seed(k)), ())


class _ClusterChain:
    """A chain that updates clusters; ``base`` are the biases or the fields."""

    def __init__(
        self,
        bonds: _jit.Bonds,
        base: NDArray[np.float64],
        start: NDArray[np.uint8] | None,
        seed: np.random.SeedSequence,
    ) -> None:
        first, edges, coins = seed.spawn(3)
        self.generators = np.random.default_rng(edges), np.random.default_rng(coins)
        self.bonds, self.base, self.binary = bonds, base, base.ndim == 1
        self.n_states = 2 if self.binary else base.shape[1]
        self.x = random_codes(first, len(base), self.n_states) if start is None else start
        self.n_sweeps = self.n_clusters = 0

    def advance(self, out: NDArray[np.uint8]) -> None:
        """Fill each row with the state after one more sweep."""
        # Noise of one block at a time: edges may be many more than sites.
        size = max(1, NOISE // max(1, len(self.bonds.one)))
        for begin in range(0, len(out), size):
            self._advance(out[begin : begin + size])

    def _advance(self, out: NDArray[np.uint8]) -> None:
        edge_rng, coin_rng = self.generators
        noise = _words(edge_rng, len(out), 32 * len(self.bonds.one)).view(np.uint32)
        if self.binary and not self.base.any():
            coins = _words(coin_rng, len(out), out.shape[1])
            done = _jit.sweep_free(self.bonds, noise, coins, self.x, out)
        else:
            if self.binary:
                draws = coin_rng.logistic(size=out.shape)
            else:
                draws = -np.log(coin_rng.standard_exponential((*out.shape, self.n_states)))
            done = _jit.sweep_fields(self.bonds, self.base, noise, draws, self.x, out)
        self.n_clusters += int(done)
        self.n_sweeps += len(out)

    def arrays(self) -> Arrays:
        """Return the state, and the sweeps and clusters counted so far."""
        counts = np.array([self.n_sweeps, self.n_clusters], dtype=np.int64)
        return {"x": self.x, "counts": counts}

    def restore(self, arrays: Arrays) -> None:
        """Resume from what `arrays` returned."""
        self.x = read_array(arrays, "x", self.x.shape, np.uint8, high=self.n_states - 1)
        counts = read_array(arrays, "counts", (2,), np.int64, low=0)
        self.n_sweeps, self.n_clusters = counts.tolist()

    def diagnostics(self) -> dict[str, Any]:
        """Return the mean number of sites in a cluster."""
        return {"cluster_size": self.n_sweeps * len(self.x) / max(1, self.n_clusters)}


def _words(rng: np.random.Generator, n_rows: int, n_bits: int) -> NDArray[np.uint64]:
    """Draw rows of at least ``n_bits`` random bits, in words of 64."""
    return rng.integers(2**64, size=(n_rows, -(-n_bits // 64)), dtype=np.uint64)
