"""Herding of marginals that contradict each other."""

import itertools
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import nnls

from herder import PatchTables, herd, herd_marginals
from herder.core.enumerated import EnumeratedSystem
from herder.core.summary import Picture
from herder.fields.clique import CliqueHerd
from herder.fields.marginals import _start
from herder.fields.marginals_cut import CutHerd
from herder.maximise.exhaustive import all_states, feature_table
from herder.models.marginals import MOST_STEPS, read_marginals
from tests.naming import refuses


def drawn(seed, n_sites=5, n_states=2):
    """Marginals of sites and pairs that were drawn on their own: they contradict each other."""
    rng = np.random.default_rng(seed)
    pairs = np.array(list(itertools.combinations(range(n_sites), 2)))
    pairs = pairs[rng.random(len(pairs)) < 0.8]
    tables = rng.dirichlet(np.full(n_states**2, 0.5), len(pairs))
    return {
        "sites": PatchTables(
            np.arange(n_sites)[:, None], rng.dirichlet(np.ones(n_states), n_sites)
        ),
        "pairs": PatchTables(pairs, tables.reshape(-1, n_states, n_states)),
    }


def every_match(seed=0):
    """Patches of all kinds, over 4 sites."""
    rng = np.random.default_rng(seed)
    triples = rng.dirichlet(np.ones(8), 2).reshape(2, 2, 2, 2)
    return {
        "sites": PatchTables([[0], [1], [2], [3]], rng.dirichlet([1, 1], 4)),
        "triples": PatchTables([[0, 1, 2], [3, 1, 0]], triples),
        "inverse": PatchTables([[1, 2, 3]], triples[:1], "inverse"),
        "edges": PatchTables([[0, 1], [2, 3]], [0.9, 0.05], "differ"),
    }


def nearest(phi, target, rates):
    """The nearest point of the convex hull, by non-negative least squares."""
    root, heavy = np.sqrt(rates), 1e4
    left = np.vstack([(phi * root).T, np.full(len(phi), heavy)])
    shares, _ = nnls(left, np.append(target * root, heavy), maxiter=100_000)
    reached = shares / shares.sum() @ phi
    return reached, np.sqrt((rates * (reached - target) ** 2).sum())


def weighted(found, rates):
    """The distance that is minimised, of rates relative to the smallest."""
    least = min(np.min(rates.get(key, 1.0)) for key in found.distances)
    parts = [(rates.get(key, 1.0) / least * own**2).sum() for key, own in found.distances.items()]
    return np.sqrt(sum(parts))


def oracle(marginals, rates=None):
    """The nearest consistent features over all states, and their distance with the rates."""
    given = read_marginals(marginals, rates)
    phi = feature_table(given.features).astype(float)
    target = given.features.target / given.features.units.total
    return nearest(phi, target, given.rates / given.rates.min())


@pytest.mark.parametrize("seed", range(50))
def test_averages_go_to_the_projection_at_rate_one_over_t(seed):
    """Proposition 3.4, with an exact maximiser: T times the error does not grow."""
    given = read_marginals(drawn(seed))
    phi = feature_table(given.features).astype(float)
    target = given.features.target / given.features.units.total
    goal, distance = nearest(phi, target, np.ones(len(target)))
    assert distance > 0.05
    system = EnumeratedSystem(phi, target)
    chosen = [step.state for step in islice(herd(system, target), 5_000)]
    n = np.arange(1, 5_001)
    errors = np.linalg.norm(phi[chosen].cumsum(axis=0) / n[:, None] - goal, axis=1)
    assert (n * errors).max() < 40
    assert (n * errors)[2_500:].max() < 3 * (n * errors)[:500].max()


def test_coordinate_ascent_is_nearly_as_near():
    """The figures of docs/marginals.md."""
    gaps = []
    for seed in range(50):
        found = herd_marginals(drawn(seed), 20_000)
        gaps.append(found.distance - oracle(drawn(seed))[1])
        assert found.satisfied < 0.9
    assert np.sum(np.array(gaps) < 2e-5) == 46
    assert max(gaps) < 2e-3
    assert min(gaps) > -1e-5


@pytest.mark.parametrize("n_states", [2, 3])
def test_graph_cuts_are_as_near(n_states):
    pytest.importorskip("maxflow")
    marginals = drawn(2, 4, n_states)
    found = herd_marginals(marginals, 4000, maximiser="cut")
    assert found.distance == pytest.approx(oracle(marginals)[1], abs=5e-3)
    given = read_marginals(marginals)
    live, states = CutHerd(given.features, given.rates), np.empty((4000, 4), np.int16)
    live.run(states)
    fired = sum(given.features.features(state) for state in states)
    target, total = given.features.target, given.features.units.total
    np.testing.assert_array_equal(live.weights, target + 4000 * target - total * fired)
    np.testing.assert_array_equal(found.state, states[-1])


def test_cuts_with_differences_and_rates():
    pytest.importorskip("maxflow")
    marginals = {key: every_match()[key] for key in ("sites", "edges")}
    rates = {"edges": [0.5, 4.0]}
    found = herd_marginals(marginals, 5000, rates=rates, maximiser="cut")
    distance = weighted(found, {"edges": np.array(rates["edges"])})
    assert distance == pytest.approx(oracle(marginals, rates)[1], abs=2e-3)


@pytest.mark.parametrize(
    "marginals",
    [every_match(), {("a", "b"): np.ones((2, 3))}],
)
def test_cuts_are_for_pairs_of_as_many_states(marginals):
    with refuses("maximiser"):
        herd_marginals(marginals, 5, maximiser="cut")


@pytest.mark.parametrize("n_states", [3, 4])
def test_many_states(n_states):
    marginals = drawn(1, 4, n_states)
    found = herd_marginals(marginals, 20_000)
    assert found.distance == pytest.approx(oracle(marginals)[1], abs=5e-3)
    assert found.marginals.shape == (4, n_states)
    assert found.marginals.sum(axis=1) == pytest.approx(1)


def test_all_kinds_of_patches_with_rates():
    marginals, rates = every_match(), {"edges": [0.5, 4.0], "triples": 2}
    goal, distance = oracle(marginals, rates)
    found = herd_marginals(marginals, 50_000, rates=rates)
    assert weighted(found, {**rates, "edges": np.array(rates["edges"])}) == pytest.approx(
        distance, abs=1e-3
    )
    assert weighted(found, {}) == pytest.approx(found.distance)
    # features from the tables, by hand
    triples, inverse, edges = (found.tables[key] for key in ("triples", "inverse", "edges"))
    flat = inverse.reshape(8)
    by_hand = [
        *found.tables["sites"].ravel(),
        *triples.ravel(),
        *(flat + flat[::-1])[:4],
        *(edges[:, 0, 1] + edges[:, 1, 0]),
    ]
    np.testing.assert_allclose(by_hand, goal, atol=2e-3)
    np.testing.assert_allclose(triples.sum(axis=(1, 2, 3)), 1)


def test_consistent_marginals_are_reached():
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.ones(8)).reshape(2, 2, 2)
    marginals = {
        ("a", "b"): joint.sum(axis=2),
        ("b", "c"): joint.sum(axis=0),
        ("c", "a"): joint.sum(axis=1).T,
    }
    found = herd_marginals(marginals, 5000)
    assert found.distance < 1e-3
    assert found.satisfied > 0.95  # ascent may miss the best state
    for key, table in marginals.items():
        np.testing.assert_allclose(found.tables[key], table, atol=1e-3)
    singles = [joint[1].sum(), joint[:, 1].sum(), joint[:, :, 1].sum()]
    np.testing.assert_allclose(found.marginals[:, 1], singles, atol=1e-3)
    steps, distances = found.path.T
    assert (steps * distances).max() < 4


def test_weights_are_counts():
    """Whatever the number of steps: w = w0 + rate * (t n - N fired), and states repeat that."""
    marginals = every_match(5)
    given = read_marginals(marginals, {"sites": 2})
    live = CliqueHerd(given.features, _start(given.features), rates=given.rates)
    states = np.empty((2000, 4), np.int16)
    live.run(states)
    fired = sum(given.features.features(state) for state in states)
    total = given.features.units.total
    weights = given.features.target + given.rates * (2000 * given.features.target - total * fired)
    np.testing.assert_array_equal(live.weights, weights)
    found = herd_marginals(marginals, 2000, rates={"sites": 2})
    np.testing.assert_allclose(found.marginals[:, 1], states.mean(axis=0))
    np.testing.assert_array_equal(found.state, states[-1])


@pytest.mark.slow
def test_ten_million_steps():
    marginals, n_steps = drawn(3, 4), 10_000_000
    found = herd_marginals(marginals, n_steps)
    assert found.distance == pytest.approx(oracle(marginals)[1], abs=1e-4)
    given = read_marginals(marginals)
    largest = int(given.features.units.total) * MOST_STEPS * given.features.layout.n_cliques
    assert largest * int(given.rates.max()) <= 2**62


def test_room_for_all_steps_whatever_the_number_of_patches():
    pairs = np.stack([np.arange(60_000), np.arange(1, 60_001)], axis=1)
    marginals = {"pairs": PatchTables(pairs, np.linspace(0, 1, 60_000), "differ")}
    given = read_marginals(marginals, {"pairs": np.linspace(0.1, 5, 60_000)})
    total, most = given.features.units.total, int(given.rates.max())
    assert total * most * MOST_STEPS * 60_000 <= 2**62 or total == 2**10
    found = herd_marginals(marginals, 20, rates={"pairs": np.linspace(0.1, 5, 60_000)})
    assert np.isfinite(found.distance)


def test_frames_come_back_as_frames():
    one = pd.DataFrame([[30, 20], [35, 15]], index=["f", "m"], columns=["no", "yes"])
    other = pd.DataFrame([[20, 55], [15, 10]], index=["beer", "none"], columns=["yes", "no"])
    single = pd.Series([5, 3], index=["yes", "no"])
    marginals = {("sex", "smoker"): one, ("drinks", "smoker"): other, "smoker": single}
    found = herd_marginals(marginals, 2000)
    for key, table in marginals.items():
        assert type(found.tables[key]) is type(table)
        assert found.tables[key].index.equals(table.index)
    assert list(found.tables["drinks", "smoker"].columns) == ["yes", "no"]
    plain = {
        ("sex", "smoker"): one.to_numpy(),
        ("drinks", "smoker"): other.to_numpy()[:, ::-1],
        "smoker": single.to_numpy()[::-1],
    }
    same = herd_marginals(plain, 2000)
    assert found.distance == same.distance
    np.testing.assert_array_equal(
        found.tables["drinks", "smoker"].to_numpy()[:, ::-1], same.tables["drinks", "smoker"]
    )
    yes = found.tables["smoker"]["yes"]
    assert found.tables["drinks", "smoker"]["yes"].sum() == pytest.approx(yes)


def test_summary_and_picture():
    from herder.plots import draw

    found = herd_marginals(every_match(), 500)
    text = str(found)
    assert f"{found.distance:.3g}" in text
    assert "triples 1" in text
    assert "4 sites" in repr(found)
    [section] = found.summary().sections
    [picture] = section.blocks
    assert isinstance(picture, Picture)
    figure = draw(picture)
    [curve] = figure.axes[0].lines[:1]
    np.testing.assert_array_equal(np.column_stack(curve.get_data()), found.path)


def test_the_verdict_on_consistent_and_on_contradictory_marginals():
    """No set of true margins is called contradictory, whatever the number of steps."""
    for seed, n_steps in itertools.product(range(20), (1, 5, 20, 100, 300, 1000, 3000, 10_000)):
        joint = np.random.default_rng(seed).dirichlet(np.full(16, 0.5)).reshape(2, 2, 2, 2)
        marginals = {
            (i, j): joint.sum(axis=tuple({0, 1, 2, 3} - {i, j}))
            for i, j in itertools.combinations(range(4), 2)
        }
        found = herd_marginals(marginals, n_steps)
        assert not found.contradictory, (seed, n_steps)
        assert "no contradiction shows" in str(found)
    for seed in range(20):
        found = herd_marginals(drawn(seed), 1000)
        assert found.contradictory, seed
        assert "the marginals contradict each other" in str(found)


@pytest.mark.slow
def test_rounding_is_no_contradiction():
    assert not herd_marginals({"a": [1, 2], ("a", "b"): [[1, 2], [2, 4]]}, 10**7).contradictory


def test_progress():
    told = []
    herd_marginals(every_match(), 1000, progress=lambda share, note: told.append(share))
    assert told == sorted(told)
    assert told[-1] == 1


def test_all_states_are_those_of_the_sites():
    given = read_marginals({("a", "b"): np.ones((2, 3))})
    assert all_states(given.features).shape == (6, 2)


PAIR = PatchTables([[0, 1]], [[[1, 2], [3, 4]]])


@pytest.mark.parametrize(
    ("marginals", "words"),
    [
        ({}, "arrays by names, or PatchTables"),
        ({"p": PAIR, ("a", "b"): [[1, 2], [3, 4]]}, "got both"),
        ({("a", "b"): [1, 2]}, "axis for each site"),
        ({("a", "b"): [[1, -2], [3, 4]]}, "no negative number"),
        ({("a", "b"): [[0, 0], [0, 0]]}, "above 0"),
        ({("a", "b"): [[np.nan, 0], [0, 1]]}, "('a', 'b')"),
        ({("a", "a"): [[1, 2], [3, 4]]}, "once in a patch"),
        ({("a", "b"): [[1, 2], [3, 4]], "a": [1, 2, 3]}, "same states"),
        ({("a", "b"): pd.crosstab([1, 1, 2], [1, 2, 2], margins=True)}, "'All'"),
        ({("a", "b"): pd.DataFrame([[1, 2], [3, 4]]).rename_axis("b")}, "order of their keys"),
        ({"p": PatchTables([[0, 2]], [[[1, 2], [3, 4]]])}, "none for site 1"),
        ({"p": PAIR, "q": PatchTables([[0]], [[1, 2, 3]])}, "number of states"),
        ({("a", "b"): [["x", "y"], ["z", "w"]]}, "numbers"),
        ({("a",): []}, "('a',)"),
    ],
)
def test_refused_marginals(marginals, words):
    with refuses("marginals", match=words):
        herd_marginals(marginals, 5)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("n_steps", {"n_steps": 0}),
        ("n_steps", {"n_steps": 2**30}),
        ("maximiser", {"maximiser": "best"}),
        ("rates", {"rates": {"q": 1}}),
        ("rates", {"rates": {"p": 0}}),
        ("rates", {"rates": {"p": [1, 2]}}),
        ("rates", {"rates": {"p": np.nan}}),
    ],
)
def test_refused_settings(name, given):
    with refuses(name):
        herd_marginals({"p": PAIR}, **{"n_steps": 5, **given})


@pytest.mark.parametrize(
    ("name", "given"),
    [("marginals", {"marginals": [1, 2]}), ("rates", {"rates": 3}), ("progress", {"progress": 3})],
)
def test_refused_kinds(name, given):
    with refuses(name, TypeError):
        herd_marginals(**{"marginals": {"p": PAIR}, "n_steps": 5, **given})


def test_rates_too_far_apart():
    two = PatchTables([[0, 1], [1, 2]], [0.1, 0.2], "differ")
    with refuses("rates", match="factor"):
        herd_marginals({"p": two}, 5, rates={"p": [1, 1e9]})


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("sites", ([[0, 0]], [[[1, 2], [3, 4]]])),
        ("sites", ([[-1, 0]], [[[1, 2], [3, 4]]])),
        ("sites", ([[0.5, 1]], [[[1, 2], [3, 4]]])),
        ("sites", ([], [])),
        ("tables", ([[0, 1]], [[1, 2]])),
        ("tables", ([[0, 1]], [[[1, 2], [3, 4]]] * 2)),
        ("tables", ([[0, 1]], [0.1, 0.2], "differ")),
        ("tables", ([[0, 1]], [1.1], "differ")),
        ("tables", ([[0]], [0.1], "differ")),
        ("match", ([[0, 1]], np.ones((1, 3, 3)), "inverse")),
        ("match", ([[0, 1]], np.ones((1, 2, 2)), "other")),
    ],
)
def test_refused_patches(name, given):
    with refuses(name):
        PatchTables(*given)
