from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from herder.core import EnumeratedSystem, herd
from herder.core.diagnostics import (
    Growth,
    Violations,
    explain_growth,
    fit_rate,
    growth,
    moment_error,
    pct_violations,
    weight_norms,
)
from tests.naming import refuses

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def run(system, weights, n, **options):
    return list(islice(herd(system, weights, **options), n))


class Stuck(EnumeratedSystem):
    """Looks at the first states only."""

    def maximise(self, weights, previous):
        return int(np.argmax(self.scores(weights)[:2]))


def test_violations_of_steps_and_of_numbers():
    steps = run(EnumeratedSystem(CORNERS, [1.5, 0.25]), [0.0, 0.0], 30)
    of_steps = pct_violations(steps)
    assert of_steps == pct_violations(step.tipi for step in steps)
    assert of_steps.n_steps == 30
    assert of_steps.n_violations > 20
    assert of_steps.worst == max(step.tipi for step in steps)
    assert of_steps.first is not None
    assert steps[of_steps.first].tipi > 0
    assert pct_violations([Fraction(1, 3), -1]).worst == Fraction(1, 3)
    assert pct_violations([1e-12, -1.0], tol=1e-9) == Violations(2, 0, 0, None)
    assert pct_violations([]) == Violations(0, 0, 0, None)


def test_weight_norms_undo_the_rescaling():
    system = EnumeratedSystem(CORNERS, [1.5, 0.25])
    free = weight_norms(run(system, [0.0, 0.0], 200))
    kept = weight_norms(run(system, [0.0, 0.0], 200, max_norm=1.0))
    assert (free == kept).all()


@pytest.mark.parametrize("rates", [None, [2, 5]])
def test_moment_error_is_that_of_the_averages(rates):
    features = np.array([[0, 0], [3, 1], [1, 2]])
    system = EnumeratedSystem(features, counts=[2, 3, 5])
    steps = run(system, [4, -7], 123, rates=rates)
    mean = np.mean([features[step.state] for step in steps], axis=0)
    expected = np.linalg.norm(system.target / 10 - mean)
    error = moment_error([4, -7], steps[-1].weights, 123, rates=rates, total=10)
    assert error == pytest.approx(expected, rel=1e-9)


def test_moment_error_after_rescaling():
    system = EnumeratedSystem(CORNERS, [1.5, 0.25])
    free = run(system, [0.0, 0.0], 1000)[-1]
    kept = run(system, [0.0, 0.0], 1000, max_norm=1.0)[-1]
    error = moment_error([0.0, 0.0], kept.weights, 1000, scale=kept.scale)
    assert error == moment_error([0.0, 0.0], free.weights, 1000)
    # the nearest point of the square is (1, 1/4)
    assert error == pytest.approx(0.5, abs=1e-2)


def test_fit_rate_recovers_a_power_law_and_ignores_zeros():
    t = np.arange(1, 200)
    error = 3.0 * t**-1.0
    error[10:20] = 0.0
    rate = fit_rate(t, error)
    assert rate.slope == pytest.approx(-1.0, abs=1e-12)
    assert rate.standard_error < 1e-12
    assert rate.n_points == 189


def test_fit_rate_standard_error_covers_the_slope():
    rng = np.random.default_rng(0)
    t = np.geomspace(1, 1e4, 60)
    within = 0
    for _ in range(200):
        rate = fit_rate(t, t**-0.5 * np.exp(rng.normal(0, 0.3, 60)))
        within += abs(rate.slope + 0.5) < 2 * rate.standard_error
    # 95 % of 200 is 190, with a standard deviation of 3
    assert 178 <= within <= 200


@pytest.mark.parametrize(
    ("t", "error", "name"),
    [
        ([1, 2], [1.0, 0.0], "error"),
        ([0, 1], [1.0, 1.0], "t"),
        ([1, 2], [1.0, -1.0], "error"),
        ([1, 2, 3], [1.0, 1.0], "error"),
        ([[1, 2]], [[1.0, 1.0]], "t"),
        ([1, 2], [1.0, np.nan], "error"),
        ([3, 3], [1.0, 2.0], "error"),
    ],
)
def test_fit_rate_refuses(t, error, name):
    with refuses(name):
        fit_rate(t, error)


def test_growth_tells_bounded_from_linear():
    t = np.arange(1, 2001)
    inside = weight_norms(run(EnumeratedSystem(CORNERS, [0.3, 0.6]), [0.0, 0.0], 2000))
    outside = weight_norms(run(EnumeratedSystem(CORNERS, [1.1, 0.5]), [0.0, 0.0], 2000))
    assert not growth(t, inside).linear
    assert abs(growth(t, inside).exponent) < 0.2
    assert growth(t, outside).linear
    assert growth(t, outside).exponent == pytest.approx(1.0, abs=0.05)
    assert not growth(t, np.sqrt(t)).linear
    assert growth(t, np.zeros(2000)) == Growth(0.0, linear=False)


def diagnose(system, n=1000, **certificates):
    steps = run(system, np.zeros(2), n)
    w = steps[-1].weights
    found = growth(np.arange(1, n + 1), weight_norms(steps))
    features = system.features[system.maximise(w, None)]
    return explain_growth(found, w, system.target, features, **certificates), w


def test_bounded():
    diagnosis, _ = diagnose(EnumeratedSystem(CORNERS, [0.3, 0.6]))
    assert diagnosis.verdict == "bounded"


def test_inconsistent_moments_are_certified_with_their_distance():
    system = EnumeratedSystem(CORNERS, [1.3, 1.4])
    diagnosis, w = diagnose(system, exact=CORNERS[3])
    assert system.maximise(w, None) == 3
    assert diagnosis.verdict == "inconsistent moments"
    # the corner (1, 1) is the nearest point, at 1/2; the weights point straight away from it
    assert diagnosis.distance == pytest.approx(0.5, abs=1e-3)
    assert diagnosis.distance <= 0.5 + 1e-12


def test_stuck_search_is_certified_by_a_better_state_or_by_data():
    system = Stuck(CORNERS, [0.3, 0.6])
    by_state, w = diagnose(system, known=CORNERS[2])
    assert by_state.verdict == "stuck search"
    assert "inconsistent as well" not in by_state.reason
    by_exact, _ = diagnose(system, exact=CORNERS[np.argmax(CORNERS @ w)])
    assert by_exact.verdict == "stuck search"
    by_data, _ = diagnose(system, from_data=True)
    assert by_data.verdict == "stuck search"


def test_better_state_below_the_target_leaves_a_doubt():
    diagnosis, _ = diagnose(Stuck(CORNERS, [0.3, 1.6]), known=CORNERS[2])
    assert diagnosis.verdict == "stuck search"
    assert "inconsistent as well" in diagnosis.reason


def test_without_a_certificate_it_stays_undecided():
    diagnosis, _ = diagnose(Stuck(CORNERS, [0.3, 0.6]))
    assert diagnosis.verdict == "undecided"
    diagnosis, _ = diagnose(EnumeratedSystem(CORNERS, [1.3, 0.5]))
    assert diagnosis.verdict == "undecided"
    assert diagnosis.distance == 0.0


def test_a_growing_path_on_which_the_condition_holds_is_undecided():
    linear = Growth(1.0, linear=True)
    diagnosis = explain_growth(linear, [4, 1], [1, 1], [2, 0], exact=[2, 0], from_data=True)
    assert diagnosis.verdict == "undecided"
    assert "cycling condition holds" in diagnosis.reason


def test_exact_numbers_need_no_tolerance():
    linear = Growth(1.0, linear=True)
    big = 10**15
    diagnosis = explain_growth(linear, [1, 0], [big + 1, 0], [big, 0], exact=[big, 0])
    assert diagnosis.verdict == "inconsistent moments"
    assert diagnosis.distance == 1.0


def test_shapes_are_checked():
    with refuses("target"):
        explain_growth(Growth(1.0, linear=True), [1, 0], [1, 0, 0], [1, 0])
    with refuses("weights"):
        moment_error([0, 0], [1], 5)
    with refuses("t"):
        moment_error([0, 0], [1, 1], 0)
    with refuses("weight_norm"):
        growth([1, 2, 3], [1.0, 1.0])


def test_mixed_number_types_are_compared_with_a_tolerance():
    linear = Growth(1.0, linear=True)
    # one rounding below the target: no certificate
    below = [np.nextafter(0.1, 0.0), 0.0]
    rounded = explain_growth(linear, [3, 0], [0.1, 0.0], below, exact=below)
    assert rounded.verdict == "undecided"
    above = explain_growth(linear, [3, 0], [0.2, 0.0], [0.1, 0.0], exact=[0.1, 0.0])
    assert above.verdict == "inconsistent moments"


def test_rates_too_large_for_a_float_are_refused():
    with refuses("rates"):
        moment_error([0, 0], [3, -4], 100, rates=10**400)
