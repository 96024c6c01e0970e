"""Classification with hidden units, by a discriminative restricted Boltzmann machine.

The model and its learning are those of `herder.learn.discriminative_model`.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from herder._errors import ParameterError
from herder._validation import (
    check_fitted,
    fit_rows,
    flag,
    function_or_none,
    generator,
    non_negative_number,
    positive_int,
    share,
    whole_or_not,
)
from herder.core.blas import one_blas_thread
from herder.core.lanes import Progress
from herder.core.plain import (
    Arrays,
    Header,
    plain_classes,
    plain_estimator,
    read_array,
    read_classes,
    read_estimator,
)
from herder.core.state import State
from herder.core.summary import Fact, Facts, Summary, counted
from herder.learn.discriminative_model import (
    DiscriminativeModel,
    line_search,
    log_probabilities,
    row_blocks,
)
from herder.learn.scaling import ColumnScaling
from herder.online.inputs import RowsLike, distinct_labels, hold_back, read_labels

__all__ = ["DiscriminativeRBM"]

#: A pass improves on the best one if its loss is lower by this.
LEAST_GAIN = 1e-4


class DiscriminativeRBM(ClassifierMixin, BaseEstimator):
    """Classify rows with hidden units, by a restricted Boltzmann machine of p(y | x).

    Parameters
    ----------
    n_hidden : int, default 100
        Number of hidden units.
    l2 : float, default 1e-4
        Weight of the squared couplings.
    max_iter : int, default 100
        Most passes over the rows.
    batch_size : int, default 100
        Rows of a mini-batch, about: the rows are divided evenly.
    early_stopping : bool, default True
        Whether the loss of held-out rows decides when to stop and which pass was the best;
        otherwise that of the mini-batches does.
    validation_fraction : float, default 0.1
        Share of the rows that is held out.
    n_iter_no_change : int, default 20
        Passes without a lower loss before learning stops.
    warm_start : bool, default False
        Whether `fit` starts from the weights of the fit before, with its scale of the columns.
    random_state : int, Generator or None, default 0
        Draws the held-out rows, the initial weights and the order of the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    components_ : ndarray of shape (n_hidden, n_features)
        Couplings of hidden units and columns, which are put on one scale before.
    class_components_ : ndarray of shape (n_classes, n_hidden)
        Couplings of classes and hidden units.
    intercept_hidden_, intercept_classes_ : ndarray
        Their biases.
    history_ : ndarray of shape (n_passes,)
        Mean of -log p(y | x) of the held-out rows after each pass; without early stopping the
        mean objective of the mini-batches, each before its line searches.
    n_iter_ : int
        Number of passes.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from herder import DiscriminativeRBM
    >>> X, y = load_wine(return_X_y=True)
    >>> model = DiscriminativeRBM(20).fit(X[::2], y[::2])
    >>> print(f"{model.score(X[1::2], y[1::2]):.2f}")
    0.97
    """

    n_features_in_: int
    classes_: NDArray[Any]

    def __init__(
        self,
        n_hidden: int = 100,
        *,
        l2: float = 1e-4,
        max_iter: int = 100,
        batch_size: int = 100,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        warm_start: bool = False,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.n_hidden = n_hidden
        self.l2 = l2
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(self, X: RowsLike, y: ArrayLike, *, progress: Progress | None = None) -> Self:
        """Learn all rows, in passes.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Their labels, at least two different ones.
        progress : callable, optional
            Called with the share done, and a word on what is done.
        """
        function_or_none(progress, "progress")
        again = flag(self.warm_start, "warm_start") and hasattr(self, "_model")
        with whole_or_not(self), one_blas_thread():
            rows = fit_rows(self, X)
            classes, places = distinct_labels(read_labels(y, rows.shape[0]))
            if len(classes) < 2:
                got = f"one class, {classes.tolist()[0]!r}"
                raise ParameterError("y", "have at least two classes", got=got)
            rng = generator(self.random_state)
            n_hidden = positive_int(self.n_hidden, "n_hidden")
            again = again and self.components_.shape == (n_hidden, rows.shape[1])
            if again and np.array_equal(classes, self.classes_):
                start = self._model
            else:
                self._scaling = ColumnScaling.of(rows)
                start = DiscriminativeModel.draw(rows.shape[1], n_hidden, len(classes), rng)
            self._learn(start, self._scaling.apply(rows), places, rng, progress)
            self.classes_ = classes
        return self

    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Return the most probable class of each row."""
        places = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[places]

    def predict_proba(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the probability of each class, for each row."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the log probability of each class, for each row."""
        check_fitted(self, "classes_")
        rows = fit_rows(self, X, reset=False)
        model = self._model.read(self._model.vector())
        with one_blas_thread():
            inputs = (self._scaling.apply(rows[part]) for part in row_blocks(model, rows))
            return np.concatenate([log_probabilities(model, part) for part in inputs])

    def summary(self) -> Summary:
        """Return the size of the machine, and how learning went."""
        check_fitted(self, "classes_")
        size = f"{len(self.classes_)} classes, {counted(self.n_features_in_, 'feature')}"
        title = f"DiscriminativeRBM, {size}, {counted(len(self.components_), 'hidden unit')}"
        course = f"{self.history_[0]:.3g} to {self.history_.min():.3g}"
        rows = "held-out rows" if self.early_stopping else "mini-batches, with the penalty"
        facts = [
            Fact("weights", sum(part.size for part in self._model)),
            Fact("passes", self.n_iter_, "", "over the rows"),
            Fact("loss", course, "", f"after the first pass and the best one, of {rows}"),
        ]
        return Summary(title, [Facts(facts)])

    @property
    def n_iter_(self) -> int:
        """Number of passes."""
        return len(self.history_)

    def to_state(self) -> State:
        """Return weights and scales, and a header that JSON can hold."""
        check_fitted(self, "classes_")
        arrays = self._model._asdict() | {"history": self.history_}
        arrays |= {"centre": self._scaling.centre, "factor": self._scaling.factor}
        return arrays, {**plain_estimator(self), "classes": plain_classes(self.classes_)}

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Return the machine that `to_state` described."""
        classes = read_classes(header["classes"])
        couplings = read_array(arrays, "couplings", (None, None), np.float32)
        (n_features, n_hidden), n_classes = couplings.shape, len(classes)
        shapes = {"hidden_biases": (n_hidden,), "class_couplings": (n_classes, n_hidden)}
        shapes["class_biases"] = (n_classes,)
        parts = [read_array(arrays, name, shapes[name], np.float32) for name in shapes]
        centre, factor = (read_array(arrays, key, (n_features,)) for key in ("centre", "factor"))
        history = read_array(arrays, "history", (None,))
        if not couplings.size or n_classes < 2 or not history.size:
            raise ValueError(f"couplings of {couplings.shape}, {n_classes} classes")
        machine = read_estimator(cls, header, n_features)
        machine.classes_, machine._scaling = classes, ColumnScaling(centre, factor)
        machine._keep(DiscriminativeModel(couplings, *parts), history)
        return machine

    def _learn(
        self,
        start: DiscriminativeModel,
        inputs: Any,
        places: NDArray[np.intp],
        rng: np.random.Generator,
        progress: Progress | None,
    ) -> None:
        """Make passes until the loss no longer falls, and keep the best model."""
        l2, max_iter = non_negative_number(self.l2, "l2"), positive_int(self.max_iter, "max_iter")
        patience = positive_int(self.n_iter_no_change, "n_iter_no_change")
        size = positive_int(self.batch_size, "batch_size")
        held = flag(self.early_stopping, "early_stopping")
        fraction = share(self.validation_fraction, "validation_fraction") if held else None
        teach, test = hold_back(len(places), fraction, self.random_state)  # a warm start: the same
        n_batches = max(1, round(len(teach) / size))

        def held_out_loss(model: DiscriminativeModel) -> float:
            logs = log_probabilities(model, inputs[test])
            return -float(logs[np.arange(len(test)), places[test]].mean())

        model = best = start
        lowest, waited, history = held_out_loss(start) if held else np.inf, 0, list[float]()
        while len(history) < max_iter and waited < patience:
            batches, loss = np.array_split(rng.permutation(teach), n_batches), 0.0
            for batch in batches:
                value, model = line_search(model, inputs[batch], places[batch], l2)
                loss += value / n_batches
            history.append(held_out_loss(model) if held else loss)
            waited += 1
            if history[-1] < lowest - LEAST_GAIN:
                best, lowest, waited = model, history[-1], 0
            if progress is not None:
                progress(1.0 if waited == patience else len(history) / max_iter, "learning")
        self._keep(best, np.array(history))

    def _keep(self, model: DiscriminativeModel, history: NDArray[np.float64]) -> None:
        self._model, self.history_ = model, history
        self.components_ = np.array(model.couplings.T)
        self.class_components_ = model.class_couplings.copy()
        self.intercept_hidden_ = model.hidden_biases.copy()
        self.intercept_classes_ = model.class_biases.copy()

    def __sklearn_tags__(self) -> Any:
        """Return the tags of scikit-learn: sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
