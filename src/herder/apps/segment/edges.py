r"""Probabilities of superpixels as probabilities of pixels, which follow the edges of the image.

A guided filter: within a window around each pixel the probability is regressed on the colour,

.. math:: \min_{\alpha, \beta} \sum_k (\alpha^T x_k + \beta - \pi_k)^2 + \epsilon |\alpha|^2 \, n,

and a pixel gets the mean of what the regressions of all windows that hold it predict.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

__all__ = ["follow_edges"]

#: Pixels to each side of the middle of a window, about the width of a superpixel, and the ridge,
#: for colours up to 1: a hundredth of their range is noise.
RADIUS, RIDGE = 5, 1e-4

#: Rows that are filtered at a time.
N_ROWS = 512


def follow_edges(
    probability: NDArray[np.float64], lab: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return probabilities (height, width), from 0 to 1, with the edges of the colours.

    Parameters
    ----------
    probability : ndarray of shape (height, width)
        Those of the superpixel of each pixel.
    lab : ndarray of shape (height, width, 3)
        Colours.
    """
    found, margin = np.empty_like(probability), 2 * RADIUS
    for first in range(0, len(found), N_ROWS):
        above = max(first - margin, 0)
        rows = slice(above, first + N_ROWS + margin)
        strip = _filtered(probability[rows], lab[rows] / 100)
        found[first : first + N_ROWS] = strip[first - above :][:N_ROWS]
    return np.clip(found, 0, 1)


def _filtered(given: NDArray[np.float64], colours: NDArray[np.float64]) -> NDArray[np.float64]:
    mean, means = _blur(given), _blur(colours)
    products = colours[..., :, None] * colours[..., None, :]
    spread = _blur(products) - means[..., :, None] * means[..., None, :] + RIDGE * np.eye(3)
    common = _blur(colours * given[..., None]) - means * mean[..., None]
    slopes: NDArray[Any] = np.linalg.solve(spread, common[..., None])[..., 0]
    offset = mean - (slopes * means).sum(axis=2)
    return (_blur(slopes) * colours).sum(axis=2) + _blur(offset)


def _blur(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return means over windows of rows and columns."""
    return ndimage.uniform_filter(values, 2 * RADIUS + 1, mode="nearest", axes=(0, 1))
