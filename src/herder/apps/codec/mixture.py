r"""Mixtures of Bernoullis as codes: the components' parameters are sent, then the images.

A pixel is coded under the posterior of the components given the pixels before it,

.. math:: P(x_j \mid x_{<j}) = \sum_k P(k \mid x_{<j}) \mu_{kj},

so that an image costs :math:`-\log_2 \sum_k \pi_k P(x \mid k)` bits, as with bits-back coding
(equation 3.27 of [chen2014]_), and no index is sent. Shares are counted on from image to image,
by both sides. Means are rounded to 8 levels; their bit planes are coded as images, by a chain of
their own.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from herder.apps.codec import _mixture_jit as _jit
from herder.apps.codec import fixed
from herder.apps.codec.chain import Chain
from herder.apps.codec.coder import Coder, broken, code_images
from herder.models.bernoulli import fit_bernoulli_mixture

__all__ = ["Mixture", "code_levels", "code_mixture", "code_numbers"]

#: Logits between the levels of a mean.
EDGES = (-4.0, -2.5, -1.2, 0.0, 1.2, 2.5, 4.0)

#: Bits of a level; of the number of components; of a share and of the probability of a level.
LEVEL_BITS, COUNT_BITS, SHARE_BITS = 3, 8, 15

#: Images for each component of a mixture alone: then one more pays for its parameters.
IMAGES_PER_COMPONENT = 40

#: Levels of all components, and pixels that a mixture is fitted to, at most.
MAX_LEVELS, MAX_FITTED = 2**22, 2**25

#: Shares are counted on while images are coded, in 2^-10; an image weighs as much as the average
#: share times this.
COUNT_SHIFT, IMAGE_WEIGHT = 10, 16

NONE = np.zeros(0, dtype=np.int32)


class Mixture:
    """Predicts pixel after pixel of blocks of images under components that stay as they are.

    Parameters
    ----------
    levels : ndarray of shape (n_components, n_pixels)
        Which of the probabilities a pixel has, given the component.
    probabilities : ndarray of shape (n_levels,)
        Of a 1, in 2^-15.
    shares : ndarray of shape (n_components,)
        Weights of the components, positive, at most 2^15.
    """

    def __init__(
        self,
        levels: NDArray[np.uint8],
        probabilities: NDArray[np.int64],
        shares: NDArray[np.int64],
    ) -> None:
        self._levels = np.ascontiguousarray(levels.T)
        self._probabilities = np.clip(probabilities, 1, 2**SHARE_BITS - 1)
        self._counts = np.maximum(shares, 1) << COUNT_SHIFT
        self._image = int(self._counts.sum()) * IMAGE_WEIGHT // len(shares)

    def begin(self, n_block: int) -> None:
        """Begin a block of images."""
        n_components = len(self._counts)
        shift = 46 - int(self._counts.max()).bit_length()
        prior = self._counts << max(shift, 0) >> max(-shift, 0)
        self._arrays = _jit.MixtureArrays(
            self._levels,
            self._probabilities,
            np.tile(prior, (n_block, 1)),
            np.tile(np.arange(n_components, dtype=np.int32), (n_block, 1)),
            np.full(n_block, n_components, dtype=np.intp),
            np.zeros(n_block, dtype=np.int64),
        )
        self._predicted = np.empty(n_block, dtype=np.int64)

    def predict(self, pixel: int, before: NDArray[np.int32] | None) -> NDArray[np.int64]:
        """Learn the pixels before, return the probabilities of a 1 at these, in 2^-22."""
        bits = NONE if before is None else before
        _jit.step(self._arrays, pixel, bits, self._predicted)
        return self._predicted

    def end(self, pixel: int, bits: NDArray[np.int32]) -> None:
        """Add the posterior of the images, as far as their last pixel but one, to the shares."""
        for weights, left, n in zip(*self._arrays[2:5], strict=True):
            parts = weights[:n] >> 16
            self._counts[left[:n]] += parts * (self._image >> 10) // (int(parts.sum()) >> 10)


def code_mixture(
    coder: Coder,
    shape: tuple[int, int, int],
    images: NDArray[np.uint8] | None,
    images_per_component: int = IMAGES_PER_COMPONENT,
) -> Mixture:
    """Fit a mixture to images (n, n_pixels) and write it, or read one; return it.

    ``shape`` is that of the set: number of images, height, width.
    """
    limit = max(1, MAX_LEVELS // (shape[1] * shape[2]))
    levels = probabilities = shares = count = None
    if images is not None:
        wanted = min(1 + len(images) // images_per_component, limit, 2**COUNT_BITS)
        levels, probabilities, shares = _fit(images, wanted)
        count = [len(levels) - 1]
    size = int(code_numbers(coder, 1, COUNT_BITS, count)[0]) + 1
    if size > limit:
        raise broken(f"it claims {size} components")
    return Mixture(
        code_levels(coder, size, shape[1:], LEVEL_BITS, levels),
        code_numbers(coder, 2**LEVEL_BITS, SHARE_BITS, probabilities),
        code_numbers(coder, size, SHARE_BITS, shares),
    )


def _fit(
    images: NDArray[np.uint8], size: int
) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.float64]]:
    """Return levels (n_components, n_pixels), their probabilities, and shares of components."""
    mixture = fit_bernoulli_mixture(images[:: 1 + images.size // MAX_FITTED], size)
    levels = np.searchsorted(EDGES, logit(mixture.means))
    weights = np.broadcast_to(mixture.shares[:, None], levels.shape).ravel()
    mass = np.bincount(levels.ravel(), weights, len(EDGES) + 1)
    ones = np.bincount(levels.ravel(), weights * mixture.means.ravel(), len(EDGES) + 1)
    probabilities = ones / np.maximum(mass, 1e-9) * 2**SHARE_BITS
    return levels.astype(np.uint8), probabilities, mixture.shares * (2**SHARE_BITS - 1)


def code_numbers(
    coder: Coder, n: int, n_bits: int, numbers: NDArray[np.generic] | list[int] | None
) -> NDArray[np.int64]:
    """Write, or read, n numbers of so many bits each."""
    bits, places = None, np.arange(n_bits)
    if numbers is not None:
        rounded = np.clip(np.rint(numbers), 0, 2**n_bits - 1).astype(np.int64)
        bits = (rounded[:, None] >> places & 1).ravel().astype(np.int32)
    coded = coder.code(np.full(n * n_bits, fixed.ONE // 2), bits)
    return (coded.reshape(n, n_bits).astype(np.int64) << places).sum(axis=1)


def code_levels(
    coder: Coder,
    n: int,
    shape: tuple[int, int],
    n_bits: int,
    levels: NDArray[np.uint8] | None,
) -> NDArray[np.uint8]:
    """Write, or read, n images of levels: bit planes of their Gray codes, one below the other."""
    height, width = shape
    size, places = height * width, np.arange(n_bits, dtype=np.uint8)[::-1]
    planes = None
    if levels is not None:
        gray = levels ^ (levels >> 1)
        planes = (gray[:, None, :] >> places[:, None] & 1).reshape(n, -1).astype(np.uint8)
    tall = (n_bits * height, width)
    planes = code_images(Chain(tall), coder, n, n_bits * size, planes)
    steps = np.bitwise_xor.accumulate(planes.reshape(n, n_bits, size), axis=1)
    return (steps << places[:, None]).sum(axis=1, dtype=np.uint8)
