"""What all online classifiers share: rows in, passes over them, labels out.

A subclass says which `Rule` it is; this file checks input, keeps the list of classes, takes turns
and stops. Sample and class weights scale C (phi for the hard confidence-weighted forms, the step
for perceptrons), so that a weight of 2 is not the same as a row given twice.
"""

import copy
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import (
    check_fitted,
    fit_rows,
    flag,
    generator,
    non_negative_int,
    one_of,
    positive_int,
    require_finite,
    row_weights,
    whole_or_not,
)
from herder.core.plain import (
    Arrays,
    Header,
    plain_classes,
    plain_estimator,
    read_classes,
    read_estimator,
    read_number,
)
from herder.core.state import State
from herder.online.fitted import FittedClassifier
from herder.online.full import FullWeights
from herder.online.inputs import (
    RandomState,
    RowsLike,
    class_factors,
    distinct_labels,
    hold_back,
    place_labels,
    read_known,
    read_labels,
)
from herder.online.rules import Rule
from herder.online.weights import DiagonalWeights, PassCounts, RowMatrix, TrainingPass

__all__ = ["OnlineClassifier"]

#: Attributes of a fitted model that are whole numbers.
COUNTS = ("n_iter_", "n_seen_", "n_updates_", "n_features_in_", "_wrong", "_tested")

#: Parameters that the weights of a model are made for.
LASTING = ("fit_intercept", "average", "multi_class", "new_classes", "covariance", "kernel")
LASTING += ("gamma", "degree", "coef0", "budget")

#: Largest rate of a row: C is at most 1e100, and the square of a rate must be finite.
LARGEST_RATE = 1e150


class OnlineClassifier(FittedClassifier):
    """Base of the online classifiers: see `NHERD` for the parameters."""

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        max_iter: int = 5,
        shuffle: bool = True,
        random_state: RandomState = 0,
        average: bool = False,
        class_weight: str | Mapping[Any, float] | None = None,
        multi_class: str = "max-margin",
        new_classes: str = "error",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.average = average
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.new_classes = new_classes
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change

    def fit(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from all rows, in up to ``max_iter`` passes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), optional
            Scales C for each row; a row of weight 0 changes nothing.
        """
        with whole_or_not(self):
            rule = self._checked_rule()
            rows = fit_rows(self, X)
            weight = row_weights(sample_weight, rows.shape[0])
            labels = read_labels(y, rows.shape[0])
            classes, places = distinct_labels(labels)
            if len(classes) < 2 and self.new_classes == "error":
                one, remedy = classes.tolist()[0], "new_classes='add' lets others come later"
                got = f"one class, {one!r}; {remedy}"
                raise ParameterError("y", "have at least two classes", got=got)
            rates = self._rates(weight, places, classes, whole=True)
            if not rates.any():
                raise ParameterError("sample_weight", "have a number above zero", got="zeros only")
            weights = self._new_weights(rows.shape[1], len(classes))
            held = self.validation_fraction if self.early_stopping else None
            teach, test = hold_back(rows.shape[0], held, self.random_state)
            self.classes_ = classes
            self._start(weights)
            self._beside = {}
            self.n_updates_ = 0
            self._run(TrainingPass(rows, places, rates, teach), test, rule)
        return self

    def _run(self, training: TrainingPass, test: NDArray[np.intp], rule: Rule) -> None:
        """Make passes until there is nothing left to learn."""
        rng = generator(self.random_state)
        best, waited = (-1.0, self._weights), 0
        for n_iter in range(1, self.max_iter + 1):
            order = rng.permutation(training.order) if self.shuffle else training.order
            done = self._learn(replace(training, order=order), rule)
            if n_iter == 1:
                self._wrong, self._tested = done.n_wrong, len(order)
            self.n_iter_ = n_iter
            if done.n_updates == 0:
                break
            if test.size:
                found = self._predict_places(training.rows[test]) == training.labels[test]
                accuracy = float(np.mean(found))
                waited += 1
                if accuracy > best[0]:
                    best, waited = (accuracy, copy.deepcopy(self._weights)), 0
                if waited >= self.n_iter_no_change:
                    break
        if test.size:
            self._weights = best[1]
        self.n_seen_ = len(training.order) * self.n_iter_

    def partial_fit(
        self,
        X: RowsLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        count: bool = True,
    ) -> Self:
        """Learn rows in the order given, once.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like, optional
            All classes there will be; needed at the first call unless ``new_classes="add"``.
        count : bool, default True
            Whether the rows count for ``progressive_error_``: not if they were learnt before.
        """
        with whole_or_not(self):
            rule, count = self._checked_rule(), flag(count, "count")
            first = not hasattr(self, "_weights")
            rows = fit_rows(self, X, reset=first, finite=False)
            weight = row_weights(sample_weight, rows.shape[0])
            labels = read_labels(y, rows.shape[0])
            known = None if classes is None else read_known(classes)
            if not first:
                self._meet(known)
            elif known is None and self.new_classes == "error":
                text = "be given at the first call of partial_fit, or new_classes='add'"
                raise ParameterError("classes", text)
            else:
                self._open(rows.shape[1], distinct_labels(labels)[0] if known is None else known)
            self._learn_batch(rows, self._places(labels), weight, rule, count=count, finite=False)
        return self

    def _open(self, n_features: int, classes: NDArray[Any]) -> None:
        """Begin a model at the first batch."""
        if len(classes) < 2 and self.new_classes == "error":
            raise ParameterError("classes", "have at least two classes", classes.tolist())
        self.n_features_in_, self.classes_ = n_features, classes
        self._start(self._new_weights(n_features, len(classes)))
        self._wrong, self._tested, self.n_seen_, self.n_updates_ = 0, 0, 0, 0

    def _learn_batch(
        self,
        rows: RowMatrix,
        places: NDArray[np.intp],
        weight: NDArray[np.float64],
        rule: Rule,
        *,
        count: bool,
        finite: bool = True,
    ) -> PassCounts:
        """Learn rows in their order, once; ``places`` are those of their classes."""
        rates = self._rates(weight, places, self.classes_, whole=False)
        training = TrainingPass(rows, places, rates, np.arange(rows.shape[0]))
        self.last_batch_ = done = self._learn(training, rule, finite=finite)
        if count:
            self._wrong += done.n_wrong
            self._tested += rows.shape[0]
        self.n_seen_ += rows.shape[0]
        self.n_iter_ = 1
        return done

    def _start(self, weights: Any) -> None:
        self._weights = weights
        self._made_for = {name: getattr(self, name) for name in LASTING if hasattr(self, name)}

    def _learn(self, training: TrainingPass, rule: Rule, *, finite: bool = True) -> PassCounts:
        """Learn rows in turn; those not known to be finite all, or none if they hold NaN.

        Looking for NaN and infinity costs as much as learning. A pass meets them anyway, as rows
        whose margin is not finite; so where a copy of the model is small, it looks only then.
        """
        weights, rows = self._weights, training.rows
        data = rows.data if hasattr(rows, "indptr") else rows
        is_diagonal = isinstance(weights, DiagonalWeights) and len(self.classes_) > 1
        on_trial = not finite and is_diagonal and data.nbytes >= 8 * weights.table.nbytes
        if not (finite or on_trial):
            require_finite(self, rows)
        if len(self.classes_) < 2:  # there is nothing to distinguish yet
            weights.skip(len(training.order))
            return PassCounts(0, 0, 0)
        weights = copy.deepcopy(weights) if on_trial else weights
        done: PassCounts = weights.learn(training, rule)
        if on_trial and done.n_left_out:
            require_finite(self, rows)
        self._weights = weights
        self.n_updates_ += done.n_updates
        if done.n_left_out:
            warnings.warn(
                f"{done.n_left_out} of {len(training.order)} rows were left out: their squared "
                "length is beyond what a float can hold; scale X",
                RuntimeWarning,
                stacklevel=4,
            )
        return done

    def _places(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """Find labels in the list of classes, which grows if that is wanted."""
        places, strange = place_labels(labels, self.classes_)
        if not strange.any():
            return places
        if self.new_classes == "error":
            got = f"{labels[strange].tolist()[0]!r} too; new_classes='add' lets classes come later"
            raise ParameterError("y", f"hold only the classes {self.classes_.tolist()}", got=got)
        self._join(labels)
        return place_labels(labels, self.classes_)[0]

    def _meet(self, known: NDArray[Any] | None) -> None:
        """Take the list of classes of a later call, if there is one."""
        self._check_unchanged()
        if known is not None and self.new_classes == "add":
            self._join(known)
        elif known is not None and not np.array_equal(known, self.classes_):
            rule = f"be those of the first call, {self.classes_.tolist()}"
            raise ParameterError("classes", rule, known.tolist())

    def _join(self, labels: NDArray[Any]) -> None:
        known = self.classes_
        place_labels(labels, known)  # of one kind
        self.classes_ = np.union1d(known, distinct_labels(labels)[0])
        if len(self.classes_) > len(known):
            places = np.searchsorted(self.classes_, known)
            self._weights = self._weights.spread(places, len(self.classes_))

    def _check_unchanged(self) -> None:
        """Refuse a model whose weights were made for other parameters.

        Two classes have one set of weights unless others may come; more have one set each.
        """
        for name, value in self._made_for.items():
            now = getattr(self, name)
            has_room = name == "new_classes" and len(self.classes_) > 2
            if now is not value and now != value and not has_room:
                rule = f"stay {value!r} in a fitted model"
                raise ParameterError(name, rule, got=f"{now!r}: fit anew")

    @abstractmethod
    def _rule(self) -> Rule:
        """Return the rule; subclasses check their own parameters here."""

    def _rate(self) -> float:
        """Return the rate of a row of weight 1: C, of a learner that has it."""
        return float(getattr(self, "C", 1.0))

    def _checked_rule(self) -> Rule:
        positive_int(self.max_iter, "max_iter")
        positive_int(self.n_iter_no_change, "n_iter_no_change")
        one_of(self.multi_class, "multi_class", ("max-margin", "one-vs-rest"))
        one_of(self.new_classes, "new_classes", ("error", "add"))
        for name in ("fit_intercept", "shuffle", "average", "early_stopping"):
            flag(getattr(self, name, False), name)
        return self._rule()

    def _blocks(self, n_classes: int) -> tuple[int, bool]:
        """Return the number of blocks of weights, and whether they learn together.

        Two classes that stay two share one block.
        """
        if n_classes == 2 and self.new_classes == "error":
            return 1, False
        return n_classes, self.multi_class == "max-margin"

    def _new_weights(self, n_features: int, n_classes: int) -> Any:
        n_blocks, together = self._blocks(n_classes)
        if getattr(self, "kernel", None) is not None:
            from herder.online.kernelised import KernelWeights

            return KernelWeights.of(self, n_blocks, together=together)
        kind = FullWeights if self._rule().is_full else DiagonalWeights
        bias, average = bool(self.fit_intercept), bool(self.average)
        return kind(n_features, n_blocks, bias=bias, together=together, average=average)

    def _rates(
        self,
        weight: NDArray[np.float64],
        places: NDArray[np.intp],
        classes: NDArray[Any],
        *,
        whole: bool,
    ) -> NDArray[np.float64]:
        """Return C times the weight of each row."""
        with np.errstate(over="ignore"):
            rates = weight * self._rate()
            if self.class_weight is not None:
                rates = rates * class_factors(self.class_weight, classes, places, whole=whole)
        if rates.max(initial=0.0) > LARGEST_RATE:
            name = "sample_weight" if weight.max() > 1.0 else "class_weight"
            rule = f"be at most {LARGEST_RATE:g} when multiplied by C"
            raise ParameterError(name, rule, got=f"{rates.max():g}")
        return rates

    def memory(self, n_features: int, n_classes: int) -> int:
        """Return the bytes of a model, and as much again while it is written or widened.

        Parameters
        ----------
        n_features, n_classes : int
            Its size. Rows that a kernel keeps are not counted.
        """
        n_features = non_negative_int(n_features, "n_features")
        n_blocks, together = self._blocks(non_negative_int(n_classes, "n_classes"))
        numbers = n_features * n_blocks * (3 if self.average else 2)
        if self._checked_rule().is_full and getattr(self, "kernel", None) is None:
            side = n_features + bool(self.fit_intercept)
            # blocks that learn together share one matrix
            numbers += side * side * (n_blocks**2 if together else n_blocks)
        return 2 * 8 * numbers

    def to_state(self) -> State:
        """Return the weights, and a header that JSON can hold."""
        check_fitted(self, "classes_")
        self._check_unchanged()
        header = {
            **plain_estimator(self),
            "classes": plain_classes(self.classes_),
            "counts": {name: int(getattr(self, name)) for name in COUNTS},
            "meta": dict(vars(self).get("_beside", {})),
        }
        return self._weights.arrays(), header

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Make a model of what `to_state` returned."""
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
