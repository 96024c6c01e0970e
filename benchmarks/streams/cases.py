r"""Streams of the online benchmark: made text, made or real images, and rows as dicts.

A word has rank r with probability proportional to :math:`1 / (r + 2.7)`, the law of Zipf in
Mandelbrot's form. Each of two classes of text tilts the law by :math:`\exp(\pm t_r)`, so that no
learner can be right about every row. Columns are in random order, as in any vocabulary.
"""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from herder import datasets

__all__ = [
    "Stream",
    "dict_rows",
    "draw_dense",
    "draw_images",
    "draw_text",
    "in_two",
    "load_mnist",
    "mislabelled",
]

#: Mandelbrot's shift of the ranks, fitted to English by many.
SHIFT = 2.7


@dataclass(frozen=True)
class Stream:
    """Rows to learn in order, and rows held out; labels are small integers."""

    name: str
    X: Any
    y: NDArray[np.intp]
    X_test: Any
    y_test: NDArray[np.intp]

    @property
    def classes(self) -> NDArray[np.intp]:
        return np.unique(self.y)

    def single(self) -> "Stream":
        """Give the same stream in single precision."""
        return Stream(
            self.name,
            self.X.astype(np.float32),
            self.y,
            self.X_test.astype(np.float32),
            self.y_test,
        )


def draw_text(
    n_rows: int, n_words: int, *, tokens: int, tilt: float = 0.15, seed: int = 0
) -> Stream:
    """Draw texts of two classes as 1 + log(count) of each word, and a fifth more to be held out.

    Rows have length 1.
    """
    rng = np.random.default_rng(seed)
    total = n_rows + n_rows // 5
    labels = rng.integers(2, size=total)
    law = 1 / (np.arange(n_words) + SHIFT)
    tilts = tilt * rng.normal(size=n_words)
    words = np.empty((total, tokens), dtype=np.int32)
    for label, sign in enumerate((-1, 1)):
        share = np.cumsum(law * np.exp(sign * tilts))
        mine = labels == label
        draws = rng.random((int(mine.sum()), tokens)) * share[-1]
        words[mine] = np.searchsorted(share, draws)
    columns = rng.permutation(n_words).astype(np.int32)[words]
    ends = np.arange(total + 1, dtype=np.int32) * tokens
    X = sparse.csr_matrix((np.ones(columns.size), columns.ravel(), ends), (total, n_words))
    X.sum_duplicates()
    X.data = 1 + np.log(X.data)
    lengths = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    return Stream(
        f"text, {n_words:,} words", X[:n_rows], labels[:n_rows], X[n_rows:], labels[n_rows:]
    )


def draw_images(n_rows: int = 10_000, *, seed: int = 0) -> Stream:
    """Put scikit-learn's digits, three times their size, at random places of 28 x 28 pixels.

    A fifth of the digits is held out, and the images made from them.
    """
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(seed)
    digits, labels = load_digits(return_X_y=True)
    large = np.kron(digits.reshape(-1, 8, 8) / 16, np.ones((3, 3)))
    order = rng.permutation(len(large))
    cut = len(order) // 5
    parts = []
    for chosen, total in ((order[cut:], n_rows), (order[:cut], n_rows // 5)):
        picks = rng.choice(chosen, size=total)
        frames = np.zeros((total, 28, 28))
        places = rng.integers(5, size=(total, 2))
        for frame, pick, (top, left) in zip(frames, picks, places, strict=True):
            frame[top : top + 24, left : left + 24] = large[pick]
        parts += [frames.reshape(total, -1), labels[picks].astype(np.intp)]
    return Stream("shifted digits", *parts)


def load_mnist(n_rows: int = 10_000) -> Stream | None:
    """Read MNIST from the folder that HERDER_DATA names, or give None without one."""
    if "HERDER_DATA" not in os.environ:
        return None
    found = datasets.mnist()
    X, y = found.X / 255, np.asarray(found.y, dtype=np.intp)
    return Stream("MNIST", X[:n_rows], y[:n_rows], X[60_000:], y[60_000:])


def draw_dense(width: int, n_rows: int = 2000, *, seed: int = 0) -> Stream:
    """Draw rows about two points, two deviations apart, and as many to be held out."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=2 * n_rows)
    away = rng.normal(size=width)
    X = rng.normal(size=(2 * n_rows, width)) + np.outer(
        2 * labels - 1, away / np.linalg.norm(away)
    )
    name = f"{width} dense features"
    return Stream(name, X[:n_rows], labels[:n_rows], X[n_rows:], labels[n_rows:])


def mislabelled(stream: Stream, share: float, *, seed: int = 0) -> Stream:
    """Flip a share of the labels to learn, of two classes; those held out stay true."""
    flipped = np.random.default_rng(seed).random(len(stream.y)) < share
    y = np.where(flipped, 1 - stream.y, stream.y)
    name = f"{stream.name}, {share:.0%} wrong"
    return Stream(name, stream.X, y, stream.X_test, stream.y_test)


def in_two(stream: Stream) -> Stream:
    """Join classes 0-4 and 5-9."""
    y, y_test = (np.asarray(part >= 5, dtype=np.intp) for part in (stream.y, stream.y_test))
    return Stream(f"{stream.name}, two classes", stream.X, y, stream.X_test, y_test)


def dict_rows(stream: Stream, n_rows: int) -> tuple[list[dict[str, float]], list[bool]]:
    """Give the first rows as river has them: dicts of names to numbers, labels true or false."""
    X = sparse.csr_matrix(stream.X[:n_rows])
    rows = []
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        names = [f"w{j}" for j in X.indices[start:stop]]
        rows.append(dict(zip(names, X.data[start:stop].tolist(), strict=True)))
    return rows, [bool(label) for label in stream.y[:n_rows]]
