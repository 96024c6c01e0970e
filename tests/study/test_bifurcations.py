"""Periods and doublings: known thresholds, brute force, the loop at temperature 0."""

import numpy as np
import pytest

from herder.study import bifurcation, four_states
from tests.naming import refuses

FEATURES, MOMENTS = four_states()

#: By the multipliers of the cycles, to four digits: a period of 1 doubles at the first of them.
THRESHOLDS = (0.4559, 0.1449, 0.1110, 0.1048, 0.1035)


def mean(weights: np.ndarray, heat: float) -> np.ndarray:
    scores = FEATURES @ weights / heat
    shares = np.exp(scores - scores.max())
    return shares / shares.sum() @ FEATURES


def test_periods_on_both_sides_of_the_known_thresholds():
    near = [t * (1 + side * 1e-3) for t in THRESHOLDS for side in (1, -1)]
    found = bifurcation(FEATURES, MOMENTS, near)
    assert found.periods.tolist() == [1, 2, 2, 4, 4, 8, 8, 16, 16, 32]
    assert [len(points) for points in found.attractors] == found.periods.tolist()


def test_thresholds_are_found_between_temperatures_far_apart():
    found = bifurcation(FEATURES, MOMENTS, [0.09, 0.5])
    first = [found.thresholds[p] for p in (1, 2, 4, 8, 16)]
    assert np.allclose(first, THRESHOLDS, rtol=1e-3, atol=0)
    assert np.all(np.diff(list(found.thresholds.values())) < 0)


def test_periods_hold_very_near_to_a_threshold():
    exact = bifurcation(FEATURES, MOMENTS, [0.5, 0.1]).thresholds
    for period in (1, 2, 4, 8):
        near = [exact[period] * (1 + 1e-5), exact[period] * (1 - 1e-5)]
        assert bifurcation(FEATURES, MOMENTS, near).periods.tolist() == [period, 2 * period]


def test_a_multiplier_is_minus_one_at_a_threshold():
    heat = bifurcation(FEATURES, MOMENTS, [0.5, 0.4]).thresholds[1]
    (at,) = bifurcation(FEATURES, MOMENTS, [heat * (1 + 1e-9)]).attractors[0]
    steps = 1e-6 * np.eye(2)
    slope = [(mean(at - e, heat) - mean(at + e, heat)) / 2e-6 + e / 1e-6 for e in steps]
    assert min(np.linalg.eigvals(slope).real) == pytest.approx(-1, abs=1e-5)


@pytest.mark.parametrize("heat", [0.8, 0.3, 0.13, 0.108, 0.1035 * 1.005])
def test_an_attractor_is_where_many_plain_steps_lead(heat):
    found = bifurcation(FEATURES, MOMENTS, [heat])
    (cycle,) = found.attractors
    weights = np.array([0.3, -0.2])
    for _ in range(20_000):
        weights = weights + MOMENTS - mean(weights, heat)
    assert np.abs(cycle - weights).max(axis=1).min() < 1e-8
    turned = np.array([w + MOMENTS - mean(w, heat) for w in cycle])
    assert np.allclose(np.roll(cycle, -1, axis=0), turned, atol=1e-9)


@pytest.mark.parametrize(("shares", "period"), [([0.5, 0.3, 0.2], 10), ([0.25, 0.75, 0], 4)])
def test_a_rational_system_is_periodic_at_zero(shares, period):
    features = np.eye(3)
    found = bifurcation(features, shares, [0.0])
    assert found.periods.tolist() == [period]
    assert not found.thresholds


def test_weights_without_a_period_are_said_to_have_none():
    found = bifurcation(FEATURES, MOMENTS, [0, 0.05])
    assert found.periods.tolist() == [0, 0]
    assert [points.shape for points in found.attractors] == [(500, 2), (500, 2)]


def test_a_period_need_not_be_a_power_of_two():
    assert 6 in bifurcation(FEATURES, MOMENTS, np.linspace(0.08, 0.09, 21)).periods


def test_the_order_of_temperatures_does_not_matter():
    heats = np.array([0.13, 0.6, 0.02, 0.3])
    found, turned = (bifurcation(FEATURES, MOMENTS, each) for each in (heats, heats[::-1]))
    assert found.periods.tolist() == turned.periods[::-1].tolist() == [4, 1, 0, 2]
    assert found.thresholds == turned.thresholds


def test_the_coldest_temperatures_are_no_error():
    found = bifurcation(FEATURES, MOMENTS, [1e-320, 1e-12, 5.0])
    assert found.periods.tolist() == [0, 0, 1]


def test_a_symmetric_system_leaves_the_unstable_point_in_its_middle():
    features = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    assert bifurcation(features, [0, 0], [0.05]).periods.tolist() != [1]
    assert bifurcation(features, [0, 0], [2.0]).periods.tolist() == [1]


def test_the_summary_names_periods_and_thresholds():
    text = str(bifurcation(FEATURES, MOMENTS, [0.5, 0.3, 0.05]))
    assert "1, 2" in text
    assert "0.455862" in text


@pytest.mark.parametrize(
    ("arguments", "name", "kind"),
    [
        ({"features": [1.0, 2.0]}, "features", ValueError),
        ({"features": [[1.0], [np.nan]]}, "features", ValueError),
        ({"features": [[1.0], [1.0]], "moments": [1.0]}, "features", ValueError),
        ({"features": [["a"]]}, "features", TypeError),
        ({"moments": [0.0]}, "moments", ValueError),
        ({"moments": [np.inf, 0.0]}, "moments", ValueError),
        ({"moments": [5.0, 5.0]}, "moments", ValueError),
        ({"features": [[1.0], [1e200]]}, "features", ValueError),
        ({"temperatures": 0.5}, "temperatures", ValueError),
        ({"temperatures": []}, "temperatures", ValueError),
        ({"temperatures": [0.5, -1.0]}, "temperatures", ValueError),
        ({"temperatures": [np.nan]}, "temperatures", ValueError),
    ],
)
def test_bad_arguments_are_named(arguments, name, kind):
    given = {"features": FEATURES, "moments": MOMENTS, "temperatures": [0.5], **arguments}
    with refuses(name, kind):
        bifurcation(**given)
