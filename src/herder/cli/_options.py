"""Options that verbs share."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from herder.cli._verb import INPUT, LIMITS, METHOD, option

__all__ = ["Bins", "Drop", "Missing", "Order", "RandomState", "Table", "Threads"]

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
    option(
        METHOD,
        "Count all groups of up to this many columns: 2 for pairs, 3 for triples.",
        "--order",
        min=1,
        max=3,
    ),
]
Missing: TypeAlias = Annotated[
    Literal["error", "category"],
    option(INPUT, "Refuse missing values, or make them a category of their own.", "--missing"),
]
Drop: TypeAlias = Annotated[
    list[str],
    option(INPUT, "Leave these columns out (repeatable).", "--drop", metavar="A,B"),
]
Bins: TypeAlias = Annotated[
    list[str],
    option(
        INPUT,
        "Cut columns of numbers and dates into N bins of equally many rows, all of them or COLUMN "
        "alone (repeatable). By default those with more than 32 distinct values, in as many bins "
        "as the rows allow. Values come back spread evenly within their bin.",
        "--bins",
        metavar="auto|N|COLUMN=N",
    ),
]
