"""A drawn image of a disc on a striped background, its trimap and its true mask."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["drawn"]


def drawn(
    size: int = 96, noise: float = 20.0
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.bool_]]:
    """Return image, trimap and mask; both parts have the same hues, in other shares."""
    rows, columns = np.mgrid[:size, :size]
    distance = np.hypot(rows - size / 2, (columns - size / 2) * 0.8)
    mask = distance < 0.3 * size
    stripes = np.where(columns % 16 < 8, 70, 130)[..., None] * np.array([0.6, 1.0, 1.2])
    object_ = np.array([210.0, 120.0, 60.0])
    pixels = np.where(mask[..., None], object_, stripes)
    pixels = pixels + np.random.default_rng(0).normal(0, noise, pixels.shape)
    trimap = np.where(distance < 0.18 * size, 255, np.where(distance < 0.42 * size, 128, 0))
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8), trimap.astype(np.uint8), mask
