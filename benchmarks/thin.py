"""Thinning compared with other packages: MMD and CPU time in paired rounds, one per seed.

Run with ``python benchmarks/thin.py`` after ``pip install -e '.[bench]'``. Benchmarks can be
selected by name (``small large means memory``); results are stored only if all are run. Every
method has its own process and one thread. The MMD is computed by a routine of the benchmark
(`thinning.cases`), against which the MMD reported by the library is verified.
"""

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the reference MMD is threaded by blocks

from rich import box
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.pairing import write_results
from benchmarks.thinning.cases import draw_sample
from benchmarks.thinning.means import mean_speed, thread_speed
from benchmarks.thinning.ours import APPROXIMATIONS, OURS, memory_growth
from benchmarks.thinning.peers import PEERS
from benchmarks.thinning.workers import Run, Worker, isolated, one_thread

SEEDS = range(3)
COMPRESS = ("Compress++ g=0", "Compress++ g=4")
#: The best setting of each package; without a target of its own, ours must be no worse.
STRONGEST = ("goodpoints KT, swap on all", "coreax herding, refined")
PACKAGES = ("apricot-select", "coreax", "goodpoints", "jax", "stein-thinning", "twinning")

console = Console(width=150)


class Round(NamedTuple):
    """One method on one sample: its run, its MMD and that of a random subset."""

    run: Run
    mmd: float
    random: float


class Bar(NamedTuple):
    """A performance target: the limit, the measured value and its range."""

    text: str
    at_most: bool
    limit: float
    value: float
    lowest: float
    highest: float

    @property
    def met(self) -> bool:
        return self.value <= self.limit if self.at_most else self.value >= self.limit


Rounds = dict[str, list[Round]]


def play(names: Iterable[str], n_rows: int, width: int, n_select: int) -> Rounds:
    """Run all methods in turn on each sample."""
    rounds: Rounds = {name: [] for name in names}
    with ExitStack() as stack:
        workers = {name: stack.enter_context(Worker(name)) for name in rounds}
        for seed in SEEDS:
            sample = draw_sample(n_rows, width, seed=seed)
            random = sample.mmd_random(n_select)
            for name, worker in workers.items():
                run = worker.run(sample, n_select)
                if len(run.indices) != n_select:
                    raise RuntimeError(f"{name} chose {len(run.indices)} rows, not {n_select}")
                reached = sample.mmd(run.indices, run.weights)
                rounds[name].append(Round(run, reached, random))
    return rounds


def compare(
    text: str,
    limit: float,
    values: list[float],
    *,
    at_most: bool = True,
    pick: Callable[[list[float]], float] = mean,
) -> Bar:
    return Bar(text, at_most, limit, float(pick(values)), min(values), max(values))


def mmd_ratios(rounds: Rounds, ours: str, base: str) -> list[float]:
    return [a.mmd / b.mmd for a, b in zip(rounds[ours], rounds[base], strict=True)]


def cpu_ratios(rounds: Rounds, ours: str, base: str) -> list[float]:
    return [a.run.cpu / b.run.cpu for a, b in zip(rounds[ours], rounds[base], strict=True)]


def method_rows(rounds: Rounds, n_rows: int, width: int, n_select: int) -> list[dict[str, Any]]:
    """Means over the seeds, medians of CPU time; the first call is that of seed 0."""
    rows = []
    for name, played in rounds.items():
        own = [abs(r.run.own_mmd - r.mmd) for r in played if r.run.own_mmd is not None]
        own_cpu = [r.run.own_cpu for r in played if r.run.own_cpu is not None]
        rows.append(
            {
                "scene": "thin",
                "n_rows": n_rows,
                "width": width,
                "n_select": n_select,
                "method": name,
                "mmd": mean(r.mmd for r in played),
                "better_than_random": mean(r.random / r.mmd for r in played),
                "distinct": min(len(set(r.run.indices.tolist())) for r in played),
                "cpu_s": median(r.run.cpu for r in played),
                "wall_s": median(r.run.wall for r in played),
                "first_call_cpu_s": played[0].run.first_cpu,
                "own_mmd_difference": max(own) if own else None,
                "own_mmd_cpu_s": median(own_cpu) if own_cpu else None,
                "seeds": len(played),
            }
        )
    return rows


def show_methods(rows: list[dict[str, Any]], exact: float | None = None) -> None:
    first = rows[0]
    table = Table(
        title=f"{first['n_rows']:,} rows to {first['n_select']}, {first['width']} columns, "
        f"mean of {first['seeds']} seeds",
        box=box.MARKDOWN,
    )
    table.add_column("method")
    for name in ("MMD", "better than random", "distinct", "CPU s", "first call", "own MMD, s"):
        table.add_column(name, justify="right")
    if exact is not None:
        table.add_column("MMD / exact", justify="right")
    for row in rows:
        own = row["own_mmd_cpu_s"]
        cells = [
            str(row["method"]),
            f"{row['mmd']:.2e}",
            f"{row['better_than_random']:.1f}x",
            str(row["distinct"]),
            f"{row['cpu_s']:.3f}",
            f"{row['first_call_cpu_s']:.2f}",
            "" if own is None else f"{own:.3f}",
        ]
        if exact is not None:
            cells.append(f"{row['mmd'] / exact:.2f}")
        table.add_row(*cells)
    console.print(table)


def agreement(rounds: Rounds, where: str) -> list[Bar]:
    """Compare the MMD reported by the library with that of the benchmark.

    With weights the MMD is so small that MMD^2 is dominated by rounding errors in both
    routines; their difference is therefore relative to the MMD of a random subset.
    """
    bars = []
    for name, played in rounds.items():
        weighted = "weights" in name
        errors = []
        for run, mmd, random in ((r.run, r.mmd, r.random) for r in played):
            if run.own_mmd is not None and run.own_random is not None:
                errors.append(abs(run.own_mmd - mmd) / (random if weighted else mmd))
                errors.append(abs(run.own_random / random - 1))
        if errors:
            text = "own MMD, error / random" if weighted else "own MMD, relative error"
            bars.append(compare(f"{where}: {name}: {text}", 1e-6, errors, pick=max))
    return bars


def small(width: int, kernel_thinning: float, simplex: float) -> list[dict[str, Any]]:
    """10,000 rows to 200."""
    names = [*OURS, *(name for name in PEERS if name not in COMPRESS)]
    rounds = play(names, 10_000, width, 200)
    rows = method_rows(rounds, 10_000, width, 200)
    show_methods(rows)
    where, best = f"10,000/200, d = {width}", "herder thin, simplex weights"
    ours = "herder thin"
    against = {name: mmd_ratios(rounds, ours, name) for name in rounds}
    distinct = [len(set(r.run.indices.tolist())) / 200 for r in rounds[ours]]
    better = [r.random / r.mmd for r in rounds[best]]
    bars = [
        compare(f"{where}: distinct rows", 1.0, distinct, at_most=False, pick=min),
        compare(f"{where}: MMD / kernel thinning", kernel_thinning, against["goodpoints KT"]),
        *(
            compare(f"{where}: MMD, {name} / {base}", 1.0, mmd_ratios(rounds, name, base))
            for base in STRONGEST
            for name in (ours, "herder thin, refine=10")
        ),
    ]
    for name in ("coreax herding", "coreax herding, blocks"):
        less = [1 / r for r in cpu_ratios(rounds, ours, name)]
        bars += [
            compare(f"{where}: MMD / {name}", 1.0, against[name]),
            compare(f"{where}: CPU of {name} / ours", 30.0, less, at_most=False, pick=median),
        ]
    if simplex:
        bars.append(compare(f"{where}: simplex, random / ours", simplex, better, at_most=False))
    else:
        never = mmd_ratios(rounds, best, ours)
        bars.append(compare(f"{where}: simplex / uniform, worst seed", 1.0, never, pick=max))
    return rows + show_bars(bars + agreement(rounds, where))


def large() -> list[dict[str, Any]]:
    """100,000 rows to 256, exactly and with approximations."""
    ours, names = "herder thin", ["herder thin", *APPROXIMATIONS, *COMPRESS, "twinning"]
    rounds = play(names, 100_000, 5, 256)
    rows = method_rows(rounds, 100_000, 5, 256)
    show_methods(rows, exact=mean(r.mmd for r in rounds[ours]))
    where, dear = "100,000/256, d = 5", "Compress++ g=4"
    bars = [
        compare(f"{where}: MMD / {dear}", 0.7, mmd_ratios(rounds, ours, dear)),
        compare(f"{where}: CPU / {dear}", 0.3, cpu_ratios(rounds, ours, dear), pick=median),
    ]
    for base in ("twinning", "Compress++ g=0"):
        name = nearest(rounds, base)
        bars += [
            compare(f"{where}: MMD, {name} / {base}", 1.0, mmd_ratios(rounds, name, base)),
            compare(
                f"{where}: CPU, {name} / {base}",
                1.0,
                cpu_ratios(rounds, name, base),
                pick=median,
            ),
        ]
    return rows + show_bars(bars + agreement(rounds, where))


def nearest(rounds: Rounds, base: str) -> str:
    """Approximation with the least MMD among those faster than a peer, or the fastest."""
    cpu = {name: median(cpu_ratios(rounds, name, base)) for name in APPROXIMATIONS}
    quick = [name for name in cpu if cpu[name] <= 1]
    if not quick:
        return min(cpu, key=cpu.__getitem__)
    return min(quick, key=lambda name: mean(mmd_ratios(rounds, name, base)))


def means() -> list[dict[str, Any]]:
    """Kernel means compared with NumPy, and two threads with one."""
    table = Table(title="Kernel mean, unordered pairs per CPU second, float32", box=box.MARKDOWN)
    for name in ("d", "NumPy/s", "herder/s", "ratio", "NumPy error", "herder error"):
        table.add_column(name, justify="right")
    table.add_column("best NumPy variant")
    rows, bars = [], []
    for width, limit in ((1, 1.0), (5, 4.0), (20, 1.0), (100, 1.0)):
        row = isolated(mean_speed, width, 20_000, len(SEEDS))
        rows.append({"scene": "kernel mean", **row._asdict()})
        table.add_row(
            str(width),
            f"{row.numpy_per_second:.2e}",
            f"{row.ours_per_second:.2e}",
            f"{row.ratio:.1f}x",
            f"{row.numpy_error:.1e}",
            f"{row.ours_error:.1e}",
            row.numpy_form,
        )
        text, span = f"kernel mean, d = {width}", (row.lowest, row.highest)
        bars.append(Bar(f"{text}: speed / NumPy", False, limit, row.ratio, *span))
        error = row.ours_error
        bars.append(Bar(f"{text}: relative error", True, 1e-6, error, error, error))
    console.print(table)
    threads = isolated(thread_speed, 5, 100_000, len(SEEDS))
    rows.append({"scene": "two threads", **threads._asdict()})
    span = (threads.lowest, threads.highest)
    bars.append(Bar("kernel mean, wall-clock: 1 thread / 2", False, 1.8, threads.ratio, *span))
    console.print(f"results with one and two threads are identical: {threads.same_bits}")
    return rows + show_bars(bars)


def memory() -> list[dict[str, Any]]:
    """Peak memory in addition to the data."""
    row = isolated(memory_growth, 5, 100_000, 256)
    grown = row.thin_mb
    console.print(f"peak memory without the data: thin {grown:.0f} MB, MMD {row.mmd_mb:.0f} MB")
    bar = Bar("100,000/256: peak memory beside the data, MB", True, 100.0, grown, grown, grown)
    return [{"scene": "memory", **row._asdict()}, *show_bars([bar])]


def show_bars(bars: list[Bar]) -> list[dict[str, Any]]:
    table = Table(title="Performance targets", box=box.MARKDOWN)
    table.add_column("quantity")
    for name in ("target", "measured", "range"):
        table.add_column(name, justify="right")
    table.add_column("met")
    for bar in bars:
        table.add_row(
            bar.text,
            f"{'at most' if bar.at_most else 'at least'} {bar.limit:,.4g}",
            f"{bar.value:,.3g}",
            f"{bar.lowest:,.3g} to {bar.highest:,.3g}",
            "yes" if bar.met else "NO",
        )
    console.print(table)
    return [{"scene": "bar", **bar._asdict(), "met": bar.met} for bar in bars]


SCENES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "small": lambda: [
        *small(2, kernel_thinning=0.5, simplex=1000.0),
        *small(5, kernel_thinning=0.55, simplex=80.0),
        *small(20, kernel_thinning=0.9, simplex=0.0),
    ],
    "large": large,
    "means": means,
    "memory": memory,
}


def main(names: list[str]) -> None:
    if unknown := set(names) - set(SCENES):
        raise SystemExit(f"benchmarks are {', '.join(SCENES)}, got {', '.join(unknown)}")
    one_thread()
    rows: list[dict[str, Any]] = [
        {"scene": "versions", **{name: version(name) for name in PACKAGES}}
    ]
    for name in names or SCENES:
        console.print(f"load average before {name}: {os.getloadavg()[0]:.1f}")
        rows += SCENES[name]()
    missed = [str(row["text"]) for row in rows if row["scene"] == "bar" and not row["met"]]
    console.print(f"targets missed: {'; '.join(missed) or 'none'}")
    if names:
        console.print("not all benchmarks were run: results are not stored")
        return
    console.print(f"results stored in {write_results('thin', rows).name}")


if __name__ == "__main__":
    main(sys.argv[1:])
