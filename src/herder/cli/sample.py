"""``herder sample``: states of a random field."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import require_memory
from herder.cli._options import RandomState, Threads
from herder.cli._verb import INPUT, METHOD, OUTPUT, TABLES, Run, option, output_option, verb
from herder.core.summary import Block, Fact, Facts, Summary, Text, counted
from herder.data.tables import write_table

if TYPE_CHECKING:
    from herder.cli._field import GivenField
    from herder.learn.boosting import BoostedField
    from herder.samplers.sampling import Sampling

__all__ = ["sample"]

#: Cells that are written between two looks at the keyboard.
CHUNK_CELLS = 2**20

#: Seconds of a run whose cost is printed before.
LONG_SECONDS = 10.0

#: Seconds for a site, and for each of its neighbours, in one sweep: right within a factor of
#: three on grids and on complete graphs.
SECONDS = {"gibbs": (3e-8, 2e-9), "herded-gibbs": (5e-8, 3e-8), "swendsen-wang": (4e-8, 2e-8)}

#: Options that a boosted field does not take, besides those of a list of edges.
NOT_BOOSTED = (
    *("method", "burn_in", "thinning", "every", "chains", "order", "evidence", "temperature"),
    *("tempering", "marginals", "threads"),
)

#: Bytes for a number of a row while it is drawn.
NUMBER_BYTES = 64


@verb(
    example="herder sample ising:64x64 -n 1000 -o states.npz --temperature 2.5 --chains 4",
    outputs={"output": TABLES, "marginals": (".csv", ".npz", ".parquet")},
    inputs=("model", "biases"),
    options={
        "n_sweeps": "n",
        "n_chains": "chains",
        "n_jobs": "threads",
        "temperatures": "tempering",
        "keep": None,
    },
    report="marginals, energies, and whether the chains agree",
    max_memory="4G",
)
def sample(
    run: Run,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A random field: a model file (.safetensors), a list of edges (.csv, .npz, "
            ".parquet with columns source, target, weight), or a grid such as `ising:64x64`, "
            "`ising:64x64:periodic`, `potts:64x64:3`. Or a boosted field (.safetensors).",
        ),
    ],
    n: Annotated[
        int, option(OUTPUT, "Number of states, over all chains.", "-n", "--rows", metavar="N")
    ],
    output: Annotated[
        Path | None,
        output_option(
            "File for the states, one a row (.csv, .npy, .npz, .parquet), chain after chain. "
            "May be left out with --marginals."
        ),
    ] = None,
    method: Annotated[
        Literal["gibbs", "herded-gibbs", "swendsen-wang"],
        option(
            METHOD,
            "Gibbs sampling; herded Gibbs, which takes no random numbers; or Swendsen-Wang, "
            "for grids and other models whose couplings are strong and mostly positive.",
        ),
    ] = "gibbs",
    burn_in: Annotated[
        int, option(METHOD, "Sweeps to discard at the start of each chain.", metavar="N", min=0)
    ] = 0,
    thinning: Annotated[
        int,
        option(METHOD, "Keep every K-th state; marginals use all of them.", metavar="K", min=1),
    ] = 1,
    chains: Annotated[
        int,
        option(
            METHOD,
            "Chains with their own starts, run in parallel, that share the N states.",
            metavar="N",
            min=1,
        ),
    ] = 1,
    order: Annotated[
        Literal["sequential", "reversed", "checkerboard"],
        option(METHOD, "Scan order of the sites; not for swendsen-wang."),
    ] = "sequential",
    evidence: Annotated[
        list[str],
        option(
            INPUT,
            "Hold a site at a value, by its name, or by its number from 0 if sites have no "
            "names (repeatable).",
            metavar="SITE=VALUE",
        ),
    ] = [],  # noqa: B006 (typer copies it)
    temperature: Annotated[
        float,
        option(
            METHOD,
            "Divide all energies by T; wide grids of `ising` are critical at 2.269.",
            metavar="T",
        ),
    ] = 1.0,
    tempering: Annotated[
        str | None,
        option(
            METHOD,
            "For gibbs: parallel tempering at these temperatures, for models with several "
            "modes. The states written are those at 1.",
            metavar="1,1.5,2",
        ),
    ] = None,
    biases: Annotated[
        Path | None,
        option(
            INPUT,
            "For a list of edges: table with columns site, bias; 0 by default.",
            metavar="FILE",
        ),
    ] = None,
    states: Annotated[
        str | None,
        option(
            INPUT, "For a list of edges: values of a site; 0,1 by default.", metavar="0,1|-1,1"
        ),
    ] = None,
    marginals: Annotated[
        Path | None,
        option(
            OUTPUT,
            "Table of marginals by site, with standard error, R-hat and effective sample size.",
            metavar="FILE",
        ),
    ] = None,
    random_state: RandomState = 0,
    threads: Threads = None,
    every: Annotated[int | None, typer.Option("--every", hidden=True, min=1)] = None,
) -> Summary:
    """Draw states of a random field: an Ising or Potts model, or a Boltzmann machine.

    Of a restricted Boltzmann machine (`herder learn rbm`) the states of the columns are written.
    Of a boosted field (`herder learn boosted`) rows are drawn, and only -n, -o and --random-state
    apply.

    Gibbs sampling is correct for every model, if it runs long enough. Herded Gibbs takes no
    random numbers: on models without couplings, and on fully connected ones, its error falls as
    1/T rather than 1/sqrt(T). On other graphs there is no guarantee, and a small bias may remain:
    compare it with gibbs. R-hat near 1 means that chains agree.
    """
    if every is not None:
        run.warn("--every is deprecated: use --thinning")
        thinning = every
    if output is None and marginals is None:
        raise ParameterError("output", "be given, or --marginals", got="neither")
    if output is None:
        run.refuse(("thinning", "every"), "without -o: marginals use every state")
    if method == "swendsen-wang":
        run.refuse(("order",), "for swendsen-wang, which visits clusters")
    if method == "herded-gibbs":
        run.refuse(("random_state",), "for herded-gibbs: nothing in it is random")
    if method != "gibbs":
        run.refuse(("tempering",), f"for {method}")
    if n < 1:
        raise ParameterError("n", "be a positive integer", n)
    if chains > n:
        raise ParameterError("chains", f"be at most the {n} states wanted", chains)
    heats = _read_temperatures(tempering)
    from herder import gibbs, herded_gibbs, swendsen_wang
    from herder.cli._field import GivenField, read_evidence, read_field

    field = read_field(model, biases=biases, states=states, max_memory=run.max_memory)
    if not isinstance(field, GivenField):
        run.refuse(NOT_BOOSTED, "for a boosted field")
        return _sample_boosted(run, field, Path(model), n, output, random_state)
    if field.n_visible is not None and method != "gibbs":
        rule = f"be gibbs for {field.source}, a restricted Boltzmann machine"
        raise ParameterError("method", rule, method)
    if temperature != 1:
        field = replace(field, model=field.model.at_temperature(temperature))
    kept = -(-n // chains)  # states of each chain; the last chains give one less if need be
    sweeps = (burn_in + kept * thinning) * chains
    needed = 2 * kept * chains * field.model.n_sites if output else 0
    what, remedy = f"states of {field.model.n_sites:,} sites", "keep fewer states with --thinning"
    require_memory(needed, run.max_memory, what, remedy)
    _tell_cost(run, field, method, sweeps * len(heats or (1.0,)), chains, threads)
    settings: dict[str, Any] = {
        "n_chains": chains,
        "burn_in": burn_in,
        "thinning": thinning,
        "keep": output is not None,
        "evidence": read_evidence(evidence, field) or None,
        "n_jobs": threads,
        "progress": lambda share, note: run.progress(
            share, f"{note}, {round(share * sweeps):,} sweeps"
        ),
    }
    if method != "herded-gibbs":
        settings["random_state"] = random_state
    if method != "swendsen-wang":
        settings["order"] = order
    if heats is not None:
        settings["temperatures"] = heats
    samplers = {"gibbs": gibbs, "herded-gibbs": herded_gibbs, "swendsen-wang": swendsen_wang}
    found = samplers[method](field.model, kept * thinning, **settings)
    shown = field.names[: field.n_visible]
    if output is not None:
        last = np.arange(1, chains + 1) * kept - 1
        rows = np.delete(found.samples, last[chains - (kept * chains - n) :], axis=0)
        found = replace(found, samples=rows)
        _write_states(run, output, shown, rows[:, : len(shown)])
    if marginals is not None:
        table = {"site": np.array(shown, dtype=object)}
        table |= {name: column[: len(shown)] for name, column in found.table().items()}
        write_table(run.part(marginals), list(table), [table])
    notes: list[Block] = [Text(note, "warning") for note in field.notes]
    about = [Fact("model", field.source, "", counted(len(field.model.edges), "coupling"))]
    if temperature != 1:
        about.append(Fact("temperature", temperature, "g", "divides all energies"))
    if output is not None:
        notes += _unreadable(output, shown)
    advice = _advice(run, found, clusters=field.n_visible is None)
    if advice:
        notes.append(Text(f"options that may help: {', '.join(advice)}"))
    summary = found.summary(shape=field.shape)
    return replace(summary, blocks=[Facts(about), *summary.blocks, *notes])


def _sample_boosted(
    run: Run,
    field: "BoostedField",
    path: Path,
    n: int,
    output: Path | None,
    random_state: int,
) -> Summary:
    """Write rows that a boosted field draws."""
    if output is None:  # --marginals was refused
        raise ParameterError("output", "be given for a boosted field", got="none")
    width = field.n_features_in_
    require_memory(NUMBER_BYTES * n * width, run.max_memory, f"{n:,} rows of {width} columns")
    run.progress(0.0, "sampling")
    rows = field.sample(n, random_state=random_state)
    run.progress(1.0, "sampling")
    names = list(vars(field).get("feature_names_in_", [f"x{j}" for j in range(width)]))
    _write_states(run, output, names, rows)
    found = field.summary()
    title = f"{counted(n, 'row')} of {path.name}, {found.title}"
    return replace(found, title=title, blocks=[*found.blocks, *_unreadable(output, names)])


def _read_temperatures(text: str | None) -> tuple[float, ...] | None:
    """Read temperatures, the first of which is 1."""
    if text is None:
        return None
    try:
        heats = tuple(float(word) for word in text.split(","))
    except ValueError:
        heats = ()
    rising = all(low < high < float("inf") for low, high in itertools.pairwise(heats))
    if len(heats) < 2 or heats[0] != 1 or not rising:
        raise ParameterError("tempering", "be rising temperatures from 1, such as 1,1.5,2", text)
    return heats


def _tell_cost(
    run: Run, field: "GivenField", method: str, sweeps: int, chains: int, threads: int | None
) -> None:
    """Print what a long run will cost."""
    from herder.core.lanes import count_threads

    model = field.model
    per_site, per_neighbour = SECONDS[method]
    states = model.n_states - 1  # of two, one is enough
    work = per_site * model.n_sites * states + per_neighbour * 2 * len(model.edges)
    seconds = sweeps * work / min(count_threads(threads), chains)
    if seconds > LONG_SECONDS:
        size = f"{model.n_sites:,} sites and {len(model.edges):,} edges"
        run.say(f"{field.source}: {sweeps:,} sweeps over {size}, about {seconds:,.0f} s")


def _write_states(run: Run, output: Path, names: Sequence[str], rows: NDArray[Any]) -> None:
    """Write states or numbers in chunks; an array without names is written as it is."""
    part = run.part(output)
    if part.suffix.lower() == ".npy":
        with open(part, "wb") as stream:
            np.save(stream, rows)
        return

    def chunks() -> Iterator[dict[str, NDArray[Any]]]:
        size = max(1, CHUNK_CELLS // rows.shape[1])
        for start in range(0, len(rows), size):
            run.progress(start / len(rows), "writing")
            block = np.ascontiguousarray(rows[start : start + size].T)
            yield dict(zip(names, block, strict=True))

    write_table(part, names, chunks())


def _unreadable(output: Path, names: Sequence[str]) -> list[Text]:
    """Return a warning if names of columns cannot be read back."""
    if output.suffix.lower() != ".csv" or not all(name.lstrip("-").isdecimal() for name in names):
        return []
    text = (
        f"{output} has numbers alone in its row of names, which herder reads back only from .npz "
        "and .parquet"
    )
    return [Text(text, "warning")]


def _advice(run: Run, found: "Sampling", *, clusters: bool) -> list[str]:
    """Return options that may help where chains disagree or draws are few."""
    from herder.samplers.monitor import FEW_DRAWS, LARGEST_R_HAT
    from herder.samplers.notes import MOSTLY

    typed = run.context.params
    options = ["--chains 4"] if found.n_chains == 1 and typed["n"] >= 4 else []
    apart = bool((found.r_hat > LARGEST_R_HAT).any())
    if apart and not found.burn_in:
        options.append("--burn-in")
    if apart or (found.ess < FEW_DRAWS).any():
        options.append("a larger -n")
    if apart and found.method != "swendsen-wang" and typed["tempering"] is None:
        weights = found.model.edge_weights
        mostly = clusters and bool(len(weights)) and (weights > 0).mean() > MOSTLY
        options.append("--method swendsen-wang" if mostly else "--tempering 1,1.5,2.2,3.3")
    return options
