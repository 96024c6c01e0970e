"""``herder demo``: the main jobs on bundled data, each against its obvious alternative."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from herder.cli._border import progress_bar, require_output, user_errors

if TYPE_CHECKING:
    from herder.report import Page

__all__ = ["PARTS", "Part", "Row", "demo"]

#: Modules with a function ``part(page) -> list[Row]``, which adds its sections to the page.
PARTS = (
    "herder.cli.demo.thin",
    "herder.cli.demo.moments",
    "herder.cli.demo.noise",
    "herder.cli.demo.fields",
)


@dataclass(frozen=True)
class Row:
    """One line of the comparison: a job, what is measured, ours, and the alternative."""

    job: str
    measure: str
    ours: str
    alternative: str


Part: TypeAlias = "Callable[[Page], list[Row]]"


@user_errors
def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="PAGE.html", help="Where the page goes.")
    ] = Path("demo/index.html"),
) -> None:
    """Run the main jobs on bundled data and write one page with numbers and pictures."""
    from rich.console import Console
    from rich.table import Table

    from herder.report import Page

    if output == Path("demo/index.html"):
        output.parent.mkdir(exist_ok=True)
    require_output(output, "output", suffixes=(".html", ".htm"), others=[])
    page = Page(
        "herder at work",
        "Deterministic sampling and learning by herding, on data that come with scikit-learn. "
        "Each job stands beside the obvious alternative.",
    )
    rows: list[Row] = []
    with progress_bar() as progress:
        task = progress.add_task("demo", total=len(PARTS), note="")
        for name in PARTS:
            part: Part = import_module(name).part
            progress.update(task, note=name.rpartition(".")[2])
            rows += part(page)
            progress.update(task, advance=1)
    page.save(output)
    table = Table("job", "measured", "herder", "alternative", title="herder demo")
    for row in rows:
        table.add_row(row.job, row.measure, row.ours, row.alternative)
    Console().print(table)
    typer.echo(f"The page: {output.resolve()}")
