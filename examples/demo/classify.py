"""Classification with hidden units: digits, against two linear classifiers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from herder import ConditionalHerder
from herder.core.summary import Fact, Facts, Picture, Section, Summary, Table, Text, lowest_marked
from herder.plots import plot_images

__all__ = ["job"]

COMPARED = ("job", "measured", "herder", "alternative")

#: Every so many-th digit is used.
STRIDE = 1

N_HIDDEN, N_FOLDS = 100, 5


def job() -> Summary:
    """Classify digits by conditional herding, a voted perceptron and logistic regression."""
    digits: Any = load_digits()
    X, y = digits.data[::STRIDE], digits.target[::STRIDE]
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    wrong = mistakes(ConditionalHerder(N_HIDDEN), X, y)
    ours = float(wrong.mean())
    theirs = {
        name: float(mistakes(model, X, y).mean())
        for name, model in (
            ("voted perceptron", ConditionalHerder(0)),
            ("logistic regression", linear),
        )
    }
    others = ", ".join(f"{error:.1%} ({name})" for name, error in theirs.items())
    section = Section(
        "Classification with hidden units",
        [
            Text(
                f"{len(y):,} handwritten digits, each classified by a model of the other "
                f"{N_FOLDS - 1} of {N_FOLDS} random folds. Conditional herding has {N_HIDDEN} "
                "hidden units, and the weights of many steps vote; there is no learning rate and "
                "no partition function. Without hidden units it is a voted perceptron. Settings "
                "are the defaults."
            ),
            Facts([Fact("digits misclassified", f"{ours:.1%}", meaning=others)]),
            Picture(
                "mistakes",
                plot_images(X[wrong]),
                "Images of digits that conditional herding misclassified.",
                f"{wrong.sum()} digits were misclassified; at most 64 are shown.",
            ),
        ],
    )
    compared = (
        "classify digits",
        "error on held-out rows",
        *lowest_marked({"": ours}, theirs, ".1%"),
    )
    return Summary("Classification", [Table(COMPARED, [compared])], [section])


def mistakes(model: Any, X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows are misclassified by a model of the other folds."""
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    return np.not_equal(cross_val_predict(model, X, y, cv=folds), y)


if __name__ == "__main__":
    print(job())
