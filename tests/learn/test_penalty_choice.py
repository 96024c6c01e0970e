import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold

from herder.learn import BoltzmannMachine
from herder.learn.methods import find_runaway
from herder.learn.penalty_choice import PenaltyChoice
from herder.learn.rows import merge_rows
from tests.learn.plain import draw, objective, random_machine

ROWS = draw(*random_machine(6, 0), 200, 0)


@pytest.mark.parametrize(("method", "penalty"), [("pl", "l2"), ("pl-node", "l2"), ("pl", "l1")])
def test_scores_are_those_of_rows_held_back(method, penalty):
    alphas, folds = [1e-3, 1e-1, 1e-2], KFold(4)
    machine = BoltzmannMachine(method, penalty=penalty, alpha="cv", alphas=alphas, cv=folds)
    machine.fit(ROWS)
    np.testing.assert_array_equal(machine.alphas_, [1e-1, 1e-2, 1e-3])
    assert machine.cv_scores_.shape == (3, 4)
    for i, alpha in enumerate(machine.alphas_):
        for k, (train, test) in enumerate(folds.split(ROWS)):
            part = BoltzmannMachine(method, penalty=penalty, alpha=alpha).fit(ROWS[train])
            weights = np.full(len(test), 1 / len(test))
            expected = -objective(part.couplings_, part.biases_, ROWS[test], weights, 0.0)
            # fits of folds stop at a gradient of 1e-4
            assert machine.cv_scores_[i, k] == pytest.approx(expected, abs=1e-4)
    best = int(np.argmax(machine.cv_scores_.mean(axis=1)))
    assert machine.alpha_ == machine.alphas_[best]
    whole = BoltzmannMachine(method, penalty=penalty, alpha=machine.alpha_).fit(ROWS)
    np.testing.assert_array_equal(machine.couplings_, whole.couplings_)
    report = machine.diagnostics_
    assert report.held_out == pytest.approx(machine.cv_scores_[best].mean())


def test_held_back_rows_of_independent_columns():
    machine = BoltzmannMachine(alpha="cv", cv=KFold(5)).fit(ROWS)
    scores = []
    for train, test in KFold(5).split(ROWS):
        means = (ROWS[train].sum(axis=0) + 0.5) / (len(train) + 1)
        chances = np.where(ROWS[test], means, 1 - means)
        scores.append(np.log(chances).sum(axis=1).mean())
    assert machine.diagnostics_.held_out_independent == pytest.approx(np.mean(scores))
    assert (machine.diagnostics_.held_out or -np.inf) > np.mean(scores)
    assert "log pseudo-likelihood of a held-back row" in str(machine.diagnostics_)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_few_noisy_rows_get_a_strong_penalty(penalty):
    noise = np.random.default_rng(0).integers(0, 2, (60, 8))
    chosen = BoltzmannMachine(penalty=penalty, alpha="cv").fit(noise)
    assert chosen.alpha_ == chosen.alphas_[0]
    assert "no likelier than with independent columns" in str(chosen.diagnostics_) or (
        "give alphas beyond" in str(chosen.diagnostics_)
    )
    many = draw(*random_machine(8, 1), 20_000, 1)
    assert BoltzmannMachine(penalty=penalty, alpha="cv", cv=2).fit(many).alpha_ < chosen.alpha_


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_the_choice_is_made_in_the_rows_own_states(penalty):
    bits = BoltzmannMachine(penalty=penalty, alpha="cv", cv=3).fit(ROWS)
    signs = BoltzmannMachine(penalty=penalty, alpha="cv", cv=3).fit(2 * ROWS.astype(int) - 1)
    if penalty == "l1":  # shares of the weight at which nothing is left: the same machines
        np.testing.assert_allclose(signs.alphas_, 4 * bits.alphas_)
        np.testing.assert_allclose(signs.cv_scores_, bits.cv_scores_, atol=1e-6)
    else:
        np.testing.assert_array_equal(signs.alphas_, bits.alphas_)
        assert (signs.cv_scores_ != bits.cv_scores_).any()


def test_folds_are_drawn_by_the_seed():
    scores = [
        BoltzmannMachine(alpha="cv", cv=3, random_state=seed).fit(ROWS).cv_scores_
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert (scores[0] != scores[2]).any()


def test_a_column_that_is_constant_in_a_fold_is_no_obstacle():
    rows = np.column_stack([ROWS, np.zeros(200, int)])
    rows[0, 6] = 1
    machine = BoltzmannMachine(alpha="cv", cv=KFold(5), alphas=[1e-2]).fit(rows)
    assert np.isfinite(machine.cv_scores_).all()
    train, test = next(iter(KFold(5).split(rows)))
    part = BoltzmannMachine(alpha=1e-2).fit(rows[train][:, :6])
    weights = np.full(len(test), 1 / len(test))
    odds = np.log(0.5 / (len(train) + 0.5))
    expected = -objective(part.couplings_, part.biases_, rows[test][:, :6], weights, 0.0)
    expected += rows[test, 6].mean() * odds - np.log1p(np.exp(odds))
    assert machine.cv_scores_[0, 0] == pytest.approx(expected, abs=1e-4)


def test_weights_count_in_folds():
    counts = np.random.default_rng(1).integers(0, 3, 200)
    groups = np.repeat(np.arange(200), counts)
    options = {"alpha": "cv", "alphas": [1e-1, 1e-3]}
    folds = [(train, test) for train, test in KFold(3).split(ROWS)]

    class Given:
        def split(self, X):
            for _, test in folds:
                held = np.isin(groups, test)
                yield np.flatnonzero(~held), np.flatnonzero(held)

    weighted = BoltzmannMachine(cv=KFold(3), **options).fit(ROWS, sample_weight=counts)
    repeated = BoltzmannMachine(cv=Given(), **options).fit(np.repeat(ROWS, counts, axis=0))
    np.testing.assert_allclose(weighted.cv_scores_, repeated.cv_scores_, atol=1e-9)
    with pytest.raises(ValueError, match="cv must leave rows of some weight on both sides"):
        BoltzmannMachine(cv=KFold(3), **options).fit(ROWS, sample_weight=np.arange(200) < 30)
    with pytest.raises(ValueError, match="groups"):
        BoltzmannMachine(cv=GroupKFold(3), **options).fit(ROWS)


def test_ties_go_to_the_stronger_penalty():
    scores = np.array([[1.0, 3.0], [2.0, 2.0], [0.0, 0.0]])
    choice = PenaltyChoice(np.array([3.0, 2.0, 1.0]), scores, np.zeros(2))
    assert (choice.alpha, choice.is_at_edge) == (3.0, True)


@pytest.mark.parametrize(
    ("missing", "text"), [((1, 1), "1 and 1"), ((1, 0), "1 and 0"), ((0, 0), "0 and 0")]
)
def test_empty_cells_of_two_columns_are_found(missing, text):
    rows = np.array([(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)], np.uint8)
    everything, none = np.ones(3, bool), np.zeros((3, 3))
    assert find_runaway(merge_rows(rows), none, everything, "xyz") == ""
    left = rows[(rows[:, [0, 2]] != missing).any(axis=1)]
    found = find_runaway(merge_rows(left), none, everything, "xyz")
    assert f"columns x and z are never {text};" in found
    assert find_runaway(merge_rows(left), none, np.array([True, True, False]), "xyz") == ""
