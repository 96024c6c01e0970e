import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from herder.cli import app
from herder.cli._columns import Columns


def run(*words: object, code: int = 0, stdin: bytes | None = None) -> Any:
    done = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    assert done.exit_code == code, done.output
    return done


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def answers(model: Path, data: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(run("predict", model, data).stdout)))


@pytest.mark.parametrize("more", ["1.5", "x", "", "2.0"])
def test_a_category_is_the_same_feature_whatever_its_column_holds(tmp_path, more):
    model = tmp_path / "m.safetensors"
    rows = written(tmp_path / "a.csv", "c,d,label\n" + "1,0,yes\n2,0,no\n3,0,no\n" * 20)
    run("learn", rows, "-o", model, "--category", "c", "--hash-bits", 12)
    told = answers(model, rows)[:3]
    assert [row["label"] for row in told] == ["yes", "no", "no"]
    other = written(tmp_path / "b.csv", f"c,d\n1,0\n2.0,0\n3,0\n{more},0\n")
    assert answers(model, other)[:3] == told


whole = st.integers(-(2**53), 2**53)


@given(whole)
def test_a_whole_number_has_one_spelling(value):
    columns = Columns("label", (), (), ("c",))
    texts = [str(value), f"{value}.0", f"{value}.", repr(float(value))]
    cells = [
        np.array([value]),
        np.array([value, None], object),
        np.array([float(value)]),
        np.array([float(value), np.nan]),
        *(np.array([text, "x"], object) for text in texts),
    ]
    assert {columns.tokens({"c": column})[0][0] for column in cells} == {f"c={value}"}


def test_other_values_are_spelt_alike_too():
    columns = Columns("label", (), (), ("c",))
    for column in (np.array([0.1, 1.5]), np.array([0.1, 1.5], np.float32)):
        assert columns.tokens({"c": column}) == [["c=0.1"], ["c=1.5"]]
    texts = np.array(["0.10", "15e-1", "007", "1.2.3", "nan", "é", None], object)
    assert columns.tokens({"c": texts}) == [
        ["c=0.1"],
        ["c=1.5"],
        ["c=007"],
        ["c=1.2.3"],
        ["c=nan"],
        ["c=é"],
        [],
    ]
