"""Images of two digits and the two spirals; digits of scikit-learn for quick runs."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from herder import datasets

#: Seed of the splits, of the spirals and of the fields.
SEED = 2002

#: Pixels above this grey value, of 0 to 255, are 1.
INK = 50

#: Training and test images of each digit, as in the paper; and of a quick run.
SIZES, QUICK_SIZES = (600, 500), (100, 75)

#: Rows of the spirals that are learnt, and fresh ones; and of a quick run.
N_ROWS, N_FRESH, N_QUICK = 600, 2000, 200


@dataclass(frozen=True)
class Split:
    """Training and test images, and whether they are a 3."""

    X: NDArray[np.uint8]
    y: NDArray[np.intp]
    X_test: NDArray[np.uint8]
    y_test: NDArray[np.intp]


def splits(n_splits: int, *, quick: bool) -> Iterator[Split]:
    """Yield random splits of the twos and threes; split k depends on SEED and k only."""
    if quick:
        small = datasets.load_digits_binary()
        pixels, digit = small.X.astype(np.uint8), np.asarray(small.y)
    else:
        usps = datasets.usps()
        pixels, digit = (usps.X > INK).astype(np.uint8), np.asarray(usps.y)
    n_train, n_test = QUICK_SIZES if quick else SIZES
    labels = np.repeat([0, 1], n_train), np.repeat([0, 1], n_test)
    for k in range(n_splits):
        rng = np.random.default_rng([SEED, k])
        parts = [rng.permutation(pixels[digit == each]) for each in (2, 3)]
        learnt = np.concatenate([part[:n_train] for part in parts])
        tested = np.concatenate([part[n_train : n_train + n_test] for part in parts])
        yield Split(learnt, labels[0], tested, labels[1])


def spirals(*, quick: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rows of the spirals to learn, and fresh ones."""
    n_rows = N_QUICK if quick else N_ROWS
    learnt, fresh = (np.random.default_rng([SEED, k]) for k in (0, 1))
    return (
        datasets.make_spirals(n_rows, random_state=learnt).X,
        datasets.make_spirals(N_FRESH, random_state=fresh).X,
    )
