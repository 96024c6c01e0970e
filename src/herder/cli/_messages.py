"""What the command says on stderr: warnings of the library, and errors in the user's words."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from herder._errors import ParameterError
from herder.cli._signals import ignore_signals, release_signals
from herder.cli._streams import NO_READER, STOPPED, USER_ERROR, complain, spell

if TYPE_CHECKING:
    from herder.cli._verb import Run

__all__ = ["library_messages", "user_errors"]


@contextmanager
def library_messages(run: "Run") -> Iterator[None]:
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
def user_errors(run: "Run") -> Iterator[None]:
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
    except OSError as error:
        complain(run.with_outcome(_typed(run, spell(error))))
        raise typer.Exit(USER_ERROR) from None
    except MemoryError as error:
        complain(run.with_outcome(run.wording.text(str(error)) or "not enough memory"))
        raise typer.Exit(USER_ERROR) from None
    except ParameterError as error:
        complain(run.with_outcome(run.wording.text(_spelt(run, error))))
        raise typer.Exit(USER_ERROR) from None
    except (ValueError, OverflowError, ModuleNotFoundError) as error:
        complain(run.with_outcome(run.wording.text(_typed(run, str(error)))))
        raise typer.Exit(USER_ERROR) from None


def _typed(run: "Run", text: str) -> str:
    """Return an error about a path with the argument or the option that it came from."""
    for parameter in run.context.command.params:
        given = run.context.params.get(parameter.name or "")
        for path in given if isinstance(given, list | tuple) else [given]:
            if text.startswith("path must ") and f", got {str(path)!r}" in text:
                names = [getattr(parameter, "metavar", None) or parameter.name or ""]
                is_option = parameter.param_type_name == "option"
                return max(parameter.opts if is_option else names, key=len) + text[4:]
    return text


def _spelt(run: "Run", error: ParameterError) -> str:
    """Return the text of an error with the option in place of the parameter."""
    context = run.context
    name = run.names.get(error.name) or error.name
    for parameter in context.command.params:
        if parameter.name == name:
            typed = context.params.get(name) or name
            if parameter.param_type_name == "option":
                typed = max(parameter.opts, key=len)
            elif isinstance(typed, list | tuple):
                typed = getattr(parameter, "metavar", name)
            error.name = str(typed)
    return str(error)
