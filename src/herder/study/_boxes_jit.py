"""Compiled counts of points in boxes, and of pairs by distance. They trust their arguments."""

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit


@jit
def count_boxes(
    points: NDArray[np.float64],  # (n_points, n_features), C-contiguous
    low: NDArray[np.float64],  # (n_features,)
    scale: float,
    n: int,
    counts: NDArray[np.int32],  # (n ** n_features,), added to in place
) -> None:
    """Count the points in each of n boxes of side 1 / ``scale`` along each axis."""
    for i in range(points.shape[0]):
        box = 0
        for k in range(points.shape[1]):
            place = int((points[i, k] - low[k]) * scale)
            box = box * n + min(max(place, 0), n - 1)
        counts[box] += 1


@jit
def count_pairs(
    points: NDArray[np.float64],  # (n_points, n_features), C-contiguous
    side: float,
    counts: NDArray[np.int64],  # (n_halvings,), added to in place
) -> None:
    """Count the pairs that are nearer than ``side``, by how often it is halved before they are."""
    last = counts.shape[0] - 1
    for i in range(points.shape[0]):
        for j in range(i):
            distance = 0.0
            for k in range(points.shape[1]):
                gap = (points[i, k] - points[j, k]) / side
                distance += gap * gap
            if distance < 1.0:
                halvings = last
                if distance > 0.0:
                    halvings = min(int(-0.5 * np.log2(distance)), last)
                counts[halvings] += 1
