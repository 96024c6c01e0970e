"""``herder learn conditional``: a classifier with hidden units, by conditional herding."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from herder.cli._options import DropOne, LabelColumn, LabelledRows, RandomState, TestRows
from herder.cli._verb import INPUT, METHOD, MODELS, Run, option, output_option, verb
from herder.core.summary import Summary, Text, counted

if TYPE_CHECKING:
    from herder.data.batches import Batch

__all__ = ["learn_conditional"]

#: What a model was made with; it goes on with the same.
FIXED = ("hidden", "multi_class", "random_state")

#: The rows, in random order, and scaled.
COPIES_OF_ROWS = 3

#: The snapshots, and once more while they are written.
COPIES_OF_MODEL = 2


@verb(
    example="herder learn conditional digits.csv -o model.safetensors --test new.csv",
    outputs={"output": MODELS},
    inputs=("train", "test"),
    options={
        **{"X": "train", "y": "train", "n_hidden": "hidden", "max_iter": "epochs"},
        **{"text": None, "category": None},
    },
    report="the training error of each pass",
    max_memory="4G",
)
def learn_conditional(
    run: Run,
    train: LabelledRows,
    output: Annotated[Path, output_option("File for the model (.safetensors).", "MODEL")],
    label: LabelColumn = None,
    drop: DropOne = [],  # noqa: B006 (typer copies it)
    test: TestRows = None,
    start: Annotated[
        Path | None,
        option(
            INPUT,
            "Continue with this model for --epochs more passes; -o may name the same file.",
            "--continue",
            metavar="MODEL",
        ),
    ] = None,
    hidden: Annotated[
        int,
        option(METHOD, "Hidden units; 0 for a voted perceptron.", min=0, max=10**6, metavar="N"),
    ] = 100,
    multi_class: Annotated[
        Literal["joint", "one-vs-rest"],
        option(
            METHOD,
            "Distinguish more than two classes with the same hidden units, or each from the "
            "others with its own.",
        ),
    ] = "joint",
    epochs: Annotated[
        int | None,
        option(
            METHOD,
            "Most passes over the rows, 50 by default; learning ends earlier when a pass has no "
            "mistake.",
            min=1,
            max=10**9,
            metavar="N",
        ),
    ] = None,
    random_state: RandomState = 0,
) -> Summary:
    """Learn to distinguish classes with hidden units, by the vote of herded weights.

    Columns of tables are standardised, svmlight lines are put on one scale; all rows are held in
    memory. `herder predict` prints the labels of new rows.

    Ctrl-C ends learning: after the first pass the model so far is written, with exit code 130,
    and --continue goes on from it: n passes and then m more are the same as n + m, unless a pass
    without a mistake had ended learning.
    """
    if start is not None:
        run.refuse(FIXED, "with --continue: the model keeps its own")
    from herder._validation import require_memory
    from herder.cli._labelled import error_lines, open_test, open_train, read_start
    from herder.data.broken import BrokenRows
    from herder.io import save
    from herder.learn.conditional import ConditionalHerder

    begun = read_start(start, ConditionalHerder, "herder learn conditional")
    model = begun.model or ConditionalHerder(
        hidden, multi_class=multi_class, random_state=random_state
    )
    width = getattr(model, "n_features_in_", None)
    reading: Any = {"max_memory": run.max_memory}
    roles = {"label": label, "drop": drop}
    files = open_train(run, train, begun, roles, n_features=width, **reading)
    tests = None if test is None else open_test(test, files, reading)
    if tests is not None and tests.can_repeat:
        tests.scan(BrokenRows(), run.progress)
    held = files.whole(BrokenRows(), run.max_memory, run.progress)
    if width is not None and not files.tables:
        held.X.resize((len(held), width))
    labels = _read_labels(held, getattr(model, "classes_", None))
    needed = COPIES_OF_ROWS * held.nbytes + _model_bytes(model, held)
    require_memory(needed, run.max_memory, "these rows and a model of them", "lower --hidden")
    if epochs is not None:
        model.set_params(max_iter=epochs)
    typed = run.command(without=(*FIXED, "drop", "start"))
    with run.until_interrupt(f"to go on: {typed} --continue {shlex.quote(str(output))}"):
        model.set_params(warm_start=True).fit(held.X, labels, progress=run.progress)
    model.set_params(warm_start=False)
    save(model, run.part(output), meta={"input": asdict(files.input)})
    lines = []
    if tests is not None:
        run.place("not tested")
        lines = error_lines(run, tests, model, BrokenRows())
    found = model.summary()
    title = f"{found.title}, {counted(len(held), 'row')}"
    return Summary(title, [*found.blocks, *map(Text, lines)], found.sections)


def _read_labels(held: "Batch", classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return the label of each row, as a number or a text as the classes of a model are."""
    from herder.data.numerals import class_kind, label_kind, label_value

    distinct, places = np.unique(held.codes, return_inverse=True)
    names = [str(held.names[code]) for code in distinct.tolist()]
    kind = label_kind(names) if classes is None else class_kind(classes)
    return np.array([label_value(name, kind) for name in names])[places]


def _model_bytes(model: Any, held: "Batch") -> int:
    """Return an upper bound of the bytes of the snapshots, which are most of a model."""
    n_herds, n_units = 1, len(held.names)
    if model.multi_class == "one-vs-rest":
        n_herds, n_units = n_units, 1
    weights = n_herds * (held.X.shape[1] + n_units + 2) * max(model.n_hidden, n_units)
    return COPIES_OF_MODEL * model.n_snapshots * weights * np.dtype(np.float32).itemsize
