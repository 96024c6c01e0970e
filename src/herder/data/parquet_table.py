"""Parquet through pyarrow, which is imported only here and only when asked for."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.core.files import PathLike
from herder.data.source import TEXT_BYTES, Chunk, TableSource, UnfitError

__all__ = ["import_pyarrow", "open_parquet", "write_parquet"]


def import_pyarrow(path: PathLike) -> Any:
    """Return pyarrow; the error of a missing one names what to install."""
    try:
        import pyarrow.parquet
    except ModuleNotFoundError:
        text = f"{path} needs pyarrow, which is not installed: pip install 'herder[tables]'"
        raise ModuleNotFoundError(text) from None
    return pyarrow


@contextmanager
def _reading(pa: Any, path: Path) -> Iterator[Any]:
    """Open a file; checksums of its pages are compared where it has them."""
    try:
        with pa.parquet.ParquetFile(
            path, page_checksum_verification=True, pre_buffer=True
        ) as file:
            yield file
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise ValueError(f"{path} must be a whole .parquet file, got: {error}") from error


def open_parquet(path: Path) -> TableSource:
    """Read the schema, and whether each column has missing values."""
    pa = import_pyarrow(path)
    with _reading(pa, path) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
        names = tuple(schema.names)
        for field in schema:
            if pa.types.is_nested(field.type) or pa.types.is_binary(field.type):
                found = f"{field.type} in {field.name!r}"
                raise ValueError(f"{path} must have columns of numbers or text, got {found}")
        gaps = _find_gaps(path, file, schema)

    def read(n: int) -> Iterator[Chunk]:
        with _reading(pa, path) as file:
            for batch in file.iter_batches(batch_size=n):
                columns = zip(names, batch.columns, gaps, strict=True)
                yield {name: _from_arrow(pa, column, gap) for name, column, gap in columns}

    text = [not (pa.types.is_integer(f.type) or pa.types.is_floating(f.type)) for f in schema]
    return TableSource(path, names, n_rows, sum(8 + TEXT_BYTES * t for t in text), read)


def _find_gaps(path: Path, file: Any, schema: Any) -> list[bool]:
    """Return whether each column has missing values: its dtype must not change by chunk.

    A file whose parts do not add up to the size that it says is refused.
    """
    # Damaged metadata of a column end the process if pyarrow is asked for them, but not while
    # rows are read: to buffer ahead looks at those of all columns.
    next(file.iter_batches(batch_size=1), None)
    metadata, columns = file.metadata, file.schema
    kinds = [columns.column(j).physical_type for j in range(len(schema))]
    gaps = [False] * len(schema)
    n_left = metadata.num_rows
    for k in range(metadata.num_row_groups):
        group = metadata.row_group(k)
        n_left -= group.num_rows
        parts = [group.column(j) for j in range(group.num_columns)]
        sizes = {part.num_values for part in parts}
        if sizes != {group.num_rows} or [part.physical_type for part in parts] != kinds:
            n_left = -1
            break
        for j, part in enumerate(parts):
            if schema.field(j).nullable and not gaps[j]:
                statistics = part.statistics
                if statistics is not None and statistics.has_null_count:
                    gaps[j] = statistics.null_count > 0
                else:
                    column = file.read_row_group(k, columns=[schema.names[j]])[0]
                    gaps[j] = column.null_count > 0
    if n_left:
        raise ValueError(f"{path} must be a whole .parquet file, got parts of other sizes")
    return gaps


def _from_arrow(pa: Any, column: Any, gaps: bool) -> NDArray[Any]:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    is_exact = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    if is_exact and not gaps and column.null_count:
        raise pa.ArrowInvalid("missing values that its statistics do not count")
    if pa.types.is_floating(kind) or (is_exact and not gaps):
        return np.array(column.to_numpy(zero_copy_only=False))
    if is_exact or pa.types.is_null(kind):
        return np.array(column.to_pylist(), object)
    return column.cast(pa.string()).to_numpy(zero_copy_only=False)


def write_parquet(part: Path, names: tuple[str, ...], chunks: Iterator[Chunk]) -> None:
    """Write one row group per block, once every column has shown its type."""
    pa = import_pyarrow(part)
    blocks = ([_to_arrow(pa, name, chunk[name]) for name in names] for chunk in chunks)
    waiting: list[list[Any]] = []
    kinds = [pa.null()] * len(names)
    for columns in blocks:  # the type of a column is not known before its first value
        waiting.append(columns)
        seen = zip(kinds, columns, strict=True)
        kinds = [column.type if kind == pa.null() else kind for kind, column in seen]
        if pa.null() not in kinds:
            break
    kinds = [pa.string() if kind == pa.null() else kind for kind in kinds]
    schema = pa.schema(list(zip(names, kinds, strict=True)))
    with pa.parquet.ParquetWriter(part, schema, write_page_checksum=True) as writer:
        for columns in chain(waiting, blocks):
            writer.write_batch(_as_batch(pa, schema, columns))


def _to_arrow(pa: Any, name: str, column: NDArray[Any]) -> Any:
    try:
        return pa.array(column.tolist() if column.dtype.kind == "U" else column)
    except (pa.ArrowException, TypeError) as error:
        raise UnfitError(f"a column must be of one kind, got {error} in {name!r}") from error


def _as_batch(pa: Any, schema: Any, columns: list[Any]) -> Any:
    fitted = []
    for field, column in zip(schema, columns, strict=True):
        try:
            fitted.append(column.cast(field.type))
        except pa.ArrowException as error:
            found = f"{error} in {field.name!r}"
            raise UnfitError(f"a column must be of one kind, got {found}") from error
    return pa.record_batch(fitted, schema=schema)
