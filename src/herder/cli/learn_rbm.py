"""``herder learn rbm``: a restricted Boltzmann machine over binary columns."""

from pathlib import Path
from typing import Annotated, Any, Literal

from herder.cli._options import BinaryTables, DropOne, RandomState, SkipGaps
from herder.cli._verb import INPUT, METHOD, MODELS, Run, option, output_option, verb
from herder.core.summary import Fact, Facts, Summary, counted

__all__ = ["learn_rbm"]


@verb(
    example="herder learn rbm pixels.npy -o rbm.safetensors --hidden 100 --report rbm.html",
    outputs={"output": MODELS},
    inputs=("train", "test"),
    options={"n_hidden": "hidden", "n_epochs": "epochs", "binarize": None},
    report="filters of the hidden units, and samples",
    max_memory="4G",
)
def learn_rbm(
    run: Run,
    train: BinaryTables,
    output: Annotated[Path, output_option("File for the model (.safetensors).", "MODEL")],
    drop: DropOne = [],  # noqa: B006 (typer copies it)
    skip_gaps: SkipGaps = False,
    test: Annotated[
        Path | None, option(INPUT, "Score these held-out rows as well.", metavar="TABLE")
    ] = None,
    hidden: Annotated[
        int, option(METHOD, "Number of hidden units.", min=1, max=10**6, metavar="N")
    ] = 100,
    method: Annotated[
        Literal["cd", "pcd", "herding"],
        option(METHOD, "Chains start at the rows, or persist; or the mean of herded weights."),
    ] = "cd",
    epochs: Annotated[
        int, option(METHOD, "Passes over the rows.", min=1, max=10**9, metavar="N")
    ] = 20,
    random_state: RandomState = 0,
) -> Summary:
    """Learn hidden units that explain how columns depend on each other: an RBM.

    All columns are learnt alike, and all rows are held in memory. `herder predict` fills gaps of
    rows.
    """
    from herder.data.binary import read_binary
    from herder.io import save
    from herder.learn.rbm import RBM

    reading: dict[str, Any] = {"skip_gaps": skip_gaps, "max_memory": run.max_memory}
    reading["progress"] = run.progress
    rows = read_binary(train, role="train", drop=drop, **reading)
    others = None if test is None else read_binary([test], role="test", like=rows, **reading)
    machine = RBM(hidden, method=method, n_epochs=epochs, random_state=random_state)
    machine.fit(rows.columns, progress=run.progress)
    save(machine, run.part(output))
    scores = [("rows", rows)] if others is None else [("rows", rows), ("held-out rows", others)]
    run.progress(0.0, "scoring")
    meaning = "log probability of a row"
    facts = [
        Fact(name, float(machine.score_samples(table.columns).mean()), ".2f", meaning)
        for name, table in scores
    ]
    if machine.log_partition_error_:
        facts.append(Fact("log Z", machine.log_partition_error_, ".2g", "its standard error"))
    run.progress(1.0, "scoring")
    found = machine.summary()
    size = f"{counted(len(rows.names), 'column')}, {counted(hidden, 'hidden unit')}"
    title = f"RBM, {size}, {counted(len(rows.rows), 'row')}"
    return Summary(title, [Facts(facts), *found.blocks], found.sections)
