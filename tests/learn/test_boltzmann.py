import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression

from herder.io import load, save
from herder.learn import BoltzmannMachine, ConstantColumnWarning
from herder.samplers.annealing import AnnealingWarning
from tests.learn.plain import all_states, draw, objective, probabilities, random_machine
from tests.naming import refuses


def signs(rows):
    return 2 * rows.astype(int) - 1


def table_of(machine):
    """P of all states of a fitted machine, by its definition in its own states."""
    rows = all_states(machine.n_features_in_)
    if machine.states_ == (-1, 1):
        rows = signs(rows)
    return probabilities(machine.couplings_, machine.biases_, rows)


ROWS = draw(*random_machine(5, 0), 500, 0)


@pytest.mark.parametrize("method", ["pl", "pl-node", "ml"])
def test_signs_and_bits_give_one_distribution_without_penalty(method):
    bits = BoltzmannMachine(method, penalty=None).fit(ROWS)
    other = BoltzmannMachine(method, penalty=None).fit(signs(ROWS))
    assert (bits.states_, other.states_) == ((0, 1), (-1, 1))
    np.testing.assert_allclose(table_of(bits), table_of(other), rtol=1e-5)
    np.testing.assert_allclose(other.couplings_, bits.couplings_ / 4, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_the_penalty_is_on_couplings_of_the_rows_own_states(penalty):
    alpha = 0.05
    machine = BoltzmannMachine(penalty=penalty, alpha=alpha, tol=1e-8).fit(signs(ROWS))

    def value(couplings, biases):
        # fields of signs are worth twice as much, and bits x = (1 + s) / 2 change the biases
        bits, field = 4 * couplings, 2 * (biases - couplings.sum(axis=1))
        weights = np.full(len(ROWS), 1 / len(ROWS))
        sizes = couplings**2 if penalty == "l2" else np.abs(couplings)
        return objective(bits, field, ROWS, weights, 0.0) + alpha * sizes.sum()

    best = value(machine.couplings_, machine.biases_)
    assert machine.objective_ == pytest.approx(best, rel=1e-12)
    rng = np.random.default_rng(1)
    for size in (1e-1, 1e-2, 1e-3):
        move = np.triu(rng.normal(size=(5, 5)) * size, 1)
        shift = rng.normal(size=5) * size
        assert value(machine.couplings_ + move + move.T, machine.biases_ + shift) > best


def test_what_a_fit_tells():
    machine = BoltzmannMachine().fit(ROWS)
    assert machine.converged_
    assert machine.gradient_norm_ < 1e-6
    assert machine.n_features_in_ == 5
    assert machine.alpha_ == 1e-3
    assert not hasattr(machine, "cv_scores_")
    np.testing.assert_array_equal(machine.model_.couplings, machine.couplings_)
    assert machine.model_.states == (0, 1)
    report = machine.diagnostics_
    assert (report.n_rows, report.n_parameters) == (500, 15)
    assert report.n_distinct == len(np.unique(ROWS, axis=0))
    assert report.rows_per_parameter == pytest.approx(500 / 15)
    assert report.doubts == ()
    assert "pl: converged after" in str(report)
    facts = [line.split() for line in str(report).splitlines()[1:]]
    assert ["rows", "500", str(report.n_distinct), "of", "them", "different"] in facts
    assert ["couplings", "10", "that", "are", "not", "zero"] in facts
    assert ["penalty", "l2", "alpha", "0.001"] in facts


def test_rows_of_few_parameters_are_doubted():
    report = BoltzmannMachine().fit(ROWS[:30]).diagnostics_
    assert "2 rows for each parameter" in str(report)


def test_names_of_columns_stay_with_the_machine():
    frame = pd.DataFrame(ROWS, columns=list("abcde"))
    machine = BoltzmannMachine().fit(frame)
    assert machine.model_.names == tuple("abcde")
    np.testing.assert_array_equal(machine.couplings_, BoltzmannMachine().fit(ROWS).couplings_)
    with pytest.raises(ValueError, match="feature names"):
        machine.score(frame[list("edcba")])
    assert BoltzmannMachine().fit(ROWS).model_.names is None


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, np.asfortranarray, list])
def test_the_form_of_the_table_changes_nothing(form):
    machine = BoltzmannMachine().fit(form(ROWS.astype(np.float64)))
    np.testing.assert_array_equal(machine.couplings_, BoltzmannMachine().fit(ROWS).couplings_)


@pytest.mark.parametrize("method", ["pl", "pl-node", "ml"])
def test_a_weight_is_a_number_of_rows(method):
    counts = np.random.default_rng(5).integers(0, 4, len(ROWS))
    weighted = BoltzmannMachine(method).fit(ROWS, sample_weight=counts)
    repeated = BoltzmannMachine(method).fit(np.repeat(ROWS, counts, axis=0))
    np.testing.assert_allclose(weighted.couplings_, repeated.couplings_, atol=1e-10)
    assert weighted.diagnostics_.n_rows == counts.sum()


def test_constant_columns_are_named_and_set_apart():
    rows = np.column_stack([ROWS, np.zeros(500), np.ones(500)])
    frame = pd.DataFrame(rows, columns=[*"abcde", "silent", "always"])
    with pytest.warns(ConstantColumnWarning, match=r"2 of 7 columns .* \(silent, always\)"):
        machine = BoltzmannMachine().fit(frame)
    assert machine.diagnostics_.constant == ("silent", "always")
    assert "2 constant columns, without couplings: silent, always" in str(machine.diagnostics_)
    with pytest.warns(ConstantColumnWarning, match=r"1 of 6 columns has one value only \(x5\)"):
        report = BoltzmannMachine().fit(rows[:, :6]).diagnostics_
    assert "1 constant column, without couplings: x5" in str(report)
    assert not machine.couplings_[5:].any()
    np.testing.assert_allclose(machine.biases_[5:], [np.log(0.5 / 500.5), np.log(500.5 / 0.5)])
    alone = BoltzmannMachine().fit(ROWS)
    np.testing.assert_array_equal(machine.couplings_[:5, :5], alone.couplings_)
    with pytest.warns(ConstantColumnWarning, match="5 of 5"):
        machine = BoltzmannMachine("ml").fit(np.ones((3, 5)))
    assert machine.converged_
    np.testing.assert_allclose(machine.model_.conditional(np.ones(5)), 3.5 / 4)


def test_columns_that_decide_one_another_are_told_without_a_penalty():
    rows = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1], [0, 0, 0]])
    frame = pd.DataFrame(rows, columns=list("abc"))
    with pytest.warns(ConvergenceWarning, match="columns a and b are never 1 and 1"):
        machine = BoltzmannMachine(penalty=None).fit(frame)
    assert np.isfinite(machine.couplings_).all()
    assert machine.couplings_[0, 1] < -5
    assert "give a penalty" in str(machine.diagnostics_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert BoltzmannMachine(alpha=0.01).fit(frame).diagnostics_.runaway == ""
    equal = np.column_stack([ROWS, ROWS[:, 1]])
    with pytest.warns(ConvergenceWarning, match=r"x1 and x5 are never 1 and 0 \(2 such"):
        BoltzmannMachine(alpha=0).fit(equal)
    most = ROWS[:, :3].sum(axis=1) > 1
    with pytest.warns(ConvergenceWarning, match="seem to have no finite best value"):
        BoltzmannMachine(alpha=0).fit(np.column_stack([ROWS, most]))


@pytest.mark.parametrize("learns", ["fit", "partial_fit"])
def test_copies_of_columns_are_named(learns):
    rows = np.column_stack([ROWS, ROWS[:, 1], 1 - ROWS[:, 3], ROWS[:, 1]])
    report = getattr(BoltzmannMachine(), learns)(rows).diagnostics_
    assert report.duplicate_columns == (
        ("x1", "x5", "equal"),
        ("x3", "x6", "opposite"),
        ("x1", "x7", "equal"),
    )
    assert (
        "Warning: columns x1 and x5 are equal, x3 and x6 are opposite, x1 and x7 are equal: "
        "drop one of each pair" in str(report)
    )
    frame = pd.DataFrame(rows[:, :6], columns=list("abcdef"))
    report = getattr(BoltzmannMachine(), learns)(frame).diagnostics_
    assert "Warning: columns b and f are equal: drop one" in str(report)
    frame.loc[7, "f"] = 1 - frame.loc[7, "f"]
    assert getattr(BoltzmannMachine(), learns)(frame).diagnostics_.duplicate_columns == ()
    many = np.column_stack([ROWS[:, :1]] * 9)
    report = getattr(BoltzmannMachine(), learns)(many).diagnostics_
    assert len(report.duplicate_columns) == 8
    assert "x0 and x5 are equal, and 3 pairs more: drop one of each pair" in str(report)


def test_reports_come_back_from_a_file(tmp_path):
    rows = np.column_stack([ROWS, ROWS[:, 1], np.zeros(500, int)])
    with pytest.warns(ConstantColumnWarning):
        machine = BoltzmannMachine(alpha="cv", alphas=[0.1, 0.01], cv=2).fit(rows)
    save(machine, tmp_path / "m.safetensors")
    report = load(tmp_path / "m.safetensors").diagnostics_
    assert report == machine.diagnostics_
    assert (report.duplicate_columns, report.tried) == ((("x1", "x5", "equal"),), (0.01, 0.1))


def test_a_warning_names_copies_with_a_penalty_too():
    rows = np.column_stack([ROWS, 1 - ROWS[:, 1]])
    with pytest.warns(ConvergenceWarning, match="; columns x1 and x5 are opposite: drop"):
        BoltzmannMachine(max_iter=1, alpha=1e-5).fit(rows)
    with pytest.warns(ConvergenceWarning, match="; columns x1 and x5 are opposite: drop"):
        BoltzmannMachine(penalty=None).fit(rows)


def test_a_fit_cut_short_is_told():
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        machine = BoltzmannMachine(max_iter=1, alpha=1e-5).fit(ROWS)
    assert not machine.converged_
    assert "not converged" in str(machine.diagnostics_)


@pytest.mark.parametrize("states", [(0, 1), (-1, 1)])
def test_nodes_are_kept_in_the_rows_own_states(states):
    rows = ROWS if states == (0, 1) else signs(ROWS)
    machine = BoltzmannMachine("pl-node", alpha=1e-2, tol=1e-9).fit(rows)
    others = [0, 1, 3, 4]
    # scikit-learn fits log odds, which for signs are twice the field: the same penalty on a field
    # is a quarter of it on log odds
    gap = states[1] - states[0]
    strength = gap**2 / (2 * len(rows) * 1e-2)
    model: Any = LogisticRegression(C=strength, tol=1e-12, solver="newton-cholesky")
    model.fit(rows[:, others].astype(float), ROWS[:, 2])
    found = gap * machine.node_couplings_[2, others]
    np.testing.assert_allclose(found, model.coef_[0], atol=1e-6)
    assert gap * machine.node_biases_[2] == pytest.approx(model.intercept_[0], abs=1e-6)
    np.testing.assert_allclose(
        machine.couplings_, (machine.node_couplings_ + machine.node_couplings_.T) / 2
    )
    assert not hasattr(machine.set_params(method="pl").fit(rows), "node_couplings_")


def test_likelihood_matches_the_moments_of_the_rows():
    machine = BoltzmannMachine("ml", penalty=None).fit(ROWS)
    table, states = table_of(machine), all_states(5).astype(float)
    given = ROWS.T.astype(float) @ ROWS / len(ROWS)
    np.testing.assert_allclose(states.T @ (table[:, None] * states), given, atol=1e-6)


@pytest.mark.parametrize("method", ["cd", "pcd"])
def test_stochastic_methods_come_near_and_repeat_themselves(method):
    couplings, biases = random_machine(5, 0)
    rows = draw(couplings, biases, 5000, 4)
    machine = BoltzmannMachine(method, alpha=1e-5).fit(rows)
    again = BoltzmannMachine(method, alpha=1e-5).fit(rows)
    np.testing.assert_array_equal(machine.couplings_, again.couplings_)
    other = BoltzmannMachine(method, alpha=1e-5, random_state=1).fit(rows)
    assert (machine.couplings_ != other.couplings_).any()
    assert np.isnan(machine.objective_)
    assert f"{method}: 50 epochs" in str(machine.diagnostics_)
    exact = BoltzmannMachine("ml", alpha=1e-5).fit(rows)
    table, learnt = table_of(exact), table_of(machine)
    # 15 parameters known to 1/sqrt(5000) are worth 15 / (2 * 5000) nats
    assert np.sum(table * np.log(table / learnt)) < 15 / (2 * 5000)


def test_a_warm_start_goes_on_from_the_machine():
    machine = BoltzmannMachine(warm_start=True).fit(ROWS)
    first = machine.n_iter_
    before = machine.couplings_
    machine.fit(ROWS)
    assert machine.n_iter_ == 0 < first
    np.testing.assert_allclose(machine.couplings_, before, atol=1e-12)
    machine.fit(signs(ROWS))
    assert machine.states_ == (-1, 1)
    machine.fit(ROWS[:, :3])
    fresh = BoltzmannMachine().fit(ROWS[:, :3])
    np.testing.assert_array_equal(machine.couplings_, fresh.couplings_)


@pytest.mark.parametrize("states", [(0, 1), (-1, 1)])
def test_scores_are_those_of_the_definition(states):
    rows = ROWS if states == (0, 1) else signs(ROWS)
    machine = BoltzmannMachine().fit(rows)
    bits = machine.model_.to_states((0, 1))
    weights = np.full(20, 1 / 20)
    expected = -objective(np.asarray(bits.couplings), bits.biases, ROWS[:20], weights, 0.0)
    assert machine.pseudo_likelihood(rows[:20]) == pytest.approx(expected, rel=1e-12)
    assert machine.score(rows[:20]) == machine.pseudo_likelihood(rows[:20])
    numbers = ROWS[:20].astype(int) @ (1 << np.arange(5))
    found = machine.score_samples(rows[:20])
    np.testing.assert_allclose(found, np.log(table_of(machine))[numbers], rtol=1e-10)
    assert machine.log_partition_error_ == 0


@pytest.mark.parametrize("method", ["auto", "exact", "gibbs", "herded-gibbs"])
@pytest.mark.parametrize("states", [(0, 1), (-1, 1)])
def test_samples_follow_the_machine(method, states):
    rows = ROWS if states == (0, 1) else signs(ROWS)
    machine = BoltzmannMachine(alpha=1e-2).fit(rows)
    n = 20_000
    samples = machine.sample(n, method=method, random_state=3)
    assert samples.shape == (n, 5)
    assert set(np.unique(samples)) == set(states)
    numbers = (samples > 0) @ (1 << np.arange(5))
    found = np.bincount(numbers, minlength=32) / n
    table = table_of(machine)
    # five standard errors of independent rows; herded rows scatter less, but their chain on a
    # complete graph is only near the machine
    allowed = 5 * np.sqrt(table * (1 - table) / n) + (0.01 if method == "herded-gibbs" else 0)
    assert (np.abs(found - table) < allowed).all()
    again = machine.sample(n, method=method, random_state=3)
    np.testing.assert_array_equal(samples, again)
    assert machine.sample(3, method=method).shape == (3, 5)


def test_many_columns_are_sampled_and_scored_by_chains():
    rows = np.random.default_rng(0).integers(0, 2, (400, 24))
    machine = BoltzmannMachine(alpha=1.0).fit(rows)
    with refuses("method"):
        machine.sample(5, method="exact")
    samples = machine.sample(4000)
    # nearly independent columns, by the penalty: means are those of the rows
    chances = rows.mean(axis=0)
    assert (np.abs(samples.mean(axis=0) - chances) < 5 * 0.5 / np.sqrt(4000) + 0.01).all()
    alone = np.log(np.where(rows, chances, 1 - chances)).sum(axis=1)
    assert np.abs(machine.score_samples(rows) - alone).max() < 0.5
    assert 0 <= machine.log_partition_error_ < 0.05


def test_a_partition_function_that_is_not_to_be_trusted_is_told():
    # few columns are on, in a tenth of the rows many more: the fit has a mode of ones beyond
    rng = np.random.default_rng(0)
    chances = np.where(rng.random((2000, 1)) < 0.1, 0.3, 0.02)
    rows = (rng.random((2000, 60)) < chances).astype(int)
    machine = BoltzmannMachine().fit(rows)
    with pytest.warns(AnnealingWarning, match="log Z"):
        machine.score_samples(rows[:2])
    assert machine.score_samples(np.ones((1, 60)))[0] > 0  # no logarithm of a probability


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_threads_do_not_change_a_bit(penalty):
    from threadpoolctl import threadpool_limits

    rows = draw(*random_machine(8, 2), 3000, 2)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            machine = BoltzmannMachine(penalty=penalty, alpha="cv", cv=2).fit(rows)
            found.append((machine.alphas_, machine.cv_scores_, machine.couplings_))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_unknown_entries_are_filled():
    machine = BoltzmannMachine().fit(signs(ROWS))
    rows = signs(ROWS[:40]).astype(float)
    rows[:, 1] = np.nan
    rows[::2, 3] = np.nan
    chances = machine.conditional(rows)
    states, table = signs(all_states(5)), table_of(machine)
    for row, chance in zip(rows, chances, strict=True):
        agrees = (np.isnan(row) | (states == row)).all(axis=1)
        expected = table[agrees] @ (states[agrees] > 0) / table[agrees].sum()
        np.testing.assert_allclose(chance, expected, atol=1e-12)
    filled = machine.impute(rows)
    np.testing.assert_array_equal(filled, np.where(chances > 0.5, 1, -1))
    drawn = machine.impute(np.tile(rows[:1], (4000, 1)), random_state=1)
    known = ~np.isnan(rows[0])
    np.testing.assert_array_equal(drawn[:, known], np.tile(rows[0, known], (4000, 1)))
    share, expected = (drawn > 0).mean(axis=0), chances[0]
    assert (np.abs(share - expected) <= 5 * np.sqrt(expected * (1 - expected) / 4000)).all()
    with refuses("X"):
        machine.conditional([[0, np.nan, 1, 1, 1]])


def test_a_machine_is_checked_against_rows():
    rows = draw(*random_machine(5, 0), 4000, 9)
    machine = BoltzmannMachine(penalty=None).fit(signs(rows))
    assert machine.check(signs(rows)).trust
    others = draw(*random_machine(5, 1), 4000, 9)
    assert not machine.check(signs(others)).trust
    with refuses("X"):
        machine.check(rows)


def test_rows_can_be_numbers_with_a_threshold():
    counts = np.random.default_rng(0).poisson(1.0, (300, 4))
    machine = BoltzmannMachine(binarize=0.5).fit(counts)
    expected = BoltzmannMachine().fit((counts > 0.5).astype(int))
    np.testing.assert_array_equal(machine.couplings_, expected.couplings_)
    assert machine.score(counts) == expected.score(counts > 0.5)
    signed = BoltzmannMachine(binarize=0.5, states=(-1, 1)).fit(counts)
    assert signed.states_ == (-1, 1)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_the_end_of_the_weights_tried_is_told(penalty):
    tried = {"penalty": penalty, "alpha": "cv", "cv": 2}
    rows = draw(*random_machine(5, 0), 4000, 1)
    weakest = BoltzmannMachine(alphas=[0.1, 0.03, 0.5], **tried).fit(rows).diagnostics_
    assert weakest.tried == (0.03, 0.5)
    assert (
        "Warning: the best penalty is the least of those tried, 0.03 to 0.5: try alphas beyond"
        in str(weakest)
    )
    noise = np.random.default_rng(0).integers(0, 2, (60, 8))
    strongest = BoltzmannMachine(alphas=[1e-5, 1e-4, 1e-6], **tried).fit(noise).diagnostics_
    assert (
        "the best penalty is the largest of those tried, 1e-06 to 0.0001: try alphas beyond "
        "0.0001" in str(strongest)
    )
    assert BoltzmannMachine(alphas=[0.1], **tried).fit(rows).diagnostics_.edge == ""


@pytest.mark.parametrize(
    ("options", "error", "name"),
    [
        ({"method": "mle"}, ValueError, "method"),
        ({"penalty": "l3"}, ValueError, "penalty"),
        ({"penalty": "l1", "method": "ml"}, ValueError, "penalty"),
        ({"alpha": -1.0}, ValueError, "alpha"),
        ({"alpha": "best"}, ValueError, "alpha"),
        ({"alpha": "auto"}, ValueError, "alpha"),
        ({"alpha": "cv", "method": "cd"}, ValueError, "alpha"),
        ({"alpha": None}, TypeError, "alpha"),
        ({"alpha": "cv", "cv": 1}, ValueError, "cv"),
        ({"alpha": "cv", "cv": 501}, ValueError, "cv"),
        ({"alpha": "cv", "cv": "five"}, TypeError, "cv"),
        ({"alpha": "cv", "alphas": []}, ValueError, "alphas"),
        ({"alpha": "cv", "alphas": [0.1, 0]}, ValueError, "alphas"),
        ({"states": (1, 2)}, ValueError, "states"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"tol": 0}, ValueError, "tol"),
        ({"n_steps": 0}, ValueError, "n_steps"),
        ({"learning_rate": -1}, ValueError, "learning_rate"),
    ],
)
def test_wrong_parameters_are_named(options, error, name):
    with refuses(name, error):
        BoltzmannMachine(**options).fit(ROWS)


def test_a_machine_is_asked_only_after_its_fit():
    for ask in ("score", "pseudo_likelihood", "score_samples", "conditional", "impute", "check"):
        with pytest.raises(NotFittedError):
            getattr(BoltzmannMachine(), ask)(ROWS)
    with pytest.raises(NotFittedError):
        BoltzmannMachine().sample(3)
    machine = BoltzmannMachine().fit(ROWS)
    with refuses("method"):
        machine.sample(3, method="slice")
    with pytest.raises(ValueError, match="expecting 5 features"):
        machine.score(ROWS[:, :4])


def test_machines_can_be_cloned_and_kept():
    machine = BoltzmannMachine("pl-node", alpha=0.01).fit(ROWS)
    twin = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(twin.couplings_, machine.couplings_)
    assert twin.score(ROWS) == machine.score(ROWS)
    assert not hasattr(clone(machine), "couplings_")


@pytest.mark.parametrize("weight", [1 / 300, 0.37])
def test_weights_that_are_no_counts_only_compare_rows(weight):
    rows = np.random.default_rng(0).integers(0, 2, (300, 4))
    rows[:, 0] = 1
    with pytest.warns(ConstantColumnWarning):
        plain = BoltzmannMachine().fit(rows)
    with pytest.warns(ConstantColumnWarning):
        light = BoltzmannMachine().fit(rows, sample_weight=np.full(300, weight))
    np.testing.assert_allclose(light.biases_, plain.biases_, rtol=1e-9)
    assert light.diagnostics_.n_rows == pytest.approx(300)


def test_a_fit_that_fails_changes_nothing():
    rows = np.random.default_rng(0).integers(0, 2, (100, 5))
    machine = BoltzmannMachine().fit(rows)
    score = machine.score(rows)
    with refuses("alpha"):
        machine.set_params(alpha=-1).fit(rows[:, :3])
    machine.set_params(alpha=1e-3)
    with refuses("X"):
        machine.fit(rows[:, :3] * 3)
    assert machine.n_features_in_ == 5
    assert machine.score(rows) == score


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"penalty": None, "alpha": "cv"}, "alpha"),
        ({"alpha": False}, "alpha"),
        ({"alpha": np.ones(3)}, "alpha"),
        ({"binarize": np.nan}, "binarize"),
        ({"binarize": "a"}, "binarize"),
        ({"binarize": [0, 1, 2]}, "binarize"),
        ({"states": 3}, "states"),
        ({"alpha": "cv", "alphas": 3}, "alphas"),
        ({"random_state": "a"}, "random_state"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_parameters_are_named(wrong, name):
    rows = np.random.default_rng(0).integers(0, 2, (20, 3))
    with refuses(name, (TypeError, ValueError)):
        BoltzmannMachine(**wrong).fit(rows)
