"""What a fitted online classifier reports: scores, classes, weights, its state, its summary."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from herder._errors import ParameterError
from herder._validation import check_fitted, fit_rows
from herder.core.plain import Arrays, Header, plain_estimator, read_estimator, read_number
from herder.core.state import State
from herder.core.summary import Summary, Text, counted
from herder.online.inputs import RowsLike
from herder.online.labels import plain_classes, read_classes
from herder.online.ranking import weight_tables
from herder.online.rules import Rule
from herder.online.weights import PassCounts, RowMatrix

__all__ = ["FittedClassifier"]

#: Attributes of a fitted model that are whole numbers.
COUNTS = ("n_iter_", "n_seen_", "n_updates_", "n_features_in_", "_wrong", "_tested")


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

    @abstractmethod
    def _checked_rule(self) -> Rule: ...

    @abstractmethod
    def _check_unchanged(self) -> None: ...

    @abstractmethod
    def _new_weights(self, n_features: int, n_classes: int) -> Any: ...

    @abstractmethod
    def _start(self, weights: Any) -> None: ...

    def _n_blocks(self, n_classes: int) -> int:
        """Return the number of blocks of weights; two classes that stay two share one."""
        return 1 if n_classes == 2 and self.new_classes == "error" else n_classes

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
        width = self.n_features_in_
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

    def memory(self, n_features: int, n_classes: int) -> int:
        """Return the bytes of a model, and as much again while it is written or widened.

        Parameters
        ----------
        n_features, n_classes : int
            Its size. Rows that a kernel keeps are not counted.
        """
        n_blocks = self._n_blocks(n_classes)
        numbers = n_features * n_blocks * (3 if self.average else 2)
        if getattr(self, "kernel", None) is None and self._checked_rule().is_full:
            side = n_features + bool(self.fit_intercept)
            # blocks that learn together share one matrix
            blocks = n_blocks**2 if self.multi_class == "max-margin" else n_blocks
            numbers += side * side * blocks
        return 2 * 8 * numbers

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
        n = len(self.classes_)
        size = f"{n} class{'es' * (n != 1)}, {counted(self.n_features_in_, 'feature')}"
        title = f"{type(self).__name__}, {size}, {counted(self.n_seen_, 'row')} learnt"
        error = Text(
            f"progressive error {self.progressive_error_:.4f}: rows predicted wrongly before they "
            "were learnt"
        )
        return Summary(title, [error, *weight_tables(self, top, by, name)])

    def to_state(self) -> State:
        """Return the weights, and a header that JSON can hold."""
        check_fitted(self, "classes_")
        header = {
            **plain_estimator(self),
            "classes": plain_classes(self.classes_),
            "counts": {name: int(getattr(self, name)) for name in COUNTS},
            "meta": dict(vars(self).get("_beside", {})),
        }
        self._check_unchanged()
        return self._weights.arrays(), header

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Make a model of what `to_state` gave."""
        model = read_estimator(cls, header, read_number(header["counts"], "n_features_in_"))
        model._checked_rule()
        model.classes_ = read_classes(header["classes"])
        for name in COUNTS:
            setattr(model, name, read_number(header["counts"], name))
        weights = model._new_weights(0, len(model.classes_))
        weights.restore(arrays, model.n_features_in_)
        model._start(weights)
        model._beside = dict(header["meta"])
        return model

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
        scores = self._weights.scores(fit_rows(self, X, reset=False))
        if len(self.classes_) == 2:
            return scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]
        return scores

    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Return the classes of rows."""
        check_fitted(self, "classes_")
        return self.classes_[self._predict_places(fit_rows(self, X, reset=False))]

    def _predict_places(self, rows: RowMatrix) -> NDArray[np.intp]:
        scores = self._weights.scores(rows)
        if scores.shape[1] == 1 and len(self.classes_) == 2:
            return (scores[:, 0] > 0).astype(np.intp)
        return scores.argmax(axis=1)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
