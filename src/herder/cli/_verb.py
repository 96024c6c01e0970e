"""One runner for all verbs: a verb is its options, a call of the library, and a summary.

The runner owns what verbs share: it looks at the output files before the run, shows progress,
heeds signals, puts all files into place together at the end, writes the report, prints the
summary, and spells warnings and errors of the library in the options of the command line.
"""

import functools
import inspect
import logging
import shlex
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.progress import Progress, TaskID

from herder._errors import ParameterError
from herder.cli._options import (
    INPUT,
    LIMITS,
    METHOD,
    MODELS,
    OUTPUT,
    PAGES,
    TABLES,
    common_options,
    option,
    output_option,
    read_number,
)
from herder.cli._outputs import check_outputs
from herder.cli._signals import (
    acknowledge_interrupt,
    heed_signals,
    hold_signals,
    ignore_signals,
    release_signals,
)
from herder.cli._streams import NO_READER, STOPPED, USER_ERROR, Stream, complain
from herder.cli._terminal import parse_size, print_summary, progress_bar
from herder.cli._wording import Wording
from herder.core.files import PartFile, PartFolder
from herder.core.summary import Summary

__all__ = [
    "INPUT",
    "LIMITS",
    "METHOD",
    "MODELS",
    "OUTPUT",
    "PAGES",
    "TABLES",
    "Run",
    "option",
    "output_option",
    "read_number",
    "verb",
]

COMPILING = "compiling (only the first time)"


class Run:
    """What the runner offers to a verb.

    Parameters
    ----------
    context : typer.Context
        What was typed.
    names : mapping of str to str or None
        What the library calls a parameter: its name here, or None if there is no such option.
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
    interrupted : str
        How to go on, if Ctrl-C ended what was done `until_interrupt`.
    wording : Wording
        Writes options in place of the library's parameters.
    """

    max_memory: int

    def __init__(
        self,
        context: typer.Context,
        *,
        names: Mapping[str, str | None],
        quiet: bool,
        max_memory: str | None = None,
        report: Path | None = None,
    ) -> None:
        self.context = context
        self.wording = Wording(context.command.params, names)
        self.quiet = quiet
        self.report = report
        self._max_memory = max_memory
        self.output_taken = False
        self.interrupted = ""
        self.written: list[Path] = []
        self._parts: dict[Path, PartFile] = {}
        self._lacking = ""
        self._unheard: OSError | None = None
        self._tasks: dict[str, TaskID] = {}

    def command(self, *, without: Collection[str] = ()) -> str:
        """Return what was typed, to be typed again, some options left out."""
        words = self.context.command_path.split()
        for parameter in self.context.command.params:
            name = parameter.name or ""
            value = self.context.params.get(name)
            if name in without or not self.given(name) or value is None:
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
                value = str(value) if isinstance(value, Path) else value
                raise ParameterError(name, f"be left out {why}", value)

    def progress(self, share: float, note: str) -> None:
        """Show progress as the library reports it: one bar for each kind of work."""
        heed_signals()
        if COMPILING in self._tasks:
            self.bar.remove_task(self._tasks.pop(COMPILING))
        kind, _, detail = note.partition(", ")
        first = kind.partition(" ")[0]
        if first in ("chunk", "class"):
            kind, detail = first, kind
        if kind not in self._tasks:
            self._tasks[kind] = self.bar.add_task(kind, total=1.0, note="")
        self.bar.update(self._tasks[kind], completed=share, note=detail)

    @contextmanager
    def until_interrupt(self, remedy: str) -> Iterator[None]:
        """Let Ctrl-C end what is done here, which meets it in `progress` and keeps what it has.

        The run goes on, and ends with the exit code of an interrupt after its files are written;
        ``remedy`` is how to go on.
        """
        with hold_signals():
            yield
            if acknowledge_interrupt():
                self.interrupted = remedy

    def compiling(self) -> None:
        """Show that loops are being compiled, until there is progress."""
        if COMPILING not in self._tasks:
            self._tasks[COMPILING] = self.bar.add_task(COMPILING, total=None, note="")

    def part(self, path: Path, *, folder: bool = False) -> Path:
        """Return a file to write, which appears as ``path`` with all others at the end."""
        with hold_signals():
            self._parts[path] = PartFolder(path) if folder else PartFile(path)
        return self._parts[path].path

    def place(self, lacking: str = "") -> None:
        """Put all files into place together; ``lacking`` is what a run that ends here misses."""
        for part in self._parts.values():
            part.complete()
        heed_signals()
        with hold_signals():
            self._lacking = lacking
            for path in list(self._parts):
                self._parts[path].place()
                del self._parts[path]
                self.written.append(path)

    def discard(self) -> None:
        """Remove the files that were not placed."""
        for part in self._parts.values():
            part.discard()

    @property
    def outcome(self) -> str:
        """What was written, and what was not; empty if nothing was."""
        if not self.written:
            return ""
        lacking = f"not {_listed(self._parts)}" if self._parts else self._lacking
        are = "was" if len(self.written) == 1 else "were"
        found = f"{_listed(self.written)} {are} written" + (f", but {lacking}" if lacking else "")
        return f"{found}; {self.interrupted}" if self.interrupted else found

    def with_outcome(self, text: str) -> str:
        """Return the text of an error with the final names of files, and what was written."""
        for path, part in self._parts.items():
            text = text.replace(str(part.path), str(path))
        return f"{text}; {self.outcome}" if self.outcome else text

    def take_output(self) -> Any:
        """Return the standard output for results; the summary goes to stderr then."""
        self.output_taken = True
        self.bar.disable = self.bar.disable or self.out.isatty()
        return self.out

    def say(self, line: str) -> None:
        """Print a line at once, above the progress bar; one that fails does not end the run."""
        if self.quiet or self._unheard is not None:
            return
        try:
            # a bar takes over the standard output: on a terminal lines go above it
            print(line, file=None if self.out.isatty() else self.out, flush=True)
        except OSError as error:
            self._unheard = error

    def warn(self, text: str) -> None:
        """Print a warning, with options in place of the library's parameters."""
        if not self.quiet:
            complain(f"Warning: {self.wording.text(text)}")

    def show(self, summary: Summary) -> None:
        """Print the summary, after all files are in place."""
        if self._unheard is not None:
            raise self._unheard
        if self.quiet:
            return
        names = _listed(self.written)
        titled = replace(summary, title=f"{names}: {summary.title}") if names else summary
        if not self.output_taken:
            print_summary(titled, self.out)
            return
        with suppress(OSError):  # like a message, see `complain`
            print_summary(titled, Stream(sys.stderr, "stderr"))

    def __enter__(self) -> "Run":
        self.out = Stream(sys.stdout, "standard output")  # before a bar takes its place
        if self._max_memory is not None:
            self.max_memory = parse_size(self._max_memory)
        self.bar: Progress = progress_bar(quiet=self.quiet)
        self.bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        with hold_signals():
            self.bar.stop()
            self.discard()


def verb(
    *,
    example: str,
    outputs: Mapping[str, Sequence[str]] | None = None,
    inputs: Sequence[str] = (),
    options: Mapping[str, str | None] | None = None,
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
    options : mapping of str to str or None
        What the library calls a parameter, and its name here where the two differ; None if there
        is no such option, and remedies that name it are left out.
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
            names = options or {}
            run = Run(context, names=names, quiet=quiet, max_memory=max_memory, report=page)
            with _user_errors(run):
                given = _paths(values[name] for name in inputs)
                check_outputs(wanted, given, {**values, "report": page})
                with _library_messages(run), run:
                    summary = function(run, **values)
                    summary = None if summary is None else run.wording.summary(summary)
                    if page is not None and summary is not None:
                        from herder.report import page_html

                        source = ", ".join(path.name for path in given)
                        text = page_html(summary, command=run.command(), source=source)
                        run.part(page).write_text(text, encoding="utf-8")
                    run.place()
                if summary is not None:
                    run.show(summary)
                if run.interrupted:
                    raise KeyboardInterrupt
                ignore_signals()

        # typer sees the options of the function, with the context in place of the run
        first, *rest = inspect.signature(function).parameters.values()
        seen = [first.replace(name="context", annotation=typer.Context)]
        seen += [own.replace(kind=inspect.Parameter.KEYWORD_ONLY) for own in rest]
        seen += common_options(report, max_memory)
        marked: Any = command
        marked.__signature__ = inspect.Signature(seen)
        marked.__annotations__ = {parameter.name: parameter.annotation for parameter in seen}
        marked.example = example
        return command

    return decorate


def _paths(given: Iterable[Any]) -> list[Path]:
    """Return the files of arguments and options, each of which may be left out or a list."""
    lists = [one if isinstance(one, list | tuple) else [one] for one in given]
    return [Path(path) for paths in lists for path in paths if path is not None]


def _listed(paths: Iterable[Path]) -> str:
    return ", ".join(str(path) for path in paths)


@contextmanager
def _library_messages(run: Run) -> Iterator[None]:
    """Print warnings and log messages of the library as the command's own."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.name == compiling.name:
                run.compiling()
            elif record.levelno >= logging.WARNING:
                run.warn(record.getMessage())

    logger, compiling = logging.getLogger("herder"), logging.getLogger("herder.compiling")
    handler = Handler()
    before, level = logger.propagate, compiling.level
    logger.addHandler(handler)
    logger.propagate = False
    compiling.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for message in dict.fromkeys(str(warning.message) for warning in caught):
            run.warn(message)
    finally:
        logger.removeHandler(handler)
        logger.propagate = before
        compiling.setLevel(level)


@contextmanager
def _user_errors(run: Run) -> Iterator[None]:
    """Turn errors that a user can mend into one line and exit code 2, and Ctrl-C into 130."""
    try:
        release_signals()
        yield
    except (KeyboardInterrupt, SystemExit) as stop:
        ignore_signals()
        run.discard()  # again: a second Ctrl-C may have come while files were removed
        complain(f"stopped: {run.outcome or 'nothing was written'}")
        if isinstance(stop, SystemExit):  # of another signal, with its code
            raise
        raise typer.Exit(STOPPED) from None
    except BrokenPipeError:
        raise typer.Exit(NO_READER) from None
    except (OSError, MemoryError, ValueError, OverflowError, ModuleNotFoundError) as error:
        complain(run.with_outcome(run.wording.error(error, run.context.params)))
        raise typer.Exit(USER_ERROR) from None
