"""The command ``herder``: one file per verb.

Signals are caught before typer and the verbs are imported. Only typer and rich are imported
before a verb runs, so that ``herder --help`` answers at once.
"""

import sys
from typing import TYPE_CHECKING, Any

from herder.cli._signals import catch_signals, ignore_signals
from herder.cli._streams import NO_READER, USER_ERROR, Stream, complain, open_streams, spell

if TYPE_CHECKING:
    from herder.cli._app import app

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from herder.cli._app import app

    return app


def main() -> None:
    """Run the command; a signal to end leaves no half-written file."""
    catch_signals()
    try:
        open_streams()
        from herder.cli import app

        try:
            app()
        finally:
            Stream(sys.stdout, "standard output").flush()
    except BrokenPipeError:
        sys.exit(NO_READER)
    except OSError as error:  # help that cannot be printed
        error.filename = error.filename or "standard output"
        complain(spell(error))
        sys.exit(USER_ERROR)
    finally:
        ignore_signals()
        # An interrupt inside code that Python ran from a string (the compiler does) marks the
        # process to die of the signal, though it was caught; running a string takes that back.
        exec("")
