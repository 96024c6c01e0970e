"""The job behind ``herder learn``: look at the rows, learn them in turn, write the model.

Files are read twice: first to know all labels and features, and that no line is broken, then to
learn; the file to test on is looked through before that too. The standard input is read once;
features that come later are added at their prior, which is the same as if they had been known.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import typer
from rich.progress import Progress, TaskID

from herder._errors import ParameterError
from herder.cli._answers import SKIP_BROKEN, Marks, Teller
from herder.cli._border import STOPPED, heed_signals, watch
from herder.cli._learner import ALGORITHMS, Learner, Tally, make_model
from herder.core.summary import counted
from herder.data.batches import Batch, join_batches, label_kind, label_value
from herder.data.broken import BrokenRows
from herder.data.features import FeatureColumns, choose_columns
from herder.data.labelled import InputSpec, LabelledFiles, LabelledScan, open_labelled
from herder.data.svmlight import STDIN
from herder.io import read_model, save

__all__ = ["Job", "run_job"]

#: Rows after which the error is first shown; then at twice as many, and so on.
FIRST_MARK = 1000

#: Mean squared length of rows from which C = 1 takes single rows, and wrong labels, too seriously.
LONG = 10.0

#: Rows that are learnt between two looks at the keyboard when they are held in memory.
HELD_ROWS = 20_000


@dataclass(frozen=True)
class Job:
    """The options of ``herder learn``."""

    train: tuple[Path, ...]
    output: Path
    algorithm: str
    options: dict[str, Any]
    start: Path | None
    epochs: int
    label: str | None
    weight: str | None
    text: tuple[str, ...]
    category: tuple[str, ...]
    drop: tuple[str, ...]
    hash_bits: int
    normalise: bool
    shuffle: bool
    random_state: int
    average: bool
    multi_class: str
    class_weight: tuple[str, ...]
    classes: tuple[str, ...]
    new_classes: bool
    features: int | None
    test: Path | None
    every: int | None
    skip_broken: bool
    max_memory: int
    quiet: bool

    def broken(self) -> BrokenRows:
        """Begin to count broken rows."""
        return BrokenRows(self.skip_broken, SKIP_BROKEN)


class Board:
    """Shows the error as rows go by: a line at marks, and a live note on a terminal.

    Parameters
    ----------
    job : Job
        Says how often, or to be quiet.
    progress : Progress
        Takes the live note.
    out : text file
        Takes the lines: the standard output as it was before a bar was shown.
    """

    def __init__(self, job: Job, progress: Progress, out: TextIO) -> None:
        self.every, self.quiet = job.every, job.quiet
        self.mark = job.every or FIRST_MARK
        self.before = Tally()
        self.progress = progress
        # a bar takes over the standard output: on a terminal lines go above it, but not elsewhere
        self.out = None if out.isatty() else out
        self.has_head = False
        chosen = job.start is not None or job.normalise or job.options["C"] is not None
        self.may_advise = not (job.quiet or chosen) and "C" in ALGORITHMS[job.algorithm][2]

    def say(self, line: str) -> None:
        """Print a line."""
        if not self.quiet:
            typer.echo(line, file=self.out)

    def note(self, task: TaskID, done: int, tally: Tally) -> None:
        """Bring the live line up to date."""
        note = f"{counted(tally.rows, 'row')}, error {tally.error:.4f}"
        self.progress.update(task, completed=done, note=note)

    def advise(self, learner: Learner, *, last: bool = False) -> None:
        """Say once if rows are long; rows too long to learn have a warning of their own."""
        tally = learner.tally
        if not self.may_advise or learner.warnings or (tally.rows < FIRST_MARK and not last):
            return
        if tally.mean_square > LONG:
            self.may_advise = False
            typer.echo(
                f"herder: rows are long (mean squared length {tally.mean_square:,.0f}): consider "
                "--normalise or a smaller -C",
                err=True,
            )

    def show(self, tally: Tally, *, last: bool = False) -> None:
        """Print a line of the table if a mark has been reached, or at the end."""
        if tally.rows < self.mark and not (last and tally.rows > self.before.rows):
            return
        if not self.has_head:
            self.say(f"{'rows':>13} {'error since':>12} {'error':>8} {'updates':>8}")
            self.has_head = True
        recent = tally.since(self.before)
        updates = tally.updates / tally.rows
        self.say(f"{tally.rows:>13,} {recent.error:>12.4f} {tally.error:>8.4f} {updates:>8.4f}")
        self.before = replace(tally)
        while self.mark <= tally.rows:
            self.mark = self.mark + self.every if self.every else 2 * self.mark


def run_job(job: Job, progress: Progress, out: TextIO) -> None:
    """Do the job, and print what there is to say; the model is safe before it is tested."""
    board = Board(job, progress, out)
    model, kept = (None, None) if job.start is None else _started(job, job.start)
    stream = _opened(job, model, kept)
    test = None if job.test is None else _test_stream(job, job.test, stream)
    broken = job.broken()
    facts = stream.scan(broken, watch(progress)) if stream.can_repeat else None
    if test is not None and test.can_repeat:
        test.scan(job.broken(), watch(progress))
    if facts is None and job.epochs > 1:
        raise ParameterError("epochs", "be 1 for what can be read once", job.epochs)
    learner = Learner(
        _new_model(job, facts) if model is None else model,
        max_memory=job.max_memory,
        may_grow=job.features is None and stream.input.columns is None,
    )
    names = list(job.classes) if facts is None else [*facts.labels, *job.classes]
    if names:
        learner.expect(names, max(facts.width if facts else 0, job.features or 0))
    elif job.features is not None:
        learner.widen(job.features)
    # broken lines of a file have been counted by now
    _learn(job, stream, learner, broken if facts is None else job.broken(), board)
    save(learner.finish(), job.output, meta={"input": stream.input.to_json()})
    try:
        for line in _summary(job, learner, broken):
            board.say(line)
        if test is not None:
            for line in _test_lines(test, learner.model, job.broken(), progress):
                board.say(line)
    except KeyboardInterrupt:
        typer.echo(f"herder: stopped: {job.output} was written, but not tested", err=True)
        raise typer.Exit(STOPPED) from None
    except ValueError as error:
        raise ValueError(f"{error}; {job.output} was written, but not tested") from error


def _started(job: Job, path: Path) -> tuple[Any, InputSpec | None]:
    """Read the model that goes on, and how its rows became features if that is known."""
    model, meta = read_model(path)
    if not hasattr(model, "classes_"):
        raise ValueError(
            f"--continue must name a classifier, got the {type(model).__name__} of {path}"
        )
    if job.new_classes and model.new_classes == "error":
        if len(model.classes_) == 2:
            raise ParameterError(
                "new_classes",
                f"be given when a model is begun: {path} has one set of weights for its two "
                "classes, and no room for more",
            )
        model.set_params(new_classes="add")
    return model, InputSpec.of_model(path, meta)


def _opened(job: Job, model: Any, kept: InputSpec | None) -> LabelledFiles:
    """Open the files, and decide what their columns are for."""
    stream = open_labelled(
        job.train,
        role="train",
        broken=job.broken(),
        n_features=job.features,
        weight=job.weight,
    )
    normalise = job.normalise if kept is None else kept.normalise
    given = {"text": job.text, "category": job.category, "drop": job.drop}
    if not stream.tables:
        given |= {"label": job.label, "weight": job.weight}
        _refuse(given, "for svmlight lines")
        if kept is not None and kept.columns is not None:
            raise ParameterError(
                "train", f"be a table, which {job.start} learnt from", got="lines"
            )
        return replace(stream, input=InputSpec(None, normalise))
    _refuse({"features": job.features}, "for tables")
    if kept is not None:
        _refuse(given, "with --continue")
        if kept.columns is None:
            raise ParameterError("train", f"be svmlight lines, as for {job.start}", got="a table")
        columns = kept.columns if job.label is None else replace(kept.columns, label=job.label)
    else:
        columns = choose_columns(
            stream.tables[0],
            label=job.label,
            weight=job.weight,
            text=job.text,
            category=job.category,
            drop=job.drop,
            hash_bits=job.hash_bits,
        )
        if model is not None:
            _require_fit(job, model, columns)
    return replace(stream, input=InputSpec(columns, normalise))


def _refuse(given: dict[str, Any], where: str) -> None:
    for option, value in given.items():
        if value:
            shown = ", ".join(value) if isinstance(value, tuple) else value
            raise ParameterError(option, f"be left out {where}", got=f"{shown}")


def _require_fit(job: Job, model: Any, columns: FeatureColumns) -> None:
    """Refuse columns that are not the features of a model saved from Python."""
    names = getattr(model, "feature_names_in_", None)
    if columns.width != model.n_features_in_ or (
        names is not None and tuple(names) != columns.numbers
    ):
        raise ParameterError(
            "train",
            f"have the {model.n_features_in_:,} features of {job.start}",
            got=f"{columns.width:,}: {', '.join(columns.numbers[:5])}",
        )


def _new_model(job: Job, facts: LabelledScan | None) -> Any:
    model = make_model(
        job.algorithm,
        job.options,
        average=job.average,
        multi_class=job.multi_class,
        new_classes="add" if job.new_classes else "error",
        random_state=job.random_state,
    )
    if job.class_weight:
        model.set_params(class_weight=_class_weight(job, facts))
    return model


def _class_weight(job: Job, facts: LabelledScan | None) -> dict[int | str, float]:
    """Give a factor for each class, from ``balanced`` or ``label=factor``."""
    found: dict[int | str, float] = {}
    names = [text.rpartition("=")[0] for text in job.class_weight]
    # the kind that the learner will find, so that its classes and these are the same values
    given = [*(facts.labels if facts else ()), *job.classes]
    kind = label_kind(given or names)
    if job.class_weight == ("balanced",):
        if facts is None:
            raise ParameterError(
                "class_weight", "be LABEL=FACTOR for what can be read once", got="balanced"
            )
        counts: Counter[int | str] = Counter()
        for name, count in facts.labels.items():
            counts[label_value(name, kind)] += count
        return {label: facts.n_rows / (len(counts) * n) for label, n in counts.items()}
    known = {label_value(name, kind) for name in given}
    for text, name in zip(job.class_weight, names, strict=True):
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
        if label is None or (given and label not in known and not job.new_classes):
            raise ParameterError("class_weight", "name labels of the rows", name)
        found[label] = factor
    return found


def _learn(
    job: Job, stream: LabelledFiles, learner: Learner, broken: BrokenRows, board: Board
) -> None:
    """Make the passes; the progressive error is that of the first."""
    held = _hold(job, stream, broken, board.progress) if job.shuffle else None
    rng = np.random.default_rng(job.random_state)
    first = Tally()
    for epoch in range(1, job.epochs + 1):
        size = stream.size if held is None else len(held)
        what = "learning" if job.epochs == 1 else f"pass {epoch} of {job.epochs}"
        task = board.progress.add_task(what, total=size, note="")
        learner.tally = Tally()
        counts = (learner.model._wrong, learner.model._tested) if epoch > 1 else (0, 0)
        batches = stream.batches(broken) if held is None else _mixed(held, rng)
        for batch in batches:
            low = 0
            while low < len(batch):
                high = min(len(batch), low + board.mark - learner.tally.rows)
                if epoch > 1:
                    high = len(batch)
                heed_signals()
                learner.learn(batch.rows(slice(low, high)))
                low = high
                if epoch == 1:
                    board.show(learner.tally)
                    board.advise(learner)
            board.note(task, batch.done, learner.tally)
            heed_signals()
        if epoch == 1:
            stream.require_rows(learner.tally.rows, broken)
            board.show(learner.tally, last=True)
            board.advise(learner, last=True)
            first = learner.tally
        else:
            learner.model._wrong, learner.model._tested = counts
            updates = learner.tally.updates / learner.tally.rows
            board.say(
                f"pass {epoch}: {learner.tally.error:.4f} of rows predicted wrongly though seen "
                f"before, updates {updates:.4f}"
            )
    learner.tally = first


def _hold(job: Job, stream: LabelledFiles, broken: BrokenRows, progress: Progress) -> Batch:
    """Read all rows into memory, to take them in any order."""
    task = progress.add_task("reading again", total=stream.size, note="")
    kept: list[Batch] = []
    size = 0
    for batch in stream.batches(broken):
        heed_signals()
        kept.append(batch)
        size += batch.nbytes
        # the rows, and once more while they are put together
        if 2 * size > job.max_memory:
            raise ParameterError(
                "max_memory",
                "hold all rows twice to shuffle them",
                got=f"{job.max_memory / 2**20:,.0f}M: raise --max-memory, or shuffle the "
                "lines of the file first (shuf)",
            )
        progress.update(task, completed=batch.done)
    stream.require_rows(sum(len(batch) for batch in kept), broken)
    return join_batches(kept)


def _mixed(held: Batch, rng: np.random.Generator) -> Iterator[Batch]:
    """Yield all rows in random order."""
    order = rng.permutation(len(held))
    for low in range(0, len(held), HELD_ROWS):
        heed_signals()
        part = held.rows(order[low : low + HELD_ROWS])
        yield replace(part, done=low + len(part))


def _summary(job: Job, learner: Learner, broken: BrokenRows) -> list[str]:
    model, tally = learner.model, learner.tally
    lines = [
        f"{job.output}: {type(model).__name__}, {len(model.classes_)} "
        f"class{'' if len(model.classes_) == 1 else 'es'}, "
        f"{counted(model.n_features_in_, 'feature')}, {counted(tally.rows, 'row')}"
        + (f" in {job.epochs} passes" if job.epochs > 1 else "")
        + (f", {model.n_seen_:,} with those before" if job.start else ""),
        f"progressive error {tally.error:.4f}: rows predicted wrongly before they were learnt",
    ]
    return lines + broken.lines() + learner.warnings[:1]


def _test_stream(job: Job, path: Path, stream: LabelledFiles) -> LabelledFiles:
    if path == STDIN and STDIN in stream.paths:
        raise ParameterError("test", "not be the standard input if the rows come from it", got="-")
    test = open_labelled([path], role="test", broken=job.broken(), input=stream.input)
    if bool(test.tables) != bool(stream.tables):
        raise ParameterError("test", "be a file like the one to learn from", str(path))
    return test


def _test_lines(
    test: LabelledFiles, model: Any, broken: BrokenRows, progress: Progress
) -> list[str]:
    marks, teller = Marks(model.classes_), Teller(model)
    task = progress.add_task("testing", total=test.size, note="")
    for batch, answers in teller.answers(test, broken):
        marks.add(batch, answers)
        progress.update(task, completed=batch.done)
    test.require_rows(marks.rows + marks.strange, broken)
    return marks.lines(f"error on {test.paths[0]}") + broken.lines()
