"""Words of one neuron against the loop in exact arithmetic, and the laws of section 2.6.1."""

import logging
import math
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herder import NeuronSystem, herd
from herder.study import Quadratic, complexity, discrepancy, neuron
from herder.study.neurons import BLOCK
from tests.naming import refuses

GOLDEN = Quadratic(-1, 1, 2, 5)
ROOTS = [GOLDEN, Quadratic(-1, 1, 1, 2), Quadratic(0, 1, 2, 3), Quadratic(-7, 1, -9, 11)]


def rabbit(n: int) -> np.ndarray:
    """0 to 1 and 1 to 10, again and again: each word is the last one and the one before."""
    young, old = np.array([1], np.uint8), np.array([1, 0], np.uint8)
    while len(old) < n:
        young, old = old, np.concatenate([old, young])
    return old[:n]


def sign(a: int, b: int, d: int) -> int:
    """Sign of a + b sqrt(d)."""
    if (a >= 0) == (b >= 0) or not a or not b:
        return (a > 0) - (a < 0) or (b * d > 0) - (b * d < 0)
    size = a * a - b * b * d
    return ((size > 0) - (size < 0)) * (1 if a > 0 else -1)


def looped(rate: Quadratic, start: Quadratic, n: int) -> list[int]:
    """The loop itself, in integers; both over one denominator."""
    a, b, c, d = (getattr(rate, name) for name in "abcd")
    e, f = start.a * c // start.c, start.b * c // start.c
    if c < 0:
        a, b, c, e, f = -a, -b, -c, -e, -f
    states = []
    for _ in range(n):
        states.append(int(sign(e, f, d) > 0))
        e, f = e + a - c * states[-1], f + b
    return states


def test_the_golden_neuron_is_the_rabbit_sequence():
    n = 1_000_000
    assert np.array_equal(neuron(GOLDEN, n), rabbit(n))
    assert np.array_equal(neuron(GOLDEN, n, w0=Quadratic(-2, 1, 1, 5)), rabbit(n))


@pytest.mark.parametrize("rate", ROOTS, ids=str)
@pytest.mark.parametrize("shift", [Fraction(0), Fraction(1, 2), Fraction(7, 2), Fraction(-7, 2)])
def test_an_irrational_rate_is_the_loop_in_integers(rate, shift):
    wide = Quadratic(2 * rate.a, 2 * rate.b, 2 * rate.c, rate.d)
    states = neuron(rate, 3000, w0=rate - shift)
    assert states.dtype == np.uint8
    assert states.tolist() == looped(wide, wide - shift, 3000)


@given(st.integers(1, 40), st.data())
def test_a_rational_rate_is_the_loop_in_fractions(q, data):
    rate = Fraction(data.draw(st.integers(0, q)), q)
    start = Fraction(data.draw(st.integers(-200, 200)), data.draw(st.integers(1, 50)))
    system = NeuronSystem(rate)
    first = np.array([start], dtype=object)
    expected = [step.state for step in islice(herd(system, first), 150)]
    assert neuron(rate, 150, w0=start).tolist() == expected


@given(st.integers(1, 500), st.data())
def test_a_rational_rate_has_its_exact_period(q, data):
    rate = Fraction(data.draw(st.integers(0, q)), q)
    period = rate.denominator
    states = neuron(rate, 3 * period)
    assert np.array_equal(states[period:], states[:-period])
    assert states[:period].sum() == rate.numerator
    shorter = [p for p in range(1, period) if period % p == 0]
    assert all((states[p:] != states[:-p]).any() for p in shorter)


@pytest.mark.parametrize("rate", [*ROOTS, Fraction(355, 1130), Fraction(1, 2)], ids=str)
def test_the_number_of_spikes_is_never_far_off(rate):
    n = 1_000_000  # 1e-9: a million times the last bit of the rate
    assert discrepancy(neuron(rate, n), rate) <= 1 + 1e-9
    assert discrepancy(neuron(rate, n, w0=rate - Fraction(1, 2)), rate) <= 0.5 + 1e-9


def test_the_bound_of_one_half_holds_exactly():
    spikes = np.cumsum(neuron(GOLDEN, 100_000, w0=GOLDEN - Fraction(1, 2))).tolist()
    for t, count in enumerate(spikes, start=1):  # |count - t (sqrt(5) - 1) / 2| <= 1/2
        assert sign(2 * count + t + 1, -t, 5) >= 0
        assert sign(2 * count + t - 1, -t, 5) <= 0


@pytest.mark.parametrize("rate", [GOLDEN, Quadratic(-1, 1, 1, 2), Quadratic(0, 1, 2, 3)], ids=str)
def test_an_irrational_word_is_sturmian(rate):
    assert complexity(neuron(rate, 300_000), 200).tolist() == list(range(2, 202))


def test_a_rational_word_has_no_more_words_than_its_period():
    assert complexity(neuron(Fraction(3, 10), 1000), 14).tolist() == [*range(2, 11), *[10] * 5]


def test_complexity_is_that_of_sets_of_words():
    word = np.random.default_rng(0).integers(0, 3, 60).tolist()
    expected = [len({tuple(word[i : i + t]) for i in range(61 - t)}) for t in range(1, 61)]
    assert complexity(word, 60).tolist() == expected


def test_blocks_join_without_a_seam():
    whole = neuron(GOLDEN, BLOCK + 1000)
    assert np.array_equal(whole[-1000:], neuron(GOLDEN, 2 * BLOCK)[BLOCK : BLOCK + 1000])


def test_large_numbers_are_exact():
    rate = Fraction(10**40 + 1, 3 * 10**40 + 7)
    first = np.array([2 * rate - 1], dtype=object)
    expected = [step.state for step in islice(herd(NeuronSystem(rate), first), 500)]
    assert neuron(rate, 500).tolist() == expected


@pytest.mark.parametrize(("rate", "state"), [(0, 0), (1, 1), (Fraction(0), 0), (1.0, 1)])
def test_the_ends(rate, state):
    assert neuron(rate, 5).tolist() == [state] * 5
    assert neuron(rate, 5, w0=-2).tolist() == ([0] * 5 if not rate else [0, 0, 0, 1, 1])


def test_a_float_is_said_not_to_be_exact(caplog):
    with caplog.at_level(logging.WARNING, logger="herder"):
        states = neuron(0.3, 100)
    assert "rate 0.3 is not exact" in caplog.text
    assert np.array_equal(states, neuron(Fraction(0.3), 100))


def test_a_square_under_the_root_is_a_rational_number():
    assert np.array_equal(neuron(Quadratic(-1, 1, 5, 9), 100), neuron(Fraction(2, 5), 100))


@pytest.mark.parametrize("number", [*ROOTS, Quadratic(-(10**20), 1, 1, 10**40 + 1)], ids=str)
def test_a_quadratic_number_is_a_float(number):
    from decimal import Decimal, localcontext

    with localcontext(prec=100):
        exact = (number.a + number.b * Decimal(number.d).sqrt()) / number.c
        assert math.isclose(float(number), float(exact), rel_tol=1e-15)


@pytest.mark.parametrize(
    ("arguments", "name", "kind"),
    [
        ({"rate": Fraction(3, 2)}, "rate", ValueError),
        ({"rate": Quadratic(1, -1, 1, 2)}, "rate", ValueError),
        ({"rate": -0.5}, "rate", ValueError),
        ({"rate": float("nan")}, "rate", ValueError),
        ({"rate": "1/2"}, "rate", TypeError),
        ({"n": 0}, "n", ValueError),
        ({"n": 2.5}, "n", TypeError),
        ({"w0": Quadratic(0, 1, 2, 3)}, "w0", ValueError),
        ({"w0": None, "rate": None}, "rate", TypeError),
    ],
)
def test_bad_arguments_are_named(arguments, name, kind):
    with refuses(name, kind):
        neuron(**{"rate": GOLDEN, "n": 5, **arguments})


@pytest.mark.parametrize(
    ("parts", "name", "kind"),
    [
        ((1, 1, 0, 5), "c", ValueError),
        ((1, 1, 1, -5), "d", ValueError),
        ((0.5, 1, 1, 5), "a", TypeError),
    ],
)
def test_bad_parts_are_named(parts, name, kind):
    with refuses(name, kind):
        Quadratic(*parts)


@pytest.mark.parametrize(
    ("states", "length", "name"),
    [([0, -1], 1, "states"), ([0, 1], 3, "max_length"), ([0, 1], 0, "max_length")],
)
def test_bad_sequences_are_named(states, length, name):
    with refuses(name):
        complexity(states, length)
    with refuses("states"):
        discrepancy([0, 2], GOLDEN)
    for odd in ([], [[0]], [0.5], "01"):
        with refuses("states", TypeError):
            complexity(odd, 1)
