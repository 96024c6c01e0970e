"""``herder learn boosted``: the density of rows, by boosting."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from herder._errors import ParameterError
from herder.cli._options import DropOne, RandomState
from herder.cli._verb import INPUT, METHOD, MODELS, TABLES, Run, option, output_option, verb
from herder.core.summary import Fact, Facts, Summary, counted

if TYPE_CHECKING:
    from herder.data.labelled import LabelledFiles

__all__ = ["learn_boosted"]

#: Most memory that learning takes, measured with dimples in ten columns: the rows, so many times.
COPIES_OF_ROWS = 16


@verb(
    example="herder learn boosted table.csv -o model.safetensors --report page.html",
    outputs={"output": MODELS},
    inputs=("train", "test"),
    options={"X": "train", "n_rounds": "rounds", "text": None, "category": None},
    report="the gain of each round, and the density of two columns",
    max_memory="4G",
)
def learn_boosted(
    run: Run,
    train: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE...",
            help="Tables (.csv, .npy, .npz, .parquet) of numbers, or of two states: 0 and 1, or "
            "-1 and 1.",
        ),
    ],
    output: Annotated[Path, output_option("File for the model (.safetensors).", "MODEL")],
    drop: DropOne = [],  # noqa: B006 (typer copies it)
    test: Annotated[
        Path | None, option(INPUT, "Score these held-out rows as well.", metavar="TABLE")
    ] = None,
    features: Annotated[
        Literal["auto", "rbm", "dimple", "tree"],
        option(
            METHOD,
            "What a round adds: a unit of an RBM, for two states; a dimple, for numbers; or a "
            "decision tree. auto is one of the first two.",
        ),
    ] = "auto",
    rounds: Annotated[
        int, option(METHOD, "Number of rounds.", min=1, max=10**6, metavar="N")
    ] = 100,
    early_stopping: Annotated[
        bool,
        option(
            METHOD,
            "Hold a tenth of the rows out, and keep the number of rounds that is best for them.",
            "--early-stopping",
        ),
    ] = False,
    contamination: Annotated[
        float,
        option(METHOD, "Share of the rows that are outliers, from 0 to 1.", metavar="SHARE"),
    ] = 0.1,
    random_state: RandomState = 0,
) -> Summary:
    """Learn the density of rows of numbers or of two states, by boosting.

    All columns are learnt alike, and all rows are held in memory. `herder predict` prints the log
    density of new rows and which of them are outliers; `herder sample` draws rows.
    """
    from herder._validation import require_memory
    from herder.data.broken import BrokenRows
    from herder.data.features import choose_columns
    from herder.data.labelled import InputSpec
    from herder.io import save
    from herder.learn.boosted_features import choose_family
    from herder.learn.boosting import BoostedField

    files = _open(run, train, "train")
    columns = choose_columns(files.tables[0], label=None, drop=drop, need_label=False)
    given = {"rows": files}
    if test is not None:
        given["held-out rows"] = _open(run, [test], "test")
    reading = BrokenRows(), run.max_memory, run.progress, "pass drop=NAME"
    parts = {
        name: replace(found, input=InputSpec(columns)).whole(*reading).X
        for name, found in given.items()
    }
    rows = parts["rows"]
    require_memory(COPIES_OF_ROWS * rows.nbytes, run.max_memory, "learning from these rows")
    states = choose_family(features, rows)[1]
    constant = np.flatnonzero(np.ptp(rows, axis=0) == 0)
    if states is None and len(rows) < 2:
        raise ValueError(f"{train[0]} must have at least two rows of numbers, got {len(rows)}")
    if states is None and len(constant):
        name = columns.numbers[constant[0]]
        rule = f"column {name!r} of {train[0]} must have more than one value"
        raise ValueError(f"{rule}, got {rows[0, constant[0]]:g} alone: pass drop={name}")
    if states is not None and not all(np.isin(part, states).all() for part in parts.values()):
        raise ParameterError("test", "hold {} and {}, as {}".format(*states, train[0]), str(test))
    field = BoostedField(
        features,
        n_rounds=rounds,
        early_stopping=early_stopping,
        contamination=contamination,
        random_state=random_state,
    )
    field.fit(rows, progress=run.progress)
    run.progress(0.0, "scoring")
    kind = "density" if states is None else "probability"
    facts = [
        Fact(name, field.score(part), ".3f", f"log {kind} of a row")
        for name, part in parts.items()
    ]
    run.progress(1.0, "scoring")
    if round(field.log_partition_error_, 3):  # of a grid it is less
        facts.append(Fact("log Z", field.log_partition_error_, ".2g", "its standard error"))
    vars(field)["feature_names_in_"] = np.array(columns.numbers, dtype=object)
    save(field, run.part(output))
    found = field.summary()
    return replace(
        found,
        title=f"{found.title}, {counted(len(rows), 'row')}",
        blocks=[Facts(facts), *found.blocks],
    )


def _open(run: Run, paths: list[Path], role: str) -> "LabelledFiles":
    """Open tables, the rows of which have no labels."""
    from herder.data.labelled import open_labelled

    for path in paths:
        if path.suffix.lower() not in TABLES:
            raise ParameterError(role, f"be a table ({', '.join(TABLES)})", str(path))
    options: Any = {"need_label": False, "max_memory": run.max_memory}
    return open_labelled(paths, **options)
