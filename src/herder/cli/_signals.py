"""Signals that ask the command to end: Ctrl-C (SIGINT), and SIGTERM.

Nothing heavy is imported here, so that signals are caught before anything else is imported.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader
from types import FrameType

__all__ = [
    "acknowledge_interrupt",
    "catch_signals",
    "heed_signals",
    "hold_signals",
    "ignore_signals",
    "release_signals",
]

#: Libraries that call back from compiled code, and how long to wait for them, in seconds.
DELICATE, PAUSE = ("llvmlite", "pyarrow"), 0.05

#: Signals that asked this process to end.
_received: list[int] = []

#: Not empty while signals must wait.
_held: list[bool] = []


def catch_signals() -> None:
    """Remember Ctrl-C and a request to end; they wait until a verb begins, which releases them."""
    _held.append(True)
    signal.signal(signal.SIGINT, _receive)
    signal.signal(signal.SIGTERM, _receive)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _raise_or_wait)


def release_signals() -> None:
    """Let signals raise, those that came before included.

    An exception that comes while Python runs a destructor is lost; `heed_signals` raises it again.
    One that comes while LLVM calls back ends the process by an abort, so that it waits for the
    call to be over.
    """
    _held.clear()
    heed_signals()


def heed_signals() -> None:
    """Raise if the user has asked to stop; long loops call it."""
    if not _received:
        return
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)  # once is enough: cleaning up must not be left
    if _received[-1] == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + _received[-1])


def acknowledge_interrupt() -> bool:
    """Return whether Ctrl-C came, and let it raise no more: what it was to end has ended."""
    came = False
    while signal.SIGINT in _received:
        _received.remove(signal.SIGINT)
        came = True
    return came


@contextmanager
def hold_signals() -> Iterator[None]:
    """Let signals wait for what must not be done by half."""
    _held.append(True)
    try:
        yield
    finally:
        _held.pop()
    heed_signals()


def ignore_signals() -> None:
    """Ignore from here on the signals that were caught: the process ends by itself.

    Otherwise one that comes while Python shuts down would end it, though all is done and said.
    """
    _held.append(True)
    for number in signal.valid_signals():
        if signal.getsignal(number) in (_receive, _raise_or_wait):
            signal.signal(number, signal.SIG_IGN)


def _receive(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    _raise_or_wait(number, frame)


def _raise_or_wait(number: int, frame: FrameType | None) -> None:
    if _held:
        return
    if hasattr(signal, "setitimer") and _is_delicate(frame):
        signal.setitimer(signal.ITIMER_REAL, PAUSE)
    else:
        heed_signals()


def _is_delicate(frame: FrameType | None) -> bool:
    """Whether something is at work that must not be left by an exception.

    That is a library that calls back from compiled code, and a compiled module that is being
    imported: many turn any exception that they meet into an ImportError.
    """
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package in DELICATE:
            return True
        if package == "importlib" and isinstance(frame.f_locals.get("self"), ExtensionFileLoader):
            return True
        frame = frame.f_back
    return False
