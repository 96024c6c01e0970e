"""Papers on random fields: what is measured is what the parts say, by hand and by brute force."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from herder import PairwiseModel, study
from papers.chen2013_thesis import denoising, figure4_6, figure4_9, ising
from papers.hyvarinen2006_pl import data, identities
from papers.welling2009_herding import data as tables
from papers.welling2009_herding import table1_readings


def test_correlation_of_a_cycle_is_minus_one_third_between_visits() -> None:
    states = np.tile(np.arange(4), 5000)
    found = study.autocorrelation(states, 100)
    expected = np.where(np.arange(101) % 4 == 0, 1.0, -1 / 3)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_distances_count_states_from_the_first_on() -> None:
    states = np.random.default_rng(0).integers(2, size=(50, 4), dtype=np.int8)
    share = np.full(16, 1 / 16)
    counts = np.array([1, 7, 50])
    for n, found in zip(counts, figure4_6.distances(states, share, counts), strict=True):
        seen = np.zeros(16)
        for row in states[:n]:
            seen[int(row[0] + 2 * row[1] + 4 * row[2] + 8 * row[3])] += 1 / n
        assert found == pytest.approx(np.abs(seen - share).sum() / 2)


def test_pair_average_of_the_critical_torus_is_near_that_of_a_small_one() -> None:
    side = 4
    rows = [np.array(row) for row in product((-1, 1), repeat=side)]
    # Transfer matrix between two rows of the torus, with the couplings within the first.
    within = np.array([row @ np.roll(row, 1) for row in rows])
    between = np.array([[a @ b for b in rows] for a in rows])

    def log_z(strength: float) -> float:
        step = np.exp(strength * (within[:, None] + between))
        return float(np.log(np.trace(np.linalg.matrix_power(step, side))))

    at, eps = 1 / ising.TEMPERATURE, 1e-5
    pair = (log_z(at + eps) - log_z(at - eps)) / (2 * eps) / (2 * side**2)
    # Terms of order 1 / side^3 are left out of the formula: 0.016 for a side of four.
    assert ising.exact_pair(side) == pytest.approx(pair, abs=1 / side**3)
    model = PairwiseModel.grid((side, side), periodic=True, temperature=ising.TEMPERATURE)
    assert model.exact().log_partition == pytest.approx(log_z(at))


def test_components_join_across_the_seam_of_the_torus() -> None:
    model = PairwiseModel.grid((4, 4), periodic=True)
    state = np.array([[1, -1, -1, 1], [-1, -1, -1, -1], [-1, 1, -1, -1], [1, -1, -1, -1]])
    sizes = ising.component_sizes(state.reshape(1, -1).astype(np.int8), model.edges)
    assert sorted(sizes.tolist()) == [1, 3, 12]
    # Of 32 edges, 8 lead out of the component of three and 4 out of the single site.
    assert ising.pair_average(state.ravel(), model.edges) == pytest.approx((20 - 12) / 32)


def test_correlation_of_stripes_averages_both_axes() -> None:
    stripes = np.tile(np.array([1, -1, 1, -1], dtype=np.int8), (4, 1)).reshape(1, -1)
    np.testing.assert_allclose(ising.correlation(stripes, np.array([1, 2])), [0.0, 1.0])


def test_mean_field_comes_to_rest_where_its_equation_holds() -> None:
    seen = np.random.default_rng(1).normal(size=(5, 6))
    means = denoising.mean_field(seen, 500)[-1].reshape(seen.shape)
    for i, j in product(range(5), range(6)):
        near = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
        pull = sum(means[a, b] for a, b in near if 0 <= a < 5 and 0 <= b < 6)
        field = denoising.COUPLING * pull + seen[i, j] / denoising.NOISE**2
        assert means[i, j] == pytest.approx(np.tanh(field), abs=1e-8)


def test_gradient_is_that_of_the_mean_log_pseudo_likelihood() -> None:
    task, other = data.machine(0.5, 1), data.machine(0.5, 2)
    couplings, biases = np.array(other.model.couplings), other.model.biases.copy()

    def value(couplings: np.ndarray, biases: np.ndarray) -> float:
        total = 0.0
        for share, x in zip(task.share, data.STATES, strict=True):
            total += share * np.sum(x * (field := couplings @ x + biases))
            total -= share * np.sum(np.logaddexp(field, -field))
        return float(total)

    slopes = identities.gradient(other.model, task.share)
    step = 1e-6
    for i, j in ((0, 1), (2, 4)):
        # Both entries move, so that the slope is twice the symmetrised one of equation 20.
        change = np.zeros_like(couplings)
        change[i, j] = change[j, i] = step
        rise = value(couplings + change, biases) - value(couplings - change, biases)
        assert rise / (2 * step) == pytest.approx(2 * slopes[0][i, j], abs=1e-7)
        change = np.eye(len(biases))[i] * step
        rise = value(couplings, biases + change) - value(couplings, biases - change)
        assert rise / (2 * step) == pytest.approx(slopes[1][i], abs=1e-7)


def test_the_interval_of_a_mean_is_that_of_a_t_test() -> None:
    numbers = np.random.default_rng(0).normal(-0.8, 0.1, size=10)
    found: Any = ttest_1samp(numbers, 0.0)
    interval = found.confidence_interval(0.95)
    expected = (numbers.mean(), interval.low, interval.high)
    assert figure4_9.interval(numbers) == pytest.approx(expected)


def test_sampled_counts_are_near_the_convolution() -> None:
    X = tables.neighbours()
    drawn = np.array(table1_readings.sampled_counts(X, 5000))
    assert drawn.sum(axis=1) == pytest.approx(1.0)
    # Ten samples of 5,000 rows: standard errors of at most 0.5 / sqrt(50,000).
    np.testing.assert_allclose(drawn.mean(axis=0), tables.independent(X), atol=4 * 0.0023)
