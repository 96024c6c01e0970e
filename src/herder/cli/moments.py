"""``herder moments``: count a table."""

from pathlib import Path
from typing import Annotated

from herder.cli._options import Bins, Missing, Order, Table
from herder.cli._terminal import parse_bins
from herder.cli._verb import Run, output_option, verb
from herder.core.summary import Summary

__all__ = ["moments"]


@verb(
    example="herder moments survey.csv -o counts.csv",
    outputs={"output": (".csv", ".npz", ".parquet")},
    inputs=("table",),
    options={"X": "table", "total": None},
    max_memory="1G",
)
def moments(
    run: Run,
    table: Table,
    output: Annotated[
        Path | None, output_option("File for the counts (.csv, .npz, .parquet); may be left out.")
    ] = None,
    order: Order = 2,
    missing: Missing = "error",
    bins: Bins = [],  # noqa: B006 (typer copies it)
) -> Summary:
    """Count how often values occur together, in all pairs (or triples) of columns.

    The counts are a plain table that a person can read, publish and type; `herder synth` makes
    rows from it. Given a file of counts instead of a table, checks whether they contradict
    each other.
    """
    from herder import Moments
    from herder.data import open_table
    from herder.data.variables import file_bins
    from herder.models.published import is_plain_table, load

    limit = run.max_memory
    if is_plain_table(table, limit):
        counts = load(table, limit)
    else:
        source, chosen = open_table(table, max_memory=limit), parse_bins(bins)
        counts = Moments.from_chunks(
            source.within(limit, "counting", run.progress),
            order,
            missing=missing,
            bins=file_bins(source, chosen, order=order, missing=missing, max_memory=limit),
            max_memory=limit,
        )
    if output is not None:
        counts.save(run.part(output))
    return counts.summary()
