"""Options: how a verb declares its own, those that verbs share, and those of the runner."""

import inspect
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from herder._errors import ParameterError

__all__ = [
    "INPUT",
    "LIMITS",
    "METHOD",
    "MODELS",
    "OUTPUT",
    "PAGES",
    "TABLES",
    "BinaryTables",
    "Bins",
    "Drop",
    "DropOne",
    "LabelColumn",
    "LabelledRows",
    "Missing",
    "Order",
    "RandomState",
    "SkipGaps",
    "Table",
    "TestRows",
    "Threads",
    "common_options",
    "option",
    "output_option",
    "read_number",
]

#: Panels of the help.
INPUT, METHOD, OUTPUT, LIMITS = "Input", "Method", "Output", "Limits"

#: Endings of the files that verbs write.
TABLES, MODELS, PAGES = (".csv", ".npy", ".npz", ".parquet"), (".safetensors",), (".html", ".htm")


def option(panel: str, text: str, *names: str, **more: Any) -> Any:
    """Return an option of a verb, in a panel of its help."""
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


def output_option(text: str, metavar: str = "FILE") -> Any:
    """Return the option ``-o`` of a verb."""
    return option(OUTPUT, text, "-o", "--output", metavar=metavar)


def read_number(text: str, name: str, *, word: str = "", low: float = 0.0) -> Any:
    """Read what was typed: a finite number from ``low`` on, or a word that may stand for it."""
    if word and text == word:
        return word
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not low <= number < float("inf"):
        rule = f"{word} or " * bool(word) + f"a number from {low:g} on"
        raise ParameterError(name, f"be {rule}", text)
    return number


def common_options(report: str, max_memory: str) -> list[inspect.Parameter]:
    """Return the options that the runner itself takes; see `herder.cli._verb.verb`."""
    quiet = option(OUTPUT, "Print nothing but errors.", "--quiet", "-q")
    found: list[tuple[str, Any, Any]] = [("quiet", Annotated[bool, quiet], False)]
    if max_memory:
        text = "Refuse what would need more memory, for example 500M or 8G."
        size = option(LIMITS, text, "--max-memory", metavar="SIZE")
        found.append(("max_memory", Annotated[str, size], max_memory))
    if report:
        page = option(OUTPUT, f"Write a page with {report}.", "--report", metavar="PAGE.html")
        found.append(("report", Annotated[Path | None, page], None))
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, kind, default in found
    ]


BinaryTables: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        metavar="TABLE...",
        help="Tables (.csv, .npy, .npz, .parquet) of 0 and 1, or of -1 and 1.",
    ),
]
LabelledRows: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        metavar="TRAIN...",
        help="Labelled rows: svmlight lines (.svm, .svmlight, .libsvm, .txt, also with .gz; "
        "- for the standard input) or tables (.csv, .npy, .npz, .parquet).",
    ),
]
LabelColumn: TypeAlias = Annotated[
    str | None,
    option(INPUT, "Labels of a table; `label` by default.", "--label", metavar="COLUMN"),
]
TestRows: TypeAlias = Annotated[
    Path | None,
    option(
        INPUT,
        "Print the error on these rows, after the model is written.",
        "--test",
        metavar="FILE",
    ),
]
DropOne: TypeAlias = Annotated[
    list[str],
    option(INPUT, "Do not use this column (repeatable).", "--drop", metavar="COLUMN"),
]
SkipGaps: TypeAlias = Annotated[
    bool, option(INPUT, "Leave rows with gaps out and count them.", "--skip-gaps")
]
RandomState: TypeAlias = Annotated[
    int,
    option(METHOD, "Random seed.", "--random-state", min=0, metavar="SEED"),
]
Threads: TypeAlias = Annotated[
    int | None,
    option(LIMITS, "Threads; all cores by default.", "--threads", min=1, metavar="N"),
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
