"""Columns of categories among numbers: indicators, against those of pandas."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from herder.data.rows import read_rows
from tests.naming import refuses

TOWNS = ["Rome", "Oslo", "Rome", "Bern", "Oslo", "Rome"]
AGE = [31.0, 40.0, 22.0, 57.0, 8.0, 19.0]
WED = [True, True, False, True, False, False]


def frame() -> pd.DataFrame:
    return pd.DataFrame({"town": TOWNS, "age": AGE, "wed": WED})


def expected() -> np.ndarray:
    town = pd.get_dummies(pd.Series(TOWNS)).to_numpy(float)
    wed = pd.get_dummies(pd.Series(WED)).to_numpy(float)
    return np.column_stack([town, AGE, wed])


@pytest.mark.parametrize(
    "X",
    [
        frame(),
        frame().astype({"town": object}),
        frame().astype({"town": "string", "wed": "boolean"}),
        frame().astype({"town": "category"}),
        pl.DataFrame(frame().to_dict("list")),
        pl.DataFrame(frame().to_dict("list")).cast({"town": pl.Categorical}),
        pl.DataFrame(frame().to_dict("list")).cast({"town": pl.Enum(["Rome", "Bern", "Oslo"])}),
        {"town": TOWNS, "age": AGE, "wed": WED},
        {"town": np.array(TOWNS, dtype=object), "age": np.array(AGE), "wed": np.array(WED)},
    ],
)
def test_categories_become_indicators_in_the_order_of_their_texts(X):
    rows = read_rows(X, mixed=True)
    np.testing.assert_array_equal(rows.values, expected())
    assert rows.names == ("town", "age", "wed")
    assert rows.labels == (("Bern", "Oslo", "Rome"), None, ("False", "True"))
    assert rows.columns.tolist() == [0, 0, 0, 1, 2, 2]
    assert rows.is_indicator.tolist() == [True, True, True, False, True, True]
    names = ("town=Bern", "town=Oslo", "town=Rome", "age", "wed=False", "wed=True")
    assert rows.value_names == names
    with refuses("X"):
        read_rows({"town": TOWNS})
    taken = rows.take(X, np.array([3, 0]))
    assert list(taken["town"]) == ["Bern", "Rome"]


def test_numbers_alone_are_read_as_before():
    X = pd.DataFrame(np.arange(6.0).reshape(3, 2), columns=["a", "b"])
    rows = read_rows(X, mixed=True)
    assert np.shares_memory(rows.values, X.to_numpy())
    assert rows.labels == ()
    assert rows.columns.tolist() == [0, 1]
    assert not rows.is_indicator.any()
    assert rows.value_names == rows.names == ("a", "b")


def test_a_table_of_categories_alone():
    rows = read_rows(frame()[["town"]].assign(size=pd.Categorical([3, 1, 3, 1, 1, 3])), mixed=True)
    assert rows.labels == (("Bern", "Oslo", "Rome"), ("1", "3"))
    assert rows.values.sum(axis=1).tolist() == [2] * 6


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (frame().assign(town=["Rome", None, *TOWNS[2:]]), "NaN in 1 row of column 'town', first"),
        (frame().assign(age=["a", 1, 2, 3, 4, 5]), "object in 'age'; drop"),
        (frame().assign(day=pd.Timedelta("1 day")), "timedelta64.* in 'day'; drop"),
        (frame().assign(town=None), "object in 'town'"),
        (pd.DataFrame(np.eye(3), columns=["a", "b", "a"]), "unique column names, got 'a' twice"),
        (
            pd.DataFrame({"id": [f"r{i}" for i in range(40)], "x": 1.0}),
            r"at most 20 categories in a column, got 40 in 'id'; drop it with X.drop\(columns=",
        ),
        (
            {"id": np.arange(1000).astype(str), "x": np.ones(1000)},
            "at most 256 categories in a column, got 1,000 in 'id'; leave it out",
        ),
        ({"town": TOWNS, "x": [1.0]}, r"one length, got lengths \[\(1,\), \(6,\)\]"),
        ({"town": TOWNS, "x": np.ones((2, 6))}, "one length"),
        (np.array([["a", "b"]]), "text in 'x0'"),
    ],
)
def test_what_is_no_category_is_refused_by_name(X, message):
    with refuses("X", match=message):
        read_rows(X, mixed=True)


def test_the_order_does_not_depend_on_hashing():
    code = (
        "from herder.data.rows import read_rows\n"
        "import numpy as np\n"
        "X = {'t': np.array(list('dacbdacb'), dtype=object)}\n"
        "print(read_rows(X, mixed=True).values.argmax(axis=1))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=dict(os.environ, PYTHONHASHSEED=seed),
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {"[3 0 2 1 3 0 2 1]\n"}
