"""Logistic tables in fixed point, made by whole numbers only, so that all machines agree on them.

A probability is a whole multiple of 2^-22, a logit of 1/256.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["LOGIT_UNIT", "MAX_LOGIT", "ONE", "count_rates", "squash_table", "stretch_table"]

#: The probability 1. Finer than any logit needs, and exact in the 24 bits of constriction.
ONE = 2**22

LOGIT_UNIT = 256

#: Largest logit: a pixel that was foreseen costs 9e-6 bits.
MAX_LOGIT = 12 * LOGIT_UNIT

#: Bits of the whole numbers that tables are computed with.
_BITS = 128


@cache
def squash_table() -> NDArray[np.int32]:
    """Return ``1 / (1 + exp(-x / 256))`` for x from -MAX_LOGIT to MAX_LOGIT."""
    one = term = total = 1 << _BITS
    for k in range(1, 40):
        term //= k * LOGIT_UNIT
        total += term  # exp(1 / 256)
    power, rising = one, []
    for _ in range(MAX_LOGIT + 1):
        rising.append((ONE * power + (one + power) // 2) // (one + power))
        power = power * total >> _BITS
    falling = [ONE - p for p in rising[:0:-1]]
    return np.array(falling + rising, dtype=np.int32)


@cache
def stretch_table() -> NDArray[np.int32]:
    """Return the logit in the middle of each of 4,096 equal ranges of the probability."""
    middles = np.arange(4096) * (ONE // 4096) + ONE // 8192
    return (np.searchsorted(squash_table(), middles) - MAX_LOGIT).astype(np.int32)


@cache
def count_rates() -> NDArray[np.int64]:
    """Return how far, in 2^-16, an estimate from n observations moves to the next: 1/(n + 1.6)."""
    return np.array([655360 // (10 * n + 16) for n in range(1024)], dtype=np.int64)
