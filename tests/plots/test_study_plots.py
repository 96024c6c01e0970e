"""Pictures of the dynamics: what they draw, and what they refuse."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from herder import PairwiseModel
from herder.core.summary import Picture
from herder.plots import (
    draw,
    plot_attractor,
    plot_bifurcation,
    plot_cones,
    plot_mixing,
    plot_neuron,
    plot_tipi_surface,
    plot_words,
)
from herder.study import (
    attractor,
    bifurcation,
    compare_mixing,
    count_words,
    four_states,
    neuron,
    six_states,
    split_words,
)
from tests.naming import refuses


@pytest.fixture(scope="module")
def found() -> Any:
    return attractor(*six_states(), 20_000)


def test_a_neuron_shows_its_word_and_weights_within_the_interval():
    figure: Any = plot_neuron(Fraction(5, 8), 16)
    left, middle, right = figure.axes
    assert (
        right.images[0].get_array().ravel().tolist() == (1 - neuron(Fraction(5, 8), 16)).tolist()
    )
    weights = middle.lines[0].get_ydata()
    assert weights[0] == weights[8] == 0.25
    assert (weights > -3 / 8).all()
    assert (weights <= 5 / 8).all()
    assert len(left.lines) == 3


def test_a_bifurcation_shows_points_periods_and_thresholds():
    result = bifurcation(*four_states(), [0.0, 0.05, 0.3, 0.6])
    figure: Any = plot_bifurcation(result)
    left, middle, right = figure.axes[:3]
    points = left.lines[0].get_xydata()
    assert (points[:, 0] == 0.3).sum() == 2
    assert middle.lines[0].get_ydata().tolist() == [2, 1]
    lines = [line.get_xdata()[0] for line in middle.lines[1:]]
    assert lines[:2] == list(result.thresholds.values())[:2]
    assert right.collections[0].get_offsets().shape == (3, 2)
    one = bifurcation([[0.0], [1.0]], [0.3], [0.05, 0.5])
    assert len(plot_bifurcation(one).axes) == 2


def test_an_attractor_is_drawn_where_its_points_are(found):
    ax: Any = plot_attractor(found).axes[0]
    picture = ax.images[0]
    left, right, low, _ = picture.get_extent()
    n = len(picture.get_array())
    place = ((found.points - [left, low]) / (right - left) * n).astype(int)
    filled = np.zeros((n, n), dtype=bool)
    filled[place[:, 1], place[:, 0]] = True
    assert np.array_equal(picture.get_array() > 0, filled)


def test_cones_have_half_of_their_translations(found):
    ax: Any = plot_cones(found).axes[0]
    assert {text.get_text() for text in ax.get_legend().get_texts()} == set("012345")
    moves = [np.subtract(text.xy, text.xyann) for text in ax.texts]
    assert np.allclose(moves, (found.moments - found.features) / 2)


def test_the_tipi_holds_the_dots(found):
    figure: Any = plot_tipi_surface(found)
    x, y, z = figure.axes[0].lines[0].get_data_3d()
    at = np.column_stack([x, y])
    assert np.allclose(z, at @ found.moments - (at @ found.features.T).max(axis=1))
    assert (z <= 0).all()


def test_words_are_drawn_beside_their_bounds():
    result = split_words(*six_states(), 10)
    figure: Any = plot_words(result)
    left, right = figure.axes
    assert np.array_equal(left.lines[0].get_ydata(), result.counts)
    assert left.lines[1].get_ydata()[-1] == result.counts[-1]
    assert np.allclose(right.lines[1].get_ydata(), 2 * np.log(np.arange(1, 11)))


def test_mixing_is_drawn_by_method():
    result = compare_mixing(PairwiseModel.grid((1, 4)), 500)
    figure: Any = plot_mixing(result)
    ax = figure.axes[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(result.correlations)
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines[:3]}) == 3


def test_summaries_name_pictures_that_there_are(found):
    results = [
        *(found, split_words(*four_states(), 8), bifurcation(*four_states(), [0.1, 0.5])),
        compare_mixing(PairwiseModel.grid((1, 4)), 500),
    ]
    for result in results:
        for section in result.summary().sections:
            for block in section.blocks:
                assert isinstance(block, Picture)
                assert draw(block).axes


def test_the_plane_is_needed(found):
    line = attractor([[0.0], [1.0]], [0.3], 1000)
    assert not line.summary().sections[0].blocks
    for plot in (plot_attractor, plot_cones, plot_tipi_surface):
        with refuses("result"):
            plot(line)
        with refuses("result", TypeError):
            plot(found.points)
    for plot in (plot_bifurcation, plot_words, plot_mixing):
        with refuses("result", TypeError):
            plot(found)
    with refuses("n"):
        plot_neuron(Fraction(1, 2), 0)
    assert plot_words(count_words([[0.0], [1.0]], [0.3], 5, n_starts=100)).axes
