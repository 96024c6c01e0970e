"""Probability that two superpixels that meet belong to different objects.

A logistic regression on cues of colour and gradient, fitted to the segmentations that people drew
for 50 images of BSDS500 (benchmarks/segmentation/boundaries.py).
"""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.special import expit

from herder.apps.segment.superpixels import Borders, means_of

__all__ = ["COEFFICIENTS", "CUES", "INTERCEPT", "boundary_cues", "boundary_probabilities"]

#: Widths of Gaussians, in pixels: of a gradient, of what is around a superpixel, of texture.
FINE, AROUND, COARSE = 1.0, 3.0, 5.0

#: Differences, each as log(1 + x): of mean hues, of pixels across the border, the gradient along
#: it, of the colours around both, the mean gradient near by, and of spreads of colour.
CUES = ("hue", "step", "gradient", "around", "texture", "spread")

COEFFICIENTS = (0.3796, 0.4386, 1.3482, 0.9975, -1.81, 0.1913)
INTERCEPT = -5.2909


def boundary_cues(
    lab: NDArray[np.float64], labels: NDArray[np.intp], borders: Borders
) -> NDArray[np.float64]:
    """Return the cues of each pair of superpixels that meet, (n_pairs, n_cues).

    Parameters
    ----------
    lab : ndarray of shape (height, width, 3)
        Colours.
    labels : ndarray of shape (height, width)
        Superpixels.
    borders : Borders
        Where they meet.
    """
    one, other = borders.pairs.T
    means = means_of(lab, labels)
    spread = np.sqrt(np.maximum(means_of(lab**2, labels) - means**2, 0)).sum(axis=1)
    blurred = means_of(ndimage.gaussian_filter(lab, (AROUND, AROUND, 0)), labels)
    slopes = [ndimage.gaussian_gradient_magnitude(lab[..., k], FINE) for k in range(3)]
    gradient = np.sqrt(np.square(slopes).sum(axis=0))
    texture = ndimage.gaussian_filter(gradient, COARSE)
    first, second = lab.reshape(-1, 3)[borders.pixels]
    columns = [
        np.hypot(*(means[one] - means[other])[:, 1:].T),
        borders.along(np.linalg.norm(first - second, axis=1)),
        borders.along(gradient.ravel()[borders.pixels].mean(axis=0)),
        np.linalg.norm(blurred[one] - blurred[other], axis=1),
        borders.along(texture.ravel()[borders.pixels].mean(axis=0)),
        np.abs(spread[one] - spread[other]),
    ]
    return np.log1p(np.column_stack(columns))


def boundary_probabilities(cues: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of a boundary for each row of cues."""
    return expit(cues @ np.array(COEFFICIENTS) + INTERCEPT)
