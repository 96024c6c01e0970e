"""Dates as columns of a sample: the same rows as for their days, in every form."""

from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from herder import thin
from herder.cli import app
from herder.data import sample as module
from herder.data.dates import read_days
from tests.naming import refuses

N = 700
RNG = np.random.default_rng(5)
DAYS = RNG.integers(17_000, 19_000, N)
SIZE = RNG.normal(size=N)
STAMPS: Any = DAYS.astype("M8[D]").astype("M8[s]") + RNG.integers(0, 86_400, N)
NUMBERS = {"size": SIZE, "day": DAYS.astype(float)}


def test_dates_are_compared_as_their_days():
    chosen = thin(NUMBERS, 12)
    dates = DAYS.astype("M8[D]")
    for frame in (
        pd.DataFrame({"size": SIZE, "day": dates}),
        pd.DataFrame({"size": SIZE, "day": dates.astype("M8[ns]")}),
        pd.DataFrame({"size": SIZE, "day": pd.Series(dates).dt.tz_localize("UTC")}),
        pd.DataFrame({"size": SIZE, "day": dates.tolist()}, dtype=object).astype({"size": float}),
        pd.DataFrame({"size": SIZE, "day": dates.astype(str)}),
        pl.DataFrame({"size": SIZE, "day": dates}),
        pl.DataFrame({"size": SIZE, "day": dates.astype("M8[us]")}),
        pl.DataFrame({"size": SIZE, "day": dates.astype(str)}),
        {"size": SIZE, "day": dates},
        {"size": SIZE, "day": dates.astype(str)},
    ):
        found = thin(frame, 12)
        assert found.indices.tolist() == chosen.indices.tolist()
        errors = found.column_errors()
        np.testing.assert_allclose(errors.mean_change, chosen.column_errors().mean_change)
        assert errors.mean_before[1] == pytest.approx(DAYS.mean())
        taken = found.take(frame)
        assert type(taken) is type(frame)
        old, new = (np.asarray(table["day"]) for table in (frame, taken))
        assert new.tolist() == old[chosen.indices].tolist()


def test_times_are_fractions_of_days():
    expected = STAMPS.astype(np.int64) / 86_400
    iso = np.datetime_as_string(STAMPS)
    for values in (STAMPS, iso, pd.Series(STAMPS), pl.Series(STAMPS.astype("M8[us]"))):
        found = read_days(values)
        assert found is not None
        np.testing.assert_allclose(found, expected, rtol=1e-15)
    noon = pd.Series([pd.Timestamp("1970-01-02 13:00", tz="Europe/Rome")])
    assert read_days(noon) == 1.5
    gaps = read_days(pd.Series([None, date(1970, 1, 3), datetime(1970, 1, 1, 6)], dtype=object))
    np.testing.assert_array_equal(gaps, [np.nan, 2, 0.25])


def test_others_are_no_dates():
    for values in (
        np.array(["2020-01-01", "soon"]),
        np.array(["2020-02-31"]),
        np.array([[1.0]]),
        pd.Series(["2020-01-01"], dtype="category"),
        pl.Series(["2020-01-01"], dtype=pl.Categorical),
        pd.Series([None], dtype=object),
        pd.Series([1], dtype="Int64"),
    ):
        assert read_days(values) is None
    with refuses("X", match="NaN in 1 row of column 'day', first in row 1"):
        thin(pd.DataFrame({"day": pd.to_datetime(["2020-01-01", None, "2020-01-04"])}), 1)


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_dates_in_parquet(tmp_path, unit):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"when": STAMPS.astype("M8[us]")}).with_columns(
        pl.col("when").cast(pl.Date if unit == "D" else pl.Datetime("ms" if unit == "s" else unit))
    ).write_parquet(path)
    found = module.read_sample(path, module.Roles())
    expected = (
        STAMPS.astype(f"M8[{unit}]").astype(np.int64)
        / {"D": 1, "s": 86_400, "us": 86_400e6, "ns": 86_400e9}[unit]
    )
    assert found.rows.labels == ()
    np.testing.assert_allclose(found.rows.values[:, 0], expected, rtol=1e-15)


@pytest.mark.parametrize("chunk", [module.CHUNK_BYTES, 20_000])
def test_dates_in_files(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(module, "CHUNK_BYTES", chunk)
    texts = np.datetime_as_string(STAMPS)
    path, out, rows = (tmp_path / name for name in ("a.csv", "few.csv", "rows.csv"))
    pd.DataFrame({"size": SIZE, "when": texts, "kind": np.tile(["a", "b"], N // 2)}).to_csv(
        path, index=False
    )
    args = ["thin", path, "-n", 9, "-o", out, "--indices", rows]
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code == 0, result.stderr
    plain = thin(
        {"size": SIZE, "when": STAMPS.astype(float) / 86_400, "kind": np.tile(["a", "b"], N // 2)},
        9,
    )
    assert pd.read_csv(rows)["row"].tolist() == plain.indices.tolist()
    assert pd.read_csv(out)["when"].tolist() == texts[plain.indices].tolist()
    change = plain.column_errors().mean_change[1]
    assert any(
        line.split()[:2] == ["when", f"{change:+.3f}"] for line in result.stdout.splitlines()
    )
    # one that is none makes the column one of text, of far too many categories
    texts = texts.astype(object)
    texts[-1] = "soon"
    pd.DataFrame({"size": SIZE, "when": texts}).to_csv(path, index=False)
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code == 2
    assert "at most 256 categories in a column of text, got more in 'when'" in result.stderr
