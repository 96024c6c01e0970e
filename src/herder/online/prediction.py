"""Predictions of batches of rows: labels, margins, probabilities, and how many are wrong."""

import copy
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.core.summary import counted
from herder.data.batches import Batch
from herder.data.broken import BrokenRows
from herder.data.labelled import LabelledFiles
from herder.data.numerals import LabelKind, class_kind, label_value

__all__ = ["ErrorCount", "Prediction", "Predictor"]


@dataclass(frozen=True)
class Prediction:
    """Predictions of some rows.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Classes.
    margins : ndarray of shape (n,)
        How far the score of the class is above that of the best other one.
    probabilities : ndarray of shape (n,) or None
        Of the class, if the model has variances.
    """

    labels: NDArray[Any]
    margins: NDArray[np.float64]
    probabilities: NDArray[np.float64] | None


class ErrorCount:
    """How predictions compare with the labels of a file.

    Parameters
    ----------
    classes : ndarray
        Classes of the model.

    Attributes
    ----------
    rows, wrong : int
        Rows whose label is a class of the model, and those of them predicted wrongly.
    unknown, unlabelled : int
        Rows with another label, and rows without one.
    """

    def __init__(self, classes: NDArray[Any]) -> None:
        self.kind: LabelKind = class_kind(classes)
        self.places = {value: k for k, value in enumerate(classes.tolist())}
        self.classes = classes
        self.rows = self.wrong = self.unknown = self.unlabelled = 0

    def add(self, batch: Batch, found: Prediction) -> None:
        """Compare a batch."""
        places = np.array([*map(self._place, batch.names), -1])[batch.codes]
        usable = places >= 0
        self.unlabelled += int((batch.codes < 0).sum())
        self.unknown += int((~usable & (batch.codes >= 0)).sum())
        self.rows += int(usable.sum())
        self.wrong += int((self.classes[places[usable]] != found.labels[usable]).sum())

    def _place(self, name: str) -> int:
        """Return the place of the class that a label means, or -1."""
        try:
            return self.places.get(label_value(name, self.kind), -1)
        except ValueError:
            return -1  # a word or a measurement where classes are whole numbers

    def lines(self, what: str) -> list[str]:
        """Return the error with its standard error, and what could not be compared."""
        if not self.rows:
            why = "labels of the rows are no classes of the model: no error to report"
            return [why] if self.unknown else []
        spread = np.sqrt(self.wrong * (self.rows - self.wrong) / self.rows**3)
        line = f"{what} {self.wrong / self.rows:.4f} ± {spread:.4f} ({self.wrong:,} of "
        lines = [f"{line}{counted(self.rows, 'row')})"]
        if self.unknown:
            one = self.unknown == 1
            have = "has a label that is no class" if one else "have labels that are no classes"
            lines.append(f"{counted(self.unknown, 'row')} {have} of the model")
        return lines


class Predictor:
    """Predicts batches with a model.

    Svmlight rows may have features that the model has never seen. Those are at their prior, mean
    0 and variance 1: together they add nothing to the score and the sum of their squares to the
    variance, as one feature whose value is the root of that sum does.

    Parameters
    ----------
    model : classifier
        Fitted; it is not changed. Probabilities are the scores of one that is no
        `OnlineClassifier`; features that it has not seen are left out.

    Attributes
    ----------
    unseen : int
        Values of features that the model has not seen.
    """

    def __init__(self, model: Any) -> None:
        self.model = copy.copy(model)
        self.width = model.n_features_in_
        self.unseen = 0
        self.is_online = hasattr(model, "widen")
        with suppress(ParameterError):  # a model that keeps rows has no prior of features
            if self.is_online:
                self.model.widen(self.width + 1)

    def predict(self, batch: Batch) -> Prediction:
        """Predict the rows of a batch, whose columns are the features in their order."""
        X, model = self._fitted(batch.X), self.model
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            chances = model.predict_proba(X) if hasattr(model, "predict_proba") else None
            scores: Any = model.decision_function(X) if self.is_online else chances
        if scores.ndim == 1:
            places = (scores > 0).astype(np.intp)
            margins = np.abs(scores)
        else:
            places = scores.argmax(axis=1)
            best = np.sort(scores, axis=1)[:, -2:]
            margins = best[:, -1] - best[:, 0]
        if chances is not None:
            chances = np.take_along_axis(chances, places[:, None], axis=1)[:, 0]
        return Prediction(model.classes_[places], margins, chances)

    def predict_files(
        self, files: LabelledFiles, broken: BrokenRows
    ) -> Iterator[tuple[Batch, Prediction]]:
        """Predict all rows of files."""
        for batch in files.batches(broken):
            if len(batch):
                yield batch, self.predict(batch)

    def _fitted(self, X: Any) -> Any:
        """Bring rows to the width of the model."""
        from scipy.sparse import csr_matrix, hstack

        rest = self.model.n_features_in_ - self.width
        if not hasattr(X, "indptr"):
            return np.hstack([X, np.zeros((len(X), rest))])
        if X.shape[1] > self.width:
            beyond = X[:, self.width :]
            self.unseen += beyond.nnz
            X = X[:, : self.width]
            if rest:
                lengths = np.sqrt(np.asarray(beyond.multiply(beyond).sum(axis=1)))
                return hstack([X, csr_matrix(lengths)], format="csr")
        X.resize((X.shape[0], self.model.n_features_in_))
        return X
