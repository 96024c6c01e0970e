"""``herder predict``: labels of rows, or what their gaps hold, and what a model has learnt."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from herder._errors import ParameterError
from herder.cli._border import progress_bar, refuse_given, require_output, user_errors

__all__ = ["predict"]


@user_errors
def predict(
    context: typer.Context,
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model of `herder learn` (.safetensors).")
    ],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="Rows like those it learnt from: svmlight lines (- for the standard input) or a "
            "table. Labels may be there or not. For a Boltzmann machine: a table with gaps.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where the answers go (.csv, .npz, .parquet), whole or not at all; to the "
            "standard output as csv by default.",
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="List the strongest features: weight and, of models that know how sure they are, "
            "standard deviation and z, the weight in standard deviations. Hashed words are named, "
            "with the right sign, if they occur in DATA.",
        ),
    ] = False,
    top: Annotated[
        int, typer.Option("--top", min=1, metavar="N", help="Features to list, for each class.")
    ] = 20,
    by: Annotated[
        Literal["weight", "confidence"],
        typer.Option("--by", help="List the largest weights, or the surest (largest z)."),
    ] = "weight",
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="For a Boltzmann machine: give the probability of the upper state of every cell "
            "instead of a filled table.",
        ),
    ] = False,
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            metavar="COLUMN",
            help="Labels of a table, to tell the error by; the column of training by default.",
        ),
    ] = None,
    skip_broken: Annotated[
        bool,
        typer.Option(
            "--skip-broken", help="Leave broken lines out and count them; answers get numbers."
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but answers and errors.")
    ] = False,
) -> None:
    """Predict the labels of rows.

    The answers are, for each row in turn: label, probability (of models that know how sure they
    are) and margin, which says how far the label is ahead of the next one. If the rows have
    labels of their own, the error is told. Svmlight rows may have features that the model has
    not seen: they leave the margin as it is, and make models that give probabilities less sure.

    A Boltzmann machine has no labels: it fills the gaps of a table (empty cells, NA, N/A, NaN,
    null, None and ?), each with its more probable value given the other cells of the row, and
    explains itself by its couplings.
    """
    if data is None and not explain:
        raise ParameterError("data", "be given, unless you only --explain the model", got="none")
    if not explain:
        refuse_given(context, ("top", "by"), "without --explain")
    if output is not None:
        suffixes = (".csv", ".npz", ".parquet")
        require_output(
            output, "output", suffixes=suffixes, others=[model, *([data] if data else [])]
        )
    if data is None and output is not None:
        raise ParameterError("output", "be left out without DATA", str(output))
    from herder.cli._predicting import Job, run_job

    job = Job(model, data, output, explain, top, by, label, skip_broken, probabilities)
    out = sys.stdout  # before a progress bar takes its place
    answers_here = output is None and not explain
    with progress_bar() as progress:
        hidden = quiet or (answers_here and out.isatty())
        progress.disable = progress.disable or hidden
        features, about = run_job(job, progress, out)
    out.flush()
    for line in [] if quiet else about:
        typer.echo(line, err=answers_here)
    for line in features:
        typer.echo(line)
