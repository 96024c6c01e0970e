"""``herder demo``: the main jobs on bundled data, each against its alternatives.

The jobs are the scripts of ``examples/demo`` in the repository. A wheel carries them as
``herder/_demo``.
"""

from contextlib import suppress
from functools import cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from herder.cli._verb import OUTPUT, PAGES, Run, verb
from herder.core.summary import Summary, Table, Text

__all__ = ["JOBS", "demo", "load_job"]

#: Scripts with a function ``job() -> Summary``, which compares in a table and shows in sections.
JOBS = ("thin", "moments", "noise", "classify", "fields")

PAGE = Path("demo/index.html")


def _make_folder(page: Path) -> Path:
    """Make the folder of the default page, and no other."""
    if page == PAGE:
        with suppress(OSError):  # the runner reports a folder that is not there
            page.parent.mkdir(exist_ok=True)
    return page


@verb(example="herder demo -o page.html", outputs={"output": PAGES})
def demo(
    run: Run,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="PAGE.html",
            help="Where the page goes.",
            callback=_make_folder,
            rich_help_panel=OUTPUT,
        ),
    ] = PAGE,
) -> Summary:
    """Run the main jobs on bundled data and write one page with numbers and pictures.

    Each job stands beside its alternatives, the best of all marked. The data come with
    scikit-learn.
    """
    done: list[Summary] = []
    for k, name in enumerate(JOBS):
        run.progress(k / len(JOBS), f"demo, {name}")
        done.append(load_job(name).job())
    tables = [block for part in done for block in part.blocks if isinstance(block, Table)]
    summary = Summary(
        "herder at work",
        [
            Text(
                "Deterministic sampling and learning by herding, on data that come with "
                "scikit-learn. Each job stands beside its alternatives; the best is marked."
            ),
            Table(tables[0].header, [row for table in tables for row in table.rows]),
        ],
        [section for part in done for section in part.sections],
    )
    from herder.report import page_html

    text = page_html(summary, command=run.command())
    run.part(output).write_text(text, encoding="utf-8")
    return summary


@cache
def load_job(name: str) -> ModuleType:
    """Load a script of the demo: that of the wheel, or in a clone that of the repository."""
    package = Path(__file__).parents[1]
    home = package / "_demo"
    if not home.is_dir():
        home = package.parents[1] / "examples" / "demo"
    loader = SourceFileLoader(f"herder_demo_{name}", str(home / f"{name}.py"))
    module = module_from_spec(ModuleSpec(loader.name, loader))
    loader.exec_module(module)
    return module
