"""``herder sample``: states of a random field."""

import itertools
from pathlib import Path
from typing import Annotated, Literal

import typer

from herder.cli._border import (
    command_line,
    parse_size,
    progress_bar,
    refuse_given,
    require_output,
    user_errors,
)

__all__ = ["sample"]

TABLES = (".csv", ".npy", ".npz", ".parquet")


@user_errors
def sample(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A random field: a model file (.safetensors), a list of edges (.csv, .npz, "
            ".parquet with columns source, target, weight), or words such as `ising:64x64`, "
            "`ising:64x64:periodic`, `potts:64x64:3`.",
        ),
    ],
    n: Annotated[int, typer.Option("-n", "--rows", metavar="N", help="States to give, in all.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where the states go, one a row (.csv, .npy, .npz, .parquet), chain after "
            "chain; appears whole or not at all. May be left out with --marginals.",
        ),
    ] = None,
    method: Annotated[
        Literal["gibbs", "herded-gibbs", "swendsen-wang"],
        typer.Option(
            "--method",
            help="Site by site at random; the same without random numbers; or by clusters, for "
            "grids and other models whose couplings are strong and mostly positive.",
        ),
    ] = "gibbs",
    burn_in: Annotated[
        int, typer.Option("--burn-in", min=0, metavar="N", help="First sweeps to leave out.")
    ] = 0,
    every: Annotated[
        int,
        typer.Option(
            "--every",
            min=1,
            metavar="K",
            help="Give each K-th state; marginals use all of them.",
        ),
    ] = 1,
    chains: Annotated[
        int,
        typer.Option(
            "--chains",
            min=1,
            metavar="N",
            help="Chains with starts of their own, run side by side, that share the N states.",
        ),
    ] = 1,
    order: Annotated[
        Literal["sequential", "reversed", "checkerboard"],
        typer.Option("--order", help="Order of the sites in a sweep; not for swendsen-wang."),
    ] = "sequential",
    evidence: Annotated[
        list[str],
        typer.Option(
            "--evidence",
            metavar="SITE=VALUE",
            help="Hold a site at a value, by its name, or by its number from 0 if sites have no "
            "names (repeatable).",
        ),
    ] = [],  # noqa: B006 (typer copies it)
    temperature: Annotated[
        float,
        typer.Option(
            "--temperature",
            metavar="T",
            help="Divide all energies by T; wide grids of `ising` are critical at 2.269.",
        ),
    ] = 1.0,
    tempering: Annotated[
        str | None,
        typer.Option(
            "--tempering",
            metavar="1,1.5,2",
            help="For gibbs: run at these temperatures too and exchange states, for models whose "
            "chains stay in one valley. The states given are those at 1.",
        ),
    ] = None,
    biases: Annotated[
        Path | None,
        typer.Option(
            "--biases",
            metavar="FILE",
            help="For a list of edges: table with columns site, bias; 0 by default.",
        ),
    ] = None,
    states: Annotated[
        str | None,
        typer.Option(
            "--states",
            metavar="0,1|-1,1",
            help="For a list of edges: values of a site; 0,1 by default.",
        ),
    ] = None,
    marginals: Annotated[
        Path | None,
        typer.Option(
            "--marginals",
            metavar="FILE",
            help="Write for each site how often it is in each state, with the standard error, "
            "R-hat and effective sample size.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="PAGE.html",
            help="Write a page with marginals, energies, and whether the chains agree.",
        ),
    ] = None,
    random_state: Annotated[
        int, typer.Option("--random-state", min=0, metavar="SEED", help="Where chance begins.")
    ] = 0,
    max_memory: Annotated[
        str,
        typer.Option(
            "--max-memory",
            metavar="SIZE",
            help="Refuse states that need more, for example 500M or 8G.",
        ),
    ] = "4G",
    threads: Annotated[
        int | None,
        typer.Option("--threads", metavar="N", min=1, help="Threads; all cores by default."),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")
    ] = False,
) -> None:
    """Draw states of a random field: an Ising or Potts model, or a Boltzmann machine.

    Gibbs sampling is right for every model, if it runs long enough. Herded Gibbs takes no random
    numbers: on models without couplings, and on fully connected ones, its averages come nearer
    with the number of sweeps, not with its root. On other graphs nothing is proven, and a small
    error may stay: compare it with gibbs. R-hat near 1 says that chains agree.
    """
    from herder.cli._field import is_made

    inputs = [] if is_made(model) else [Path(model)]
    inputs += [] if biases is None else [biases]
    if output is None and marginals is None:
        raise ValueError("output must be given, or --marginals, got neither")
    if output is None:
        refuse_given(context, ("every",), "without -o: marginals use every state")
    taken = list(inputs)
    for role, path, suffixes in (
        ("output", output, TABLES),
        ("marginals", marginals, (".csv", ".npz", ".parquet")),
        ("report", report, (".html", ".htm")),
    ):
        if path is not None:
            require_output(path, role, suffixes=suffixes, others=taken)
            taken.append(path)
    if report is not None:
        import herder.report  # noqa: F401 (says now if it cannot be made)
    if method == "swendsen-wang":
        refuse_given(context, ("order",), "for swendsen-wang, which visits clusters")
    if method == "herded-gibbs":
        refuse_given(context, ("random_state",), "for herded-gibbs: nothing in it is random")
    if method != "gibbs":
        refuse_given(context, ("tempering",), f"for {method}")
    from herder.cli._sampling import Job, run_job

    job = Job(
        model=model,
        output=output,
        n=n,
        method=method,
        burn_in=burn_in,
        every=every,
        chains=chains,
        order=order,
        evidence=tuple(evidence),
        temperature=temperature,
        tempering=_heats(tempering),
        biases=biases,
        states=states,
        marginals=marginals,
        report=report,
        random_state=random_state,
        max_memory=parse_size(max_memory),
        threads=threads,
        quiet=quiet,
        command=command_line(context),
    )
    with progress_bar() as progress:
        progress.disable = progress.disable or quiet
        lines = run_job(job, progress)
    for line in lines:
        typer.echo(line)


def _heats(text: str | None) -> tuple[float, ...] | None:
    """Read temperatures, the first of which is 1."""
    if text is None:
        return None
    try:
        heats = tuple(float(word) for word in text.split(","))
    except ValueError:
        heats = ()
    rising = all(low < high < float("inf") for low, high in itertools.pairwise(heats))
    if len(heats) < 2 or heats[0] != 1 or not rising:
        raise ValueError(
            f"tempering must be rising temperatures from 1, such as 1,1.5,2, got {text!r}"
        )
    return heats
