"""Training by batches of a file: labels to classes, features that come later, what was learnt."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.core.summary import listed
from herder.data.batches import Batch, LabelKind, label_kind, label_value

__all__ = ["BatchTrainer", "TrainingCount"]

#: Values of a list that an error shows.
SHOWN = 6


@dataclass
class TrainingCount:
    """Rows learnt, those predicted wrongly before, updates, and the sum of squared lengths.

    A row that changes some of several models, one against the rest for each class, is a part of
    an update; a row that is left out is too long to be learnt.
    """

    rows: int = 0
    wrong: int = 0
    updates: float = 0.0
    squares: float = 0.0
    left_out: int = 0

    @property
    def error(self) -> float:
        """Share of rows predicted wrongly."""
        return self.wrong / self.rows if self.rows else float("nan")

    @property
    def mean_square(self) -> float:
        """Mean squared length of the rows."""
        return self.squares / self.rows if self.rows else float("nan")


class BatchTrainer:
    """Teaches a model batch by batch.

    Parameters
    ----------
    model : OnlineClassifier
        New, or one that goes on.
    max_memory : int
        Bytes that the model may take.
    may_grow : bool
        Whether features may come that the model has not room for.

    Attributes
    ----------
    count : TrainingCount
        Of the pass there is; a pass begins with a new one.
    """

    def __init__(self, model: Any, *, max_memory: int, may_grow: bool) -> None:
        self.model = model
        self.max_memory = max_memory
        self.may_grow = may_grow
        self.count = TrainingCount()
        self.kind: LabelKind | None = None
        self.classes: list[Any] = []
        self.width = 0
        self.is_new = not hasattr(model, "classes_")
        if not self.is_new:
            self.classes = model.classes_.tolist()
            self.kind = "text" if model.classes_.dtype.kind in "UO" else "int"
            self.width = model.n_features_in_
        self._known = set(self.classes)

    def expect(self, names: Iterable[str], width: int) -> None:
        """Begin with the labels and features that are known before the first row."""
        texts = list(names)
        self.kind = self.kind or label_kind(texts)
        values = {label_value(name, self.kind) for name in texts}
        strange = values.difference(self.classes)
        adds = self.model.new_classes == "add"
        if self.is_new:
            self.classes = sorted(values)
        elif strange and not adds:
            raise ValueError(
                f"labels must be among the classes of the model, {_shown(self.classes)}, got "
                f"{_shown(sorted(strange))} too; --new-classes adds classes"
            )
        if self.is_new and len(self.classes) < 2 and not adds:
            raise ValueError(
                f"labels must be of two classes or more, got only {_shown(self.classes)}; if the "
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
            self.model.widen(width)
        self.width = width

    def learn(self, batch: Batch, *, count: bool = True) -> None:
        """Learn the rows of a batch, after predicting them.

        Parameters
        ----------
        batch : Batch
            Its columns are the features of the model in their order.
        count : bool
            Whether they count for the progressive error of the model.
        """
        if not len(batch):
            return
        self.widen(batch.X.shape[1])
        X, model = batch.X, self.model
        if X.shape[1] < self.width:
            X.resize((len(batch), self.width))
        y = self._values(batch)
        classes = None if hasattr(model, "classes_") else np.array(self.classes)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            warnings.filterwarnings("ignore", ".* rows were left out", RuntimeWarning)
            model.partial_fit(X, y, classes=classes, sample_weight=batch.weight, count=count)
        n_classes = len(model.classes_)
        apart = model.multi_class == "one-vs-rest"
        few = n_classes == 2 and model.new_classes == "error"
        self.count.rows += len(batch)
        self.count.wrong += model.last_batch_.n_wrong
        self.count.updates += model.last_batch_.n_updates / (n_classes if apart and not few else 1)
        self.count.left_out += model.last_batch_.n_left_out
        with np.errstate(over="ignore"):
            values = X.data if hasattr(X, "indptr") else X
            self.count.squares += float(np.linalg.norm(values)) ** 2

    def _values(self, batch: Batch) -> NDArray[Any]:
        """Return the classes of the rows; a label that is none of them is refused by its place."""
        if self.kind is None:
            self.expect(batch.names, batch.X.shape[1])
        values: list[Any] = [self.classes[0]] * len(batch.names)
        for code in map(int, np.unique(batch.codes)):
            try:
                values[code] = self._value(batch.names[code])
            except ParameterError:
                raise
            except ValueError as error:
                row = int(np.flatnonzero(batch.codes == code)[0])
                raise ValueError(f"{batch.place(row)}: {error}") from None
        return np.array(values)[batch.codes]

    def _value(self, name: str) -> Any:
        value = label_value(name, self.kind or "text")
        if value not in self._known:
            if self.model.new_classes == "error":
                raise ValueError(
                    f"label must be one of {_shown(self.classes)}, got {name!r}; --new-classes "
                    "lets classes come later"
                )
            self._known.add(value)
            self._require_room(self.width)
        return value

    def _require_room(self, width: int) -> None:
        n_classes = max(2, len(self._known))
        needed = self.model.memory(width, n_classes)
        if needed > self.max_memory:
            is_full = getattr(self.model, "covariance", "") == "full"
            remedy = "take --covariance project" if is_full else "give features smaller numbers"
            raise ParameterError(
                "max_memory",
                f"be at least {needed / 2**20:,.0f}M for {width:,} features and "
                f"{n_classes} classes",
                got=f"{self.max_memory / 2**20:,.0f}M: raise --max-memory, or {remedy}",
            )


def _shown(values: Iterable[Any]) -> str:
    return listed([repr(value) for value in values], SHOWN)
