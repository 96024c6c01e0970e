"""The compiled loops against the loop, plain twins and finite differences."""

from itertools import islice

import numpy as np

from herder import EnumeratedSystem, herd
from herder.study import _boxes_jit, _split_jit, four_states, itinerary
from herder.study import _dynamics_jit as _jit
from herder.study.attractors import box_counts
from herder.study.dynamics import as_system, orbit

FEATURES, MOMENTS = four_states()


def test_temperature_zero_is_the_loop():
    system = EnumeratedSystem(FEATURES, MOMENTS)
    steps = list(islice(herd(system, np.zeros(2)), 2000))
    points = orbit(*as_system(FEATURES, MOMENTS), 0.0, np.zeros(2), 2000)
    assert np.array_equal(points, [step.weights for step in steps])
    assert itinerary(FEATURES, MOMENTS, 2000).tolist() == [step.state for step in steps]
    cold = orbit(*as_system(FEATURES, MOMENTS), 1e-9, np.array([0.1, 0.2]), 2000)
    assert np.allclose(cold, orbit(*as_system(FEATURES, MOMENTS), 0.0, np.array([0.1, 0.2]), 2000))


def test_the_derivative_is_that_of_finite_differences():
    table, target = as_system(FEATURES, MOMENTS)
    slope, step = np.empty((2, 2)), 1e-6
    _jit.around(table, target, 0.3, 5, np.array([0.2, 0.1]), slope)
    ends = [
        [orbit(table, target, 0.3, np.array([0.2, 0.1]) + s * e, 5)[-1] for e in np.eye(2)]
        for s in (step, -step)
    ]
    assert np.allclose(slope, (np.array(ends[0]) - ends[1]).T / (2 * step), atol=1e-7)


def test_tempered_steps_are_those_of_the_gradient():
    weights, heat = np.array([0.2, 0.1]), 0.3
    for point in orbit(*as_system(FEATURES, MOMENTS), heat, weights.copy(), 50):
        shares = np.exp(FEATURES @ weights / heat)
        weights = weights + MOMENTS - shares / shares.sum() @ FEATURES
        assert np.allclose(point, weights, rtol=0, atol=1e-12)


def test_pairs_are_counted_by_distance():
    points = np.random.default_rng(0).random((60, 3))
    counts = np.zeros(6, dtype=np.int64)
    _boxes_jit.count_pairs(points, 0.8, counts)
    gaps = [np.linalg.norm(a - b) / 0.8 for i, a in enumerate(points) for b in points[:i]]
    nearer = [sum(gap < 0.5**k for gap in gaps) for k in range(6)]
    assert counts[::-1].cumsum()[::-1].tolist() == nearer


def test_a_square_is_cut_into_quarters_and_moved():
    table = np.array([[1.0, 1], [-1, 1], [-1, -1], [1, -1]])
    corners, ends = 0.5 * table[::1].copy(), np.array([4], dtype=np.intp)
    pieces, stops = np.empty((16, 2)), np.empty(4, dtype=np.intp)
    assert _split_jit.split(table, np.zeros(2), corners, ends, 1e-9, pieces[:15], stops) == -1
    assert _split_jit.split(table, np.zeros(2), corners, ends, 1e-9, pieces, stops) == 4
    assert stops.tolist() == [4, 8, 12, 16]
    centres = pieces.reshape(4, 4, 2).mean(axis=1)
    assert np.allclose(centres, 0.25 * table - table)


def test_boxes_hold_what_a_histogram_does():
    points = np.random.default_rng(0).random((1000, 2))
    counts = box_counts(points, np.zeros(2), 1.0, 8).reshape(8, 8)
    expected = np.histogram2d(*points.T, bins=8, range=[[0, 1], [0, 1]])[0]
    assert np.array_equal(counts, expected)
