"""The job behind ``herder learn --algorithm boltzmann``: fit rows, check the machine, write it."""

import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.progress import Progress

from herder._errors import ParameterError
from herder.cli._border import watch
from herder.core.files import whole_file
from herder.core.summary import counted
from herder.data.binary import BinaryTable, read_binary
from herder.io import save
from herder.learn.boltzmann import BoltzmannMachine
from herder.learn.check import FitCheck, check_fit
from herder.learn.rows import ConstantColumnWarning, merge_rows

__all__ = ["Job", "read_alpha", "run_job"]


@dataclass(frozen=True)
class Job:
    """The options of ``herder learn`` that a Boltzmann machine takes."""

    train: tuple[Path, ...]
    output: Path
    params: dict[str, Any]
    drop: tuple[str, ...]
    weight: str | None
    test: Path | None
    skip_gaps: bool
    report: Path | None
    max_memory: int
    quiet: bool
    command: str


def read_alpha(text: str) -> float | str:
    """Read the weight of a penalty."""
    if text == "cv":
        return text
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise ParameterError("alpha", "be cv or a number from 0 on", text)
    return number


def run_job(job: Job, progress: Progress) -> list[str]:
    """Do the job; give the lines to print."""
    reading: dict[str, Any] = {
        "progress": watch(progress),
        "max_memory": job.max_memory,
        "weight": job.weight,
        "skip_gaps": job.skip_gaps,
    }
    table = read_binary(job.train, role="train", drop=job.drop, **reading)
    test = None
    if job.test is not None:
        test = read_binary([job.test], role="test", like=table, **reading)
    machine = _fitted(job, table, progress)
    task = progress.add_task("checking", total=None, note="")
    other = table if test is None else test
    sample = merge_rows(other.codes, other.weight)
    check = check_fit(
        machine.model_,
        sample.rows,
        sample.weights,
        sample.total,
        report=machine.diagnostics_,
        held_out=test is not None,
    )
    progress.update(task, total=1, completed=1)
    notes = _skipped(job, table, test)
    page = None if job.report is None else _page(job, machine, check, notes)
    _write(job, machine, check, page)
    return [] if job.quiet else _summary(job, table, machine, check, notes)


def _fitted(job: Job, table: BinaryTable, progress: Progress) -> BoltzmannMachine:
    machine = BoltzmannMachine(**job.params)
    task = progress.add_task("fitting", total=None, note="")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.fit(table.columns, sample_weight=table.weight)
    progress.update(task, total=1, completed=1)
    for warning in caught:
        # constant columns are in the report of the fit
        if not job.quiet and not issubclass(warning.category, ConstantColumnWarning):
            typer.echo(f"herder: {warning.message}", err=True)
    return machine


def _skipped(job: Job, table: BinaryTable, test: BinaryTable | None) -> list[str]:
    """Say how many rows had gaps."""
    named = (("", table.skipped), (f" of {job.test}", 0 if test is None else test.skipped))
    return [
        f"{counted(number, 'row')}{where} with gaps left out" for where, number in named if number
    ]


def _against(job: Job) -> str:
    """Name the rows that the machine is compared with."""
    if job.test is None:
        return "the rows it was fitted to"
    return f"the rows of {job.test.name}, to which it was not fitted"


def _write(job: Job, machine: BoltzmannMachine, check: FitCheck, page: str | None) -> None:
    """Write both files beside their places, and put them into place at the end."""
    with ExitStack() as files:
        part = files.enter_context(whole_file(job.output))
        try:
            save(machine, part, meta={"trust": check.trust, "verdict": check.verdict})
        except OSError as error:
            raise OSError(str(error).replace(str(part), str(job.output))) from error
        if job.report is not None and page is not None:
            files.enter_context(whole_file(job.report)).write_text(page, encoding="utf-8")


def _summary(
    job: Job,
    table: BinaryTable,
    machine: BoltzmannMachine,
    check: FitCheck,
    notes: list[str],
) -> list[str]:
    low, high = machine.states_
    lines = [
        f"{job.output}: BoltzmannMachine, {counted(len(table.names), 'column')} of {low} and "
        f"{high}, {counted(len(table.rows), 'row')}",
        *str(machine.diagnostics_).splitlines(),
        *notes,
        f"compared with {_against(job)}:" + (" --test takes others" if job.test is None else ""),
        *str(check).splitlines(),
    ]
    return lines if job.report is None else [*lines, f"report: {job.report}"]


def _page(job: Job, machine: BoltzmannMachine, check: FitCheck, notes: list[str]) -> str:
    import herder
    from herder.report import MachineReport, machine_page

    return machine_page(
        MachineReport(
            source=", ".join(path.name for path in job.train),
            machine=machine,
            check=check,
            against=_against(job),
            notes=notes,
            command=job.command,
            version=herder.__version__,
        )
    ).html()
