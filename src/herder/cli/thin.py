"""``herder thin``: the rows that stand best for a whole sample."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from herder.cli._border import (
    command_line,
    parse_size,
    progress_bar,
    require_output,
    user_errors,
)

__all__ = ["thin"]

TABLES = (".csv", ".npy", ".npz", ".parquet")


@user_errors
def thin(
    context: typer.Context,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="A sample, rows by columns (.csv, .npy, .npz, .parquet), or draws in a 3-D "
            ".npy, chains by draws by columns.",
        ),
    ],
    n: Annotated[int, typer.Option("-n", "--rows", metavar="N", help="Rows to choose.")],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where the chosen rows go, with all their columns (.csv, .npy, .npz, .parquet); "
            "appears whole or not at all.",
        ),
    ],
    kernel: Annotated[
        Literal[
            "gaussian",
            "matern32",
            "matern52",
            "laplace",
            "inverse-multiquadric",
            "energy",
            "stein",
        ],
        typer.Option("--kernel", help="What makes two rows alike; stein needs --scores."),
    ] = "gaussian",
    bandwidth: Annotated[
        str,
        typer.Option(
            "--bandwidth",
            metavar="median|NUMBER",
            help="Distance at which rows become unlike: the median distance, or a number.",
        ),
    ] = "median",
    standardise: Annotated[
        bool,
        typer.Option(
            "--standardise",
            help="Measure every column in its standard deviation: for columns of different units.",
        ),
    ] = False,
    weights: Annotated[
        Literal["uniform", "simplex", "optimal"],
        typer.Option(
            "--weights",
            help="Let chosen rows count the same, or give them weights that come nearer: of a "
            "distribution (simplex) or any (optimal). They go into a column `weight`.",
        ),
    ] = "uniform",
    sample_weight: Annotated[
        str | None,
        typer.Option("--sample-weight", metavar="COLUMN", help="Weights of the rows of TABLE."),
    ] = None,
    log_weight: Annotated[
        str | None,
        typer.Option(
            "--log-weight", metavar="COLUMN", help="Logarithms of the weights, up to a constant."
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            "--scores",
            metavar="FILE",
            help="Gradients of the log density at the rows, one per column, for --kernel stein.",
        ),
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(
            "--label-column",
            metavar="COLUMN",
            help="Labels: rows are compared only within a label, and each gets its share.",
        ),
    ] = None,
    shares: Annotated[
        Literal["proportional", "equal", "joint"],
        typer.Option("--shares", help="Rows of each label: its share, as many of each, or free."),
    ] = "proportional",
    columns: Annotated[
        list[str],
        typer.Option(
            "--columns",
            metavar="A,B,C",
            help="Compare rows by these columns only; the others are carried along.",
        ),
    ] = [],  # noqa: B006 (typer copies it)
    drop: Annotated[
        list[str],
        typer.Option(
            "--drop",
            metavar="A,B",
            help="Do not compare rows by these columns; they are carried along.",
        ),
    ] = [],  # noqa: B006 (typer copies it)
    approximate: Annotated[
        Literal["chunks", "subsample", "features"] | None,
        typer.Option("--approximate", help="Give up exactness for speed, in one of three ways."),
    ] = None,
    no_refine: Annotated[
        bool,
        typer.Option(
            "--no-refine",
            help="Keep herding's order: the first rows are then the choice of a smaller N (with "
            "labels, within each class). For equal weights only.",
        ),
    ] = False,
    mmd: Annotated[
        bool | None,
        typer.Option(
            "--mmd/--no-mmd",
            help="Compute the exact distance to all rows, which looks at every pair. Left out "
            "by itself when it would take much longer than an approximate choice.",
        ),
    ] = None,
    indices: Annotated[
        Path | None,
        typer.Option(
            "--indices",
            metavar="FILE",
            help="Write which rows were chosen, counted from 0, with weight, chain and draw.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="PAGE.html",
            help="Write a page that shows the chosen rows, how near they come, what was lost.",
        ),
    ] = None,
    max_memory: Annotated[
        str,
        typer.Option(
            "--max-memory",
            metavar="SIZE",
            help="Refuse what would need more memory, for example 500M or 8G.",
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
    """Choose the rows of a sample that stand best for all of it.

    Their averages come far nearer to those of the whole than a random subset's. All columns of
    the chosen rows are written. Rows are compared by the columns of numbers; those of text are
    named by --drop or --label-column. There is no randomness: the same input gives the same rows.
    """
    inputs = [table] if scores is None else [table, scores]
    require_output(output, "output", suffixes=TABLES, others=inputs)
    outputs = [output]
    if indices is not None:
        require_output(indices, "indices", suffixes=TABLES, others=[*inputs, *outputs])
        outputs.append(indices)
    if report is not None:
        require_output(report, "report", suffixes=(".html", ".htm"), others=[*inputs, *outputs])
        import herder.report  # noqa: F401 (says now if it cannot be made)
    _require_sense(kernel, scores, sample_weight, log_weight, label_column, shares)
    from herder.cli._thinning import Job, run_job
    from herder.data.sample import Roles

    job = Job(
        table=table,
        output=output,
        n=n,
        kernel=kernel,
        bandwidth=_bandwidth(bandwidth),
        standardise=standardise,
        weights=weights,
        roles=Roles(tuple(columns), tuple(drop), label_column, sample_weight or log_weight),
        log_weight=log_weight is not None,
        scores=scores,
        shares=shares,
        approximate=approximate,
        refine=not no_refine,
        mmd=mmd,
        indices=indices,
        report=report,
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


def _require_sense(
    kernel: str,
    scores: Path | None,
    sample_weight: str | None,
    log_weight: str | None,
    label_column: str | None,
    shares: str,
) -> None:
    """Refuse options that do not go together."""
    if (kernel == "stein") != (scores is not None):
        found = "no --scores" if scores is None else f"--kernel {kernel}"
        raise ValueError(f"kernel stein and --scores must go together, got {found}")
    if sample_weight is not None and log_weight is not None:
        raise ValueError("sample-weight must be left out with --log-weight, got both")
    if shares != "proportional" and label_column is None:
        raise ValueError(f"shares must come with --label-column, got {shares!r} without")


def _bandwidth(text: str) -> str | float:
    if text == "median":
        return text
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ValueError(f"bandwidth must be 'median' or a positive number, got {text!r}")
    return number
