"""Two systems of two features to study, and as examples."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["four_states", "six_states"]


def four_states() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return features and moments of four states whose period doubles as they cool.

    Examples
    --------
    >>> features, moments = four_states()
    >>> features.shape, moments.shape
    ((4, 2), (2,))
    """
    table = [[-1.4241, 0.1935], [-2.1078, -0.745], [-0.0889, -0.4909], [0.1229, 0.1573]]
    features = np.array(table)
    return features, np.array([0.2098, 0.3898, 0.1544, 0.246]) @ features


def six_states() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return features and moments of six states with a fractal attractor.

    Examples
    --------
    >>> features, moments = six_states()
    >>> features.shape, moments.shape
    ((6, 2), (2,))
    """
    table = [
        *([0.9627, 0.1381], [0.4178, 0.9239], [-0.5719, 0.8127]),
        *([-1.0243, -0.1166], [-0.3689, -0.8954], [0.6067, -0.7412]),
    ]
    features = np.array(table)
    return features, np.array([0.2311, 0.1123, 0.1907, 0.1489, 0.2083, 0.1087]) @ features
