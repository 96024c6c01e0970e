"""The paper's data sets, prepared as in section 6, and a bundled one for quick runs."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from herder import datasets

#: Seed of the random splits, of the rows drawn and of the scan orders.
SEED = 2009

#: The paper: "the dataset contains 30% 1's".
SHARE_OF_INK = 0.30

#: Columns of the quick runs: ten neighbouring pixels that depend on each other for P(k), and
#: every fourth pixel of 64 for table 2.
QUICK_NEIGHBOURS, QUICK_PIXELS = slice(20, 30), slice(2, None, 4)


@dataclass(frozen=True)
class Labelled:
    """A 0/1 table, a 0/1 label, and the numbers of training and test rows."""

    X: NDArray[np.uint8]
    y: NDArray[np.uint8]
    n_train: int
    n_test: int

    def splits(self, n_splits: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield random training and test rows; split k depends on SEED and k only."""
        for k in range(n_splits):
            rows = np.random.default_rng([SEED, k]).permutation(len(self.X))
            yield rows[: self.n_train], rows[self.n_train : self.n_train + self.n_test]


def abalone() -> NDArray[np.uint8]:
    """Nine attributes, 1 where not below the mean; the last one is the label (rings)."""
    table = datasets.abalone().X
    return (table >= table.mean(axis=0)).astype(np.uint8)


def digits() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """USPS digits 3 and 5 as 8 x 8 means of 2 x 2 pixels, binarised to 30 % ones; y: a 5."""
    usps = datasets.usps()
    digit = np.asarray(usps.y)
    rows = (digit == 3) | (digit == 5)
    grey = usps.X[rows].reshape(-1, 8, 2, 8, 2).mean(axis=(2, 4)).reshape(-1, 64)
    pixels = (grey > np.quantile(grey, 1 - SHARE_OF_INK)).astype(np.uint8)
    return pixels, (digit[rows] == 5).astype(np.uint8)


def news() -> NDArray[np.uint8]:
    """Presence of 100 words in 16,242 posts."""
    return datasets.newsgroups().X.astype(np.uint8)


def bowling() -> NDArray[np.uint8]:
    """Which of ten pins fell, in 3598 duckpin rolls (the paper's 298 games are unavailable)."""
    return (1 - datasets.duckpin().X).astype(np.uint8)


def bundled() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Digits 3 and 5 of scikit-learn, for quick runs; y: a 5."""
    digit_set = datasets.load_digits_binary()
    digit = np.asarray(digit_set.y)
    rows = (digit == 3) | (digit == 5)
    return digit_set.X[rows].astype(np.uint8), (digit[rows] == 5).astype(np.uint8)


def neighbours() -> NDArray[np.uint8]:
    """Ten pixels of the bundled digits, in place of the ten pins."""
    return bundled()[0][:, QUICK_NEIGHBOURS]


def labelled(name: str) -> Labelled:
    """Return one of the classification tasks of table 2, with the paper's sizes."""
    if name == "abalone":
        table = abalone()
        return Labelled(table[:, :8], table[:, 8], 2000, 2177)
    if name == "bowling":
        pins = bowling()
        return Labelled(np.delete(pins, 2, axis=1), pins[:, 2], 150, 148)
    if name == "digits":
        return Labelled(*digits(), 1600, 600)
    if name == "quick":
        pixels, label = bundled()
        return Labelled(pixels[:, QUICK_PIXELS], label, 250, 115)
    family = {"news": "sci.*", "news_comp": "comp.*"}[name]
    is_family = np.asarray(datasets.newsgroups().y) == family
    return Labelled(news(), is_family.astype(np.uint8), 10_000, 6242)


def independent(X: NDArray[np.uint8]) -> NDArray[np.float64]:
    """P(k) when all columns are independent with the means of X: exact, by convolution."""
    share = np.ones(1)
    for mean in X.mean(axis=0):
        share = np.convolve(share, [1 - mean, mean])
    return share
