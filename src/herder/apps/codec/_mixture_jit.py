"""Compiled loops of mixtures. They trust their arguments: callers validate.

Weights of components are whole numbers below 2^46, probabilities given a component multiples of
2^-15: products and sums over 10,000 components stay below 2^63. A component that has fallen so far
behind that its weight is 0 is left out.
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
    shift: NDArray[np.int64]  # (n_block,) bits by which weights are to be raised


@jit
def step(
    mixture: MixtureArrays,
    pixel: int,
    bits: NDArray[np.int32],  # (n_block,) what the pixels before are; none for the first
    result: NDArray[np.int64],  # (n_block,) probabilities in 2^-22, filled in place
) -> None:
    """Multiply weights by the probabilities of the pixels before; predict these."""
    levels, before = mixture.levels[pixel], mixture.levels[max(pixel - 1, 0)]
    for b in range(result.shape[0]):
        ones, total, largest = np.int64(0), np.int64(0), np.int64(0)
        weights, left, shift, kept = mixture.weights[b], mixture.left[b], mixture.shift[b], 0
        for k in range(mixture.n_left[b]):
            component, weight = left[k], weights[k] << shift
            if bits.shape[0]:
                p = mixture.probabilities[before[component]]
                weight = (weight * (p if bits[b] else 32768 - p)) >> 15
            if weight > 0:
                weights[kept], left[kept] = weight, component
                kept += 1
                largest = max(largest, weight)
                total += weight >> 16
                ones += (weight >> 16) * mixture.probabilities[levels[component]]
        mixture.n_left[b], mixture.shift[b] = kept, 0
        while largest << (mixture.shift[b] + 1) < 70368744177664:
            mixture.shift[b] += 1
        result[b] = min(max(ones // (total >> 7), 26), 4194278)
