"""Each law is broken once on purpose, and `check_system` must name it."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np
import pytest

from herder.core import EnumeratedSystem, MiniBatches, NeuronSystem
from herder.testing import SystemReport, check_system
from tests.naming import refuses

ROWS = np.array([[0, 0], [3, 1], [1, 2]])
COUNTS = [2, 3, 5]
ZERO = np.zeros(2, dtype=int)


class Exact(EnumeratedSystem):
    def __init__(self):
        super().__init__(ROWS, counts=COUNTS)


@pytest.mark.parametrize(
    ("system", "weights"),
    [
        (EnumeratedSystem(ROWS, counts=COUNTS), [0, 0]),
        (EnumeratedSystem(ROWS, probabilities=[0.2, 0.3, 0.5]), [0.0, 0.0]),
        (NeuronSystem(Fraction(2, 7)), np.array([Fraction(1, 9)], dtype=object)),
        (NeuronSystem(0.3), [0.1]),
        (
            MiniBatches(EnumeratedSystem(ROWS, counts=[1, 1, 1]), ROWS, batch_size=1, total=3),
            [5, -5],
        ),
    ],
)
@pytest.mark.parametrize("rates", [None, 3])
def test_sound_systems_pass(system, weights, rates):
    report = check_system(system, weights, exact=True, rates=rates)
    assert isinstance(report, SystemReport)
    assert report.n_steps == 200
    assert report.violations.n_violations == 0
    assert 0 < report.largest_norm < 500
    assert report.moment_error <= 2 * report.largest_norm / 200


def test_states_of_any_make_are_compared():
    @dataclass
    class Pair:
        index: int
        row: np.ndarray

    class Rich:
        def maximise(self, weights, previous):
            index = Exact().maximise(weights, None)
            return {"pair": (Pair(index, ROWS[index].copy()), [index])}

        def residual(self, weights, state, t):
            return Exact().residual(weights, state["pair"][0].index, t)

    check_system(Rich(), ZERO, exact=True)


class ChangesWeights(Exact):
    def maximise(self, weights, previous):
        weights += 1
        return super().maximise(weights, previous)


class ResidualChangesWeights(Exact):
    def residual(self, weights, state, t):
        weights[0] = 0 if t > 20 else weights[0]
        return super().residual(weights, state, t)


class ChangesPrevious:
    def maximise(self, weights, previous):
        state = np.zeros(1, dtype=int) if previous is None else previous
        state[0] = Exact().maximise(weights, None)
        return state

    def residual(self, weights, state, t):
        return Exact().residual(weights, state[0], t)


class ResidualChangesState:
    def maximise(self, weights, previous):
        return np.array([Exact().maximise(weights, None)])

    def residual(self, weights, state, t):
        residual = Exact().residual(weights, state[0], t)
        state[0] = 0
        return residual


class Restless(Exact):
    def __init__(self):
        super().__init__()
        self.calls = count()

    def maximise(self, weights, previous):
        return next(self.calls) % 3


class RestlessResidual(Exact):
    def __init__(self):
        super().__init__()
        self.calls = count()

    def residual(self, weights, state, t):
        return super().residual(weights, state, t) + next(self.calls) // 51


class Float(Exact):
    def residual(self, weights, state, t):
        return super().residual(weights, state, t) / 10


class Short(Exact):
    def residual(self, weights, state, t):
        return super().residual(weights, state, t)[:1]


class ChangesLater(Exact):
    """Keeps the weights of the last step, and changes them after the step is over."""

    kept = None

    def maximise(self, weights, previous):
        if self.kept is not None and self.kept is not weights:
            self.kept += 1
        self.kept = weights
        return super().maximise(weights, previous)


class Lazy(Exact):
    """Never leaves the first state."""

    def maximise(self, weights, previous):
        return 0


class Remembers(Exact):
    """Uses the largest t it has seen, which is neither weights, state nor t."""

    latest = 0

    def residual(self, weights, state, t):
        self.latest = max(self.latest, t)
        return super().residual(weights, state, t) - (self.latest > 150)


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (ChangesWeights, "inputs untouched: maximise changed the weights"),
        (ResidualChangesWeights, "inputs untouched: residual changed the weights"),
        (ChangesPrevious, "inputs untouched: maximise changed the previous state"),
        (ResidualChangesState, "inputs untouched: residual changed the state"),
        (Restless, "determinism: maximise returned 0, and then 1"),
        (RestlessResidual, "determinism: residual returned"),
        (Float, "shape and dtype: residual must be int64 .* got float64"),
        (Short, r"shape and dtype: .* got int64 of shape \(1,\)"),
        (ChangesLater, "sum of residuals: .* kept and changed later"),
        (Remembers, "resume: .* remember more than weights, state and t"),
    ],
)
@pytest.mark.parametrize("exact", [True, False])
def test_broken_laws_are_named(broken, text, exact):
    with pytest.raises(AssertionError, match=text):
        check_system(broken(), ZERO, exact=exact and broken is not Remembers)


def test_cycling_is_demanded_of_exact_systems_and_reported_of_others():
    with pytest.raises(AssertionError, match=r"perceptron cycling: .* got 365 at step 2"):
        check_system(Lazy(), ZERO, exact=True)
    report = check_system(Lazy(), ZERO, exact=False)
    assert report.violations.n_violations == 199
    assert report.violations.worst == 199 * 365
    # the first state has no features: the error is the whole target, (14, 13) units
    assert report.moment_error == pytest.approx(np.hypot(14, 13))


def test_non_finite_residuals_break_a_law():
    class Infinite(EnumeratedSystem):
        def residual(self, weights, state, t):
            return np.array([np.inf, 0.0])

    system = Infinite(ROWS, probabilities=[0.2, 0.3, 0.5])
    with pytest.raises(AssertionError, match="shape and dtype: residual is not finite"):
        check_system(system, [0.0, 0.0], exact=True)


def test_inconsistent_moments_are_mentioned():
    outside = EnumeratedSystem(ROWS, [5, 5])
    with pytest.raises(AssertionError, match="or the moments are inconsistent"):
        check_system(outside, [0, 0], exact=True)


def test_one_step_is_enough():
    assert check_system(Exact(), ZERO, exact=True, n_steps=1).n_steps == 1
    with refuses("n_steps"):
        check_system(Exact(), ZERO, exact=True, n_steps=0)
