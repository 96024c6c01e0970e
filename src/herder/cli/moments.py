"""``herder moments``: count a table."""

from pathlib import Path
from typing import Annotated

import typer

from herder.cli._border import (
    parse_bins,
    parse_size,
    progress_bar,
    require_output,
    user_errors,
)
from herder.cli._options import Bins, MaxMemory, Missing, Order, Table

__all__ = ["moments"]

#: Contradictions that are printed.
N_SHOWN = 5


@user_errors
def moments(
    table: Table,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where the counts go (.csv, .npz, .parquet). Without it they are only summed up.",
        ),
    ] = None,
    order: Order = 2,
    missing: Missing = "error",
    bins: Bins = [],  # noqa: B006 (typer copies it)
    max_memory: MaxMemory = "1G",
) -> None:
    """Count how often values occur together, in all pairs (or triples) of columns.

    The counts are a plain table that a person can read, publish and type; `herder synth` makes
    rows from it. Given a file of counts instead of a table, checks whether they contradict
    each other.
    """
    from herder.cli._table import (
        Reading,
        count_table,
        describe_cliques,
        is_count_file,
        open_input,
    )
    from herder.models.moments import Moments

    reading = Reading(missing, parse_bins(bins), parse_size(max_memory))
    if output is not None:
        require_output(output, "output", suffixes=(".csv", ".npz", ".parquet"), others=[table])
    with progress_bar() as progress:
        if is_count_file(table):
            counts = Moments.load(table, contradictions="allow")
            behind = "read"
        else:
            source = open_input(table, progress)
            counts = count_table(source, order, reading, progress)
            behind = f"counted from {source.n_rows:,} rows"
        found = counts.contradictions()
        if output is not None:
            counts.save(output)
    typer.echo(
        f"{output or table}: {len(counts.cliques):,} tables of counts "
        f"({describe_cliques(counts)}) of {counts.n_variables} columns, {behind}"
    )
    if not found:
        reason = " (they come from rows)" if counts.from_rows else ""
        typer.echo(f"contradictions: none{reason}")
        return
    typer.echo(f"contradictions: {len(found):,}, the worst first")
    for contradiction in found[:N_SHOWN]:
        typer.echo(f"  {contradiction}")
