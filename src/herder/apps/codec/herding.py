r"""Codebooks of herding as codes: prototypes are sent, both sides herd the same codewords.

The codewords of `herder.fields.parametric` are computed in whole numbers from few prototypes. A
codeword predicts each pixel by the sign of its field there, with a probability that depends on
the size of the field: all sizes are cut into eight equal parts, and the probabilities of the 16
levels are sent. Codewords are equally likely at first, as in equation 3.28 of [chen2014]_; then
those that were used count more, as do the components of a mixture.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from herder._errors import ParameterError
from herder.apps.codec.coder import Coder, broken
from herder.apps.codec.mixture import (
    COUNT_BITS,
    MAX_LEVELS,
    SHARE_BITS,
    Mixture,
    code_levels,
    code_numbers,
)
from herder.core.blas import one_blas_thread
from herder.fields.parametric import SHARES, UNIT, ParametricHerder, codebook

__all__ = ["code_herding"]

#: Hidden sites of the herd, and prototypes: more pay for themselves in large sets only.
N_HIDDEN, IMAGES_PER_PROTOTYPE, MIN_PROTOTYPES = 100, 100, 20

#: Codewords for each image, and in all: more hardly help.
WORDS_PER_IMAGE, MAX_CODEWORDS = 10, 10_000

#: Pixels of an image at most: the herd has a weight for each pair of pixel and hidden site.
MAX_VISIBLE = 2**16

#: Images that the probabilities of levels are fitted to, and steps of EM.
N_FITTED, N_STEPS = 500, 8

#: Levels of a pixel of a codeword.
N_LEVELS = 16

Shape = tuple[int, int, int]


def code_herding(coder: Coder, shape: Shape, images: NDArray[np.uint8] | None) -> Mixture:
    """Learn prototypes from images (n, n_pixels) and write them, or read them; return the code.

    ``shape`` is that of the set: number of images, height, width.
    """
    n_pixels = shape[1] * shape[2]
    shares = sent = count = None
    if images is not None:
        if n_pixels > MAX_VISIBLE:
            rule = f"be another for images of more than {MAX_VISIBLE:,} pixels"
            raise ParameterError("model", rule, "herding")
        wanted = max(MIN_PROTOTYPES, len(images) // IMAGES_PER_PROTOTYPE)
        wanted = min(wanted, 2**COUNT_BITS, MAX_LEVELS // n_pixels)
        steps = min(1000, len(images))
        learner = ParametricHerder(
            wanted, n_hidden=N_HIDDEN, n_steps=steps, n_tuning_steps=steps
        ).fit(images)
        sent, shares = (learner.prototypes_ + UNIT).astype(np.uint8), learner.shares_
        count = [len(shares) - 1]
    size = int(code_numbers(coder, 1, COUNT_BITS, count)[0]) + 1
    if n_pixels > MAX_VISIBLE or size > MAX_LEVELS // n_pixels:
        raise broken(f"it claims {size} prototypes")
    shares = code_numbers(coder, size, 11, shares)
    prototypes = code_levels(coder, size, shape[1:], 3, sent).astype(np.int8) - np.int8(UNIT)
    if shares.sum() != SHARES or abs(prototypes).max() > UNIT:
        raise broken("its prototypes are out of range")
    n_words = min(WORDS_PER_IMAGE * shape[0], MAX_CODEWORDS, MAX_LEVELS // n_pixels)
    levels = _levels(*codebook(prototypes, shares, N_HIDDEN, n_words))
    fitted = None if images is None else _fit_probabilities(levels, images)
    probabilities = code_numbers(coder, N_LEVELS, SHARE_BITS, fitted)
    return Mixture(levels, probabilities, np.ones(len(levels), dtype=np.int64))


def _levels(states: NDArray[np.int8], fields: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the levels of pixels: the upper half for a state 1, the surest outside."""
    sizes, half = np.abs(fields), N_LEVELS // 2
    edges = np.sort(sizes, axis=None)[np.arange(1, half) * sizes.size // half]
    parts = np.searchsorted(edges, sizes).astype(np.uint8)
    return np.where(states > 0, half + parts, half - 1 - parts).astype(np.uint8)


def _fit_probabilities(
    levels: NDArray[np.uint8], images: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """Return the probabilities of a 1 at the levels, in 2^-15, by EM over some of the images."""
    some = images[:: 1 + len(images) // N_FITTED].astype(np.float32)
    p = expit(np.linspace(-4.0, 4.0, N_LEVELS)).astype(np.float32)
    for _ in range(N_STEPS):
        with one_blas_thread():
            scores = some @ np.log(p / (1 - p))[levels].T + np.log1p(-p)[levels].sum(axis=1)
        posterior = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
        image, word = np.nonzero(posterior > 1e-2)
        weight = np.repeat(posterior[image, word], levels.shape[1])
        at, on = levels[word].ravel(), some[image].ravel() > 0
        ones = np.bincount(at, weight * on, N_LEVELS) + 0.5
        p = (ones / (np.bincount(at, weight, N_LEVELS) + 1.0)).astype(np.float32)
    return p.astype(np.float64) * 2**SHARE_BITS
