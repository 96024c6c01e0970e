"""Training from files: labels to classes, features that come later, passes, a table of errors."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._validation import fit_rows, require_memory, row_weights
from herder.core.lanes import Progress
from herder.core.summary import listed
from herder.data.batches import Batch
from herder.data.broken import BrokenRows
from herder.data.labelled import LabelledFiles
from herder.data.numerals import LabelKind, class_kind, label_kind, label_value

__all__ = ["BatchTrainer", "ProgressTable", "TrainingCount", "train_files"]

#: Values of a list that an error shows.
SHOWN = 6

#: Rows after which the error is first shown; then at twice as many, and so on.
FIRST_MARK = 1000

#: Mean squared length of rows from which C = 1 takes single rows, and wrong labels, too seriously.
LONG = 10.0

#: Rows in memory that are learnt between two reports of progress.
HELD_ROWS = 20_000


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
            self.kind = class_kind(model.classes_)
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
        if not self.width:
            fit_rows(model, X)  # which refuses them
        places = self._places(batch)
        weight = np.ones(len(batch))
        if batch.weight is not None:
            weight = row_weights(batch.weight, len(batch))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* rows were left out", RuntimeWarning)
            done = model._learn_batch(X, places, weight, model._checked_rule(), count=count)
        n_models = model._weights.n_blocks if model.multi_class == "one-vs-rest" else 1
        self.count.rows += len(batch)
        self.count.wrong += done.n_wrong
        self.count.updates += done.n_updates / n_models
        self.count.left_out += done.n_left_out
        with np.errstate(over="ignore"):
            values = X.data if hasattr(X, "indptr") else X
            self.count.squares += float(np.linalg.norm(values)) ** 2

    def _places(self, batch: Batch) -> NDArray[np.intp]:
        """Return the place of each row's label in the list of classes, which may grow.

        A label that cannot be one is refused with the place of its row.
        """
        if self.kind is None:
            self.expect(batch.names, batch.X.shape[1])
        model, values = self.model, dict[int, Any]()
        for code in map(int, np.unique(batch.codes)):
            try:
                values[code] = self._value(batch.names[code])
            except ValueError as error:
                row = int(np.flatnonzero(batch.codes == code)[0])
                raise ValueError(f"{batch.place(row)}: {error}") from None
            if values[code] not in self._known:
                self._known.add(values[code])
                self._require_room(self.width)
        if not hasattr(model, "classes_"):
            model._open(self.width, np.array(self.classes))
        model._meet(np.array(list(values.values())) if model.new_classes == "add" else None)
        classes = {label: place for place, label in enumerate(model.classes_.tolist())}
        places = np.zeros(len(batch.names), np.intp)
        for code, value in values.items():
            places[code] = classes[value]
        return places[batch.codes]

    def _value(self, name: str) -> int | str:
        value = label_value(name, self.kind or "text")
        if value not in self._known and self.model.new_classes == "error":
            raise ValueError(
                f"label must be one of {_shown(self.classes)}, got {name!r}; --new-classes lets "
                "classes come later"
            )
        return value

    def _require_room(self, width: int) -> None:
        n_classes = max(2, len(self._known))
        needed = self.model.memory(width, n_classes)
        if needed > self.max_memory:
            is_full = getattr(self.model, "covariance", "") == "full"
            remedy = "take --covariance project" if is_full else "give features smaller numbers"
            what = f"{width:,} features and {n_classes} classes"
            require_memory(needed, self.max_memory, what, remedy)


def _shown(values: Iterable[Any]) -> str:
    return listed([repr(value) for value in values], SHOWN)


class ProgressTable:
    """Prints the error as rows go by: a line at marks.

    Parameters
    ----------
    say, warn : callable
        Print a line, or a warning.
    every : int or None
        Rows from one line to the next; they double by default.
    advise : bool
        Whether to warn of long rows.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        warn: Callable[[str], None],
        every: int | None,
        *,
        advise: bool,
    ) -> None:
        self.say, self.warn, self.every, self.may_advise = say, warn, every, advise
        self.mark = every or FIRST_MARK
        self.before = TrainingCount()

    def show(self, count: TrainingCount, *, last: bool = False) -> None:
        """Print a line of the table if a mark has been reached, or at the end."""
        self._advise(count, last=last)
        n_new = count.rows - self.before.rows
        if count.rows < self.mark and not (last and n_new):
            return
        if not self.before.rows:
            self.say(f"{'rows':>13} {'error since':>12} {'error':>8} {'updates':>8}")
        since, updates = (count.wrong - self.before.wrong) / n_new, count.updates / count.rows
        self.say(f"{count.rows:>13,} {since:>12.4f} {count.error:>8.4f} {updates:>8.4f}")
        self.before = replace(count)
        while self.mark <= count.rows:
            self.mark = self.mark + self.every if self.every else 2 * self.mark

    def _advise(self, count: TrainingCount, *, last: bool) -> None:
        """Warn once if rows are long; rows too long to learn have a warning of their own."""
        if not self.may_advise or count.left_out or (count.rows < FIRST_MARK and not last):
            return
        if count.mean_square > LONG:
            self.may_advise = False
            found = f"rows are long (mean squared length {count.mean_square:,.0f})"
            self.warn(f"{found}: consider --normalise or a smaller -C")


def train_files(
    trainer: BatchTrainer,
    files: LabelledFiles,
    broken: BrokenRows,
    table: ProgressTable,
    *,
    epochs: int,
    seed: int | None,
    progress: Progress,
) -> TrainingCount:
    """Make passes over files, in random order if there is a seed; return the count of the first.

    Parameters
    ----------
    trainer : BatchTrainer
        Of the model.
    files : LabelledFiles
        The rows.
    broken : BrokenRows
        Takes broken lines.
    table : ProgressTable
        Shows the errors of the first pass.
    epochs : int
        Number of passes.
    seed : int or None
        Random seed of the order of rows; without it, that of the files.
    progress : callable
        Called with the share of a pass that is done, and what is being done.
    """
    held = None
    if seed is not None:
        held = files.whole(broken, trainer.max_memory, progress, "shuffle the file's lines")
    size = (files.size if held is None else len(held)) or 1
    rng = np.random.default_rng(seed)
    first = TrainingCount()
    for epoch in range(1, epochs + 1):
        what = "learning" if epochs == 1 else f"pass {epoch} of {epochs}"
        trainer.count = count = TrainingCount()
        for batch in files.batches(broken) if held is None else _mixed(held, rng):
            low = 0
            while low < len(batch):
                high = low + table.mark - count.rows if epoch == 1 else len(batch)
                trainer.learn(batch.rows(slice(low, high)), count=epoch == 1)
                low = high
                if epoch == 1:
                    table.show(count)
                note = f"{what}, {count.rows:,} rows, error {count.error:.4f}"
                progress(batch.done / size, note)
        if epoch == 1:
            if not count.rows:
                raise files.no_rows(broken)
            table.show(count, last=True)
            first = count
        else:
            updates = count.updates / count.rows
            table.say(
                f"pass {epoch}: {count.error:.4f} of rows predicted wrongly though seen before, "
                f"updates {updates:.4f}"
            )
    return first


def _mixed(held: Batch, rng: np.random.Generator) -> Iterator[Batch]:
    """Yield all rows in random order."""
    order = rng.permutation(len(held))
    for low in range(0, len(held), HELD_ROWS):
        part = held.rows(order[low : low + HELD_ROWS])
        yield replace(part, done=low + len(part))
