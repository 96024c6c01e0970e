"""Compiled loops of mixtures. They trust their arguments: callers validate.

Weights of components are whole numbers below 2^32, probabilities given a component multiples of
2^-15: sums over 16,000 components stay below 2^62.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit


class MixtureArrays(NamedTuple):
    """Components, and their posterior for the images being coded."""

    levels: NDArray[np.uint8]  # (n_pixels, n_components)
    probabilities: NDArray[np.int64]  # (n_levels,) of a 1, in 2^-15
    weights: NDArray[np.int64]  # (n_block, n_components), of the components that are left
    left: NDArray[np.int32]  # (n_block, n_components), which these are
    n_left: NDArray[np.intp]  # (n_block,)


@jit
def predict(
    mixture: MixtureArrays,
    pixel: int,
    result: NDArray[np.int64],  # (n_block,) probabilities in 2^-22, filled in place
) -> None:
    """Predict one pixel of each image under the posterior of the components."""
    levels = mixture.levels[pixel]
    for b in range(result.shape[0]):
        ones, total = np.int64(0), np.int64(0)
        for k in range(mixture.n_left[b]):
            weight = mixture.weights[b, k]
            total += weight
            ones += weight * mixture.probabilities[levels[mixture.left[b, k]]]
        result[b] = min(max(ones // (total >> 7), 26), 4194278)


@jit
def update(mixture: MixtureArrays, pixel: int, bits: NDArray[np.int32]) -> None:
    """Multiply weights by the probabilities of the pixels; drop those without weight."""
    levels = mixture.levels[pixel]
    for b in range(bits.shape[0]):
        kept, largest = 0, np.int64(0)
        for k in range(mixture.n_left[b]):
            component = mixture.left[b, k]
            p = mixture.probabilities[levels[component]]
            weight = (mixture.weights[b, k] * (p if bits[b] else 32768 - p)) >> 15
            if weight > 1023:  # others are 2^-21 of the largest
                mixture.weights[b, kept] = weight
                mixture.left[b, kept] = component
                largest = max(largest, weight)
                kept += 1
        mixture.n_left[b] = kept
        shift = 0
        while largest << shift < 2147483648:
            shift += 1
        if shift:
            for k in range(kept):
                mixture.weights[b, k] <<= shift
