"""NumPy's .npy and .npz, read in blocks.

A header says how large an array is. It is believed only if the file is that large: nothing is made
before. Blocks are read, not mapped: of a mapped file that somebody cuts short, a signal without a
message would end the process.
"""

import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from herder.core.files import PathLike
from herder.data.source import (
    TEXT_BYTES,
    Chunk,
    TableSource,
    UnfitError,
    as_text,
    existing_file,
    require_room,
    width,
)

__all__ = ["open_npy", "open_npz", "read_array", "write_npy", "write_npz"]

#: Deflate makes of a byte at most this many, and a few more.
MAX_RATIO, RATIO_SLACK = 1032, 1024


@dataclass(frozen=True, slots=True)
class _Header:
    """What an array says of itself; its values follow ``start`` bytes."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    start: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def native(self) -> np.dtype[Any]:
        """The dtype in the byte order of this machine."""
        return self.dtype.newbyteorder("=")

    def read(self, stream: IO[bytes]) -> NDArray[Any]:
        """Read the whole array."""
        flat = self._take(stream, math.prod(self.shape))
        return flat.reshape(self.shape, order="F" if self.fortran else "C")

    def blocks(self, stream: IO[bytes], n: int) -> Iterator[NDArray[Any]]:
        """Yield ``n`` rows at a time; the columns of an array in Fortran's order lie apart."""
        length, rest = self.shape[0], math.prod(self.shape[1:])
        for begin in range(0, length, n):
            count = min(n, length - begin)
            if not self.fortran:
                yield self._take(stream, count * rest).reshape(count, *self.shape[1:])
                continue
            block = np.empty((count, rest), self.native)
            for j in range(rest):
                stream.seek(self.start + (j * length + begin) * self.dtype.itemsize)
                block[:, j] = self._take(stream, count)
            yield block

    def _take(self, stream: IO[bytes], count: int) -> NDArray[Any]:
        found = np.empty(count, self.dtype)
        reader: Any = stream
        if reader.readinto(found.view(np.uint8)) != found.nbytes:
            raise EOFError("it ends too soon")
        return found.astype(self.native, copy=False)


def _read_header(path: Path, name: str, stream: IO[bytes], size: int) -> _Header:
    """Read a header and refuse it unless an array of that kind fills the rest of ``size`` bytes.

    The stream is then at the first value.
    """
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        else:
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
    except Exception as error:  # of whatever class: NumPy evaluates a header as Python
        rule = f"{path} must be a whole {path.suffix} file"
        raise ValueError(f"{rule}, got: {error} in {name}") from error
    if dtype.kind not in "biufU" or not dtype.itemsize:
        raise ValueError(f"{path} must hold numbers or text, got dtype {dtype} in {name}")
    header = _Header(shape, fortran, dtype, stream.tell())
    if min(shape, default=0) < 0 or header.start + header.nbytes != size:
        found = f"{size - header.start:,} bytes for shape {shape} of {dtype} in {name}"
        raise ValueError(f"{path} must be a whole {path.suffix} file, got {found}")
    return header


def _numbered(path: Path, n: int, max_memory: int | None) -> tuple[str, ...]:
    """Return names for columns that have none."""
    require_room(n * TEXT_BYTES, max_memory, f"the names of the {n:,} columns of {path}")
    return tuple(f"x{j}" for j in range(n))


def _npy_header(path: Path, ndims: Sequence[int]) -> _Header:
    with open(path, "rb") as stream:
        header = _read_header(path, "the array", stream, path.stat().st_size)
    if len(header.shape) not in ndims:
        kinds = {2: "a 2-D array, rows by columns", 3: "a 3-D one, chains by draws by columns"}
        wanted = ", or ".join(kinds[ndim] for ndim in ndims)
        raise ValueError(f"{path} must hold {wanted}, got shape {header.shape}")
    _require_cells(path, header.shape)
    return header


def _require_cells(path: Path, shape: tuple[int, ...]) -> None:
    if 0 in shape:
        raise ValueError(f"{path} must hold at least one row and one column, got shape {shape}")


@contextmanager
def _reading_npy(path: Path, header: _Header) -> Iterator[IO[bytes]]:
    with open(path, "rb") as stream:
        stream.seek(header.start)
        try:
            yield stream
        except EOFError as error:
            raise ValueError(f"{path} must be a whole .npy file, got: {error}") from error


def read_array(
    path: PathLike, *, ndims: tuple[int, ...] = (2,), max_memory: int | None = None
) -> NDArray[Any]:
    """Return the array of a .npy file.

    Parameters
    ----------
    path : str or path
        The file.
    ndims : tuple of int
        Accepted numbers of dimensions: 2 for rows by columns, 3 for chains, draws, columns.
    max_memory : int, optional
        Refuse an array that takes more bytes.
    """
    file = existing_file(path)
    header = _npy_header(file, ndims)
    require_room(header.nbytes, max_memory, f"the array of {path}")
    with _reading_npy(file, header) as stream:
        return header.read(stream)


def open_npy(path: Path, max_memory: int | None = None) -> TableSource:
    """Open a 2-D array; its columns have no names of their own."""
    header = _npy_header(path, (2,))
    n_rows, n_columns = header.shape
    names = _numbered(path, n_columns, max_memory)

    def read(n: int) -> Iterator[Chunk]:
        with _reading_npy(path, header) as stream:
            for block in header.blocks(stream, n):
                yield {name: as_text(np.array(block[:, j])) for j, name in enumerate(names)}

    return TableSource(path, names, n_rows, n_columns * width(header.dtype), read)


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
                _write_header(stream, (0, len(names)), dtype)
            block = np.stack([chunk[name] for name in names], axis=1)
            n_rows += len(block)
            if not np.can_cast(block.dtype, dtype):
                raise UnfitError(f"all blocks must fit the dtype of the first, {dtype}")
            stream.write(block.astype(dtype).tobytes())
        # NumPy pads its header so that the number of rows can be filled in afterwards.
        stream.seek(0)
        _write_header(stream, (n_rows, len(names)), dtype or np.dtype(np.float64))


def _write_header(stream: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    descr = np.lib.format.dtype_to_descr(dtype)
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)


@dataclass(frozen=True, slots=True)
class _Member:
    """An array inside a .npz file, known by its header."""

    name: str
    info: zipfile.ZipInfo
    header: _Header

    def read(self, archive: zipfile.ZipFile) -> NDArray[Any]:
        with archive.open(self.info) as stream:
            stream.read(self.header.start)
            return self.header.read(stream)

    def blocks(self, archive: zipfile.ZipFile, n: int) -> Iterator[NDArray[Any]]:
        if self.header.fortran:  # to go back and forth in an archive takes too long
            whole = self.read(archive)
            for start in range(0, len(whole), n):
                yield whole[start : start + n]
            return
        with archive.open(self.info) as stream:
            stream.read(self.header.start)
            yield from self.header.blocks(stream, n)


@contextmanager
def _reading_npz(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive; what zipfile raises for a damaged one is of many classes."""
    try:
        archive = zipfile.ZipFile(path)
    except Exception as error:
        raise ValueError(f"{path} must be a whole .npz file, got: {error}") from error
    with archive:
        try:
            yield archive
        except (zipfile.BadZipFile, EOFError, zlib.error, RuntimeError, OSError) as error:
            raise ValueError(f"{path} must be a whole .npz file, got: {error}") from error


def _checked_members(path: Path, archive: zipfile.ZipFile) -> list[_Member]:
    """Read the headers of the arrays, after a look at what the archive says of itself."""
    infos, size = archive.infolist(), path.stat().st_size
    for info in infos:
        found = ""
        if info.flag_bits & 1:
            found = "an encrypted one"
        elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            found = f"compression {info.compress_type}"
        elif not info.filename.endswith(".npy"):
            found = "a file without .npy"
        elif info.file_size > MAX_RATIO * info.compress_size + RATIO_SLACK:
            found = f"{info.file_size:,} bytes made from {info.compress_size:,}"
        if found:
            rule = "must hold arrays as NumPy writes them"
            raise ValueError(f"{path} {rule}, got {found} in {info.filename!r}")
    if sum(info.compress_size for info in infos) > size:
        raise ValueError(f"{path} must be a whole .npz file, got more than its {size:,} bytes")
    members: list[_Member] = []
    for info in infos:
        name = info.filename.removesuffix(".npy")
        with archive.open(info) as stream:
            header = _read_header(path, repr(name), stream, info.file_size)
        members.append(_Member(name, info, header))
    return members


def open_npz(path: Path, max_memory: int | None = None) -> TableSource:
    """Read the headers of the arrays and decide which of the two forms they make."""
    with _reading_npz(path) as archive:
        members = _checked_members(path, archive)
        tables = [member for member in members if len(member.header.shape) == 2]
        columns = [member for member in members if len(member.header.shape) == 1]
        label = next((member for member in columns if member.name == "names"), None)
        given: tuple[str, ...] | None = None
        if len(tables) == 1 and label is not None:
            members.remove(label)
            given = _names(path, archive, label, tables[0].header.shape[1], max_memory)
    shapes = {member.header.shape for member in members}
    if len(members) == 1 and tables:
        n_rows, n_columns = tables[0].header.shape
        _require_cells(path, (n_rows, n_columns))
        names = given or _numbered(path, n_columns, max_memory)
    elif len(shapes) == 1 and len(members[0].header.shape) == 1:
        n_rows, names = members[0].header.shape[0], tuple(member.name for member in members)
    else:
        found = ", ".join(f"{m.name} {m.header.shape}" for m in members[:8]) or "no arrays"
        rule = "one 2-D array (and its names), or 1-D columns of equal length"
        raise ValueError(f"{path} must hold {rule}, got {found}")
    whole = sum(member.header.nbytes for member in members if member.header.fortran)
    require_room(whole, max_memory, f"an array in Fortran's order in {path}")

    def read(n: int) -> Iterator[Chunk]:
        with _reading_npz(path) as archive:
            parts = [member.blocks(archive, n) for member in members]
            for blocks in zip(*parts, strict=True):
                named = zip(names, blocks[0].T if tables else blocks, strict=True)
                yield {name: as_text(np.array(column)) for name, column in named}

    row_bytes = sum(math.prod(m.header.shape[1:]) * width(m.header.dtype) for m in members)
    return TableSource(path, names, n_rows, row_bytes, read)


def _names(
    path: Path, archive: zipfile.ZipFile, member: _Member, n: int, limit: int | None
) -> tuple[str, ...]:
    """Read the names of the columns, once it is known that there are as many."""
    (found,) = member.header.shape
    if found != n:
        raise ValueError(f"{path} must have {n} names, got {found}")
    require_room(member.header.nbytes, limit, f"the names of the columns of {path}")
    return tuple(map(str, member.read(archive).tolist()))


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
