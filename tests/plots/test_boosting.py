"""Pictures of boosted fields."""

from typing import Any

import numpy as np
import pytest

from herder import BoostedField
from herder.datasets import make_spirals
from herder.plots import draw, plot_boosted_density, plot_boosted_rounds
from tests.naming import refuses

X = make_spirals(100).X


@pytest.fixture(scope="module")
def field():
    return BoostedField(n_rounds=6).fit(X)


@pytest.fixture(scope="module")
def signs():
    return BoostedField(n_rounds=3).fit((X - X.mean(axis=0) > 0).astype(int))


def test_the_summary_names_both_pictures(field, signs):
    pictures: list[Any] = [part.blocks[0] for part in field.summary().sections]
    assert [len(draw(picture).axes) for picture in pictures] == [3, 2]
    assert [part.blocks[0].name for part in signs.summary().sections] == ["rounds"]


def test_rounds_are_those_of_the_field(field, signs):
    for each in (field, signs):
        total, gains, ess = (ax.lines[0] for ax in plot_boosted_rounds(each).axes)
        np.testing.assert_array_equal(gains.get_ydata(), each.gains_)
        np.testing.assert_array_equal(gains.get_xdata(), np.arange(each.n_rounds_) + 1)
        np.testing.assert_array_equal(ess.get_ydata(), 100 * each.ess_)
        assert total.get_ydata()[-1] == pytest.approx(each.gains_.sum())


def test_colours_are_log_densities_below_the_largest(field):
    ax: Any = plot_boosted_density(field, X).axes[0]
    logs = np.asarray(ax.images[0].get_array())
    left, right, low, high = ax.images[0].get_extent()
    corners = field.score_samples([[left, low], [right, low], [left, high], [right, high]])
    assert logs.max() == 0
    drawn = logs[[0, 0, -1, -1], [0, -1, 0, -1]]
    np.testing.assert_allclose(drawn - drawn[0], corners - corners[0], rtol=1e-9)
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), X)


def test_ellipses_are_one_deviation_of_the_narrow_gaussians(field):
    ax = plot_boosted_density(field, X).axes[0]
    ellipses = ax.lines[1:]
    assert len(ellipses) == (field.coefficients_ > 0).sum() > 0
    largest = field.coefficients_.argmax()
    means, logs = field.parameters_[largest].reshape(2, 2)
    whitened = field._frame.scaled(ellipses[0].get_xydata())
    distances = ((whitened - means) ** 2 * np.exp(logs)).sum(axis=1)
    np.testing.assert_allclose(distances, 1)
    assert len(plot_boosted_density(field, X, dimples=False).axes[0].lines) == 1


def test_numbers_of_rounds_stand_side_by_side(field):
    first, last, _bar = plot_boosted_density(field, X, n_rounds=[1, 6]).axes
    assert [ax.get_title() for ax in (first, last)] == ["1 round", "6 rounds"]
    assert len(first.lines) < len(last.lines)
    again = BoostedField(n_rounds=1).fit(X)
    alone = plot_boosted_density(again, X).axes[0]
    np.testing.assert_allclose(
        np.asarray(first.images[0].get_array()), np.asarray(alone.images[0].get_array())
    )


def test_without_rows_samples_are_drawn(field):
    dots = plot_boosted_density(field, dimples=False).axes[0].lines[0].get_xydata()
    assert dots.shape == (500, 2)
    # 500 samples; of independent ones the error of the mean is 0.045 deviations
    np.testing.assert_allclose(field._frame.scaled(dots).mean(axis=0), 0, atol=0.3)


def test_one_row_and_other_features():
    trees = BoostedField("tree", n_rounds=2).fit(X)
    ax = plot_boosted_density(trees, X[:1]).axes[0]
    assert len(ax.lines) == 1
    assert ax.get_xlim()[0] < X[0, 0] < ax.get_xlim()[1]


@pytest.mark.parametrize(
    ("name", "kind", "values"),
    [
        ("X", ValueError, {"X": np.zeros((4, 3))}),
        ("X", ValueError, {"X": np.empty((0, 2))}),
        ("X", ValueError, {"X": np.array([[-1e149, 0.0], [1e149, 1.0]])}),
        ("n_rounds", ValueError, {"n_rounds": 0}),
        ("n_rounds", ValueError, {"n_rounds": [1, 7]}),
        ("n_rounds", ValueError, {"n_rounds": [1] * 9}),
        ("n_rounds", TypeError, {"n_rounds": 1.5}),
        ("n_rounds", TypeError, {"n_rounds": []}),
        ("dimples", TypeError, {"dimples": "no"}),
        ("field", TypeError, {"field": 1}),
    ],
)
def test_density_refuses(field, name, kind, values):
    with refuses(name, kind):
        plot_boosted_density(**{"field": field, **values})


def test_other_fields_have_no_density(signs):
    with refuses("field"):
        plot_boosted_density(signs)
    with refuses("field", TypeError):
        plot_boosted_rounds(X)  # pyright: ignore[reportArgumentType]
