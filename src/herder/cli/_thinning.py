"""The job behind ``herder thin``: read, choose, compare, and write all files or none."""

import itertools
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.progress import Progress, TaskID

from herder._validation import positive_int
from herder.cli._border import heed_signals
from herder.cli._thin_cost import Effort
from herder.core.files import whole_file
from herder.data import write_table
from herder.data.rows import locate, read_labels, read_weights
from herder.data.sample import Roles, Sample, read_sample, read_scores
from herder.kernel.comparison import ColumnErrors, compare_columns
from herder.kernel.cost import LONG_SECONDS, Cost
from herder.kernel.functions import Energy, Kernel, Stein, centred
from herder.kernel.resolve import attach_scores, resolve_kernel
from herder.kernel.result import Thinning
from herder.kernel.thinning import thin

__all__ = ["Job", "run_job"]


@dataclass(frozen=True)
class Job:
    """The options of ``herder thin``."""

    table: Path
    output: Path
    n: int
    kernel: str
    bandwidth: str | float
    standardise: bool
    weights: str
    roles: Roles
    log_weight: bool
    scores: Path | None
    shares: str
    approximate: str | None
    refine: bool
    mmd: bool | None
    indices: Path | None
    report: Path | None
    max_memory: int
    threads: int | None
    quiet: bool
    command: str


@dataclass(frozen=True)
class _Done:
    """A finished choice and what is known about it."""

    sample: Sample
    kernel: Kernel
    result: Thinning
    mass: NDArray[np.float64] | None
    losses: ColumnErrors
    mmd: float | None
    mmd_random: float | None
    notes: list[str]

    @property
    def whole(self) -> str:
        """What the choice stands for."""
        return "the density" if isinstance(self.kernel, Stein) else "all rows"


def run_job(job: Job, progress: Progress) -> list[str]:
    """Do the job; give the lines to print."""
    n = positive_int(job.n, "n")
    sample = read_sample(job.table, job.roles, _Watcher(progress))
    n_rows = len(sample.values)
    if n > n_rows:
        raise ValueError(f"n must be at most the {n_rows:,} rows of {job.table}, got {n}")
    names = _output_names(job, sample)
    _require_format(job.output, names, sample)
    _require_room(job, sample)
    done = _choose(job, sample, progress)
    page = _page(job, done).html() if job.report is not None else None
    _write(job, done, names, page)
    return [] if job.quiet else _summary(job, done)


def _output_names(job: Job, sample: Sample) -> list[str]:
    """Name the columns of the output, the weight last when rows do not count alike."""
    if job.weights == "uniform" and job.roles.label is None:
        return list(sample.names)
    tried = itertools.chain(
        ["weight", "weight_chosen"], (f"weight_{i}" for i in itertools.count(2))
    )
    free = next(name for name in tried if name not in sample.names)
    return [*sample.names, free]


def _require_format(output: Path, names: list[str], sample: Sample) -> None:
    """Write a few rows elsewhere: what the format cannot hold shows before a long run."""
    size = len(next(iter(sample.trial.values())))
    columns = {name: sample.trial.get(name, np.ones(size)) for name in names}
    with TemporaryDirectory() as folder:
        trial = Path(folder, f"trial{output.suffix}")
        try:
            write_table(trial, names, [columns])
        except ValueError as error:
            raise ValueError(str(error).replace(str(trial), str(output))) from error


def _effort(job: Job, sample: Sample) -> Effort:
    n, d = sample.values.shape
    weighted = job.weights != "uniform"
    return Effort(n, d, job.n, job.kernel, job.approximate, job.refine, weighted, job.threads)


def _skips_mmd(job: Job, effort: Effort) -> bool:
    """Whether the exact MMD is left out: on request, or beside a much quicker choice."""
    if job.mmd is not None:
        return not job.mmd
    return job.approximate is not None and effort.distance().seconds > LONG_SECONDS


def _require_room(job: Job, sample: Sample) -> None:
    """Refuse what would exceed the memory limit; say what a long run will cost."""
    effort = _effort(job, sample)
    choice, distance = effort.choice(), effort.distance()
    if _skips_mmd(job, effort):
        distance = Cost(0.0, 0.0, 0.0)
    memory = max(choice.memory, distance.memory)
    cost = Cost(choice.pairs + distance.pairs, choice.seconds + distance.seconds, memory)
    needed = memory + (0 if sample.is_mapped else sample.values.nbytes)
    if needed > job.max_memory:
        raise ValueError(
            f"max-memory must be at least {needed / 2**20:,.0f}M for {effort.n:,} rows of "
            f"{effort.d} columns, got {job.max_memory / 2**20:,.0f}M: raise --max-memory, use "
            "fewer --columns, or thin parts of the file first"
        )
    if cost.seconds > LONG_SECONDS and not job.quiet:
        faster = "" if job.approximate else "; --approximate subsample or chunks is faster"
        typer.echo(f"{job.table}: {cost}{faster}")


def _choose(job: Job, sample: Sample, progress: Progress) -> _Done:
    mass = _mass(job, sample)
    if sample.labels is not None:
        _require_labels(job, sample.labels)
    kernel = _kernel(job, sample)
    scores = None if job.scores is None else read_scores(job.scores, sample)
    with _quietly():
        result = thin(
            sample.values,
            job.n,
            kernel=kernel,
            refine=job.refine,
            weights=job.weights,
            sample_weight=mass,
            score=scores,
            y=sample.labels,
            allocation=job.shares,
            approximate=job.approximate,
            n_jobs=job.threads,
            progress=_Watcher(progress),
        )
    losses = compare_columns(
        sample.values, result.indices, result.weights, mass, names=sample.used
    )
    ours, random, notes = _distances(job, sample, result, progress)
    return _Done(sample, kernel, result, mass, losses, ours, random, notes)


def _mass(job: Job, sample: Sample) -> NDArray[np.float64] | None:
    """Give the weights of the rows; None when all count alike."""
    given = (None, sample.weight) if job.log_weight else (sample.weight, None)
    try:
        return read_weights(*given, len(sample.values))
    except (TypeError, ValueError) as error:
        column = f"column {job.roles.weight!r} of {job.table}"
        name = "log_weight" if job.log_weight else "sample_weight"
        raise ValueError(str(error).replace(name, column, 1)) from None


def _require_labels(job: Job, labels: NDArray[Any]) -> None:
    try:
        read_labels(labels, len(labels))
    except (TypeError, ValueError) as error:
        column = f"column {job.roles.label!r} of {job.table}"
        raise ValueError(str(error).replace("y must", f"{column} must", 1)) from None


def _kernel(job: Job, sample: Sample) -> Kernel:
    kernel = resolve_kernel(job.kernel, job.bandwidth, sample.values, standardise=job.standardise)
    if isinstance(kernel, Energy):
        return centred(kernel, sample.values.mean(axis=0, dtype=np.float64))
    return kernel


def _distances(
    job: Job, sample: Sample, result: Thinning, progress: Progress
) -> tuple[float | None, float | None, list[str]]:
    """Give the exact MMD of the choice and of random subsets, unless that takes too long."""
    effort = _effort(job, sample)
    if _skips_mmd(job, effort):
        seconds = effort.distance().seconds
        about = "" if job.mmd is False else f", which would take about {seconds:,.0f} s (--mmd)"
        return None, None, [f"the MMD to all rows was not computed{about}"]
    task = progress.add_task("exact MMD", total=None, note="")
    ours = result.mmd
    heed_signals()
    random = result.mmd_random
    progress.update(task, total=1, completed=1)
    return ours, random, []


class _Watcher:
    """Shows what the library tells of its progress: one bar for each kind of work."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.tasks: dict[str, TaskID] = {}

    def __call__(self, share: float, note: str) -> None:
        heed_signals()
        kind, _, detail = note.partition(", ")
        first = kind.partition(" ")[0]
        if first in ("chunk", "class"):
            kind, detail = first, kind
        if kind not in self.tasks:
            self.tasks[kind] = self.progress.add_task(kind, total=1.0, note="")
        self.progress.update(self.tasks[kind], completed=share, note=detail)


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep the library's own word on long runs away from stderr: it has been said."""
    logger, handler = logging.getLogger("herder"), logging.NullHandler()
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def _write(job: Job, done: _Done, names: list[str], page: str | None) -> None:
    """Write every file beside its place, and put all into place at the end."""
    sample, result = done.sample, done.result
    rows = sample.take(result.indices)
    if len(names) > len(sample.names):
        rows[names[-1]] = result.weights
    with ExitStack() as files:
        part = files.enter_context(whole_file(job.output))
        try:
            write_table(part, names, [rows])
        except ValueError as error:
            raise ValueError(str(error).replace(str(part), str(job.output))) from error
        if job.indices is not None:
            chosen: dict[str, Any] = {"row": result.indices, "weight": result.weights}
            if len(sample.shape) == 2:
                chosen["chain"], chosen["draw"] = locate(result.indices, sample.shape)
            write_table(files.enter_context(whole_file(job.indices)), list(chosen), [chosen])
        if job.report is not None and page is not None:
            files.enter_context(whole_file(job.report)).write_text(page, encoding="utf-8")


def _summary(job: Job, done: _Done) -> list[str]:
    m, n = len(done.result), len(done.sample.values)
    lines = [f"{job.output}: {m:,} of the {n:,} rows of {job.table}"]
    if done.mmd is not None and done.mmd_random is not None:
        times = done.mmd_random / done.mmd if done.mmd > 0 else 1.0
        better = f" ({times:,.1f} times better)" if times > 1 else ""
        random = f"a random subset would have {done.mmd_random:.3e}{better}"
        lines.append(f"MMD to {done.whole}: {done.mmd:.3e}; {random}")
    lines += [*done.notes, *str(done.losses).splitlines()]
    for role, path in (("indices", job.indices), ("report", job.report)):
        if path is not None:
            lines.append(f"{role}: {path}")
    return lines


def _page(job: Job, done: _Done) -> Any:
    import herder
    from herder.report import ThinningReport, thinning_page

    return thinning_page(
        ThinningReport(
            source=job.table.name,
            values=done.sample.values,
            indices=done.result.indices,
            weights=done.result.weights,
            losses=done.losses,
            mode=job.weights,
            whole=done.whole,
            mmd=done.mmd,
            mmd_random=done.mmd_random,
            path=_path(job, done),
            nested=not job.refine,
            sample_weight=done.mass,
            classes=_classes(done),
            how=_how(job, done),
            notes=done.notes,
            command=job.command,
            version=herder.__version__,
        )
    )


def _path(job: Job, done: _Done) -> Any:
    """Give the MMD of growing parts of the choice, and of random subsets, where it is known."""
    from herder.kernel.mmd import kernel_mean
    from herder.report import MmdPath, mmd_path

    sample, indices = done.sample, done.result.indices
    n, m = len(sample.values), len(indices)
    if done.mmd is None or done.mmd_random is None or sample.labels is not None:
        return None
    points = sample.values[indices]
    if job.scores is not None:
        points = attach_scores(points, read_scores(job.scores, sample)[indices])
        target = np.zeros(m)
    else:
        target = kernel_mean(
            sample.values, points, kernel=done.kernel, sample_weight=done.mass, n_jobs=job.threads
        )
    sizes, path = mmd_path(points, done.kernel, target, done.mmd, keep_order=not job.refine)
    if job.weights != "uniform":
        path = np.empty(0)
    random = np.empty(0)
    if job.scores is None and (m < n or done.mass is not None):
        spread = done.mmd_random * np.sqrt(m / sizes)
        if done.mass is None:
            spread = spread * np.sqrt((n - sizes) / (n - m))
        random = spread
    return MmdPath(sizes, path, random)


def _classes(done: _Done) -> dict[str, tuple[float, int, float]]:
    if done.sample.labels is None:
        return {}
    labels = np.asarray(done.sample.labels)
    n = len(labels)
    mass = np.full(n, 1 / n) if done.mass is None else done.mass
    found: dict[str, tuple[float, int, float]] = {}
    for label, rows in done.result.by_class.items():
        share = float(mass[labels == label].sum())
        found[str(label)] = (share, len(rows), len(rows) / len(done.result))
    return found


def _how(job: Job, done: _Done) -> list[tuple[str, str, str]]:
    lengths = np.atleast_1d(np.asarray(getattr(done.kernel, "bandwidth", 1.0), dtype=float))
    if job.standardise:
        shown, meaning = "one for each column", "in proportion to its standard deviation"
    else:
        shown = f"{lengths[0]:.4g}"
        meaning = "median distance of two rows" if job.bandwidth == "median" else "as given"
    facts = [("kernel", job.kernel, "what makes rows alike")]
    if job.kernel != "energy" or job.bandwidth != "median" or job.standardise:
        facts.append(("bandwidth", shown, meaning))
    if job.approximate is not None:
        facts.append(("approximation", job.approximate, "asked for with --approximate"))
    order = "rows were exchanged for better ones" if job.refine else "herding's order"
    if job.weights == "uniform":
        facts.append(("refined", "yes" if job.refine else "no", order))
    return facts
