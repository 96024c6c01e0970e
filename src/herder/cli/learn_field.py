"""``herder learn field``: a random field over binary columns, a Boltzmann machine."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from herder.cli._options import BinaryTables, DropOne, RandomState, SkipGaps
from herder.cli._verb import INPUT, METHOD, MODELS, Run, option, output_option, read_number, verb
from herder.core.summary import Block, Fact, Facts, Summary, Text, counted

__all__ = ["learn_field"]


@verb(
    example="herder learn field survey.csv -o field.safetensors --alpha cv --report field.html",
    outputs={"output": MODELS},
    inputs=("train", "test"),
    options={"n_epochs": "epochs", "max_iter": None, "binarize": None},
    report="couplings, biases, and whether to trust them",
    max_memory="4G",
)
def learn_field(
    run: Run,
    train: BinaryTables,
    output: Annotated[Path, output_option("File for the model (.safetensors).", "MODEL")],
    weight: Annotated[str | None, option(INPUT, "Weights of the rows.", metavar="COLUMN")] = None,
    drop: DropOne = [],  # noqa: B006 (typer copies it)
    skip_gaps: SkipGaps = False,
    test: Annotated[
        Path | None,
        option(
            INPUT,
            "Compare the model with these held-out rows, instead of those it was fitted to.",
            metavar="TABLE",
        ),
    ] = None,
    method: Annotated[
        Literal["pl", "pl-node", "cd", "pcd", "ml"],
        option(
            METHOD,
            "Pseudo-likelihood, of all columns together or of each alone; contrastive "
            "divergence, also persistent; likelihood, for up to about 20 columns.",
        ),
    ] = "pl",
    alpha: Annotated[
        str | None,
        option(
            METHOD,
            "Weight of the penalty, 0.001 by default; cv chooses it by cross-validation.",
            metavar="NUMBER|cv",
        ),
    ] = None,
    penalty: Annotated[
        Literal["l2", "l1", "none"],
        option(
            METHOD, "Squares of the couplings, or absolute values, which make many of them zero."
        ),
    ] = "l2",
    epochs: Annotated[
        int,
        option(METHOD, "Passes over the rows, for cd and pcd.", min=1, max=10**9, metavar="N"),
    ] = 50,
    random_state: RandomState = 0,
    algorithm: Annotated[Literal["boltzmann"] | None, typer.Option(hidden=True)] = None,
) -> Summary:
    """Learn how all pairs of columns depend on each other: a Boltzmann machine.

    All columns are learnt alike, and all rows are held in memory. Samples of the model are
    compared with rows, to see whether it can be trusted. `herder sample` draws its states,
    `herder predict` fills gaps of rows.
    """
    if algorithm is not None:
        run.warn("--algorithm boltzmann is deprecated: use herder learn field")
    if method not in ("cd", "pcd"):
        run.refuse(("epochs",), f"for --method {method}")
    if penalty == "none":
        run.refuse(("alpha",), "with --penalty none")
    params: dict[str, Any] = {"method": method, "n_epochs": epochs, "random_state": random_state}
    params["penalty"] = None if penalty == "none" else penalty
    if alpha is not None:
        params["alpha"] = read_number(alpha, "alpha", word="cv")
    from herder.data.binary import read_binary
    from herder.io import save
    from herder.learn.boltzmann import BoltzmannMachine
    from herder.learn.rows import ConstantColumnWarning

    reading: dict[str, Any] = {"weight": weight, "skip_gaps": skip_gaps}
    reading |= {"max_memory": run.max_memory, "progress": run.progress}
    rows = read_binary(train, role="train", drop=drop, **reading)
    others = rows if test is None else read_binary([test], role="test", like=rows, **reading)
    run.progress(0.0, "fitting")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantColumnWarning)  # the summary names them
        machine = BoltzmannMachine(**params).fit(rows.columns, sample_weight=rows.weight)
    run.progress(1.0, "fitting")
    run.progress(0.0, "checking")
    check = machine.check(others.columns, sample_weight=others.weight, held_out=test is not None)
    run.progress(1.0, "checking")
    meta = {"trust": check.trust, "verdict": run.wording.text(check.verdict)}
    save(machine, run.part(output), meta=meta)
    fit, compared = machine.diagnostics_.summary(), check.summary()
    source = Fact("data", ", ".join(path.name for path in train))
    against = "the rows it was fitted to: --test takes others"
    if test is not None:
        against = f"the rows of {test.name}, to which it was not fitted"
    blocks: list[Block] = [Facts([source]), Text(fit.title), *fit.blocks]
    skipped = {"": rows.skipped, f" of {test}": 0 if test is None else others.skipped}
    for where, number in skipped.items():
        if number:
            blocks.append(Text(f"{counted(number, 'row')}{where} with gaps left out"))
    blocks += [Text(f"compared with {against}"), Text(compared.title), *compared.blocks]
    low, high = machine.states_
    columns = f"{counted(len(rows.names), 'column')} of {low} and {high}"
    title = f"BoltzmannMachine, {columns}, {counted(len(rows.rows), 'row')}"
    return replace(compared, title=title, blocks=blocks)
