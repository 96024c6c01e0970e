"""Options that verbs share."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from herder.cli._verb import LIMITS, METHOD

__all__ = ["Bins", "MaxMemory", "Missing", "Order", "RandomState", "Table", "Threads"]

RandomState: TypeAlias = Annotated[
    int,
    typer.Option(
        "--random-state", min=0, metavar="SEED", help="Random seed.", rich_help_panel=METHOD
    ),
]
Threads: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        help="Threads; all cores by default.",
        rich_help_panel=LIMITS,
    ),
]

Table: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="A table (.csv, .npy, .npz, .parquet), or a file of counts: its columns are "
        "variable_a, value_a, variable_b, value_b, count, total.",
    ),
]
Order: TypeAlias = Annotated[
    int,
    typer.Option(
        "--order",
        min=1,
        max=3,
        help="Count all groups of up to this many columns: 2 for pairs, 3 for triples.",
    ),
]
Missing: TypeAlias = Annotated[
    Literal["error", "category"],
    typer.Option("--missing", help="Refuse missing values, or make them a category of their own."),
]
Bins: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--bins",
        metavar="N|COLUMN=N",
        help="Cut columns of measurements into N bins of equally many rows, all of them or "
        "COLUMN alone (may be repeated). The mean of each bin comes back out.",
    ),
]
MaxMemory: TypeAlias = Annotated[
    str,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        help="Keep to about this much memory, for example 500M or 4G; the table may be larger.",
    ),
]
