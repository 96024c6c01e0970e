"""The terminal: progress bars, sizes, and summaries in colour."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table as RichTable
from rich.text import Text as RichText

from herder._errors import ParameterError
from herder.core.summary import Block, Facts, Summary, Table, Text, show, text_lines

__all__ = ["parse_bins", "parse_size", "print_summary", "progress_bar"]

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

STYLES = {"plain": "", "good": "green", "warning": "yellow", "code": "dim"}


def progress_bar(*, quiet: bool = False) -> Progress:
    """Return a progress bar on stderr, with room for a note; silent when nobody watches."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=quiet or not console.is_terminal,
    )


def print_summary(summary: Summary, stream: Any) -> None:
    """Print a summary: in colour on a terminal, else as the plain text that it is."""
    console = Console(highlight=False, file=stream)
    if not console.is_terminal:
        print(summary, file=stream, flush=True)
        return
    console.print(RichText(summary.title, style="bold"))
    for block in summary.blocks:
        for part in _renderables(block):
            console.print(part)


def _renderables(block: Block) -> list[RenderableType]:
    if isinstance(block, Facts):
        grid = RichTable.grid(padding=(0, 2))
        for fact in block.rows:
            value = RichText(show(fact.value, fact.spec), style="bold")
            grid.add_row(fact.label, value, RichText(fact.meaning, style="dim"))
        return [grid]
    if isinstance(block, Table):
        table = RichTable(title=block.caption or None, title_justify="left", box=None)
        for head, number in zip(block.header, block.numeric(), strict=True):
            table.add_column(head, justify="right" if number else "left")
        for row in block.cells():
            table.add_row(*(RichText(cell) for cell in row))
        return [table]
    style = STYLES[block.level] if isinstance(block, Text) else ""
    return [RichText(line, style=style) for line in text_lines(block)]


def parse_size(text: str) -> int:
    """Read a size such as ``500M`` or ``1.5G`` into bytes."""
    plain = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = plain[-1:] if plain[-1:] in "KMGT" else ""
    try:
        size = float(plain.removesuffix(unit)) * UNITS[unit]
    except ValueError:
        size = 0.0
    if not 2**20 <= size < float("inf"):
        raise ParameterError("max_memory", "be a size of at least 1M, such as 500M", text)
    return int(size)


def parse_bins(texts: Sequence[str]) -> Any:
    """Read ``auto``, ``5`` (all columns of numbers) or ``age=5 pay=4`` (others: auto)."""
    if list(texts) in ([], ["auto"]):
        return "auto"
    named: dict[str, int] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if not number.isdigit() or (equals and not name):
            raise ParameterError("bins", "be auto, a number, or column=number", text)
        if not equals and len(texts) > 1:
            raise ParameterError("bins", "be one number or one per column", " ".join(texts))
        if not equals:
            return int(number)
        named[name] = int(number)
    return named
