"""Tables by the suffix of their file."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from herder._errors import ParameterError
from herder.core.files import PathLike, whole_file
from herder.data.broken import BrokenRows
from herder.data.csv_table import open_csv, write_csv
from herder.data.numpy_table import open_npy, open_npz, write_npy, write_npz
from herder.data.parquet_table import import_pyarrow, open_parquet, write_parquet
from herder.data.source import (
    Chunk,
    TableSource,
    UnfitError,
    as_path,
    existing_file,
    file_stamp,
    repeated,
    require_room,
)

__all__ = ["TABLE_SUFFIXES", "check_format", "open_table", "write_table"]

_FORMATS: dict[str, tuple[Callable[..., TableSource], Callable[..., None]]] = {
    ".csv": (open_csv, write_csv),
    ".npy": (open_npy, write_npy),
    ".npz": (open_npz, write_npz),
    ".parquet": (open_parquet, write_parquet),
}

TABLE_SUFFIXES = tuple(_FORMATS)


def open_table(
    path: PathLike, *, broken: BrokenRows | None = None, max_memory: int | None = None
) -> TableSource:
    """Open a .csv, .npy, .npz or .parquet table; the file is checked, not loaded.

    Parameters
    ----------
    path : str or path
        The file.
    broken : BrokenRows, optional
        Takes the rows of a csv file that have more or fewer fields than the header; without it
        such a row is an error.
    max_memory : int, optional
        Refuse a table of which one row takes more bytes.
    """
    opener, _ = _format(path)
    file = existing_file(path)
    stamp = file_stamp(file)
    if stamp[0] == 0:
        raise ValueError(f"{path} must hold a table, got an empty file")
    if opener is open_csv:
        source = open_csv(file, broken or BrokenRows())
    else:
        source = open_parquet(file) if opener is open_parquet else opener(file, max_memory)
    source = replace(source, stamp=stamp)
    if len(set(source.names)) < len(source.names):
        twice = repeated(source.names)
        raise ValueError(f"{path} must have distinct column names, got {twice!r} twice")
    if not source.names or source.n_rows == 0:
        shape = f"{source.n_rows} rows and {len(source.names)} columns"
        raise ValueError(f"{path} must hold at least one row and one column, got {shape}")
    require_room(source.row_bytes, max_memory, f"a row of {path}")
    return source


def write_table(path: PathLike, names: Sequence[str], chunks: Iterable[Mapping[str, Any]]) -> None:
    """Write blocks of rows to a .csv, .npy, .npz or .parquet file, whole or not at all.

    Blocks are written as they come, except for .npz, which is held in memory until the last.
    """
    _, writer = _format(path)
    if len(set(names)) != len(names) or not names:
        raise ParameterError("names", "be distinct and at least one", list(names))
    if writer is write_parquet:
        import_pyarrow(path)
    with whole_file(path) as part:
        try:
            writer(part, tuple(names), (_columns(names, chunk) for chunk in chunks))
        except UnfitError as error:
            raise ValueError(f"{path}: {error}") from error.__cause__


def check_format(path: PathLike, columns: Mapping[str, Any]) -> None:
    """Refuse columns that the format of a file cannot hold, before a long run.

    Parameters
    ----------
    path : str or path
        The file to be written later.
    columns : mapping of str to array
        A few rows with every kind of value that there will be.
    """
    with TemporaryDirectory() as folder:
        trial = Path(folder, f"trial{Path(path).suffix}")
        try:
            write_table(trial, list(columns), [columns])
        except ValueError as error:
            raise ValueError(str(error).replace(str(trial), str(path))) from error


def _format(path: PathLike) -> tuple[Callable[..., TableSource], Callable[..., None]]:
    suffix = as_path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise ValueError(f"path must end in .csv, .npy, .npz or .parquet, got {str(path)!r}")
    return _FORMATS[suffix]


def _columns(names: Sequence[str], chunk: Mapping[str, Any]) -> Chunk:
    if set(chunk) != set(names):
        raise ParameterError("chunks", f"have the columns {list(names)}", list(chunk))
    columns = {name: np.asarray(chunk[name]) for name in names}
    shapes = {column.shape for column in columns.values()}
    if len(shapes) > 1 or len(next(iter(shapes))) != 1:
        raise ParameterError("chunks", "hold 1-D columns of equal length", sorted(shapes))
    return columns
