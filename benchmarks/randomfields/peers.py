"""Peers that sample pairwise models: the annealer of dwave-samplers, and thrml.

Each runs the same sweeps of Gibbs sampling at temperature 1. The annealer gives the last state of
each read; thrml visits the two colours of a grid in turn, compiled before the clock starts.
"""

import time
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder import PairwiseModel

__all__ = ["PEERS", "Compiled", "annealer", "missing", "thrml_chains"]

Sampler = Callable[[], NDArray[np.float64]]

#: Modules, and the packages that bring them.
PEERS = {"dwave.samplers": "dwave-samplers", "thrml": "thrml"}


class Compiled(NamedTuple):
    """A run that gives states as rows, 0 or 1, and the seconds that it took to compile it."""

    run: Sampler
    seconds: float


@cache
def missing(module: str) -> bool:
    """Say in one line how to get a peer that is not installed."""
    try:
        import_module(module)
    except ModuleNotFoundError:
        print(f"{PEERS[module]} is not installed, and left out: pip install -e '.[bench]'")
        return True
    return False


def annealer(model: PairwiseModel, n_reads: int, n_sweeps: int) -> Sampler:
    """Give a run of reads at a fixed temperature, each of so many sweeps."""
    sampler = import_module("dwave.samplers").SimulatedAnnealingSampler()
    quadratic = model.to_dimod()
    columns = np.arange(model.n_sites)

    def run() -> NDArray[np.float64]:
        found = sampler.sample(
            quadratic,
            num_reads=n_reads,
            beta_schedule=np.ones(1),
            num_sweeps_per_beta=n_sweeps,
            beta_schedule_type="custom",
            proposal_acceptance_criteria="Gibbs",
            seed=1,
        )
        places = [found.variables.index(i) for i in columns]
        return (found.record.sample[:, places] + 1) / 2

    return run


def thrml_chains(
    model: PairwiseModel, n_chains: int, n_sweeps: int, *, keep: bool = True
) -> Compiled:
    """Give a run of chains side by side, on a square grid of -1/+1 sites.

    Without ``keep`` only the last state of each chain is given.
    """
    thrml: Any = import_module("thrml")
    models: Any = import_module("thrml.models")
    jax: Any = import_module("jax")
    side = round(model.n_sites**0.5)
    nodes = [thrml.SpinNode() for _ in range(model.n_sites)]
    pairs = [(nodes[i], nodes[j]) for i, j in model.edges.tolist()]
    numbers = [jax.numpy.asarray(part) for part in (model.biases, model.edge_weights, 1.0)]
    ising = models.IsingEBM(nodes, pairs, *numbers)
    rows, columns = np.divmod(np.arange(model.n_sites), side)
    colours = [np.flatnonzero((rows + columns) % 2 == colour) for colour in (0, 1)]
    blocks = [thrml.Block([nodes[i] for i in sites]) for sites in colours]
    program = models.IsingSamplingProgram(ising, blocks, clamped_blocks=[])
    warm, kept = (0, n_sweeps) if keep else (n_sweeps, 1)
    schedule = thrml.SamplingSchedule(n_warmup=warm, n_samples=kept, steps_per_sample=1)

    def chain(key: Any) -> Any:
        first, rest = jax.random.split(key)
        start = models.hinton_init(first, ising, blocks, ())
        everywhere = [thrml.Block(nodes)]
        return thrml.sample_states(rest, program, schedule, start, [], everywhere)[0]

    keys = jax.random.split(jax.random.key(0), n_chains)
    start = time.process_time()
    many = jax.vmap(chain) if n_chains > 1 else lambda keys: chain(keys[0])
    compiled = jax.jit(many).lower(keys).compile()
    seconds = time.process_time() - start

    def run() -> NDArray[np.float64]:
        return np.asarray(compiled(keys)).reshape(-1, model.n_sites)

    return Compiled(run, seconds)
