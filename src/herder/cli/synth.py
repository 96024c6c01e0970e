"""``herder synth``: rows that match the counts of a table."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from herder.cli._border import (
    command_line,
    parse_bins,
    parse_size,
    progress_bar,
    require_output,
    user_errors,
)
from herder.cli._options import Bins, MaxMemory, Missing, Order, Table

__all__ = ["synth"]


@user_errors
def synth(
    context: typer.Context,
    table: Table,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where the rows go (.csv, .npy, .npz, .parquet); appears whole or not at all.",
        ),
    ],
    n: Annotated[
        int | None,
        typer.Option("-n", "--rows", metavar="N", help="Rows to make; as many as were counted."),
    ] = None,
    order: Order = 2,
    where: Annotated[
        list[str],
        typer.Option(
            "--where",
            metavar="COLUMN=VALUE",
            help="Give only rows with this value (may be repeated); COLUMN= means missing.",
        ),
    ] = [],  # noqa: B006 (typer copies it)
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="PAGE.html",
            help="Write a page that shows what was matched, how closely, and what was copied.",
        ),
    ] = None,
    count_above: Annotated[
        int | None,
        typer.Option(
            "--count-above",
            metavar="K",
            min=0,
            help="Tell the probability that more than K of the 0/1 columns are 1, and the range "
            "that the counts alone leave it.",
        ),
    ] = None,
    encoding: Annotated[
        Literal["auto", "01", "+-1", "indicator"],
        typer.Option("--encoding", help="What is matched: products of 0/1 or -1/+1, or cells."),
    ] = "auto",
    contradictions: Annotated[
        Literal["error", "nearest"],
        typer.Option(
            "--contradictions",
            help="Refuse counts that no table can have, or come as near to them as possible.",
        ),
    ] = "error",
    restarts: Annotated[
        Literal["auto", "visited", "rows", "none"],
        typer.Option(
            "--restarts",
            help="Where a failed search starts again: at rows made before (visited, which auto "
            "means: no row of the table is used), at rows of the table, or nowhere.",
        ),
    ] = "auto",
    burn_in: Annotated[
        int, typer.Option("--burn-in", min=0, help="First rows of the run to leave out.")
    ] = 0,
    missing: Missing = "error",
    bins: Bins = [],  # noqa: B006 (typer copies it)
    max_memory: MaxMemory = "1G",
) -> None:
    """Make rows that match the pair counts (or triple counts) of a table.

    Only the counts are used: a TABLE is counted first, and no row of it enters the run unless
    `--restarts rows` asks for it. There is no randomness: the same input gives the same rows.
    """
    from herder.cli._synthesis import Job, run_job

    inputs = [table]
    require_output(output, "output", suffixes=(".csv", ".npy", ".npz", ".parquet"), others=inputs)
    if report is not None:
        require_output(report, "report", suffixes=(".html", ".htm"), others=[table, output])
        import herder.report  # noqa: F401 (says now if it cannot be made)
    job = Job(
        table=table,
        output=output,
        n=n,
        order=order,
        where=tuple(where),
        report=report,
        count_above=count_above,
        encoding=encoding,
        contradictions=contradictions,
        restarts="visited" if restarts == "auto" else restarts,
        burn_in=burn_in,
        missing=missing,
        bins=parse_bins(bins),
        max_memory=parse_size(max_memory),
        command=command_line(context),
    )
    with progress_bar() as progress:
        lines = run_job(job, progress)
    for line in lines:
        typer.echo(line)
