"""NumPy's .npy (memory-mapped) and .npz (read through the archive in blocks)."""

import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from herder.core.files import PathLike
from herder.data.source import Chunk, TableSource, UnfitError, as_text, width

__all__ = ["map_array", "open_npy", "open_npz", "write_npy", "write_npz"]


def _check_numpy(path: Path, name: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biufU":
        raise ValueError(f"{path} must hold numbers or text, got dtype {dtype} in {name}")


def map_array(path: PathLike, *, ndims: tuple[int, ...] = (2,)) -> NDArray[Any]:
    """Return the array of a .npy file, memory-mapped.

    Parameters
    ----------
    path : str or path
        The file.
    ndims : tuple of int
        Accepted numbers of dimensions: 2 for rows by columns, 3 for chains, draws, columns.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"path must name a file that exists, got {str(path)!r}")
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{path} must be a whole .npy file, got: {error}") from error
    if not isinstance(array, np.ndarray) or array.ndim not in ndims:
        found = f"shape {array.shape}" if isinstance(array, np.ndarray) else "an archive"
        kinds = {2: "a 2-D array, rows by columns", 3: "a 3-D one, chains by draws by columns"}
        wanted = ", or ".join(kinds[ndim] for ndim in ndims)
        raise ValueError(f"{path} must hold {wanted}, got {found}")
    _check_numpy(file, "the array", array.dtype)
    return array


def open_npy(path: Path) -> TableSource:
    """Map a 2-D array; its columns have no names of their own."""
    table = map_array(path)
    names = tuple(f"x{j}" for j in range(table.shape[1]))

    def read(n: int) -> Iterator[Chunk]:
        for start in range(0, len(table), n):
            block = table[start : start + n]
            yield {name: as_text(np.array(block[:, j])) for j, name in enumerate(names)}

    return TableSource(path, names, len(table), len(names) * width(table.dtype), read)


def write_npy(part: Path, names: tuple[str, ...], chunks: Iterator[Chunk]) -> None:
    """Write one 2-D array of the dtype that holds all columns of the first block."""
    dtype, n_rows = None, 0
    with open(part, "wb") as stream:
        for chunk in chunks:
            for name, column in chunk.items():
                if column.dtype.kind not in "biuf":
                    found = f"{column.dtype} in {name!r}"
                    raise UnfitError(f"a .npy table must hold numbers only, got {found}; use .csv")
            if dtype is None:
                dtype = np.result_type(*(column.dtype for column in chunk.values()))
                _npy_header(stream, (0, len(names)), dtype)
            block = np.stack([chunk[name] for name in names], axis=1)
            n_rows += len(block)
            if not np.can_cast(block.dtype, dtype):
                raise UnfitError(f"all blocks must fit the dtype of the first, {dtype}")
            stream.write(block.astype(dtype).tobytes())
        # NumPy pads its header so that the number of rows can be filled in afterwards.
        stream.seek(0)
        _npy_header(stream, (n_rows, len(names)), dtype or np.dtype(np.float64))


def _npy_header(stream: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    descr = np.lib.format.dtype_to_descr(dtype)
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)


@dataclass(frozen=True, slots=True)
class _Member:
    """An array inside a .npz file, known by its header."""

    name: str
    file: str
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    def blocks(self, archive: zipfile.ZipFile, n: int) -> Iterator[NDArray[Any]]:
        with archive.open(self.file) as stream:
            if self.fortran:
                whole = np.lib.format.read_array(stream, allow_pickle=False)
                for start in range(0, len(whole), n):
                    yield whole[start : start + n]
                return
            _read_header(stream)
            length, rest = self.shape[0], self.shape[1:]
            size = math.prod(rest) * self.dtype.itemsize
            for start in range(0, length, n):
                count = min(n, length - start)
                data = stream.read(count * size)
                if len(data) != count * size:
                    raise EOFError(f"{self.file} ends too soon")
                yield np.frombuffer(data, self.dtype).reshape(count, *rest)


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, Fortran order and dtype; the stream is then at the first value."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    return np.lib.format.read_array_header_2_0(stream)


@contextmanager
def _reading_npz(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} must be a whole .npz file, got: {error}") from error


def open_npz(path: Path) -> TableSource:
    """Read the headers of the arrays and decide which of the two forms they make."""
    members: list[_Member] = []
    given: tuple[str, ...] | None = None
    with _reading_npz(path) as archive:
        for file in archive.namelist():
            with archive.open(file) as stream:
                try:
                    shape, fortran, dtype = _read_header(stream)
                except ValueError as error:
                    raise ValueError(f"{path} must hold arrays, got: {error}") from error
            name = file.removesuffix(".npy")
            _check_numpy(path, repr(name), dtype)
            members.append(_Member(name, file, shape, fortran, dtype))
        tables = [member for member in members if len(member.shape) == 2]
        label = next((m for m in members if m.name == "names" and len(m.shape) == 1), None)
        if len(tables) == 1 and label is not None:
            members.remove(label)
            with archive.open(label.file) as stream:
                given = tuple(map(str, np.lib.format.read_array(stream)))
    shapes = {member.shape for member in members}
    if len(members) == 1 and tables:
        n_rows, n_columns = tables[0].shape
        names = tuple(f"x{j}" for j in range(n_columns)) if given is None else given
        if len(names) != n_columns:
            raise ValueError(f"{path} must have {n_columns} names, got {len(names)}")
    elif len(shapes) == 1 and len(members[0].shape) == 1:
        n_rows, names = members[0].shape[0], tuple(member.name for member in members)
    else:
        found = ", ".join(f"{m.name} {m.shape}" for m in members) or "no arrays"
        rule = "one 2-D array (and its names), or 1-D columns of equal length"
        raise ValueError(f"{path} must hold {rule}, got {found}")

    def read(n: int) -> Iterator[Chunk]:
        with _reading_npz(path) as archive:
            parts = [member.blocks(archive, n) for member in members]
            for blocks in zip(*parts, strict=True):
                columns = blocks[0].T if tables else blocks
                named = zip(names, columns, strict=True)
                yield {name: as_text(np.array(column)) for name, column in named}

    row_bytes = sum(math.prod(m.shape[1:]) * width(m.dtype) for m in members)
    return TableSource(path, names, n_rows, row_bytes, read)


def write_npz(part: Path, names: tuple[str, ...], chunks: Iterator[Chunk]) -> None:
    """Write one 1-D array per column."""
    parts = [{name: _plain(name, column) for name, column in chunk.items()} for chunk in chunks]
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            columns = [chunk.pop(name) for chunk in parts]
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                whole = np.concatenate(columns) if columns else np.empty(0)
                np.lib.format.write_array(stream, whole, allow_pickle=False)


def _plain(name: str, column: NDArray[Any]) -> NDArray[Any]:
    if column.dtype.kind != "O":
        return column
    if any(item is None for item in column):
        raise UnfitError(f"a .npz table has no missing values, got some in {name!r}; use .csv")
    plain = np.array(column.tolist())
    mixed = plain.dtype.kind == "U" and not all(isinstance(item, str) for item in column)
    if mixed or plain.dtype.kind not in "biufU":
        raise UnfitError(f"a .npz column must hold numbers or text, got a mixture in {name!r}")
    return plain
