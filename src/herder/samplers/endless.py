"""Endless streams of states."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._validation import one_of
from herder.samplers.clusters import cluster_factory
from herder.samplers.condition import ConditionedModel
from herder.samplers.gibbs import gibbs_factory
from herder.samplers.herded import herded_factory
from herder.samplers.orders import Field
from herder.samplers.run import BLOCK, ChainFactory

__all__ = ["stream"]

FACTORIES: dict[str, Callable[..., ChainFactory]] = {
    "gibbs": gibbs_factory,
    "herded-gibbs": herded_factory,
    "swendsen-wang": cluster_factory,
}


def stream(
    model: Field,
    method: str = "gibbs",
    *,
    evidence: Mapping[Any, Any] | None = None,
    start: ArrayLike | None = None,
    **options: Any,
) -> Iterator[NDArray[np.int8]]:
    """Return an endless iterator of states; the first n are the samples of a run of n sweeps.

    Parameters
    ----------
    model : PairwiseModel or PottsModel
        What is sampled.
    method : {"gibbs", "herded-gibbs", "swendsen-wang"}
        The sampler.
    evidence : mapping, optional
        Sites, by number or name, to values that they are held at.
    start : array-like of shape (n_sites,), optional
        First state.
    **options
        Of the sampler: ``order``, ``temperatures``, ``initial``, ``random_state``.

    Examples
    --------
    >>> from itertools import islice
    >>> from herder import PairwiseModel
    >>> from herder.samplers import stream
    >>> model = PairwiseModel([[0, 1], [1, 0]], states=(0, 1))
    >>> [state.tolist() for state in islice(stream(model, "herded-gibbs"), 3)]
    [[0, 1], [1, 0], [1, 1]]
    """
    one_of(method, "method", tuple(FACTORIES))
    condition = ConditionedModel(model, evidence)
    factory = FACTORIES[method](condition, **options)
    chain = factory.make(0, condition.starts(start, 1)[0])
    shape = max(1, min(64, BLOCK // condition.field.n_sites)), condition.field.n_sites

    def states() -> Iterator[NDArray[np.int8]]:
        while True:
            block = np.empty(shape, dtype=np.uint8)
            chain.advance(block)
            yield from condition.values(condition.whole(block))

    return states()
