r"""Herded Gibbs: Gibbs sampling by herding, not by chance [bornn2013]_, [chen2014]_.

Each site i has a weight vector for every state c of its neighbours that has occurred. A visit
takes the weights of the current neighbourhood and makes one step of herding,

.. math:: x_i = \arg\max_a w_{i, c, a}, \qquad
          w_{i, c} \leftarrow w_{i, c} + p(x_i \mid c) - e_{x_i},

algorithm 4.1 of the thesis; for binary sites, :math:`x_i = [w > 0]` and
:math:`w \leftarrow w + p - x_i`. After n visits of a neighbourhood the conditional frequencies of
a binary site are right within 1/n, those of more states within 2/n. On complete graphs the joint
distribution is then reached at rate 1/T (theorem 4.4), on empty graphs if the probabilities are
rationally independent (theorem 4.1). On all other graphs there is no guarantee: neighbourhoods are
counted, joint states are not, and the error may stop at a floor that depends on the scan order
(figure 4.6). See `check_scan_orders`.

Weights and probabilities are whole multiples of :math:`2^{-52}`, so that nothing is ever rounded
once a probability is known, and ties do not depend on rounding: the lowest state wins. First
weights are spread over the invariant interval by a hash of site and neighbourhood: p - u with u
uniform in [0, 1) for binary sites, and for others so that each state comes first with its
probability; all that is fixed, not random. They may all be in its middle too, p - 1/q, as in most
papers; but then the sites of a uniform grid move in step, and the error stays where it falls with
spread weights; and a neighbourhood that occurs only once takes its most probable state, so that
a model with many neighbours is maximised instead of sampled.
"""

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import one_of, positive_int
from herder.core.plain import Arrays, read_array
from herder.models.potts import PottsModel
from herder.samplers import _herded_jit as _jit
from herder.samplers.condition import ConditionedModel
from herder.samplers.gibbs import Table, chance_table
from herder.samplers.orders import Field
from herder.samplers.run import ChainFactory, RunOptions, check_options, run_chains
from herder.samplers.sampling import Sampling

__all__ = ["herded_factory", "herded_gibbs"]

INITIAL = ("spread", "centre")

#: Neighbours up to which weights are kept in a table, and its entries at most.
TABLE_WIDTH = 10
TABLE_SIZE = 2**22

#: First slots of the table of contexts; a power of two.
SLOTS = 2**12

#: Streams of words: marks of states and names of sites have 1 and 3, first states odd ones above.
FIRST = 5

#: Slots that a key is from its own, on average, in a table that is crowded: below one as a rule.
CROWDED = 64

#: No weight is ever as far from zero as this, and sums of such numbers do not overflow.
FAR = 2**60

#: What is kept of a context.
KEPT = ("first", "second", "weights", "chances")


def herded_gibbs(
    model: Field,
    n_sweeps: int,
    *,
    order: str | ArrayLike = "sequential",
    initial: str = "spread",
    max_contexts: int = 2**25,
    evidence: Mapping[Any, Any] | None = None,
    **run: Unpack[RunOptions],
) -> Sampling:
    """Sample a model by herded Gibbs: deterministic, and often far more accurate than Gibbs.

    There is no guarantee on general graphs, and the error has a floor there; the scan order
    matters. Densely connected models need one weight for each neighbourhood that occurs.

    Parameters
    ----------
    model : PairwiseModel or PottsModel
        What is sampled.
    n_sweeps : int
        Sweeps of each chain, after the burn-in; each yields a state.
    order : {"sequential", "reversed", "checkerboard"} or array-like of int
        Order of the sites within a sweep.
    initial : {"spread", "centre"}
        First weights: spread over their interval, by a fixed hash, or all in its middle.
    max_contexts : int
        Pairs of a site and its neighbourhood that a chain keeps at most; each takes up to 150
        bytes for binary sites while the table grows. A run that meets more ends with an error.
    evidence : mapping, optional
        Sites, by number or name, to values that they are held at.
    **run
        Chains, burn-in, what to keep and to average: see `RunOptions`. Chains differ by their
        first weights and states, which follow from their number: nothing is random.

    Returns
    -------
    Sampling
        States, marginals, and in the diagnostics the number of weights that are kept. Errors
        by batch means do not include a floor.

    Examples
    --------
    >>> from herder import PairwiseModel, herded_gibbs
    >>> model = PairwiseModel.grid((4, 4), coupling=0.3, field=0.1)
    >>> result = herded_gibbs(model, 20_000)
    >>> bool(abs(result.marginals - model.exact().marginals).max() < 0.003)
    True
    """
    run = check_options("herded_gibbs", run)
    condition = ConditionedModel(model, evidence)
    factory = herded_factory(condition, order=order, initial=initial, max_contexts=max_contexts)
    return run_chains("herded-gibbs", condition, factory, n_sweeps, **run)


def herded_factory(
    condition: ConditionedModel,
    *,
    order: str | ArrayLike = "sequential",
    initial: str = "spread",
    max_contexts: int = 2**25,
) -> ChainFactory:
    """Return the maker of chains."""
    model, path = condition.field, condition.scan(order)
    spread = one_of(initial, "initial", INITIAL) == "spread"
    limit = positive_int(max_contexts, "max_contexts")
    options = (initial, path.tobytes())
    table = chance_table(model, path, TABLE_WIDTH, TABLE_SIZE)
    if table is not None:
        n_weights = int((2 ** np.diff(model.adjacency.indptr)).sum())
        return ChainFactory(
            lambda k, start: _TableHerd(table, k, start, spread, n_weights), options
        )
    potts = _as_potts(model)
    return ChainFactory(
        lambda k, start: _ContextHerd(potts, path, k, start, spread, limit), options
    )


def _scattered_words(number: int, shape: tuple[int, ...]) -> NDArray[np.uint64]:
    """Return words whose bits are well mixed, the same for the same number (splitmix64)."""
    size = int(np.prod(shape))
    gamma = np.uint64(0x9E3779B97F4A7C15)
    seed = np.array([number], dtype=np.uint64) * np.uint64(0xD1B54A32D192ED03)
    words = seed + np.arange(1, size + 1, dtype=np.uint64) * gamma
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return (words ^ (words >> np.uint64(31))).reshape(shape)


def _first_state(n_sites: int, n_states: int, number: int) -> NDArray[np.uint8]:
    """Return the state that chain ``number`` begins with: the lowest for the first."""
    if number == 0:
        return np.zeros(n_sites, dtype=np.uint8)
    words = _scattered_words(2 * number + FIRST, (n_sites,))
    return ((words >> np.uint64(32)) * np.uint64(n_states) >> np.uint64(32)).astype(np.uint8)


class _TableHerd:
    """A chain of 0/1 sites whose weights are all in one table.

    Parameters
    ----------
    table : Table
        What all chains share.
    number : int
        Of the chain, from which its start follows.
    start : ndarray or None
        First state, if it is given.
    spread : bool
        Whether first weights are spread.
    n_weights : int
        Neighbourhoods that there are; the table is wider.
    """

    generators = ()

    def __init__(
        self,
        table: Table,
        number: int,
        start: NDArray[np.uint8] | None,
        spread: bool,
        n_weights: int,
    ) -> None:
        self.order, self.near, self.n_weights = table.order, table.near, n_weights
        chances = np.rint(table.chances * _jit.UNIT).astype(np.int64)
        share: Any = _jit.UNIT // 2
        if spread:
            share = (_scattered_words(2 * number, chances.shape) >> np.uint64(12)).astype(np.int64)
        self.table = np.stack([chances - share, chances], axis=2)
        first = _first_state(len(chances), 2, number) if start is None else start
        self.x = np.append(first, np.uint8(0))

    def advance(self, out: NDArray[np.uint8]) -> None:
        """Fill each row with the state after one more sweep."""
        _jit.sweep_table(self.near, self.order, self.table, self.x, out)

    def arrays(self) -> Arrays:
        """Return the state and the weights."""
        return {"x": self.x, "weights": self.table[:, :, 0]}

    def restore(self, arrays: Arrays) -> None:
        """Resume from what `arrays` returned."""
        self.x = read_array(arrays, "x", self.x.shape, np.uint8, high=1)
        self.x[-1] = 0  # the neighbour that sites with few neighbours have
        shape = self.table.shape[:2]
        self.table[:, :, 0] = read_array(arrays, "weights", shape, np.int64, low=-FAR, high=FAR)

    def diagnostics(self) -> dict[str, Any]:
        """Return the number of weights: one for each neighbourhood."""
        return {"n_weights": self.n_weights}


class _ContextHerd:
    """A chain that keeps weights for the neighbourhoods that have occurred, by a hash of them.

    The key of a neighbourhood has 128 bits, made by exclusive-or of words for each neighbour and
    its state. Two of n neighbourhoods have the same key with probability n^2 / 2^129: below
    1e-23 for 2^25 of them.
    """

    generators = ()

    def __init__(
        self,
        model: PottsModel,
        order: NDArray[np.intp],
        number: int,
        start: NDArray[np.uint8] | None,
        spread: bool,
        limit: int,
    ) -> None:
        n_sites, n_states = model.fields.shape
        marks = _scattered_words(1, (2, n_sites, n_states)), _scattered_words(3, (2, n_sites))
        self.graph = _jit.Graph(*model.adjacency, model.fields, *marks)
        self.order, self.limit, self.spread = order, limit, spread
        self.salt = _scattered_words(2 * number, (1,))[0]
        self._grow(_empty_contexts(0, n_states))
        self.x = _first_state(n_sites, n_states, number) if start is None else start

    def _grow(self, old: _jit.Contexts) -> None:
        """Move contexts to a table in which one more sweep fits."""
        size = self._size(int(old.met[0]))
        self.contexts = _empty_contexts(size, self.graph.fields.shape[1])
        _jit.move_contexts(old, self.contexts)

    def _size(self, n_contexts: int) -> int:
        size = SLOTS
        while n_contexts + len(self.order) > size * 2 // 3:
            size *= 2
        return size

    def advance(self, out: NDArray[np.uint8]) -> None:
        """Fill each row with the state after one more sweep."""
        start = self.salt, self.spread, self.x
        done = 0
        while done < len(out):
            done += _jit.sweep_contexts(self.graph, self.order, self.contexts, *start, out[done:])
            met = int(self.contexts.met[0])
            if met > self.limit:
                got = f"{self.limit}: {met} neighbourhoods occurred; gibbs keeps no weights"
                raise ParameterError("max_contexts", "be larger", got=got)
            if done < len(out):
                self._grow(self.contexts)

    def arrays(self) -> Arrays:
        """Return the state and the weights of all contexts."""
        contexts = self.contexts
        used = (contexts.first != 0) | (contexts.second != 0)
        return {"x": self.x} | {key: getattr(contexts, key)[used] for key in KEPT}

    def restore(self, arrays: Arrays) -> None:
        """Resume from what `arrays` returned."""
        n_states = self.graph.fields.shape[1]
        self.x = read_array(arrays, "x", self.x.shape, np.uint8, high=n_states - 1)
        first = read_array(arrays, "first", (None,), np.uint64)
        shape = (len(first), n_states)
        chances = read_array(arrays, "chances", shape, np.int64, low=0, high=_jit.UNIT)
        if (chances.sum(axis=1) != _jit.UNIT).any():
            raise ValueError("chances that do not add up to one")
        _check_scattered(first, self._size(len(first)))
        found = _jit.Contexts(
            first,
            read_array(arrays, "second", (len(first),), np.uint64),
            read_array(arrays, "weights", shape, np.int64, low=-FAR, high=FAR),
            chances,
            np.array([len(first)], dtype=np.int64),
        )
        self._grow(found)

    def diagnostics(self) -> dict[str, Any]:
        """Return the number of weights that are kept."""
        return {"n_weights": int(self.contexts.met[0]) * (self.contexts.weights.shape[1] - 1)}


def _check_scattered(first: NDArray[np.uint64], size: int) -> None:
    """Refuse keys that would be in each other's way: a table of them would take for ever."""
    turn = np.arange(len(first))
    homes = np.sort((first & np.uint64(size - 1)).astype(np.int64))
    taken = np.maximum.accumulate(homes - turn) + turn  # each takes the next slot that is free
    if len(first) and (taken - homes).mean() > CROWDED:
        raise ValueError("keys of neighbourhoods that are not scattered")


def _as_potts(model: Field) -> PottsModel:
    """Return a binary model as one with two states of a Potts model; a Potts model as it is.

    With :math:`x_i x_j = [x_i = x_j] / 2 + (x_i + x_j - 1) / 2` for 0/1 states.
    """
    if isinstance(model, PottsModel):
        return model
    bits = model.to_states((0, 1))
    rows: Any = bits.couplings
    upper = bits.biases + np.asarray(rows.sum(axis=1)).ravel() / 2
    return PottsModel(rows / 2, np.column_stack([np.zeros(len(upper)), upper]))


def _empty_contexts(size: int, n_states: int) -> _jit.Contexts:
    """Return room for the weights of ``size`` contexts."""
    first, second = np.zeros((2, size), dtype=np.uint64)
    weights, chances = np.zeros((2, size, n_states), dtype=np.int64)
    return _jit.Contexts(first, second, weights, chances, np.zeros(1, dtype=np.int64))
