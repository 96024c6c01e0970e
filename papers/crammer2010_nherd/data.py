"""The tasks of section 5 that can be built: digits, newsgroups, reviews, Reuters.

A task has rows, labels and either a fixed test set (digits) or none (texts: ten folds). Grey
values are divided by 255; a text is a binary vector of its words, not normalised. Words that occur
in a single text of the task are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from herder import datasets

#: Seed of the splits, the label noise and the orders of the rows.
SEED = 2010

#: Training images of each digit of a pair, for USPS and MNIST; 400 of USPS remain for testing.
USPS_TRAIN, MNIST_TRAIN = 700, 1000

#: Training rows for one digit of MNIST against the rest, and rows of a text task.
ONE_VS_REST_TRAIN, TEXT_ROWS = 6000, 2000

#: Similar topics of Reuters, so that the tasks are not trivial.
REUTERS_PAIRS = (
    ("interest", "money-fx"),
    ("money-fx", "trade"),
    ("crude", "ship"),
    ("coffee", "sugar"),
)
REUTERS_TOPICS = ("acq", "crude", "earn", "interest", "money-fx", "money-supply", "ship", "trade")

#: Families of newsgroups: all pairs within are tasks, and each family is a multi-class task.
FAMILIES = ("comp", "rec", "sci", "talk")

DOMAINS = ("books", "dvd", "electronics", "kitchen")

#: Digits of the quick runs.
QUICK_DIGITS = (3, 5, 8, 9)


@dataclass(frozen=True)
class Task:
    """Rows and labels 0, 1, ...; ``X_test`` is None for cross-validation."""

    X: csr_matrix
    y: NDArray[np.int64]
    X_test: csr_matrix | None = None
    y_test: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Name:
    """Where a task comes from (its group) and which of that group it is."""

    group: str
    part: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.group, *self.part))


def names(quick: bool) -> list[Name]:
    """All tasks, the long ones first, so that two processes finish at about the same time."""
    digits = [str(digit) for digit in range(10)]
    if quick:
        return [Name("digits", (str(a), str(b))) for a, b in combinations(QUICK_DIGITS, 2)]
    groups = sorted(set(datasets.newsgroups20().y.tolist()))
    within = {f: [g for g in groups if g.startswith(f + ".")] for f in FAMILIES}
    many = [("newsgroups",), ("families",), *((family,) for family in FAMILIES)]
    many += [("domains",), ("ratings",), ("topics",)]
    return [
        *(Name("many texts", part) for part in many),
        *(Name("mnist rest", (digit,)) for digit in digits),
        *(Name("mnist", pair) for pair in combinations(digits, 2)),
        *(Name("texts", ("reviews", domain)) for domain in DOMAINS),
        *(Name("texts", pair) for f in FAMILIES for pair in combinations(within[f], 2)),
        *(Name("texts", pair) for pair in REUTERS_PAIRS),
        *(Name("usps", pair) for pair in combinations(digits, 2)),
    ]


def build(name: Name) -> Task:
    """Build a task, with the same rows in every call."""
    random = np.random.default_rng([SEED, *str(name).encode()])
    if name.group == "digits":
        return _bundled_pair(name.part, random)
    if name.group in ("usps", "mnist", "mnist rest"):
        return _digits(name, random)
    if name.group == "texts":
        rows, y = _two_kinds(name.part)
    else:
        rows, y = _many_kinds(name.part[0])
    kept = np.sort(random.permutation(len(y))[:TEXT_ROWS])
    return Task(_used(rows[kept]), y[kept])


def flip(y: NDArray[np.int64], noise: float, random: np.random.Generator) -> NDArray[np.int64]:
    """Replace each label, with probability ``noise``, by a random other class."""
    n_classes = int(y.max()) + 1
    shift = random.integers(1, n_classes, size=len(y))
    return np.where(random.random(len(y)) < noise, (y + shift) % n_classes, y)


def _digits(name: Name, random: np.random.Generator) -> Task:
    images, digit, train = _pixels(name.group.split()[0])
    mine = [int(part) for part in name.part]
    if name.group == "mnist rest":
        rows = random.permutation(np.flatnonzero(train))[:ONE_VS_REST_TRAIN]
        test = np.flatnonzero(~train)
    else:
        n_train = USPS_TRAIN if name.group == "usps" else MNIST_TRAIN
        parts = [random.permutation(np.flatnonzero(train & (digit == d))) for d in mine]
        rows = np.concatenate([part[:n_train] for part in parts])
        test = np.flatnonzero(~train & np.isin(digit, mine))
    is_first = (digit == mine[0]).astype(np.int64)
    X = csr_matrix(images[rows] / 255.0)
    return Task(X, is_first[rows], csr_matrix(images[test] / 255.0), is_first[test])


@cache
def _pixels(group: str) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
    """Images, digits, and the training mask. USPS: 700 of each digit, drawn once."""
    images = datasets.usps() if group == "usps" else datasets.mnist()
    digit = np.asarray(images.y, dtype=np.int64)
    train = np.arange(len(digit)) < 60_000
    if group == "usps":
        train[:] = False
        for d in range(10):
            random = np.random.default_rng([SEED, d])
            train[random.permutation(np.flatnonzero(digit == d))[:USPS_TRAIN]] = True
    return images.X, digit, train


def _bundled_pair(pair: tuple[str, ...], random: np.random.Generator) -> Task:
    digits = datasets.load_digits_binary()
    digit = np.asarray(digits.y)
    rows = random.permutation(np.flatnonzero(np.isin(digit, [int(part) for part in pair])))
    y = (digit[rows] == int(pair[0])).astype(np.int64)
    X, half = digits.X[rows].astype(np.float64), len(rows) // 2
    return Task(csr_matrix(X[:half]), y[:half], csr_matrix(X[half:]), y[half:])


def _two_kinds(part: tuple[str, ...]) -> tuple[csr_matrix, NDArray[np.int64]]:
    if part[0] == "reviews":
        words, fields = _reviews()
        rows = np.flatnonzero(fields["domain"] == part[1])
        return words[rows], fields["label"][rows]
    words, kind = _stories() if part in REUTERS_PAIRS else _news()
    rows = np.flatnonzero(np.isin(kind, part))
    return words[rows], (kind[rows] == part[0]).astype(np.int64)


def _many_kinds(part: str) -> tuple[csr_matrix, NDArray[np.int64]]:
    if part in ("domains", "ratings"):
        words, fields = _reviews()
        return words, _numbered(fields[part.removesuffix("s")])
    words, kind = _stories() if part == "topics" else _news()
    if part == "topics":
        rows = np.flatnonzero(np.isin(kind, REUTERS_TOPICS))
    elif part in FAMILIES:
        rows = np.flatnonzero(np.char.startswith(kind, part + "."))
    else:
        rows = np.arange(len(kind))
    label = np.char.partition(kind, ".")[:, 0] if part == "families" else kind
    return words[rows], _numbered(label[rows])


def _numbered(label: NDArray[Any]) -> NDArray[np.int64]:
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


@cache
def _news() -> tuple[csr_matrix, NDArray[np.str_]]:
    news = datasets.newsgroups20()
    return csr_matrix(news.X.astype(np.bool_), dtype=np.float64), news.y


@cache
def _stories() -> tuple[csr_matrix, NDArray[np.str_]]:
    stories = datasets.reuters21578()
    return _bag(stories.texts, longest=1), stories.fields["topic"]


@cache
def _reviews() -> tuple[csr_matrix, Mapping[str, NDArray[Any]]]:
    """Words and consecutive word pairs, as in the paper that published the reviews."""
    reviews = datasets.multidomain_sentiment()
    return _bag(reviews.texts, longest=2), reviews.fields


def _bag(texts: tuple[str, ...], *, longest: int) -> csr_matrix:
    from sklearn.feature_extraction.text import CountVectorizer

    count = CountVectorizer(
        binary=True, ngram_range=(1, longest), min_df=2, token_pattern=r"[a-z]+"
    )
    return csr_matrix(count.fit_transform(texts), dtype=np.float64)


def _used(rows: csr_matrix) -> csr_matrix:
    """Keep the columns that at least two rows have."""
    counts = np.bincount(rows.indices)
    return csr_matrix(rows[:, np.flatnonzero(counts > 1)])
