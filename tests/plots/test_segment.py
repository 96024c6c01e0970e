"""Pictures of segmented images."""

from typing import Any

import numpy as np
import pytest

from herder.apps.segment import segment
from herder.plots import draw, plot_segmentation
from tests.apps.segment.drawn import drawn
from tests.naming import refuses


@pytest.fixture(scope="module")
def found() -> Any:
    image, trimap, _ = drawn(64)
    return segment(image, trimap)


def test_the_picture_has_the_overlay_and_both_probabilities(found: Any) -> None:
    picture: Any = found.summary().sections[0].blocks[0]
    axes = draw(picture).axes
    shown = [np.asarray(ax.images[0].get_array()) for ax in axes[:3]]
    np.testing.assert_array_equal(shown[0], found.overlay())
    np.testing.assert_array_equal(shown[1], found.probability)
    np.testing.assert_array_equal(shown[2], found.boundary_map())


def test_only_a_segmentation_is_drawn() -> None:
    with refuses("result", TypeError):
        plot_segmentation(np.zeros((3, 3)))  # pyright: ignore[reportArgumentType]
