"""What a model says of batches: labels, margins, probabilities, and how often it is wrong."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.cli._border import heed_signals
from herder.core.summary import counted
from herder.data.batches import Batch, LabelKind, label_value
from herder.data.broken import BrokenRows
from herder.data.labelled import LabelledFiles

__all__ = ["SKIP_BROKEN", "Answers", "Marks", "Teller"]

#: What to do about a broken row.
SKIP_BROKEN = "--skip-broken leaves such {unit}s out"


@dataclass(frozen=True)
class Answers:
    """Predictions of some rows.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Classes.
    margins : ndarray of shape (n,)
        How far the score of the class is above that of the best other one.
    probabilities : ndarray of shape (n,) or None
        Of the class, if the model knows how sure it is.
    """

    labels: NDArray[Any]
    margins: NDArray[np.float64]
    probabilities: NDArray[np.float64] | None


class Marks:
    """How predictions compare with the labels of a file.

    Parameters
    ----------
    classes : ndarray
        Classes of the model.

    Attributes
    ----------
    rows, wrong : int
        Rows whose label is a class of the model, and those of them predicted wrongly.
    strange, bare : int
        Rows with another label, and rows without one.
    """

    def __init__(self, classes: NDArray[Any]) -> None:
        self.kind: LabelKind = "text" if classes.dtype.kind in "UO" else "int"
        self.places = {value: k for k, value in enumerate(classes.tolist())}
        self.classes = classes
        self.rows = self.wrong = self.strange = self.bare = 0

    def add(self, batch: Batch, answers: Answers) -> None:
        """Compare a batch."""
        places = np.array([*map(self._place, batch.names), -1])[batch.codes]
        usable = places >= 0
        self.bare += int((batch.codes < 0).sum())
        self.strange += int((~usable & (batch.codes >= 0)).sum())
        self.rows += int(usable.sum())
        truth = self.classes[places[usable]]
        self.wrong += int((truth != answers.labels[usable]).sum())

    def _place(self, name: str) -> int:
        """Give the place of the class that a label means, or -1."""
        try:
            return self.places.get(label_value(name, self.kind), -1)
        except ValueError:
            return -1  # a word or a measurement where classes are whole numbers

    def lines(self, what: str) -> list[str]:
        """Say it."""
        if not self.rows:
            why = "labels of the rows are no classes of the model: no error to tell"
            return [why] if self.strange else []
        spread = np.sqrt(self.wrong * (self.rows - self.wrong) / self.rows**3)
        line = f"{what} {self.wrong / self.rows:.4f} +- {spread:.4f} ({self.wrong:,} of "
        lines = [f"{line}{counted(self.rows, 'row')})"]
        if self.strange:
            have = (
                "has a label that is no class"
                if self.strange == 1
                else "have labels that are no classes"
            )
            lines.append(f"{counted(self.strange, 'row')} {have} of the model")
        return lines


class Teller:
    """Predicts batches with a model.

    Svmlight rows may have features that the model has never seen. Those are at their prior, mean
    0 and variance 1: together they add nothing to the score and the sum of their squares to the
    variance, as one feature whose value is the root of that sum does.

    Parameters
    ----------
    model : estimator
        Fitted.
    """

    def __init__(self, model: Any) -> None:
        self.model = copy.copy(model)
        # columns are put in the order of the features here, so their names need no check
        vars(self.model).pop("feature_names_in_", None)
        self.width = model.n_features_in_
        self.unseen = 0
        self.keeps_rest = hasattr(model._weights, "extended")
        if self.keeps_rest:
            self.model._weights = model._weights.extended(self.width + 1)
            self.model.n_features_in_ = self.width + 1

    def answer(self, batch: Batch) -> Answers:
        """Predict the rows of a batch."""
        X, model = self._fitted(batch.X), self.model
        scores = model.decision_function(X)
        if scores.ndim == 1:
            places = (scores > 0).astype(np.intp)
            margins = np.abs(scores)
        else:
            places = scores.argmax(axis=1)
            best = np.sort(scores, axis=1)[:, -2:]
            margins = best[:, -1] - best[:, 0]
        odds = None
        if hasattr(model, "predict_proba"):
            odds = np.take_along_axis(model.predict_proba(X), places[:, None], axis=1)[:, 0]
        return Answers(model.classes_[places], margins, odds)

    def answers(self, files: LabelledFiles, broken: BrokenRows) -> Iterator[tuple[Batch, Answers]]:
        """Predict all rows of some files."""
        for batch in files.batches(broken):
            if len(batch):
                yield batch, self.answer(batch)
            heed_signals()

    def _fitted(self, X: Any) -> Any:
        """Bring rows to the width of the model."""
        from scipy.sparse import csr_matrix, hstack

        if not hasattr(X, "indptr"):
            rest = np.zeros((len(X), int(self.keeps_rest)))
            return np.hstack([X, rest])
        if X.shape[1] > self.width:
            beyond = X[:, self.width :]
            self.unseen += beyond.nnz
            X = X[:, : self.width]
            if self.keeps_rest:
                lengths = np.sqrt(np.asarray(beyond.multiply(beyond).sum(axis=1)))
                return hstack([X, csr_matrix(lengths)], format="csr")
        X.resize((X.shape[0], self.model.n_features_in_))
        return X
