"""One runner for all verbs: a verb is its options, a call of the library, and a summary.

The runner owns what verbs share: it looks at the output files before the run, shows progress,
heeds signals, puts all files into place together at the end, writes the report, prints the
summary, and spells errors of the library in the options of the command line.
"""

import functools
import inspect
import logging
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.progress import Progress, TaskID

from herder._errors import ParameterError
from herder.cli._terminal import heed_signals, parse_size, print_summary, progress_bar
from herder.core.files import whole_file
from herder.core.summary import Summary

__all__ = [
    "INPUT",
    "LIMITS",
    "METHOD",
    "MODELS",
    "OUTPUT",
    "PAGES",
    "STOPPED",
    "TABLES",
    "Run",
    "option",
    "output_option",
    "read_number",
    "verb",
]

#: Panels of the help.
INPUT, METHOD, OUTPUT, LIMITS = "Input", "Method", "Output", "Limits"

#: Endings of the files that verbs write.
TABLES, MODELS, PAGES = (".csv", ".npy", ".npz", ".parquet"), (".safetensors",), (".html", ".htm")

#: Exit codes: what the user asked cannot be done; the user stopped it (128 + SIGINT); the reader
#: of a pipe has gone (128 + SIGPIPE).
USER_ERROR, STOPPED, NO_READER = 2, 130, 141


def option(panel: str, text: str, *names: str, **more: Any) -> Any:
    """Return an option of a verb, in a panel of its help."""
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


def output_option(text: str, metavar: str = "FILE") -> Any:
    """Return the option ``-o`` of a verb."""
    return option(OUTPUT, text, "-o", "--output", metavar=metavar)


def read_number(text: str, name: str, *, word: str = "", low: float = 0.0) -> Any:
    """Read what was typed: a finite number from ``low`` on, or a word that may stand for it."""
    if word and text == word:
        return word
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not low <= number < float("inf"):
        rule = f"{word} or " * bool(word) + f"a number from {low:g} on"
        raise ParameterError(name, f"be {rule}", text)
    return number


class Run:
    """What the runner offers to a verb.

    Parameters
    ----------
    context : typer.Context
        What was typed.
    quiet : bool
        Whether to print nothing but errors.
    max_memory : str or None
        The memory limit as typed, if the verb has one.
    report : Path or None
        Where a page is wanted.

    Attributes
    ----------
    max_memory : int
        The memory limit in bytes.
    """

    max_memory: int

    def __init__(
        self,
        context: typer.Context,
        *,
        quiet: bool,
        max_memory: str | None = None,
        report: Path | None = None,
    ) -> None:
        self.context = context
        self.quiet = quiet
        self.report = report
        self._max_memory = max_memory
        self.out = sys.stdout  # before a bar takes its place
        self.written: list[Path] = []
        self._files = ExitStack()
        self.placed = ""
        self.output_taken = False
        self._parts: dict[str, str] = {}
        self._tasks: dict[str, TaskID] = {}

    @property
    def command(self) -> str:
        """What was typed, to be typed again."""
        words = self.context.command_path.split()
        for parameter in self.context.command.params:
            value = self.context.params.get(parameter.name or "")
            if not self.given(parameter.name or "") or value is None:
                continue
            if isinstance(value, bool):
                words.append((parameter.opts if value else parameter.secondary_opts)[-1])
                continue
            for item in value if isinstance(value, list | tuple) else [value]:
                if parameter.param_type_name == "option":
                    words.append(parameter.opts[-1])
                words.append(str(item))
        return shlex.join(words)

    def given(self, name: str) -> bool:
        """Return whether an option was typed."""
        source = self.context.get_parameter_source(name)
        return source is not None and source.name == "COMMANDLINE"

    def refuse(self, names: Collection[str], why: str) -> None:
        """Refuse options that would have no effect."""
        for name in names:
            if self.given(name):
                value = self.context.params[name]
                value = ", ".join(value) if isinstance(value, list | tuple) else value
                raise ParameterError(name, f"be left out {why}", value)

    def progress(self, share: float, note: str) -> None:
        """Show progress as the library reports it: one bar for each kind of work."""
        heed_signals()
        kind, _, detail = note.partition(", ")
        first = kind.partition(" ")[0]
        if first in ("chunk", "class"):
            kind, detail = first, kind
        if kind not in self._tasks:
            self._tasks[kind] = self.bar.add_task(kind, total=1.0, note="")
        self.bar.update(self._tasks[kind], completed=share, note=detail)

    def part(self, path: Path) -> Path:
        """Return a file to write, which appears as ``path`` with all others at the end."""
        part = self._files.enter_context(whole_file(path))
        self.written.append(path)
        self._parts[str(part)] = str(path)
        return part

    def with_paths(self, text: str) -> str:
        """Return the text of an error with files under their final names, and those in place."""
        for part, path in self._parts.items():
            text = text.replace(part, path)
        return f"{text}; {self.placed}" if self.placed else text

    def take_output(self) -> TextIO:
        """Return the standard output for results; the summary goes to stderr then."""
        self.output_taken = True
        self.bar.disable = self.bar.disable or self.out.isatty()
        return self.out

    def in_options(self, text: str) -> str:
        """Return a text that says ``pass name='value'`` with the option instead."""
        names = {parameter.name: parameter.opts[-1] for parameter in self.context.command.params}

        def spelt(found: re.Match[str]) -> str:
            if found[1] not in names:
                return found[0]
            value = "" if found[2] == "True" else f" {found[2]}"  # a flag has none
            return f"pass {names[found[1]]}{value}"

        return re.sub(r"\bpass (\w+)='?(\w+)'?", spelt, text)

    def say(self, line: str) -> None:
        """Print a line at once, above the progress bar."""
        if not self.quiet:
            # a bar takes over the standard output: on a terminal lines go above it
            typer.echo(line, file=None if self.out.isatty() else self.out)

    def warn(self, text: str) -> None:
        """Print a warning."""
        if not self.quiet:
            _complain(f"Warning: {text}")

    def place(self, yet: str) -> None:
        """Put all files into place, safe from here on; ``yet`` is what an error would miss."""
        names = ", ".join(str(path) for path in self.written)
        self._files.close()
        self.placed = f"{names} was written, but {yet}"
        self._files = ExitStack()

    def __enter__(self) -> "Run":
        heed_signals()
        if self._max_memory is not None:
            self.max_memory = parse_size(self._max_memory)
        self.bar: Progress = progress_bar(quiet=self.quiet)
        self.bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.bar.stop()
        if error[0] is not None:
            self.written.clear()
        self._files.__exit__(*error)


def verb(
    *,
    example: str,
    outputs: Mapping[str, Sequence[str]] | None = None,
    inputs: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    report: str = "",
    max_memory: str = "",
) -> Callable[[Callable[..., Summary | None]], Callable[..., None]]:
    """Make a command of a function that takes a `Run` and options and returns a summary.

    Parameters
    ----------
    example : str
        What a user might type; shown at the end of the help.
    outputs : mapping of option to endings
        Files that the verb writes.
    inputs : sequence of str
        Parameters that are files to read, which outputs must not be.
    options : mapping of str to str
        What the library calls a parameter, and its name here where the two differ.
    report : str
        What the page of ``--report`` shows; without it there is no such option.
    max_memory : str
        Default of ``--max-memory``; without it there is no such option.
    """

    def decorate(function: Callable[..., Summary | None]) -> Callable[..., None]:
        wanted = {**(outputs or {}), **({"report": PAGES} if report else {})}

        @functools.wraps(function)
        def command(context: typer.Context, **values: Any) -> None:
            page, quiet = values.pop("report", None), values.pop("quiet")
            max_memory = values.pop("max_memory", None)
            run = Run(context, quiet=quiet, max_memory=max_memory, report=page)
            with _user_errors(run, options or {}):
                _check_outputs(wanted, inputs, {**values, "report": page})
                with _library_messages(run), run:
                    summary = function(run, **values)
                    if page is not None and summary is not None:
                        from herder.report import page_html

                        text = page_html(summary, command=run.command)
                        run.part(page).write_text(text, encoding="utf-8")
                if summary is not None and not quiet:
                    names = ", ".join(str(path) for path in run.written)
                    title = f"{names}: {summary.title}" if names else summary.title
                    print_summary(replace(summary, title=title), stderr=run.output_taken)

        _sign(command, function, _common_options(report, max_memory))
        marked: Any = command
        marked.example = example
        return command

    return decorate


def _common_options(report: str, max_memory: str) -> list[inspect.Parameter]:
    """Return the options that the runner itself takes."""
    flag = typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=OUTPUT)
    found = [_option("quiet", Annotated[bool, flag], False)]
    if max_memory:
        text = "Refuse what would need more memory, for example 500M or 8G."
        size = typer.Option("--max-memory", metavar="SIZE", help=text, rich_help_panel=LIMITS)
        found.append(_option("max_memory", Annotated[str, size], max_memory))
    if report:
        text = f"Write a page with {report}."
        page = typer.Option("--report", metavar="PAGE.html", help=text, rich_help_panel=OUTPUT)
        found.append(_option("report", Annotated[Path | None, page], None))
    return found


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=annotation, default=default)


def _sign(command: Any, function: Callable[..., Any], more: list[inspect.Parameter]) -> None:
    """Let typer see the options of a function, with the context in place of the run."""
    first, *rest = inspect.signature(function).parameters.values()
    context = first.replace(name="context", annotation=typer.Context)
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in rest]
    command.__signature__ = inspect.Signature([context, *own, *more])
    annotations = inspect.get_annotations(function)
    annotations.pop(first.name, None)
    command.__annotations__ = {
        **annotations,
        "context": typer.Context,
        **{parameter.name: parameter.annotation for parameter in more},
    }


def _check_outputs(
    outputs: Mapping[str, Sequence[str]], inputs: Sequence[str], values: Mapping[str, Any]
) -> None:
    """Check before a long run what would fail after it."""
    others: list[Path] = []
    for name in inputs:
        given = values[name]
        paths = given if isinstance(given, list | tuple) else [given]
        others += [Path(path) for path in paths if path is not None]
    for name, suffixes in outputs.items():
        path = values[name]
        if path is None:
            continue
        if path.suffix.lower() not in suffixes:
            *before, last = suffixes
            rule = f"{', '.join(before)} or {last}" if before else last
            raise ParameterError(name, f"end in {rule}", str(path))
        if not path.parent.is_dir():
            raise ParameterError(name, "lie in a folder that exists", str(path))
        if not os.access(path.parent, os.W_OK):
            raise ParameterError(name, "lie in a folder that can be written", str(path))
        if path.is_dir():
            raise ParameterError(name, "name a file", got=f"the folder {str(path)!r}")
        if any(path.resolve() == other.resolve() for other in others):
            rule = "not be the input or another file of the command"
            raise ParameterError(name, rule, str(path))
        others.append(path)
    if values.get("report") is not None:
        import herder.plots._style  # noqa: F401 (needs matplotlib: better said now than later)


@contextmanager
def _library_messages(run: Run) -> Iterator[None]:
    """Print warnings and log messages of the library as the command's own."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            run.warn(record.getMessage())

    logger, handler = logging.getLogger("herder"), Handler(logging.WARNING)
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for message in dict.fromkeys(str(warning.message) for warning in caught):
            run.warn(message)
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


@contextmanager
def _user_errors(run: Run, options: Mapping[str, str]) -> Iterator[None]:
    """Turn errors that a user can mend into one line and exit code 2, and Ctrl-C into 130."""
    try:
        yield
    except KeyboardInterrupt:
        names = ", ".join(str(path) for path in run.written)
        done = run.placed or (f"{names} was written" if names else "nothing was written")
        _complain(f"stopped: {done}")
        raise typer.Exit(STOPPED) from None
    except BrokenPipeError:
        # whoever reads has seen enough; nothing more is flushed at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(NO_READER) from None
    except OSError as error:
        where = "" if error.filename is None else f": {error.filename}"
        text = f"{error.strerror}{where}" if error.strerror else str(error)
        _complain(run.with_paths(text))
        raise typer.Exit(USER_ERROR) from None
    except MemoryError as error:
        _complain(str(error) or "not enough memory")
        raise typer.Exit(USER_ERROR) from None
    except ParameterError as error:
        _complain(run.in_options(run.with_paths(_spelt(run.context, error, options))))
        raise typer.Exit(USER_ERROR) from None
    except (ValueError, OverflowError, ModuleNotFoundError) as error:
        _complain(run.in_options(run.with_paths(str(error))))
        raise typer.Exit(USER_ERROR) from None


def _spelt(context: typer.Context, error: ParameterError, options: Mapping[str, str]) -> str:
    """Return the text of an error with the option in place of the parameter."""
    name = options.get(error.name, error.name)
    for parameter in context.command.params:
        if parameter.name == name:
            typed = context.params.get(name) or name
            if parameter.param_type_name == "option":
                typed = max(parameter.opts, key=len)
            elif isinstance(typed, list | tuple):
                typed = getattr(parameter, "metavar", name)
            error.name = str(typed)
    return str(error)


def _complain(text: str) -> None:
    typer.echo(f"herder: {' '.join(text.split())}", err=True)
