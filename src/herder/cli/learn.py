"""``herder learn``: a linear classifier from rows that go by once."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from herder._errors import ParameterError
from herder.cli._border import (
    parse_size,
    progress_bar,
    refuse_given,
    require_output,
    user_errors,
)

__all__ = ["learn"]

MODEL_SUFFIX = ".safetensors"

#: What a model was made with; it goes on with the same.
FIXED = (
    "algorithm",
    "C",
    "covariance",
    "confidence",
    "form",
    "forget",
    "average",
    "multi_class",
    "class_weight",
    "classes",
    "hash_bits",
    "normalise",
    "features",
)


@user_errors
def learn(
    context: typer.Context,
    train: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRAIN...",
            help="Labelled rows: svmlight lines (.svm, .svmlight, .libsvm, .txt, also with .gz; "
            "- for the standard input) or tables (.csv, .npy, .npz, .parquet).",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="MODEL",
            help="Where the model goes (.safetensors); appears whole or not at all.",
        ),
    ],
    algorithm: Annotated[
        Literal["nherd", "arow", "cw", "scw", "pa", "perceptron", "second-order"],
        typer.Option(
            "--algorithm",
            help="Gaussian herding, AROW, confidence-weighted (hard or soft), passive-aggressive, "
            "perceptron, second-order perceptron. The first two bear wrong labels best.",
        ),
    ] = "nherd",
    C: Annotated[
        float | None,
        typer.Option(
            "-C",
            metavar="NUMBER",
            help="How far one row moves the model, 1 by default; smaller for noisy labels and "
            "for long rows that are not normalised.",
        ),
    ] = None,
    covariance: Annotated[
        Literal["project", "exact", "drop", "full"] | None,
        typer.Option("--covariance", help="Form of the covariance: three diagonals, or whole."),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option("--confidence", metavar="P", help="For cw and scw: 0.9 by default."),
    ] = None,
    form: Annotated[
        Literal["stdev", "variance", "soft-1", "soft-2", "PA", "PA-I", "PA-II"] | None,
        typer.Option(
            "--form",
            help="Variant: stdev or variance of cw, soft-1 or soft-2 of scw, PA to PA-II of pa.",
        ),
    ] = None,
    forget: Annotated[
        float | None,
        typer.Option(
            "--forget",
            metavar="SHARE",
            help="For streams that drift: share of what is known that is forgotten at each row.",
        ),
    ] = None,
    average: Annotated[
        bool, typer.Option("--average", help="Predict with weights averaged over all rows.")
    ] = False,
    multi_class: Annotated[
        Literal["max-margin", "one-vs-rest"],
        typer.Option("--multi-class", help="How more than two classes are told apart."),
    ] = "max-margin",
    class_weight: Annotated[
        list[str],
        typer.Option(
            "--class-weight",
            metavar="balanced|LABEL=FACTOR",
            help="Let rows of some classes count more: rare ones (files only), or by factors "
            "(repeatable).",
        ),
    ] = [],  # noqa: B006 (typer copies it)
    classes: Annotated[
        str | None,
        typer.Option(
            "--classes",
            metavar="A,B,C",
            help="Classes that will come, for the standard input; files are looked through.",
        ),
    ] = None,
    new_classes: Annotated[
        bool,
        typer.Option("--new-classes", help="Let classes come later that were not known before."),
    ] = False,
    epochs: Annotated[
        int,
        typer.Option(
            "--epochs",
            min=1,
            metavar="N",
            help="Passes over the rows.",
        ),
    ] = 1,
    shuffle: Annotated[
        bool,
        typer.Option("--shuffle", help="Take rows in random order; holds all of them in memory."),
    ] = False,
    random_state: Annotated[
        int,
        typer.Option("--random-state", min=0, metavar="SEED", help="For --shuffle."),
    ] = 0,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="COLUMN", help="Labels of a table; `label` by default."),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option("--weight", metavar="COLUMN", help="Weights of the rows of a table."),
    ] = None,
    text: Annotated[
        list[str],
        typer.Option(
            "--text", metavar="COLUMN", help="Learn from the words of this column (repeatable)."
        ),
    ] = [],  # noqa: B006
    category: Annotated[
        list[str],
        typer.Option(
            "--category",
            metavar="COLUMN",
            help="Learn from the values of this column, each a feature (repeatable).",
        ),
    ] = [],  # noqa: B006
    drop: Annotated[
        list[str],
        typer.Option("--drop", metavar="COLUMN", help="Do not use this column (repeatable)."),
    ] = [],  # noqa: B006
    hash_bits: Annotated[
        int,
        typer.Option(
            "--hash-bits",
            min=4,
            max=30,
            metavar="BITS",
            help="Words and categories share 2^BITS features.",
        ),
    ] = 20,
    normalise: Annotated[
        bool, typer.Option("--normalise", help="Divide every row by its length.")
    ] = False,
    features: Annotated[
        int | None,
        typer.Option(
            "--features",
            min=1,
            metavar="N",
            help="Features of svmlight lines: indices from N on are refused. Found by default.",
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            "--test",
            metavar="FILE",
            help="Tell the error on these rows, after the model has been written.",
        ),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            "--continue",
            metavar="MODEL",
            help="Go on with this model; -o may name the same file. Features that it has not seen "
            "are added.",
        ),
    ] = None,
    every: Annotated[
        int | None,
        typer.Option(
            "--every",
            min=1,
            metavar="N",
            help="Print the error every N rows; after 1,000, 2,000, 4,000 ... by default.",
        ),
    ] = None,
    skip_broken: Annotated[
        bool,
        typer.Option("--skip-broken", help="Leave broken lines out and count them."),
    ] = False,
    max_memory: Annotated[
        str,
        typer.Option(
            "--max-memory",
            metavar="SIZE",
            help="Refuse a model, or rows to shuffle, that need more, for example 500M or 8G.",
        ),
    ] = "4G",
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")
    ] = False,
) -> None:
    """Learn to tell classes apart, from rows in the order they come.

    Prints the progressive error as it goes: each row is predicted before it is learnt, so that
    this is an honest estimate of the error on new rows, without any set aside. The columns are
    the rows so far, the error since the last line, the error so far, and the share of rows that
    changed the model (one-vs-rest: the mean of these shares over the classes). Files are read
    twice, first to find all labels, features and broken lines; the standard input is read once.
    Memory is bounded by the model, not by the rows, unless they are shuffled.
    """
    others = [*train, *([] if test is None else [test])]
    require_output(output, "output", suffixes=(MODEL_SUFFIX,), others=others)
    if not os.access(output.parent, os.W_OK):
        raise ParameterError("output", "lie in a folder that can be written", str(output))
    if start is not None:
        refuse_given(context, FIXED, "with --continue: the model keeps its own")
    if not shuffle:
        refuse_given(context, ("random_state",), "without --shuffle")
    from herder.cli._learning import Job, run_job

    job = Job(
        train=tuple(train),
        output=output,
        algorithm=algorithm,
        options={
            "C": C,
            "covariance": covariance,
            "confidence": confidence,
            "form": form,
            "forget": forget,
        },
        start=start,
        epochs=epochs,
        label=label,
        weight=weight,
        text=tuple(text),
        category=tuple(category),
        drop=tuple(drop),
        hash_bits=hash_bits,
        normalise=normalise,
        shuffle=shuffle,
        random_state=random_state,
        average=average,
        multi_class=multi_class,
        class_weight=tuple(class_weight),
        classes=tuple(filter(None, map(str.strip, (classes or "").split(",")))),
        new_classes=new_classes,
        features=features,
        test=test,
        every=every,
        skip_broken=skip_broken,
        max_memory=parse_size(max_memory),
        quiet=quiet,
    )
    out = sys.stdout  # before a progress bar takes its place
    with progress_bar() as progress:
        progress.disable = progress.disable or quiet
        run_job(job, progress, out)
