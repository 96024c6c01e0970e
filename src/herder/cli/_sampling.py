"""The job behind ``herder sample``: run chains, write states, say how far to trust them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.progress import Progress, TaskID

from herder._validation import positive_int
from herder.cli._batch import counted
from herder.cli._border import heed_signals
from herder.cli._field import GivenField, read_evidence, read_field
from herder.core.files import whole_file
from herder.core.lanes import count_threads
from herder.data import write_table
from herder.samplers.monitor import FEW_DRAWS, LARGEST_R_HAT
from herder.samplers.sampling import Sampling

__all__ = ["Job", "run_job"]

#: Cells that are written between two looks at the keyboard.
CHUNK_CELLS = 2**20

#: Seconds of a run whose cost is said before.
LONG_SECONDS = 10.0

#: Seconds for a site, and for each of its neighbours, in one sweep: right within a factor of
#: three on grids and on complete graphs.
SECONDS = {"gibbs": (3e-8, 2e-9), "herded-gibbs": (5e-8, 3e-8), "swendsen-wang": (4e-8, 2e-8)}

#: States whose energies the page shows, and models whose exact marginals it shows, at most.
N_ENERGIES, EXACT_STATES = 20_000, 2**16


@dataclass(frozen=True)
class Job:
    """The options of ``herder sample``."""

    model: str
    output: Path | None
    n: int
    method: str
    burn_in: int
    every: int
    chains: int
    order: str
    evidence: tuple[str, ...]
    temperature: float
    tempering: tuple[float, ...] | None
    biases: Path | None
    states: str | None
    marginals: Path | None
    report: Path | None
    random_state: int
    max_memory: int
    threads: int | None
    quiet: bool
    command: str

    @property
    def kept(self) -> int:
        """States that each chain gives; the last chains may give one less."""
        return -(-self.n // self.chains)

    @property
    def sweeps(self) -> int:
        """Sweeps of each chain after its burn-in."""
        return self.kept * self.every


def run_job(job: Job, progress: Progress) -> list[str]:
    """Do the job; give the lines to print."""
    positive_int(job.n, "n")
    if job.chains > job.n:
        raise ValueError(f"chains must be at most the {job.n} states wanted, got {job.chains}")
    given = read_field(job.model, biases=job.biases, states=job.states, max_memory=job.max_memory)
    if job.temperature != 1:
        given = replace(given, model=given.model.at_temperature(job.temperature))
    evidence = read_evidence(job.evidence, given)
    if len(evidence) == given.model.n_sites:
        raise ValueError("evidence must leave a site free, got all sites")
    _require_room(job, given)
    found = _run(job, given, evidence, progress)
    notes = _notes(job, given, found)
    page = None if job.report is None else _page(job, given, evidence, found, notes)
    _write(job, given, found, page, progress)
    return [] if job.quiet else [*_summary(job, given, found), *notes, *_files(job, given)]


def _require_room(job: Job, given: GivenField) -> None:
    """Refuse what would exceed the memory limit; say what a long run will cost."""
    model = given.model
    # the states, and once more while chains are put together
    needed = 2 * job.kept * job.chains * model.n_sites if job.output is not None else 0
    if needed > job.max_memory:
        raise ValueError(
            f"max-memory must be at least {needed / 2**20:,.0f}M for {job.n:,} states of "
            f"{model.n_sites:,} sites, got {job.max_memory / 2**20:,.0f}M: raise --max-memory, "
            "ask for fewer states with --every, or for --marginals alone"
        )
    sweeps = (job.burn_in + job.sweeps) * job.chains
    rounds = sweeps * len(job.tempering or (1.0,))
    per_site, per_neighbour = SECONDS[job.method]
    states = model.n_states - 1  # of two, one is enough
    work = rounds * (per_site * model.n_sites * states + per_neighbour * 2 * len(model.edges))
    seconds = work / min(count_threads(job.threads), job.chains)
    if seconds > LONG_SECONDS and not job.quiet:
        typer.echo(
            f"{given.source}: {sweeps:,} sweeps over {model.n_sites:,} sites and "
            f"{len(model.edges):,} edges, about {seconds:,.0f} s, {needed / 2**20:,.0f} MiB"
        )


def _run(job: Job, given: GivenField, evidence: dict[int, int], progress: Progress) -> Sampling:
    task = progress.add_task(job.method, total=1.0, note="")
    options: dict[str, Any] = {
        "n_chains": job.chains,
        "burn_in": job.burn_in,
        "thinning": job.every,
        "keep": job.output is not None,
        "evidence": _keyed(evidence, given) or None,
        "n_jobs": job.threads,
        "progress": _watcher(job, progress, task),
    }
    if job.method != "herded-gibbs":
        options["random_state"] = job.random_state
    if job.method != "swendsen-wang":
        options["order"] = job.order
    if job.tempering is not None:
        options["temperatures"] = job.tempering
    return _sampler(job.method)(given.model, job.sweeps, **options)


def _keyed(evidence: dict[int, int], given: GivenField) -> dict[Any, int]:
    """Give evidence by name where sites have names, as a model takes it."""
    names = given.model.names
    return {site if names is None else names[site]: value for site, value in evidence.items()}


def _sampler(method: str) -> Callable[..., Sampling]:
    if method == "gibbs":
        from herder.samplers.gibbs import gibbs

        return gibbs
    if method == "herded-gibbs":
        from herder.samplers.herded import herded_gibbs

        return herded_gibbs
    from herder.samplers.clusters import swendsen_wang

    return swendsen_wang


def _watcher(job: Job, progress: Progress, task: TaskID) -> Callable[[float, str], None]:
    total = (job.burn_in + job.sweeps) * job.chains

    def watch(share: float, _: str) -> None:
        heed_signals()
        progress.update(task, completed=share, note=f"{round(share * total):,} sweeps")

    return watch


def _rows(job: Job, found: Sampling) -> NDArray[np.int8]:
    """Give the states wanted, chain after chain; the first chains give one more if need be."""
    spare = job.kept * job.chains - job.n
    if not spare:
        return found.samples
    last = np.arange(1, job.chains + 1) * job.kept - 1
    return np.delete(found.samples, last[-spare:], axis=0)


def _write(
    job: Job, given: GivenField, found: Sampling, page: str | None, progress: Progress
) -> None:
    """Write every file beside its place, and put all into place at the end."""
    with ExitStack() as files:
        if job.output is not None:
            part = files.enter_context(whole_file(job.output))
            _write_rows(part, given, _rows(job, found), progress)
        if job.marginals is not None:
            table = _marginals(given, found)
            write_table(files.enter_context(whole_file(job.marginals)), list(table), [table])
        if job.report is not None and page is not None:
            files.enter_context(whole_file(job.report)).write_text(page, encoding="utf-8")


def _write_rows(part: Path, given: GivenField, rows: NDArray[np.int8], progress: Progress) -> None:
    """Write the states; an array without names goes out as it is."""
    if part.suffix.lower() == ".npy":
        with open(part, "wb") as stream:
            np.save(stream, rows)
        return
    write_table(part, given.names, _chunks(given, rows, progress))


def _chunks(
    given: GivenField, rows: NDArray[np.int8], progress: Progress
) -> Iterator[dict[str, NDArray[Any]]]:
    task = progress.add_task("writing", total=len(rows), note="")
    size = max(1, CHUNK_CELLS // rows.shape[1])
    for start in range(0, len(rows), size):
        heed_signals()
        block = np.ascontiguousarray(rows[start : start + size].T)
        yield dict(zip(given.names, block, strict=True))
        progress.update(task, completed=min(start + size, len(rows)))


def _marginals(given: GivenField, found: Sampling) -> dict[str, NDArray[Any]]:
    """Give the columns of the table of marginals: one row for each site."""
    names = np.array(given.names, dtype=object)
    table: dict[str, NDArray[Any]] = {"site": names}
    if found.marginals.ndim == 1:
        table |= {"probability": found.marginals, "error": found.errors}
    else:
        for state in range(found.marginals.shape[1]):
            table[f"probability_{state}"] = found.marginals[:, state]
            table[f"error_{state}"] = found.errors[:, state]
    return table | {"r_hat": found.r_hat, "ess": found.ess}


def _summary(job: Job, given: GivenField, found: Sampling) -> list[str]:
    model = given.model
    chains = counted(job.chains, "chain")
    sweeps = f"{job.sweeps:,} sweeps" + (f" after {job.burn_in:,}" if job.burn_in else "")
    lines = []
    if job.output is not None:
        lines.append(f"{job.output}: {job.n:,} states of {counted(model.n_sites, 'site')}")
    lines.append(f"{job.method}: {chains} of {sweeps}")
    rates = found.diagnostics.get("swaps")
    if rates is not None:
        shown = ", ".join(f"{rate:.0%}" for rate in np.mean(rates, axis=0))
        lines.append(f"exchanges taken between neighbouring temperatures: {shown}")
    moved = ~np.isnan(found.r_hat)
    if moved.any():
        worst, least = int(np.nanargmax(found.r_hat)), int(np.nanargmin(found.ess))
        lines.append(
            f"R-hat at most {found.r_hat[worst]:.3f} ({given.names[worst]}); effective draws at "
            f"least {found.ess[least]:,.0f} ({given.names[least]}), median "
            f"{np.nanmedian(found.ess):,.0f}"
        )
    return lines


def _notes(job: Job, given: GivenField, found: Sampling) -> list[str]:
    """Say what speaks against trusting the run, and which options may help."""
    notes = [*given.notes, *found.notes]
    options = _options(job, given, found)
    return [*notes, f"options that may help: {', '.join(options)}"] if options else notes


def _options(job: Job, given: GivenField, found: Sampling) -> list[str]:
    options = ["--chains 4"] if job.chains == 1 and job.n >= 4 else []
    apart = bool((found.r_hat > LARGEST_R_HAT).any())
    if apart and not job.burn_in:
        options.append("--burn-in")
    if apart or (found.ess < FEW_DRAWS).any():
        options.append("a larger -n")
    if apart and job.method != "swendsen-wang" and job.tempering is None:
        weights = given.model.edge_weights
        mostly = bool(len(weights)) and (weights > 0).mean() > 0.9
        options.append("--method swendsen-wang" if mostly else "--tempering 1,1.5,2.2,3.3")
    return options


def _files(job: Job, given: GivenField) -> list[str]:
    named = (("marginals", job.marginals), ("report", job.report))
    lines = [f"{role}: {path}" for role, path in named if path is not None]
    text = job.output is not None and job.output.suffix.lower() == ".csv"
    if text and all(name.lstrip("-").isdecimal() for name in given.names):
        lines.append(
            f"{job.output} has numbers alone in its row of names, which herder reads back only "
            "from .npz and .parquet"
        )
    return lines


def _page(
    job: Job,
    given: GivenField,
    evidence: dict[int, int],
    found: Sampling,
    notes: list[str],
) -> str:
    import herder
    from herder.report import SamplingReport, sampling_page

    model = given.model
    rows = _rows(job, found)
    step = max(1, -(-len(rows) // N_ENERGIES))
    small = not evidence and model.n_states**model.n_sites <= EXACT_STATES
    return sampling_page(
        SamplingReport(
            source=given.source,
            model=model,
            sampling=found,
            n_states=job.n,
            names=given.names,
            energies=model.energy(rows[::step]) if len(rows) else None,
            last=rows[-1] if len(rows) and len(given.shape or ()) == 2 else None,
            shape=given.shape,
            exact=model.exact() if small else None,
            evidence={given.names[site]: value for site, value in evidence.items()},
            burn_in=job.burn_in,
            temperature=job.temperature,
            notes=notes,
            command=job.command,
            version=herder.__version__,
        )
    ).html()
