"""Files that are written whole or not at all.

A file is made in a folder of its own beside its final place, and moved there when it is complete.
A process that is killed leaves its folder behind. The next one that writes a file beside it
removes it if its writer is provably gone:

- a writer locks its folder (``flock``) as long as it lives, and gives it the name that others
  look for only after that: a folder of this name that can be locked has no writer;
- the name carries the identity of the running kernel, as some file systems keep locks within one
  machine. What was written on another machine, or before this one was restarted, is left alone.

Where there are no such locks, as on Windows, or the kernel has no identity, nothing is removed.
Links are not followed.
"""

import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from herder._errors import ParameterError

__all__ = ["PartFile", "PartFolder", "PathLike", "whole_file"]

PathLike = str | os.PathLike[str]

#: Names of the folders in which files are made: not locked, and locked under a kernel.
FOLDER = re.compile(r"\.herder-(?:(?P<kernel>[0-9a-f]{32})-)?[a-z0-9_]{8}\.part")

#: A number that Linux draws when it starts.
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class PartFile:
    """A file in the making, which takes the place of another when it is complete.

    Parameters
    ----------
    path : str or path
        Where the file is to be; a link stays, and what it points to is replaced.

    Attributes
    ----------
    path : Path
        The file to write: empty, with the name of the final one, and its mode if that exists.
    """

    path: Path
    _over_folder = False

    def __init__(self, path: PathLike) -> None:
        self._final = _final(path, folder=self._over_folder)
        self._lock: int | None = None
        _remove_abandoned(self._final.parent)
        try:
            self._folder = Path(mkdtemp(".part", ".herder-", self._final.parent))
            self._prepare()
        except OSError as error:  # with the name that the caller knows
            raise OSError(error.errno, error.strerror, str(path)) from error

    def complete(self) -> None:
        """Write through to the disk, so that nothing but a move is left to do."""
        with open(self.path, "rb+") as stream:
            os.fsync(stream.fileno())

    def place(self) -> None:
        """Move the file to its place."""
        os.replace(self.path, self._final)
        self.discard()

    def discard(self) -> None:
        """Remove the file unless it was placed."""
        shutil.rmtree(self._folder, ignore_errors=True)  # what stays is removed by the next writer
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _create(self) -> None:
        self.path.touch(exist_ok=False)

    def _prepare(self) -> None:
        try:
            with suppress(OSError):  # locks, and moves of folders, are not everywhere
                self._lock = _lock(self._folder)
                name = self._folder.name.replace("-", f"-{_kernel()}-", 1)
                self._folder = self._folder.rename(self._folder.with_name(name))
            self.path = self._folder / self._final.name
            self._create()
            if self._final.exists():
                shutil.copymode(self._final, self.path)
        except BaseException:
            self.discard()
            raise


class PartFolder(PartFile):
    """A folder in the making, which takes the place of an empty one or of none."""

    _over_folder = True

    def complete(self) -> None:
        """Do nothing: its files are closed."""

    def place(self) -> None:
        """Move the folder to its place."""
        with suppress(FileNotFoundError):
            os.rmdir(self._final)
        super().place()

    def _create(self) -> None:
        self.path.mkdir()


@contextmanager
def whole_file(path: PathLike) -> Generator[Path]:
    """Return a temporary path; on success the file there takes the place of ``path``.

    On any exception, Ctrl-C included, the temporary file is removed and ``path`` is unchanged. A
    ``path`` that is itself temporary is returned as it is: all or nothing of it will be placed.
    """
    if FOLDER.fullmatch(Path(path).parent.name):
        yield Path(path)
        return
    part = PartFile(path)
    try:
        yield part.path
        part.complete()
        part.place()
    finally:
        part.discard()


def _final(path: PathLike, *, folder: bool = False) -> Path:
    """Return the file that a path names, behind all links."""
    final = Path(os.path.realpath(path))
    if final.is_symlink():
        raise ParameterError("path", "name a file", got=f"the loop of links {str(path)!r}")
    if final.exists() and not (final.is_file() or (folder and final.is_dir())):
        raise ParameterError("path", "name a file", str(path))
    if not final.parent.is_dir():
        raise FileNotFoundError(f"path must lie in a folder that exists, got {str(path)!r}")
    return final


def _remove_abandoned(parent: Path) -> None:
    """Remove the folders of writers that were killed, as far as that is proved."""
    found: list[str] = []
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            match = FOLDER.fullmatch(entry.name)
            if match and match["kernel"] == _kernel():
                found.append(entry.path)
    for path in found:
        with suppress(OSError):  # locked by its writer, another user's, or gone by now
            lock = _lock(Path(path))
            try:
                shutil.rmtree(path)
            finally:
                os.close(lock)


def _lock(folder: Path) -> int:
    """Lock a folder and return its descriptor; an error if it is locked or cannot be."""
    try:
        fcntl: Any = import_module("fcntl")
    except ModuleNotFoundError as error:
        raise OSError("there are no locks") from error
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _kernel() -> str:
    """Return the identity of the running kernel; an error if it has none."""
    identity = BOOT_ID.read_text(encoding="ascii").strip().replace("-", "")
    if not re.fullmatch("[0-9a-f]{32}", identity):
        raise OSError(f"{BOOT_ID} must hold 32 hexadecimal digits")
    return identity
