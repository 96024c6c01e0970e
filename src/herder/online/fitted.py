"""What a fitted online classifier reports: scores, classes, weights, its summary."""

from abc import ABC
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from herder._errors import ParameterError
from herder._validation import (
    check_fitted,
    fit_rows,
    function_or_none,
    non_negative_int,
    one_of,
    positive_int,
)
from herder.core.summary import Summary, Text, counted
from herder.online.inputs import RowsLike
from herder.online.ranking import weight_tables
from herder.online.weights import PassCounts, RowMatrix

__all__ = ["FittedClassifier"]


def finite_answers(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores or variances; refuse rows too long for them to be floats."""
    if not np.isfinite(values).all():
        raise ParameterError("X", "hold numbers whose squares are floats", got="others: scale X")
    return values


class FittedClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base of `OnlineClassifier`: all that does not learn.

    Attributes
    ----------
    last_batch_ : PassCounts
        Updates, rows predicted wrongly and rows left out in the last call of ``partial_fit``.
    """

    n_features_in_: int
    classes_: NDArray[Any]
    n_seen_: int
    last_batch_: PassCounts
    average: bool
    fit_intercept: bool
    multi_class: str
    new_classes: str
    _weights: Any
    _wrong: int
    _tested: int
    _beside: Mapping[str, Any]  # facts of the file that a model was read from

    def widen(self, n_features: int) -> Self:
        """Make room for more features, which are at their prior as if never seen.

        Names of features go if there are more features than names.

        Parameters
        ----------
        n_features : int
            Features that rows will have. Models with a kernel, and voted perceptrons, keep rows
            instead of weights, and cannot be widened.
        """
        check_fitted(self, "classes_")
        n_features, width = positive_int(n_features, "n_features"), self.n_features_in_
        if n_features == width:
            return self
        if n_features < width or not hasattr(self._weights, "extended"):
            kind = type(self).__name__
            rule = f"be {'at least ' * hasattr(self._weights, 'extended')}the {width:,} features"
            raise ParameterError("n_features", f"{rule} of this {kind}", f"{n_features:,}")
        self._weights = self._weights.extended(n_features)
        self.n_features_in_ = n_features
        vars(self).pop("feature_names_in_", None)
        return self

    def summary(
        self,
        *,
        top: int = 10,
        by: str = "weight",
        name: Callable[[int], tuple[str, int]] | None = None,
    ) -> Summary:
        """Return the progressive error, and the strongest features of a linear model.

        Parameters
        ----------
        top : int
            Features of each class.
        by : {"weight", "confidence"}
            Order them by size of the weight, or of z, the weight in standard deviations.
        name : callable, optional
            Returns the name of a feature, and the sign that it counts with.
        """
        check_fitted(self, "classes_")
        top = non_negative_int(top, "top")
        one_of(by, "by", ("weight", "confidence"))
        function_or_none(name, "name")
        n = len(self.classes_)
        size = f"{n} class{'es' * (n != 1)}, {counted(self.n_features_in_, 'feature')}"
        title = f"{type(self).__name__}, {size}, {counted(self.n_seen_, 'row')} learnt"
        error = Text(
            f"progressive error {self.progressive_error_:.4f}: rows predicted wrongly before they "
            "were learnt"
        )
        return Summary(title, [error, *weight_tables(self, top, by, name)])

    @property
    def progressive_error_(self) -> float:
        """Share of rows predicted wrongly before they were learnt."""
        check_fitted(self, "classes_")
        return self._wrong / self._tested if self._tested else float("nan")

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Mean weights, (1, n_features) for two classes, else (n_classes, n_features)."""
        check_fitted(self, "classes_")
        return self._weights.means[: self.n_features_in_].T.copy()

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Mean weights of the constant feature, (1,) or (n_classes,)."""
        check_fitted(self, "classes_")
        means = self._weights.means
        return means[-1].copy() if self._weights.bias else np.zeros(means.shape[1])

    def decision_function(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the scores of rows: positive for the second of two classes, or one a class."""
        check_fitted(self, "classes_")
        scores = finite_answers(self._weights.scores(fit_rows(self, X, reset=False)))
        if len(self.classes_) == 2:
            return scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]
        return scores

    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Return the classes of rows."""
        check_fitted(self, "classes_")
        return self.classes_[self._predict_places(fit_rows(self, X, reset=False))]

    def _predict_places(self, rows: RowMatrix) -> NDArray[np.intp]:
        scores = finite_answers(self._weights.scores(rows))
        if scores.shape[1] == 1 and len(self.classes_) == 2:
            return (scores[:, 0] > 0).astype(np.intp)
        return scores.argmax(axis=1)
