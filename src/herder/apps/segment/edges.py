r"""Probabilities of superpixels as probabilities of pixels, which follow the edges of the image.

A guided filter: within a window around each pixel the probability is regressed on the colour,

.. math:: \min_{\alpha, \beta} \sum_k (\alpha^T x_k + \beta - \pi_k)^2 + \epsilon |\alpha|^2 \, n,

and a pixel gets the mean of what the regressions of all windows that hold it predict [he2013]_.

Herded averages are between marginals that contradict each other, hence too near to one half.
`sharpen` raises their odds to a power, which leaves masks as they are.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

__all__ = ["follow_edges", "sharpen"]

#: Pixels to each side of the middle of a window, about the width of a superpixel, and the ridge,
#: for colours up to 1: a hundredth of their range is noise.
RADIUS, RIDGE = 5, 1e-4

#: Power of the odds: the median of where the likelihood of true masks is highest on random halves
#: of GrabCut (benchmarks/segment.py).
CONTRAST = 4.0

#: Pixels that are filtered at a time, besides those around them.
N_PIXELS = 2**19


def follow_edges(
    probability: NDArray[np.float64], lab: NDArray[np.float64], scale: int = 1
) -> NDArray[np.float64]:
    """Return probabilities (height, width), from 0 to 1, with the edges of the colours.

    Parameters
    ----------
    probability : ndarray of shape (height, width)
        Those of the superpixel of each pixel.
    lab : ndarray of shape (height, width, 3)
        Colours.
    scale : int, default 1
        How many times wider windows are.
    """
    found, radius = np.empty_like(probability), scale * RADIUS
    n_rows = max(1, N_PIXELS // found.shape[1])
    for first in range(0, len(found), n_rows):
        above = max(first - 2 * radius, 0)
        rows = slice(above, first + n_rows + 2 * radius)
        strip = _filtered(probability[rows], lab[rows] / 100, 2 * radius + 1)
        found[first : first + n_rows] = strip[first - above :][:n_rows]
    return np.clip(found, 0, 1)


def sharpen(probability: NDArray[np.float64], power: float = CONTRAST) -> NDArray[np.float64]:
    """Return probabilities whose odds are raised to a power."""
    ahead, behind = probability**power, (1 - probability) ** power
    return ahead / (ahead + behind)


def _filtered(
    given: NDArray[np.float64], colours: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Return what windows of rows and columns of that size predict."""

    def mean(values: NDArray[Any]) -> NDArray[np.float64]:
        return ndimage.uniform_filter(values, size, mode="nearest", axes=(0, 1))

    average, colour = mean(given), mean(colours)
    products = colours[..., :, None] * colours[..., None, :]
    spread = mean(products) - colour[..., :, None] * colour[..., None, :] + RIDGE * np.eye(3)
    common = mean(colours * given[..., None]) - colour * average[..., None]
    slopes: NDArray[Any] = np.linalg.solve(spread, common[..., None])[..., 0]
    offset = average - (slopes * colour).sum(axis=2)
    return (mean(slopes) * colours).sum(axis=2) + mean(offset)
