"""The terminal: signals, progress bars, sizes, and summaries in colour."""

import signal
import sys
from collections.abc import Mapping, Sequence
from types import FrameType

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

__all__ = [
    "catch_signals",
    "heed_signals",
    "parse_bins",
    "parse_size",
    "print_summary",
    "progress_bar",
]

#: Libraries that call back from compiled code, and how long to wait for them, in seconds.
DELICATE, PAUSE = ("llvmlite", "pyarrow"), 0.05

#: Signals that asked this process to end.
_received: list[int] = []

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

STYLES = {"plain": "", "good": "green", "warning": "yellow", "code": "dim"}


def catch_signals() -> None:
    """Let Ctrl-C and a request to end raise, and remember them.

    An exception that comes while Python runs a destructor is lost; `heed_signals` raises it again.
    One that comes while LLVM calls back ends the process by an abort, so that it waits for the
    call to be over.
    """

    def receive(number: int, frame: FrameType | None) -> None:
        _received.append(number)
        raise_or_wait(number, frame)

    def raise_or_wait(number: int, frame: FrameType | None) -> None:
        if hasattr(signal, "setitimer") and _is_delicate(frame):
            signal.setitimer(signal.ITIMER_REAL, PAUSE)
        else:
            heed_signals()

    signal.signal(signal.SIGINT, receive)
    signal.signal(signal.SIGTERM, receive)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, raise_or_wait)


def _is_delicate(frame: FrameType | None) -> bool:
    """Whether a library is at work that must not be left by an exception."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in DELICATE:
            return True
        frame = frame.f_back
    return False


def heed_signals() -> None:
    """Raise if the user has asked to stop; long loops call it."""
    if not _received:
        return
    if _received[-1] == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + _received[-1])


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


def print_summary(summary: Summary, *, stderr: bool = False) -> None:
    """Print a summary: in colour on a terminal, else as the plain text that it is."""
    console = Console(highlight=False, stderr=stderr)
    if not console.is_terminal:
        print(summary, file=sys.stderr if stderr else sys.stdout)
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


def parse_bins(texts: Sequence[str]) -> int | Mapping[str, int] | None:
    """Read ``5`` (all numeric columns) or ``age=5 pay=4`` (these columns)."""
    named: dict[str, int] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if not number.isdigit() or (equals and not name):
            raise ParameterError("bins", "be a number, or column=number", text)
        if not equals and len(texts) > 1:
            raise ParameterError("bins", "be one number or one per column", " ".join(texts))
        if not equals:
            return int(number)
        named[name] = int(number)
    return named or None
