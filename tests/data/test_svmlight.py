import gzip
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import vstack
from sklearn import datasets

from herder.data import _svmlight_jit as _jit
from herder.data import svmlight
from herder.data.broken import BrokenRows
from herder.data.numerals import label_kind, label_value
from herder.data.svmlight import read_svmlight


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def whole(path: Path, broken: BrokenRows | None = None, **options: Any) -> Any:
    """Return the matrix, the labels as written and the numbers of the lines."""
    batches = list(read_svmlight(path, broken or BrokenRows(), **options))
    width = max((batch.X.shape[1] for batch in batches), default=0)
    for batch in batches:
        batch.X.resize((len(batch), width))
    X = vstack([batch.X for batch in batches], format="csr") if batches else None
    labels = [batch.names[c] if c >= 0 else "" for batch in batches for c in batch.codes]
    return X, labels, [int(n) for batch in batches for n in batch.places]


def value_of(word: str) -> float:
    raw = np.frombuffer(word.encode(), dtype=np.uint8)
    value, fine = _jit.read_value(raw, 0, len(raw), _jit.POWERS)
    assert fine, word
    return value


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.from_regex(r"-?\.[0-9]{1,20}", fullmatch=True),
    # next to the middle between two doubles, where rounding is hardest
    st.integers(2**53, 2**63).map(lambda k: str(2 * k + 1)),
)


@settings(max_examples=6 * settings().max_examples)
@given(numbers)
def test_a_value_is_what_python_reads_or_is_left_to_python(word):
    value = value_of(word)
    assert np.isnan(value) or value == float(word)
    assert np.signbit(value) == np.signbit(float(word)) or np.isnan(value)


@settings(max_examples=3 * settings().max_examples)
@given(st.integers(0, 10**17), st.integers(0, 16))
def test_seventeen_digits_are_read_in_the_fast_way(digits, after):
    word = f"{digits:018d}"
    word = f"{word[: 18 - after]}.{word[18 - after :]}"
    value = value_of(word)
    assert value == float(word) or np.isnan(value)


def test_few_ordinary_values_are_left_to_python():
    words = [repr(v) for v in np.random.default_rng(0).normal(size=2000).tolist()]
    found = np.array([value_of(word) for word in words])
    assert np.isnan(found).mean() < 0.01
    exact = np.array([float(word) for word in words])
    assert np.array_equal(found[~np.isnan(found)], exact[~np.isnan(found)])


@pytest.mark.parametrize(
    "word", ["", "+", "-", ".", "e5", "1e", "1e+", "1e5x", "1..2", "1.2.3", "0x1", "1_0", "nan"]
)
def test_words_that_are_no_values(word):
    raw = np.frombuffer(word.encode(), dtype=np.uint8)
    assert not _jit.read_value(raw, 0, len(raw), _jit.POWERS)[1]


rows = st.lists(
    st.tuples(
        st.sampled_from(["1", "-1", "+1", "3.5"]),
        st.dictionaries(st.integers(0, 50), st.floats(-1e6, 1e6), max_size=6),
    ),
    min_size=1,
    max_size=30,
)


@given(rows=rows, comments=st.booleans(), last=st.sampled_from(["", "\n", "\r\n", " \t\n\n"]))
def test_the_same_matrix_as_scikit_learn(tmp_path_factory, rows, comments, last):
    lines = []
    for label, pairs in rows:
        words = [label, "qid:7"] if comments else [label]
        words += [f"{j}:{pairs[j]!r}" for j in sorted(pairs)]
        lines.append(" ".join(words) + (" # 9:9 x" if comments else ""))
        lines += ["", "# 1 2:3"] if comments else []
    path = written(tmp_path_factory.mktemp("t") / "a.svm", "\n".join(lines) + last)
    X, labels, _ = whole(path)
    load: Any = datasets.load_svmlight_file
    theirs, y = load(str(path), zero_based=True)
    assert X.nnz == theirs.nnz  # zeros that were written stay
    theirs.resize(X.shape)
    assert (theirs != X).nnz == 0
    assert [float(label) for label in labels] == y.tolist()


@pytest.mark.parametrize("size", [4, 7, 16, 50])
def test_blocks_do_not_matter(tmp_path, monkeypatch, size):
    text = "".join(f"{k % 3} {k}:{k}.5 {k + 4}:2\n# c\n" for k in range(40)) + "2 3:4"
    path = written(tmp_path / "a.svm", text)
    once = whole(path)
    monkeypatch.setattr(svmlight, "BLOCK_BYTES", size)
    cut = whole(path)
    assert (once[0] != cut[0]).nnz == 0
    assert once[1:] == cut[1:]
    assert once[2] == [*range(1, 80, 2), 81]


def test_a_mark_at_the_start_a_long_line_and_windows_ends(tmp_path, monkeypatch):
    pairs = " ".join(f"{j}:1" for j in range(3000))
    path = written(tmp_path / "a.txt", f"\ufeffspam 1:2\r\nham {pairs}\r\n")
    monkeypatch.setattr(svmlight, "BLOCK_BYTES", 64)
    X, labels, _ = whole(path)
    assert labels == ["spam", "ham"]
    assert X.getnnz(axis=1).tolist() == [1, 3000]
    monkeypatch.setattr(svmlight, "MAX_LINE", 2**10)
    with pytest.raises(ValueError, match=r"a\.txt must be svmlight text, got a line of more"):
        whole(path)


def test_rows_out_of_order_are_put_in_order(tmp_path):
    X, *_ = whole(written(tmp_path / "a.svm", "1 5:1 2:3\n1 2:7\n"))
    assert X.has_sorted_indices
    assert X.toarray().tolist() == [[0, 0, 3, 0, 0, 1], [0, 0, 7, 0, 0, 0]]


BROKEN = [
    ("2:1 3:1", "must begin with a label, got '2:1'"),
    ("nan 2:1", "must have one label, a number or a word, got 'nan'"),
    ("1,2 2:1", "must have one label, a number or a word, got '1,2'"),
    ("x" * 300, "must have a label of at most 256 bytes, got 300"),
    ("1 refund", "must have index:value after the label, got 'refund'"),
    ("1 | a:1", "must have index:value after the label, got '|'"),
    ("1 -2:1", "must have a whole number from 0 on as index, got '-2:1'"),
    ("1 :1", "must have a whole number from 0 on as index, got ':1'"),
    ("1 a:1", "must have a whole number from 0 on as index, got 'a:1'"),
    ("1 2147483647:1", "must have indices up to 2,147,483,646, got '2147483647:1'"),
    ("1 9" + "9" * 40 + ":1", "must have indices up to 2,147,483,646, got '9999"),
    ("1 2:nan", "must have a finite number as value, got '2:nan'"),
    ("1 2:inf", "must have a finite number as value, got '2:inf'"),
    ("1 2:1e999", "must have a finite number as value, got '1e999'"),
    ("1 2:", "must have a finite number as value, got '2:'"),
    ("1 2:1:3", "must have a finite number as value, got '2:1:3'"),
    ("1 2:1 2:3", "must have each index once, got '2:3'"),
    ("1 2:1 1:1 2:3", "must have each index once, got 2 again"),
]


@pytest.mark.parametrize(("line", "message"), BROKEN)
def test_a_broken_line_is_named(tmp_path, monkeypatch, line, message):
    path = written(tmp_path / "a.svm", "1 1:1\n" * 30 + line + "\n" + "1 1:1\n" * 3)
    for size in (20, 2**20):
        monkeypatch.setattr(svmlight, "BLOCK_BYTES", size)
        with pytest.raises(ValueError, match="line 31 of") as caught:
            whole(path, BrokenRows(remedy="{unit}s like it may be skipped"))
        assert f"line 31 of {path} {message}" in str(caught.value)
        assert str(caught.value).endswith("; lines like it may be skipped")


def test_broken_lines_are_left_out_and_counted(tmp_path):
    lines = [line for line, _ in BROKEN]
    text = "".join(f"{line}\n7 1:{k} 3:1e-300\n" for k, line in enumerate(lines))
    broken = BrokenRows(skip=True)
    X, labels, numbers = whole(written(tmp_path / "a.svm", text), broken)
    assert broken.count == len(lines)
    assert broken.first.startswith("line 1 of")
    assert X.toarray()[:, 1].tolist() == list(range(len(lines)))
    assert set(X.toarray()[:, 3]) == {1e-300}
    assert labels == ["7"] * len(lines)
    assert numbers == list(range(2, 2 * len(lines) + 1, 2))


def test_features_may_be_bounded_and_labels_left_out(tmp_path):
    path = written(tmp_path / "a.svm", "1:1\n2 3:1\n")
    assert whole(path, need_label=False)[1] == ["", "2"]
    with pytest.raises(ValueError, match=r"line 2 .* below the 3 features, got '3:1'"):
        whole(path, need_label=False, n_features=3)


def test_compressed_files(tmp_path):
    raw = b"".join(b"%d %d:1.5\n" % (k % 2, k) for k in range(5000))
    path = written(tmp_path / "a.svm.gz", gzip.compress(raw))
    plain = whole(written(tmp_path / "b.svm", raw))
    packed = whole(path)
    assert (plain[0] != packed[0]).nnz == 0
    assert plain[1:] == packed[1:]
    for broken in (gzip.compress(raw)[:-2000], raw, gzip.compress(raw)[:40] + b"\xff" * 999):
        with pytest.raises(ValueError, match=r"a\.svm\.gz must be a whole gzip file, got: "):
            whole(written(path, broken))


def test_standard_input(monkeypatch):
    class Input:
        buffer = io.BytesIO(b"a 1:1\nb 2:2\n")

    monkeypatch.setattr(sys, "stdin", Input())
    assert whole(svmlight.STDIN)[1:] == (["a", "b"], [1, 2])


@pytest.mark.parametrize(
    ("names", "kind", "values"),
    [
        (["+1", "-1"], "int", [1, -1]),
        (["1.0", "0", "1e2"], "int", [1, 0, 100]),
        (["1", "spam"], "text", ["1", "spam"]),
        (["007", "8"], "text", ["007", "8"]),
    ],
)
def test_labels_are_numbers_if_all_are(names, kind, values):
    assert label_kind(names) == kind
    assert [label_value(name, kind) for name in names] == values


def test_measurements_and_words_among_numbers_are_no_labels():
    with pytest.raises(ValueError, match=r"labels must be classes, .*, got the measurement 0\.5"):
        label_kind(["1", "0.5"])
    with pytest.raises(ValueError, match="label must be a whole number, as the others are"):
        label_value("x", "int")


def test_the_plain_reader_gives_the_same(tmp_path):
    """The compiled loops run as Python too."""
    text = "1 3:0.123456789012345678 5:1e-9\n-1 1:2 # c\nx 2\n2 7:1e400\n+1 4:.5 9:1.e3\n"
    path = written(tmp_path / "a.svm", text)
    code = (
        "import sys; from pathlib import Path; from herder.data.broken import BrokenRows\n"
        "from herder.data.svmlight import read_svmlight\n"
        "(b,) = read_svmlight(Path(sys.argv[1]), BrokenRows(skip=True))\n"
        "print(b.X.data.tolist(), b.X.indices.tolist(), b.places.tolist(), b.names)"
    )
    plain = subprocess.run(
        [sys.executable, "-c", code, path],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    ).stdout
    (batch,) = read_svmlight(path, BrokenRows(skip=True))
    X = batch.X
    compiled = X.data.tolist(), X.indices.tolist(), batch.places.tolist(), batch.names
    assert plain.split() == " ".join(map(str, compiled)).split()
    assert "0.12345678901234568, 1e-09, 2.0, 0.5, 1000.0" in plain
