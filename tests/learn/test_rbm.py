"""Restricted Boltzmann machines: learning, scores, samples, files."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from herder import RBM, ParameterError, RBMModel, load, log_partition, save
from herder.fields.hidden_engine import HiddenHerd, rounded_means
from herder.learn import _rbm_jit as jit
from herder.learn.rbm_rows import spot_check

METHODS = [{"method": "cd"}, {"method": "pcd"}, {"method": "pcd", "fast_rate": 0.05}]


@pytest.fixture(scope="module")
def bars():
    """Rows of 4 x 4 pixels with whole columns on, as in bars and stripes, and some noise."""
    rng = np.random.default_rng(0)
    on = rng.random((2000, 1, 4)) < 0.5
    pixels = np.repeat(on, 4, axis=1).reshape(2000, 16)
    return (pixels ^ (rng.random((2000, 16)) < 0.02)).astype(float)


def log_probabilities(model, rows):
    """By the sum over all states of both sides, written out."""
    hidden = np.array(list(itertools.product(model.states, repeat=model.n_hidden)), float)

    def log_sums(v):
        fields = v @ model.couplings
        scores = (v @ model.visible_biases)[:, None] + fields @ hidden.T
        return np.logaddexp.reduce(scores + hidden @ model.hidden_biases, axis=1)

    visible = np.array(list(itertools.product(model.states, repeat=model.n_visible)), float)
    return log_sums(rows) - np.logaddexp.reduce(log_sums(visible))


def small_machine(seed):
    """Return a machine with random parameters, all its visible states and their probabilities."""
    rng = np.random.default_rng(seed)
    machine = RBM(3)
    machine.n_features_in_ = 4
    machine._keep(RBMModel(rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=3)))
    visible = np.array(list(itertools.product((0, 1), repeat=4)), float)
    return machine, visible, np.exp(log_probabilities(machine.model_, visible))


@parametrize_with_checks([RBM(2, n_epochs=2, binarize=0.0)])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("gap", [1, 2])
@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_sigmoid_of_the_compiled_loops(dtype, atol, gap):
    fields = np.linspace(-60, 60, 1001, dtype=dtype)[None, :]
    found = fields.copy()
    jit.chances(found, jit.numbers(0, gap, dtype))
    expected = 1 / (1 + np.exp(-gap * fields.astype(np.float64)))
    np.testing.assert_allclose(found, expected, atol=atol)


@np.errstate(over="ignore")  # without the compiler: the counter is modulo 2^64
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_random_states_of_the_compiled_loops(dtype):
    """Published values of SplitMix64 from the seed 1234567, and shares of states."""
    words = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    uniforms = ((np.array(words, np.uint64) >> np.uint64(32)).astype(float) / 2**32 + 0.5) % 1
    counter = np.array([1234567], np.uint64)
    states = np.empty((1, 4), dtype)  # three sites and the constant
    for shift, upper in ((-1e-6, 0), (1e-6, 1)):
        chances = (uniforms + shift).reshape(1, 4).astype(dtype)
        jit.draw(chances, counter.copy(), jit.numbers(0, 1, dtype), states)
        assert states[0].tolist() == [upper] * 3 + [1]
    chances = np.tile(np.array([0.001, 0.3, 0.9, 0.5], dtype), (100_000, 1))
    states = np.empty_like(chances)
    jit.draw(chances, counter, jit.numbers(-1, 2, dtype), states)
    assert set(np.unique(states)) == {-1, 1}
    p = chances[0, :3].astype(float)
    spread = np.sqrt(p * (1 - p) / len(states))
    means = (states[:, :3] == 1).mean(axis=0)
    assert (np.abs(means - p) < 4 * spread).all()
    again = np.corrcoef(states[1:, :3].T, states[:-1, :3].T)
    assert np.abs(again - np.eye(6)).max() < 4 / np.sqrt(len(states))


@pytest.mark.parametrize("states", [(0, 1), (-1, 1)])
@pytest.mark.parametrize("options", METHODS)
def test_learns_a_known_distribution(bars, options, states):
    rows = bars if states == (0, 1) else 2 * bars - 1
    machine = RBM(8, n_epochs=30, **options).fit(rows[:1500])
    held_out = machine.score_samples(rows[1500:]).mean()
    assert machine.log_partition_error_ == 0
    best = -4 * np.log(2) - 16 * 0.098  # entropy of the columns, and of the noise
    means = bars[:1500].mean(axis=0)
    alone = (bars[1500:] * np.log(means) + (1 - bars[1500:]) * np.log(1 - means)).sum(axis=1)
    assert alone.mean() + 4 < held_out < best + 0.1
    assert machine.history_[-1] > machine.history_[0]


@pytest.mark.parametrize("states", [(0, 1), (-1, 1)])
def test_scores_against_enumeration(states):
    rng = np.random.default_rng(1)
    rows = np.where(rng.random((60, 5)) < [0.2, 0.5, 0.5, 0.7, 0.9], states[1], states[0])
    machine = RBM(4, n_epochs=20).fit(rows.astype(float))
    expected = log_probabilities(machine.model_, rows)
    np.testing.assert_allclose(machine.score_samples(rows), expected)
    flipped = rows.copy()
    conditionals = np.zeros(len(rows))
    for j in range(5):
        flipped[:, j] = sum(states) - rows[:, j]
        other = log_probabilities(machine.model_, flipped)
        conditionals += expected - np.logaddexp(expected, other)
        flipped[:, j] = rows[:, j]
    assert machine.score(rows) == pytest.approx(conditionals.mean())


def test_one_step_of_cd_is_the_gradient_of_the_expected_moments():
    """The average of many steps of CD-1, against its expectation by enumeration."""
    rng = np.random.default_rng(2)
    model = RBMModel(rng.normal(size=(3, 2)), rng.normal(size=3), rng.normal(size=2))
    row = np.array([[1.0, 0.0, 1.0]])
    from herder.learn.rbm_steps import RBMSteps

    table = np.zeros((4, 3))
    table[:3, :2], table[:3, 2] = model.couplings, model.visible_biases
    table[3, :2] = model.hidden_biases
    n = 40_000
    options = {"n_steps": 1, "n_chains": 0, "momentum": 0.0, "l2": 0.0, "fast_rate": 0.0}
    steps = RBMSteps(table.copy(), (0, 1), rng=np.random.default_rng(3), **options)
    steps.learn(np.repeat(row, n, axis=0), 1.0)
    change = steps.parameters - table

    hidden = np.array(list(itertools.product((0, 1), repeat=2)), float)
    visible = np.array(list(itertools.product((0, 1), repeat=3)), float)

    def chances(p, states):
        return np.prod(np.where(states, p, 1 - p), axis=-1)

    first = chances(model.hidden_probabilities(row), hidden)
    back = chances(model.visible_probabilities(hidden)[:, None, :], visible)
    weights = first @ back
    after = model.hidden_probabilities(visible)
    expected = row.T @ model.hidden_probabilities(row) - visible.T @ (weights[:, None] * after)
    np.testing.assert_allclose(change[:3, :2], expected, atol=4 / np.sqrt(n))
    np.testing.assert_allclose(change[:3, 2], (row - weights @ visible)[0], atol=4 / np.sqrt(n))
    assert change[3, 2] == 0


@pytest.mark.parametrize("options", [*METHODS, {"momentum": 0.5, "l2": 0.01, "n_steps": 2}])
def test_same_bits_sparse_or_dense_and_from_run_to_run(bars, options):
    machine = RBM(5, n_epochs=3, **options)
    first, again = (RBM(**machine.get_params()).fit(bars[:200]) for _ in range(2))
    thin = RBM(**machine.get_params()).fit(sp.csr_array(bars[:200]))
    for other in (again, thin):
        assert np.array_equal(first.components_, other.components_)
    np.testing.assert_array_equal(
        first.transform(bars[:50]), thin.transform(sp.csr_array(bars[:50]))
    )


def test_single_precision(bars):
    machine = RBM(8, n_epochs=10).fit(bars.astype(np.float32))
    assert machine.transform(bars.astype(np.float32)).dtype == np.float32
    assert machine.score_samples(bars[:500]).mean() > -8


def test_grey_values_are_expected_states():
    grey = load_digits(return_X_y=True)[0][:300] / 16
    machine = RBM(20).fit(grey)
    assert machine.history_[-1] > machine.history_[0]
    field = grey @ machine.components_.T + machine.intercept_hidden_
    np.testing.assert_allclose(machine.transform(grey), 1 / (1 + np.exp(-field)))


def test_penalty_and_warm_start(bars):
    free, held = (RBM(5, n_epochs=5, l2=l2).fit(bars[:500]) for l2 in (0.0, 0.1))
    assert np.linalg.norm(held.components_) < 0.9 * np.linalg.norm(free.components_)
    machine = RBM(5, n_epochs=1, warm_start=True).fit(bars[:500])
    begun = machine.score(bars[:200])
    for _ in range(5):
        machine.fit(bars[:500])
    assert machine.score(bars[:200]) > begun + 0.5


def test_partial_fit_goes_on(bars):
    machine = RBM(8)
    scores = []
    for _ in range(10):
        machine.partial_fit(bars[:500])
        scores.append(machine.score(bars[500:700]))
    assert scores[-1] > scores[0] + 2
    before = machine.components_.copy()
    with pytest.raises(ParameterError, match="X"):
        machine.partial_fit(2 * bars[:10])
    assert np.array_equal(before, machine.components_)


def test_samples_have_the_moments_of_the_model():
    machine, visible, p = small_machine(5)
    rows = machine.sample(20_000)
    assert rows.shape == (20_000, 4)
    np.testing.assert_allclose(rows.mean(axis=0), p @ visible, atol=0.02)
    pairs = visible.T @ (p[:, None] * visible)
    np.testing.assert_allclose(rows.T.astype(float) @ rows / len(rows), pairs, atol=0.02)


def test_missing_entries_against_enumeration():
    machine, visible, p = small_machine(6)
    row = np.array([1.0, np.nan, np.nan, 0.0])
    fits = (visible[:, 0] == 1) & (visible[:, 3] == 0)
    expected = p[fits] @ visible[fits] / p[fits].sum()
    found = machine.conditional(np.tile(row, (200, 1)))
    np.testing.assert_allclose(found.mean(axis=0), expected, atol=0.01)
    assert set(np.unique(machine.impute([row]))) <= {0.0, 1.0}
    np.testing.assert_array_equal(machine.conditional([[1, 0, 1, 0]]), [[1, 0, 1, 0]])


def test_file(tmp_path, bars):
    machine = RBM(5, n_epochs=2).fit(bars[:200])
    save(machine, tmp_path / "rbm.safetensors")
    again = load(tmp_path / "rbm.safetensors")
    np.testing.assert_array_equal(machine.sample(20), again.sample(20))
    np.testing.assert_array_equal(machine.transform(bars[:5]), again.transform(bars[:5]))
    assert again.get_params() == machine.get_params()


def test_pipeline_with_grid_search():
    X, y = load_digits(return_X_y=True)
    rows, labels = (X[:600] > 7).astype(float), y[:600]
    pipeline = make_pipeline(RBM(30, n_epochs=50), LogisticRegression(max_iter=300))
    search = GridSearchCV(pipeline, {"rbm__n_hidden": [10, 60]}, cv=3).fit(rows, labels)
    assert search.best_params_["rbm__n_hidden"] == 60
    assert search.best_score_ > 0.81


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_hidden", 0),
        ("method", "pcb"),
        ("n_steps", 0),
        ("learning_rate", -1.0),
        ("n_epochs", 1.5),
        ("batch_size", 0),
        ("momentum", 1.0),
        ("l2", -0.1),
        ("fast_rate", np.nan),
    ],
)
def test_errors_name_the_parameter(bars, name, value):
    with pytest.raises(ValueError, match=name):
        RBM(**{name: value}).fit(bars[:20])


def test_parameters_that_diverge_are_refused(bars):
    with pytest.raises(ParameterError, match="learning_rate"):
        RBM(2, n_epochs=3, l2=1e30).fit(bars[:50])


def test_fast_weights_need_persistent_chains(bars):
    with pytest.raises(ParameterError, match="fast_rate"):
        RBM(2, method="cd", fast_rate=0.1).fit(bars[:20])


@pytest.mark.parametrize("seed", range(3))
def test_annealing_against_the_exact_value(seed):
    rng = np.random.default_rng(seed)
    model = RBMModel(rng.normal(0, 0.8, (30, 12)), rng.normal(size=30), rng.normal(size=12))
    exact, found = log_partition(model), log_partition(model, method="ais", random_state=seed)
    assert exact.error == 0
    assert abs(found.value - exact.value) < 4 * found.error < 0.2


@pytest.mark.slow
def test_annealing_errors_are_what_they_say():
    rng = np.random.default_rng(0)
    model = RBMModel(rng.normal(0, 0.8, (30, 12)), rng.normal(size=30), rng.normal(size=12))
    exact = model.exact_log_partition()
    found = [log_partition(model, method="ais", random_state=seed) for seed in range(100)]
    assert sum(abs(one.value - exact) <= 2 * one.error for one in found) >= 95


# By herding


@pytest.mark.parametrize("states", [(0, 1), (-1, 1)])
def test_herding_learns_a_known_distribution(bars, states):
    rows = np.where(bars > 0, 1, states[0]).astype(float)
    machine = RBM(8, method="herding").fit(rows)
    means = (rows > 0).mean(axis=0)
    alone = np.log(np.where(rows > 0, means, 1 - means)).sum(axis=1).mean()
    assert machine.score_samples(rows).mean() > alone
    samples = machine.sample(4000) > 0
    np.testing.assert_allclose(samples.mean(axis=0), means, atol=0.05)
    np.testing.assert_array_equal(machine.sample(9), machine.sample(9, random_state=5))


def test_herding_is_the_mean_of_the_weights_at_the_best_factor(bars):
    signs = np.where(bars > 0, 1, -1).astype(np.int8)
    signs[: len(signs) // 2, 0], signs[3:, 1], signs[:-3, 2] = 1, -1, 1  # means of 0.5, -1 and 1
    centre = rounded_means(signs)
    assert {-1, 0, 1} <= set(centre)
    machine = RBM(3, method="herding", n_epochs=4).fit(signs.astype(float))
    herd, seen = HiddenHerd(signs, 3, centre=centre), []
    for _ in range(200):
        herd.run(1)
        seen.append(herd.weights)
    mean = np.mean(seen[100:], axis=0)
    found = machine.model_.couplings.T
    factor = (found * mean[:-1, :-1]).sum() / (mean[:-1, :-1] ** 2).sum()
    np.testing.assert_allclose(found, factor * mean[:-1, :-1])
    np.testing.assert_allclose(machine.model_.visible_biases, factor * mean[-1, :-1])
    state, z = signs[5] - centre, np.array([1, -1, 1])
    score = np.append(z, 1) @ mean @ np.append(state, 1)  # of the herd, for all visible states
    change = score - np.append(z, 1) @ mean @ np.append(signs[9] - centre, 1)
    energies = machine.model_.energy([signs[5], signs[9]], [z, z])
    assert energies[1] - energies[0] == pytest.approx(factor * change)
    flipped = np.append(-z, 1) @ mean @ np.append(state, 1)
    energies = machine.model_.energy([signs[5], signs[5]], [z, -z])
    assert energies[1] - energies[0] == pytest.approx(factor * (score - flipped))
    np.testing.assert_allclose(machine.rates_, herd.rates)
    scores = [
        np.mean(
            [
                spot_check(scaled(machine.model_, times), signs.astype(float), part)
                for part in range(8)
            ]
        )
        for times in (0.9, 1.0, 1.1)
    ]
    assert scores[1] == max(scores)


def scaled(model, factor):
    parts = (model.couplings, model.visible_biases, model.hidden_biases)
    return RBMModel(*(factor * part for part in parts), states=model.states)


def test_herding_needs_states_and_all_rows(bars):
    grey = 0.9 * np.asarray(bars, float)
    with pytest.raises(ParameterError, match="X"):
        RBM(3, method="herding").fit(grey)
    with pytest.raises(ParameterError, match="method"):
        RBM(3, method="herding").partial_fit(bars)
