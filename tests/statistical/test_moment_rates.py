"""The guarantee shows: moments are matched at rate 1/T, and derived quantities lie in bounds."""

import numpy as np
import pytest

from herder import MomentHerder, Moments, kl_divergence
from herder.core import fit_rate
from herder.fields.live import MomentHerd
from herder.fields.uncertainty import count_estimate, estimate_expectation
from herder.metrics import count_distribution
from tests.fields.test_retrace import coupled_rows, mixed_rows
from tests.naming import refuses


@pytest.mark.parametrize("encoding", ["01", "+-1", "indicator"])
def test_the_moment_error_falls_like_one_over_t(encoding):
    live = MomentHerd(Moments.from_data(coupled_rows(300, 6)), encoding=encoding)
    live.advance(2**15)
    late = live.trace.t >= 64
    slope = fit_rate(live.trace.t[late], live.trace.rms[late]).slope
    assert slope == pytest.approx(-1.0, abs=0.12)  # nine doublings of a bounded, wandering w


def test_the_weight_norm_stays_bounded_on_mixed_alphabets():
    live = MomentHerd(Moments.from_data(mixed_rows(100)))
    live.advance(2**14)
    norms = live.trace.norm
    assert norms[-1] < 2 * norms[len(norms) // 2]


@pytest.mark.parametrize("order", [2, 3])
def test_count_estimates_lie_in_their_bounds(order):
    rows = coupled_rows(400, 7, seed=3)
    result = count_estimate(Moments.from_data(rows, order), 20_000)
    assert result.bounds is not None
    slack = 10 * result.moment_error
    assert (result.lowest >= result.bounds.lower - slack).all()
    assert (result.highest <= result.bounds.upper + slack).all()
    assert (result.lowest <= result.value).all()
    assert (result.value <= result.highest).all()
    truth = count_distribution(rows)
    assert (truth >= result.bounds.lower - 1e-9).all()
    assert (truth <= result.bounds.upper + 1e-9).all()
    assert "bound" in str(result)


def test_tails_are_sums_of_counts():
    moments = Moments.from_data(coupled_rows(200, 5))
    counts, tails = count_estimate(moments, 3000), count_estimate(moments, 3000, tail=True)
    np.testing.assert_allclose(tails.value, 1 - np.cumsum(counts.value), atol=1e-12)


def test_any_function_of_mixed_columns_can_be_estimated():
    moments = Moments.from_data(mixed_rows(100))
    result = estimate_expectation(moments, lambda codes: (codes[:, 0] == codes[:, 3]).mean(), 3000)
    table = moments.table((0, 3))
    assert float(result.value) == pytest.approx(np.trace(table) / 100, abs=5e-3)
    assert set(result.variants) >= {"default", "first half", "second half", "scan reversed"}


def test_counts_of_ones_want_binary_columns():
    with refuses("moments"):
        count_estimate(Moments.from_data(mixed_rows()))


@pytest.mark.slow
def test_triples_beat_pairs_beat_singles():
    """The more moments are matched, the nearer is P(k): the claim of the paper's table 1."""
    rows = coupled_rows(2000, 9, seed=1)
    truth = count_distribution(rows)
    errors = []
    for order in (1, 2, 3):
        samples = MomentHerder(order).fit(rows).sample(100_000)
        errors.append(kl_divergence(truth, count_distribution(samples)))
    assert errors[0] > 3 * errors[1] > 3 * errors[2]


@pytest.mark.slow
def test_a_long_run_stays_exact():
    rows = coupled_rows(500, 10, seed=4)
    for order in (2, 3):
        live = MomentHerd(Moments.from_data(rows, order), restarts="none")
        total = np.zeros((10, 10))
        n_steps = 2_000_000
        for _ in range(20):
            states = live.advance(n_steps // 20).astype(float)
            total += states.T @ states
        gap = np.abs(total / n_steps - rows.T.astype(float) @ rows / 500).max()
        assert gap < 1e-4
        assert live.trace.error[-1] >= gap - 1e-12
