from dataclasses import replace

import pytest

from herder.kernel.cost import ThinningCost, exact_cost

EXACT = ThinningCost(
    n=200_000,
    d=6,
    m=300,
    kernel="gaussian",
    approximate=None,
    refine=True,
    weighted=False,
    threads=2,
)


def test_the_exact_choice_costs_what_the_library_says():
    assert EXACT.choice() == exact_cost(200_000, 6, 300, sweeps=None, n_jobs=2)
    weighted = replace(EXACT, weighted=True).choice()
    assert weighted.seconds == pytest.approx(2 * EXACT.choice().seconds)
    assert EXACT.distance().pairs == pytest.approx(200_000**2 / 2, rel=1e-4)


@pytest.mark.parametrize("approximate", ["subsample", "chunks"])
def test_approximations_look_at_fewer_pairs(approximate):
    fewer = replace(EXACT, approximate=approximate).choice()
    assert fewer.pairs < EXACT.choice().pairs / 3
    assert fewer.seconds < EXACT.choice().seconds / 3


@pytest.mark.parametrize("approximate", [None, "subsample", "chunks", "features"])
@pytest.mark.parametrize("kernel", ["gaussian", "stein"])
def test_cost_grows_with_everything(approximate, kernel):
    effort = replace(EXACT, approximate=approximate, kernel=kernel)
    cost = effort.choice()
    larger = replace(effort, n=2 * effort.n).choice()
    if approximate == "features":
        # Only the pool's features are held, and the exchange within it does not see the others.
        assert larger.seconds > cost.seconds > 0
        assert larger.memory == cost.memory
    else:
        assert larger.seconds > 1.9 * cost.seconds > 0
        assert larger.memory == pytest.approx(2 * cost.memory)
    assert replace(effort, m=600).choice().pairs > cost.pairs
    assert replace(effort, refine=False).choice().pairs < cost.pairs
    assert effort.distance().seconds > 0
