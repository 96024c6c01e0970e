"""Section 3.3 of the thesis: code lengths are those of its equations, by brute force."""

import numpy as np
import pytest
from scipy.stats import norm

from papers.chen2013_thesis import codes, figure3_6, hidden, regression

RNG_SEED = 33


@pytest.fixture
def rows() -> hidden.Bits:
    return np.random.default_rng(RNG_SEED).integers(2, size=(7, 9), dtype=np.uint8)


@pytest.fixture
def words() -> np.ndarray:
    return np.random.default_rng(RNG_SEED + 1).integers(2, size=(50, 9)).astype(np.int8)


def test_counts_are_those_of_all_pairs(rows, words, monkeypatch) -> None:
    monkeypatch.setattr(hidden, "CHUNK", 8)
    apart = (rows[:, None] != words[None]).sum(axis=2)
    found = hidden.distance_counts(rows, words, [3, 50])
    for counts, end in zip(found, (3, 50), strict=True):
        expected = [np.bincount(each[:end], minlength=10) for each in apart]
        np.testing.assert_array_equal(counts, expected)


def test_length_is_that_of_equation_3_28(rows, words) -> None:
    apart = (rows[:, None] != words[None]).sum(axis=2)
    p0 = 0.2
    chances = p0**apart * (1 - p0) ** (9 - apart)
    index, errors = hidden.word_length(hidden.distance_counts(rows, words, [50])[0], p0)
    assert index + errors == pytest.approx(-np.log2(chances.mean(axis=1)).mean())
    posterior = chances / chances.sum(axis=1, keepdims=True)
    assert errors == pytest.approx(-(posterior * np.log2(chances)).sum(axis=1).mean())
    # The refund of bits back is the entropy of the posterior.
    refund = -(posterior * np.log2(posterior)).sum(axis=1).mean()
    assert index == pytest.approx(np.log2(50) - refund)


def test_p0_is_the_best(rows, words) -> None:
    counts = hidden.distance_counts(rows, words, [50])[0]
    best = hidden.best_p0(counts)
    others = np.linspace(0.01, 0.45, 50)
    least = min(sum(hidden.word_length(counts, p)) for p in others)
    assert sum(hidden.word_length(counts, best)) <= least + 1e-3


def test_bits_of_numbers() -> None:
    values = 0.5 * np.array([-30, -2, -1, 0, 0, 1, 1, 2, 40])
    spread = norm(values.mean(), values.std())
    mass = spread.cdf(values + 0.25) - spread.cdf(values - 0.25)
    assert hidden.normal_bits(values, 0.5) == pytest.approx(-np.log2(mass).sum())
    assert hidden.normal_bits(np.zeros(4), 0.5) == pytest.approx(0.0, abs=0.3)
    assert hidden.entropy_bits(np.array([1, 1, 2, 2, 3, 3, 4, 4])) == pytest.approx(16)


@pytest.mark.parametrize("hard", [True, False])
def test_words_code_by_equations_3_25_and_3_27(rows, hard: bool) -> None:
    found = codes.Words(rows[:2], np.array([0.25, 0.75]), np.array([0.1, 0.3]))
    chances = np.empty((len(rows), 2))
    for k in range(2):
        wrong = rows != rows[k]
        chances[:, k] = found.shares[k] * np.where(
            wrong, found.errors[k], 1 - found.errors[k]
        ).prod(axis=1)
    best = chances.max(axis=1) if hard else chances.sum(axis=1)
    assert found.length(rows, hard).code == pytest.approx(-np.log2(best).mean())
    assert found.length(rows, False).code <= found.length(rows, True).code


def test_hill_climbing_lowers_errors_and_decodes() -> None:
    given = hidden.images("8", True)
    machine = codes.learn_machine("8", True, "cd", 4)
    states, wrong = codes.climb(machine, given.train)
    decoded = machine.model_.visible_probabilities(states.astype(float)) > 0.5
    np.testing.assert_array_equal(decoded != (given.train > 0), wrong)
    first = machine.transform(given.train) > 0.5
    start = machine.model_.visible_probabilities(first.astype(float)) > 0.5
    assert (wrong.sum(axis=1) <= (start != (given.train > 0)).sum(axis=1)).all()


def test_rounded_machines_hold_multiples() -> None:
    rounded, bits = codes.round_machine(codes.learn_machine("8", True, "cd", 4), 0.25)
    scaled = rounded.model_.couplings / 0.25
    np.testing.assert_array_equal(scaled, np.rint(scaled))
    assert bits > 0


def test_training_and_test_images_are_apart() -> None:
    given = hidden.images("8", True)
    assert (len(given.train), len(given.test)) == (hidden.N_QUICK_TRAIN, hidden.N_QUICK_TEST)
    share = given.train.mean()
    expected = -share * np.log2(share) - (1 - share) * np.log2(1 - share)
    assert given.benchmark == pytest.approx(64 * expected)


def test_a_rate_of_zero_learns_nothing() -> None:
    found = regression.begin(hidden.images("8", True).train, 3, 5, 20)
    before = {name: np.array(value) for name, value in found.learner.parameters.items()}
    errors = found.go_on(10, top=0.0)
    assert (errors >= 0).all()
    for name, value in before.items():
        np.testing.assert_array_equal(found.learner.parameters[name], value)


def test_without_the_coder_there_is_no_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure3_6.shutil, "which", lambda _: None)
    assert np.isnan(figure3_6.jbig("8"))
