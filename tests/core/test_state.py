import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Self

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from herder.core.plain import POSITIVE, read_array, read_number, read_record
from herder.core.state import (
    FORMAT_VERSION,
    ModelFileError,
    load_as,
    nest,
    read_file,
    read_state,
    unnest,
    write_file,
    write_state,
)
from tests.naming import refuses


@dataclass
class Thing:
    """As small as something that can be saved may be."""

    values: np.ndarray
    name: str

    def to_state(self):
        return {"values": self.values}, {"name": self.name}

    @classmethod
    def from_state(cls, arrays, header) -> Self:
        return cls(read_array(arrays, "values", (None,)), header["name"])


@pytest.fixture
def saved(tmp_path):
    write_state(tmp_path / "thing", Thing(np.arange(5.0), "\u00e9"), {"note": [1, None]})
    return tmp_path / "thing"


def write_old(path, content, text):
    """Write this header as it is, as 0.1.0 did."""
    save_file(content, path, metadata={"meta": text})


def test_an_object_comes_back(saved):
    found = read_state(saved)
    assert (found.name, found.header["meta"]) == ("Thing", {"note": [1, None]})
    assert found.header["format_version"] == FORMAT_VERSION == 2
    thing = load_as(Thing, saved)
    assert (thing.values.tolist(), thing.name) == ([0, 1, 2, 3, 4], "\u00e9")
    write_state(saved.with_name("again"), thing, {"note": [1, None]})
    assert saved.with_name("again").read_bytes() == saved.read_bytes()


NUMBERS = ("?", "i1", "u2", "i8", "u8", "f4", ">f8", ">i4")


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4),
        st.sampled_from(NUMBERS).flatmap(
            lambda kind: arrays(kind, array_shapes(min_dims=0, max_dims=3, min_side=0))
        ),
        max_size=4,
    ),
    st.dictionaries(st.text(max_size=3), st.integers() | st.floats(allow_nan=False) | st.text()),
)
def test_arrays_and_headers_come_back(tmp_path_factory, content, header):
    content.pop("__metadata__", None)
    path = tmp_path_factory.mktemp("state") / "a"
    write_file(path, content, header)
    found, again, has_digest = read_file(path)
    assert has_digest
    assert again == json.loads(json.dumps(header))
    assert found.keys() == content.keys()
    for name, value in content.items():
        assert found[name].dtype == value.dtype.newbyteorder("=")
        assert found[name].shape == value.shape
        assert np.array_equal(found[name], value, equal_nan=value.dtype.kind == "f")


def test_views_are_written_as_what_they_show(tmp_path):
    table = np.arange(12).reshape(3, 4)
    write_file(tmp_path / "a", {"half": table[:, ::2], "turned": table.T}, {})
    found = read_file(tmp_path / "a")[0]
    assert np.array_equal(found["half"], table[:, ::2])
    assert np.array_equal(found["turned"], table.T)


def test_only_numbers_are_written(tmp_path):
    for value in (["x"], np.array([None]), np.zeros(2, complex), np.zeros(2, np.longdouble)):
        with refuses("arrays['t']", TypeError):
            write_file(tmp_path / "a", {"t": value}, {})
    with pytest.raises(TypeError):
        write_file(tmp_path / "a", {}, {"x": object()})
    assert os.listdir(tmp_path) == []


def test_every_flipped_bit_is_found(saved, tmp_path):
    raw = saved.read_bytes()
    noise = np.random.default_rng(1)
    for place in range(len(raw)):
        changed = bytearray(raw)
        changed[place] ^= 1 << int(noise.integers(8))
        (tmp_path / "changed").write_bytes(changed)
        with pytest.raises(ModelFileError):
            load_as(Thing, tmp_path / "changed")


def test_a_file_cut_anywhere_is_refused(saved, tmp_path):
    raw = saved.read_bytes()
    for size in range(len(raw)):
        (tmp_path / "cut").write_bytes(raw[:size])
        with pytest.raises(ModelFileError, match="must be a whole safetensors file"):
            read_state(tmp_path / "cut")


@pytest.mark.parametrize("change", ["value", "name", "shape", "dtype", "header", "one more"])
def test_a_digest_is_over_all(saved, tmp_path, change):
    content, text = read_file(saved)[0], read_text(saved)
    values = content.pop("values")
    if change == "value":
        content["values"] = values + 1
    elif change == "name":
        content["others"] = values
    elif change == "shape":
        content["values"] = values[:, None]
    elif change == "dtype":
        content["values"] = values.view(np.int64)
    else:
        content["values"] = values
        text = text if change == "one more" else text.replace("Thing", "Think")
        if change == "one more":
            content["more"] = np.zeros(0)
    write_old(tmp_path / "a", content, text)
    with pytest.raises(ModelFileError, match="must be as it was written"):
        read_file(tmp_path / "a")


def read_text(path):
    """Return the header as it is in the file, digest included."""
    with safe_open(path, framework="numpy") as stream:
        return stream.metadata()["meta"]


def test_version_and_digest_go_together(saved, tmp_path):
    content, header, _ = read_file(saved)
    write_old(tmp_path / "old", content, json.dumps(header))
    with pytest.raises(ModelFileError, match="must have a digest from format 2 on, got none"):
        read_state(tmp_path / "old")
    write_file(tmp_path / "new", content, header | {"format_version": 1})
    with pytest.raises(ModelFileError, match="must have a digest from format 2 on, got one"):
        read_state(tmp_path / "new")
    write_file(tmp_path / "new", content, {"kind": "herder moment position 1"})
    with pytest.raises(ModelFileError, match="got one"):
        read_state(tmp_path / "new")
    write_old(tmp_path / "old", content, json.dumps(header | {"format_version": 1}))
    assert load_as(Thing, tmp_path / "old").name == "\u00e9"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "must be a model file of herder, got another safetensors file"),
        ({"format": None}, "must be a model file of herder"),
        ({"format": ["herder model"]}, "must be a model file of herder"),
        ({"format_version": 3, "herder": "9.9"}, "got 3 from herder 9.9: a newer herder reads it"),
        ({"format_version": "x"}, "got format 'x'"),
        ({"format_version": -5}, "got format -5"),
        ({"format_version": True}, "got format True"),
        ({"meta": [["a", 1]]}, "must name a class and hold meta"),
        ({"class": 3}, "must name a class and hold meta, got 3"),
        ({"class": "Other"}, "must hold a Thing, got a Other"),
        ({"name": None}, "must hold a whole Thing, got: no 'name'"),
    ],
)
def test_headers_that_are_not_of_a_thing(saved, tmp_path, change, message):
    content, header, _ = read_file(saved)
    header = {k: v for k, v in (header | change).items() if v is not None}
    write_file(tmp_path / "a", content, header)
    with pytest.raises(ModelFileError, match=message) as caught:
        load_as(Thing, tmp_path / "a")
    assert str(caught.value).startswith(str(tmp_path / "a"))


def test_files_that_are_not_ours(tmp_path):
    with pytest.raises(FileNotFoundError, match="path must name a file that exists"):
        read_state(tmp_path / "none")
    for content in (b"", b"PK\x03\x04", b"\x80\x04\x95", json.dumps({"a": 1}).encode() * 99):
        (tmp_path / "a").write_bytes(content)
        with pytest.raises(ModelFileError, match="must be a whole safetensors file"):
            read_state(tmp_path / "a")


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"format_version": ' + "9" * 5000 + "}", "{", "", "nul", "[1]", "3"],
)
def test_headers_that_no_one_can_read(tmp_path, text):
    write_old(tmp_path / "a", {"a": np.zeros(1)}, text)
    with pytest.raises(ModelFileError) as caught:
        read_state(tmp_path / "a")
    assert str(caught.value).startswith(str(tmp_path / "a"))


def write_raw(path, dtype, n_bytes, notes):
    """Write one number of that dtype, zero."""
    array = {"dtype": dtype, "shape": [1], "data_offsets": [0, n_bytes]}
    header = json.dumps({"a": array, "__metadata__": notes}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(n_bytes))


@pytest.mark.parametrize(("dtype", "n_bytes"), [("BF16", 2), ("F8_E4M3", 1), ("C64", 8)])
def test_numbers_that_a_state_does_not_have(saved, tmp_path, dtype, n_bytes):
    path = tmp_path / "a"
    write_raw(path, dtype, n_bytes, {"format": "pt"})
    with pytest.raises(ModelFileError, match="must be a model file of herder, got another safe"):
        read_state(path)
    write_raw(path, dtype, n_bytes, {"meta": read_text(saved)})
    with pytest.raises(ModelFileError, match=str(path)):
        read_state(path)


def test_the_arrays_of_other_files_are_not_read(tmp_path, monkeypatch):
    """A language model has many gigabytes of them."""
    path = tmp_path / "a"
    save_file({"a": np.zeros(1)}, path, metadata={"format": "pt"})

    @contextmanager
    def opened(*_, **__):
        yield SimpleNamespace(metadata=lambda: {"format": "pt"})

    monkeypatch.setattr("safetensors.safe_open", opened)
    with pytest.raises(ModelFileError, match="got another safetensors file"):
        read_state(path)


@pytest.mark.parametrize("path", [None, b"a", 3, ["a"]])
def test_a_path_must_be_one(saved, path):
    with refuses("path", TypeError):
        read_state(path)
    with refuses("path", TypeError):
        write_state(path, load_as(Thing, saved))


def test_links_in_a_circle_are_no_file(saved, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FileNotFoundError, match="loop"):
        read_state(tmp_path / "loop")
    for path in (tmp_path / "loop", "a\0b"):
        with refuses("path"):
            write_state(path, load_as(Thing, saved))


def test_a_full_disk_is_an_error_of_the_system_and_leaves_nothing(tmp_path, monkeypatch):
    def full(*_, **__):
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("safetensors.numpy.save_file", full)
    with pytest.raises(OSError, match="could not be written: I/O error: No space left"):
        write_file(tmp_path / "a", {}, {})
    assert os.listdir(tmp_path) == []


def test_others_can_read_the_file(tmp_path):
    old = os.umask(0o027)
    try:
        write_file(tmp_path / "a", {}, {})
    finally:
        os.umask(old)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_parts_lie_under_a_prefix():
    part = {"x": np.zeros(1), "a.x": np.ones(1)}
    whole = {"x": np.full(1, 2.0), **nest("a.", part)}
    assert unnest("a.", whole) == part
    assert unnest("b.", whole) == {}


def test_arrays_are_checked_and_copied():
    given = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([1, 2])}
    found = read_array(given, "a", (2, None), low=0, high=5)
    found[:] = -1
    assert given["a"].max() == 5
    for shape, kind, low, high in [
        ((2,), float, None, None),
        ((3, 2), float, None, None),
        ((2, 3), np.float32, None, None),
        ((2, 3), float, POSITIVE, None),
        ((2, 3), float, None, 4),
    ]:
        with pytest.raises(ValueError, match=r"^a "):
            read_array(given, "a", shape, kind, low=low, high=high)
    with pytest.raises(ValueError, match="a with values that are not finite"):
        read_array({"a": np.array([np.inf])}, "a", (1,))
    with pytest.raises(KeyError):
        read_array(given, "c", (1,))


def test_numbers_are_checked():
    assert read_number({"a": 3}, "a") == 3
    assert np.isnan(read_number({"a": float("nan")}, "a", float, low=None))
    wrong = [(3, float), (True, int), (-1, int), (2**63, int), (float("inf"), float), ("1", int)]
    for value, kind in wrong:
        with pytest.raises(ValueError, match="a = "):
            read_number({"a": value}, "a", kind)


@dataclass
class Record:
    n: int
    share: float | None
    pairs: tuple[tuple[str, int], ...] = ()


def test_records_are_typed():
    facts = {"n": 1, "share": 2, "pairs": [["a", 1], ["b", 2]]}
    assert read_record(Record, facts) == Record(1, 2.0, (("a", 1), ("b", 2)))
    for wrong in ({"n": 1.5}, {"n": True}, {"share": "x"}, {"pairs": [["a"]]}, {"strange": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            read_record(Record, facts | wrong)
    with pytest.raises(ValueError, match="None in the place of a Record"):
        read_record(Record, None)
