import math
import os
import re
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyarrow import parquet
from safetensors import SafetensorError

from herder.core.files import whole_file
from herder.core.state import write_file
from herder.data import open_table, read_array, write_table
from herder.data.broken import BrokenRows
from tests.naming import refuses

FORMATS = ["csv", "npy", "npz", "parquet"]


def read(path, max_bytes=2**20):
    """Return all columns of a table as lists, whatever the chunks."""
    source = open_table(path)
    chunks = list(source.chunks(max_bytes))
    assert all(tuple(chunk) == source.names for chunk in chunks)
    for name in source.names:
        assert len({chunk[name].dtype for chunk in chunks}) == 1
    assert sum(len(chunk[source.names[0]]) for chunk in chunks) == source.n_rows
    return {name: [v for chunk in chunks for v in chunk[name].tolist()] for name in source.names}


def blocks(columns, n):
    length = len(next(iter(columns.values())))
    for start in range(0, length, n):
        yield {name: column[start : start + n] for name, column in columns.items()}


# Whole files


def test_a_whole_file_replaces_the_old_one(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    with whole_file(path) as part:
        assert part.parent.parent == tmp_path  # on the same file system
        assert part.suffix == ".txt"
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt, SystemExit])
def test_a_broken_write_leaves_things_as_they_were(tmp_path, error):
    path = tmp_path / "a.txt"

    def fail():
        with whole_file(path) as part:
            part.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert os.listdir(tmp_path) == []
    path.write_text("old")
    with pytest.raises(error):
        fail()
    assert os.listdir(tmp_path) == ["a.txt"]
    assert path.read_text() == "old"


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with whole_file(tmp_path / "link.txt") as part:
        part.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_whole_file_needs_a_place(tmp_path):
    with pytest.raises(FileNotFoundError, match="path must lie in a folder that exists"):
        whole_file(tmp_path / "no" / "a.txt").__enter__()
    with refuses("path"):
        whole_file(tmp_path).__enter__()
    with refuses("path"):
        whole_file(os.devnull).__enter__()


@pytest.mark.parametrize("suffix", [*FORMATS, "safetensors"])
def test_a_full_disk_leaves_no_file(tmp_path, suffix, disk_of):
    path = tmp_path / f"out.{suffix}"
    noise = np.random.default_rng(0).random(20_000)

    def write() -> None:
        if suffix == "safetensors":
            write_file(path, {"a": noise}, {})
        else:
            write_table(path, ["a"], [{"a": noise}])

    with disk_of(10_000), pytest.raises((OSError, SafetensorError), match="File too large"):
        write()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", FORMATS)
def test_an_interrupted_table_leaves_no_file(tmp_path, suffix):
    def chunks():
        yield {"a": np.arange(3)}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_table(tmp_path / f"a.{suffix}", ["a"], chunks())
    assert os.listdir(tmp_path) == []


# Round trips

lengths = st.integers(1, 12)
ints = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=False)
# Words with a letter that no number has; the csv rules turn other text into numbers.
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6).map(
    "w".__add__
)


def frames(*kinds):
    def columns(n):
        column = st.one_of(*(st.lists(kind, min_size=n, max_size=n) for kind in kinds))
        return st.dictionaries(words, column, min_size=1, max_size=4)

    return lengths.flatmap(columns)


def as_columns(frame):
    """Lists as arrays of int64, float64 or objects."""
    kinds = {int: np.int64, float: np.float64}
    columns = {}
    for name, values in frame.items():
        types = {type(value) for value in values}
        columns[name] = np.array(
            values, kinds.get(types.pop(), object) if len(types) == 1 else object
        )
    return columns


@given(frames(ints, floats, words, ints | st.none(), words | st.none()), st.integers(1, 5))
def test_csv_and_parquet_keep_everything(tmp_path_factory, frame, n):
    # one column with a semicolon in its name and in each value is taken for several columns
    assume(not (len(frame) == 1 and re.search("[;\t]", next(iter(frame)))))
    folder = tmp_path_factory.mktemp("tables")
    for suffix in ("csv", "parquet"):
        path = folder / f"a.{suffix}"
        write_table(path, list(frame), blocks(as_columns(frame), n))
        for max_bytes in (1, 2**20):
            assert read(path, max_bytes) == frame


@given(frames(ints, floats, words, st.booleans()), st.integers(1, 5))
def test_npz_keeps_all_but_missing_values(tmp_path_factory, frame, n):
    path = tmp_path_factory.mktemp("tables") / "a.npz"
    write_table(path, list(frame), blocks(as_columns(frame), n))
    for max_bytes in (1, 2**20):
        assert read(path, max_bytes) == frame


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, np.float64, bool])
def test_npy_is_what_numpy_reads(tmp_path, dtype):
    X = (np.random.default_rng(0).random((1000, 3)) * 2).astype(dtype)
    path = tmp_path / "a.npy"
    write_table(path, ["p", "q", "r"], blocks(dict(zip("pqr", X.T, strict=True)), 7))
    loaded = np.load(path)
    np.testing.assert_array_equal(loaded, X)
    assert loaded.dtype == dtype
    np.save(path, np.asfortranarray(X))
    columns = read(path, max_bytes=100)
    assert list(columns) == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(np.array(list(columns.values())).T, X)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("max_bytes", [1, 100, 2**20])
def test_npz_with_one_table(tmp_path, order, max_bytes):
    X = np.arange(30.0).reshape(10, 3).astype(order=order, dtype=float)
    np.savez_compressed(tmp_path / "a.npz", data=X, names=["p", "q", "r"])
    assert read(tmp_path / "a.npz", max_bytes) == dict(zip("pqr", X.T.tolist(), strict=True))
    np.savez(tmp_path / "b.npz", X=X)
    assert list(read(tmp_path / "b.npz", max_bytes)) == ["x0", "x1", "x2"]


def test_chunks_respect_the_size(tmp_path):
    for suffix in FORMATS:
        path = tmp_path / f"a.{suffix}"
        write_table(path, ["a", "b"], [{"a": np.arange(5000), "b": np.arange(5000)}])
        source = open_table(path)
        sizes = [sum(c.nbytes for c in chunk.values()) for chunk in source.chunks(8000)]
        assert max(sizes) <= 8000
        assert sum(sizes) == 80_000
        assert len(list(source.chunks())) == 1


# csv


def csv_file(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_csv_types_are_found_over_the_whole_file(tmp_path):
    text = "i,f,t,gap,hole,flag,code\n" + "1,1,1,,,True,01\n" * 9 + "-2,2.5,x,7,0.5,False,02\n"
    columns = read(csv_file(tmp_path, text), max_bytes=1)
    assert columns["i"] == [1] * 9 + [-2]
    assert columns["f"] == [1.0] * 9 + [2.5]
    assert columns["t"] == ["1"] * 9 + ["x"]
    assert columns["gap"] == [None] * 9 + [7]
    assert [math.isnan(v) for v in columns["hole"]] == [True] * 9 + [False]
    assert columns["flag"] == ["True"] * 9 + ["False"]
    assert columns["code"] == ["01"] * 9 + ["02"]


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("0", int),
        ("-7", int),
        (str(2**63 - 1), int),
        (str(2**63), str),
        ("-0", float),
        ("1e3", float),
        (".5", float),
        ("5.", float),
        ("NaN", float),
        ("-inf", float),
        ("1_000", str),
        (" 1", str),
        ("00", str),
        ("\u0661", str),
        ("0x10", str),
    ],
)
def test_csv_numbers_in_plain_form_only(tmp_path, field, kind):
    value = read(csv_file(tmp_path, f"a\n{field}\n"))["a"][0]
    assert type(value) is kind
    assert str(value) == str(kind(field))


def test_csv_reads_marks_quotes_and_blank_lines(tmp_path):
    text = b'\xef\xbb\xbfname,"a, b"\r\n"line\nbreak","say ""hi"""\r\n\r\n\xc3\xa9t\xc3\xa9,\r\n'
    expected = {"name": ["line\nbreak", "\u00e9t\u00e9"], "a, b": ['say "hi"', None]}
    assert read(csv_file(tmp_path, text)) == expected


def test_csv_writes_plain_text(tmp_path):
    path = tmp_path / "a.csv"
    objects = np.array([None, np.float64(0.1), "x,y"], object)
    write_table(path, ["f", "o"], [{"f": np.array([0.1, np.nan, 1], np.float32), "o": objects}])
    assert path.read_bytes() == b'f,o\n0.1,\n,0.1\n1.0,"x,y"\n'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "must hold a table, got an empty file"),
        ("\n\n", "must hold a table, got only blank lines"),
        ("a,b\n", "must hold at least one row and one column, got 0 rows"),
        (
            "1,2.5\n3,4\n",
            "must begin with a row of column names, got a first row of numbers, 1, 2.5",
        ),
        ("a,b,a\n1,2,3\n", "must have distinct column names, got 'a' twice"),
        (",b\n1,2\n", "must name every column, got no name for 1"),
        ("a;b\n1;2\n", "must separate its columns by commas, got 'a;b'"),
        ('a,b\n1,"2\n', "must be comma-separated text, got line 2: unexpected end of data"),
        (b"a,b\n1,\xff\n", "must be UTF-8 text, got: "),
    ],
)
def test_csv_errors(tmp_path, text, error):
    path = csv_file(tmp_path, text)
    with pytest.raises(ValueError, match=r"t\.csv must ") as caught:
        open_table(path)
    assert str(caught.value).startswith(f"{path} {error}")


@pytest.mark.parametrize(
    ("text", "line", "found"), [("a,b\n1,2\n3\n", 3, 1), ('a,b\n"1\n",2\n3,4,5\n', 4, 3)]
)
def test_csv_rows_of_another_length_are_told_by_their_lines(tmp_path, text, line, found):
    path = csv_file(tmp_path, text)
    with pytest.raises(ValueError, match=f"must have 2 fields, as the header has, got {found}$"):
        open_table(path)
    broken = BrokenRows(skip=True)
    source = open_table(path, broken=broken)
    assert broken.first.startswith(f"line {line} of {path} must have 2 fields")
    (block,) = source.blocks()
    assert (source.n_rows, source.unit, len(block)) == (1, "line", 1)
    assert block.places.tolist() == [2]
    assert [place for place, _, _ in block.broken] == [line]


# npy, npz and parquet


@pytest.mark.parametrize("shape", [(), (3,), (2, 2, 2)])
def test_npy_needs_two_dimensions(tmp_path, shape):
    np.save(tmp_path / "a.npy", np.zeros(shape))
    with pytest.raises(ValueError, match=r"a\.npy must hold a 2-D array, rows by columns, got sh"):
        open_table(tmp_path / "a.npy")


def test_arrays_of_draws(tmp_path):
    draws = np.arange(24.0).reshape(2, 4, 3)
    np.save(tmp_path / "a.npy", draws)
    assert np.array_equal(read_array(tmp_path / "a.npy", ndims=(2, 3)), draws)
    np.save(tmp_path / "a.npy", np.asfortranarray(draws))
    assert np.array_equal(read_array(tmp_path / "a.npy", ndims=(2, 3)), draws)
    np.save(tmp_path / "b.npy", np.zeros(3))
    with pytest.raises(ValueError, match=r"2-D .*, or a 3-D one, .*, got shape \(3,\)"):
        read_array(tmp_path / "b.npy", ndims=(2, 3))
    with pytest.raises(FileNotFoundError, match="must name a file that exists"):
        read_array(tmp_path / "c.npy")


@pytest.mark.parametrize("suffix", FORMATS[1:])
def test_truncated_and_foreign_files_are_named(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    write_table(path, ["a", "b"], [{"a": np.arange(500), "b": np.arange(500)}])
    data = path.read_bytes()
    for broken in (data[: len(data) // 2], data[:20], b"hello, world\n"):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=rf"a\.{suffix} must be a whole \.{suffix} file, got"):
            open_table(path)


def test_npz_with_damaged_contents(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, a=np.arange(5000))
    data = bytearray(path.read_bytes())
    data[20_000] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"a\.npz must be a whole \.npz file, got: Bad CRC"):
        read(path)


@pytest.mark.parametrize(
    ("arrays", "found"),
    [
        ({"a": np.zeros((2, 2)), "b": np.zeros((2, 2))}, "a (2, 2), b (2, 2)"),
        ({"a": np.zeros(2), "b": np.zeros(3)}, "a (2,), b (3,)"),
        ({"a": np.zeros((2, 2)), "y": np.zeros(2)}, "a (2, 2), y (2,)"),
        ({"a": np.zeros(())}, "a ()"),
    ],
)
def test_npz_of_another_form(tmp_path, arrays, found):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match=r"a\.npz must hold one 2-D array") as caught:
        open_table(tmp_path / "a.npz")
    assert str(caught.value).endswith(f"got {found}")


def test_numpy_files_of_other_kinds(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.zeros((2, 2)), names=["p"])
    with pytest.raises(ValueError, match="must have 2 names, got 1"):
        open_table(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", X=np.array([None, 1]))
    with pytest.raises(ValueError, match="must hold numbers or text, got dtype object in 'X'"):
        open_table(tmp_path / "b.npz")
    np.save(tmp_path / "c.npy", np.zeros((2, 2), complex))
    with pytest.raises(ValueError, match="must hold numbers or text, got dtype complex128"):
        open_table(tmp_path / "c.npy")


def test_parquet_of_many_kinds(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table(
        {
            "d": pa.array(["u", None, "v", "u"]).dictionary_encode(),
            "i": pa.array([None, 2, 3, 4], pa.int16()),
            "b": pa.array([True, False, None, True]),
            "f": pa.array([0.5, None, 1.5, 2.5], pa.float32()),
            "date": pa.array([0, 1, 2, 3], pa.date32()),
            "n": pa.nulls(4),
            "u": pa.array([1, 2, 3, 2**64 - 1], pa.uint64()),
        }
    )
    # Without statistics the missing values must be looked for.
    for statistics in (True, False):
        parquet.write_table(table, path, row_group_size=2, write_statistics=statistics)
        columns = read(path, max_bytes=1)
        assert columns["d"] == ["u", None, "v", "u"]
        assert columns["i"] == [None, 2, 3, 4]
        assert columns["b"] == [True, False, None, True]
        assert math.isnan(columns["f"].pop(1))
        assert columns["f"] == [0.5, 1.5, 2.5]
        assert columns["date"][1] == "1970-01-02"
        assert columns["n"] == [None] * 4
        assert columns["u"][3] == 2**64 - 1


def test_parquet_errors(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a": [1], "l": [[1, 2]]}), path)
    with pytest.raises(
        ValueError, match=r"a\.parquet must have columns of numbers or text, got l"
    ):
        open_table(path)
    parquet.write_table(pa.Table.from_arrays([pa.array([1])] * 2, names=["a", "a"]), path)
    with pytest.raises(ValueError, match="must have distinct column names, got 'a' twice"):
        open_table(path)
    parquet.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
    with pytest.raises(ValueError, match="must hold at least one row and one column, got 0 rows"):
        open_table(path)


def test_a_missing_extra_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    rule = r"a\.parquet needs pyarrow, which is not installed: pip install 'herder\[tables\]'"
    with pytest.raises(ModuleNotFoundError, match=rule):
        open_table(path)
    with pytest.raises(ModuleNotFoundError, match=rule):
        write_table(path, ["a"], [])
    assert path.read_bytes() == b"PAR1"


# What the formats refuse


def test_unknown_suffix_and_missing_file(tmp_path):
    rule = r"path must end in \.csv, \.npy, \.npz or \.parquet, got '.*a\.txt'"
    with pytest.raises(ValueError, match=rule):
        open_table(tmp_path / "a.txt")
    with pytest.raises(ValueError, match=rule):
        write_table(tmp_path / "a.txt", ["a"], [])
    with pytest.raises(FileNotFoundError, match="path must name a file that exists"):
        open_table(tmp_path / "a.csv")
    (tmp_path / "A.CSV").write_text("a\n1\n")
    assert read(tmp_path / "A.CSV") == {"a": [1]}


@pytest.mark.parametrize(
    ("suffix", "values", "error"),
    [
        ("npy", ["x"], "a .npy table must hold numbers only, got <U1 in 'a'"),
        ("npy", [None, 1], "a .npy table must hold numbers only, got object in 'a'"),
        ("npz", ["x", None], "a .npz table has no missing values, got some in 'a'"),
        ("npz", np.array(["x", 1], object), "a .npz column must hold numbers or text, got a mix"),
        ("parquet", np.array(["x", 1], object), "a column must be of one kind, got "),
    ],
)
def test_columns_that_a_format_cannot_hold(tmp_path, suffix, values, error):
    path = tmp_path / f"o.{suffix}"
    with pytest.raises(ValueError, match=r"^.*o\.") as caught:
        write_table(path, ["a"], [{"a": values}])
    assert str(caught.value).startswith(f"{path}: {error}")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", ["npy", "parquet"])
def test_later_blocks_must_fit_the_first(tmp_path, suffix):
    chunks = [{"a": np.array([1, 2])}, {"a": np.array([0.5])}]
    with pytest.raises(ValueError, match=rf"o\.{suffix}: "):
        write_table(tmp_path / f"o.{suffix}", ["a"], chunks)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", FORMATS)
def test_chunks_and_names_are_checked(tmp_path, suffix):
    path = tmp_path / f"o.{suffix}"
    with refuses("chunks"):
        write_table(path, ["a", "b"], [{"a": [1]}])
    with refuses("chunks"):
        write_table(path, ["a", "b"], [{"a": [1], "b": [1, 2]}])
    with refuses("chunks"):
        write_table(path, ["a"], [{"a": [[1]]}])
    for names in (["a", "a"], []):
        with refuses("names"):
            write_table(path, names, [])
    assert os.listdir(tmp_path) == []


# Arrays
