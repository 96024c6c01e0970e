"""The files that a verb is asked to write, looked at before it runs."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from herder._errors import ParameterError

__all__ = ["check_outputs"]


def check_outputs(
    outputs: Mapping[str, Sequence[str]], inputs: Iterable[Path], values: Mapping[str, Any]
) -> None:
    """Check before a long run what would fail after it."""
    others = [os.path.realpath(path) for path in inputs]
    for name, suffixes in outputs.items():
        path = values[name]
        if path is None:
            continue
        if path.suffix.lower() not in suffixes:
            *before, last = suffixes
            rule = f"{', '.join(before)} or {last}" if before else last
            raise ParameterError(name, f"end in {rule}", str(path))
        final = Path(os.path.realpath(path))  # behind all links
        if not final.parent.is_dir():
            raise ParameterError(name, "lie in a folder that exists", str(path))
        if not os.access(final.parent, os.W_OK | os.X_OK):
            raise ParameterError(name, "lie in a folder that can be written", str(path))
        if final.is_symlink():
            raise ParameterError(name, "name a file", got=f"the loop of links {str(path)!r}")
        if final.exists() and not final.is_file():
            kind = "folder" if final.is_dir() else "device or pipe"
            raise ParameterError(name, "name a file", got=f"the {kind} {str(path)!r}")
        if str(final) in others:
            rule = "not be the input or another file of the command"
            raise ParameterError(name, rule, str(path))
        others.append(str(final))
    if values.get("report") is not None:
        import herder.plots._style  # noqa: F401 (needs matplotlib: better said now than later)
