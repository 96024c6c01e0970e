"""The online learners in river: one row at a time, features by name, more of both as they come.

river is imported when `for_river` is called, and not before; what a row does to a model of named
features is told in `herder.online.named`.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import finite_number, listed, of_kind
from herder.online.classifier import OnlineClassifier
from herder.online.gaussian import NHERD, GaussianClassifier
from herder.online.voted import VotedPerceptron

if TYPE_CHECKING:
    import pandas as pd

    from herder.online.named import Row

__all__ = ["for_river"]


def for_river(estimator: OnlineClassifier, *, classes: Iterable[Hashable] | None = None) -> Any:
    """Wrap an online learner as a river classifier.

    What comes back is a ``river.base.MiniBatchClassifier`` to put where
    ``linear_model.PAClassifier()`` stood: ``learn_one``, ``predict_one``, ``learn_many`` and
    ``predict_many``, and for the learners with a covariance ``predict_proba_one`` and
    ``predict_proba_many``. ``learn_one`` takes a weight ``w``, which scales C; ``weights`` and
    ``intercept`` show the mean weights by name.

    Parameters
    ----------
    estimator : NHERD, AROW, ConfidenceWeighted, PassiveAggressive, Perceptron, ...
        The learner, not fitted: only its parameters are used. A kernel or a vote has no weights
        by name and is refused.
    classes : iterable, optional
        All labels there will be. Not needed for True and False; others may also come as they
        come, but two classes that are known from the start share one Gaussian.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from herder import NHERD, for_river
    >>> model = preprocessing.StandardScaler() | for_river(NHERD(C=0.1))
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.59%
    """
    if classes is not None:
        letters = isinstance(classes, str)
        labels = classes if letters else listed(classes, "classes", "labels")
        classes = tuple(_label(label, "classes") for label in labels)
    return _classifier()(estimator, classes)


class Adapter:
    """An online learner of herder, by the names of its features: see `herder.for_river`.

    Parameters
    ----------
    estimator
        The learner.
    classes
        All labels there will be, if they are known.
    """

    def __init__(
        self, estimator: OnlineClassifier, classes: tuple[Hashable, ...] | None = None
    ) -> None:
        from herder.online.named import NamedModel

        _check_estimator(estimator)
        self.estimator = estimator
        self.classes = classes
        self._model = NamedModel(estimator, classes)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"estimator": NHERD()}

    @property
    def _multiclass(self) -> bool:
        return not self._model.few

    @property
    def weights(self) -> dict[Hashable, Any]:
        """Mean weights by name; where each class has a block, by label and name."""
        model = self._model
        if model.weights is None:
            return {}
        blocks = model.weights.means[list(model.index.values())].T.tolist()
        named = [dict(zip(model.index, block, strict=True)) for block in blocks]
        return named[0] if model.few else dict(zip(model.labels, named, strict=True))

    @property
    def intercept(self) -> Any:
        """Mean weight of the bias; where each class has a block, by label."""
        model = self._model
        if model.weights is None:
            return {}
        first = model.weights.means[0].tolist()
        return first[0] if model.few else dict(zip(model.labels, first, strict=True))

    def learn_one(self, x: "Row", y: Hashable, w: float = 1.0) -> None:
        """Learn a row: its numbers by name, its label, and a weight that scales C."""
        _check_row(x)
        if type(w) is not float:
            w = finite_number(w, "w")
        self._model.learn(x, _label(y), w)

    def predict_one(self, x: "Row", **kwargs: Any) -> Any:
        """Return the label of a row; None before the first label is known."""
        _check_row(x)
        return self._model.predict(x)

    def predict_proba_one(self, x: "Row", **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label, by the probit of margin and variance."""
        self._need_variance()
        _check_row(x)
        return self._model.odds(x)

    def learn_many(self, X: "pd.DataFrame", y: "pd.Series") -> None:
        """Learn the rows of a data frame in turn: the same as `learn_one` row by row."""
        model, values = self._model, _numbers(X)
        start, labels = 0, []
        found = [_label(label) for label in listed(y, "y", "labels")]
        if len(found) != len(values):
            raise ParameterError("y", f"have a label for each of {len(values)} rows", len(found))
        for row, label in enumerate(found):
            place = model.places.get(label)
            if place is None:
                # A class must not be a rival before its first row.
                self._learn_block(X, values, start, labels)
                start, labels = row, []
                place = model.add_label(label)
            labels.append(place)
        self._learn_block(X, values, start, labels)

    def _learn_block(
        self, X: "pd.DataFrame", values: NDArray[np.float64], start: int, labels: list[int]
    ) -> None:
        if not labels:
            return
        model = self._model
        model.add_names(X.columns)
        rows = self._with_bias(values[start : start + len(labels)])
        model.learn_rows(rows, model.places_of(X.columns), labels)

    def predict_many(self, X: "pd.DataFrame") -> "pd.Series":
        """Return the labels of the rows of a data frame."""
        import pandas as pd

        model = self._model
        of_kind(X, "X", pd.DataFrame, "a pandas DataFrame")
        if model.weights is None:
            return pd.Series([None] * len(X), index=X.index, dtype="object")
        picks = model.picks(self._answers(X)[0])
        return pd.Series([model.labels[pick] for pick in picks], index=X.index)

    def predict_proba_many(self, X: "pd.DataFrame") -> "pd.DataFrame":
        """Return the probability of each label for the rows of a data frame."""
        import pandas as pd

        from herder.online.odds import probabilities

        self._need_variance()
        model = self._model
        of_kind(X, "X", pd.DataFrame, "a pandas DataFrame")
        if model.weights is None:
            return pd.DataFrame(index=X.index)
        odds = probabilities(*self._answers(X), len(model.labels))
        return pd.DataFrame(odds, index=X.index, columns=pd.Index(model.labels))

    def _answers(self, X: "pd.DataFrame") -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        values = self._with_bias(_numbers(X))
        return self._model.answers(values, self._model.places_of(X.columns))

    def _with_bias(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        bias = np.full((len(values), 1), float(self.estimator.fit_intercept))
        return np.hstack([bias, values])

    def _need_variance(self) -> None:
        if not isinstance(self.estimator, GaussianClassifier):
            raise NotImplementedError(
                f"{type(self.estimator).__name__} has no covariance and gives no probabilities"
            )


def _check_row(x: object) -> None:
    if type(x) is not dict:
        of_kind(x, "x", Mapping, "a mapping of name to number")


def _label(y: Any, name: str = "y") -> Any:
    """Return a label that can be looked up."""
    try:
        hash(y)
    except TypeError:
        raise ParameterTypeError(name, "be labels", got=type(y).__name__) from None
    return y


def _numbers(X: "pd.DataFrame") -> NDArray[np.float64]:
    """Return the values of a data frame, if all of them are finite numbers."""
    import pandas as pd

    from herder.online.named import check_finite

    of_kind(X, "X", pd.DataFrame, "a pandas DataFrame")
    if not X.columns.is_unique:
        raise ParameterError("X", "have columns of different names", list(X.columns))
    for name, kind in zip(X.columns, X.dtypes, strict=True):
        if kind.kind not in "biuf":
            raise ParameterTypeError(
                "X",
                "hold numbers",
                got=f"type {kind} for {name!r}: encode it first, for instance by "
                "river.preprocessing.OneHotEncoder",
            )
    values = X.to_numpy(dtype=np.float64)
    check_finite(values, list(X.columns))
    return values


def _check_estimator(estimator: object) -> None:
    """Refuse what has no weights by name."""
    if not isinstance(estimator, OnlineClassifier):
        what = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise ParameterTypeError(
            "estimator", "be an online learner of herder, as NHERD()", got=what
        )
    if isinstance(estimator, VotedPerceptron) or getattr(estimator, "kernel", None) is not None:
        raise ParameterError(
            "estimator",
            "be linear",
            got=f"{estimator!r}: there are no weights by name; a vote is near to "
            "Perceptron(average=True)",
        )
    if hasattr(estimator, "classes_"):
        raise ParameterError(
            "estimator", "not be fitted", got="a fitted one: its features have no names here"
        )


@cache
def _classifier() -> type[Any]:
    """Make the class for river, once."""
    try:
        from river import base
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "for_river needs river, which is not installed: pip install 'herder[river]'"
        ) from None

    class HerderClassifier(Adapter, base.MiniBatchClassifier):
        __doc__ = Adapter.__doc__

    # By this name a pickle finds the class again, through __getattr__ below.
    HerderClassifier.__module__, HerderClassifier.__qualname__ = __name__, "HerderClassifier"
    return HerderClassifier


def __getattr__(name: str) -> Any:
    if name == "HerderClassifier":
        return _classifier()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
