from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from herder.core import EnumeratedSystem, RunningAverage, herd
from tests.naming import refuses


def test_scalar_and_array_functions():
    scalar = RunningAverage(lambda s: s > 1)
    vector = RunningAverage(lambda s: [s, s * s])
    for s in (0, 1, 2, 3):
        scalar.update(s)
        vector.update(s)
    assert scalar.value == 0.5
    assert type(scalar.value) is float
    assert vector.value.tolist() == [1.5, 3.5]
    assert scalar.count == 4


def test_it_is_equation_10():
    rng = np.random.default_rng(0)
    average, plain = RunningAverage(np.sin), 0.0
    for t, x in enumerate(rng.normal(size=500), start=1):
        average.update(x)
        plain = (t - 1) / t * plain + np.sin(x) / t
        # the paper's form loses a few ulp over 500 steps, ours none
        assert average.value == pytest.approx(plain, abs=1e-14)


def test_integers_are_summed_exactly():
    average = RunningAverage(lambda s: s)
    for s in (2**53, 1, 1, -(2**53)):
        average.update(s)
    assert average.value == 0.5


def test_floats_are_compensated():
    average = RunningAverage(lambda s: np.array([s]))
    for s in (1e16, 1.0, 1.0, -1e16):
        average.update(s)
    assert average.value[0] == 0.5


def test_fractions_stay_fractions():
    average = RunningAverage(lambda s: Fraction(1, s))
    assert average.update(2).update(3).value == Fraction(5, 12)
    pair = RunningAverage(lambda s: np.array([Fraction(1, s), 1], dtype=object))
    assert pair.update(2).update(3).value.tolist() == [Fraction(5, 12), 1]


def test_integers_may_turn_into_floats():
    average = RunningAverage(lambda s: s)
    assert average.update(1).update(0.5).update(0).value == 0.5


def test_merge_equals_one_run():
    values = np.random.default_rng(1).normal(size=40) * 10.0 ** np.arange(40)
    whole, a, b = (RunningAverage(lambda s: [s, -s]) for _ in range(3))
    for i, x in enumerate(values):
        whole.update(x)
        (a if i < 15 else b).update(x)
    merged = a.merge(b)
    assert merged.count == 40
    # compensated sums: the order of merging shows only in the last bits
    np.testing.assert_allclose(merged.value, whole.value, rtol=1e-15)
    assert a.count == 15
    np.testing.assert_allclose(a.merge(RunningAverage(a.function)).value, a.value, rtol=0)


def test_merge_keeps_what_rounding_lost():
    a, b = RunningAverage(lambda s: s), RunningAverage(lambda s: s)
    a.update(1e16).update(1.0)
    b.update(-1e16).update(1.0)
    assert a.merge(b).value == b.merge(a).value == 0.5


def test_errors():
    empty = RunningAverage(lambda s: s)
    with pytest.raises(ValueError, match="after at least one update"):
        _ = empty.value
    with pytest.raises(ValueError, match=r"must have shape \(2,\), got \(3,\)"):
        empty.update([1, 2]).update([1, 2, 3])
    with refuses("function(state)"):
        RunningAverage(lambda s: s).update(np.nan)
    with pytest.raises(TypeError, match="always exact or always float"):
        RunningAverage(lambda s: s).update(Fraction(1, 2)).update(0.5)
    with pytest.raises(OverflowError, match="below"):
        RunningAverage(lambda s: s).update(2**61).update(2**61 + 1)


def test_averages_of_a_herd_reach_the_moments():
    features = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    system = EnumeratedSystem(features, counts=[1, 4, 2, 3])
    average = RunningAverage(lambda state: features[state])
    for step in islice(herd(system, [0, 0]), 1000):
        average.update(step.state)
    # |w| < 10 units of 1/10 gives an error below 2 / T
    np.testing.assert_allclose(average.value, [0.7, 0.5], atol=2e-3)
