"""The training of ``herder learn classifier``: models by name, passes, a table of errors."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from herder._errors import ParameterError
from herder.cli._terminal import heed_signals
from herder.cli._verb import Run
from herder.core.summary import counted
from herder.data.batches import Batch, join_batches, label_kind, label_value
from herder.data.broken import BrokenRows
from herder.data.labelled import LabelledFiles, LabelledScan
from herder.online.training import BatchTrainer, TrainingCount

__all__ = ["ALGORITHMS", "ProgressTable", "make_model", "read_class_weight", "train_passes"]

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

#: Rows after which the error is first shown; then at twice as many, and so on.
FIRST_MARK = 1000

#: Mean squared length of rows from which C = 1 takes single rows, and wrong labels, too seriously.
LONG = 10.0

#: Rows that are learnt between two looks at the keyboard when they are held in memory.
HELD_ROWS = 20_000


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
    model.memory(1, 2)  # which checks its parameters, before rows are read
    return model


def read_class_weight(
    texts: Sequence[str], scan: LabelledScan | None, names: Sequence[str], *, may_come: bool
) -> dict[int | str, float]:
    """Read ``balanced`` or ``label=factor`` into a factor for each class.

    Parameters
    ----------
    texts : sequence of str
        What was typed.
    scan : LabelledScan or None
        The labels of files.
    names : sequence of str
        Labels that are known: those of files, and those that were announced.
    may_come : bool
        Whether other labels may come.
    """
    labels = [text.rpartition("=")[0] for text in texts]
    # the kind that the trainer will find, so that its classes and these are the same values
    kind = label_kind(names or labels)
    if list(texts) == ["balanced"]:
        if scan is None:
            rule = "be LABEL=FACTOR for what can be read once"
            raise ParameterError("class_weight", rule, got="balanced")
        counts: Counter[int | str] = Counter()
        for name, count in scan.labels.items():
            counts[label_value(name, kind)] += count
        return {label: scan.n_rows / (len(counts) * n) for label, n in counts.items()}
    known = {label_value(name, kind) for name in names}
    found: dict[int | str, float] = {}
    for text, name in zip(texts, labels, strict=True):
        try:
            factor = float(text.rpartition("=")[2])
        except ValueError:
            factor = -1.0
        if not name or not 0 <= factor < float("inf"):
            raise ParameterError("class_weight", "be balanced or LABEL=FACTOR", text)
        try:
            label = label_value(name, kind)
        except ValueError:
            label = None  # no label that goes with the others
        if label is None or (names and label not in known and not may_come):
            raise ParameterError("class_weight", "name labels of the rows", name)
        found[label] = factor
    return found


class ProgressTable:
    """Prints the error as rows go by: a line at marks.

    Parameters
    ----------
    run : Run
        Prints the lines.
    every : int or None
        Rows from one line to the next; they double by default.
    advise : bool
        Whether to warn of long rows.
    """

    def __init__(self, run: Run, every: int | None, *, advise: bool) -> None:
        self.run, self.every, self.may_advise = run, every, advise
        self.mark = every or FIRST_MARK
        self.before: TrainingCount | None = None

    def show(self, count: TrainingCount, *, last: bool = False) -> None:
        """Print a line of the table if a mark has been reached, or at the end."""
        self._advise(count, last=last)
        done = 0 if self.before is None else self.before.rows
        if count.rows < self.mark and not (last and count.rows > done):
            return
        if self.before is None:
            self.run.say(f"{'rows':>13} {'error since':>12} {'error':>8} {'updates':>8}")
            self.before = TrainingCount()
        since = (count.wrong - self.before.wrong) / (count.rows - self.before.rows)
        updates = count.updates / count.rows
        self.run.say(f"{count.rows:>13,} {since:>12.4f} {count.error:>8.4f} {updates:>8.4f}")
        self.before = replace(count)
        while self.mark <= count.rows:
            self.mark = self.mark + self.every if self.every else 2 * self.mark

    def _advise(self, count: TrainingCount, *, last: bool) -> None:
        """Warn once if rows are long; rows too long to learn have a warning of their own."""
        if not self.may_advise or count.left_out or (count.rows < FIRST_MARK and not last):
            return
        if count.mean_square > LONG:
            self.may_advise = False
            self.run.warn(
                f"rows are long (mean squared length {count.mean_square:,.0f}): consider "
                "--normalise or a smaller -C"
            )


def train_passes(
    run: Run,
    trainer: BatchTrainer,
    files: LabelledFiles,
    broken: BrokenRows,
    table: ProgressTable,
    *,
    epochs: int,
    seed: int | None,
) -> TrainingCount:
    """Make the passes, in random order if there is a seed; return the count of the first."""
    held = None if seed is None else _hold(run, files, broken)
    rng = np.random.default_rng(seed)
    first = TrainingCount()
    for epoch in range(1, epochs + 1):
        size = (files.size if held is None else len(held)) or 1
        what = "learning" if epochs == 1 else f"pass {epoch} of {epochs}"
        trainer.count = count = TrainingCount()
        for batch in files.batches(broken) if held is None else _mixed(held, rng):
            low = 0
            while low < len(batch):
                high = low + table.mark - count.rows if epoch == 1 else len(batch)
                heed_signals()
                trainer.learn(batch.rows(slice(low, high)), count=epoch == 1)
                low = high
                if epoch == 1:
                    table.show(count)
            note = f"{what}, {counted(count.rows, 'row')}, error {count.error:.4f}"
            run.progress(batch.done / size, note)
        if epoch == 1:
            files.require_rows(count.rows, broken)
            table.show(count, last=True)
            first = count
        else:
            run.say(
                f"pass {epoch}: {count.error:.4f} of rows predicted wrongly though seen before, "
                f"updates {count.updates / count.rows:.4f}"
            )
    return first


def _hold(run: Run, files: LabelledFiles, broken: BrokenRows) -> Batch:
    """Read all rows into memory, to take them in any order."""
    kept: list[Batch] = []
    for batch in files.batches(broken):
        kept.append(batch)
        # the rows, and once more while they are put together
        if 2 * sum(part.nbytes for part in kept) > run.max_memory:
            raise ParameterError(
                "max_memory",
                "hold all rows twice to shuffle them",
                got=f"{run.max_memory / 2**20:,.0f}M: raise it, or shuffle the lines of the file "
                "first (shuf)",
            )
        run.progress(batch.done / (files.size or 1), "reading again")
    files.require_rows(sum(map(len, kept)), broken)
    return join_batches(kept)


def _mixed(held: Batch, rng: np.random.Generator) -> Iterator[Batch]:
    """Yield all rows in random order."""
    order = rng.permutation(len(held))
    for low in range(0, len(held), HELD_ROWS):
        part = held.rows(order[low : low + HELD_ROWS])
        yield replace(part, done=low + len(part))
