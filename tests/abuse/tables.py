"""Small table files of every kind that is read, their readers, and the damage done to them.

A plain table has no digest: a digit that was flipped is another digit, and the file is read as it
is. What must not happen is a crash, a hang, or an exception that names neither file nor parameter.
"""

import gzip
import io
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from herder import Moments, ParameterError
from herder.cli._field import read_field
from herder.data import open_table, write_table
from herder.data.binary import read_binary
from herder.data.broken import BrokenRows
from herder.data.features import choose_columns
from herder.data.labelled import InputSpec, open_labelled
from herder.data.sample import Roles, read_sample
from herder.models.published import open_input
from tests.abuse.running import REFUSED, SAME

#: It is read, and holds something else.
ACCEPTED = "accepted"

LIMIT = 10**8
ROWS = np.random.default_rng(5).integers(0, 2, (9, 3))
MIXED = {
    "label": np.array(["yes", "no", "no"] * 3, object),
    "n": np.arange(9) * 1_000_003,
    "x": np.random.default_rng(6).normal(size=9),
    "gap": np.array([None, 1, 2] * 3, object),
    "text": np.array(['a "b"', "c,\nd", None] * 3, object),
}
FULL = {name: MIXED[name] for name in ("label", "n", "x")}
BITS = dict(zip("abc", ROWS.T, strict=True))
WORDS = Moments.from_data({"colour": ["red", "green", "red", "blue"], "size": [1, 20, 20, 1]})
SWITCHES = Moments.from_data(ROWS)
EDGES = {"source": np.array([0, 1, 2]), "target": np.array([1, 2, 0]), "weight": MIXED["x"][:3]}
LINES = b"1 1:0.5 7:-1e-3 # note\n-1 2:3\nspam qid:4 3:1.25 9:12345678901234567\n1\n" * 3


# How files are read


def columns(path: Path) -> Any:
    source = open_table(path, max_memory=LIMIT)
    return {name: column.tolist() for name, column in source.whole().items()}


def sample(path: Path) -> Any:
    source = read_sample(path, Roles(), max_memory=LIMIT)
    return [source.values.tolist(), source.take(np.array([0, len(source.values) - 1]))]


def labelled(path: Path) -> Any:
    files = open_labelled([path], max_memory=LIMIT)
    if files.tables:
        roles: Any = {"label": "label", "weight": None, "category": [], "hash_bits": 6}
        texts = [name for name in ("gap", "text") if name in files.tables[0].names]
        chosen = choose_columns(files.tables[0], text=texts, drop=[], **roles)
        files = open_labelled([path], max_memory=LIMIT, input=InputSpec(chosen))
    scan = files.scan(BrokenRows(skip=True))
    found = [(b.X.sum(), b.codes.tolist(), b.names) for b in files.batches(BrokenRows(skip=True))]
    return [scan.n_rows, scan.width, dict(scan.labels), found]


def binary(path: Path) -> Any:
    return read_binary([path], role="train", max_memory=LIMIT).rows.tolist()


def counts(path: Path) -> Any:
    found = Moments.load(path, contradictions="allow")
    assert isinstance(open_input(path, LIMIT), Moments)
    return [found.names, [v.values for v in found.variables], found.counts, found.totals]


def edges(path: Path) -> Any:
    found: Any = read_field(str(path), biases=None, states=None, max_memory=LIMIT)
    model = found.model
    return [model.names, model.edges, model.edge_weights]


# What is read


class Kind(NamedTuple):
    """How a file is written, and the readers that take it."""

    suffix: str
    write: Callable[[Path], object]
    readers: tuple[Callable[[Path], Any], ...]


def table(suffix: str, named: Any, *readers: Callable[[Path], Any]) -> Kind:
    return Kind(suffix, lambda path: write_table(path, list(named), [named]), (columns, *readers))


def _draws(path: Path) -> None:
    np.save(path, np.asfortranarray(MIXED["x"][:8].reshape(2, 2, 2)))


def _named_array(path: Path) -> None:
    np.savez_compressed(path, x=np.arange(6.0).reshape(3, 2), names=["p", "q"])


KINDS: dict[str, Kind] = {
    "csv": table(".csv", MIXED, labelled),
    "csv-numbers": table(".csv", {"n": MIXED["n"], "x": MIXED["x"]}, sample),
    "csv-bits": table(".csv", BITS, binary),
    "npy": table(".npy", {"n": MIXED["n"], "x": MIXED["x"]}, sample),
    "npy-bits": table(".npy", BITS, binary),
    "npy-draws": Kind(".npy", _draws, (sample,)),
    "npz": table(".npz", FULL, labelled),
    "npz-bits": table(".npz", BITS, binary, sample),
    "npz-named": Kind(".npz", _named_array, (columns, sample)),
    "parquet": table(".parquet", MIXED, labelled),
    "parquet-bits": table(".parquet", BITS, binary, sample),
    "lines": Kind(".svm", lambda path: path.write_bytes(LINES), (labelled,)),
    "lines-gz": Kind(
        ".svm.gz", lambda path: path.write_bytes(gzip.compress(LINES, mtime=0)), (labelled,)
    ),
    **{
        f"edges{suffix}": Kind(
            suffix, lambda path: write_table(path, list(EDGES), [EDGES]), (edges,)
        )
        for suffix in (".csv", ".npz", ".parquet")
    },
    **{
        f"counts{suffix}-{key}": Kind(suffix, moments.save, (counts,))
        for suffix in (".csv", ".npz", ".parquet")
        for key, moments in {"words": WORDS, "switches": SWITCHES}.items()
    },
}


# Damage


def write_all(folder: Path) -> None:
    """Write one file of every kind."""
    for key, kind in KINDS.items():
        kind.write(folder / f"{key}{kind.suffix}")


def flips(key: str, data: bytes) -> Iterator[list[Any]]:
    """Every byte in two ways: its lowest bit, and all of its bits."""
    yield from (["flip", key, place, mask] for place in range(len(data)) for mask in (1, 255))


def cuts(key: str, data: bytes) -> Iterator[list[Any]]:
    """Every length."""
    yield from (["cut", key, length] for length in range(len(data)))


SHAPES = [
    *((), (1,), (0, 10**9), (10**9, 0), (1, 10**9), (10**9, 1), (2**63, 2**63), (3, -1)),
    *((3, 2), (2, 3, 2), (2**40, 2**40), (True, 1), (2,) * 40),
]
DESCRS = ["<f8", ">f8", "<U0", "<U900000000", "|O", "<c16", "|V8", "|b1", "<f2", "<M8[ns]", "?4"]


def forgeries() -> Iterator[list[Any]]:
    """Headers of arrays, of all shapes and dtypes, before few bytes; texts; what is no file."""
    for suffix, shape, descr, order in product([".npy", ".npz"], SHAPES, DESCRS, [False, True]):
        yield ["header", suffix, list(shape), descr, order]
    for suffix, name in product([".csv", ".npy", ".npz", ".parquet", ".svm"], FILES):
        yield ["file", suffix, name]
    for text, suffix in product(TEXTS, [".csv", ".svm"]):
        yield ["text", text, suffix]


FILES = ["empty", "folder", "pipe", "zero", "loop", "spaces", "random", "newlines", "quotes"]
HEADS = ["a,b", "variable_a,count,total", "source,target,weight", "label,x"]
FIELDS = [
    *("1", "-0", "1e999", "9" * 30, "9" * 5000, "nan", "inf", "", " ", "\0", "\ufeff", "'", "''"),
    *("(rows)", "(missing)", "\u0661", "1_000", "0x10", "=1+1", "\r", '"', "a" * 140_000, "-1"),
    *("1:2", "1:1e999", ":", "1:", "99999999999:1", "-1:1", "\ud7ff", "1:0x1p3", "1:1_0", "#"),
]
TEXTS = [f"{head}\n{one},{two},3\n" for head, one, two in product(HEADS, FIELDS, FIELDS[::3])]


def _forged_array(shape: list[int], descr: str, order: bool) -> bytes:
    text = str({"descr": descr, "fortran_order": order, "shape": tuple(shape)})
    head = text.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(48)


def _forged(path: Path, case: list[Any]) -> None:
    """Make what a case names, in place of what is there."""
    kind, *rest = case
    if kind == "text":
        path.write_bytes(rest[0].encode("utf-8", "surrogatepass"))
    elif kind == "header":
        data = _forged_array(*rest[1:])
        if path.suffix == ".npz":
            stream = io.BytesIO()
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("x.npy", data)
            data = stream.getvalue()
        path.write_bytes(data)
    elif rest[1] == "folder":
        path.mkdir()
    elif rest[1] in ("zero", "loop"):
        path.symlink_to("/dev/zero" if rest[1] == "zero" else path)
    elif rest[1] != "pipe":  # a pipe without a writer would wait: it is refused as no file
        filler = {"empty": b"", "spaces": b" " * 5000, "newlines": b"\n" * 5000}
        filler |= {"quotes": b'"' * 5001, "random": np.random.default_rng(1).bytes(5000)}
        path.write_bytes(filler[rest[1]])


def make(folder: str) -> Callable[[list[Any]], str]:
    """Return what damages a file, reads it, and says what happened."""
    whole = {key: Path(folder, f"{key}{k.suffix}").read_bytes() for key, k in KINDS.items()}
    place = Path(tempfile.mkdtemp(dir=folder))
    answers = {
        (key, reader.__name__): repr(reader(Path(folder, f"{key}{kind.suffix}")))
        for key, kind in KINDS.items()
        for reader in kind.readers
    }

    def read(path: Path, readers: Any, key: str) -> list[str]:
        found = []
        for reader in readers:
            try:
                answer = reader(path)
            except (ValueError, OSError) as error:
                if not isinstance(error, ParameterError) and str(path) not in str(error):
                    raise
                found.append(REFUSED)
            else:
                same = repr(answer) == answers.get((key, reader.__name__))
                found.append(SAME if same else ACCEPTED)
        return found

    def attempt(case: list[Any]) -> str:
        kind, key = case[:2]
        if kind in ("flip", "cut"):
            data = bytearray(whole[key])
            if kind == "cut":
                del data[case[2] :]
            else:
                data[case[2]] ^= case[3]
            path, readers = place / f"a{KINDS[key].suffix}", KINDS[key].readers
            path.write_bytes(data)
        else:
            suffix = case[2] if kind == "text" else case[1]
            path, key = place / f"b{suffix}", str(case)
            readers = (columns, sample, labelled, binary, counts, edges)
            readers = (labelled,) if suffix == ".svm" else readers
            _forged(path, case)
        try:
            found = set(read(path, readers, key))
        finally:
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        return ACCEPTED if ACCEPTED in found else SAME if SAME in found else REFUSED

    return attempt
