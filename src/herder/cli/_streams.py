"""The standard streams, which may be closed, full, or without a reader.

Nothing heavy is imported here: it serves before anything else is imported.
"""

import os
import sys
from contextlib import suppress
from typing import Any

__all__ = ["NO_READER", "STOPPED", "USER_ERROR", "Stream", "complain", "open_streams", "spell"]

#: Exit codes: what the user asked cannot be done; the user stopped it (128 + SIGINT); the reader
#: of a pipe has gone (128 + SIGPIPE).
USER_ERROR, STOPPED, NO_READER = 2, 130, 141


class Stream:
    """A standard stream whose errors name it, and come once.

    Parameters
    ----------
    stream : file
        What it writes to.
    name : str
        What errors call it.
    """

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = stream
        self._name = name

    def write(self, text: str) -> int:
        """Write a text."""
        try:
            return self._stream.write(text)
        except OSError as error:
            raise self._named(error) from None

    def flush(self) -> None:
        """Write what waits."""
        try:
            self._stream.flush()
        except OSError as error:
            raise self._named(error) from None

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the stream."""
        return getattr(self._stream, name)

    def _named(self, error: OSError) -> OSError:
        error.filename = self._name
        with suppress(OSError):  # Python flushes once more at the end: that must not fail again
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._stream.fileno())
            os.close(null)
        return error


def open_streams() -> None:
    """Open the standard streams that were closed before: nothing is read, and writing fails.

    Otherwise the next file that is opened would take their place.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDONLY)
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))


def complain(text: str) -> None:
    """Print an error or a warning on stderr, or nowhere: that must not end a run."""
    with suppress(OSError):
        print(f"herder: {' '.join(text.split())}", file=Stream(sys.stderr, "stderr"), flush=True)


def spell(error: OSError) -> str:
    """Return the text of an error of the system, and the file if it names one."""
    where = "" if error.filename is None else f": {error.filename}"
    return f"{error.strerror}{where}" if error.strerror else str(error)
