"""The protocol of the tournament: noise, the choice of settings, and who wins."""

import numpy as np
import pytest

from papers.crammer2010_nherd import data, duels, protocol
from papers.crammer2010_nherd.learners import LEARNERS


@pytest.mark.parametrize("n_classes", [2, 5])
def test_noise_gives_other_classes_evenly(n_classes: int) -> None:
    y = np.arange(20_000) % n_classes
    noisy = data.flip(y, 0.3, np.random.default_rng(0))
    changed = noisy != y
    assert changed.mean() == pytest.approx(0.3, abs=0.015)  # 4.6 standard errors
    shifts = (noisy[changed] - y[changed]) % n_classes
    assert set(shifts) == set(range(1, n_classes))
    assert np.bincount(shifts)[1:].min() > 0.9 * changed.sum() / (n_classes - 1)
    assert (data.flip(y, 0.0, np.random.default_rng(0)) == y).all()


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([[0.3, 0.2], [0.1, 0.2], [0.4, 0.4]], (1, 1)),
        ([[0.1, 0.2, 0.2], [0.1, 0.1, 0.1], [0.2, 0.1, 0.3]], (1, 2)),
        ([[0.1, 0.2], [0.2, 0.2], [0.1, 0.1], [0.2, 0.1]], (2, 2)),
    ],
)
def test_the_middle_of_ties_is_chosen(errors: list[list[float]], expected: object) -> None:
    assert protocol.choose(np.array(errors)) == expected


def test_duels_count_ties_as_half_and_test_the_rest() -> None:
    first, second = np.array([0.1, 0.2, 0.3, 0.4, 0.1]), np.array([0.2, 0.3, 0.3, 0.5, 0.0])
    found = duels.duel(first, second)
    assert (found.wins, found.ties, found.losses) == (3, 1, 1)
    assert found.share == 70.0
    assert found.p_value() == pytest.approx(10 / 16)  # 2 (1 + 4) of 16 outcomes of four coins
    assert found.p_value("greater") == pytest.approx(5 / 16)
    assert duels.duel(first, first).p_value() == 1.0


def test_a_trial_is_the_same_twice_and_complete() -> None:
    name = data.Name("digits", ("3", "5"))
    trial = protocol.run_task(name, 0.3, quick=True)
    assert trial == protocol.run_task(name, 0.3, quick=True)
    assert set(trial.tuned) == set(LEARNERS)
    assert all(0.0 <= outcome.error <= 1.0 for outcome in trial.tuned.values())
    assert all(1 <= outcome.epochs <= protocol.QUICK_EPOCHS for outcome in trial.tuned.values())
    assert duels.at([trial], 0.3, texts=False) == [trial]
    assert duels.at([trial], 0.3, texts=True) == []


def test_a_duel_says_for_which_tasks_its_p_value_holds() -> None:
    found = duels.duel(np.array([0.1, 0.2]), np.array([0.2, 0.2]))
    assert str(found) == "1 won, 1 tied, 0 lost; p = 1 if tasks were independent."
