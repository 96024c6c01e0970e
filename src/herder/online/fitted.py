"""What a fitted online classifier reports: scores, classes, weights, the strongest features."""

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
from herder.core.summary import Block, Summary, Table, Text, counted
from herder.online.inputs import RowsLike
from herder.online.weights import PassCounts, RowMatrix

__all__ = ["FittedClassifier", "finite_answers", "rank_features"]

#: Columns of a table of weights, and their formats.
COLUMNS = {"weight": ".5g", "deviation": ".4g", "z": ".3g", "feature": ""}


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

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

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
        return Summary(title, [error, *_weight_tables(self, top, by, name)])

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


def rank_features(model: Any, top: int, by: str) -> list[list[int]]:
    """Return the ``top`` features of each block of weights; those that never moved are none.

    Parameters
    ----------
    model : OnlineClassifier
        Linear.
    top : int
        Features of each block.
    by : {"weight", "confidence"}
        Order by the size of the weight, or of the weight over its standard deviation.
    """
    name = type(model).__name__
    # the weights of a `BoostedClassifier` are not those of features
    weights = getattr(model, "coef_", None) if isinstance(model, FittedClassifier) else None
    if weights is None:
        raise ParameterError("model", "be linear to be explained", got=f"{name} without weights")
    sizes = np.abs(weights)
    if by == "confidence":
        deviations = _weight_deviations(model)
        if deviations is None:
            raise ParameterError("by", f"be weight for {name}, which has no variances", got=by)
        sizes = sizes / deviations
    orders = np.argsort(-sizes, axis=1, kind="stable")[:, :top].tolist()
    return [[k for k in row if size[k] > 0] for row, size in zip(orders, sizes, strict=True)]


def _weight_deviations(model: Any) -> NDArray[np.float64] | None:
    """Return the standard deviations of the weights, if the model has them."""
    variances = getattr(model, "covariance_", None)
    if variances is not None and model.covariance == "full":
        variances = np.diagonal(variances, axis1=-2, axis2=-1)
    return None if variances is None else np.sqrt(variances).reshape(model.coef_.shape)


def _weight_tables(
    model: Any, top: int, by: str, name: Callable[[int], tuple[str, int]] | None = None
) -> list[Block]:
    """Return a table of the strongest features for each block of weights.

    Parameters
    ----------
    model : OnlineClassifier
        Fitted; one that is not linear has no tables.
    top, by
        As for `rank_features`.
    name : callable, optional
        Returns the name of a feature, and the sign that it counts with; by default names of
        columns, or the number of a feature.
    """
    classes = model.classes_.tolist()
    if len(classes) < 2:
        return [Text(f"only {classes[0]} so far: there is nothing to distinguish yet")]
    if not hasattr(model, "coef_"):
        return []
    names = getattr(model, "feature_names_in_", None)
    name = name or (lambda place: (str(place if names is None else names[place]), 1))
    weights, deviations = model.coef_, _weight_deviations(model)
    columns = [c for c in COLUMNS if deviations is not None or c in ("weight", "feature")]
    tables: list[Block] = []
    for block, places in enumerate(rank_features(model, top, by)):
        rows = []
        for place in places:
            found = name(place)
            if not isinstance(found, tuple) or len(found) != 2 or found[1] not in (-1, 1):
                raise ParameterError("name", "return a name and a sign", found)
            label, sign = found
            spread = None if deviations is None else deviations[block, place]
            rows.append(_row(sign * weights[block, place], spread, label))
        if model.fit_intercept:
            spread = None
            if deviations is not None:
                spread = float(np.sqrt(model.intercept_variance_[block]))
            rows.append(_row(model.intercept_[block], spread, "(intercept)"))
        caption = f"above 0 for {classes[1]}, below 0 for {classes[0]}:"
        if len(weights) > 1:
            caption = f"for {classes[block]}:"
        tables.append(Table(columns, rows, [COLUMNS[c] for c in columns], caption))
    return tables


def _row(weight: float, deviation: float | None, name: str) -> tuple[object, ...]:
    return (weight, name) if deviation is None else (weight, deviation, weight / deviation, name)
