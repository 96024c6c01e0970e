r"""Gibbs sampling, with tempering.

A sweep visits the sites in order and draws each from its distribution given the others. A
site with gains :math:`f_a` of its states at temperature T draws

.. math:: x_i = \arg\max_a \, (f_a + T g_a), \qquad g_a \sim \text{Gumbel},

and a binary site with log odds f is 1 when :math:`f > T l`, where l is logistic: exponentials are
never taken, and one set of gains serves all temperatures. Binary models on sparse graphs have
a table of probabilities instead, one for each site and neighbourhood.

Tempering runs a replica at each temperature :math:`T_0 = 1 < T_1 < \dots`; after each sweep,
neighbouring temperatures exchange replicas with probability
:math:`\min(1, \exp((1/T_r - 1/T_{r+1})(E_r - E_{r+1})))` [geyer1991]_, which leaves the product
of the distributions invariant. The states at T = 1 are the samples.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from herder._errors import ParameterError
from herder._validation import generator
from herder.core.plain import Arrays, read_array
from herder.models.graph import finite_array
from herder.models.pairwise import PairwiseModel
from herder.samplers import _gibbs_jit as _jit
from herder.samplers.condition import ConditionedModel
from herder.samplers.orders import Field
from herder.samplers.run import ChainFactory, RunOptions, check_options, run_chains
from herder.samplers.sampling import Sampling

__all__ = ["Table", "chain_seeds", "chance_table", "gibbs", "gibbs_factory", "random_codes"]

#: Neighbours up to which probabilities are kept in a table, and its size at most.
TABLE_WIDTH = 8
TABLE_SIZE = 2**21

#: Sweeps after which gains are recomputed, so that rounding does not accumulate.
REFRESH = 1024

#: Random numbers that are drawn at a time.
NOISE = 2**18

#: Couplings with at least this share of all edges are read as dense rows.
DENSE = 0.3


def gibbs(
    model: Field,
    n_sweeps: int,
    *,
    order: str | ArrayLike = "sequential",
    temperatures: Sequence[float] | None = None,
    random_state: int | np.random.Generator | None = 0,
    evidence: Mapping[Any, Any] | None = None,
    **run: Unpack[RunOptions],
) -> Sampling:
    """Sample a model by Gibbs sampling, one site after the other.

    Parameters
    ----------
    model : PairwiseModel or PottsModel
        What is sampled.
    n_sweeps : int
        Sweeps of each chain, after the burn-in; each yields a state.
    order : {"sequential", "reversed", "checkerboard"} or array-like of int
        Order of the sites within a sweep.
    temperatures : sequence of float, optional
        From 1 upwards: parallel tempering, for models whose chains stay in one mode. ``swaps``
        in the diagnostics is the share of exchanges that were accepted.
    random_state : int, Generator or None
        Seed; every chain has its own generators made from it.
    evidence : mapping, optional
        Sites, by number or name, to values that they are held at.
    **run
        Chains, burn-in, what to keep and to average: see `RunOptions`.

    Returns
    -------
    Sampling
        States, marginals with errors, R-hat, effective sample size.

    Examples
    --------
    >>> from herder import PairwiseModel, gibbs
    >>> model = PairwiseModel.grid((4, 4), coupling=0.3, field=0.1)
    >>> result = gibbs(model, 20_000)
    >>> bool(abs(result.marginals - model.exact().marginals).max() < 0.03)
    True
    """
    run = check_options("gibbs", run)
    condition = ConditionedModel(model, evidence)
    factory = gibbs_factory(
        condition, order=order, temperatures=temperatures, random_state=random_state
    )
    return run_chains("gibbs", condition, factory, n_sweeps, **run)


def gibbs_factory(
    condition: ConditionedModel,
    *,
    order: str | ArrayLike = "sequential",
    temperatures: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> ChainFactory:
    """Return the maker of chains."""
    model, path = condition.field, condition.scan(order)
    heats = _check_temperatures(temperatures)
    seed = chain_seeds(random_state)
    options = (heats.tolist(), path.tobytes())
    table = chance_table(model, path, TABLE_WIDTH, TABLE_SIZE) if len(heats) == 1 else None
    if table is not None:
        return ChainFactory(lambda k, start: _TableChain(table, start, seed(k)), options)
    gains = _Gains(model, path, heats)
    return ChainFactory(lambda k, start: _FieldChain(gains, start, seed(k)), options)


def chain_seeds(
    random_state: int | np.random.Generator | None,
) -> Callable[[int], np.random.SeedSequence]:
    """Return the function from the number of a chain to its seed."""
    rng, entropy = generator(random_state), random_state
    if isinstance(random_state, np.random.Generator):
        entropy = rng.integers(2**63, size=4).tolist()
    root: Any = np.random.SeedSequence(entropy)  # type: ignore[arg-type]
    return lambda number: np.random.SeedSequence(root.entropy, spawn_key=(number,))


def random_codes(
    seed: np.random.SeedSequence, size: int | tuple[int, ...], n_states: int
) -> NDArray[np.uint8]:
    """Draw states of sites, uniformly."""
    return np.random.default_rng(seed).integers(0, n_states, size, np.uint8)


def _check_temperatures(temperatures: ArrayLike | None) -> NDArray[np.float64]:
    found = np.ones(1) if temperatures is None else finite_array(temperatures, "temperatures")
    if found.ndim != 1 or not len(found) or found[0] != 1.0 or (np.diff(found) <= 0).any():
        raise ParameterError("temperatures", "increase from 1.0", got=str(temperatures))
    return found


class Table(NamedTuple):
    """Probabilities of a binary model for all neighbourhoods, and the order of visits."""

    order: NDArray[np.intp]  # (n_visits,)
    near: NDArray[np.intp]  # (n_visits, width), in that order
    chances: NDArray[np.float64]  # (n_sites, 2 ** width)


def chance_table(
    model: Field, order: NDArray[np.intp], max_width: int, max_size: int
) -> Table | None:
    """Return P(1) of binary sites for all states of their neighbours; None if that is too large.

    Neighbours are in rows of equal length, filled with n_sites, whose state is always 0; four
    at least, so that grids have a loop without a loop inside. Neighbour d is bit d of a state.
    """
    degrees = np.diff(model.adjacency.indptr)
    n_sites, width = model.n_sites, max(4, int(degrees.max(initial=0)))
    if not isinstance(model, PairwiseModel) or width > max_width or n_sites << width > max_size:
        return None
    bits = model.to_states((0, 1))
    indptr, indices, values = bits.adjacency
    near = np.full((n_sites, width), n_sites, dtype=np.intp)
    weights = np.zeros((n_sites, width))
    row = np.repeat(np.arange(n_sites), degrees)
    column = np.arange(len(row)) - np.repeat(indptr[:-1], degrees)
    near[row, column], weights[row, column] = indices, values
    states = np.arange(2**width)
    gains = np.zeros((n_sites, len(states)))
    for d in range(width):  # not by BLAS: the same bits for any number of threads
        gains += weights[:, d, None] * (states >> d & 1)
    return Table(order, near[order], expit(bits.biases[:, None] + gains))


class _TableChain:
    """A chain on binary sites that looks probabilities up."""

    def __init__(
        self, table: Table, start: NDArray[np.uint8] | None, seed: np.random.SeedSequence
    ) -> None:
        first, sites = seed.spawn(2)
        self.table, self.generators = table, (np.random.default_rng(sites),)
        state = random_codes(first, len(table.chances), 2) if start is None else start
        self.x = np.append(state, np.uint8(0))

    def advance(self, out: NDArray[np.uint8]) -> None:
        order, near, chances = self.table
        size = max(1, NOISE // len(order))
        for begin in range(0, len(out), size):
            part = out[begin : begin + size]
            uniforms = self.generators[0].random((len(part), len(order)))
            _jit.sweep_table(near, order, chances, uniforms, self.x, part)

    def arrays(self) -> Arrays:
        return {"x": self.x}

    def restore(self, arrays: Arrays) -> None:
        self.x = read_array(arrays, "x", self.x.shape, np.uint8, high=1)
        self.x[-1] = 0  # the neighbour that sites with few neighbours have

    def diagnostics(self) -> dict[str, Any]:
        return {}


class _Gains:
    """What chains that keep the gains of all states have in common."""

    def __init__(self, model: Field, order: NDArray[np.intp], heats: NDArray[np.float64]) -> None:
        self.binary = isinstance(model, PairwiseModel)
        field: Any = model.to_states((0, 1)) if isinstance(model, PairwiseModel) else model
        self.near = _jit.Neighbours(*field.adjacency)
        self.base = field.biases if self.binary else field.fields
        self.n_sites, self.n_states = field.n_sites, field.n_states
        share = len(self.near.indices) / max(1, self.n_sites * (self.n_sites - 1))
        self.couplings = np.empty((0, 0))  # dense rows, if most sites are neighbours
        if self.binary and share > DENSE:
            rows: Any = field.couplings
            self.couplings = rows.toarray() if field.is_sparse else np.array(rows)
        self.order, self.heats = order, heats
        self.stride = max(1, NOISE // (len(heats) * len(order) * self.n_states))

    def at(self, x: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the gains of all states at all sites of a state."""
        f = self.base.copy()
        _jit.add_neighbours(self.near, x, f)
        return f


class _FieldChain:
    """A chain that keeps the gains of all states, for any model and many temperatures."""

    def __init__(
        self, gains: _Gains, start: NDArray[np.uint8] | None, seed: np.random.SeedSequence
    ) -> None:
        first, sites, swaps = seed.spawn(3)
        self.gains, self.t, n_heats = gains, 0, len(gains.heats)
        self.generators = np.random.default_rng(sites), np.random.default_rng(swaps)
        if start is None:
            self.x = random_codes(first, (n_heats, gains.n_sites), gains.n_states)
        else:
            self.x = np.tile(start, (n_heats, 1))
        self.f = np.array([gains.at(x) for x in self.x])
        self.who = np.arange(n_heats)
        self.swaps = np.zeros((n_heats - 1, 2), dtype=np.int64)

    def advance(self, out: NDArray[np.uint8]) -> None:
        done = 0
        while done < len(out):
            if self.t % REFRESH == 0:
                self.f = np.array([self.gains.at(x) for x in self.x])
            size = min(len(out) - done, REFRESH - self.t % REFRESH, self.gains.stride)
            self._run(out[done : done + size])
            done += size
            self.t += size

    def _run(self, out: NDArray[np.uint8]) -> None:
        gains, (sites, swaps) = self.gains, self.generators
        shape = (len(out), len(gains.heats), len(gains.order))
        uniforms = swaps.random(shape[:2])
        if gains.binary:
            noise = sites.random(shape)
            noise = np.log(noise) - np.log1p(-noise)
        else:
            noise = sites.standard_exponential((*shape, gains.n_states))
            np.negative(np.log(noise, out=noise), out=noise)
        graph = gains.near, gains.couplings, gains.base, gains.order
        replicas = self.t, self.x, self.f, self.who, self.swaps
        _jit.run_replicas(*graph, noise, uniforms, gains.heats, *replicas, out)

    def arrays(self) -> Arrays:
        own = {"x": self.x, "f": self.f, "who": self.who, "swaps": self.swaps}
        return own | {"t": np.array([self.t], np.int64)}

    def restore(self, arrays: Arrays) -> None:
        high = self.gains.n_states - 1
        self.x = read_array(arrays, "x", self.x.shape, np.uint8, high=high)
        self.f = read_array(arrays, "f", self.f.shape)
        self.who = read_array(arrays, "who", self.who.shape, np.intp)
        if not np.array_equal(np.sort(self.who), np.arange(len(self.who))):
            raise ValueError(f"who = {self.who.tolist()}")
        self.swaps = read_array(arrays, "swaps", self.swaps.shape, np.int64, low=0)
        self.t = int(read_array(arrays, "t", (1,), np.int64, low=0)[0])

    def diagnostics(self) -> dict[str, Any]:
        if len(self.who) == 1:
            return {}
        tried, done = self.swaps.T
        return {"swaps": (done / np.maximum(tried, 1)).tolist()}
