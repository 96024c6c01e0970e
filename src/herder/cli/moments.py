"""``herder moments``: count a table."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from herder._errors import ParameterError
from herder.cli._options import Bins, Drop, Missing, Order, Table
from herder.cli._terminal import parse_bins
from herder.cli._verb import OUTPUT, Run, option, output_option, verb
from herder.core.summary import Summary, counted
from herder.core.summary import Table as SummaryTable

if TYPE_CHECKING:
    from herder import Moments
    from herder.models.disclosure import Merged

__all__ = ["moments"]

#: Small cells that an error names.
N_NAMED = 5


@verb(
    example="herder moments survey.csv -o counts.csv",
    outputs={"output": (".csv", ".npz", ".parquet")},
    inputs=("table",),
    options={"X": "table", "total": None, "base": "round_to"},
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
    drop: Drop = [],  # noqa: B006
    min_count: Annotated[
        int | None,
        option(
            OUTPUT,
            "Refuse to write a count below K that is not zero (threshold rule).",
            metavar="K",
            min=1,
        ),
    ] = None,
    merge_small: Annotated[
        bool,
        option(
            OUTPUT,
            'With --min-count: merge rare labels into "other", and neighbouring numbers or bins, '
            "until it holds.",
            "--merge-small",
        ),
    ] = False,
    round_to: Annotated[
        int | None,
        option(OUTPUT, "Round all counts and totals to multiples of B.", metavar="B", min=2),
    ] = None,
) -> Summary:
    """Count how often values occur together, in all pairs (or triples) of columns.

    The counts are a plain table that a person can read, publish and type; `herder synth` makes
    rows from it. Given a file of counts instead of a table, checks whether they contradict
    each other. Categories are merged first, then counts are rounded, then compared with K.
    """
    if merge_small and min_count is None:
        raise ParameterError("merge_small", "go with --min-count", got="it alone")
    from herder import Moments
    from herder.data.sample import split_names
    from herder.models.disclosure import merge_categories
    from herder.models.published import count_table, open_input
    from herder.models.summary import identifying, moments_title

    limit = run.max_memory
    given = open_input(table, limit)
    if isinstance(given, Moments):
        run.refuse({"drop", "bins"}, "for a file of counts")
        counts = given
    else:
        source, chosen = given, parse_bins(bins)
        source = source.without(split_names(drop, source.names, "drop", table))
        options: Any = {"missing": missing, "bins": chosen, "max_memory": limit}
        counts = count_table(source, order, progress=run.progress, **options)
    merged: list[Merged] = []
    if merge_small and min_count is not None:
        counts, merged = merge_categories(counts, min_count)
    title = moments_title(counts)  # before rounding, of rows if they come from rows
    if round_to is not None:
        counts = counts.rounded(round_to)
    if min_count is not None:
        _require_large(counts, min_count, merge_small)
    for warning in identifying(counts):
        run.warn(warning)
    if output is not None:
        counts.save(run.part(output))
    summary = counts.summary()
    table_of = [_merged_table(merged)] if merged else []
    return replace(summary, title=title, blocks=[*summary.blocks, *table_of])


def _require_large(counts: "Moments", min_count: int, merged: bool) -> None:
    """Refuse counts below a threshold that are not zero, and name the smallest of them."""
    small = counts.small_cells(min_count)
    if not small:
        return
    cells = [f"{count:g} for {_event(values)}" for values, count in small[:N_NAMED]]
    more = f" and {counted(len(small) - N_NAMED, 'more cell')}" if len(small) > N_NAMED else ""
    way = "" if merged else "; --merge-small merges categories until it holds"
    got = f"{'; '.join(cells)}{more}{way}"
    raise ParameterError("min_count", "be met by every count that is not zero", got=got)


def _event(values: Mapping[str, Hashable]) -> str:
    from herder.models.plain_text import shown

    return ", ".join(f"{name} = {shown(value)}" for name, value in values.items())


def _merged_table(merged: "list[Merged]") -> SummaryTable:
    from herder.models.plain_text import shown

    rows = [(name, ", ".join(map(shown, old)), shown(new)) for name, old, new in merged]
    return SummaryTable(("column", "merged", "into"), rows, caption="Merged categories")
