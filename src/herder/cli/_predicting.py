"""The job behind ``herder predict``: answers to rows, how good they are, and what they rest on."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from numpy.typing import NDArray
from rich.progress import Progress

from herder._errors import ParameterError
from herder.cli._answers import SKIP_BROKEN, Answers, Marks, Teller
from herder.cli._border import heed_signals
from herder.cli._explain import Words, rank
from herder.core.summary import counted
from herder.data import write_table
from herder.data.batches import Batch
from herder.data.broken import BrokenRows
from herder.data.csv_table import write_csv_rows
from herder.data.features import CHUNK_BYTES, FeatureColumns
from herder.data.labelled import InputSpec, LabelledFiles, open_labelled
from herder.io import read_model

__all__ = ["Job", "run_job"]


@dataclass(frozen=True)
class Job:
    """The options of ``herder predict``."""

    model: Path
    data: Path | None
    output: Path | None
    explain: bool
    top: int
    by: str
    label: str | None
    skip_broken: bool
    probabilities: bool

    def broken(self) -> BrokenRows:
        """Begin to count broken rows."""
        return BrokenRows(self.skip_broken, SKIP_BROKEN)


def run_job(job: Job, progress: Progress, out: TextIO) -> tuple[list[str], list[str]]:
    """Do the job; give the lines to print about features, and about the answers.

    Parameters
    ----------
    job : Job
        What to do.
    progress : Progress
        Shows how far it is.
    out : text file
        Takes the answers as csv if they go to no file of their own.
    """
    model, meta = read_model(job.model)
    if not hasattr(model, "classes_"):
        return _fill(job, model, progress, out)
    if job.probabilities:
        raise ValueError(
            f"--probabilities must be left out for {type(model).__name__}, whose answers have them"
        )
    kept = InputSpec.of_model(job.model, meta)
    ranking = rank(model, job.top, job.by) if job.explain else None
    stream = None if job.data is None else _opened(job, job.data, model, kept)
    about = [] if stream is None else _predict(job, model, stream, progress, out)
    if ranking is None:
        return [], about
    columns = None if kept is None else kept.columns
    if columns is None and hasattr(model, "feature_names_in_"):
        columns = FeatureColumns("", tuple(model.feature_names_in_.tolist()))
    words = None
    if columns is not None and columns.is_hashed and stream is not None:
        words = Words(columns, ranking.all_places)
        for source in stream.tables:
            for chunk in source.chunks(CHUNK_BYTES):
                heed_signals()
                words.look(chunk)
    return ranking.lines(columns, words), about


def _fill(job: Job, model: Any, progress: Progress, out: TextIO) -> tuple[list[str], list[str]]:
    """Fill gaps with a random field, and list its couplings."""
    from herder.cli._filling import field_of, fill_gaps, strongest

    field = field_of(model, job.model)
    refused = {"--label": job.label, "--skip-broken": job.skip_broken}
    refused["--by"] = job.by if job.by != "weight" else None
    for option, value in refused.items():
        if value:
            raise ValueError(f"{option} must be left out for a random field, got {value}")
    about = []
    if job.data is not None:
        found = fill_gaps(
            field,
            job.data,
            job.output,
            probabilities=job.probabilities,
            progress=progress,
            out=None if job.explain else out,
        )
        about = found.lines(job.output, job.probabilities)
    return strongest(field, job.top) if job.explain else [], about


def _opened(job: Job, data: Path, model: Any, kept: InputSpec | None) -> LabelledFiles:
    """Open the rows, and find the features of the model among their columns."""
    stream = open_labelled([data], role="data", broken=job.broken(), need_label=False)
    normalise = kept is not None and kept.normalise
    if not stream.tables:
        if job.label is not None:
            raise ParameterError("label", "be left out for svmlight lines", job.label)
        if kept is not None and kept.columns is not None:
            raise ParameterError("data", f"be a table, which {job.model} learnt from", got="lines")
        return replace(stream, input=InputSpec(None, normalise))
    (source,) = stream.tables
    if kept is None:
        label = job.label or "label"
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            names = [name for name in source.names if name != label]
            if len(names) != model.n_features_in_:
                raise ValueError(
                    f"{data} must have the {model.n_features_in_:,} features of {job.model} "
                    f"besides a column {label!r}, got {len(names):,} columns"
                )
        columns = FeatureColumns(label, tuple(names))
    elif kept.columns is None:
        raise ParameterError("data", f"be svmlight lines, as for {job.model}", got="a table")
    else:
        columns = kept.columns if job.label is None else replace(kept.columns, label=job.label)
    if job.label is not None and job.label not in source.names:
        raise ParameterError("label", f"name a column of {data}", job.label)
    return replace(stream, input=InputSpec(columns, normalise))


def _predict(
    job: Job, model: Any, stream: LabelledFiles, progress: Progress, out: TextIO
) -> list[str]:
    """Write the answers, and give what there is to say about them."""
    broken, marks, teller = job.broken(), Marks(model.classes_), Teller(model)
    task = progress.add_task("predicting", total=stream.size, note="")

    def chunks() -> Iterator[dict[str, NDArray[Any]]]:
        for batch, answers in teller.answers(stream, broken):
            marks.add(batch, answers)
            progress.update(task, completed=batch.done)
            yield _columns(job, batch, answers)

    found = chunks()
    first = next(found, None)
    stream.require_rows(0 if first is None else 1, broken)
    rows = itertools.chain([first or {}], found)
    if job.output is not None:
        write_table(job.output, list(first or {}), rows)
    elif job.explain:
        for _ in rows:
            pass
    else:
        write_csv_rows(out, list(first or {}), rows)
    return _about(job, marks, teller, broken)


def _columns(job: Job, batch: Batch, answers: Answers) -> dict[str, NDArray[Any]]:
    """Give the columns of the output; rows are numbered if some may be missing."""
    labels = answers.labels
    found: dict[str, NDArray[Any]] = {batch.unit: batch.places} if job.skip_broken else {}
    found["label"] = labels.astype(object) if labels.dtype.kind == "U" else labels
    if answers.probabilities is not None:
        found["probability"] = answers.probabilities
    return found | {"margin": answers.margins}


def _about(job: Job, marks: Marks, teller: Teller, broken: BrokenRows) -> list[str]:
    n_rows = marks.rows + marks.strange + marks.bare
    where = "" if job.output is None else f"{job.output}: "
    lines = [f"{where}{counted(n_rows, 'row')} predicted", *marks.lines("error")]
    if teller.unseen:
        verb = "is" if teller.unseen == 1 else "are"
        found = f"{counted(teller.unseen, 'value')} {verb} of features"
        lines.append(f"{found} that the model has not seen")
    return lines + broken.lines()
