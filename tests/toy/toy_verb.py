"""``herder toy``: states in the shares of a table of counts."""

from pathlib import Path
from typing import Annotated

import typer

from herder._errors import ParameterError
from herder.cli._verb import MODELS, OUTPUT, TABLES, Run, verb
from herder.core.summary import Summary
from herder.data import open_table, write_table


@verb(
    example="herder toy counts.csv -n 100 -o states.csv --model model.safetensors",
    outputs={"output": TABLES, "model": MODELS},
    inputs=("table",),
    options={"counts": "table", "n_steps": "n"},
    report="the share of each state",
)
def toy(
    run: Run,
    table: Annotated[
        Path,
        typer.Argument(metavar="TABLE", help="A table with the columns state and count."),
    ],
    n: Annotated[
        int,
        typer.Option(
            "-n", "--rows", metavar="N", help="Number of states.", rich_help_panel=OUTPUT
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="File for the states.", rich_help_panel=OUTPUT
        ),
    ],
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", metavar="FILE", help="File for the model.", rich_help_panel=OUTPUT
        ),
    ] = None,
) -> Summary:
    """Emit states in the shares of a table of counts."""
    from herder import save
    from tests.toy.herding import ToyHerder, toy_herd

    columns = open_table(table).whole()
    if not {"state", "count"} <= set(columns):
        raise ParameterError("table", "have the columns state and count", list(columns))
    found = toy_herd(columns["count"], n)
    write_table(run.part(output), ["state"], [{"state": columns["state"][found.states]}])
    if model is not None:
        save(ToyHerder().fit(columns["count"]), run.part(model))
    return found.summary()
