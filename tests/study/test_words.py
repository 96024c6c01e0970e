"""Numbers of words: cutting in fractions, brute force over starts, one neuron."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from herder.study import complexity, count_words, four_states, itinerary, six_states, split_words
from herder.study.words import Words
from tests.naming import refuses


def clip(polygon: list[tuple], normal: tuple) -> list[tuple]:
    """Cut off what is on the negative side, in fractions."""
    side = [x * normal[0] + y * normal[1] for x, y in polygon]
    kept = []
    around = [*zip(polygon, side, strict=True), (polygon[0], side[0])] if polygon else []
    for ((x, y), here), ((z, u), there) in pairwise(around):
        if here >= 0:
            kept.append((x, y))
        if here * there < 0:
            part = here / (here - there)
            kept.append((x + part * (z - x), y + part * (u - y)))
    return kept


def area(polygon: list[tuple]) -> Fraction:
    around = [*polygon, polygon[0]] if polygon else []
    return sum((x * u - z * y for (x, y), (z, u) in pairwise(around)), Fraction(0)) / 2


def exact(features: np.ndarray, moments: np.ndarray, box: np.ndarray, length: int) -> list[int]:
    """The same cutting without a rounding error and without a sliver."""
    rows = [tuple(map(Fraction, row)) for row in features.tolist()]
    target = tuple(map(Fraction, moments.tolist()))
    (a, b), (c, d) = ([Fraction(x) for x in corner] for corner in box.tolist())
    cells, counts = [[(a, b), (c, b), (c, d), (a, d)]], []
    for _ in range(length):
        pieces = []
        for cell in cells:
            for row in rows:
                piece = cell
                for other in rows:
                    if other != row:
                        piece = clip(piece, (row[0] - other[0], row[1] - other[1]))
                if area(piece) > 0:
                    shift = target[0] - row[0], target[1] - row[1]
                    pieces.append([(x + shift[0], y + shift[1]) for x, y in piece])
        cells = pieces
        counts.append(len(cells))
    return counts


@pytest.mark.parametrize(("system", "length"), [(four_states(), 6), (six_states(), 4)])
def test_cutting_is_exact(system, length):
    features, moments = system
    found = split_words(features, moments, length)
    assert found.n_starts is None
    assert found.counts.tolist() == exact(features, moments, found.box, length)


@pytest.mark.parametrize("seed", range(5))
def test_cutting_random_systems_is_exact(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(5, 2)).round(3)
    moments = rng.dirichlet(np.ones(5)) @ features
    found = split_words(features, moments, 4)
    assert found.counts.tolist() == exact(features, moments, found.box, 4)


@pytest.mark.parametrize("system", [four_states(), six_states()])
def test_many_starts_find_the_short_words_and_never_more(system):
    features, moments = system
    cut = split_words(features, moments, 20)
    drawn = count_words(features, moments, 20, n_starts=300_000)
    assert np.array_equal(cut.box, drawn.box)
    assert drawn.counts[:3].tolist() == cut.counts[:3].tolist()
    assert (drawn.counts <= cut.counts).all()
    assert drawn.counts[-1] > 0.85 * cut.counts[-1]


def test_one_orbit_has_no_more_words_than_all_starts():
    features, moments = six_states()
    one = complexity(itinerary(features, moments, 200_000)[10_000:], 15)
    assert (one <= split_words(features, moments, 15).counts).all()


def test_words_are_those_of_the_starts_themselves():
    features, moments = four_states()
    found = count_words(features, moments, 5, n_starts=200)
    low, high = found.box
    step = 1.32471795724474602596 ** -np.arange(1.0, 3)  # x^3 = x + 1
    starts = low + (high - low) * ((np.arange(1, 201)[:, None] * step + 0.5) % 1)
    words = [tuple(itinerary(features, moments, 5, start=start)) for start in starts]
    expected = [len({word[:t] for word in words}) for t in range(1, 6)]
    assert found.counts.tolist() == expected


def test_one_neuron_has_one_word_more_for_each_length():
    found = count_words([[0.0], [1.0]], [0.5 * 5**0.5 - 0.5], 30)
    assert found.counts.tolist() == list(range(2, 32))
    assert 0.8 < found.exponent().value < 1


def test_equal_rows_are_one_state():
    features, moments = four_states()
    twice = np.vstack([features, features[::-1]])
    assert np.array_equal(
        split_words(twice, moments, 8).counts, split_words(features, moments, 8).counts
    )


def test_forty_steps_grow_about_as_their_square():
    found = split_words(*four_states(), 40)
    assert 1.8 < found.exponent().value < 2.3
    assert (found.exponent().first, found.exponent().last) == (10, 40)
    assert (np.diff(found.counts) > 0).all()
    assert found.entropy[-1] == pytest.approx(np.log(found.counts[-1]))
    assert "every cell was cut" in str(found)


def test_a_power_law_has_its_exponent():
    counts = 7 * np.arange(1, 101) ** 3
    found = Words(counts, 3, np.zeros((2, 3)), 10).exponent()
    assert (found.low, found.value, found.high) == pytest.approx((3, 3, 3))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda f, m: split_words(f, m, 0), "max_length"),
        (lambda f, m: split_words([[0.0], [1.0]], [0.5], 3), "features"),
        (lambda f, m: split_words(f, [9.0, 9.0], 3), "moments"),
        (lambda f, m: count_words(f, m, 0), "max_length"),
        (lambda f, m: count_words(f, m, 10_001), "max_length"),
        (lambda f, m: count_words(f, m, 3, n_starts=0), "n_starts"),
        (lambda f, m: split_words(f, m, 7).exponent(), "max_length"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with refuses(name):
        call(*four_states())
