"""Data sets and classifiers of section 3.4.3; scikit-learn's digits for quick runs."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.multiclass import OneVsRestClassifier

from herder import ConditionalHerder, DiscriminativeRBM, datasets
from papers.chen2013_thesis.data import SEED
from papers.claims import Row

#: The data sets of table 3.1 in its order.
NAMES = ("mnist", "usps", "pendigits", "news")

#: Words of the newsgroups by frequency in the training posts: these are features.
FIRST_WORD, LAST_WORD = 100, 5000

#: Share of the training rows that choose a setting.
VALIDATION = 0.2

Cell = tuple[str, str, str, int]

#: Settings of each method that the validation rows choose from. The thesis chose the ratio of the
#: initial weights to the rates for conditional herding, the passes of the voted perceptron, and
#: the penalty of the discriminative RBM.
GRIDS: dict[str, list[dict[str, Any]]] = {
    "vp": [{"max_iter": n} for n in (1, 3, 10, 30, 100)],
    "ch": [{"batch_size": size, "max_iter": n} for size in (5, 10, 20) for n in (20, 50)],
    "drbm": [{"l2": l2} for l2 in (1e-5, 1e-4, 1e-3)],
}

#: A discriminative RBM learns until the loss of its own validation rows increases.
STOPPING: dict[str, Any] = {"max_iter": 10, "n_iter_no_change": 1}

#: Hidden units of the models that choose a setting, and most training rows they see.
CHOICE_HIDDEN, CHOICE_ROWS = 100, 20_000


@dataclass(frozen=True)
class Split:
    """Rows to learn from, and rows to be judged by."""

    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]


@cache
def splits(name: str) -> list[Split]:
    """Return the folds of a data set, or its one split."""
    if name == "news":
        posts, n_train = datasets.newsgroups20(), 11_314
        counts = np.asarray(posts.X[:n_train].sum(axis=0)).ravel().astype(np.int64)
        words = np.sort(np.argsort(-counts, kind="stable")[FIRST_WORD:LAST_WORD])
        rows: Any = (posts.X[:, words] > 0).astype(np.float32).tocsr()
        return [Split(rows[:n_train], posts.y[:n_train], rows[n_train:], posts.y[n_train:])]
    if name in ("usps", "digits"):
        table = datasets.usps() if name == "usps" else datasets.load_digits_binary()
        rows, n_folds = table.X.astype(np.float32), 10 if name == "usps" else 3
        labels = np.asarray(table.y)
        folds = np.array_split(np.random.default_rng(SEED).permutation(len(rows)), n_folds)
        return [
            Split(np.delete(rows, fold, 0), np.delete(labels, fold), rows[fold], labels[fold])
            for fold in folds
        ]
    table, n_train = (
        (datasets.mnist(), 60_000) if name == "mnist" else (datasets.pendigits(), 7494)
    )
    rows, labels = table.X.astype(np.float32), np.asarray(table.y)
    return [Split(rows[:n_train], labels[:n_train], rows[n_train:], labels[n_train:])]


def validation(split: Split) -> Split:
    """Return some of the training rows, and others to choose a setting by."""
    order = np.random.default_rng([SEED, 1]).permutation(len(split.y))
    n_held = int(VALIDATION * len(order))
    held, kept = order[:n_held], order[n_held : n_held + CHOICE_ROWS]
    return Split(split.X[kept], split.y[kept], split.X[held], split.y[held])


def classifier(method: str, procedure: str, n_hidden: int, **setting: Any) -> Any:
    """Return a classifier of table 3.1."""
    if method == "drbm":
        machine = DiscriminativeRBM(n_hidden, random_state=SEED, **STOPPING | setting)
        return machine if procedure == "joint" else OneVsRestClassifier(machine, n_jobs=-1)
    if method == "vp":
        setting |= {"batch_size": 100, "burn_in": 0.0}
    return ConditionalHerder(n_hidden, multi_class=procedure, random_state=SEED, **setting)


def error(model: Any, split: Split) -> float:
    """Return the share of the test rows that a classifier gets wrong, in per cent."""
    return 100 * float(np.mean(model.fit(split.X, split.y).predict(split.X_test) != split.y_test))


@cache
def choose(name: str, method: str) -> dict[str, Any]:
    """Return the setting with the lowest error on validation rows of the first split."""
    part = validation(splits(name)[0])
    n_hidden = 0 if method == "vp" else CHOICE_HIDDEN
    errors = [error(classifier(method, "joint", n_hidden, **s), part) for s in GRIDS[method]]
    return GRIDS[method][int(np.argmin(errors))]


def fill(cell: Cell, quick: bool, **fixed: Any) -> Row:
    """Return the error of a cell of the table: data set, procedure, method, hidden units.

    With several folds it is their mean, with their standard deviation. Fixed parameters are not
    chosen.
    """
    name, procedure, method, n_hidden = cell
    setting = fixed | ({"max_iter": 10} if quick else choose(name, method))
    models = [(classifier(method, procedure, n_hidden, **setting), s) for s in splits(name)]
    errors = [error(model, split) for model, split in models]
    told = ", ".join(f"{key} {value:g}" for key, value in setting.items())
    spread = float(np.std(errors)) if len(errors) > 1 else None
    key = ".".join(map(str, ["quick", *cell] if quick else cell))
    return Row(key, float(np.mean(errors)), spread=spread, note=f"{told}.")
