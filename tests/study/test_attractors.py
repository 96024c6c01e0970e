"""Attractors: the loop, sets of known dimension, indifference to the start."""

from itertools import islice

import numpy as np
import pytest

from herder import EnumeratedSystem, herd
from herder.study import Attractor, attractor, four_states, six_states
from herder.study.slopes import mean_slope
from tests.naming import refuses

SYSTEM = six_states()


def of_points(points: np.ndarray) -> Attractor:
    return Attractor(*SYSTEM, np.ascontiguousarray(points))


def cantor(n: int, rng: np.random.Generator) -> np.ndarray:
    return 2 * rng.integers(0, 2, size=(n, 34)) @ 3.0 ** -np.arange(1, 35)


@pytest.mark.parametrize("system", [four_states(), SYSTEM])
def test_points_are_those_of_the_loop(system):
    features, moments = system
    start = np.array([0.3, -0.1])
    steps = islice(herd(EnumeratedSystem(features, moments), start), 100, 1000)
    found = attractor(features, moments, 900, start=start, burn_in=100)
    assert np.array_equal(found.points, [step.weights for step in steps])
    assert start.tolist() == [0.3, -0.1]


def test_integers_retrace_the_loop_exactly():
    features, counts = np.array([[0, 0], [1, 0], [0, 1], [2, 3]]), [5, 3, 2, 1]
    system = EnumeratedSystem(features, counts=counts)
    steps = islice(herd(system, np.zeros(2, dtype=int)), 300)
    found = attractor(11.0 * features, system.target, 300, burn_in=0)
    assert np.array_equal(found.points, [step.weights for step in steps])


@pytest.mark.parametrize(("n_features", "within"), [(1, 0.02), (2, 0.07), (3, 0.15)])
def test_a_full_box_has_all_dimensions(n_features, within):
    points = np.random.default_rng(0).random((400_000, n_features))
    found = of_points(points)
    assert found.correlation_dimension().value == pytest.approx(n_features, abs=within)
    assert found.box_dimension().value == pytest.approx(n_features, abs=within)


def test_a_slanted_line_has_one():
    t = np.random.default_rng(0).random(400_000)
    found = of_points(np.column_stack([t, 0.37 * t]))
    assert found.box_dimension().value == pytest.approx(1, abs=0.03)
    assert found.correlation_dimension().value == pytest.approx(1, abs=0.03)


def test_the_cantor_set_has_its_dimension_within_the_interval():
    rng = np.random.default_rng(3)
    found = of_points(np.column_stack([cantor(500_000, rng), np.zeros(500_000)]))
    expected = np.log(2) / np.log(3)
    dimension = found.box_dimension()
    assert dimension.low < expected < dimension.high
    assert found.correlation_dimension().value == pytest.approx(expected, abs=0.03)


def test_a_product_of_cantor_sets_has_twice_that():
    rng = np.random.default_rng(4)
    found = of_points(np.column_stack([cantor(500_000, rng), cantor(500_000, rng)]))
    expected = 2 * np.log(2) / np.log(3)
    assert found.box_dimension().value == pytest.approx(expected, abs=0.08)
    assert found.correlation_dimension().value == pytest.approx(expected, abs=0.05)


def test_a_finite_attractor_has_none():
    found = attractor(np.eye(3), [0.5, 0.3, 0.2], 100_000)
    assert len(np.unique(found.points.round(9), axis=0)) == 10
    assert found.box_dimension().value < 0.5
    assert found.correlation_dimension().value < 0.1


def test_one_point_has_dimension_zero():
    found = of_points(np.ones((1000, 2)))
    assert found.box_dimension().value == found.correlation_dimension().value == 0


def test_the_range_is_stated_and_within_the_attractor():
    found = attractor(*SYSTEM, 200_000)
    side = np.ptp(found.points, axis=0).max()
    for exponent in (found.box_dimension(), found.correlation_dimension()):
        assert 0 < exponent.first < exponent.last == pytest.approx(side / 8)
        assert exponent.low <= exponent.value <= exponent.high
    assert "fitted from" in str(found)


def test_the_start_does_not_matter():
    one, other = (attractor(*SYSTEM, 300_000, start=s) for s in ([0.0, 0.0], [5.0, -3.0]))
    again = attractor(*SYSTEM, 300_000, burn_in=310_000)
    assert one.distance(other) < 0.01
    assert one.distance(again) < 0.01
    assert one.distance(one) == 0
    noise = of_points(np.random.default_rng(0).normal(size=(300_000, 2)))
    assert one.distance(noise) > 0.5


def test_an_interval_is_that_of_student():
    found = mean_slope(np.array([1.0, 2.0, 3.0]), 1, 2)
    assert (found.low, found.value, found.high) == pytest.approx(
        (2 - 2.4841, 2, 2 + 2.4841), abs=1e-4
    )
    assert np.isnan(mean_slope(np.array([1.0]), 1, 2).low)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"n_steps": 0}, "n_steps"),
        ({"burn_in": -1}, "burn_in"),
        ({"burn_in": 2**60}, "burn_in"),
        ({"start": [0.0]}, "start"),
        ({"start": [np.nan, 0.0]}, "start"),
        ({"moments": [9.0, 9.0]}, "moments"),
    ],
)
def test_bad_arguments_are_named(arguments, name):
    given = dict(zip(("features", "moments"), SYSTEM, strict=True)) | {"n_steps": 10} | arguments
    with refuses(name):
        attractor(**given)


def test_another_attractor_is_one_of_the_same_system():
    found = attractor(*SYSTEM, 10)
    with refuses("other", TypeError):
        found.distance(found.points)  # pyright: ignore[reportArgumentType]
    with refuses("other"):
        found.distance(attractor([[0.0], [1.0]], [0.3], 10))
