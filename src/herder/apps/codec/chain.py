r"""A chain of logistic predictions: each pixel from the pixels before it.

Nothing is sent: both sides learn while they code. The inputs are logits:

- of a logistic regression, for this pixel, on earlier pixels;
- of how often a 1 followed the same 10, 16 and 22 nearest neighbours, at any pixel;
- of another model, if there is one (`combined`).

A second logistic regression mixes them, with weights :math:`u + v_j` of all pixels and of pixel
j: a set of one large image learns u alone, many images learn :math:`v_j` as well. All regressions
take gradient steps of rate :math:`\eta / \sqrt{\sum g^2}` (AdaGrad, one norm a pixel).
"""

import numpy as np
from numpy.typing import NDArray

from herder.apps.codec import _chain_jit as _jit
from herder.apps.codec import fixed
from herder.apps.codec.coder import Predictor

__all__ = ["Chain"]

#: Margins of a canvas: none of the 22 nearest neighbours is further away.
MARGIN = 3

#: Pixels that have weights of their own: in larger images they are shared by every 2^16th one.
MAX_ROWS = 2**16

#: Earlier pixels that a pixel is regressed on, and weights of all of them: 64 MB.
MAX_BACK, MAX_LINKS = 1024, 2**24

#: Sums of squares before anything was learnt, and their roots, in 2^-16.
MIXER_NORM, LINK_NORM = (50 << 16, 463410), (4 << 16, 2 << 16)


class Chain:
    """Predicts pixel after pixel of blocks of images, and learns from them.

    Parameters
    ----------
    shape : tuple of int
        Height and width of the images.
    other : model, optional
        Its logit is one more input; the model itself stays as it is.
    """

    def __init__(self, shape: tuple[int, int], other: Predictor | None = None) -> None:
        self._shape, self._other = shape, other
        self._stride = shape[1] + 2 * MARGIN
        n_pixels = shape[0] * shape[1]
        rows = min(n_pixels, MAX_ROWS)
        back = min(n_pixels, MAX_BACK, MAX_LINKS // rows)
        mixer = np.zeros((rows + 1, _jit.N_INPUTS), dtype=np.int64)
        mixer[-1] = 2**24 * 3 // 10  # each input counts at first, as an average of them
        self._learnt = (
            _neighbours(self._stride, max(_jit.ORDERS)),
            np.zeros(sum(2**order for order in _jit.ORDERS), dtype=np.int32),
            np.zeros((rows, back + 1), dtype=np.int32),
            mixer,
            np.repeat([MIXER_NORM, LINK_NORM], [rows + 1, rows], axis=0),
        )

    def begin(self, n_block: int) -> None:
        """Begin a block of images."""
        height, width = self._shape
        self._arrays = _jit.ChainArrays(
            *self._learnt,
            np.zeros((n_block, (height + MARGIN) * self._stride), dtype=np.uint8),
            np.zeros((n_block, height * width), dtype=np.int8),
            np.zeros((n_block, _jit.N_INPUTS + len(_jit.ORDERS)), dtype=np.int64),
        )
        self._predicted = np.empty(n_block, dtype=np.int64)
        self._nothing = np.full(n_block, fixed.ONE // 2, dtype=np.int64)
        if self._other is not None:
            self._other.begin(n_block)

    def predict(self, pixel: int, before: NDArray[np.int32] | None) -> NDArray[np.int64]:
        """Learn the pixels before, return the probabilities of a 1 at these, in 2^-22."""
        extra, place = self._nothing, self._place(pixel)
        if self._other is not None:
            extra = self._other.predict(pixel, before)
        if before is None:
            _jit.predict(self._arrays, pixel, place, extra, self._predicted)
        else:
            places = self._place(pixel - 1), place
            _jit.step(self._arrays, pixel, places, before, extra, self._predicted)
        return self._predicted

    def end(self, pixel: int, bits: NDArray[np.int32]) -> None:
        """Learn the last pixel of the block."""
        _jit.update(self._arrays, pixel, self._place(pixel), bits, self._predicted)

    def _place(self, pixel: int) -> int:
        row, column = divmod(pixel, self._shape[1])
        return (row + MARGIN) * self._stride + column + MARGIN


def _neighbours(stride: int, count: int) -> NDArray[np.intp]:
    """Return the offsets of the nearest earlier pixels in a canvas, nearest first."""
    around = range(-MARGIN, MARGIN + 1)
    earlier = [(y, x) for y in around for x in around if (y, x) < (0, 0)]
    earlier.sort(key=lambda at: (at[0] ** 2 + at[1] ** 2, at))
    return np.array([y * stride + x for y, x in earlier[:count]], dtype=np.intp)
