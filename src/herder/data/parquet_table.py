"""Parquet through pyarrow, which is imported only here and only when asked for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.core.files import PathLike
from herder.data.source import TEXT_BYTES, Chunk, TableSource, UnfitError

__all__ = ["import_pyarrow", "open_parquet", "write_parquet"]


def import_pyarrow(path: PathLike) -> Any:
    """Import pyarrow, or say how to install it."""
    try:
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{path} needs pyarrow, which is not installed: pip install 'herder[tables]'"
        ) from None
    return pyarrow


def open_parquet(path: Path) -> TableSource:
    """Read the schema, and whether each column has missing values."""
    pa = import_pyarrow(path)
    try:
        with pa.parquet.ParquetFile(path) as file:
            schema, n_rows = file.schema_arrow, file.metadata.num_rows
            names = tuple(schema.names)
            for field in schema:
                if pa.types.is_nested(field.type) or pa.types.is_binary(field.type):
                    found = f"{field.type} in {field.name!r}"
                    raise ValueError(f"{path} must have columns of numbers or text, got {found}")
            gaps = [_has_nulls(file, j) for j in range(len(names))]
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, ValueError) and not isinstance(error, pa.ArrowException):
            raise
        raise ValueError(f"{path} must be a whole .parquet file, got: {error}") from error

    def read(n: int) -> Iterator[Chunk]:
        with pa.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=n):
                columns = zip(names, batch.columns, gaps, strict=True)
                yield {name: _from_arrow(pa, column, gap) for name, column, gap in columns}

    text = [not (pa.types.is_integer(f.type) or pa.types.is_floating(f.type)) for f in schema]
    return TableSource(path, names, n_rows, sum(8 + TEXT_BYTES * t for t in text), read)


def _has_nulls(file: Any, j: int) -> bool:
    """Whether column ``j`` has missing values anywhere: its dtype must not change by chunk."""
    if not file.schema_arrow.field(j).nullable:
        return False
    for group in range(file.metadata.num_row_groups):
        statistics = file.metadata.row_group(group).column(j).statistics
        if statistics is not None and statistics.has_null_count:
            nulls = statistics.null_count
        else:
            nulls = file.read_row_group(group, columns=[file.schema_arrow.names[j]])[0].null_count
        if nulls:
            return True
    return False


def _from_arrow(pa: Any, column: Any, gaps: bool) -> NDArray[Any]:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_floating(kind):
        return np.array(column.to_numpy(zero_copy_only=False))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        if gaps:
            return np.array(column.to_pylist(), object)
        return np.array(column.to_numpy(zero_copy_only=False))
    if pa.types.is_null(kind):
        return np.full(len(column), None, object)
    return column.cast(pa.string()).to_numpy(zero_copy_only=False)


def write_parquet(part: Path, names: tuple[str, ...], chunks: Iterator[Chunk]) -> None:
    """Write one row group per block, once every column has shown its type."""
    pa = import_pyarrow(part)
    waiting: list[list[Any]] = []
    writer = None
    try:
        for chunk in chunks:
            columns = [_to_arrow(pa, name, chunk[name]) for name in names]
            if writer is None:
                # The type of a column is not known before its first value.
                waiting.append(columns)
                if any(pa.types.is_null(kind) for kind in _known_types(pa, waiting)):
                    continue
                writer = _start_parquet(pa, part, names, waiting)
            else:
                _write_arrow(pa, writer, columns)
        if writer is None:
            writer = _start_parquet(pa, part, names, waiting)
    finally:
        if writer is not None:
            writer.close()


def _known_types(pa: Any, waiting: list[list[Any]]) -> list[Any]:
    kinds = zip(*([column.type for column in columns] for columns in waiting), strict=True)
    return [next((k for k in kind if not pa.types.is_null(k)), pa.null()) for kind in kinds]


def _start_parquet(pa: Any, part: Path, names: tuple[str, ...], waiting: list[list[Any]]) -> Any:
    kinds = _known_types(pa, waiting) or [pa.null()] * len(names)
    kinds = [pa.string() if pa.types.is_null(kind) else kind for kind in kinds]
    writer = pa.parquet.ParquetWriter(part, pa.schema(list(zip(names, kinds, strict=True))))
    try:
        for columns in waiting:
            _write_arrow(pa, writer, columns)
    except BaseException:
        writer.close()
        raise
    return writer


def _to_arrow(pa: Any, name: str, column: NDArray[Any]) -> Any:
    try:
        return pa.array(column.tolist() if column.dtype.kind == "U" else column)
    except (pa.ArrowException, TypeError) as error:
        raise UnfitError(f"a column must be of one kind, got {error} in {name!r}") from error


def _write_arrow(pa: Any, writer: Any, columns: list[Any]) -> None:
    fitted = []
    for field, column in zip(writer.schema, columns, strict=True):
        try:
            fitted.append(column.cast(field.type))
        except pa.ArrowException as error:
            raise UnfitError(
                f"a column must be of one kind, got {error} in {field.name!r}"
            ) from error
    writer.write_batch(pa.record_batch(fitted, schema=writer.schema))
