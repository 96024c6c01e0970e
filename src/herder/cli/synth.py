"""``herder synth``: rows that match the counts of a table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from herder._errors import ParameterError, with_nearest
from herder.cli._options import Bins, Drop, Missing, Order, Table
from herder.cli._terminal import parse_bins
from herder.cli._verb import METHOD, OUTPUT, TABLES, Run, option, output_option, verb
from herder.core.summary import Summary

__all__ = ["synth"]


@verb(
    example="herder synth survey.csv -n 1000 -o rows.csv --report page.html",
    outputs={"output": TABLES},
    inputs=("table",),
    options={"n_samples": "n", "X": "table", "total": None, "contradictions=allow": None},
    report="what was matched, how closely, and what was copied",
    max_memory="1G",
)
def synth(
    run: Run,
    table: Table,
    output: Annotated[Path, output_option("File for the rows (.csv, .npy, .npz, .parquet).")],
    n: Annotated[
        int | None,
        option(
            OUTPUT,
            "Number of rows; as many as were counted by default.",
            "-n",
            "--rows",
            metavar="N",
        ),
    ] = None,
    order: Order = 2,
    where: Annotated[
        list[str],
        option(
            OUTPUT,
            "Keep only rows with this value (repeatable); COLUMN= means missing. In a binned "
            "column the value stands for its bin.",
            metavar="COLUMN=VALUE",
        ),
    ] = [],  # noqa: B006 (typer copies it)
    count_above: Annotated[
        int | None,
        option(
            OUTPUT,
            "Print the probability that more than K of the 0/1 columns are 1, and the bounds that "
            "the counts alone imply.",
            metavar="K",
            min=0,
        ),
    ] = None,
    encoding: Annotated[
        Literal["indicator", "01", "+-1", "auto"],
        option(
            METHOD,
            "What is matched: all cells of the tables, or products of 0/1 or -1/+1.",
            metavar="[indicator|01|+-1]",
        ),
    ] = "indicator",
    contradictions: Annotated[
        Literal["error", "nearest"],
        option(
            METHOD, "Refuse counts that no table can have, or come as near to them as possible."
        ),
    ] = "error",
    restarts: Annotated[
        Literal["visited", "rows", "none", "auto"],
        option(
            METHOD,
            "Where a failed search starts again: at rows made before (no row of the table is "
            "used), at rows of the table, or nowhere.",
            metavar="[visited|rows|none]",
        ),
    ] = "visited",
    burn_in: Annotated[int, option(METHOD, "Rows to discard at the start of the run.", min=0)] = 0,
    missing: Missing = "error",
    bins: Bins = [],  # noqa: B006 (typer copies it)
    drop: Drop = [],  # noqa: B006
) -> Summary:
    """Make rows that match the pair counts (or triple counts) of a table.

    Only the counts are used: a TABLE is counted first, and no row of it enters the run unless
    `--restarts rows` asks for it. There is no randomness: the same input gives the same rows.
    """
    if restarts == "auto":
        run.warn("--restarts auto is deprecated: use --restarts visited")
        restarts = "visited"
    if encoding == "auto":
        run.warn("--encoding auto is deprecated: use --encoding indicator")
        encoding = "indicator"
    n_bins = parse_bins(bins)
    run.progress(0.0, f"opening {table.name}")  # a long text file is looked through
    part = run.part(output)
    from herder import MomentHerder, Moments
    from herder.data import write_table
    from herder.data.sample import split_names
    from herder.models.published import open_input

    model = MomentHerder(
        order,
        encoding=encoding,
        restarts=restarts,
        burn_in=burn_in,
        missing=missing,
        bins=n_bins,
        contradictions=contradictions,
    )
    given = open_input(table, run.max_memory)
    if isinstance(given, Moments):
        run.refuse({"drop", "bins"}, "for a file of counts")
        if order not in (2, given.order):  # 2 is for tables
            rule = f"be left out for a file of counts, which has order {given.order}"
            raise ParameterError("order", rule, order)
        model.fit_moments(given)
    else:
        source = given.without(split_names(drop, given.names, "drop", table))
        model.fit_source(source, max_memory=run.max_memory, progress=run.progress)
    names = model.moments_.names
    made = model.synthesise(
        n,
        where=[_condition(text, names) for text in where] or None,
        count_above=count_above,
        count_cells=run.report is not None,
        progress=run.progress,
    )
    write_table(part, names, [made.labels()])  # what the format cannot hold shows now
    write_table(part, names, made.chunks())
    return made.summary(source=str(table))


def _condition(text: str, names: Sequence[str]) -> tuple[str, str | None]:
    """Read ``column=value`` into a column, which may hold equal signs, and a label."""
    for place in (i for i, letter in enumerate(text) if letter == "="):
        if text[:place] in names:
            return text[:place], text[place + 1 :] or None
    rule = f"be COLUMN=VALUE with a column of {', '.join(names[:20])}"
    got = with_nearest(text.partition("=")[0], names) if "=" in text else repr(text)
    raise ParameterError("where", rule, got=got)
