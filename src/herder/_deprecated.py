"""Deprecated names: they still work, with a warning that names the new one."""

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["renamed_attribute", "renamed_names", "warn_renamed"]


def warn_renamed(old: str, new: str, *, depth: int = 1) -> None:
    """Warn that ``old`` is now ``new``; the caller at fault is ``depth`` frames above ours."""
    warnings.warn(f"{old} is deprecated: use {new}", DeprecationWarning, stacklevel=depth + 2)


def renamed_names(
    module: str, names: Mapping[str, str], *, depth: int = 1
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module that serves old names.

    Parameters
    ----------
    module : str
        The module that had them.
    names : mapping of str to str
        Old name to the whole path of the new one.
    depth : int
        Frames from ours to the caller: 1 if the function itself is ``__getattr__``.
    """

    def serve(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, new = names[name].rpartition(".")
        warn_renamed(f"{module}.{name}", new, depth=depth)
        return getattr(import_module(home), new)

    return serve


def renamed_attribute(old: str, new: str) -> property:
    """Return a property that serves an attribute or a method under its old name."""

    def serve(self: object) -> Any:
        warn_renamed(f"{type(self).__name__}.{old}", new)
        return getattr(self, new)

    return property(serve, doc=f"Deprecated name of `{new}`.")
