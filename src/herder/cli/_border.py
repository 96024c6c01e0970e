"""Where the command meets its user: errors, consoles, progress, sizes, paths."""

import functools
import os
import shlex
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import ParamSpec

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from herder._errors import ParameterError
from herder.cli._terminal import catch_signals, heed_signals

__all__ = [
    "STOPPED",
    "catch_signals",
    "command_line",
    "heed_signals",
    "parse_bins",
    "parse_size",
    "progress_bar",
    "refuse_given",
    "require_output",
    "user_errors",
    "watch",
]

P = ParamSpec("P")

#: Exit codes: what the user asked cannot be done; the user stopped it (128 + SIGINT).
USER_ERROR, STOPPED = 2, 130

#: Exit code when the reader of a pipe has gone (128 + SIGPIPE), as for other commands.
NO_READER = 141

#: What the library calls a remedy, and its name here.
OPTIONS = (
    ("missing='category'", "--missing category"),
    ("bins=", "--bins 5"),
    ("max_contexts", "--method gibbs"),
)

#: Libraries that call back from compiled code, and how long to wait for them, in seconds.
DELICATE, PAUSE = ("llvmlite", "pyarrow"), 0.05


UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def user_errors(verb: Callable[P, None]) -> Callable[P, None]:
    """Turn errors that a user can mend into one line and exit code 2, and Ctrl-C into 130."""

    @functools.wraps(verb)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            verb(*args, **kwargs)
        except KeyboardInterrupt:
            _say("stopped: nothing was written")
            raise typer.Exit(STOPPED) from None
        except BrokenPipeError:
            # whoever reads has seen enough; nothing more is flushed at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(NO_READER) from None
        except OSError as error:
            where = "" if error.filename is None else f": {error.filename}"
            _say(f"{error.strerror}{where}" if error.strerror else str(error))
            raise typer.Exit(USER_ERROR) from None
        except MemoryError:
            _say("not enough memory: give a smaller --max-memory, a lower --order or fewer --bins")
            raise typer.Exit(USER_ERROR) from None
        except (ValueError, OverflowError, ModuleNotFoundError) as error:
            if isinstance(error, ParameterError):
                error.name = error.name.replace("_", "-")  # as options are spelt
            text = str(error)
            options = [option for words, option in OPTIONS if words in text]
            _say("; ".join([text, *(f"on the command line: {option}" for option in options)]))
            raise typer.Exit(USER_ERROR) from None

    return run


def _say(text: str) -> None:
    typer.echo(f"herder: {' '.join(text.split())}", err=True)


def progress_bar() -> Progress:
    """Give a progress bar on stderr, with room for a note; silent when nobody watches."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def watch(progress: Progress) -> Callable[[float, str], None]:
    """Show what the library reports of its progress: one bar for each kind of work."""
    tasks: dict[str, TaskID] = {}

    def show(share: float, note: str) -> None:
        heed_signals()
        kind, _, detail = note.partition(", ")
        if kind not in tasks:
            tasks[kind] = progress.add_task(kind, total=1.0, note="")
        progress.update(tasks[kind], completed=share, note=detail)

    return show


def parse_size(text: str) -> int:
    """Read a size such as ``500M`` or ``1.5G`` into bytes."""
    plain = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = plain[-1:] if plain[-1:] in "KMGT" else ""
    try:
        size = float(plain.removesuffix(unit)) * UNITS[unit]
    except ValueError:
        size = 0.0
    if not 2**20 <= size < float("inf"):
        raise ValueError(f"max-memory must be a size of at least 1M, such as 500M, got {text!r}")
    return int(size)


def parse_bins(texts: Sequence[str]) -> int | Mapping[str, int] | None:
    """Read ``5`` (all numeric columns) or ``age=5 pay=4`` (these columns)."""
    named: dict[str, int] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if not number.isdigit() or (equals and not name):
            raise ValueError(f"bins must be a number, or column=number, got {text!r}")
        if not equals and len(texts) > 1:
            raise ValueError(f"bins must be one number or one per column, got {' '.join(texts)!r}")
        if not equals:
            return int(number)
        named[name] = int(number)
    return named or None


def require_output(
    path: Path, role: str, *, suffixes: Sequence[str], others: Sequence[Path]
) -> None:
    """Check before a long run what would fail after it."""
    if path.suffix.lower() not in suffixes:
        rule = (
            ", ".join(suffixes[:-1]) + f" or {suffixes[-1]}" if len(suffixes) > 1 else suffixes[0]
        )
        raise ValueError(f"{role} must end in {rule}, got {str(path)!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{role} must lie in a folder that exists, got {str(path)!r}")
    if path.is_dir():
        raise ValueError(f"{role} must name a file, got the folder {str(path)!r}")
    if any(path.resolve() == other.resolve() for other in others):
        raise ValueError(
            f"{role} must not be the input or another file of the command, got {str(path)!r}"
        )


def command_line(context: typer.Context) -> str:
    """Give what was typed, to be typed again."""
    words = ["herder", context.info_name or ""]
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "")
        value = context.params.get(parameter.name or "")
        if given is None or given.name != "COMMANDLINE" or value is None:
            continue
        for item in value if isinstance(value, list | tuple) else [value]:
            if parameter.param_type_name == "option":
                words.append(parameter.opts[-1])
            words.append(str(item))
    return shlex.join(words)


def refuse_given(context: typer.Context, names: Collection[str], why: str) -> None:
    """Refuse options on the command line that would not be heeded."""
    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.get_parameter_source(name)
        if name in names and given is not None and given.name == "COMMANDLINE":
            value = context.params[name]
            raise ValueError(f"{parameter.opts[-1]} must be left out {why}, got {value}")
