from fractions import Fraction
from itertools import islice, product

import numpy as np
import pytest

from herder.core import ContrastiveSystem, herd, norm
from herder.testing import check_system
from tests.naming import refuses

STATES = np.array(list(product([0, 1], repeat=4)))
#: All pairs and singles of four bits.
FEATURES = np.array([np.outer(x, x)[np.triu_indices(4)] for x in STATES])
ROWS = [3, 3, 5, 9, 14, 15, 0]


class OneFlip:
    """A poor search: at most one flip up from where it starts."""

    def __init__(self, features):
        self.features = features

    def maximise(self, weights, previous):
        start = 0 if previous is None else previous
        near = [start, *(start ^ (1 << i) for i in range(4))]
        scores = [sum(weights * self.features[s]) for s in near]
        return near[max(range(5), key=lambda i: scores[i])]

    def residual(self, weights, state, t):
        return -self.features[state]


@pytest.mark.parametrize("number", ["integer", "float", "fraction"])
def test_cycling_holds_however_poor_the_search(number):
    features = FEATURES
    if number == "float":
        features = FEATURES / 1.0
    if number == "fraction":
        features = np.array([[Fraction(int(v)) for v in row] for row in FEATURES], dtype=object)
    system = ContrastiveSystem(OneFlip(features), ROWS)
    check_system(system, 0 * features[0], exact=True, n_steps=40)


def test_the_search_alone_is_stuck():
    class Alone(OneFlip):
        target = FEATURES[ROWS].sum(0)

        def residual(self, weights, state, t):
            return self.target - len(ROWS) * FEATURES[state]

    report = check_system(Alone(FEATURES), np.zeros(10, int), exact=False)
    assert report.violations.n_violations > 0


def test_number_types_agree():
    def run(features):
        system = ContrastiveSystem(OneFlip(features), ROWS)
        return [step.state for step in islice(herd(system, 0 * features[0]), 60)]

    fractions = np.array([[Fraction(int(v)) for v in row] for row in FEATURES], dtype=object)
    assert run(FEATURES) == run(fractions)


def test_the_residual_is_a_mean_except_in_integers():
    w = np.arange(10) - 4
    exact = next(herd(ContrastiveSystem(OneFlip(FEATURES), ROWS), w))
    floating = next(herd(ContrastiveSystem(OneFlip(FEATURES / 1.0), ROWS), w / 1.0))
    expected = FEATURES[ROWS].sum(0) - FEATURES[list(exact.state)].sum(0)
    assert (exact.residual == expected).all()
    np.testing.assert_allclose(floating.residual, expected / len(ROWS), rtol=1e-15)


def test_averages_over_all_rows_reach_the_data():
    steps = list(islice(herd(ContrastiveSystem(OneFlip(FEATURES), ROWS), np.zeros(10, int)), 500))
    samples = np.array([step.state for step in steps]).ravel()
    gap = FEATURES[samples].mean(0) - FEATURES[ROWS].mean(0)
    assert norm(gap) == pytest.approx(norm(steps[-1].weights) / (500 * len(ROWS)))
    assert norm(gap) < 0.02


def test_no_rows():
    with refuses("rows"):
        ContrastiveSystem(OneFlip(FEATURES), [])
