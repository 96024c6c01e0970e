"""Random fields compared with other packages: paired CPU times, and errors to exact results.

Run with ``python benchmarks/fields.py`` after ``pip install -e '.[bench]'``. Benchmarks can be
selected by name (``learn sweeps errors clusters first``); results are stored only if all are run
with all peers. One thread. If HERDER_DATA names the papers' data, their tables are used. The
package coniii, which fits pairwise models by pseudo-likelihood, can no longer be installed:
scikit-learn regressions, one for each column, are used instead.
"""

import os
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.pairing import write_results
from benchmarks.randomfields.cases import (
    CRITICAL,
    critical_torus,
    random_grid,
    root_mean_square,
    tables,
)
from benchmarks.randomfields.clusters import ComponentSampler, mean_and_error, torus_energy
from benchmarks.randomfields.errors import PLANS, compare_errors, error_traces, pooled
from benchmarks.randomfields.first import first_calls
from benchmarks.randomfields.peers import PEERS, annealer, missing, thrml_chains
from benchmarks.randomfields.regressions import (
    FORMS,
    Fitted,
    Regressions,
    gradient_share,
    objective,
)
from benchmarks.streams.rounds import Run, compare, play, seconds_of
from herder import BoltzmannMachine, PairwiseModel, gibbs, herded_gibbs, swendsen_wang

ANNEALER, THRML = "dwave annealer, Gibbs", "thrml"

#: Sweeps of a run, divided into reads of the annealer.
N_SWEEPS, N_READS = 50_000, 50
N_CHAINS = 100

#: Models whose errors are pooled, and the sweeps at which they are compared.
N_MODELS, AT = 20, 10**5

SIDE = 200

Rows = list[dict[str, Any]]

console = Console(width=130)


def sheet(title: str, *columns: str) -> Table:
    table = Table(title=title, box=box.MARKDOWN)
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    return table


def bar(text: str, value: float, limit: float, *, most: bool = False, note: str = "") -> Rows:
    """Compare a number with its target, a lower or an upper limit."""
    met = bool(value <= limit if most else value >= limit)
    side = "at most" if most else "at least"
    shown, wanted = (f"{number:.2g}" if most else f"{number:.2f}x" for number in (value, limit))
    console.print(
        f"target: {text}: {side} {wanted}, measured {shown}{note}: {'met' if met else 'NOT MET'}"
    )
    row = {"scene": "bar", "text": text, "limit": limit, "side": side, "value": value, "met": met}
    return [{**row, "note": note.strip()}]


def speed_bar(
    text: str, limit: float, spent: Mapping[str, list[float]], ours: str, base: str
) -> Rows:
    """Compare the ratio of two CPU times with its target."""
    speed = compare(spent, ours, base)
    note = (
        f" ({speed.lower:.2f} to {speed.upper:.2f} in {speed.rounds} rounds, "
        f"best times {speed.best:.2f}x)"
    )
    return bar(text, speed.ratio, limit, note=note)


def fit_machine(method: str, table: NDArray[np.uint8], alpha: float) -> Fitted:
    """Fit a machine; separate regressions minimise the objective of "pl-node"."""
    machine = BoltzmannMachine(method, alpha=alpha).fit(table)
    if method == "pl-node":
        return Fitted(machine.node_couplings_, machine.node_biases_)
    return Fitted(machine.couplings_, machine.biases_)


def learn_table(name: str, table: NDArray[np.uint8], alpha: float) -> Rows:
    """Fit one table by regressions with each solver, and by both of our methods."""
    peers = Regressions(table, alpha)
    fits: dict[str, Fitted] = {}

    def kept(method: str) -> Run:
        """Return a run of a method that stores its fit."""
        fit = peers.run(method) if method in FORMS else lambda: fit_machine(method, table, alpha)

        def run() -> None:
            fits[method] = fit()

        return run

    tried = {form: seconds_of(kept(form)) for form in FORMS}
    fastest = min(tried, key=lambda form: tried[form])
    spent = play({method: kept(method) for method in (fastest, "pl-node", "pl")}, 20)
    values = {method: objective(table, fit, alpha) for method, fit in fits.items()}
    least = min(values.values())
    title = f"{name}, {table.shape[0]:,} rows, {table.shape[1]} columns, alpha = {alpha:g}"
    page = sheet(
        title, "method", "CPU s", f"speed / {fastest}", "objective", "gap", "gradient / start's"
    )
    rows: Rows = []
    for method, fit in fits.items():
        seconds = median(spent[method]) if method in spent else tried[method]
        ratio = compare(spent, method, fastest).ratio if method in spent else None
        share = gradient_share(table, fit, alpha, symmetric=method == "pl")
        page.add_row(
            f"herder {method}" if method in ("pl-node", "pl") else f"scikit-learn {method}",
            f"{seconds:.3f}",
            "one run" if ratio is None else f"{ratio:.2f}",
            f"{values[method]:.8f}",
            "symmetric" if method == "pl" else f"{values[method] - least:.1e}",
            f"{share:.1e}",
        )
        row = {"scene": title, "method": method, "cpu_s": seconds, "ratio": ratio}
        rows.append({**row, "objective": values[method], "gradient_share": share})
    console.print(page)
    for method, limit in (("pl-node", 2.0), ("pl", 1.0)):
        text = f"{name}, alpha = {alpha:g}: speed of {method} / scikit-learn {fastest}"
        rows += speed_bar(text, limit, spent, method, fastest)
        share = gradient_share(table, fits[method], alpha, symmetric=method == "pl")
        text = f"{name}, alpha = {alpha:g}: gradient of {method} / the start's"
        rows += bar(text, share, 1e-6, most=True)
    text = f"{name}, alpha = {alpha:g}: objective of pl-node above that of {fastest}"
    return rows + bar(text, values["pl-node"] - values[fastest], 1e-9, most=True)


def learn_scene() -> Rows:
    rows: Rows = []
    for name, table in tables().items():
        for alpha in (1e-3, 1e-5):
            rows += learn_table(name, table, alpha)
    return rows


def our_runs(model: PairwiseModel, n_chains: int, n_sweeps: int) -> dict[str, Run]:
    """Return runs of both samplers, with averages only and with all states kept."""
    way: dict[str, Any] = {"n_chains": n_chains, "n_jobs": 1}
    return {
        "gibbs": lambda: gibbs(model, n_sweeps, keep=False, **way),
        "gibbs, states kept": lambda: gibbs(model, n_sweeps, **way),
        "herded_gibbs": lambda: herded_gibbs(model, n_sweeps, keep=False, **way),
        "herded_gibbs, states kept": lambda: herded_gibbs(model, n_sweeps, **way),
    }


def marginals_of(result: Any) -> NDArray[np.float64]:
    """Return the marginals of a result of ours, or of the states of a peer."""
    return result.mean(axis=0) if isinstance(result, np.ndarray) else result.marginals


def sweep_speeds(
    title: str, runs: Mapping[str, Run], model: PairwiseModel, seconds: float
) -> tuple[Mapping[str, list[float]], Rows]:
    """Print sweeps per CPU second of all runs, and the errors of their marginals."""
    truth = model.exact().marginals
    spent = play(runs, seconds)
    bases = [name for name in (ANNEALER, THRML) if name in runs]
    page = sheet(
        title, "sampler", "sweeps / CPU s", *(f"speed / {base}" for base in bases), "RMS error"
    )
    rows: Rows = []
    for name, run in runs.items():
        error = root_mean_square(marginals_of(run()) - truth)
        per_second = N_SWEEPS / median(spent[name])
        ratios = {base: compare(spent, name, base).ratio for base in bases}
        speeds = (f"{ratio:.2f}" for ratio in ratios.values())
        page.add_row(name, f"{per_second:,.0f}", *speeds, f"{error:.1e}")
        row = {"scene": title, "sampler": name, "sweeps_per_cpu_s": per_second}
        rows.append({**row, "ratios": ratios, "rms_error": error})
    console.print(page)
    return spent, rows


def sweeps_scene() -> Rows:
    """Sweeps over a 10 x 10 grid; the annealer returns only the last state of each read."""
    rows: Rows = []
    has_annealer, has_thrml = not missing("dwave.samplers"), not missing("thrml")
    for coupling_sd in (0.3, 0.6):
        model = random_grid(coupling_sd, 0)
        runs = our_runs(model, 1, N_SWEEPS)
        if has_annealer:
            runs[ANNEALER] = annealer(model, N_READS, N_SWEEPS // N_READS)
        if has_thrml:
            compiled = thrml_chains(model, 1, N_SWEEPS)
            runs[THRML] = compiled.run
            runs["thrml, last state only"] = thrml_chains(model, 1, N_SWEEPS, keep=False).run
            console.print(f"thrml took {compiled.seconds:.1f} CPU s to compile")
            rows.append({"scene": "thrml compiled", "cpu_s": compiled.seconds})
        title = f"10x10 grid, coupling sd {coupling_sd}, one chain of {N_SWEEPS:,} sweeps"
        spent, found = sweep_speeds(title, runs, model, 10)
        rows += found
        for kept in ("", ", states kept"):
            for ours, base, limit in (
                ("gibbs", THRML, 5.0),
                ("gibbs", ANNEALER, 1.0),
                ("herded_gibbs", ANNEALER, 0.9),
            ):
                if base in runs:
                    text = f"grid, coupling sd {coupling_sd}: sweeps of {ours}{kept} / {base}"
                    rows += speed_bar(text, limit, spent, f"{ours}{kept}", base)
        runs = our_runs(model, N_CHAINS, N_SWEEPS // N_CHAINS)
        if has_annealer:
            runs[ANNEALER] = annealer(model, N_CHAINS, N_SWEEPS // N_CHAINS)
        if has_thrml:
            runs[THRML] = thrml_chains(model, N_CHAINS, N_SWEEPS // N_CHAINS).run
        title = f"the same, {N_CHAINS} chains of {N_SWEEPS // N_CHAINS} sweeps, for information"
        rows += sweep_speeds(title, runs, model, 6)[1]
    return rows


def errors_scene() -> Rows:
    """Errors of marginals on random grids, relative to the exact ones."""
    rows: Rows = []
    for coupling_sd, limit in ((0.3, 8.0), (0.6, 3.0)):
        traces = {plan.name: error_traces(plan, coupling_sd, N_MODELS) for plan in PLANS}
        lengths = sorted({length for trace in traces.values() for length in trace})
        title = f"RMS error after T sweeps, {N_MODELS} grids of 10x10, coupling sd {coupling_sd}"
        page = sheet(
            title,
            "sampler",
            *(f"T = {length:.0e}" for length in lengths),
            f"Gibbs / this, {AT:.0e}",
            "5 to 95 %",
        )
        base = traces["Gibbs"][AT]
        for name, trace in traces.items():
            errors = {length: pooled(squares) for length, squares in trace.items()}
            gain = compare_errors(trace[AT], base) if AT in trace else None
            page.add_row(
                name,
                *(f"{errors[n]:.2e}" if n in errors else "" for n in lengths),
                "" if gain is None else f"{gain.ratio:.2f}",
                "" if gain is None else f"{gain.lower:.2f} to {gain.upper:.2f}",
            )
            row = {"scene": title, "sampler": name, "errors": errors}
            rows.append({**row, "gain": None if gain is None else gain._asdict()})
        console.print(page)
        gain = compare_errors(traces["herded"][AT], base)
        text = f"coupling sd {coupling_sd}: error of Gibbs / of herded_gibbs, {AT:.0e} sweeps"
        note = f" ({gain.lower:.2f} to {gain.upper:.2f})"
        rows += bar(text, gain.ratio, limit, note=note)
        last, squares = max(traces["herded, long"].items())
        floor, passed = pooled(squares), AT * float(base.mean() / squares.mean())
        console.print(
            f"herded_gibbs: error {floor:.1e} after {last:.0e} sweeps; the error of Gibbs, which "
            f"falls as T^(-1/2), is below that after {passed:.1e} sweeps\n"
        )
        row = {"scene": "floor", "coupling_sd": coupling_sd, "error": floor, "sweeps": last}
        rows.append({**row, "gibbs_passes_after": passed})
    return rows


def clusters_scene() -> Rows:
    """Swendsen-Wang on a critical torus, compared with SciPy's connected components."""
    model, n_sweeps = critical_torus(SIDE), 500
    base = ComponentSampler(model, 0)
    base.energies(500)
    start = 2 * base.spins - 1

    def sweeps_of_base() -> None:
        for _ in range(n_sweeps):
            base.sweep()

    runs: dict[str, Run] = {
        "SciPy": sweeps_of_base,
        "swendsen_wang": lambda: swendsen_wang(model, n_sweeps, start=start, keep=False, n_jobs=1),
        "swendsen_wang, states kept": lambda: swendsen_wang(
            model, n_sweeps, start=start, n_jobs=1
        ),
    }
    spent = play(runs, 20)
    found = swendsen_wang(model, 6000, start=start, burn_in=500, thinning=3, n_jobs=1).samples
    energies = {
        "SciPy": mean_and_error(base.energies(6000)),
        "swendsen_wang": mean_and_error(model.energy(found) * CRITICAL / model.n_sites),
    }
    truth = torus_energy(SIDE, CRITICAL)
    title = f"Swendsen-Wang, {SIDE}x{SIDE} torus at the critical temperature"
    page = sheet(title, "code", "ms / sweep", "speed / SciPy", f"energy of a site ({truth:.5f})")
    rows: Rows = []
    for name, seconds in spent.items():
        ratio, each = compare(spent, name, "SciPy").ratio, 1000 * median(seconds) / n_sweeps
        mean, error = energies.get(name, (None, None))
        shown = "" if mean is None else f"{mean:.5f} +- {error:.5f}"
        page.add_row(name, f"{each:.2f}", f"{ratio:.2f}", shown)
        row = {"scene": title, "code": name, "cpu_ms_per_sweep": each, "ratio": ratio}
        rows.append({**row, "energy": mean, "energy_error": error, "exact_energy": truth})
    console.print(page)
    text = f"{SIDE}x{SIDE} critical torus: speed of swendsen_wang / SciPy's components"
    rows += speed_bar(text, 3.0, spent, "swendsen_wang", "SciPy")
    for name, (mean, error) in energies.items():
        text = f"{SIDE}x{SIDE} critical torus: energy of {name} off Kaufman's, in standard errors"
        rows += bar(text, abs(mean - truth) / error, 4.0, most=True)
    return rows


def first_scene() -> Rows:
    rows = first_calls()
    for row in rows:
        console.print(
            f"first call of {row['call']}: {row['compiled_cpu_s']:.1f} CPU s to compile, "
            f"{row['loaded_cpu_s']:.2f} with compiled code on disk, "
            f"then {1000 * row['second_call_cpu_s']:.2f} ms per call"
        )
    return rows


SCENES: dict[str, Callable[[], Rows]] = {
    "learn": learn_scene,
    "sweeps": sweeps_scene,
    "errors": errors_scene,
    "clusters": clusters_scene,
    "first": first_scene,
}


def main(names: list[str]) -> None:
    if unknown := set(names) - set(SCENES):
        raise SystemExit(f"benchmarks are {', '.join(SCENES)}, got {', '.join(unknown)}")
    absent = [module for module in PEERS if missing(module)]
    versions = {peer: version(peer) for module, peer in PEERS.items() if module not in absent}
    rows: Rows = [{"scene": "versions", **versions}]
    console.print(
        "coniii (pseudo-likelihood) can no longer be installed and is not among the peers"
    )
    for name in names or SCENES:
        load = os.getloadavg()[0]
        console.print(f"load average before {name}: {load:.1f}")
        rows += [{"scene": "load", "before": name, "load": load}, *SCENES[name]()]
    bars = [row for row in rows if row["scene"] == "bar"]
    missed = [str(row["text"]) for row in bars if not row["met"]]
    console.print(f"targets: {len(bars)}, missed: {'; '.join(missed) or 'none'}")
    if names or absent or "HERDER_DATA" not in os.environ:
        console.print(
            "results are not stored: this needs all benchmarks, all peers and HERDER_DATA"
        )
        return
    console.print(f"results stored in {write_results('fields', rows).name}")


if __name__ == "__main__":
    main(sys.argv[1:])
