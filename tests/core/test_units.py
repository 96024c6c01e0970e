from fractions import Fraction

import numpy as np
import pytest

from herder.core.units import (
    FIXED_POINT,
    Units,
    as_numbers,
    common_total,
    from_units,
    inner,
    norm,
    round_to_units,
    to_units,
)
from tests.naming import refuses


@pytest.mark.parametrize("total", [1, 3, 10, 4177, 10**9])
def test_floats_that_are_counts_come_back(total):
    counts = np.unique(np.linspace(0, total, 50).astype(np.int64))
    assert (to_units(counts / total, total) == counts).all()
    assert (from_units(counts, total) == counts / total).all()


def test_fractions_and_integers_are_exact():
    assert to_units(np.array([Fraction(1, 3), Fraction(1, 2)]), 6).tolist() == [2, 3]
    assert to_units([[0, 1]], 6).tolist() == [[0, 6]]


@pytest.mark.parametrize("value", [0.3 + 1e-12, Fraction(1, 3), 0.25])
def test_other_numbers_are_refused_with_their_place(value):
    with refuses("probabilities", match=r"got .* at \(1,\)"):
        to_units(np.array([type(value)(0), value]), 10)


def test_fixed_point_is_off_by_half_a_unit_at_most():
    values = np.random.default_rng(0).uniform(-1, 1, 1000)
    units = round_to_units(values)
    assert units.dtype == np.int64
    assert np.abs(units / FIXED_POINT - values).max() <= 2.0**-25
    assert round_to_units(np.array([Fraction(1, 3)]), 10).tolist() == [3]


def test_common_total():
    assert common_total([500, 500, 500]) == Units(500, exact=True)
    assert common_total([900, 1000]) == Units(9000, exact=True)
    assert common_total([10**10, 10**10]) == Units(10**10, exact=True)
    assert common_total([99_991, 99_989]) == Units(FIXED_POINT, exact=False)
    with refuses("totals"):
        common_total([])
    with refuses("totals"):
        common_total([5, 0])


@pytest.mark.parametrize(
    ("total", "error"), [(0, ValueError), (2.0, TypeError), (True, TypeError)]
)
def test_bad_totals(total, error):
    with refuses("total", error):
        to_units([0.5], total)


def test_as_numbers_converts_only_without_loss():
    assert as_numbers([True, False], "x").dtype == np.int64
    assert as_numbers(np.array([1], np.uint8), "x").dtype == np.int64
    assert as_numbers(np.array([1], np.float32), "x").dtype == np.float64
    assert as_numbers(np.array([Fraction(1, 2), 1]), "x").dtype == np.object_
    with refuses("x"):
        as_numbers(np.array([2**63], np.uint64), "x")
    given = np.array([1.0])
    assert not np.shares_memory(as_numbers(given, "x"), given)


def test_too_large_for_int64_is_an_error():
    with pytest.raises(OverflowError, match="below"):
        round_to_units([1e20])
    with pytest.raises(OverflowError, match="values"):
        round_to_units(np.array([1, 2**62]))


def test_inner_and_norm():
    assert inner(np.array([-(2**62), 1]), np.array([4, 3])) == -(2**64) + 3
    assert inner(np.array([0.5, 2.0]), np.array([2.0, 0.25])) == 1.5
    thirds = np.array([Fraction(1, 3), Fraction(2, 3)], dtype=object)
    assert inner(thirds, thirds) == Fraction(5, 9)
    assert norm(np.array([[3.0], [4.0]])) == 5.0
    assert norm(np.array([3 * 2**40, 4 * 2**40])) == 5.0 * 2**40
