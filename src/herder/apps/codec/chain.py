r"""A chain of logistic predictions: each pixel from the pixels before it.

Nothing is sent: both sides learn while they code. The inputs are logits:

- of a logistic regression, for this pixel, on earlier pixels;
- of how often a 1 followed the same 10, 16 and 22 nearest neighbours, at any pixel;
- of another model, if there is one (`combined`).

A second logistic regression mixes them, with weights :math:`u + v_j` of all pixels and of pixel j:
a set of one large image learns u alone, many images learn :math:`v_j` as well. All regressions take
gradient steps of rate :math:`\eta / \sqrt{\sum g^2}` (AdaGrad, one norm a pixel), in whole numbers.
"""

import numpy as np
from numpy.typing import NDArray

from herder.apps.codec import _chain_jit as _jit
from herder.apps.codec import fixed
from herder.apps.codec.coder import Predictor

__all__ = ["Chain"]

#: Neighbours in the contexts that are counted.
ORDERS = (10, 16, 22)

#: Margins of a canvas: no neighbour is further away.
MARGIN = 4

#: Pixels that have weights of their own: in larger images they are shared by every 2^16th one.
MAX_ROWS = 2**16

#: Earlier pixels that a pixel is regressed on, and weights of all of them: 64 MB.
MAX_BACK, MAX_LINKS = 1024, 2**24


class Chain:
    """Predicts pixel after pixel of blocks of images, and learns from them.

    Parameters
    ----------
    shape : tuple of int
        Height and width of the images.
    other : model, optional
        Its logit is one more input.
    """

    def __init__(self, shape: tuple[int, int], other: Predictor | None = None) -> None:
        height, width = shape
        n_pixels, n_inputs = height * width, len(ORDERS) + 3
        rows = min(n_pixels, MAX_ROWS)
        self.other = other
        self._stride = width + 2 * MARGIN
        self._size = (height + MARGIN) * self._stride
        self._width = width
        back = min(n_pixels, MAX_BACK, MAX_LINKS // rows)
        mixer = np.zeros((rows + 1, n_inputs), dtype=np.int64)
        mixer[-1] = 2**24 * 3 // 10
        self._arrays = _jit.ChainArrays(
            fixed.squash_table(),
            fixed.stretch_table(),
            fixed.count_rates(),
            _neighbours(self._stride, max(ORDERS)),
            np.array(ORDERS, dtype=np.intp),
            np.zeros(sum(2**order for order in ORDERS), dtype=np.int32),
            np.zeros((rows, back + 1), dtype=np.int32),
            _norms(rows, 4),
            mixer,
            _norms(rows + 1, 50),
            *self._views(0),
        )

    def _views(self, n_block: int) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        n_pixels = self._width * (self._size // self._stride - MARGIN)
        return (
            np.zeros((n_block, self._size), dtype=np.uint8),
            np.zeros((n_block, n_pixels), dtype=np.int8),
            np.zeros((n_block, len(ORDERS) + 3), dtype=np.int64),
            np.zeros((n_block, len(ORDERS)), dtype=np.intp),
        )

    def begin(self, n_block: int) -> None:
        """Begin a block of images."""
        canvas, signs, inputs, slots = self._views(n_block)
        self._arrays = self._arrays._replace(
            canvas=canvas, signs=signs, inputs=inputs, slots=slots
        )
        self._predicted = np.empty(n_block, dtype=np.int64)
        self._nothing = np.full(n_block, fixed.ONE // 2, dtype=np.int64)
        if self.other is not None:
            self.other.begin(n_block)

    def predict(self, pixel: int) -> NDArray[np.int64]:
        """Return the probability of a 1 at a pixel of each image of the block, in 2^-22."""
        extra = self._nothing if self.other is None else self.other.predict(pixel)
        _jit.predict(self._arrays, pixel, self._place(pixel), extra, self._predicted)
        return self._predicted

    def update(self, pixel: int, bits: NDArray[np.int32]) -> None:
        """Learn what the pixel is."""
        _jit.update(self._arrays, pixel, self._place(pixel), bits, self._predicted)
        if self.other is not None:
            self.other.update(pixel, bits)

    def _place(self, pixel: int) -> int:
        row, column = divmod(pixel, self._width)
        return (row + MARGIN) * self._stride + column + MARGIN


def _neighbours(stride: int, count: int) -> NDArray[np.intp]:
    """Return the offsets of the nearest earlier pixels in a canvas, nearest first."""
    around = range(-MARGIN, MARGIN + 1)
    earlier = [(y, x) for y in around for x in around if (y, x) < (0, 0)]
    earlier.sort(key=lambda at: (at[0] ** 2 + at[1] ** 2, at))
    return np.array([y * stride + x for y, x in earlier[:count]], dtype=np.intp)


def _norms(n: int, first: int) -> NDArray[np.int64]:
    """Return sums of squares and their roots, in 2^-16, before anything was learnt."""
    return np.tile(np.array([first << 16, int((first << 32) ** 0.5)], dtype=np.int64), (n, 1))
