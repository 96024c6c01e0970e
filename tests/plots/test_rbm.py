"""Pictures of restricted Boltzmann machines."""

import numpy as np
import pytest

from herder import RBM, HiddenHerder, ParameterError, ParametricHerder
from herder.core.summary import Picture
from herder.plots import draw, plot_filters, plot_images


@pytest.fixture(scope="module")
def machine():
    rows = np.random.default_rng(0).integers(0, 2, (50, 12)).astype(float)
    return RBM(5, n_epochs=2).fit(rows)


def test_filters_are_the_couplings_by_norm(machine):
    sheet = plot_filters(machine, shape=(3, 4), n_filters=4).axes[0].images[0].get_array()
    order = np.argsort(-np.linalg.norm(machine.components_, axis=1))
    np.testing.assert_array_equal(sheet[:3, :4], machine.components_[order[0]].reshape(3, 4))
    np.testing.assert_array_equal(sheet[:3, 5:9], machine.components_[order[1]].reshape(3, 4))
    assert sheet.shape == (7, 9)


def test_no_square_is_one_row(machine):
    sheet = plot_filters(machine, n_filters=1).axes[0].images[0].get_array()
    assert sheet.shape == (1, 12)


@pytest.mark.parametrize("shape", [(3, 3), (12,), (2.0, 6.0), "ab"])
def test_shapes_that_do_not_fit_are_refused(machine, shape):
    with pytest.raises(ParameterError, match="shape"):
        plot_filters(machine, shape=shape)


def test_images_are_the_rows_side_by_side():
    rows = np.arange(24.0).reshape(4, 6)
    sheet = plot_images(rows, shape=(3, 2), n_images=3).axes[0].images[0].get_array()
    np.testing.assert_array_equal(sheet[:3, 3:5], rows[1].reshape(3, 2))
    assert 23.0 not in sheet


@pytest.mark.parametrize("rows", [[1.0, 2.0], np.empty((0, 4)), [["a"]]])
def test_rows_that_are_no_images_are_refused(rows):
    with pytest.raises(ParameterError, match="rows"):
        plot_images(rows)


def test_pictures_of_summaries():
    rows = np.random.default_rng(0).integers(0, 2, (20, 9))
    hidden = HiddenHerder(3, n_steps=9).fit(rows)
    short = ParametricHerder(2, n_hidden=3, n_steps=5, n_tuning_steps=5).fit(rows)
    shown = {}
    for herder in (hidden, short):
        picture = herder.summary().sections[0].blocks[0]
        assert isinstance(picture, Picture)
        shown[picture.name] = draw(picture).axes[0].images[0].get_array()
    np.testing.assert_array_equal(shown["samples"][:3, :3].ravel(), hidden.sample(1)[0])
    np.testing.assert_array_equal(shown["prototypes"][:3, :3].ravel(), short.prototypes_[0])
