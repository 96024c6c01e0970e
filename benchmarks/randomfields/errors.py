r"""Errors of marginals on random grids, by Gibbs sampling and by herded Gibbs.

A length is reached by going on from the one before, so that the averages of a long run contain
those of the short ones. Errors are pooled over sites, models and seeds as root mean squares. The
error of Gibbs sampling falls as :math:`T^{-1/2}`; from its value g at T sweeps it comes down to
the error h of a herd after :math:`T (g / h)^2` sweeps.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.randomfields.cases import random_grid
from herder import PairwiseModel, gibbs, herded_gibbs

__all__ = ["BURN_IN", "PLANS", "Gain", "Plan", "compare_errors", "error_traces", "pooled"]

BURN_IN = 1000


class Plan(NamedTuple):
    """A way to sample: how many seeds of a model, and the lengths that are looked at."""

    name: str
    seeds: int
    lengths: Sequence[int]
    order: str = "sequential"
    initial: str | None = None


SHORT, LONG = (10**4, 10**5), (10**6, 4 * 10**6)

#: Herds have first weights, Gibbs has none. "random" is a permutation of the sites, another one
#: for each model and seed. The long plans show where herds stop.
PLANS = (
    Plan("Gibbs", 3, SHORT),
    Plan("herded", 3, SHORT, initial="spread"),
    Plan("herded, checkerboard", 3, SHORT, "checkerboard", "spread"),
    Plan("herded, reversed", 3, SHORT, "reversed", "spread"),
    Plan("herded, random order", 3, SHORT, "random", "spread"),
    Plan("herded, centre", 3, SHORT, initial="centre"),
    Plan("Gibbs, long", 1, LONG[:1]),
    Plan("herded, long", 1, LONG, initial="spread"),
    Plan("herded, checkerboard, long", 1, LONG[:1], "checkerboard", "spread"),
)


class Gain(NamedTuple):
    """How many times as small an error is, and its quantiles (5, 95 %) over resampled models."""

    ratio: float
    lower: float
    upper: float


def error_traces(
    plan: Plan, coupling_sd: float, n_models: int
) -> Mapping[int, NDArray[np.float64]]:
    """Give mean square errors of the marginals, (n_models, seeds), after each length."""
    found = {length: np.empty((n_models, plan.seeds)) for length in plan.lengths}
    for k in range(n_models):
        model = random_grid(coupling_sd, k)
        truth = model.exact().marginals
        for seed in range(plan.seeds):
            rng = np.random.default_rng([k, seed])
            start = rng.choice(model.states, model.n_sites)
            order: Any = plan.order
            if order == "random":
                order = rng.permutation(model.n_sites)
            for length, marginals in _marginals(plan, model, order, start, seed):
                found[length][k, seed] = np.square(marginals - truth).mean()
    return found


def _marginals(
    plan: Plan, model: PairwiseModel, order: Any, start: NDArray[np.int_], seed: int
) -> list[tuple[int, NDArray[np.float64]]]:
    way: dict[str, Any] = {"order": order, "keep": False, "n_jobs": 1}
    result, done, found = None, 0, []
    for length in plan.lengths:
        go_on = {"resume": result} if result else {"burn_in": BURN_IN, "start": start}
        run: Any = {**way, **go_on}
        if plan.initial is None:
            result = gibbs(model, length - done, random_state=seed, **run)
        else:
            result = herded_gibbs(model, length - done, initial=plan.initial, **run)
        done = length
        found.append((length, result.marginals))
    return found


def pooled(squares: NDArray[np.float64]) -> float:
    return float(np.sqrt(squares.mean()))


def compare_errors(ours: NDArray[np.float64], base: NDArray[np.float64]) -> Gain:
    """Compare mean square errors on the same models, which are the rows of both."""
    rng = np.random.default_rng(0)
    picks = rng.integers(len(ours), size=(2000, len(ours)))
    ratios = np.sqrt(base[picks].mean(axis=(1, 2)) / ours[picks].mean(axis=(1, 2)))
    lower, upper = np.quantile(ratios, (0.05, 0.95))
    return Gain(pooled(base) / pooled(ours), float(lower), float(upper))
