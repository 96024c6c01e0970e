import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from herder import PairwiseModel, PottsModel, loopy_bp
from herder.models.tables import total_score
from herder.samplers.belief import propagate
from tests.naming import refuses
from tests.samplers.plain import COMPLETE_4, draw_pairwise, draw_potts, log_weight, small_models

MODELS = small_models()


def forest(n_sites, rng):
    """Draw edges of a forest over sites in any order; about one site in four begins a tree."""
    place = rng.permutation(n_sites)
    return [(int(place[i]), int(place[rng.integers(i)])) for i in range(1, n_sites) if i % 4]


def marginals_by_sum(fields, edges, tables):
    """Sum over all labels of a graph with a table for each edge: log Z, sites, edges."""
    n, k = fields.shape
    rows = np.array(list(itertools.product(range(k), repeat=n)))
    scores = np.array([total_score(fields, edges, tables, row) for row in rows])
    weights = np.exp(scores - scores.max())
    value, p = scores.max() + np.log(weights.sum()), weights / weights.sum()
    sites = np.stack([p @ (rows == a) for a in range(k)], axis=1)
    pairs = np.zeros((len(edges), k, k))
    for e, (i, j) in enumerate(edges):
        np.add.at(pairs[e], (rows[:, i], rows[:, j]), p)
    return value, sites, pairs


def plain_messages(fields, edges, tables, order, damping, n_iter):
    """Pass messages by the formula, in a dictionary by sender and receiver."""
    n, k = fields.shape
    gains, near = {}, {i: [] for i in range(n)}
    for (i, j), table in zip(edges.tolist(), tables, strict=True):
        gains[i, j], gains[j, i] = table, table.T
        near[i].append(j)
        near[j].append(i)
    messages = {pair: np.zeros(k) for pair in gains}
    rank = {site: place for place, site in enumerate(order)}
    for _ in range(n_iter):
        for back, sites in ((True, order[::-1]), (False, order)):
            for i in sites:
                for j in near[i]:
                    if (rank[j] < rank[i]) == back:
                        cavity = fields[i] + sum(messages[m, i] for m in near[i] if m != j)
                        fresh = np.logaddexp.reduce(cavity[:, None] + gains[i, j], axis=0)
                        kept = damping * messages[i, j]
                        messages[i, j] = kept + (1 - damping) * (fresh - fresh.max())
    beliefs = np.array([fields[i] + sum(messages[m, i] for m in near[i]) for i in range(n)])
    weights = np.exp(beliefs - beliefs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


@given(
    st.integers(1, 7),
    st.sampled_from([(-1, 1), (0, 1), 3]),
    st.sampled_from([0.0, 0.1, 0.5]),
    st.sampled_from([0.3, 3.0]),
    st.integers(0, 2**32 - 1),
)
def test_forests_are_exact(n_sites, states, damping, strength, seed):
    edges = forest(n_sites, np.random.default_rng(seed))
    if states == 3:
        model = draw_potts(n_sites, 3, edges, seed, strength=strength)
    else:
        model = draw_pairwise(n_sites, edges, seed, states=states, strength=strength)
    found, exact = loopy_bp(model, damping=damping, tol=1e-12), model.exact()
    assert found.converged
    np.testing.assert_allclose(found.marginals, exact.marginals, atol=1e-10)
    np.testing.assert_array_equal(found.edges, exact.edges)
    np.testing.assert_allclose(found.pair_marginals, exact.pair_marginals, atol=1e-10)
    assert found.log_partition == pytest.approx(exact.log_partition, abs=1e-10)


@given(st.integers(1, 6), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_every_edge_may_have_its_own_table(n_sites, n_states, seed):
    rng = np.random.default_rng(seed)
    edges = np.array(forest(n_sites, rng), dtype=np.intp).reshape(-1, 2)
    fields, tables = (
        rng.normal(size=(n_sites, n_states)),
        rng.normal(size=(len(edges), n_states, n_states)),
    )
    found = propagate(fields, edges, tables, damping=0.0)
    value, sites, pairs = marginals_by_sum(fields, edges, tables)
    assert found.log_partition == pytest.approx(value, abs=1e-10)
    np.testing.assert_allclose(found.marginals, sites, atol=1e-10)
    np.testing.assert_allclose(found.pair_marginals, pairs, atol=1e-10)
    turned = propagate(fields, edges[:, ::-1], tables.transpose(0, 2, 1), damping=0.0)
    np.testing.assert_allclose(turned.marginals, sites, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_beliefs_are_a_fixed_point(name):
    """They agree with each other, and their product over sites and edges is the distribution."""
    model = MODELS[name]
    found = loopy_bp(model, tol=1e-12)
    assert found.converged
    sites = found.marginals
    if sites.ndim == 1:
        sites = np.column_stack([1 - sites, sites])
    pairs, (one, other) = found.pair_marginals, found.edges.T
    np.testing.assert_allclose(pairs.sum(axis=2), sites[one], atol=1e-10)
    np.testing.assert_allclose(pairs.sum(axis=1), sites[other], atol=1e-10)
    ratios = np.log(pairs) - np.log(sites[one][:, :, None] * sites[other][:, None, :])
    for codes in itertools.product(range(model.n_states), repeat=model.n_sites):
        product = total_score(np.log(sites), found.edges, ratios, np.array(codes))
        score = log_weight(model, np.array(model.states)[list(codes)])
        assert score - product == pytest.approx(found.log_partition, abs=1e-9)


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_sweeps_are_those_of_the_formula(damping):
    rng = np.random.default_rng(0)
    edges = np.array([(0, 1), (2, 1), (2, 3), (3, 0), (0, 2)])
    fields, tables = rng.normal(size=(5, 3)), rng.normal(size=(5, 3, 3))
    found = propagate(fields, edges, tables, damping=damping, max_iter=2)
    assert (found.converged, found.n_iter) == (False, 2)
    orders = itertools.permutations(range(5))
    twins = [plain_messages(fields, edges, tables, order, damping, 2) for order in orders]
    assert min(np.abs(found.marginals - twin).max() for twin in twins) < 1e-12


def test_a_tree_is_done_in_one_iteration_in_any_order_of_its_sites():
    rng = np.random.default_rng(1)
    place = rng.permutation(60)
    edges = [(place[i], place[i + 1]) for i in range(59)]
    model = PairwiseModel.from_edges(60, edges, rng.normal(size=59), rng.normal(size=60))
    found = loopy_bp(model, damping=0.0)
    assert found.n_iter <= 3  # after the first nothing changes, and one more confirms it
    assert found.log_partition == pytest.approx(model.exact().log_partition, abs=1e-10)


@pytest.mark.parametrize("strength", [1e3, 1e9])
def test_strong_couplings_do_not_overflow(strength):
    edges = forest(7, np.random.default_rng(2))
    model = draw_pairwise(7, edges, 3, strength=strength)
    found, exact = loopy_bp(model), model.exact()
    assert found.converged
    np.testing.assert_allclose(found.marginals, exact.marginals, atol=1e-6)
    assert found.log_partition == pytest.approx(exact.log_partition, rel=1e-12)
    grid = loopy_bp(PairwiseModel.grid((6, 6), strength, 0.1 * strength))
    np.testing.assert_allclose(grid.marginals, 1.0, atol=1e-12)
    potts = loopy_bp(PottsModel.grid((4, 4), 4, strength, [strength, 0, 0, 0]))
    np.testing.assert_allclose(potts.marginals[:, 0], 1.0, atol=1e-12)


def test_a_fixed_point_near_criticality_is_as_sharp_as_asked():
    """Small changes at sites that were passed over do not add up."""
    grid = PairwiseModel.grid((12, 12), field=0.02, temperature=2.9)
    found, sharp = loopy_bp(grid), loopy_bp(grid, tol=1e-13)
    assert found.n_iter > 50
    # changes of 1e-8 that shrink by a few per cent in an iteration add up to some 1e-7
    np.testing.assert_allclose(found.marginals, sharp.marginals, atol=1e-6)
    pairs, (one, _) = sharp.pair_marginals, sharp.edges.T
    np.testing.assert_allclose(pairs.sum(axis=2)[:, 1], sharp.marginals[one], atol=1e-11)


def test_both_alphabets_have_the_same_answers():
    model = draw_pairwise(4, COMPLETE_4, 5, strength=0.3)
    one, other = loopy_bp(model, tol=1e-12), loopy_bp(model.to_states((0, 1)), tol=1e-12)
    np.testing.assert_allclose(one.marginals, other.marginals, atol=1e-10)
    np.testing.assert_allclose(one.pair_marginals, other.pair_marginals, atol=1e-10)
    assert one.log_partition == pytest.approx(other.log_partition, abs=1e-10)


def test_the_same_call_gives_the_same_bits():
    model = PairwiseModel.random(50, coupling_sd=0.1)
    one, two = loopy_bp(model), loopy_bp(model)
    np.testing.assert_array_equal(one.marginals, two.marginals)
    assert (one.log_partition, one.n_iter) == (two.log_partition, two.n_iter)


def test_arguments_are_not_changed():
    rng = np.random.default_rng(4)
    given = rng.normal(size=(3, 2)), np.array([[0, 1], [2, 1]]), rng.normal(size=(2, 2, 2))
    before = [part.copy() for part in given]
    propagate(*given)
    for part, kept in zip(given, before, strict=True):
        np.testing.assert_array_equal(part, kept)


def test_the_offset_lowers_log_z():
    model = PairwiseModel([[0, 2.0], [2.0, 0]], [-1.0, 0.5], offset=7.0)
    assert loopy_bp(model).log_partition == pytest.approx(model.exact().log_partition, abs=1e-8)


def test_what_does_not_converge_says_so():
    frustrated = PairwiseModel.random(30, coupling_sd=1.0, bias_sd=0.1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="after 50 iterations: messages still change"):
        found = loopy_bp(frustrated, max_iter=50)
    assert (found.converged, found.n_iter) == (False, 50)
    assert found.change > 1e-8
    assert "did NOT converge in 50 iterations" in str(found)
    assert "not to be trusted" in str(found)
    assert np.isfinite(found.log_partition)
    good = str(loopy_bp(MODELS["one site"]))
    assert "1 site: converged in 1 iteration" in good
    assert "not to be trusted" not in good


@pytest.mark.parametrize(
    ("options", "error", "name"),
    [
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"max_iter": 1.5}, TypeError, "max_iter"),
        ({"damping": 1.0}, ValueError, "damping"),
        ({"tol": 0.0}, ValueError, "tol"),
    ],
)
def test_bad_options_are_named(options, error, name):
    with refuses(name, error):
        loopy_bp(MODELS["one site"], **options)


def test_a_model_is_wanted():
    with refuses("model", TypeError):
        loopy_bp([[0, 1], [1, 0]])  # pyright: ignore[reportArgumentType]
