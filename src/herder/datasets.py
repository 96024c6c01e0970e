"""Data sets: two that come with scikit-learn, and the papers' own from a folder of yours.

The papers' sets are .npz files in the folder that the environment variable ``HERDER_DATA``
names. Nothing is downloaded.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Dataset",
    "abalone",
    "duckpin",
    "load_breast_cancer_binary",
    "load_digits_binary",
    "load_spambase",
    "newsgroups",
    "usps",
]

#: Half of the grey scale 0..16 of scikit-learn's digits.
DIGITS_THRESHOLD = 8


@dataclass(frozen=True, slots=True)
class Dataset:
    """A table, the names of its columns, its labels if it has any, and what it is."""

    X: NDArray[Any]
    names: tuple[str, ...]
    y: NDArray[Any] | None
    description: str


def load_digits_binary() -> Dataset:
    """Scikit-learn's 1797 digits of 8 x 8 pixels, 1 where the ink is at least half.

    Examples
    --------
    >>> from herder.datasets import load_digits_binary
    >>> load_digits_binary().X.shape
    (1797, 64)
    """
    from sklearn.datasets import load_digits

    digits: Any = load_digits()
    pixels = (digits.data >= DIGITS_THRESHOLD).astype(np.uint8)
    text = "Digits, 8 x 8 pixels, 1 where the ink is at least half (scikit-learn); y: the digit."
    return Dataset(pixels, tuple(digits.feature_names), digits.target, text)


def load_breast_cancer_binary() -> Dataset:
    """Scikit-learn's breast cancer table, 1 where one of 30 measurements is above its mean.

    Examples
    --------
    >>> from herder.datasets import load_breast_cancer_binary
    >>> load_breast_cancer_binary().X.shape
    (569, 30)
    """
    from sklearn.datasets import load_breast_cancer

    cancer: Any = load_breast_cancer()
    above = (cancer.data > cancer.data.mean(axis=0)).astype(np.uint8)
    names = tuple(str(name).replace(" ", "_") for name in cancer.feature_names)
    text = "30 measurements of 569 tumours, 1 above the mean (scikit-learn); y: 1 is benign."
    return Dataset(above, names, cancer.target, text)


def abalone() -> Dataset:
    """UCI Abalone: 4177 rows of nine attributes; sex is coded M, F, I = 1, 2, 3."""
    arrays = _arrays("abalone.npz", "sex", "X", "rings", "feature_names")
    codes = {"M": 1.0, "F": 2.0, "I": 3.0}
    sex = np.array([codes[letter] for letter in arrays["sex"].tolist()])
    table = np.column_stack([sex, arrays["X"], arrays["rings"]])
    names = ("sex", *arrays["feature_names"].tolist(), "rings")
    return Dataset(table, names, None, "Abalone (UCI): sex (M, F, I = 1, 2, 3), sizes, rings.")


def usps() -> Dataset:
    """USPS digits in S. Roweis's version: 1100 grey images of 16 x 16 pixels of each digit."""
    arrays = _arrays("usps_11000.npz", "X", "y")
    pixels = arrays["X"].reshape(len(arrays["X"]), -1)
    names = tuple(f"pixel_{row}_{column}" for row in range(16) for column in range(16))
    return Dataset(pixels, names, arrays["y"], "USPS digits, grey 0 to 255; y: the digit.")


def newsgroups() -> Dataset:
    """Twenty newsgroups in S. Roweis's small version: which of 100 words each post has."""
    arrays = _arrays("newsgroups_w100.npz", "X", "y", "words", "groups")
    families = arrays["groups"][arrays["y"]]
    text = "Newsgroups, 100 words, 1 if in the post; y: the family of groups."
    return Dataset(arrays["X"], tuple(arrays["words"].tolist()), families, text)


def duckpin() -> Dataset:
    """Duckpin bowling: which of ten pins still stand after each of 3598 first balls."""
    arrays = _arrays("duckpin_rolls.npz", "standing")
    names = tuple(f"pin_{k}" for k in range(1, 11))
    text = "Duckpin rolls at a full rack, 1 if the pin still stands; pin 1 is the head pin."
    return Dataset(arrays["standing"], names, None, text)


def load_spambase() -> Dataset:
    """UCI Spambase: 57 frequencies and run lengths of 4601 messages; y: 1 is spam."""
    arrays = _arrays("spambase.npz", "X", "y", "feature_names")
    text = "Spambase (UCI): words, characters and capitals of 4601 messages; y: 1 is spam."
    return Dataset(arrays["X"], tuple(arrays["feature_names"].tolist()), arrays["y"], text)


def _arrays(file: str, *keys: str) -> dict[str, NDArray[Any]]:
    folder = os.environ.get("HERDER_DATA", "")
    if not Path(folder).is_dir() or not folder:
        found = f"{folder!r}, which is no folder" if folder else "nothing"
        raise FileNotFoundError(f"HERDER_DATA must name the folder that has {file}, got {found}")
    path = Path(folder, file)
    if not path.is_file():
        raise FileNotFoundError(
            f"HERDER_DATA must name the folder that has {file}, got {folder!r}"
        )
    with np.load(path, allow_pickle=False) as archive:
        missing = [key for key in keys if key not in archive]
        if missing:
            raise ValueError(f"{path} must hold the array {missing[0]}, got {list(archive)}")
        return {key: archive[key] for key in keys}
