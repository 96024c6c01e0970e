from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from herder.core import EnumeratedSystem, Step, herd, norm
from tests.naming import refuses

FEATURES = [[0, 0], [1, 0], [0, 1], [1, 1]]
COUNTS = [1, 4, 2, 3]
EXACT = EnumeratedSystem(FEATURES, counts=COUNTS)
FLOAT = EnumeratedSystem(np.array(FEATURES, float), counts=COUNTS)
RATIONAL = EnumeratedSystem(
    FEATURES, probabilities=np.array([Fraction(n, 10) for n in COUNTS], dtype=object)
)
#: Outside the convex hull of the rows: the weights grow for ever.
OUTSIDE = EnumeratedSystem(np.array(FEATURES, float), np.array([1.5, 0.25]))


def run(system, weights, n, **options):
    return list(islice(herd(system, weights, **options), n))


def states(steps):
    return [step.state for step in steps]


def test_three_states_stepped_by_hand():
    steps = run(EnumeratedSystem(np.eye(3, dtype=int), counts=[3, 2, 1]), [0, 0, 0], 6)
    # w: 000 -> -3 2 1 -> 0 -2 2 -> 3 0 -3 -> 0 2 -2 -> 3 -2 -1 -> 0 0 0
    assert states(steps) == [0, 1, 2, 0, 1, 0]
    assert [step.weights.tolist() for step in steps[:2]] == [[-3, 2, 1], [0, -2, 2]]
    assert [step.tipi for step in steps[:3]] == [0, -9 - 8 + 1, -4 - 10]
    assert steps[-1].weights.tolist() == [0, 0, 0]
    assert [step.t for step in steps] == [1, 2, 3, 4, 5, 6]


def test_a_step_carries_what_the_docstring_says():
    first = next(herd(EXACT, [3, -1]))
    assert isinstance(first, Step)
    assert first.state == 1
    assert (first.residual == EXACT.target - EXACT.features[1]).all()
    assert (first.weights == np.array([3, -1]) + first.residual).all()
    assert first.tipi == 3 * first.residual[0] - first.residual[1]
    assert first.scale == 1.0


def test_number_types_are_kept_and_agree():
    exact = run(EXACT, [0, 0], 300)
    rational = run(RATIONAL, np.array([Fraction(0), Fraction(0)], dtype=object), 300)
    floating = run(FLOAT, [0.0, 0.0], 300)
    assert states(exact) == states(rational) == states(floating)
    assert exact[-1].weights.dtype == np.int64
    assert type(exact[-1].tipi) is int
    assert floating[-1].weights.dtype == np.float64
    assert type(floating[-1].tipi) is float
    assert rational[-1].weights.dtype == np.object_
    assert isinstance(rational[7].tipi, Fraction)
    for a, b in zip(exact, rational, strict=True):
        assert (b.weights * 10 == a.weights).all()


def test_input_is_not_changed():
    weights = np.array([0, 0])
    run(EXACT, weights, 5)
    assert weights.tolist() == [0, 0]


def test_rates_stay_out_of_the_residual():
    rates = np.array([3, 1])
    system = EnumeratedSystem([[0, 0], [3, 1], [1, 2]], counts=[2, 3, 5])
    steps = run(system, [0, 0], 50, rates=rates)
    total = sum(step.residual for step in steps)
    assert (steps[-1].weights == rates * total).all()
    assert all(step.tipi <= 0 for step in steps)
    assert states(steps) != states(run(system, [0, 0], 50))


def test_one_rate_for_all_features_changes_no_state():
    assert states(run(EXACT, [0, 0], 200, rates=7)) == states(run(EXACT, [0, 0], 200))


def test_fractional_rates_on_fractions():
    start = np.array([Fraction(0), Fraction(0)], dtype=object)
    steps = run(RATIONAL, start, 100, rates=Fraction(1, 3))
    assert states(steps) == states(run(RATIONAL, start, 100))
    assert all(isinstance(w, Fraction) for w in steps[-1].weights)


@pytest.mark.parametrize("options", [{}, {"rates": [2.0, 0.5]}, {"max_norm": 5.0}])
def test_resume_goes_on_where_it_stopped(options):
    whole = run(OUTSIDE, [0.0, 0.0], 90, **options)
    middle = run(OUTSIDE, [0.0, 0.0], 40, **options)[-1]
    rest = run(
        OUTSIDE,
        middle.weights,
        50,
        state=middle.state,
        t=middle.t,
        scale=middle.scale,
        **options,
    )
    for a, b in zip(whole[40:], rest, strict=True):
        assert (a.t, a.state, a.tipi, a.scale) == (b.t, b.state, b.tipi, b.scale)
        assert (a.weights == b.weights).all()


def test_rescaling_bounds_the_weights_and_keeps_the_states():
    free = run(OUTSIDE, [0.0, 0.0], 5000)
    kept = run(OUTSIDE, [0.0, 0.0], 5000, max_norm=3.0)
    assert norm(free[-1].weights) > 2000
    assert max(norm(step.weights) for step in kept) <= 3.0
    assert states(kept) == states(free)
    for a, b in zip(free, kept, strict=True):
        # a power of two: no rounding at all
        assert (a.weights == b.weights / b.scale).all()
    assert kept[-1].scale == 2.0 ** round(np.log2(kept[-1].scale)) < 1e-3


def test_long_start_is_halved_until_it_fits():
    step = next(herd(FLOAT, [1e6, 1e6], max_norm=1.0))
    assert norm(step.weights) <= 1.0
    assert step.scale == 2.0**-21


def test_t_reaches_the_system():
    class Clock:
        def maximise(self, weights, previous):
            return 0 if previous is None else previous + 1

        def residual(self, weights, state, t):
            return np.array([t, state])

    steps = run(Clock(), [0, 0], 3, t=10, state=4)
    assert [step.residual.tolist() for step in steps] == [[10, 5], [11, 6], [12, 7]]


def test_any_shape_of_weights():
    class Square:
        def maximise(self, weights, previous):
            return np.where(weights > 0, 2, 0)

        def residual(self, weights, state, t):
            return 1 - state

    steps = run(Square(), np.array([[1, 0], [0, 1]]), 4)
    assert steps[0].weights.tolist() == [[0, 1], [1, 0]]
    assert steps[0].tipi == -2


def test_integers_never_wrap():
    big = EnumeratedSystem([[0, 0], [2**33, 1]], np.array([2**32, 0]))
    step = next(herd(big, [2**40, -1]))
    assert step.tipi == 2**40 * (2**32 - 2**33) + 1
    with pytest.raises(OverflowError, match=r"weights must stay below 2\*\*62"):
        run(big, [2**62 - 1, 0], 2)
    with pytest.raises(OverflowError, match=r"weights must stay below 2\*\*62"):
        run(big, [1, 0], 1, rates=2**32)


class Constant:
    def __init__(self, residual):
        self.value = residual

    def maximise(self, weights, previous):
        return 0

    def residual(self, weights, state, t):
        return self.value


@pytest.mark.parametrize(
    ("weights", "options", "error", "name"),
    [
        ([np.nan, 0.0], {}, ValueError, "weights"),
        ([0.0, np.inf], {}, ValueError, "weights"),
        ([], {}, ValueError, "weights"),
        (1.0, {}, ValueError, "weights"),
        ([1j, 0], {}, TypeError, "weights"),
        (["a", "b"], {}, TypeError, "weights"),
        (np.array([0.5, 1], dtype=object), {}, TypeError, "weights"),
        ([2**62 + 1, 0], {}, ValueError, "weights"),
        ([0.0, 0.0], {"rates": [1.0]}, ValueError, "rates"),
        ([0.0, 0.0], {"rates": [1.0, 0.0]}, ValueError, "rates"),
        ([0.0, 0.0], {"rates": np.nan}, ValueError, "rates"),
        ([0, 0], {"rates": 0.5}, TypeError, "rates"),
        ([0, 0], {"rates": Fraction(1, 2)}, TypeError, "rates"),
        ([0, 0], {"max_norm": 1.0}, ValueError, "max_norm"),
        ([0, 0], {"scale": 0.5}, ValueError, "scale"),
        ([0.0, 0.0], {"max_norm": 0.0}, ValueError, "max_norm"),
        ([0.0, 0.0], {"scale": 0.0}, ValueError, "scale"),
        ([0.0, 0.0], {"t": -1}, ValueError, "t"),
        ([0.0, 0.0], {"t": 0.5}, TypeError, "t"),
    ],
)
def test_bad_arguments_are_refused_before_the_first_step(weights, options, error, name):
    with refuses(name, error):
        herd(FLOAT, weights, **options)


@pytest.mark.parametrize(
    ("weights", "residual", "error"),
    [
        ([0, 0], np.zeros(2), TypeError),
        ([0.0, 0.0], np.array([0, 0]), TypeError),
        ([0.0, 0.0], np.zeros(3), ValueError),
        ([0.0, 0.0], np.array([0.0, np.nan]), ValueError),
    ],
)
def test_bad_residuals_are_named(weights, residual, error):
    with refuses("residual", error):
        next(herd(Constant(residual), weights))
