"""Pictures of restricted Boltzmann machines."""

import numpy as np
import pytest

from herder import RBM, ParameterError
from herder.plots import plot_filters


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
