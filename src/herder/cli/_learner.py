"""A model that is being taught batches: labels to classes, features that come later, a tally."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.data.batches import Batch, LabelKind, label_kind, label_value

__all__ = ["ALGORITHMS", "Learner", "Tally", "make_model", "require_room"]

#: Name on the command line: class, fixed parameters, and options that it takes.
ALGORITHMS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "nherd": ("NHERD", {}, ("C", "covariance", "forget")),
    "arow": ("AROW", {}, ("C", "covariance", "forget")),
    "cw": ("ConfidenceWeighted", {}, ("confidence", "form", "covariance", "forget")),
    "scw": (
        "ConfidenceWeighted",
        {"form": "soft-1"},
        ("C", "confidence", "form", "covariance", "forget"),
    ),
    "pa": ("PassiveAggressive", {}, ("C", "form")),
    "perceptron": ("Perceptron", {}, ()),
    "second-order": ("SecondOrderPerceptron", {}, ("C", "covariance", "forget")),
}

#: Forms that belong to an algorithm.
FORMS = {
    "cw": ("stdev", "variance"),
    "scw": ("soft-1", "soft-2"),
    "pa": ("PA", "PA-I", "PA-II"),
}


def make_model(algorithm: str, given: Mapping[str, Any], **common: Any) -> Any:
    """Make the estimator; options in ``given`` that are None were not asked for."""
    import herder.online

    name, fixed, takes = ALGORITHMS[algorithm]
    wanted = {option: value for option, value in given.items() if value is not None}
    for option, value in wanted.items():
        if option not in takes:
            raise ParameterError(option, f"be left out for {algorithm}", got=f"{value}")
    if "form" in wanted and wanted["form"] not in FORMS[algorithm]:
        known = ", ".join(FORMS[algorithm])
        raise ParameterError("form", f"be one of {known} for {algorithm}", wanted["form"])
    model = getattr(herder.online, name)(**{**fixed, **wanted, **common})
    model._checked_rule()
    return model


def require_room(model: Any, n_features: int, n_classes: int, max_memory: int) -> None:
    """Refuse a model that exceeds the memory limit."""
    few = n_classes == 2 and model.new_classes == "error"
    n_blocks = 1 if few else n_classes
    # means, variances and averages, and as much again while they are written or widened
    needed = n_features * n_blocks * 8 * (3 if model.average else 2) * 2
    remedy = "give the features smaller numbers"
    if getattr(model, "kernel", None) is None and model._checked_rule().is_full:
        side = n_features + bool(model.fit_intercept)
        # blocks that learn together share one matrix
        blocks = n_blocks**2 if model.multi_class == "max-margin" else n_blocks
        needed += side * side * blocks * 8 * 2
        remedy = "take --covariance project"
    if needed > max_memory:
        raise ValueError(
            f"max-memory must be at least {needed / 2**20:,.0f}M for {n_features:,} features and "
            f"{n_classes} classes, got {max_memory / 2**20:,.0f}M: raise --max-memory, or {remedy}"
        )


@dataclass
class Tally:
    """Rows learnt, those predicted wrongly before, updates, and the sum of squared lengths.

    A row that changes some of several models, one against the rest for each class, is a part of
    an update.
    """

    rows: int = 0
    wrong: int = 0
    updates: float = 0.0
    squares: float = 0.0

    def since(self, before: "Tally") -> "Tally":
        """Give the difference."""
        return Tally(
            self.rows - before.rows,
            self.wrong - before.wrong,
            self.updates - before.updates,
            self.squares - before.squares,
        )

    @property
    def error(self) -> float:
        """Share of rows predicted wrongly."""
        return self.wrong / self.rows if self.rows else float("nan")

    @property
    def mean_square(self) -> float:
        """Mean squared length of the rows."""
        return self.squares / self.rows if self.rows else float("nan")


class Learner:
    """Teaches a model batch by batch.

    Parameters
    ----------
    model : estimator
        New, or one that goes on.
    max_memory : int
        Bytes that the model may take.
    may_grow : bool
        Whether features may come that the model has not room for.
    """

    def __init__(self, model: Any, *, max_memory: int, may_grow: bool) -> None:
        self.model = model
        self.max_memory = max_memory
        self.may_grow = may_grow
        self.is_new = not hasattr(model, "classes_")
        self.kind: LabelKind | None = None
        self.classes: list[Any] = []
        self._known: set[Any] = set()
        self.width = 0
        self.tally = Tally()
        self.warnings: list[str] = []
        # columns are put in the order of the features before, so their names need no check
        self._names = vars(model).pop("feature_names_in_", None)
        if not self.is_new:
            self.classes = model.classes_.tolist()
            self._known.update(self.classes)
            self.kind = "text" if model.classes_.dtype.kind in "UO" else "int"
            self.width = model.n_features_in_

    def expect(self, names: Iterable[str], width: int) -> None:
        """Begin with the labels and features that are known before the first row."""
        texts = list(names)
        if self.kind is None:
            self.kind = label_kind(texts)
        values = {label_value(name, self.kind) for name in texts}
        strange = values.difference(self.classes)
        adds = self.model.new_classes == "add"
        if self.is_new:
            self.classes = sorted(values)
        elif strange and not adds:
            raise ValueError(
                f"labels must be among the classes of the model, {_some(self.classes)}, got "
                f"{_some(sorted(strange))} too; --new-classes adds classes"
            )
        if self.is_new and len(self.classes) < 2 and not adds:
            raise ValueError(
                f"labels must be of two classes or more, got only {_some(self.classes)}; if the "
                "others come later: --new-classes"
            )
        self._known.update(values)
        if width <= self.width:
            self._require_room(self.width)
        self.widen(width)

    def widen(self, width: int) -> None:
        """Make room for features up to ``width``; a feature not seen before is at its prior."""
        if width <= self.width:
            return
        if not self.is_new and not self.may_grow:
            raise ValueError(
                f"rows must have at most the {self.width:,} features of the model, got {width:,}"
            )
        self._require_room(width)
        if hasattr(self.model, "classes_"):
            weights = self.model._weights
            if not hasattr(weights, "extended"):
                raise ValueError(
                    f"rows must have at most the {self.width:,} features that this "
                    f"{type(self.model).__name__} was made for, got {width:,}"
                )
            self.model._weights = weights.extended(width)
            self.model.n_features_in_ = width
        self.width = width

    def learn(self, batch: Batch) -> None:
        """Learn the rows of a batch, after predicting them."""
        if not len(batch):
            return
        self.widen(batch.X.shape[1])
        X = batch.X
        if X.shape[1] < self.width:
            X.resize((len(batch), self.width))
        y = self._values(batch)
        model = self.model
        before = (model.n_updates_, model._wrong) if hasattr(model, "classes_") else (0, 0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RuntimeWarning)
            first = not hasattr(model, "classes_")
            classes = np.array(self.classes) if first else None
            model.partial_fit(X, y, classes=classes, sample_weight=batch.weight)
        self.warnings += [str(warning.message) for warning in caught]
        self.tally.rows += len(batch)
        values = X.data if hasattr(X, "indptr") else X
        with np.errstate(over="ignore"):
            self.tally.squares += float(np.linalg.norm(values)) ** 2
        self.tally.updates += (model.n_updates_ - before[0]) / self._n_models()
        self.tally.wrong += model._wrong - before[1]

    def finish(self) -> Any:
        """Give the model."""
        if self._names is not None and len(self._names) == self.width:
            self.model.feature_names_in_ = self._names
        return self.model

    def _n_models(self) -> int:
        """Give how many models each row may change."""
        n_classes = len(self.model.classes_)
        few = n_classes == 2 and self.model.new_classes == "error"
        return 1 if few or self.model.multi_class == "max-margin" else n_classes

    def _values(self, batch: Batch) -> NDArray[Any]:
        """Give the classes of the rows; a label that is none of them is refused by its place."""
        if self.kind is None:
            self.expect(batch.names, batch.X.shape[1])
        values: list[Any] = [self.classes[0]] * len(batch.names)
        for code in map(int, np.unique(batch.codes)):
            try:
                values[code] = self._value(batch.names[code])
            except ValueError as error:
                row = int(np.flatnonzero(batch.codes == code)[0])
                raise ValueError(f"{batch.place(row)}: {error}") from None
        return np.array(values)[batch.codes]

    def _value(self, name: str) -> Any:
        value = label_value(name, self.kind or "text")
        if value not in self._known:
            if self.model.new_classes == "error":
                raise ValueError(
                    f"label must be one of {_some(self.classes)}, got {name!r}; --new-classes "
                    "lets classes come later"
                )
            self._known.add(value)
            self._require_room(self.width)
        return value

    def _require_room(self, width: int) -> None:
        require_room(self.model, width, max(2, len(self._known)), self.max_memory)


def _some(values: Iterable[Any]) -> str:
    """Show the first values of a list."""
    shown = [repr(value) for value in values]
    return ", ".join(shown[:6]) + (f" and {len(shown) - 6} more" if len(shown) > 6 else "")
