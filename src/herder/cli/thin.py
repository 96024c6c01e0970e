"""``herder thin``: the most representative rows of a sample."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from herder._errors import ParameterError
from herder._validation import positive_int, require_memory
from herder.cli._options import Threads
from herder.cli._streams import USER_ERROR, complain
from herder.cli._verb import (
    INPUT,
    METHOD,
    OUTPUT,
    TABLES,
    Run,
    option,
    output_option,
    read_number,
    verb,
)
from herder.core.summary import Block, Summary, Text

if TYPE_CHECKING:
    from herder.data.sample import Sample

__all__ = ["thin"]


def _require_table(context: typer.Context, path: Path) -> Path:
    """Refuse files of other formats before any option is looked at."""
    if context.resilient_parsing or path.suffix.lower() in TABLES:
        return path
    for_python = "; netCDF files of ArviZ are for Python: herder.thin(az.from_netcdf(...), n)"
    more = for_python if path.suffix.lower() in (".nc", ".nc4", ".netcdf") else ""
    formats = f"{', '.join(TABLES[:-1])} or {TABLES[-1]}"
    complain(f"TABLE must end in {formats}, got {str(path)!r}{more}")
    raise typer.Exit(USER_ERROR)


@verb(
    example="herder thin draws.npy -n 200 -o few.npy --report page.html",
    outputs={"output": TABLES, "indices": TABLES},
    inputs=("table", "scores"),
    options={
        "X": "table",
        "n_select": "n",
        "score": "scores",
        "y": "label_column",
        "n_jobs": "threads",
        "refine": "no_refine",
        "standardise": "no_standardise",
        "unique": None,
        "allocation=mapping": None,
    },
    report="the chosen rows, the MMD and the error per column",
    max_memory="4G",
)
def thin(
    run: Run,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            callback=_require_table,
            help="A sample, rows by columns (.csv, .npy, .npz, .parquet), or draws in a 3-D "
            ".npy, chains by draws by columns.",
        ),
    ],
    n: Annotated[int, option(OUTPUT, "Rows to choose.", "-n", "--rows", metavar="N")],
    output: Annotated[
        Path,
        output_option(
            "File for the chosen rows with all their columns (.csv, .npy, .npz, .parquet)."
        ),
    ],
    kernel: Annotated[
        Literal[
            "energy",
            "gaussian",
            "matern32",
            "matern52",
            "laplace",
            "inverse-multiquadric",
            "stein",
        ],
        option(
            METHOD,
            "Kernel that compares rows: energy, gaussian, matern32, matern52, laplace, "
            "inverse-multiquadric, or stein, which needs --scores.",
            metavar="NAME",
        ),
    ] = "energy",
    bandwidth: Annotated[
        str,
        option(
            METHOD,
            "Length scale of the kernel: the median distance of rows, or a number. The energy "
            "kernel has none.",
            metavar="median|NUMBER",
        ),
    ] = "median",
    no_standardise: Annotated[
        bool,
        option(
            METHOD,
            "Compare the columns as they are, instead of each in its standard deviation.",
            "--no-standardise",
            "--no-standardize",
        ),
    ] = False,
    weights: Annotated[
        Literal["uniform", "simplex", "optimal"],
        option(
            METHOD,
            "Equal weights, weights of a distribution (simplex) or any weights (optimal); they go "
            "into a column `weight`.",
        ),
    ] = "uniform",
    sample_weight: Annotated[
        str | None, option(INPUT, "Column of weights of the rows.", metavar="COLUMN")
    ] = None,
    log_weight: Annotated[
        str | None, option(INPUT, "Column of log weights, up to a constant.", metavar="COLUMN")
    ] = None,
    scores: Annotated[
        Path | None,
        option(
            INPUT,
            "Gradients of the log density at the rows, one per column, for --kernel stein; rows "
            "and scores on an unconstrained scale.",
            metavar="FILE",
        ),
    ] = None,
    label_column: Annotated[
        str | None,
        option(
            INPUT, "Column of labels: rows are compared only within a label.", metavar="COLUMN"
        ),
    ] = None,
    allocation: Annotated[
        Literal["proportional", "equal", "joint"],
        option(METHOD, "Rows of each label: its share, equally many, or free."),
    ] = "proportional",
    columns: Annotated[
        list[str],
        option(
            INPUT,
            "Compare rows by these columns only; the others are carried along.",
            metavar="A,B,C",
        ),
    ] = [],  # noqa: B006 (typer copies it)
    drop: Annotated[
        list[str],
        option(
            INPUT, "Do not compare rows by these columns; they are carried along.", metavar="A,B"
        ),
    ] = [],  # noqa: B006 (typer copies it)
    approximate: Annotated[
        Literal["chunks", "subsample", "features"] | None,
        option(METHOD, "Trade exactness for speed, in one of three ways."),
    ] = None,
    no_refine: Annotated[
        bool,
        option(
            METHOD,
            "Keep the nested order of herding: the first rows are the choice of a smaller N (with "
            "labels, within each class). For equal weights only.",
            "--no-refine",
        ),
    ] = False,
    mmd: Annotated[
        bool | None,
        option(
            OUTPUT,
            "Compute the exact MMD to all rows, which looks at every pair; by default unless it "
            "takes much longer than an approximate choice.",
            "--mmd/--no-mmd",
        ),
    ] = None,
    indices: Annotated[
        Path | None,
        option(
            OUTPUT,
            "File for the numbers of the chosen rows, from 0, with weight, chain and draw.",
            metavar="FILE",
        ),
    ] = None,
    threads: Threads = None,
    shares: Annotated[
        Literal["proportional", "equal", "joint"] | None, typer.Option(hidden=True)
    ] = None,
    standardise: Annotated[
        bool, typer.Option("--standardise", "--standardize", hidden=True)
    ] = False,
) -> Summary:
    """Choose the most representative rows of a sample.

    Their averages are far closer to those of the whole sample than a random subset's. All columns
    of the chosen rows are written. Rows are compared by numbers, dates and categories (text); name
    other columns with --drop. There is no randomness: the same input gives the same rows.
    """
    import herder
    from herder.data import write_table
    from herder.data.sample import Roles, read_sample, read_scores

    if shares is not None:
        run.warn("--shares is deprecated: use --allocation")
        allocation = shares
    if standardise:  # in command lines of 0.1.0
        run.refuse({"no_standardise"}, "with --standardise")
    if (kernel == "stein") != (scores is not None):
        found = "no --scores" if scores is None else f"--scores with --kernel {kernel}"
        raise ParameterError("kernel", "be stein if and only if --scores is given", got=found)
    if sample_weight is not None and log_weight is not None:
        raise ParameterError("sample_weight", "be left out with --log-weight", got="both")
    if allocation != "proportional" and label_column is None:
        raise ParameterError("allocation", "come with --label-column", allocation)
    positive_int(n, "n")
    length = read_number(bandwidth, "bandwidth", word="median")
    roles = Roles(tuple(columns), tuple(drop), label_column, sample_weight or log_weight)
    sample = read_sample(table, roles, run.progress, max_memory=run.max_memory)
    names = _output_names(sample, weighted=weights != "uniform" or label_column is not None)
    _require_format(output, names, sample)
    with_mmd, note = _plan(run, sample)
    chosen = herder.thin(
        sample.rows,
        n,
        kernel=kernel,
        bandwidth=length,
        standardise=not no_standardise,
        refine=not no_refine,
        weights=weights,
        sample_weight=None if sample_weight is None else sample.weight,
        log_weight=None if log_weight is None else sample.weight,
        score=None if scores is None else read_scores(scores, sample, run.max_memory),
        y=sample.labels,
        allocation=allocation,
        approximate=approximate,
        n_jobs=threads,
        progress=run.progress,
    )
    rows = sample.take(chosen.indices)
    if len(names) > len(sample.names):
        rows[names[-1]] = chosen.weights
    write_table(run.part(output), names, [rows])
    if indices is not None:
        found = {"row": chosen.indices, "weight": chosen.weights}
        if len(sample.rows.shape) == 2:
            found["chain"], found["draw"] = chosen.locate()
        write_table(run.part(indices), list(found), [found])
    if with_mmd:
        run.progress(0.0, "exact MMD")
        chosen.compute_mmd(lambda share, _: run.progress(share, "exact MMD"))
        run.progress(1.0, "exact MMD")
    summary = chosen.summary(mmd=with_mmd)
    notes: list[Block] = [Text(note)] if note else []
    return replace(
        summary, title=f"{summary.title} of {table.name}", blocks=[*summary.blocks, *notes]
    )


def _output_names(sample: "Sample", *, weighted: bool) -> list[str]:
    """Return the columns of the output, with a new one for weights where rows have them."""
    if not weighted:
        return list(sample.names)
    more = itertools.chain(
        ["weight", "weight_chosen"], map("weight_{}".format, itertools.count(2))
    )
    return [*sample.names, next(name for name in more if name not in sample.names)]


def _require_format(output: Path, names: list[str], sample: "Sample") -> None:
    """Refuse before a long run what the format of the output cannot hold."""
    import numpy as np

    from herder.data import check_format

    size = len(next(iter(sample.trial.values())))
    check_format(output, {name: sample.trial.get(name, np.ones(size)) for name in names})


def _plan(run: Run, sample: "Sample") -> tuple[bool, str]:
    """Decide whether to compute the MMD; refuse what needs too much memory, print a long cost."""
    from herder.kernel.cost import LONG_SECONDS, Cost, ThinningCost

    typed = run.context.params
    (rows, d), approximate = sample.values.shape, typed["approximate"]
    cost = ThinningCost(
        n=rows,
        d=d,
        m=typed["n"],
        kernel=typed["kernel"],
        approximate=approximate,
        refine=not typed["no_refine"],
        weighted=typed["weights"] != "uniform",
        threads=typed["threads"],
    )
    choice, distance = cost.choice(), cost.distance()
    slow = approximate is not None and distance.seconds > LONG_SECONDS
    with_mmd = not slow if typed["mmd"] is None else typed["mmd"]
    note = ""
    if not with_mmd:
        about = f", which would take about {distance.seconds:,.0f} s (--mmd)"
        note = f"the MMD to all rows was not computed{about if typed['mmd'] is None else ''}"
        distance = Cost(0.0, 0.0, 0.0)
    memory = max(choice.memory, distance.memory)
    needed = memory + sample.values.nbytes
    what, remedy = (f"{rows:,} rows of {d} columns", "use fewer --columns")
    require_memory(needed, run.max_memory, what, remedy)
    total = Cost(choice.pairs + distance.pairs, choice.seconds + distance.seconds, memory)
    if total.seconds > LONG_SECONDS:
        faster = "" if approximate else "; --approximate subsample or chunks is faster"
        run.say(f"{sample.path}: {total}{faster}")
    return with_mmd, note
