"""Pictures of classifiers with hidden units."""

from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier

from herder import ConditionalHerder
from herder.plots import draw, plot_boundary, plot_training
from tests.naming import refuses

X = np.array([[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [4.0, 2.0]])
Y = np.array(["a", "a", "b", "b"])


@pytest.fixture(scope="module")
def nearest():
    return KNeighborsClassifier(1).fit(X, Y)


@pytest.mark.parametrize("max_iter", [1, 50])
def test_training_is_the_history_less_passes_without_mistakes(max_iter):
    model = ConditionalHerder(2, max_iter=max_iter).fit(X, Y)
    picture: Any = model.summary().sections[0].blocks[0]
    ax = draw(picture).axes[0]
    passes, mistakes = ax.lines[0].get_data()
    assert ax.get_yscale() == "log"
    np.testing.assert_array_equal(mistakes, model.history_[model.history_ > 0])
    np.testing.assert_array_equal(passes, np.flatnonzero(model.history_ > 0) + 1)
    ended = model.history_[-1] == 0
    assert ended == (max_iter == 50)
    assert len(ax.lines) == 1 + ended


def test_training_without_a_mistake():
    model = ConditionalHerder(2, max_iter=50, warm_start=True).fit(X, Y)
    model.history_ = model.history_[-1:]
    ax = plot_training(model).axes[0]
    assert ax.get_yscale() == "linear"
    assert ax.lines[0].get_ydata() == [0]


def test_regions_are_predictions_and_rows_have_their_classes(nearest):
    ax: Any = plot_boundary(nearest, X, Y).axes[0]
    regions = np.asarray(ax.images[0].get_array())
    half = regions.shape[1] // 2
    assert (regions[:, :half] == 0).all()
    assert (regions[:, half:] == 1).all()
    first, second = (c for c in ax.collections if len(c.get_offsets()) == 2)
    np.testing.assert_array_equal(first.get_offsets(), X[:2])
    np.testing.assert_array_equal(second.get_offsets(), X[2:])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    (line,) = (p for c in ax.collections for p in c.get_paths() if len(p.vertices) > 50)
    # between the two grid points nearest to the middle
    assert np.abs(line.vertices[:, 0] - 2).max() < 0.02


def test_several_classifiers_stand_side_by_side(nearest):
    other = DummyClassifier(strategy="constant", constant="c").fit([[0, 0]], ["c"])
    left, right = plot_boundary({"near": nearest, "other": other}, X, Y).axes
    assert (left.get_title(), right.get_title()) == ("near", "other")
    assert (np.asarray(right.images[0].get_array()) == 2).all()


def test_columns_may_be_constant(nearest):
    low, high = plot_boundary(nearest, X[:2], Y[:2]).axes[0].get_xlim()
    assert (low, high) == (-1, 1)


@pytest.mark.parametrize(
    ("name", "kind", "values"),
    [
        ("X", ValueError, {"X": np.zeros((4, 3))}),
        ("X", ValueError, {"X": np.empty((0, 2))}),
        ("y", ValueError, {"y": ["a", "a", "b", None]}),
        ("y", ValueError, {"y": np.arange(4).astype("datetime64[D]")}),
        ("classifier", ValueError, {"classifier": {}}),
        ("classifier", TypeError, {"classifier": {"a": 1}}),
        ("classifier", TypeError, {"classifier": KNeighborsClassifier}),
    ],
)
def test_boundary_refuses(nearest, name, kind, values):
    with refuses(name, kind):
        plot_boundary(**{"classifier": nearest, "X": X, "y": Y, **values})


def test_training_needs_a_herder(nearest):
    with refuses("model", TypeError):
        plot_training(nearest)
