"""The job behind ``herder synth``: count, herd, write and sum up, all in chunks."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress

from herder._errors import ParameterError
from herder._validation import positive_int
from herder.cli._border import heed_signals
from herder.cli._odds import more_than, tail_lines
from herder.cli._table import (
    Reading,
    TableFacts,
    count_table,
    is_count_file,
    look_again,
    open_input,
)
from herder.data import TableSource, write_table
from herder.data.tables import check_format
from herder.data.variables import Codes, Variable, decode
from herder.fields.condition import Condition
from herder.fields.diagnostics import MomentDiagnostics, moment_diagnostics
from herder.fields.live import MomentHerd
from herder.fields.moment import MAX_RESTART_ROWS
from herder.models.moments import Moments

__all__ = ["Job", "run_job"]

#: Cells of one written chunk; fixed, so that the bytes of a file do not depend on the machine.
CHUNK_CELLS = 2**21

#: Seconds of herding between two looks at the keyboard, about.
BREATH = 0.1


@dataclass(frozen=True)
class Job:
    """The options of ``herder synth``."""

    table: Path
    output: Path
    n: int | None
    order: int
    where: tuple[str, ...]
    report: Path | None
    count_above: int | None
    encoding: str
    contradictions: str
    restarts: str
    burn_in: int
    missing: str
    bins: int | Mapping[str, int] | None
    max_memory: int
    command: str


def run_job(job: Job, progress: Progress) -> list[str]:
    """Do the job; give the lines to print."""
    if job.n is not None:
        positive_int(job.n, "n")
    reading = Reading(job.missing, job.bins, job.max_memory)
    source, moments = _read(job, reading, progress)
    if job.contradictions == "error":
        moments.require_consistent()
    n = _n_rows(job, moments)
    _require_format(job.output, moments)
    conditions = [_condition(text, moments) for text in job.where]
    if job.count_above is not None:
        _require_switches(job.count_above, moments)
    facts = None
    if source is not None:
        keep = MAX_RESTART_ROWS if job.restarts == "rows" else 0
        facts = look_again(source, moments, reading, progress, keep_rows=keep)
    live = MomentHerd(
        moments,
        encoding=job.encoding,
        restarts=job.restarts,
        rows=None if facts is None else facts.rows,
    )
    run = _Run(live, n, conditions, facts, counted=job.report is not None)
    run.burn_in(job.burn_in, progress)
    write_table(job.output, moments.names, run.chunks(progress))
    diagnostics = run.diagnose()
    tail = _tail(job, run, diagnostics.moment_error)
    lines = [*_summary(job, run, diagnostics), *tail]
    if job.report is not None:
        _write_report(job.report, job, run, diagnostics, tail)
        lines.append(f"report: {job.report}")
    return lines


def _read(job: Job, reading: Reading, progress: Progress) -> tuple[TableSource | None, Moments]:
    """Read a file of counts, or count a table."""
    if not is_count_file(job.table):
        source = open_input(job.table, progress)
        return source, count_table(source, job.order, reading, progress)
    if job.restarts == "rows":
        raise ParameterError(
            "restarts", "be 'visited' or 'none' for a file of counts, which has no rows", "rows"
        )
    moments = Moments.load(job.table, contradictions="allow")
    if job.order not in (2, moments.order):  # 2 is what the command assumes for tables
        raise ParameterError(
            "order",
            f"be left out for a file of counts, which has order {moments.order}",
            job.order,
        )
    return None, moments


def _require_format(output: Path, moments: Moments) -> None:
    """Write every label once, elsewhere: what the format cannot hold shows before a long run."""
    n_values = np.array(moments.n_values)
    labels = decode(np.arange(n_values.max())[:, None] % n_values, moments.variables)
    check_format(output, labels)


def _n_rows(job: Job, moments: Moments) -> int:
    if job.n is not None:
        return job.n
    if moments.common_total is None or moments.common_total < 2:
        raise ParameterError("n", "be given (-n 10000): the counts have no one total to take")
    return moments.common_total


def _condition(text: str, moments: Moments) -> tuple[int, int]:
    """Read ``column=value`` into a column and a code."""
    cuts = [i for i, letter in enumerate(text) if letter == "="]
    for cut in cuts:
        name, label = text[:cut], text[cut + 1 :]
        if name not in moments.names:
            continue
        column = moments.names.index(name)
        variable = moments.variables[column]
        if not label:
            return column, variable.code(None)
        if variable.edges is not None and label not in map(str, variable.values):
            return column, _bin_of(variable, label)
        return column, variable.code(label)
    rule = "where must be COLUMN=VALUE with a column of"
    raise ValueError(f"{rule} {', '.join(moments.names[:20])}, got {text!r}")


def _bin_of(variable: Variable, label: str) -> int:
    """Code of the bin that a number falls into."""
    try:
        number = float(label)
    except ValueError:
        raise ValueError(f"value of {variable.name!r} must be a number, got {label!r}") from None
    return int(np.searchsorted(variable.edges or (), number, side="right"))


def _require_switches(count_above: int, moments: Moments) -> None:
    other = [v.name for v in moments.variables if not v.is_binary]
    if other:
        raise ParameterError("count_above", "go with 0/1 columns only", got=f"column {other[0]!r}")
    if count_above >= moments.n_variables:
        raise ParameterError(
            "count_above",
            f"be less than the number of columns, {moments.n_variables}",
            count_above,
        )


@dataclass
class _Run:
    """A herd whose rows are written as they come, and summed up on the way."""

    live: MomentHerd
    n: int
    conditions: Sequence[tuple[int, int]]
    facts: TableFacts | None
    counted: bool
    copied: int = 0
    compared: int = 0
    counts: Any = 0.0
    ones: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _breath: int = 256

    @property
    def moments(self) -> Moments:
        return self.live.moments

    @property
    def is_switched(self) -> bool:
        return all(variable.is_binary for variable in self.moments.variables)

    def burn_in(self, n: int, progress: Progress) -> None:
        """Herd rows and forget them."""
        if not n:
            return
        task = progress.add_task("burn-in", total=n, note="")
        for codes in self._states(n):
            progress.update(task, advance=len(codes))
        self.live.reset_count()

    def chunks(self, progress: Progress) -> Iterator[dict[str, NDArray[Any]]]:
        """Give the rows as labelled columns, in chunks of one size."""
        task = progress.add_task("herding", total=self.n, note="")
        for codes in self._batches(self._matching(task, progress)):
            self._look_at(codes)
            yield decode(codes, self.moments.variables)

    def diagnose(self) -> MomentDiagnostics:
        """Sum up the run, with the shares of copied rows."""
        found = moment_diagnostics(self.live, None)
        if self.facts is None or not self.compared:
            return found
        return replace(
            found,
            copied=self.copied / self.compared,
            duplicate_share=self.facts.copies.duplicate_share,
        )

    def reached(self) -> Moments:
        """Give the counts of all herded rows."""
        totals = np.full(len(self.moments.cliques), float(self.live.n_counted))
        return replace(self.moments, counts=self.counts, totals=totals, from_rows=True)

    def sample_counts(self) -> NDArray[np.float64] | None:
        """Give P(k) of the rows given out, for 0/1 columns."""
        return self.ones / self.n if self.is_switched else None

    def _states(self, n: int | None) -> Iterator[NDArray[np.integer]]:
        """Herd ``n`` states (for ever without ``n``), a tenth of a second's worth at a time."""
        done = 0
        while n is None or done < n:
            heed_signals()
            began = time.perf_counter()
            size = self._breath if n is None else min(self._breath, n - done)
            codes = self.live.advance(size)
            done += size
            took = time.perf_counter() - began
            if took < BREATH / 2 and size == self._breath:
                self._breath = min(2 * self._breath, CHUNK_CELLS // codes.shape[1] + 1)
            elif took > 2 * BREATH:
                self._breath = max(self._breath // 2, 1)
            yield codes

    def _matching(self, task: Any, progress: Progress) -> Iterator[NDArray[np.integer]]:
        """Give herded rows that meet the conditions, ``n`` in all, and count all of them."""
        condition = Condition(self.moments, self.conditions) if self.conditions else None
        found = 0
        shown = 0.0
        for codes in self._states(None if self.conditions else self.n):
            if self.counted:
                self._count(codes)
            matching = (condition.select(codes) if condition else codes)[: self.n - found]
            found += len(matching)
            if time.perf_counter() - shown > BREATH:
                shown = time.perf_counter()
                error = float(np.abs(self.live.errors()).max())
                progress.update(task, completed=found, note=f"moment error {error:.1e}")
            yield matching
            if found == self.n:
                error = float(np.abs(self.live.errors()).max())
                progress.update(task, completed=found, note=f"moment error {error:.1e}")
                return

    def _batches(self, blocks: Iterator[NDArray[np.integer]]) -> Iterator[NDArray[np.integer]]:
        """Cut blocks of any size into batches of one size, but for the last."""
        size = max(CHUNK_CELLS // self.moments.n_variables, 1)
        waiting: list[NDArray[np.integer]] = []
        held = 0
        for block in blocks:
            waiting.append(block)
            held += len(block)
            while held >= size:
                joined = np.concatenate(waiting)
                yield joined[:size]
                waiting, held = [joined[size:]], held - size
        if held:
            yield np.concatenate(waiting)

    def _count(self, codes: NDArray[np.integer]) -> None:
        moments = self.moments
        groups: Any = (
            {"order": moments.order} if moments.is_complete else {"cliques": moments.cliques}
        )
        self.counts = (
            self.counts + Moments.from_codes(Codes(moments.variables, codes), **groups).counts
        )

    def _look_at(self, codes: NDArray[np.integer]) -> None:
        if self.facts is not None:
            copied, compared = self.facts.copies.count(codes)
            self.copied += copied
            self.compared += compared
        if self.is_switched:
            width = codes.shape[1] + 1
            ones = np.bincount(codes.sum(axis=1, dtype=np.intp), minlength=width)
            self.ones = ones if not len(self.ones) else self.ones + ones


def _summary(job: Job, run: _Run, diagnostics: MomentDiagnostics) -> list[str]:
    moments = run.moments
    lines = [f"{job.output}: {run.n:,} rows of {moments.n_variables} columns"]
    if job.where:
        lines.append(
            f"where {' and '.join(job.where)}: {run.n:,} of {run.live.n_counted:,} herded rows"
        )
    lines.append(_used(job, run))
    lines += str(diagnostics).splitlines()
    note = _sampled(run)
    if note:
        lines.append(note)
    return lines


def _used(job: Job, run: _Run) -> str:
    if job.restarts == "rows":
        return f"used: counts of {job.table}, and rows of it to start searches from"
    if run.facts is None:
        return f"used: the counts in {job.table}"
    return f"used: only counts of {job.table}, none of its rows"


def _sampled(run: _Run) -> str:
    """Say when copies were looked for among a part of the rows only."""
    if run.facts is None or run.facts.copies.one_in == 1:
        return ""
    return (
        f"to keep to the memory limit, copies were looked for among one in "
        f"{run.facts.copies.one_in} distinct rows"
    )


def _tail(job: Job, run: _Run, moment_error: float) -> list[str]:
    """Tell how often more than K columns are 1, when that was asked."""
    shares = run.sample_counts()
    if job.count_above is None or shares is None:
        return []
    if job.where:
        share = float(shares[job.count_above + 1 :].sum())
        event = more_than(job.count_above, run.moments.n_variables)
        return [f"{event} = {share:.4f} among rows where {' and '.join(job.where)}"]
    table = None if run.facts is None else run.facts.ones
    return tail_lines(job.count_above, run.moments, shares, table, run.n, moment_error)


def _write_report(
    path: Path,
    job: Job,
    run: _Run,
    diagnostics: MomentDiagnostics,
    tail: list[str],
) -> None:
    import herder
    from herder.report import Synthesis, synthesis_page

    note = _sampled(run)
    page = synthesis_page(
        Synthesis(
            source=job.table.name,
            moments=run.moments,
            reached=run.reached(),
            diagnostics=diagnostics,
            n_rows=run.n,
            where=job.where,
            restarts=job.restarts,
            table_counts=None if run.facts is None else run.facts.ones,
            sample_counts=run.sample_counts(),
            contradictions=list(diagnostics.contradictions),
            tail=tail,
            notes=[note] if note else [],
            command=job.command,
            version=herder.__version__,
        )
    )
    page.save(path)
