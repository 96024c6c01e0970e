"""Compiled loops of the chain. They trust their arguments: callers validate.

All numbers are whole. Units: probabilities 2^-22, logits 2^-8, errors 2^-16, weights of earlier
pixels 2^-20, of the mixer 2^-24: fine enough that rounding does not add up to a drift.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit

#: Learning rates: of the weights of earlier pixels (2^-20), of the mixer (2^-24).
LINK_RATE = 125829  # 0.12
MIX_RATE = 2**23  # 0.5

#: Largest size of an input of the mixer.
MAX_INPUT = 2048  # a logit of 8

#: The input that is always the same.
BIAS = 77  # 0.3


class ChainArrays(NamedTuple):
    """What a chain has learnt, and its view of the images being coded."""

    squash: NDArray[np.int32]  # tables, see fixed.py
    stretch: NDArray[np.int32]
    rates: NDArray[np.int64]
    offsets: NDArray[np.intp]  # (n_neighbours,) in a canvas
    orders: NDArray[np.intp]  # (n_orders,) neighbours in a context, ascending
    counts: NDArray[np.int32]  # (sum of 2^orders,): (p - 1/2) in 2^-22 << 10, number seen
    links: NDArray[np.int32]  # (n_rows, n_back + 1), the bias last
    link_norms: NDArray[np.int64]  # (n_rows, 2): sum of squared errors, its root
    mixer: NDArray[np.int64]  # (n_rows + 1, n_inputs), the row all pixels share last
    mixer_norms: NDArray[np.int64]  # (n_rows + 1, 2)
    canvas: NDArray[np.uint8]  # (n_block, padded image)
    signs: NDArray[np.int8]  # (n_block, n_pixels), -1 and +1
    inputs: NDArray[np.int64]  # (n_block, n_inputs)
    slots: NDArray[np.intp]  # (n_block, n_orders) in counts


@jit
def predict(
    chain: ChainArrays,
    pixel: int,
    place: int,  # of the pixel in a canvas
    extra: NDArray[np.int64],  # (n_block,) probabilities of another model
    result: NDArray[np.int64],  # (n_block,) probabilities, filled in place
) -> None:
    """Predict one pixel of each image of a block."""
    n_orders, limit = chain.orders.shape[0], chain.squash.shape[0] // 2
    back = min(pixel, chain.links.shape[1] - 1)
    shared = chain.links.shape[0]
    row = pixel % shared
    for b in range(result.shape[0]):
        inputs = chain.inputs[b]
        links, signs = chain.links[row], chain.signs[b, pixel - back :]
        total = links[-1] + 0
        for k in range(back):
            total += links[k] * signs[k]
        inputs[0] = total >> 12
        context, known, base = 0, 0, 0
        for q in range(n_orders):
            while known < chain.orders[q]:
                context |= chain.canvas[b, place + chain.offsets[known]] << known
                known += 1
            slot = base + context
            base += 1 << known
            chain.slots[b, q] = slot
            inputs[1 + q] = chain.stretch[((chain.counts[slot] >> 10) + 2097152) >> 10]
        inputs[1 + n_orders] = chain.stretch[extra[b] >> 10]
        inputs[2 + n_orders] = BIAS
        total = 0
        for k in range(inputs.shape[0]):
            inputs[k] = min(max(inputs[k], -MAX_INPUT), MAX_INPUT)
            total += (chain.mixer[row, k] + chain.mixer[shared, k]) * inputs[k]
        result[b] = chain.squash[min(max(total >> 24, -limit), limit) + limit]


@jit
def update(
    chain: ChainArrays,
    pixel: int,
    place: int,
    bits: NDArray[np.int32],  # (n_block,) what the pixels are
    predicted: NDArray[np.int64],  # (n_block,) what `predict` returned
) -> None:
    """Learn one pixel of each image of a block."""
    limit = chain.squash.shape[0] // 2
    back = min(pixel, chain.links.shape[1] - 1)
    shared = chain.links.shape[0]
    row = pixel % shared
    for b in range(bits.shape[0]):
        bit, inputs = np.int64(bits[b]), chain.inputs[b]
        chain.canvas[b, place] = bit
        chain.signs[b, pixel] = 2 * bit - 1

        error = ((bit << 22) - predicted[b] + 32) >> 6
        size = np.int64(0)
        for k in range(inputs.shape[0]):
            size += inputs[k] * inputs[k]
        for at in (row, shared):
            root = grow(chain.mixer_norms[at], ((error * error >> 16) * size) >> 16)
            step = MIX_RATE * error // root
            for k in range(inputs.shape[0]):
                chain.mixer[at, k] += (step * inputs[k] + 128) >> 8

        own = chain.squash[min(max(inputs[0], -limit), limit) + limit]
        error = ((bit << 22) - own + 32) >> 6
        root = grow(chain.link_norms[row], error * error >> 16)
        step = np.int32(LINK_RATE * error // root)
        links, signs = chain.links[row], chain.signs[b, pixel - back :]
        links[-1] += step
        for k in range(back):
            links[k] += step * signs[k]

        for q in range(chain.orders.shape[0]):
            state = chain.counts[chain.slots[b, q]]
            p, seen = (state >> 10) + 2097152, state & 1023
            p += (((bit << 22) - p) * chain.rates[seen]) >> 16
            p = min(max(p, 400), 4193904)
            chain.counts[chain.slots[b, q]] = ((p - 2097152) << 10) | min(seen + 1, 1000)


@jit
def grow(norm: NDArray[np.int64], square: int) -> int:
    """Add to a sum of squares in 2^-16; return its root in 2^-16, after a step of Newton."""
    norm[0] += square
    norm[1] = max((norm[1] + (norm[0] << 16) // norm[1]) >> 1, 1)
    return norm[1]
