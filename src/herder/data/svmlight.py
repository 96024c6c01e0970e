"""Svmlight lines in blocks: ``label index:value index:value ... # comment``.

A label is a number or a word. Indices are kept as they are written: whether a file counts from 0
or from 1 makes no difference, as column 0 of the latter is never seen. Values are read to the
nearest double, as Python's float does. ``qid:`` and comments are passed over, so are blank lines.
"""

import gzip
import io
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from herder.data import _svmlight_jit as _jit
from herder.data.batches import Batch
from herder.data.broken import BrokenRows
from herder.data.numerals import SPECIAL

__all__ = ["MAX_INDEX", "STDIN", "read_svmlight"]

#: The name of the standard input.
STDIN = Path("-")

#: Bytes that are read at once; beyond this nothing gets faster.
BLOCK_BYTES = 4 * 2**20

#: Bytes of the longest line; a file without line ends is no text.
MAX_LINE = 256 * 2**20

#: The first byte of what gzip has compressed; no text begins with it.
GZIP = b"\x1f"

#: Bytes of the longest label.
MAX_LABEL = 256

#: Columns of a sparse matrix are counted with 32 bits.
MAX_INDEX = 2**31 - 2

_RULES = {
    _jit.NO_LABEL: "must begin with a label",
    _jit.NO_PAIR: "must have index:value after the label",
    _jit.BAD_INDEX: "must have a whole number from 0 on as index",
    _jit.BAD_VALUE: "must have a finite number as value",
    _jit.SAME_INDEX: "must have each index once",
}

_SEVERAL = re.compile(r"[+-]?[0-9.]+(,[+-]?[0-9.]+)+")


def read_svmlight(
    path: Path, broken: BrokenRows, *, need_label: bool = True, n_features: int | None = None
) -> Iterator[Batch]:
    """Yield the rows of a file, block by block; ``done`` of a batch is the bytes read so far.

    Parameters
    ----------
    path : Path
        The file, or ``STDIN``; perhaps compressed by gzip.
    broken : BrokenRows
        Takes the broken lines.
    need_label : bool
        Whether a line without a label is broken.
    n_features : int, optional
        A line with an index from here on is broken.
    """
    limit = MAX_INDEX if n_features is None else n_features - 1
    reader = _Reader(path, broken, need_label, limit)
    with _opened(path) as (stream, raw):
        for text in _blocks(path, stream):
            yield reader.read(text, raw.tell() if raw.seekable() else 0)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, Any]]:
    """Return the lines, and the file whose position says how much has been read.

    What is compressed is known by its first byte, as a pipe has no name that says so.
    """
    with nullcontext(sys.stdin.buffer) if path == STDIN else open(path, "rb") as given:
        raw: Any = given
        raw = raw if hasattr(raw, "peek") else io.BufferedReader(raw)
        if raw.peek(1)[:1] != GZIP and path.suffix.lower() != ".gz":
            yield raw, raw
            return
        with gzip.open(raw) as lines:
            try:
                yield lines, raw
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise ValueError(f"{path} must be a whole gzip file, got: {error}") from error


def _blocks(path: Path, stream: Any) -> Iterator[bytes]:
    """Cut the bytes at line ends."""
    rest = stream.read(3).removeprefix(b"\xef\xbb\xbf")  # the mark that some editors put first
    while data := _read(stream):
        end = data.rfind(b"\n") + 1
        if end:
            yield rest + data[:end]
            rest = data[end:]
        else:
            rest += data
        if len(rest) > MAX_LINE:
            found = f"a line of more than {MAX_LINE // 2**20} MiB"
            raise ValueError(f"{path} must be svmlight text, got {found}")
    if rest:
        yield rest


def _read(stream: Any) -> bytes:
    """Read a block in pieces, between which Python hears signals: a pipe may be slow."""
    parts: list[bytes] = []
    size = BLOCK_BYTES
    while size > 0 and (part := stream.read1(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class _Reader:
    """Reads blocks one after the other and counts their lines."""

    def __init__(self, path: Path, broken: BrokenRows, need_label: bool, limit: int) -> None:
        self.path = path
        self.broken = broken
        self.need_label = need_label
        self.limit = limit
        self.n_lines = 0
        self.room = 0
        self.out = _allocate(0)

    def read(self, data: bytes, done: int) -> Batch:
        text = np.frombuffer(data, dtype=np.uint8)
        if len(text) > self.room:
            self.room = len(text)
            self.out = _allocate(self.room)
        out, counts = self.out, np.empty(5, dtype=np.int64)
        _jit.read_lines(text, self.need_label, self.limit, _jit.POWERS, out, counts)
        n_rows, n_broken, n_hard, n_lines, n_unsorted = counts.tolist()
        first = self.n_lines + 1
        self.n_lines += n_lines
        n_pairs = int(out.indptr[n_rows])
        numbers = out.numbers[:n_rows] + first
        found = [
            (int(line) + first, self._rule(int(wrong)), _word(data, begin, end))
            for line, wrong, begin, end in out.broken[:n_broken]
        ]
        bad_rows: set[int] = set()

        def fault(row: int, rule: str, word: str) -> None:
            if row not in bad_rows:
                bad_rows.add(row)
                found.append((int(numbers[row]), rule, word))

        for place, begin, end in out.hard[:n_hard].tolist():
            value = float(data[begin:end])
            out.values[place] = value
            if not np.isfinite(value):
                row = int(np.searchsorted(out.indptr[: n_rows + 1], place, side="right")) - 1
                fault(row, _RULES[_jit.BAD_VALUE], _word(data, begin, end))
        parts = (out.values[:n_pairs].copy(), out.indices[:n_pairs], out.indptr[: n_rows + 1])
        width = int(out.indices[:n_pairs].max(initial=-1)) + 1
        X = csr_matrix((parts[0], *(a.astype(np.int32) for a in parts[1:])), (n_rows, width))
        if n_unsorted:
            X.sort_indices()
            for place in np.flatnonzero(np.diff(X.indices) == 0).tolist():
                row = int(np.searchsorted(X.indptr, place, side="right")) - 1
                if place + 1 < X.indptr[row + 1]:
                    fault(row, _RULES[_jit.SAME_INDEX], f"{X.indices[place]} again")
        codes, names = _labels(text, out.labels[:n_rows], fault)
        batch = Batch(self.path, X, codes, names, None, numbers, "line", done)
        if found:
            self.broken.add(self.path, "line", sorted(found))
            keep = np.ones(n_rows, dtype=bool)
            keep[list(bad_rows)] = False
            batch = _without_trace(batch.rows(keep))
        return batch

    def _rule(self, wrong: int) -> str:
        if wrong != _jit.BIG_INDEX:
            return _RULES[wrong]
        if self.limit == MAX_INDEX:
            return f"must have indices up to {self.limit:,}"
        return f"must have indices below the {self.limit + 1:,} features"


def _without_trace(batch: Batch) -> Batch:
    """Forget the features and labels that only rows left out had."""
    batch.X.resize((len(batch), int(batch.X.indices.max(initial=-1)) + 1))
    used = np.unique(batch.codes[batch.codes >= 0])
    codes = np.where(batch.codes < 0, -1, np.searchsorted(used, batch.codes))
    return replace(batch, codes=codes, names=[batch.names[code] for code in used.tolist()])


def _allocate(size: int) -> _jit.Lines:
    """Make room for a text of that many bytes; what is not used takes no memory."""
    # the shortest row is "1\n", the shortest pair "1:1 "
    n_rows, n_pairs = size // 2 + 1, (size + 1) // 4

    def room(*shape: int) -> NDArray[np.int64]:
        return np.empty(shape, dtype=np.int64)

    return _jit.Lines(
        indptr=room(n_rows + 1),
        indices=room(n_pairs),
        values=np.empty(n_pairs),
        labels=room(n_rows + 1, 2),
        numbers=room(n_rows),
        broken=room(n_rows, 4),
        hard=room(n_pairs, 3),
    )


def _word(data: bytes, begin: int, end: int) -> str:
    """Show a piece of the text, cut if it is long."""
    word = data[begin : min(end, begin + 40)].decode("utf-8", "replace")
    return repr(word if end - begin <= 40 else word + "...")


def _labels(
    text: NDArray[np.uint8], spans: NDArray[np.int64], fault: Callable[[int, str, str], None]
) -> tuple[NDArray[np.intp], list[str]]:
    """Return the label of each row as a place in the list of distinct ones, or -1."""
    begin, size = spans[:, :1], spans[:, 1:] - spans[:, :1]
    for row in np.flatnonzero(size[:, 0] > MAX_LABEL).tolist():
        fault(row, f"must have a label of at most {MAX_LABEL} bytes", f"{size[row, 0]:,}")
    at = np.arange(max(1, int(np.minimum(size, MAX_LABEL).max(initial=0))))
    inside = at < size
    letters = np.where(inside, text[np.where(inside, begin + at, 0)], 0).astype(np.uint8)
    words, codes = np.unique(letters.view(f"S{len(at)}")[:, 0], return_inverse=True)
    places, names = np.full(len(words), -1, dtype=np.intp), []
    for k, word in enumerate(words.tolist()):
        name = word.decode("utf-8", "replace")
        if not name:
            continue
        if "\ufffd" in name or SPECIAL.fullmatch(name) or _SEVERAL.fullmatch(name):
            for row in np.flatnonzero(codes == k).tolist():
                fault(row, "must have one label, a number or a word", repr(name))
        places[k] = len(names)
        names.append(name)
    return places[codes], names
