r"""A boosted field for each class, and a logistic regression on their energies [welling2003]_.

The energies of a row in all fields are its features. Their constants, log Z, are not needed: the
intercepts of the regression take their place.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import check_fitted, fit_points, function_or_none, whole_or_not
from herder.core.lanes import Progress
from herder.core.plain import (
    POSITIVE,
    Arrays,
    Header,
    plain_classes,
    plain_estimator,
    read_array,
    read_classes,
    read_estimator,
)
from herder.core.state import State, nest, unnest
from herder.learn.boosted_features import choose_family
from herder.learn.boosted_frame import RowFrame
from herder.learn.boosting import BoostedField
from herder.online.inputs import distinct_labels, read_labels

__all__ = ["BoostedClassifier"]

#: Inverse penalty of the regression, on standardised energies.
STRENGTH = 100.0

#: Steps of the regression, at most.
MOST_STEPS = 1000


class BoostedClassifier(ClassifierMixin, BaseEstimator):
    """Classify rows by their energies in one boosted field for each class.

    Parameters
    ----------
    field : BoostedField, optional
        The parameters of all fields. Default: those of ``BoostedField(weighted=True)`` for rows of
        two states, and of ``BoostedField()`` for numbers.

    Attributes
    ----------
    fields_ : list of BoostedField
        A field for each class.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_ : ndarray of shape (n_classes, n_classes)
        Weights of the standardised energies; of two classes only one row.
    intercept_ : ndarray
        Intercepts of the regression.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from herder import BoostedClassifier, BoostedField
    >>> angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> ring = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> rows, labels = np.vstack([ring, 3 * ring]), ["inner"] * 100 + ["outer"] * 100
    >>> model = BoostedClassifier(BoostedField(n_rounds=20)).fit(rows, labels)
    >>> print(*model.predict([[0.0, 1.0], [0.0, 3.0]]))
    inner outer
    """

    n_features_in_: int

    def __init__(self, field: BoostedField | None = None) -> None:
        self.field = field

    def fit(self, X: object, y: ArrayLike, *, progress: Progress | None = None) -> Self:
        """Fit a field to the rows of each class, and the regression to their energies.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            Rows, as for `BoostedField`.
        y : array-like of shape (n_rows,)
            Labels.
        progress : callable, optional
            Called with the share done, and a word on what is done.
        """
        function_or_none(progress, "progress")
        with whole_or_not(self):
            rows = fit_points(self, X).astype(np.float64, order="C")
            labels = read_labels(y, len(rows))
            self.classes_, places = distinct_labels(labels)
            n = len(self.classes_)
            if n < 2:
                raise ParameterError("y", "have at least two classes", got="1 class")
            prototype = self._prototype(rows)
            family, states = choose_family(prototype.features, rows)
            frame = RowFrame.around(rows, states)  # one for all classes: each may be of one row
            self.fields_ = []
            for k in range(n):
                field: Any = clone(prototype)
                field.n_features_in_ = rows.shape[1]
                told = None if progress is None else _part_of(progress, k, n)
                self.fields_.append(field._learn(rows[places == k], family, frame, told))
            energies = self._energies(rows)
            self._centre, spread = energies.mean(axis=0), energies.std(axis=0)
            self._scale = np.where(spread > 0, spread, 1.0)
            regression = LogisticRegression(C=STRENGTH, max_iter=MOST_STEPS)
            regression.fit((energies - self._centre) / self._scale, places)
            self.coef_, self.intercept_ = regression.coef_, regression.intercept_
        return self

    def decision_function(self, X: object) -> NDArray[np.float64]:
        """Return the score of each class; of two classes that of the second one."""
        check_fitted(self, "coef_")
        rows = fit_points(self, X, reset=False).astype(np.float64, order="C")
        energies = (self._energies(rows) - self._centre) / self._scale
        scores = energies @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: object) -> NDArray[np.float64]:
        """Return the probability of each class."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([-scores / 2, scores / 2])
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def predict(self, X: object) -> NDArray[Any]:
        """Return the most probable class of each row."""
        places = self.predict_proba(X).argmax(axis=1)
        return self.classes_[places]

    def to_state(self) -> State:
        """Return the fields and the regression, and a header that JSON can hold."""
        check_fitted(self, "coef_")
        arrays: dict[str, Any] = {"coef": self.coef_, "intercept": self.intercept_}
        arrays |= {"centre": self._centre, "scale": self._scale}
        parts = [field.to_state() for field in self.fields_]
        for k, (own, _) in enumerate(parts):
            arrays |= nest(f"{k}.", own)
        header = plain_estimator(self, field=None)
        header["classes"] = plain_classes(self.classes_)
        return arrays, {**header, "fields": [own for _, own in parts]}

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Return the classifier that `to_state` described."""
        classes = read_classes(header["classes"])
        fields = [
            BoostedField.from_state(unnest(f"{k}.", arrays), own)
            for k, own in enumerate(header["fields"])
        ]
        n, widths = len(classes), {field.n_features_in_ for field in fields}
        if len(fields) != n or n < 2 or len(widths) != 1:
            raise ValueError(f"{len(fields)} fields of {len(widths)} widths for {n} classes")
        model = read_estimator(cls, header, *widths)
        n_scores = 1 if n == 2 else n
        model.classes_, model.fields_ = classes, fields
        model.field = clone(fields[0])
        model.coef_ = read_array(arrays, "coef", (n_scores, n))
        model.intercept_ = read_array(arrays, "intercept", (n_scores,))
        model._centre = read_array(arrays, "centre", (n,))
        model._scale = read_array(arrays, "scale", (n,), low=POSITIVE)
        return model

    def _prototype(self, rows: NDArray[np.float64]) -> BoostedField:
        if self.field is None:
            return BoostedField(weighted=choose_family("auto", rows)[1] is not None)
        if not isinstance(self.field, BoostedField):
            raise ParameterTypeError("field", "be a BoostedField", self.field)
        return self.field

    def _energies(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([field.energy(rows) for field in self.fields_])


def _part_of(progress: Progress, part: int, n_parts: int) -> Progress:
    """Return what reports a part of the work as such."""
    return lambda share, note: progress((part + share) / n_parts, note)
