"""Checks against held-out rows: every printed number by other code, and right and wrong models."""

import re
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom, norm

from herder.learn import BoltzmannMachine
from herder.learn.check import ALARM
from herder.models.exact import exact_samples
from herder.models.pairwise import PairwiseModel
from tests.learn.brute import all_states, probabilities, random_field

#: A rate of refusals this improbable at the level is no chance.
CHANCE = 1e-3


def right_model(seed, n=8, coupling_sd=0.6):
    return PairwiseModel(*random_field(n, seed, coupling_sd))


def drawn(p, n, n_rows, seed):
    """Rows of the distribution p over `all_states` of n columns."""
    return all_states(n)[np.random.default_rng(seed).choice(len(p), n_rows, p=p)].astype(int)


def third_order(n_rows, seed, strength=0.4):
    """Rows of a pairwise model with an interaction of its first three columns."""
    x, p = probabilities(*random_field(8, seed % 10, 0.4))
    p = p * np.exp(strength * np.prod(2 * x[:, :3] - 1, axis=1))
    return drawn(p / p.sum(), 8, n_rows, seed)


def mixture(n_rows, seed):
    """Rows that come in two kinds, each with independent columns."""
    rng = np.random.default_rng(seed)
    kind = np.where(rng.random((n_rows, 1)) < 0.3, 0.1, 0.6)
    return (rng.random((n_rows, 12)) < kind).astype(int)


def halves(rows):
    return rows[: len(rows) // 2], rows[len(rows) // 2 :]


def plain_variance(p, q, n_rows):
    return max(r * (1 - r) for r in ((n_rows * s + 0.5) / (n_rows + 1) for s in (p, q))) / n_rows


def plain_interaction(cells, n_rows):
    """Interaction of the eight cells of three columns, and the sum of their inverses."""
    total, inverse = 0.0, 0.0
    for state, share in cells.items():
        smooth = (n_rows * share + 0.5) / (n_rows + 4)
        total += np.log(smooth) * (1 if sum(state) % 2 else -1)
        inverse += 1 / smooth
    return total, inverse


def plain_check(W, b, train, test):
    """Largest z, by statistic, and score, gain and its error, from the definitions."""
    n, sizes = test.shape[1], (len(test), len(train))
    x, prob = probabilities(W, b)
    z = {"means": [], "pairs": [], "triples": [], "numbers of ones": []}

    def add(what, p, q):
        z[what].append((p - q) / np.sqrt(sum(plain_variance(p, q, size) for size in sizes)))

    for i in range(n):
        add("means", test[:, i].mean(), prob @ x[:, i])
    for i, j in combinations(range(n), 2):
        add("pairs", (test[:, i] & test[:, j]).mean(), prob @ (x[:, i] * x[:, j]))
    for k in range(n + 1):
        add("numbers of ones", (test.sum(axis=1) == k).mean(), prob @ (x.sum(axis=1) == k))
    for triple in combinations(range(n), 3):
        both = []
        for table, weight in ((test, np.full(len(test), 1 / len(test))), (x, prob)):
            states = all_states(3)
            cells = {tuple(s): weight @ (table[:, triple] == s).all(axis=1) for s in states}
            both.append(cells)
        p, q = (plain_interaction(cells, sizes[0])[0] for cells in both)
        widest = [max(plain_interaction(c, size)[1] for c in both) / size for size in sizes]
        z["triples"].append((p - q) / np.sqrt(sum(widest)))
    ones, scores, gains = (train.sum(axis=0) + 0.5) / (len(train) + 1), [], []
    for row in test:
        chance = 1 / (1 + np.exp(-(W @ row + b)))
        scores.append(np.log(np.where(row == 1, chance, 1 - chance)).sum())
        gains.append(scores[-1] - np.log(np.where(row == 1, ones, 1 - ones)).sum())
    error = np.std(gains) / np.sqrt(len(test))
    return z, np.mean(scores), np.mean(gains), error


@pytest.mark.parametrize("low", [0, -1])
def test_every_printed_number_is_that_of_the_definition(low):
    train, test = third_order(300, 1), third_order(500, 2)
    machine = BoltzmannMachine(alpha=0.01).fit(train if low == 0 else 2 * train - 1)
    found = machine.check(test if low == 0 else 2 * test - 1, held_out=True)
    model = machine.model_.to_states((0, 1))
    z, score, gain, error = plain_check(np.asarray(model.couplings), model.biases, train, test)
    for part in found.parts:
        np.testing.assert_allclose(part.z, z[part.what], atol=1e-9)
    threshold = norm.isf(ALARM / 2 / sum(len(values) for values in z.values()))
    printed = {line.split("  ")[0]: line for line in str(found).splitlines()}
    for what, values in z.items():
        largest = re.search(r" ([\d.]+) +standard errors off", printed[what])
        assert largest is not None
        assert float(largest[1]) == pytest.approx(np.abs(values).max(), abs=0.05)
        assert f"up to {threshold:.1f} is chance" in printed[what]
    assert re.search(
        rf" {score:.4f} .* independent columns: {score - gain:.4f}$", printed["score"]
    )
    assert re.search(rf" {gain:+.4f} .* standard error {error:.4f}$", printed["gain"])


def test_independent_columns_have_the_means_of_the_training_rows():
    """However wrong the means of the field are: it has modes that the rows never show."""
    field = PairwiseModel(np.full((10, 10), 0.8) - 0.8 * np.eye(10), np.full(10, -3.5))
    rows = (np.random.default_rng(3).random((2000, 10)) < 0.05).astype(int)
    machine = BoltzmannMachine().fit(rows[:1000])
    machine.model_ = field
    found = machine.check(rows[1000:], held_out=True)
    assert found.means.model.min() > 0.5
    shares = (rows[:1000].sum(axis=0) + 0.5) / 1001
    independent = (rows[1000:] * np.log(shares) + (1 - rows[1000:]) * np.log(1 - shares)).sum()
    assert found.score - found.gain == pytest.approx(independent / 1000)
    assert found.score == pytest.approx(machine.pseudo_likelihood(rows[1000:]))


def refused(machine, rows, **options):
    return not machine.check(rows, held_out=True, **options).trust


def test_right_models_pass_with_many_test_rows():
    for seed in range(10):
        rows = exact_samples(right_model(seed), 52_000, random_state=seed)
        assert not refused(BoltzmannMachine().fit(rows[:2000]), rows[2000:])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "n_train", "n_test"), [("ml", 500, 50_000), ("pl", 2000, 2000)]
)
def test_right_models_are_refused_at_the_level(method, n_train, n_test):
    """No more often than at the level, and z of means and pairs are of the size they claim."""
    n_runs, off, spreads = 400, 0, []
    for seed in range(n_runs):
        rows = exact_samples(right_model(seed, 6), n_train + n_test, random_state=seed)
        machine = BoltzmannMachine(method).fit(rows[:n_train])
        found = machine.check(rows[n_train:], held_out=True)
        off += not all(part.agrees for part in found.parts)
        spreads.append([np.mean(part.z**2) for part in (found.means, found.pairs)])
    assert off <= binom.isf(CHANCE, n_runs, ALARM)
    # the larger variance of rows and model is taken, and half a row added: slightly below 1
    assert (np.abs(np.sqrt(np.mean(spreads, axis=0)) - 0.95) < 0.1).all()


@pytest.mark.slow
def test_right_models_that_are_sampled_are_refused_at_the_level():
    n, n_runs, off = 24, 100, 0
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    for seed in range(n_runs):
        weights = np.random.default_rng(seed).normal(0, 1, n - 1)
        rows = exact_samples(
            PairwiseModel.from_edges(n, edges, weights), 14_000, random_state=seed
        )
        machine = BoltzmannMachine(penalty="l1").fit(rows[:4000])
        off += refused(machine, rows[4000:], n_samples=5000, random_state=seed)
    assert off <= binom.isf(CHANCE, n_runs, ALARM)


@pytest.mark.parametrize(
    ("draw", "what"), [(third_order, "triples"), (mixture, "numbers of ones")]
)
def test_what_no_pairwise_model_can_match_is_told(draw, what):
    for seed in range(5):
        train, test = halves(draw(6000, seed))
        machine = BoltzmannMachine("ml").fit(train)
        for found in (machine.check(train), machine.check(test, held_out=True)):
            assert not found.trust
            assert found.worst.what == what
            assert (
                f"but no more: {what} are off by up to {found.worst.largest:.1f}" in found.verdict
            )
            assert found.verdict.endswith("they agree: no pairwise model can match this.")
        if what == "triples":
            assert "(x0, x1, x2: log odds " in found.verdict


@pytest.mark.slow
def test_right_models_with_too_strong_a_penalty_are_not_called_other_than_pairwise():
    """Small differences of many pairs add up in the numbers of ones: it is the fit."""
    n_runs, off, beyond = 100, 0, 0
    for seed in range(n_runs):
        rows = exact_samples(right_model(seed, 10), 5000, random_state=seed)
        found = BoltzmannMachine("ml", alpha=0.02).fit(rows).check(rows)
        off += not found.trust
        beyond += "pairwise" in found.verdict or "more than pairs" in found.verdict
    assert off > n_runs / 2
    assert beyond <= binom.isf(CHANCE, n_runs, ALARM)


def test_many_small_differences_are_the_fit():
    """Pairs agree one by one, and their sum does not: no word that pairs cannot match it."""
    n = 16
    rows = exact_samples(
        PairwiseModel(0.12 * (np.ones((n, n)) - np.eye(n)), np.full(n, -0.9)), 6000, random_state=0
    )
    found = BoltzmannMachine("ml", alpha=0.02).fit(rows).check(rows)
    assert found.pairs.agrees
    assert found.worst is found.counts
    assert not found.counts.good_enough
    assert found.matched is not None
    assert found.matched.agrees
    assert "Its covariances are too small. Lower alpha somewhat" in found.verdict


def test_rows_unlike_those_of_the_fit_are_told():
    train = exact_samples(right_model(0), 2000, random_state=0)
    test = train.copy()
    test[:300, 3] = 1 - test[:300, 3].mean().round()
    machine = BoltzmannMachine().fit(train)
    found = machine.check(test, held_out=True)
    shares = f"{test[:, 3].mean():.4f} of them, and in {train[:, 3].mean():.4f} of those of"
    assert f"These rows are unlike those of the fit: x3 is 1 in {shares} the fit." in found.verdict
    assert "alpha" not in found.verdict


def test_a_stream_remembers_its_means():
    rows = exact_samples(right_model(1), 3000, random_state=1)
    stream = BoltzmannMachine().partial_fit(rows[:1500]).partial_fit(rows[1500:2000])
    found = stream.check(rows[2000:], held_out=True)
    assert found.trust
    shares = (rows[:2000].sum(axis=0) + 0.5) / 2001
    test = rows[2000:]
    independent = (test @ np.log(shares) + (1 - test) @ np.log(1 - shares)).mean()
    assert found.score - found.gain == pytest.approx(independent)
    assert found.score == pytest.approx(stream.pseudo_likelihood(test))
