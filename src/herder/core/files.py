"""Files that are written whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from herder._errors import ParameterError

__all__ = ["PathLike", "whole_file"]

PathLike = str | os.PathLike[str]


@contextmanager
def whole_file(path: PathLike) -> Generator[Path]:
    """Return a temporary path beside ``path``; on success it takes the place of ``path``.

    On any exception, Ctrl-C included, the temporary file is removed and ``path`` is unchanged.
    """
    final = Path(path).resolve()
    if final.exists() and not final.is_file():
        raise ParameterError("path", "name a file", str(path))
    if not final.parent.is_dir():
        raise FileNotFoundError(f"path must lie in a folder that exists, got {str(path)!r}")
    part = final.with_name(f".{secrets.token_hex(4)}.part{final.suffix}")
    try:
        part.touch(exist_ok=False)
        if final.exists():
            shutil.copymode(final, part)
        yield part
        with open(part, "rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(part, final)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
