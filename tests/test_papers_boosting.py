"""Self supervised boosting: rows of the splits, errors by round, roughness of surfaces."""

import numpy as np
import pytest

from herder import BoostedClassifier, BoostedField
from papers.welling2002_boosting import data, digits, figure1a, figure2
from papers.welling2002_boosting.data import Split


def test_splits_are_of_new_rows_and_the_same_again() -> None:
    first, second = data.splits(2, quick=True)
    (again,) = data.splits(1, quick=True)
    assert len(first.X) == len(first.y) == 2 * data.QUICK_SIZES[0]
    assert len(first.X_test) == len(first.y_test) == 2 * data.QUICK_SIZES[1]
    np.testing.assert_array_equal(first.X, again.X)
    assert (first.X != second.X).any()
    learnt, fresh = data.spirals(quick=True)
    assert not set(map(tuple, learnt)) & set(map(tuple, fresh))


def test_errors_are_those_of_a_classifier_with_that_many_rounds() -> None:
    split = next(data.splits(1, quick=True))
    settings = {"weighted": True, "random_state": 5}
    fields = [
        BoostedField(n_rounds=n, **settings).fit(split.X[split.y == digit])
        for digit, n in ((0, 4), (1, 2))
    ]
    train, test = digits.errors_by_round(fields, split, np.array([2, 3]))
    model = BoostedClassifier(BoostedField(n_rounds=2, **settings)).fit(split.X, split.y)
    assert train[0] == pytest.approx(100 * (1 - model.score(split.X, split.y)))
    assert test[0] == pytest.approx(100 * (1 - model.score(split.X_test, split.y_test)))
    # the second field stopped after two rounds
    learnt, tested = (
        np.column_stack(
            [list(each.staged_energy(rows))[k] for each, k in zip(fields, (2, 1), strict=True)]
        )
        for rows in (split.X, split.X_test)
    )
    assert (train[1], test[1]) == digits.on_energies(learnt, tested, split)


def test_errors_of_perfect_energies_are_zero() -> None:
    rows, labels = np.zeros((6, 1), np.uint8), np.repeat([0, 1], 3)
    split = Split(rows, labels, rows, 1 - labels)
    energies = np.column_stack([labels, 1 - labels])
    assert digits.on_energies(energies, energies, split) == (0, 100)


def test_the_first_round_at_the_aim() -> None:
    rounds = np.array([1, 2, 10])
    assert figure1a._first(np.array([3.0, 1.0, 0.5]), rounds) == 2
    assert figure1a._first(np.array([3.0, 2.0, 2.0]), rounds) == 10


@pytest.mark.parametrize("spread", [2.0, 3.0])
def test_roughness_of_a_gaussian_is_its_laplacian(spread) -> None:
    def density(points: np.ndarray) -> np.ndarray:
        return -((points - [5.0, 2.0]) ** 2).sum(axis=1) / (2 * spread**2)

    assert figure2._roughness(density) == pytest.approx(2 / spread**2, rel=1e-6)
