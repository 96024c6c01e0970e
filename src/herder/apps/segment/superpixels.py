"""Superpixels, and which of them meet where."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Borders", "borders_of", "means_of", "superpixels"]

#: Pixels of a superpixel, which matter more than the method, and how round it is.
SIZE, COMPACTNESS = 40, 0.15


class Borders(NamedTuple):
    """Where superpixels meet.

    Parameters
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        Superpixels that meet, the lower number first.
    lengths : ndarray of shape (n_pairs,)
        At how many pairs of pixels.
    pair : ndarray of shape (n_places,)
        Of each of these pairs of pixels, that of the superpixels.
    pixels : ndarray of shape (2, n_places)
        The two pixels, counted row by row.
    """

    pairs: NDArray[np.intp]
    lengths: NDArray[np.intp]
    pair: NDArray[np.intp]
    pixels: NDArray[np.intp]

    def along(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of a number for each place over the places of each pair."""
        return np.bincount(self.pair, values, len(self.pairs)) / self.lengths


def superpixels(lab: NDArray[np.float64], kinds: NDArray[Any] | None = None) -> NDArray[np.intp]:
    """Return the number of the superpixel of each pixel, from 0.

    Parameters
    ----------
    lab : ndarray of shape (height, width, 3)
        Colours.
    kinds : ndarray of shape (height, width), optional
        Pixels of two kinds are never in one superpixel.
    """
    height, width = lab.shape[:2]
    found = _library().slic(
        lab,
        n_segments=max(1, round(height * width / SIZE)),
        compactness=COMPACTNESS,
        convert2lab=False,
        start_label=0,
    )
    if kinds is not None:
        found = found * 256 + kinds
    return np.unique(found, return_inverse=True)[1].reshape(height, width).astype(np.intp)


def borders_of(labels: NDArray[np.intp]) -> Borders:
    """Return which superpixels meet, side by side or one above the other."""
    places = np.arange(labels.size).reshape(labels.shape)
    one = np.concatenate([places[:, :-1].ravel(), places[:-1].ravel()])
    other = np.concatenate([places[:, 1:].ravel(), places[1:].ravel()])
    ends = np.sort(labels.ravel()[np.stack([one, other])], axis=0)
    met = ends[0] != ends[1]
    n = int(labels.max()) + 1
    keys, pair, lengths = np.unique(
        ends[0, met] * n + ends[1, met], return_inverse=True, return_counts=True
    )
    pairs = np.column_stack([keys // n, keys % n])
    return Borders(pairs, lengths, pair, np.stack([one[met], other[met]]))


def means_of(values: NDArray[np.float64], labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the mean of numbers (height, width, k) over each superpixel, (n, k)."""
    flat = labels.ravel()
    sums = [np.bincount(flat, column) for column in values.reshape(flat.size, -1).T]
    return np.column_stack(sums) / np.bincount(flat)[:, None]


def _library() -> Any:
    try:
        from skimage import segmentation
    except ImportError:
        text = "segmentation needs scikit-image, which is not installed: "
        raise ImportError(f"{text}pip install 'herder[segment]'") from None
    return segmentation
