"""``herder learn classifier``: a linear classifier from rows that go by once."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from herder._errors import ParameterError
from herder.cli._options import DropOne, LabelColumn, LabelledRows, RandomState, TestRows
from herder.cli._verb import INPUT, METHOD, MODELS, OUTPUT, Run, option, output_option, verb
from herder.core.summary import Summary, Text, counted

__all__ = ["learn_classifier"]

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

#: What to do about a broken row.
SKIP_BROKEN = "--skip-broken leaves such {unit}s out"


@verb(
    example="herder learn classifier tickets.svm -o model.safetensors --normalise --test new.svm",
    outputs={"output": MODELS},
    inputs=("train", "test"),
    max_memory="4G",
)
def learn_classifier(
    run: Run,
    train: LabelledRows,
    output: Annotated[Path, output_option("File for the model (.safetensors).", "MODEL")],
    algorithm: Annotated[
        Literal["nherd", "arow", "cw", "scw", "pa", "perceptron", "second-order"],
        option(
            METHOD,
            "Gaussian herding, AROW, confidence-weighted (hard or soft), passive-aggressive, "
            "perceptron, second-order perceptron. The first two are robust to label noise.",
        ),
    ] = "nherd",
    C: Annotated[
        float | None,
        option(
            METHOD,
            "How far one row moves the model, 1 by default; smaller for noisy labels and for "
            "long rows that are not normalised.",
            "-C",
            metavar="NUMBER",
        ),
    ] = None,
    covariance: Annotated[
        Literal["project", "exact", "drop", "full"] | None,
        option(METHOD, "Form of the covariance: three diagonals, or whole."),
    ] = None,
    confidence: Annotated[
        float | None, option(METHOD, "For cw and scw: 0.9 by default.", metavar="P")
    ] = None,
    form: Annotated[
        Literal["stdev", "variance", "soft-1", "soft-2", "PA", "PA-I", "PA-II"] | None,
        option(
            METHOD, "Variant: stdev or variance of cw, soft-1 or soft-2 of scw, PA to PA-II of pa."
        ),
    ] = None,
    forget: Annotated[
        float | None,
        option(
            METHOD,
            "For concept drift: share of what is known that is forgotten at each row.",
            metavar="SHARE",
        ),
    ] = None,
    average: Annotated[
        bool, option(METHOD, "Predict with weights averaged over all rows.", "--average")
    ] = False,
    multi_class: Annotated[
        Literal["max-margin", "one-vs-rest"],
        option(METHOD, "How more than two classes are distinguished."),
    ] = "max-margin",
    class_weight: Annotated[
        list[str],
        option(
            METHOD,
            "Let rows of some classes count more: rare ones (files only), or by factors "
            "(repeatable).",
            metavar="balanced|LABEL=FACTOR",
        ),
    ] = [],  # noqa: B006 (typer copies it)
    classes: Annotated[
        str,
        option(
            INPUT,
            "Classes that will come, for the standard input; files are looked through.",
            metavar="A,B,C",
        ),
    ] = "",
    new_classes: Annotated[
        bool, option(INPUT, "Let classes come later that were not known before.", "--new-classes")
    ] = False,
    epochs: Annotated[
        int, option(METHOD, "Passes over the rows.", min=1, max=10**9, metavar="N")
    ] = 1,
    shuffle: Annotated[
        bool,
        option(METHOD, "Take rows in random order; holds all of them in memory.", "--shuffle"),
    ] = False,
    random_state: RandomState = 0,
    label: LabelColumn = None,
    weight: Annotated[
        str | None, option(INPUT, "Weights of the rows of a table.", metavar="COLUMN")
    ] = None,
    text: Annotated[
        list[str],
        option(INPUT, "Learn from the words of this column (repeatable).", metavar="COLUMN"),
    ] = [],  # noqa: B006
    category: Annotated[
        list[str],
        option(
            INPUT,
            "Learn from the values of this column, each a feature (repeatable).",
            metavar="COLUMN",
        ),
    ] = [],  # noqa: B006
    drop: DropOne = [],  # noqa: B006
    hash_bits: Annotated[
        int,
        option(
            INPUT, "Words and categories share 2^BITS features.", min=4, max=30, metavar="BITS"
        ),
    ] = 20,
    normalise: Annotated[
        bool, option(INPUT, "Divide every row by its length.", "--normalise", "--normalize")
    ] = False,
    features: Annotated[
        int | None,
        option(
            INPUT,
            "Features of svmlight lines: indices from N on are refused. Found by default.",
            min=1,
            metavar="N",
        ),
    ] = None,
    test: TestRows = None,
    start: Annotated[
        Path | None,
        option(
            INPUT,
            "Continue with this model; -o may name the same file. Features that it has not seen "
            "are added.",
            "--continue",
            metavar="MODEL",
        ),
    ] = None,
    every: Annotated[
        int | None,
        option(
            OUTPUT,
            "Print the error every N rows; after 1,000, 2,000, 4,000 ... by default.",
            min=1,
            metavar="N",
        ),
    ] = None,
    skip_broken: Annotated[
        bool, option(INPUT, "Leave broken lines out and count them.", "--skip-broken")
    ] = False,
) -> Summary:
    """Learn to distinguish classes, from rows in the order they come.

    Prints the progressive error as it goes: each row is predicted before it is learnt, so that
    this is an honest estimate of the error on new rows, without any held out. The columns are
    the rows so far, the error since the last line, the error so far, and the share of rows that
    changed the model (one-vs-rest: the mean of these shares over the classes). Files are read
    twice, first to find all labels, features and broken lines; the standard input is read once.
    Memory is bounded by the model, not by the rows, unless they are shuffled.
    """
    if start is not None:
        run.refuse(FIXED, "with --continue: the model keeps its own")
    if not shuffle:
        run.refuse(("random_state",), "without --shuffle")
    from herder.cli._classifiers import ALGORITHMS, make_model, read_class_weight
    from herder.cli._labelled import error_lines, open_test, open_train, read_start
    from herder.data.broken import BrokenRows
    from herder.io import save
    from herder.online.classifier import OnlineClassifier
    from herder.online.training import BatchTrainer, ProgressTable, train_files

    broken = BrokenRows(skip_broken, SKIP_BROKEN)  # replace(broken) counts anew
    begun = read_start(start, OnlineClassifier, "herder learn classifier")
    model = begun.model
    if model is not None and new_classes:
        _let_classes_come(model, start)
    reading: Any = {"broken": broken, "max_memory": run.max_memory}
    roles: Any = {"label": label, "weight": weight, "text": text, "category": category}
    roles |= {"drop": drop, "hash_bits": hash_bits}
    options: Any = {"normalise": normalise, "n_features": features, "weight": weight, **reading}
    files = open_train(run, train, begun, roles, **options)
    tests = None if test is None else open_test(test, files, reading)
    scan = files.scan(broken, run.progress) if files.can_repeat else None
    if tests is not None and tests.can_repeat:
        tests.scan(replace(broken), run.progress)
    if scan is None and epochs > 1:
        raise ParameterError("epochs", "be 1 for what can be read once", epochs)
    names = [*(scan.labels if scan else ()), *filter(None, map(str.strip, classes.split(",")))]
    if model is None:
        own = {"C": C, "covariance": covariance, "confidence": confidence, "form": form}
        model = make_model(
            algorithm,
            {**own, "forget": forget},
            average=average,
            multi_class=multi_class,
            new_classes="add" if new_classes else "error",
            random_state=random_state,
        )
        if class_weight:
            factors = read_class_weight(class_weight, scan, names, may_come=new_classes)
            model.set_params(class_weight=factors)
    grows = features is None and not files.tables
    trainer = BatchTrainer(model, max_memory=run.max_memory, may_grow=grows)
    if names:
        trainer.expect(names, max(scan.width if scan else 0, features or 0))
    elif features is not None:
        trainer.widen(features)
    chosen = start is not None or normalise or C is not None or "C" not in ALGORITHMS[algorithm][2]
    table = ProgressTable(run.say, run.warn, every, advise=not chosen)
    seed = random_state if shuffle else None
    # broken lines of a file have been counted by now
    again = replace(broken) if scan else broken
    passes: Any = {"epochs": epochs, "seed": seed, "progress": run.progress}
    count = train_files(trainer, files, again, table, **passes)
    save(model, run.part(output), meta={"input": asdict(files.input)})
    rows = f" of these rows, {model.progressive_error_:.4f} with those before" if start else ""
    wrongly = "rows predicted wrongly before they were learnt"
    lines = [f"progressive error {count.error:.4f}{rows}: {wrongly}"]
    lines += broken.lines() if broken.count else []
    if count.left_out:
        lines.append(
            f"{count.left_out:,} of {counted(count.rows, 'row')} were left out: their squared "
            "length is beyond what a float can hold"
        )
    if tests is not None:
        run.place("not tested")
        lines += error_lines(run, tests, model, replace(broken))
    size = f"{len(model.classes_)} class{'es' * (len(model.classes_) != 1)}"
    title = f"{type(model).__name__}, {size}, {counted(model.n_features_in_, 'feature')}"
    title += f", {counted(count.rows, 'row')}" + (f" in {epochs} passes" if epochs > 1 else "")
    title += f", {model.n_seen_:,} with those before" if start else ""
    return Summary(title, [Text(line) for line in lines])


def _let_classes_come(model: Any, path: Path | None) -> None:
    """Let a model that goes on take classes that it has not seen."""
    if model.new_classes == "error" and len(model.classes_) == 2:
        raise ParameterError(
            "new_classes",
            f"be given when a model is begun: {path} has one set of weights for its two "
            "classes, and no room for more",
        )
    model.set_params(new_classes="add")
