"""Sums site by site: closed forms of rings, chains, stars and strips, and their plans."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herder.models import transfer
from herder.models.exact import exact_field, exact_samples
from herder.models.frontier import plan_sum
from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel
from tests.sharing import shared_out


@pytest.mark.parametrize(
    ("n", "terms"), shared_out([5000, 10, 3], [(0.7, 0.0), (-0.4, 0.3), (1.2, -0.1)])
)
def test_ising_ring(n, terms):
    coupling, field = terms
    exact = PairwiseModel.grid(n, coupling, field, periodic=True).exact(method="transfer")
    root = math.sqrt(math.exp(2 * coupling) * math.sinh(field) ** 2 + math.exp(-2 * coupling))
    first = math.exp(coupling) * math.cosh(field) + root
    second = math.exp(coupling) * math.cosh(field) - root
    log_z = n * math.log(first) + math.log1p((second / first) ** n)
    assert exact.log_partition == pytest.approx(log_z, rel=1e-12)
    if field == 0:
        ratio = second / first
        mean = (ratio + ratio ** (n - 1)) / (1 + ratio**n)  # <s_i s_{i+1}>
        found = exact.pair_marginals
        np.testing.assert_allclose(found[:, 1, 1] + found[:, 0, 0], (1 + mean) / 2, rtol=1e-11)
        np.testing.assert_allclose(exact.marginals, 0.5, rtol=1e-12)


@pytest.mark.parametrize("n_states", [2, 3, 20])
def test_potts_chain(n_states):
    n, coupling = 400, 0.8
    exact = PottsModel.grid(n, n_states, coupling).exact()
    assert exact.method == "transfer"
    log_z = math.log(n_states) + (n - 1) * math.log(math.exp(coupling) + n_states - 1)
    assert exact.log_partition == pytest.approx(log_z, rel=1e-12)
    equal = math.exp(coupling) / (math.exp(coupling) + n_states - 1)
    found = np.trace(exact.pair_marginals, axis1=1, axis2=2)
    np.testing.assert_allclose(found, equal, rtol=1e-11)
    np.testing.assert_allclose(exact.marginals, 1 / n_states, rtol=1e-11)
    per_site = -coupling * equal * (n - 1)
    assert exact.mean_energy == pytest.approx(per_site, rel=1e-11)
    assert exact.entropy == pytest.approx(log_z + per_site, rel=1e-10)


def test_star_with_many_leaves():
    n = 60
    rng = np.random.default_rng(0)
    weights, biases = rng.normal(size=n - 1), rng.normal(size=n)
    hub = 17  # in the middle of the numbering
    leaves = np.delete(np.arange(n), hub)
    model = PairwiseModel.from_edges(
        n, np.column_stack([np.full(n - 1, hub), leaves]), weights, biases, (-1, 1)
    )
    exact = model.exact()
    by_hub = [
        value * biases[hub] + np.sum(np.log(2 * np.cosh(biases[leaves] + value * weights)))
        for value in (-1, 1)
    ]
    assert exact.log_partition == pytest.approx(np.logaddexp(*by_hub), rel=1e-13)
    upper = 1 / (1 + math.exp(by_hub[0] - by_hub[1]))
    assert exact.marginals[hub] == pytest.approx(upper, rel=1e-12)
    given_hub = [1 / (1 + np.exp(-2 * (biases[leaves] + v * weights))) for v in (-1, 1)]
    expected = (1 - upper) * given_hub[0] + upper * given_hub[1]
    np.testing.assert_allclose(exact.marginals[leaves], expected, rtol=1e-12)


def strip(width, length, coupling, field, *, periodic):
    """Give log Z of a grid from powers of the matrix between its rows of ``width`` sites."""
    rows = np.array(list(itertools.product([-1, 1], repeat=width)))
    inside = coupling * (rows[:, 1:] * rows[:, :-1]).sum(axis=1) + field * rows.sum(axis=1)
    if periodic:
        inside += coupling * rows[:, 0] * rows[:, -1]
    between = np.exp(coupling * rows @ rows.T + inside / 2 + inside[:, None] / 2)
    scale = np.linalg.eigvalsh(between).max()
    steps = np.linalg.matrix_power(between / scale, length if periodic else length - 1)
    if periodic:
        return length * math.log(scale) + math.log(np.trace(steps))
    ends = np.exp(inside / 2)
    return (length - 1) * math.log(scale) + math.log(ends @ steps @ ends)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("long_first", [False, True])
def test_strips(periodic, long_first):
    width, length, coupling, field = 4, 40, 0.44, 0.05
    shape = (length, width) if long_first else (width, length)
    exact = PairwiseModel.grid(shape, coupling, field, periodic=periodic).exact()
    assert exact.method == "transfer"
    log_z = strip(width, length, coupling, field, periodic=periodic)
    assert exact.log_partition == pytest.approx(log_z, rel=1e-12)
    # the mean of the sum of all spins is the derivative of log Z by the field
    step = 1e-4
    sides = [strip(width, length, coupling, field + d, periodic=periodic) for d in (-step, step)]
    total = (sides[1] - sides[0]) / (2 * step)
    assert np.sum(2 * exact.marginals - 1) == pytest.approx(total, rel=1e-6)


def test_pairs_and_sites_agree_on_a_wide_grid():
    model = PairwiseModel.random(81, graph="grid", coupling_sd=0.8, random_state=3)
    exact = model.exact()
    i, j = exact.edges.T
    np.testing.assert_allclose(
        exact.pair_marginals[:, 1].sum(axis=1), exact.marginals[i], rtol=1e-11
    )
    np.testing.assert_allclose(
        exact.pair_marginals[:, :, 1].sum(axis=1), exact.marginals[j], rtol=1e-11
    )


def test_marginals_are_derivatives_of_the_partition_function():
    model = PairwiseModel.random(36, graph="grid", states=(0, 1), random_state=5)
    exact, step = model.exact(), 1e-4
    for site in (0, 14, 35):
        sides = []
        for sign in (-1, 1):
            biases = model.biases.copy()
            biases[site] += sign * step
            sides.append(PairwiseModel(model.couplings, biases).exact().log_partition)
        slope = (sides[1] - sides[0]) / (2 * step)
        assert exact.marginals[site] == pytest.approx(slope, rel=1e-6)


def test_messages_made_again_are_the_same(monkeypatch):
    model = PairwiseModel.random(49, graph="grid", random_state=1)
    exact, rows = model.exact(), exact_samples(model, 5, random_state=0)
    monkeypatch.setattr(transfer, "MAX_KEPT", 0)
    again = model.exact()
    assert again.log_partition == exact.log_partition
    np.testing.assert_array_equal(again.marginals, exact.marginals)
    np.testing.assert_array_equal(again.pair_marginals, exact.pair_marginals)
    np.testing.assert_array_equal(exact_samples(model, 5, random_state=0), rows)


@pytest.mark.parametrize("end", [0, 29])
def test_what_looks_hopeless_at_first_may_win(end):
    # All biases but one point down by 1e3; the last pulls the whole chain up.
    biases = np.full(30, -1e3)
    biases[end] = 1e6
    exact = PairwiseModel.from_edges(
        30, np.column_stack([np.arange(29), np.arange(1, 30)]), 5e4, biases, (-1, 1)
    ).exact()
    np.testing.assert_allclose(exact.marginals, 1.0, rtol=1e-12)
    assert exact.log_partition == pytest.approx(1e6 - 29e3 + 29 * 5e4, rel=1e-13)


def test_samples_of_a_ring():
    n, coupling, n_samples = 200, 0.5, 2000
    model = PairwiseModel.grid(n, coupling, periodic=True)
    rows = exact_samples(model, n_samples, random_state=2).astype(float)
    assert set(np.unique(rows)) == {-1.0, 1.0}
    ratio = math.tanh(coupling)
    for lag in (1, 2, 100):
        mean = (ratio**lag + ratio ** (n - lag)) / (1 + ratio**n)
        products = rows[:, 3] * rows[:, (3 + lag) % n]
        error = math.sqrt((1 - mean**2) / n_samples)
        assert abs(products.mean() - mean) < 5 * error
    assert (np.abs(rows.mean(axis=0)) < 5 / math.sqrt(n_samples)).all()


def test_samples_of_a_potts_grid_follow_its_marginals():
    model, n_samples = PottsModel.random(36, 3, graph="grid", random_state=8), 4000
    exact = model.exact()
    assert exact.method == "transfer"
    rows = exact_samples(model, n_samples, random_state=4)
    i, j = exact.edges.T
    found = np.zeros_like(exact.pair_marginals)
    np.add.at(found, (np.arange(len(i)), rows[:, i], rows[:, j]), 1 / n_samples)
    p = exact.pair_marginals
    assert (np.abs(found - p) < 5 * np.sqrt(p * (1 - p) / n_samples)).all()


@st.composite
def graphs(draw):
    n_sites = draw(st.integers(1, 9))
    pairs = list(itertools.combinations(range(n_sites), 2))
    chosen = [pair for pair in pairs if draw(st.booleans())]
    return n_sites, np.array(chosen, dtype=np.intp).reshape(-1, 2)


@given(graphs(), st.integers(2, 3))
def test_plans_take_each_site_and_edge_once(graph, n_states):
    n_sites, edges = graph
    plan = plan_sum(n_sites, edges, n_states)
    assert plan is not None
    assert sorted(step.site for step in plan.steps) == list(range(n_sites))
    assert sorted(edge for step in plan.steps for _, edge in step.links) == list(range(len(edges)))
    frontier, seen, cells = (), set(), 0
    for step in plan.steps:
        assert step.frontier == (step.site, *frontier)
        seen.add(step.site)
        cells += n_states ** len(step.frontier)
        for axis, edge in step.links:
            assert set(edges[edge].tolist()) == {step.site, step.frontier[axis]}
        frontier = list(step.frontier)
        for axis in step.drops:
            del frontier[axis]
        frontier = tuple(frontier)
        waiting = {
            int(a) for a, b in [*edges, *edges[:, ::-1]] if int(a) in seen and int(b) not in seen
        }
        assert set(frontier) == waiting
    assert frontier == ()
    assert plan.cost == cells


def test_plans_stay_narrow_on_trees_and_strips():
    children = np.arange(1, 2**10 - 1)
    tree = np.column_stack([(children - 1) // 2, children])
    plan = plan_sum(2**10 - 1, tree, 2)
    assert plan is not None
    assert max(len(step.frontier) for step in plan.steps) <= 10
    across = PairwiseModel.grid((3, 100))
    plan = plan_sum(300, across.edges, 2)
    assert plan is not None
    assert max(len(step.frontier) for step in plan.steps) <= 5


def test_plans_find_the_width_of_a_grid_with_shuffled_sites():
    grid = PairwiseModel.grid((6, 40))
    shuffled = np.random.default_rng(1).permutation(240)[grid.edges]
    plan = plan_sum(240, np.sort(shuffled, axis=1), 2)
    assert plan is not None
    assert max(len(step.frontier) for step in plan.steps) == 7  # six sites and the new one


def test_plans_that_need_too_large_a_table_are_none():
    full = np.column_stack(np.triu_indices(8, 1))
    assert plan_sum(8, full, 2, max_cells=2**8) is not None
    assert plan_sum(8, full, 2, max_cells=2**7) is None


def test_sites_without_edges_cost_nothing():
    model = PairwiseModel.random(500, graph="empty", random_state=0)
    exact = exact_field(model)
    np.testing.assert_allclose(exact.marginals, 1 / (1 + np.exp(-2 * model.biases)), rtol=1e-12)
    log_z = np.sum(np.log(2 * np.cosh(model.biases)))
    assert exact.log_partition == pytest.approx(log_z, rel=1e-13)
    assert exact.pair_marginals.shape == (0, 2, 2)
