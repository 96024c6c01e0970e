"""Data sets: two that come with scikit-learn, three that are drawn, the papers' own from a folder.

The papers' sets are files (.npz, or texts as .jsonl.gz) in a folder of yours, which the
environment variable ``HERDER_DATA`` names. Nothing is downloaded.
"""

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from herder._validation import generator, positive_int

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = [
    "Dataset",
    "GameDataset",
    "ImageDataset",
    "PositionDataset",
    "SparseDataset",
    "TextDataset",
    "abalone",
    "bsds",
    "duckpin",
    "go_games",
    "go_ownership",
    "grabcut",
    "load_breast_cancer_binary",
    "load_digits_binary",
    "load_spambase",
    "make_banana",
    "make_lithuanian",
    "make_spirals",
    "mnist",
    "multidomain_sentiment",
    "newsgroups",
    "newsgroups20",
    "pendigits",
    "reuters21578",
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


@dataclass(frozen=True, slots=True)
class SparseDataset:
    """A sparse table (CSR), the names of its columns, its labels, and what it is."""

    X: "csr_matrix"
    names: tuple[str, ...]
    y: NDArray[Any]
    description: str


@dataclass(frozen=True, slots=True)
class TextDataset:
    """Texts, what is known of each by the name of the field, and what they are."""

    texts: tuple[str, ...]
    fields: Mapping[str, NDArray[Any]]
    description: str


@dataclass(frozen=True, slots=True)
class ImageDataset:
    """Images in colour of any sizes, maps of their pixels by name, their names, what they are."""

    images: tuple[NDArray[np.uint8], ...]
    maps: Mapping[str, tuple[NDArray[np.uint8], ...]]
    names: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class GameDataset:
    """Moves of games, what is known of each game by the name of the field, and what they are."""

    moves: tuple[NDArray[np.uint16], ...]
    fields: Mapping[str, NDArray[Any]]
    description: str


@dataclass(frozen=True, slots=True)
class PositionDataset:
    """Positions of games by the number of moves, who owns their points in the end, fields."""

    boards: Mapping[int, NDArray[np.int8]]
    owners: NDArray[np.int8]
    fields: Mapping[str, NDArray[Any]]
    description: str


def load_digits_binary() -> Dataset:
    """Load scikit-learn's 1797 digits of 8 x 8 pixels, 1 where the ink is at least half.

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
    """Load scikit-learn's breast cancer table, 1 where a measurement is above its mean.

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


def make_banana(
    n_rows: int = 1000, *, random_state: int | np.random.Generator | None = 0
) -> Dataset:
    """Draw two classes in the plane, shaped as bananas that reach into each other.

    As ``gendatb`` of PRTools: points on two arcs of a circle of radius 5, with angles that are
    uniform over 5/8 of it, and Gaussian noise of standard deviation 1. The second arc is the
    first one turned by half a circle, and shifted by -3.75 in both directions.

    Parameters
    ----------
    n_rows : int, default 1000
        Rows; classes 0 and 1 take turns.
    random_state : int, Generator or None, default 0
        Draws the angles and the noise.

    Examples
    --------
    >>> from herder.datasets import make_banana
    >>> make_banana(100).X.shape
    (100, 2)
    """
    y, place, noise = _drawn(n_rows, random_state)
    angle = np.where(y == 0, np.pi / 8, -7 * np.pi / 8) + 5 / 4 * np.pi * place
    points = 5 * np.column_stack([np.sin(angle), np.cos(angle)]) - 3.75 * y[:, None]
    text = "Two banana-shaped classes in the plane, drawn; y: the class."
    return Dataset(points + noise, ("x_1", "x_2"), y, text)


def make_lithuanian(
    n_rows: int = 1000, *, random_state: int | np.random.Generator | None = 0
) -> Dataset:
    """Draw two classes in the plane, shaped as sausages that are bent around one centre.

    As ``gendatl`` of PRTools, after S. Raudys: points on arcs of 120 degrees about the origin,
    of radius 10 for class 0 and 6.2 for class 1, with uniform angles, and Gaussian noise of
    standard deviation 1.

    Parameters
    ----------
    n_rows : int, default 1000
        Rows; classes 0 and 1 take turns.
    random_state : int, Generator or None, default 0
        Draws the angles and the noise.

    Examples
    --------
    >>> from herder.datasets import make_lithuanian
    >>> make_lithuanian(100).X.shape
    (100, 2)
    """
    y, place, noise = _drawn(n_rows, random_state)
    angle = 2 / 3 * np.pi * (place - 0.5)
    radius = np.where(y == 0, 10.0, 6.2)
    points = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    text = "Two bent sausages in the plane, one inside the other, drawn; y: the class."
    return Dataset(points + noise, ("x_1", "x_2"), y, text)


def make_spirals(
    n_rows: int = 600, *, random_state: int | np.random.Generator | None = 0
) -> Dataset:
    """Draw two arms of a spiral in the plane, for estimates of densities.

    As in the second example of [welling2003]_: points on half a circle, with uniform angles and
    a radius of 10 plus standard normal noise. The second arm is the first one turned by half a
    circle, and shifted by 10 and 5, so that each ends near the centre of the other.

    Parameters
    ----------
    n_rows : int, default 600
        Rows; arms 0 and 1 take turns.
    random_state : int, Generator or None, default 0
        Draws the angles and the noise.

    Examples
    --------
    >>> from herder.datasets import make_spirals
    >>> make_spirals(100).X.shape
    (100, 2)
    """
    y, place, noise = _drawn(n_rows, random_state)
    angle = np.pi * place
    arcs = (10 + noise[:, :1]) * np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.where(y[:, None] == 0, arcs, np.array([10.0, 5.0]) - arcs)
    text = "Two arms of a spiral in the plane, drawn; y: the arm."
    return Dataset(points, ("x_1", "x_2"), y, text)


def _drawn(n_rows: int, random_state: Any) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
    """Return classes in turns, places along their arcs from 0 to 1, and noise in the plane."""
    n_rows, rng = positive_int(n_rows, "n_rows"), generator(random_state)
    return np.arange(n_rows) % 2, rng.random(n_rows), rng.standard_normal((n_rows, 2))


def abalone() -> Dataset:
    """Load UCI Abalone: 4177 rows of nine attributes; sex is coded M, F, I = 1, 2, 3."""
    arrays = _arrays("abalone.npz", "sex", "X", "rings", "feature_names")
    codes = {"M": 1.0, "F": 2.0, "I": 3.0}
    sex = np.array([codes[letter] for letter in arrays["sex"].tolist()])
    table = np.column_stack([sex, arrays["X"], arrays["rings"]])
    names = ("sex", *arrays["feature_names"].tolist(), "rings")
    return Dataset(table, names, None, "Abalone (UCI): sex (M, F, I = 1, 2, 3), sizes, rings.")


def usps() -> Dataset:
    """Load the USPS digits of S. Roweis: 1100 grey images of 16 x 16 pixels of each digit."""
    arrays = _arrays("usps_11000.npz", "X", "y")
    pixels = arrays["X"].reshape(len(arrays["X"]), -1)
    text = "USPS digits, grey 0 to 255; y: the digit."
    return Dataset(pixels, _pixel_names(16), arrays["y"], text)


def mnist() -> Dataset:
    """Load MNIST: 70,000 grey images of 28 x 28 pixels; rows from 60,000 on are the test set."""
    arrays = _arrays("mnist.npz", "X_train", "y_train", "X_test", "y_test")
    images = np.concatenate([arrays["X_train"], arrays["X_test"]])
    digit = np.concatenate([arrays["y_train"], arrays["y_test"]])
    names = _pixel_names(images.shape[1])
    text = "MNIST digits, grey 0 to 255, the training images first; y: the digit."
    return Dataset(images.reshape(len(images), -1), names, digit, text)


def pendigits() -> Dataset:
    """Load UCI Pendigits: eight points of each digit; rows from 7,494 on are the test set."""
    arrays = _arrays("pendigits.npz", "X_train", "y_train", "X_test", "y_test")
    points = np.concatenate([arrays["X_train"], arrays["X_test"]])
    digit = np.concatenate([arrays["y_train"], arrays["y_test"]])
    names = tuple(f"{axis}_{k}" for k in range(1, 9) for axis in "xy")
    text = "Pendigits (UCI): eight points of a pen, 0 to 100, 30 writers first; y: the digit."
    return Dataset(points, names, digit, text)


def _pixel_names(side: int) -> tuple[str, ...]:
    return tuple(f"pixel_{row}_{column}" for row in range(side) for column in range(side))


def newsgroups() -> Dataset:
    """Load the small twenty newsgroups of S. Roweis: which of 100 words each post has."""
    arrays = _arrays("newsgroups_w100.npz", "X", "y", "words", "groups")
    families = arrays["groups"][arrays["y"]]
    text = "Newsgroups, 100 words, 1 if in the post; y: the family of groups."
    return Dataset(arrays["X"], tuple(arrays["words"].tolist()), families, text)


def newsgroups20() -> SparseDataset:
    """Load twenty newsgroups by date: counts of 61,188 words in 18,846 posts, older ones first.

    The 11,314 posts of the training split come first. ``y`` is the name of the group. A few
    posts have no word of the vocabulary.
    """
    from scipy.sparse import csr_matrix, vstack

    splits = ("train", "test")
    keys = [f"{split}_{part}" for split in splits for part in ("indptr", "indices", "counts")]
    labels = [f"{split}_label" for split in splits]
    arrays = _arrays("newsgroups20_bow.npz", *keys, *labels, "vocabulary", "groups")
    words = arrays["vocabulary"].tolist()
    parts = []
    for split in splits:
        counts, indices, starts = (
            arrays[f"{split}_{part}"] for part in ("counts", "indices", "indptr")
        )
        shape = (len(starts) - 1, len(words))
        parts.append(csr_matrix((counts, indices.astype(np.int32), starts), shape=shape))
    groups = arrays["groups"][np.concatenate([arrays[name] for name in labels])]
    text = "Twenty newsgroups (bydate), counts of words, the training posts first; y: the group."
    return SparseDataset(csr_matrix(vstack(parts)), tuple(words), groups, text)


def multidomain_sentiment() -> TextDataset:
    """Load reviews of books, films, electronics and kitchenware ([blitzer2007]_), half are good.

    Fields: ``domain``, ``label`` (1 is good) and ``rating`` (1, 2, 4 or 5 stars). A text is the
    title of the review, a line break and the review.
    """
    rows = _lines("multidomain_sentiment.jsonl.gz", "domain", "label", "rating", "title", "text")
    fields = {
        "domain": np.array([row["domain"] for row in rows]),
        "label": np.array([row["label"] for row in rows], dtype=np.int64),
        "rating": np.array([row["rating"] for row in rows], dtype=np.int64),
    }
    return TextDataset(_titled(rows), fields, "Reviews of four kinds of goods (Amazon).")


def reuters21578() -> TextDataset:
    """Load Reuters-21578, the ModApte split: news of 1987 with their topics.

    Fields: ``topic``, the topic of stories that have just one and "" for the others, ``topics``,
    all of them joined by spaces, and ``train``, true for the training split. A text is the
    title, a line break and the story.
    """
    rows = _lines("reuters21578_modapte.jsonl.gz", "split", "topics", "title", "text")
    single = [row["topics"][0] if len(row["topics"]) == 1 else "" for row in rows]
    fields = {
        "topic": np.array(single, dtype=np.str_),
        "topics": np.array([" ".join(row["topics"]) for row in rows], dtype=np.str_),
        "train": np.array([row["split"] == "train" for row in rows], dtype=np.bool_),
    }
    return TextDataset(_titled(rows), fields, "Reuters-21578, ModApte split.")


def duckpin() -> Dataset:
    """Load duckpin bowling: which of ten pins still stand after each of 3598 first balls."""
    arrays = _arrays("duckpin_rolls.npz", "standing")
    names = tuple(f"pin_{k}" for k in range(1, 11))
    text = "Duckpin rolls at a full rack, 1 if the pin still stands; pin 1 is the head pin."
    return Dataset(arrays["standing"], names, None, text)


def grabcut() -> ImageDataset:
    """Load the 50 images of GrabCut at half size, with trimaps and true masks.

    Maps: ``lasso`` and ``rectangle``, trimaps of 0 and 64 (background), 128 (unknown) and 255
    (foreground), and ``truth``, 0, 255, and 128 for mixed pixels, which are not to be scored.
    """
    maps = {"lasso": "lasso", "rectangle": "rect", "truth": "truth"}
    arrays = _arrays("grabcut50_half.npz", "images", *maps.values(), "shape", "names")
    shapes = arrays["shape"]
    found = {name: _ragged(arrays[key], [(h, w) for h, w in shapes]) for name, key in maps.items()}
    images = _ragged(arrays["images"], [(h, w, 3) for h, w in shapes])
    text = "GrabCut (Microsoft Research Cambridge), half size."
    return ImageDataset(images, found, tuple(arrays["names"].tolist()), text)


def bsds() -> ImageDataset:
    """Load 50 test images of BSDS500 at half size, with the segments that people drew.

    Map: ``segments``, an array (annotators, height, width) of numbers of segments, from 1.
    """
    keys = ("images", "segs", "shape", "n_annotators", "names")
    arrays = _arrays("bsds500_test50_half.npz", *keys)
    shapes, numbers = arrays["shape"], arrays["n_annotators"]
    images = _ragged(arrays["images"], [(h, w, 3) for h, w in shapes])
    drawn = [(n, h, w) for n, (h, w) in zip(numbers, shapes, strict=True)]
    maps = {"segments": _ragged(arrays["segs"], drawn)}
    text = "BSDS500, every fourth test image, half size; segments of all annotators."
    return ImageDataset(images, maps, tuple(arrays["names"].tolist()), text)


def go_games() -> GameDataset:
    """Load 24,745 games of Go by professional players that were counted in the end.

    A move is 19 * row + column, rows from the top, or 361, a pass; Black begins and colours
    alternate. Fields: ``komi``, ``score`` (of Black, the komi deducted), ``date``, ``black``,
    ``white``.
    """
    fields = ("komi", "score", "date", "black", "white")
    arrays = _arrays("go_pro_games.npz", "moves", "offset", *fields)
    moves = tuple(np.split(arrays["moves"], arrays["offset"][1:-1]))
    text = "Games of Go on 19 x 19 points, from the collection of A. Brouwer (CWI)."
    return GameDataset(moves, {name: arrays[name] for name in fields}, text)


def go_ownership() -> PositionDataset:
    """Load positions after 20, 80 and 150 moves of 1000 games of Go, and who owns what in the end.

    1 is Black, -1 White, and 0 an empty point, or one that nobody owns. Fields: ``game``, its
    place in `go_games`, ``final``, the last position, and ``clean``, whether the score that GNU Go
    counts is within a point of the one that was recorded.
    """
    boards = {move: f"board{move}" for move in (20, 80, 150)}
    keys = ("ownership", "final", "game", "gnugo_score", "recorded_score")
    arrays = _arrays("go_ownership.npz", *boards.values(), *keys)
    clean = np.abs(arrays["gnugo_score"] - arrays["recorded_score"]) <= 1
    fields = {"game": arrays["game"], "final": arrays["final"], "clean": clean}
    text = "Positions of Go games of professionals, owners counted by GNU Go 3.8."
    found = {move: arrays[key] for move, key in boards.items()}
    return PositionDataset(found, arrays["ownership"], fields, text)


def _ragged(flat: NDArray[Any], shapes: Sequence[Any]) -> tuple[NDArray[Any], ...]:
    """Return arrays of several shapes, which lie one after the other."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    parts = np.split(flat, ends[:-1])
    return tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))


def load_spambase() -> Dataset:
    """Load UCI Spambase: 57 frequencies and run lengths of 4601 messages; y: 1 is spam."""
    arrays = _arrays("spambase.npz", "X", "y", "feature_names")
    text = "Spambase (UCI): words, characters and capitals of 4601 messages; y: 1 is spam."
    return Dataset(arrays["X"], tuple(arrays["feature_names"].tolist()), arrays["y"], text)


def _arrays(file: str, *keys: str) -> dict[str, NDArray[Any]]:
    path = _path(file)
    with np.load(path, allow_pickle=False) as archive:
        _require(keys, archive, f"{path} must hold the array")
        return {key: archive[key] for key in keys}


def _lines(file: str, *keys: str) -> list[dict[str, Any]]:
    path = _path(file)
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    for number, row in enumerate(rows, start=1):
        _require(keys, row, f"{path}, line {number} must hold the field")
    return rows


def _require(keys: tuple[str, ...], found: Mapping[str, Any], rule: str) -> None:
    missing = [key for key in keys if key not in found]
    if missing:
        raise ValueError(f"{rule} {missing[0]}, got {list(found)}")


def _titled(rows: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(f"{row['title']}\n{row['text']}" for row in rows)


def _path(file: str) -> Path:
    folder = os.environ.get("HERDER_DATA", "")
    path = Path(folder, file)
    if not folder or not path.is_file():
        found = repr(folder) if folder else "nothing"
        if not Path(folder).is_dir():
            found += ", which is no folder"
        raise FileNotFoundError(f"HERDER_DATA must name the folder that has {file}, got {found}")
    return path
