"""Thinning of tables with columns of categories, against plain one-hot columns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from herder import thin
from herder.cli import app
from herder.kernel.comparison import compare_columns
from herder.report import page_html
from tests.kernel.plain import gram, squared_mmd
from tests.naming import refuses

N = 400


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    kind = rng.choice(["a", "b", "c", "rare"], N, p=[0.5, 0.3, 0.17, 0.03])
    size = 100 * rng.normal(size=N) + 80 * (kind == "b")
    width = rng.normal(size=N)
    return pd.DataFrame({"size": size, "kind": kind, "width": width, "wet": rng.random(N) < 0.2})


def encoded(table: pd.DataFrame) -> np.ndarray:
    """Standardised numbers, and zeros and ones."""
    numbers = table[["size", "width"]]
    dummies = pd.get_dummies(table[["kind", "wet"]].astype(str))
    return np.column_stack([(numbers - numbers.mean()) / numbers.std(ddof=0), dummies]).astype(
        float
    )


def test_categories_count_as_much_as_a_standardised_column():
    table, Z = frame(), encoded(frame())
    chosen = thin(table, 30, kernel="energy", standardise=True)
    K = gram("energy", Z, Z, 1.0, Z.mean(axis=0))
    assert chosen.mmd**2 == pytest.approx(squared_mmd(K, chosen.indices), rel=1e-6)
    # two rows that differ are as far apart as two rows in a column of numbers are on average
    first, other = Z[table["kind"] == "a"][0, 2:6], Z[table["kind"] == "rare"][0, 2:6]
    apart = np.square(Z[:, :1] - Z[:, 0]).mean()
    assert np.square(first - other).sum() == pytest.approx(apart)
    # no column of the frame is lost, and shares are those of the table
    taken = chosen.take(table)
    pd.testing.assert_frame_equal(taken, table.iloc[chosen.indices])
    before, after = (t["kind"].value_counts(normalize=True) for t in (table, taken))
    assert (after.reindex(before.index) - before).abs().max() < 0.02


def test_without_scaling_indicators_are_as_they_are():
    table = frame()
    Z = encoded(table)
    Z[:, :2] = table[["size", "width"]]
    chosen = thin(table, 20, kernel="energy", standardise=False)
    K = gram("energy", Z, Z, 1.0, Z.mean(axis=0))
    assert chosen.mmd**2 == pytest.approx(squared_mmd(K, chosen.indices), rel=1e-6)


def test_a_bandwidth_for_each_column_of_the_table():
    table = frame()
    lengths = [50.0, 0.5, 2.0, 4.0]
    chosen = thin(table, 20, kernel="gaussian", bandwidth=lengths, standardise=False)
    Z = encoded(table)
    Z[:, :2] = table[["size", "width"]]
    Z /= [50.0, 2.0, *[0.5] * 4, *[4.0] * 2]
    K = gram("gaussian", Z, Z, 1.0, Z.mean(axis=0))
    assert chosen.mmd**2 == pytest.approx(squared_mmd(K, chosen.indices), abs=1e-12)


def test_every_frame_and_mapping_gives_the_same_rows():
    table = frame()
    chosen = thin(table, 15).indices.tolist()
    for other in (
        table.astype({"kind": "category"}),
        pl.DataFrame(table.to_dict("list")),
        table.to_dict("list"),
    ):
        assert thin(other, 15).indices.tolist() == chosen


def test_the_error_of_a_category_is_that_of_its_share():
    table = frame()
    weight = np.random.default_rng(1).random(N)
    chosen = thin(table, 20, sample_weight=weight, weights="simplex")
    errors = chosen.column_errors()
    assert errors.names == ("size", "kind", "width", "wet")
    part = table.iloc[chosen.indices]
    squares = {}
    for name in ("kind", "wet"):
        change, variance = [], []
        for label in table[name].unique():
            share = np.average(table[name] == label, weights=weight)
            change.append(np.average(part[name] == label, weights=chosen.weights) - share)
            variance.append(share * (1 - share))
        j = errors.names.index(name)
        assert errors.distance[j] == pytest.approx(np.abs(change).max())
        assert np.isnan(errors.mean_change[j])
        squares[name] = np.square(change).sum() / np.sum(variance)
    worth = 1 / np.mean(list(squares.values()))
    assert errors.independent_draws["shares of categories"] == pytest.approx(worth)
    numbers = compare_columns(
        table[["size", "width"]].to_numpy(), chosen.indices, chosen.weights, weight
    )
    # weights are divided by their sum once more
    np.testing.assert_allclose(errors.mean_change[[0, 2]], numbers.mean_change, atol=1e-14)
    np.testing.assert_allclose(errors.distance[[0, 2]], numbers.distance, atol=1e-14)
    assert errors.to_dict()["mean_change"][1] is None
    line = next(line for line in str(errors).splitlines() if line.startswith("kind"))
    assert line.split() == ["kind", *["-"] * 7, f"{errors.distance[1]:.3f}"]


def test_pages_show_mixed_tables():
    html = page_html(thin(frame(), 12).summary())
    assert "<td>kind</td>" in html
    assert "for shares of categories" in html


def test_a_table_of_categories_alone():
    chosen = thin(frame()[["kind", "wet"]], 12)
    text = str(chosen.summary())
    largest = chosen.column_errors().distance.max()
    assert f"error of the share of a category: at most {largest:.4f}\n" in text
    assert "for means" not in text


def test_scores_need_numbers():
    with refuses("X", match="if kernel is 'stein', got categories in 'kind', 'wet'"):
        thin(frame(), 5, kernel="stein", score=np.zeros((N, 8)))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_command_line_counts_text(tmp_path, monkeypatch, suffix):
    table = frame()
    path, out = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    if suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path)
    monkeypatch.setattr("herder.data.sample.CHUNK_BYTES", 5000)
    done = CliRunner().invoke(app, ["thin", str(path), "-n", "15", "-o", str(out)])
    assert done.exit_code == 0, done.output
    found = pd.read_csv(out) if suffix == ".csv" else pd.read_parquet(out)
    expected = table.iloc[thin(table, 15).indices].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert "for shares of categories" in done.stdout


def test_the_command_line_names_what_to_drop(tmp_path):
    table = frame().assign(id=[f"r{i}" for i in range(N)])
    table.to_csv(tmp_path / "in.csv", index=False)
    words = ["thin", str(tmp_path / "in.csv"), "-n", "15", "-o", str(tmp_path / "out.csv")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert "at most 200 categories in a column of text, got more in 'id': pass --drop id" in (
        done.stderr
    )
    assert CliRunner().invoke(app, [*words, "--drop", "id"]).exit_code == 0
    np.save(tmp_path / "s.npy", np.zeros((N, 4)))
    scores = ["--drop", "id", "--kernel", "stein", "--scores", str(tmp_path / "s.npy")]
    done = CliRunner().invoke(app, [*words, *scores])
    assert "must have columns of numbers, got text in 'kind', 'wet': pass --drop" in done.stderr
