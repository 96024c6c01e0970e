"""Section 3.3: the images, and code lengths of images given a codebook.

Lengths are in bits per image. A codebook of T words codes an image by the index of a word and the
pixels that differ, which have one probability p0 (equation 3.28); bits-back coding refunds what
the choice of the word tells. All of it depends on the words only by how many of them are at each
Hamming distance from the image.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, ndtr

from herder import datasets
from papers.chen2013_thesis import data

Floats = NDArray[np.float64]
Bits = NDArray[np.uint8]

#: Images of each digit that train and test, and those of a quick run.
N_TRAIN, N_TEST = 700, 400
N_QUICK_TRAIN, N_QUICK_TEST = 60, 40

#: Words that are compared with the images at a time.
CHUNK = 2000


@dataclass(frozen=True, eq=False)
class Images:
    """Binary images, a row each, and the side of their square."""

    name: str
    train: Bits
    test: Bits
    side: int

    @property
    def benchmark(self) -> float:
        """Bits per image when all pixels are independent with one probability."""
        return self.train.shape[1] * entropy([self.train.mean(), 1 - self.train.mean()])


@dataclass(frozen=True)
class Length:
    """Bits per image: of the parameters, of indices or latent states, and of errors."""

    parameters: float
    index: float
    errors: float

    @property
    def code(self) -> float:
        """Without the parameters."""
        return self.index + self.errors

    @property
    def total(self) -> float:
        """With the parameters."""
        return self.parameters + self.code

    def __str__(self) -> str:
        parts = (self.parameters, self.index, self.errors)
        return "Parameters {:.1f}, indices {:.1f}, errors {:.1f}.".format(*parts)


@cache
def images(name: str, quick: bool) -> Images:
    """USPS digits above 50, or bundled digits: "8" alone or "all", split at random."""
    table = datasets.load_digits_binary() if quick else datasets.usps()
    pixels = table.X if quick else table.X > 50
    digit = np.asarray(table.y)
    chosen = (8,) if name == "8" else range(10)
    n_train, n_test = (N_QUICK_TRAIN, N_QUICK_TEST) if quick else (N_TRAIN, N_TEST)
    random = np.random.default_rng([data.SEED, 33])
    # All digits are split, so that those of "8" are among the same part of "all".
    orders = [random.permutation(np.flatnonzero(digit == k)) for k in range(10)]
    first, second = (
        np.concatenate([orders[k][part] for k in chosen])
        for part in (slice(n_train), slice(n_train, n_train + n_test))
    )
    train, test = pixels[first].astype(np.uint8), pixels[second].astype(np.uint8)
    return Images(name, train, test, round(train.shape[1] ** 0.5))


def distance_counts(rows: Bits, words: NDArray[np.int8], ends: Sequence[int]) -> NDArray[np.int64]:
    """Count, for each of ``ends``, the first words at each Hamming distance from each row."""
    width = rows.shape[1]
    signs = 2 * rows.astype(np.float32) - 1
    found = np.zeros((len(ends), len(rows), width + 1), np.int64)
    shift = (width + 1) * np.arange(len(rows))
    counts, start = np.zeros(len(rows) * (width + 1), np.int64), 0
    for k, end in enumerate(ends):
        for first in range(start, end, CHUNK):
            part = words[first : min(first + CHUNK, end)]
            products = (2 * part.astype(np.float32) - 1) @ signs.T
            apart = ((width - products) / 2).astype(np.intp)
            counts += np.bincount((apart + shift).ravel(), minlength=len(counts))
        start = end
        found[k] = counts.reshape(len(rows), -1)
    return found


def word_length(counts: NDArray[np.int64], p0: float) -> tuple[float, float]:
    """Bits of index and errors, mean over rows, of equation 3.28."""
    apart = np.arange(counts.shape[1])
    costs = -apart * np.log(p0) - apart[::-1] * np.log1p(-p0)
    total = counts[0].sum()
    with np.errstate(divide="ignore"):
        logs = np.log(counts / total) - costs
    code = -np.asarray(logsumexp(logs, axis=1))
    errors = np.exp(logs + code[:, None]) @ costs  # under the posterior of the words
    return float((code - errors).mean() / np.log(2)), float(errors.mean() / np.log(2))


def best_p0(counts: NDArray[np.int64]) -> float:
    """Return the p0 of the shortest mean code."""
    found = minimize_scalar(
        lambda p: sum(word_length(counts, p)), bounds=(1e-3, 0.45), options={"xatol": 1e-4}
    )
    return float(found.x)


def curves(
    given: Images, words: NDArray[np.int8], ends: Sequence[int]
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Index and error bits of training and test images after each of ``ends`` words.

    The p0 is that of the shortest code of 700 training images, evenly over the digits.
    """
    train, test = (distance_counts(rows, words, ends) for rows in (given.train, given.test))
    every = max(1, len(given.train) // N_TRAIN)
    chosen = [best_p0(counts[::every]) for counts in train]
    return (
        [word_length(*each) for each in zip(train, chosen, strict=True)],
        [word_length(*each) for each in zip(test, chosen, strict=True)],
    )


def entropy(shares: Sequence[float] | Floats) -> float:
    """Bits of a draw from a distribution."""
    given = np.asarray(shares, np.float64)
    given = given[given > 0]
    return float(-given @ np.log2(given))


def entropy_bits(values: NDArray[np.integer]) -> float:
    """Bits of whole numbers, coded by how often each of them occurs."""
    counts = np.unique(values, return_counts=True)[1]
    return values.size * entropy(counts / values.size)


def normal_bits(values: Floats, step: float) -> float:
    """Bits of multiples of ``step`` under a normal distribution with their mean and spread."""
    spread = max(float(values.std()), step / 4)
    low, high = (((values - values.mean()) + end * step / 2) / spread for end in (-1, 1))
    # On the side of the mean where the difference keeps its digits.
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    return float(-np.log2(np.maximum(ndtr(high) - ndtr(low), 1e-300)).sum())
