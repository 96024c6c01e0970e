import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold

from herder.learn import BoltzmannMachine
from herder.learn.methods import find_runaway
from herder.learn.penalty_choice import PenaltyChoice, choose_alpha
from herder.learn.pseudo import fit_pl
from herder.learn.rows import merge_rows
from tests.learn.plain import all_states, draw, objective, random_machine
from tests.naming import refuses

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
    best = int(np.argmax(machine.cv_scores_.mean(axis=1)))  # four folds of 50 rows
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
    shown = f"{machine.diagnostics_.held_out:.4f}  log pseudo-likelihood of a row; with indep"
    assert shown in str(machine.diagnostics_)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_few_noisy_rows_get_a_strong_penalty(penalty):
    noise = np.random.default_rng(3).integers(0, 2, (60, 8))
    chosen = BoltzmannMachine(penalty=penalty, alpha="cv").fit(noise)
    assert chosen.alpha_ == chosen.alphas_[0]
    report = chosen.diagnostics_
    # the weakest penalty loses more than a nat, the strongest leaves next to no couplings
    assert chosen.cv_scores_[-1].mean() + 1.0 < (report.held_out_independent or 0.0)
    assert report.held_out == pytest.approx(report.held_out_independent, abs=0.1)
    assert "no likelier than with independent columns" in str(report)
    many = draw(*random_machine(8, 1), 20_000, 1)
    assert BoltzmannMachine(penalty=penalty, alpha="cv", cv=2).fit(many).alpha_ < chosen.alpha_


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_the_choice_is_made_in_the_rows_own_states(penalty):
    bits = BoltzmannMachine(penalty=penalty, alpha="cv", cv=3).fit(ROWS)
    signs = BoltzmannMachine(penalty=penalty, alpha="cv", cv=3).fit(2 * ROWS.astype(int) - 1)
    # couplings of -1/+1 states are a quarter of those of 0/1 states: the same machines are tried
    np.testing.assert_allclose(signs.alphas_, {"l1": 4, "l2": 16}[penalty] * bits.alphas_)
    np.testing.assert_allclose(signs.cv_scores_, bits.cv_scores_, atol=1e-6)
    x = all_states(6)
    np.testing.assert_allclose(
        np.diff(signs.model_.energy(2 * x - 1)), np.diff(bits.model_.energy(x)), atol=1e-3
    )


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
    with refuses("cv"):
        BoltzmannMachine(cv=KFold(3), **options).fit(ROWS, sample_weight=np.arange(200) < 30)
    with pytest.raises(ValueError, match="groups"):
        BoltzmannMachine(cv=GroupKFold(3), **options).fit(ROWS)


def test_ties_go_to_the_stronger_penalty():
    scores = np.array([[1.0, 3.0], [2.0, 2.0], [0.0, 0.0]])
    choice = PenaltyChoice(np.array([3.0, 2.0, 1.0]), scores, np.zeros(2), np.ones(2))
    assert choice.alpha == 3.0


def test_folds_count_by_their_weight():
    scores = np.array([[0.0, -1.0], [-2.0, -0.5]])
    alphas, independent = np.array([2.0, 1.0]), np.array([-4.0, 0.0])
    even = PenaltyChoice(alphas, scores, independent, np.array([1.0, 1.0]))
    assert (even.alpha, even.held_out, even.held_out_independent) == (2.0, -0.5, -2.0)
    later = PenaltyChoice(alphas, scores, independent, np.array([1.0, 9.0]))
    assert later.alpha == 1.0
    assert later.held_out == pytest.approx(-0.65)
    assert later.held_out_independent == pytest.approx(-0.4)
    weight = np.where(np.arange(200) < 50, 1.0, 5.0)
    codes, folds = ROWS.astype(np.uint8), KFold(4)

    def fit(sample, *, alpha, start, tol):
        return fit_pl(sample, alpha=alpha, start=start, tol=tol)

    choice = choose_alpha(codes, weight, fit, alphas=[0.1, 0.01], cv=folds)
    np.testing.assert_array_equal(choice.weights, [50.0, 250.0, 250.0, 250.0])


def test_folds_may_be_listed():
    options = {"alpha": "cv", "alphas": [1e-1, 1e-3]}
    listed = [(train.tolist(), test) for train, test in KFold(3).split(ROWS)]
    by_list = BoltzmannMachine(cv=listed, **options).fit(ROWS)
    by_splitter = BoltzmannMachine(cv=KFold(3), **options).fit(ROWS)
    np.testing.assert_array_equal(by_list.cv_scores_, by_splitter.cv_scores_)
    once = BoltzmannMachine(cv=listed[:1], **options).fit(ROWS)
    np.testing.assert_array_equal(once.cv_scores_, by_list.cv_scores_[:, :1])


@pytest.mark.parametrize(
    ("cv", "error", "message"),
    [
        ([], ValueError, "^cv must"),
        ([3], TypeError, "row numbers, got int as fold 0$"),
        ([([0, 1], [2]), ([0], [1], [2])], TypeError, "got tuple as fold 1$"),
        ([([0, 1], [200])], ValueError, "^cv must"),
        ([([0, -1], [2])], ValueError, "got -1 to 0 in fold 0"),
        ([([0.5, 1.0], [2])], TypeError, "got 1 axes of float64 in fold 0"),
        ([(list(range(199)), [])], ValueError, "^cv must"),
        ("three", TypeError, "^cv must"),
    ],
)
def test_bad_folds_are_named_in_a_few_words(cv, error, message):
    with pytest.raises(error, match=message) as caught:
        BoltzmannMachine(alpha="cv", cv=cv).fit(ROWS)
    assert len(str(caught.value)) < 120


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
