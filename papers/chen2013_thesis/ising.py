"""The critical Ising model on a torus, sampled by Swendsen-Wang and herded from its moments.

The thesis gives neither the boundary nor the first weights. Here the lattice is a torus, since
pair averages are said to be the same for all edges. With equal initial weights all sites would
move together, so they are random, uniform in [-1, 1].
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from herder import Moments, PairwiseModel, moment_herd, swendsen_wang
from papers.chen2013_thesis import data

Floats = NDArray[np.float64]
States = NDArray[np.int8]

SIDE, QUICK_SIDE = 100, 24
TEMPERATURE = 2 / np.log(1 + np.sqrt(2))

#: Sweeps of Swendsen-Wang, burn-in, and thinning.
N_SWEEPS, BURN_IN, THINNING = 20_000, 500, 20
N_QUICK_SWEEPS, QUICK_THINNING = 2000, 10

#: Herded states, burn-in, and thinning.
N_HERDED, N_SKIPPED, HERDED_EVERY = 5000, 500, 5
N_QUICK_HERDED = 1500

#: Total of the counts: moments are rounded to a millionth.
TOTAL = 1_000_000


@dataclass(frozen=True, eq=False)
class Herded:
    """Herded states on the torus, the largest moment error and the PCT violations."""

    states: States
    error: float
    violations: int


@dataclass(frozen=True, eq=False)
class Sampled:
    """States of Swendsen-Wang, and the edge average of products with its standard error."""

    states: States
    pair: float
    error: float


@cache
def torus(quick: bool) -> PairwiseModel:
    """Build the Ising model at its critical temperature."""
    side = QUICK_SIDE if quick else SIDE
    return PairwiseModel.grid((side, side), periodic=True, temperature=TEMPERATURE)


@cache
def sample(quick: bool) -> Sampled:
    """Run Swendsen-Wang."""
    n_sweeps, thinning = (N_QUICK_SWEEPS, QUICK_THINNING) if quick else (N_SWEEPS, THINNING)
    model = torus(quick)
    found = swendsen_wang(
        model, n_sweeps, burn_in=BURN_IN, thinning=thinning, random_state=data.SEED
    )
    products = [pair_average(state, model.edges) for state in found.samples]
    batches = [float(np.mean(part)) for part in np.array_split(products, 20)]
    error = float(np.std(batches, ddof=1) / np.sqrt(len(batches)))
    return Sampled(found.samples, float(np.mean(products)), error)


@cache
def herd(quick: bool, scan: str = "rows") -> Herded:
    """Match single means of zero and the pair average of Swendsen-Wang, equal on all edges."""
    moments = _moments(torus(quick), sample(quick).pair)
    random = np.random.default_rng([data.SEED, 26])
    start = random.integers(-TOTAL, TOTAL, size=len(moments.cliques), endpoint=True)
    order = random.permutation(moments.n_variables) if scan == "random" else None
    found = moment_herd(
        moments,
        N_QUICK_HERDED if quick else N_HERDED,
        encoding="+-1",
        restarts="none",
        start_weights=start,
        scan=order,
    )
    states = 2 * found.samples[N_SKIPPED::HERDED_EVERY].astype(np.int8) - 1
    return Herded(states, found.diagnostics.moment_error, found.diagnostics.violations)


def _moments(model: PairwiseModel, pair: float) -> Moments:
    sites, edges = np.arange(model.n_sites), model.edges
    first = np.concatenate([sites, edges[:, 0]])
    second = np.concatenate([sites, edges[:, 1]])
    both_up = np.rint(TOTAL * (1 + pair) / 4)
    table = {
        "variable_a": [f"x{k}" for k in first],
        "variable_b": [f"x{k}" for k in second],
        "count": np.where(first == second, TOTAL / 2, both_up),
        "total": np.full(len(first), TOTAL),
    }
    moments = Moments.from_counts(table, contradictions="allow")
    # The states of Swendsen-Wang, translated, rotated and with both signs, are rows with these
    # counts, so there is no need to check 30,000 tables for contradictions.
    return replace(moments, from_rows=True)


def pair_average(state: States, edges: NDArray[np.intp]) -> float:
    """Average of the products over the edges."""
    return float(np.mean(state[edges[:, 0]] * state[edges[:, 1]]))


def exact_pair(side: int) -> float:
    """Average product over an edge of a critical torus, up to terms of order 1 / side^3.

    Ferdinand and Fisher (1969): 1 / sqrt 2 + t2 t3 t4 / (t2 + t3 + t4) / side, with the theta
    constants of nome exp(-pi).
    """
    n = np.arange(1, 6)
    nome = np.exp(-np.pi)
    t2 = 2 * np.sum(nome ** ((n - 0.5) ** 2))
    t3, t4 = (1 + 2 * np.sum(sign**n * nome ** (n**2)) for sign in (1.0, -1.0))
    return float(1 / np.sqrt(2) + t2 * t3 * t4 / (t2 + t3 + t4) / side)


def correlation(states: States, distances: NDArray[np.intp]) -> Floats:
    """Average product of two sites of a torus at the given distances along an axis."""
    side = round(np.sqrt(states.shape[1]))
    grids = states.reshape(-1, side, side)
    found = []
    for d in distances:
        along = [np.mean(grids * np.roll(grids, d, axis=axis)) for axis in (1, 2)]
        found.append(float(np.mean(along)))
    return np.array(found)


def component_sizes(states: States, edges: NDArray[np.intp]) -> NDArray[np.intp]:
    """Sizes of the connected components of equal sites, over all states."""
    n_sites = states.shape[1]
    sizes = []
    for state in states:
        i, j = edges[state[edges[:, 0]] == state[edges[:, 1]]].T
        graph = coo_array((np.ones(len(i), np.int8), (i, j)), shape=(n_sites, n_sites))
        sizes.append(np.bincount(connected_components(graph, directed=False)[1]))
    return np.concatenate(sizes)
