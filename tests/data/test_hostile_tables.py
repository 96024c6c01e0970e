"""Table files that lie about their sizes, are no tables, or change while they are read."""

import io
import os
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from herder.data import open_table, read_array, write_table
from herder.data.broken import BrokenRows
from herder.data.labelled import open_labelled
from herder.data.sample import Roles, read_sample
from tests.naming import refuses

FORMATS = ["csv", "npy", "npz", "parquet"]
LIMIT = 10**8


def header(shape, descr: Any = "<f8", fortran=False):
    stream = io.BytesIO()
    fields = {"descr": descr, "fortran_order": fortran, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, fields)
    return stream.getvalue()


def archive(path, *members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as stream:
        for name, data in members:
            stream.writestr(name, data)
    return path


def file(path, data):
    path.write_bytes(data)
    return path


# Declared sizes


@pytest.mark.parametrize(
    "start",
    [
        header((0, 10**9)),
        header((10**9, 0)),
        header((1, 10**9)),
        header((10**9, 1)),
        header((2, -2)),
        header((2, 1)) + bytes(8),
        header((2, 1)) + bytes(17),
        header((10**9, 1), "<U0"),
        header((1, 1), "<U900000000"),
        header((1, 1), "|O") + bytes(8),
        header((1, 1), "<c16") + bytes(16),
        header((1, 1), [("a", "<f8")]) + bytes(8),
        b"\x93NUMPY\x01\x00\x10\x00" + b"{'descr': '<f8'," + bytes(8),
        b"\x93NUMPY\x09\x00\x10\x00" + bytes(24),
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",
        b"\x93NUMPY\x01\x00\xf0\x00" + b"(" * 240 + bytes(8),
        b"\x93NUMPY\x01\x00\x10\x00" + b"{[]:0, 'a': 0}  " + bytes(8),
        b"\x93NUMPY",
        b"\x93",
    ],
)
def test_headers_that_their_file_does_not_bear_out(tmp_path, start):
    path = file(tmp_path / "a.npy", start)
    for read in (open_table, read_array):
        with pytest.raises(ValueError, match=r"a\.npy must "):
            read(path)
    path = archive(tmp_path / "a.npz", ("x.npy", start))
    with pytest.raises(ValueError, match=r"a\.npz must "):
        open_table(path)


def test_names_are_as_many_as_columns_before_they_are_read(tmp_path):
    table = ("x.npy", header((1, 1)) + bytes(8))
    path = archive(tmp_path / "a.npz", table, ("names.npy", header((10**9,), "<U9")))
    with pytest.raises(ValueError, match=r"a\.npz must be a whole"):
        open_table(path)
    path = archive(tmp_path / "a.npz", table, ("names.npy", header((9,), "<U1") + bytes(36)))
    with pytest.raises(ValueError, match="must have 1 names, got 9"):
        open_table(path)


def test_true_sizes_beyond_the_limit_are_refused(tmp_path):
    zeros = bytes(8 * 4 * 10**6)
    path = tmp_path / "a.npz"
    deflated = zipfile.ZIP_DEFLATED
    archive(path, ("x.npy", header((1, 4 * 10**6)) + zeros), method=deflated)
    with refuses("max_memory", match=r"the names of the 4,000,000 columns of .*a\.npz"):
        open_table(path, max_memory=LIMIT)
    names = ("names.npy", header((1,), f"<U{len(zeros) // 4}") + zeros)
    archive(path, ("x.npy", header((1, 1)) + bytes(8)), names, method=deflated)
    with refuses("max_memory", match="31M for the names of the columns"):
        open_table(path, max_memory=10**7)
    archive(path, ("x.npy", header((1,), f"<U{len(zeros) // 4}") + zeros), method=deflated)
    with refuses("max_memory", match="a row of"):
        open_table(path, max_memory=10**7)
    archive(path, ("x.npy", header((10**6, 4), fortran=True) + zeros), method=deflated)
    with refuses("max_memory", match="Fortran"):
        open_table(path, max_memory=10**7)
    assert open_table(path, max_memory=LIMIT).whole()["x3"].sum() == 0


def test_an_archive_that_lies_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    data = header((1, 10**6)) + bytes(8 * 10**6)
    archive(path, ("x.npy", data), method=zipfile.ZIP_DEFLATED)
    whole = path.read_bytes()
    start = whole.rindex(b"PK\x01\x02")
    for offset, size in ((24, 10**9), (20, 10**9), (24, len(data) + 8), (24, 300)):
        forged = bytearray(whole)
        forged[start + offset : start + offset + 4] = struct.pack("<I", size)
        path.write_bytes(forged)
        with pytest.raises(ValueError, match=r"a\.npz must "):
            open_table(path).whole()
    # more values than there are bytes, from a directory that agrees with the header
    bomb = header((1, 10**9))
    archive(path, ("x.npy", bomb), method=zipfile.ZIP_DEFLATED)
    forged = bytearray(path.read_bytes())
    start = forged.rindex(b"PK\x01\x02")
    forged[start + 24 : start + 28] = struct.pack("<I", len(bomb) + 2**31)
    path.write_bytes(forged)
    with pytest.raises(ValueError, match=r"a\.npz must hold arrays.* bytes made from"):
        open_table(path)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_sample_beyond_the_limit_is_refused_before_it_is_read(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    write_table(path, ["a", "b"], [{"a": np.arange(1e5), "b": np.arange(1e5)}])
    seen = []
    with refuses("max_memory"):
        read_sample(path, Roles(), lambda share, note: seen.append(note), max_memory=2**20)
    assert not any(note.startswith("reading") for note in seen)
    assert read_sample(path, Roles(), max_memory=2**24).values.shape == (100_000, 2)


def test_columns_of_a_sample_are_a_copy_that_counts(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((100_000, 2)))
    with refuses("max_memory", match="at least 3M"):
        read_sample(tmp_path / "a.npy", Roles(drop=("x1",)), max_memory=2**21)


# What is no table


def test_members_that_are_no_arrays(tmp_path):
    path = tmp_path / "a.npz"
    array = header((1, 1)) + bytes(8)
    for members, method in [
        ([("x.txt", b"hello")], zipfile.ZIP_STORED),
        ([("x.npy", b"hello")], zipfile.ZIP_STORED),
        ([("x.npy", array)], zipfile.ZIP_LZMA),
        ([("x.npy", array)], zipfile.ZIP_BZIP2),
        ([("folder/", b"")], zipfile.ZIP_STORED),
        ([], zipfile.ZIP_STORED),
    ]:
        archive(path, *members, method=method)
        with pytest.raises(ValueError, match=r"a\.npz must "):
            open_table(path)
    archive(path, ("x.npy", array))
    forged = bytearray(path.read_bytes())
    for place in (forged.index(b"PK\x03\x04") + 6, forged.rindex(b"PK\x01\x02") + 8):
        forged[place] |= 1
    with pytest.raises(ValueError, match=r"a\.npz must .* got an encrypted one in 'x\.npy'"):
        open_table(file(path, forged))


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_is_no_file(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    (tmp_path / f"folder.{suffix}").mkdir()
    os.mkfifo(tmp_path / f"pipe.{suffix}")
    path.symlink_to("/dev/zero")
    (tmp_path / f"loop.{suffix}").symlink_to(tmp_path / f"loop.{suffix}")
    for name in ("a", "folder", "pipe", "loop", "none"):
        with pytest.raises(FileNotFoundError, match=f"path must name a file .*{name}"):
            open_table(tmp_path / f"{name}.{suffix}")


@pytest.mark.parametrize("path", [None, b"a.csv", 3, ["a.csv"]])
def test_what_is_no_path(path):
    for call in (open_table, read_array, lambda path: write_table(path, ["a"], [])):
        with refuses("path", TypeError):
            call(path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a,b\n1,2\n\0,3\n", "must be text, got a NUL in line 3"),
        ("a,b\n1,2\n".encode("utf-16"), "must be text, got a NUL in line 1"),
        ("a,b\n1,2\n".encode("utf-16-le"), "must be text, got a NUL in line 1"),
        (b"a,b\n1,2\n3,\xc3\n", "must be UTF-8 text, got: .* in line 3"),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", "must be comma-separated text, got line 2: field"),
        (b"a,b\n1,2\n3\n", "line 3 of .* must have 2 fields, as the header has, got 1"),
        (b"a,b\n1,2\n3,4,5\n", "line 3 of .* must have 2 fields, as the header has, got 3"),
    ],
)
def test_text_that_is_no_table(tmp_path, data, words):
    path = file(tmp_path / "a.csv", data)
    with pytest.raises(ValueError, match=words) as caught:
        open_table(path)
    assert str(path) in str(caught.value)


def test_a_file_without_line_ends_is_no_table(tmp_path, monkeypatch):
    monkeypatch.setattr("herder.data.csv_table.MAX_LINE", 1000)
    with pytest.raises(ValueError, match="must be text, got more than 1,000 bytes in line 2"):
        open_table(file(tmp_path / "a.csv", b"a\n" + b"1," * 1000))


def test_numbers_of_very_many_digits_are_text(tmp_path):
    digits = b"9" * 5000  # Python refuses to read them as a number
    path = file(tmp_path / "a.csv", b"a\n1\n" + digits + b"\n")
    assert open_table(path).whole()["a"].tolist() == ["1", digits.decode()]


def test_parquet_with_damaged_pages(tmp_path):
    path = tmp_path / "a.parquet"
    write_table(path, ["a"], [{"a": np.random.default_rng(0).integers(0, 9**9, 500)}])
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    with pytest.raises(ValueError, match=r"a\.parquet must be a whole .* checksum"):
        open_table(file(path, data)).whole()


def test_parquet_whose_statistics_hide_gaps(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a": pa.array([1, None, 3])}), path)
    monkeypatch.setattr("herder.data.parquet_table._find_gaps", lambda *_: [False])
    with pytest.raises(ValueError, match=r"a\.parquet must be a whole .* missing values"):
        open_table(path).whole()


def test_arrays_of_the_other_byte_order(tmp_path):
    rows = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "a.npy", rows.astype(">f8"))
    np.savez(tmp_path / "a.npz", x=rows.astype(">f8"))
    for name in ("a.npy", "a.npz"):
        found = open_table(tmp_path / name).whole()["x1"]
        assert found.dtype.isnative
        assert found.tolist() == [1, 3, 5]
    assert read_sample(tmp_path / "a.npy", Roles()).values.dtype.isnative


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_in_both_orders_are_read_in_blocks(tmp_path, order):
    rows = np.asarray(np.arange(21).reshape(7, 3), order=order)
    np.save(tmp_path / "a.npy", rows)
    np.savez(tmp_path / "a.npz", x=rows)
    for name in ("a.npy", "a.npz"):
        chunks = list(open_table(tmp_path / name).chunks(max_bytes=2 * rows[0].nbytes))
        assert [len(chunk["x0"]) for chunk in chunks] == [2, 2, 2, 1]
        found = np.concatenate([np.column_stack(list(chunk.values())) for chunk in chunks])
        assert np.array_equal(found, rows)


# Files that change


def changed(path, data):
    """Write a file with another time, however fast the clock of the file system is."""
    path.write_bytes(data)
    os.utime(path, ns=(1, 1))


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_table_that_changed_is_refused(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    columns = {name: np.random.default_rng(0).integers(0, 99, 4000) for name in "ab"}
    write_table(path, ["a", "b"], [columns])
    data = path.read_bytes()
    source = open_table(path)
    for after in (data, data[: len(data) // 2], b"", data + data[-8:]):
        changed(path, data)
        source = open_table(path)
        path.write_bytes(after)  # of the same size, or not
        for read in (source.whole, lambda source=source: source.take(np.array([0]))):
            with pytest.raises(ValueError, match=f"{path} must stay as it is while it is read"):
                read()


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_table_that_changes_while_it_is_read_is_refused(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    columns = {name: np.random.default_rng(0).integers(0, 99, 400_000) for name in "ab"}
    write_table(path, ["a", "b"], [columns])
    chunks = open_table(path).chunks(max_bytes=2**16)
    next(chunks)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(ValueError, match=f"{path} must stay as it is while it is read"):
        for _ in chunks:
            pass


def test_text_that_was_a_number_before(tmp_path):
    path = file(tmp_path / "a.csv", b"a\n1\n2\n")
    source, stat = open_table(path), path.stat()
    path.write_bytes(b"a\n1\nx\n")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # so that nothing else shows it
    with pytest.raises(ValueError, match=r"a\.csv must stay as it is .* got text that was a num"):
        source.whole()


def test_a_table_with_other_rows_than_at_first(tmp_path):
    path = file(tmp_path / "a.csv", b"a,b\n1,2\n3,4\n")
    source, stat = open_table(path), path.stat()
    path.write_bytes(b"a,b\n1,2\n3444\n")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(ValueError, match=r"must stay as it is|must hold the 2 rows that it had"):
        source.whole()


def test_lines_that_change_are_refused(tmp_path):
    path = file(tmp_path / "a.svm", b"1 1:2\n0 1:3\n")
    files = open_labelled([path])
    assert files.scan(BrokenRows()).n_rows == 2
    changed(path, b"1 1:2\n0 1:4\n")
    with pytest.raises(ValueError, match=r"a\.svm must stay as it is while it is read"):
        list(files.batches(BrokenRows()))
    batches = open_labelled([path]).batches(BrokenRows())
    next(batches)
    changed(path, b"1 1:2\n")
    with pytest.raises(ValueError, match=r"a\.svm must stay as it is while it is read"):
        next(batches)


def test_a_sample_in_memory_does_not_need_its_file(tmp_path):
    path = Path(tmp_path / "a.npy")
    rows = np.arange(12.0).reshape(6, 2)
    np.save(path, rows)
    sample = read_sample(path, Roles())
    os.truncate(path, 10)  # of a mapped file, reading on would end the process
    assert np.array_equal(sample.values, rows)
    assert sample.take(np.array([5]))["x1"].tolist() == [11]
