"""Compiled loops of the chain. They trust their arguments: callers validate.

All numbers are whole. Units: probabilities 2^-22, logits 2^-8, errors 2^-16, weights of earlier
pixels 2^-20, of the mixer 2^-24: fine enough that rounding does not add up to a drift.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit
from herder.apps.codec.fixed import count_rates, squash_table, stretch_table

#: Neighbours in the contexts that are counted.
ORDERS = (10, 16, 22)

#: Inputs of the mixer: earlier pixels, contexts, another model, and one that is always the same.
N_INPUTS = len(ORDERS) + 3

#: Learning rates: of the weights of earlier pixels (2^-20), of the mixer (2^-24).
LINK_RATE = 125829  # 0.12
MIX_RATE = 2**23  # 0.5

#: Largest size of an input of the mixer, and the input that is always the same.
MAX_INPUT = 2048  # a logit of 8
BIAS = 77  # 0.3

SQUASH, STRETCH, RATES = squash_table(), stretch_table(), count_rates()
LIMIT = SQUASH.shape[0] // 2


class ChainArrays(NamedTuple):
    """What a chain has learnt, and its view of the images being coded."""

    offsets: NDArray[np.intp]  # (n_neighbours,) in a canvas
    counts: NDArray[np.int32]  # (sum of 2^orders,): (p - 1/2) in 2^-22 << 10, number seen
    links: NDArray[np.int32]  # (n_rows, n_back + 1), the bias last
    mixer: NDArray[np.int64]  # (n_rows + 1, N_INPUTS), the row that all pixels share last
    norms: NDArray[np.int64]  # (2 n_rows + 1, 2): sums of squares of mixer, links, and roots
    canvas: NDArray[np.uint8]  # (n_block, padded image)
    signs: NDArray[np.int8]  # (n_block, n_pixels), -1 and +1
    inputs: NDArray[np.int64]  # (n_block, N_INPUTS + n_orders): of the mixer; places in counts


@jit
def predict(
    chain: ChainArrays,
    pixel: int,
    place: int,  # of the pixel in a canvas
    extra: NDArray[np.int64],  # (n_block,) probabilities of another model
    result: NDArray[np.int64],  # (n_block,) probabilities, filled in place
) -> None:
    """Predict one pixel of each image of a block."""
    back = min(pixel, chain.links.shape[1] - 1)
    shared = chain.links.shape[0]
    row = pixel % shared
    for b in range(result.shape[0]):
        inputs = chain.inputs[b]
        links, signs = chain.links[row], chain.signs[b, pixel - back :]
        total = np.int64(links[-1])
        for k in range(back):
            total += links[k] * signs[k]
        inputs[0] = total >> 12
        context, known, base = 0, 0, 0
        for q in range(len(ORDERS)):
            while known < ORDERS[q]:
                context |= np.int64(chain.canvas[b, place + chain.offsets[known]]) << known
                known += 1
            inputs[N_INPUTS + q] = base + context
            inputs[1 + q] = STRETCH[((chain.counts[base + context] >> 10) + 2097152) >> 10]
            base += 1 << known
        inputs[N_INPUTS - 2] = STRETCH[extra[b] >> 10]
        inputs[N_INPUTS - 1] = BIAS
        total = np.int64(0)
        for k in range(N_INPUTS):
            inputs[k] = min(max(inputs[k], -MAX_INPUT), MAX_INPUT)
            total += (chain.mixer[row, k] + chain.mixer[shared, k]) * inputs[k]
        result[b] = SQUASH[min(max(total >> 24, -LIMIT), LIMIT) + LIMIT]


@jit
def update(
    chain: ChainArrays,
    pixel: int,
    place: int,
    bits: NDArray[np.int32],  # (n_block,) what the pixels are
    predicted: NDArray[np.int64],  # (n_block,) what `predict` returned
) -> None:
    """Learn one pixel of each image of a block."""
    back = min(pixel, chain.links.shape[1] - 1)
    shared = chain.links.shape[0]
    row = pixel % shared
    for b in range(bits.shape[0]):
        bit, inputs = np.int64(bits[b]), chain.inputs[b]
        chain.canvas[b, place] = bit
        chain.signs[b, pixel] = 2 * bit - 1

        error = ((bit << 22) - predicted[b] + 32) >> 6
        size = np.int64(0)
        for k in range(N_INPUTS):
            size += inputs[k] * inputs[k]
        for at in (row, shared):
            root = grow(chain.norms[at], ((error * error >> 16) * size) >> 16)
            step = MIX_RATE * error // root
            for k in range(N_INPUTS):
                chain.mixer[at, k] += (step * inputs[k] + 128) >> 8

        own = int(SQUASH[inputs[0] + LIMIT])
        error = ((bit << 22) - own + 32) >> 6
        root = grow(chain.norms[shared + 1 + row], error * error >> 16)
        step = np.int32(LINK_RATE * error // root)
        links, signs = chain.links[row], chain.signs[b, pixel - back :]
        links[-1] += step
        for k in range(back):
            links[k] += step * signs[k]

        for q in range(len(ORDERS)):
            state = chain.counts[inputs[N_INPUTS + q]]
            p, seen = (state >> 10) + 2097152, state & 1023
            p += (((bit << 22) - p) * RATES[seen]) >> 16
            p = min(max(p, 400), 4193904)
            chain.counts[inputs[N_INPUTS + q]] = ((p - 2097152) << 10) | min(seen + 1, 1000)


@jit
def step(
    chain: ChainArrays,
    pixel: int,
    places: tuple[int, int],  # of the pixel before and of this one
    bits: NDArray[np.int32],  # (n_block,) what the pixels before are
    extra: NDArray[np.int64],
    result: NDArray[np.int64],  # (n_block,) what was predicted; filled with the new ones
) -> None:
    """Learn the pixels before, then predict these: one call, as calls cost more than the work."""
    update(chain, pixel - 1, places[0], bits, result)
    predict(chain, pixel, places[1], extra, result)


@jit
def grow(norm: NDArray[np.int64], square: np.int64) -> np.int64:
    """Add to a sum of squares in 2^-16; return its root in 2^-16, after a step of Newton."""
    norm[0] += square
    norm[1] = max((norm[1] + (norm[0] << 16) // norm[1]) >> 1, 1)
    return norm[1]
