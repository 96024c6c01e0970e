import logging
import re
from typing import Any

import numpy as np
import pytest
from rich.progress import Progress
from typer.testing import CliRunner

import herder
from herder import thin
from herder.cli import _verb, app
from herder.data import open_table, write_table
from tests.cli.samples import DROPPED, NAMES, columns, numbers


def run(*words: object):
    done = CliRunner().invoke(app, ["thin", *(str(word) for word in words)])
    assert done.exit_code == 0, done.output
    return done


def read(path) -> dict[str, np.ndarray]:
    parts = list(open_table(path).chunks())
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_rows_are_those_of_the_library_with_all_columns(plants, tmp_path, suffix):
    out, idx = tmp_path / f"few{suffix}", tmp_path / f"idx{suffix}"
    text = run(plants, "-n", 12, "-o", out, *DROPPED, "--indices", idx).stdout
    chosen = thin(numbers(), 12)
    found = read(idx)
    assert list(found) == ["row", "weight"]
    assert np.array_equal(found["row"], chosen.indices)
    assert np.allclose(found["weight"], 1 / 12)
    rows = read(out)
    assert tuple(rows) == NAMES
    for name, column in columns().items():
        assert rows[name].tolist() == column[chosen.indices].tolist()
    assert text.startswith(f"{out}, {idx}: 12 of 240 rows of {plants.name}\n")
    assert re.search(rf"MMD to all rows +{chosen.mmd:.3g} +a random subset has", text)
    assert f"{chosen.mmd_random / chosen.mmd:,.1f}x closer" in text
    assert "error of a mean: at most" in text


def test_chunks_of_any_size_give_the_same_rows(plants, tmp_path, monkeypatch):
    run(plants, "-n", 12, "-o", tmp_path / "a.csv", *DROPPED)
    monkeypatch.setattr("herder.data.sample.CHUNK_BYTES", 2000)
    run(plants, "-n", 12, "-o", tmp_path / "b.csv", *DROPPED)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize(
    ("suffix", "save"),
    [(".npy", lambda path, X: np.save(path, X)), (".npz", lambda path, X: np.savez(path, X))],
)
def test_arrays_keep_their_dtype(tmp_path, suffix, save):
    X = np.random.default_rng(1).integers(0, 100, size=(50, 3))
    save(tmp_path / f"in{suffix}", X)
    run(tmp_path / f"in{suffix}", "-n", 5, "-o", tmp_path / "out.npy")
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == X.dtype
    assert np.array_equal(out, X[thin(X, 5)])
    single = X.astype(np.float32)
    save(tmp_path / f"in{suffix}", single)
    run(tmp_path / f"in{suffix}", "-n", 5, "-o", tmp_path / "out.npy")
    assert np.load(tmp_path / "out.npy").dtype == np.float32


def test_draws_are_located(draws, tmp_path):
    run(draws, "-n", 7, "-o", tmp_path / "few.npy", "--indices", tmp_path / "idx.csv")
    X = np.load(draws)
    chosen = thin(X, 7)
    found = read(tmp_path / "idx.csv")
    assert list(found) == ["row", "weight", "chain", "draw"]
    assert np.array_equal(X[found["chain"], found["draw"]], np.load(tmp_path / "few.npy"))
    assert np.array_equal(found["row"], chosen.indices)


def test_columns_and_drop_say_the_same(plants, tmp_path):
    run(plants, "-n", 9, "-o", tmp_path / "a.csv", "--columns", "width, length")
    run(plants, "-n", 9, "-o", tmp_path / "b.csv", *DROPPED, "--drop", "count")
    rows, others = read(tmp_path / "a.csv"), read(tmp_path / "b.csv")
    assert sorted(rows["note"].astype(str)) == sorted(others["note"].astype(str))
    expected = columns()["note"][thin(numbers()[:, :2], 9).indices]
    assert others["note"].tolist() == expected.tolist()


@pytest.mark.parametrize("mode", ["simplex", "optimal"])
def test_weights_are_a_column(plants, tmp_path, mode):
    out = tmp_path / "few.csv"
    run(plants, "-n", 12, "-o", out, *DROPPED, "--weights", mode)
    chosen = thin(numbers(), 12, weights=mode)
    rows = read(out)
    assert list(rows) == [*NAMES, "weight"]
    assert np.allclose(rows["weight"], chosen.weights)


def test_a_column_named_weight_is_not_lost(tmp_path):
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=30), "weight": rng.random(30)}
    write_table(tmp_path / "in.csv", list(table), [table])
    words = ("--sample-weight", "weight", "--weights", "simplex")
    run(tmp_path / "in.csv", "-n", 4, "-o", tmp_path / "out.csv", *words)
    assert list(read(tmp_path / "out.csv")) == ["x", "weight", "weight_chosen"]


def test_weights_of_rows_and_their_logarithms(plants, tmp_path):
    table = columns()
    table["mass"] = np.log(table["mass"]) - 2000
    write_table(tmp_path / "logs.csv", NAMES, [table])
    words = ("--drop", "kind,note", "-n", 12)
    run(plants, "-o", tmp_path / "a.csv", *words, "--sample-weight", "mass")
    run(tmp_path / "logs.csv", "-o", tmp_path / "b.csv", *words, "--log-weight", "mass")
    rows = read(tmp_path / "a.csv")["note"]
    assert rows.tolist() == read(tmp_path / "b.csv")["note"].tolist()
    chosen = thin(numbers(), 12, sample_weight=columns()["mass"])
    assert rows.tolist() == columns()["note"][chosen.indices].tolist()


def test_labels_get_their_shares(plants, tmp_path):
    out = tmp_path / "few.csv"
    words = ("--drop", "note,mass", "--label-column", "kind", "--allocation", "equal")
    run(plants, "-n", 12, "-o", out, *words)
    rows = read(out)
    assert sorted(rows["kind"]) == ["a"] * 4 + ["b"] * 4 + ["c"] * 4
    share = (columns()["kind"] == "a").mean()
    assert rows["weight"][rows["kind"] == "a"].sum() == pytest.approx(share)


def test_a_label_without_a_row_is_named_with_the_option(tmp_path):
    rng = np.random.default_rng(3)
    table = {"x": rng.normal(size=100), "kind": np.array(["a"] * 99 + ["rare"], dtype=object)}
    write_table(tmp_path / "in.csv", list(table), [table])
    done = run(tmp_path / "in.csv", "-n", 5, "-o", tmp_path / "o.csv", "--label-column", "kind")
    words = "no row was chosen of class 'rare' (1.00%); pass --allocation equal"
    assert f"Warning: {words}\n" in done.stdout
    assert done.stderr == f"herder: Warning: thin: {words}\n"


def test_scores_make_a_stein_kernel(draws, tmp_path):
    X = np.load(draws)
    np.save(tmp_path / "scores.npy", -X)
    flat = {"x1": -X[..., 1].ravel(), "x0": -X[..., 0].ravel()}
    write_table(tmp_path / "scores.csv", list(flat), [flat])  # columns go by name
    expected = X.reshape(-1, 2)[thin(X, 6, kernel="stein", score=-X)]
    for scores in ("scores.npy", "scores.csv"):
        words = ("--kernel", "stein", "--scores", tmp_path / scores)
        text = run(draws, "-n", 6, "-o", tmp_path / "few.npy", *words).stdout
        assert np.array_equal(np.load(tmp_path / "few.npy"), expected)
        assert "MMD to the density" in text


def test_unrefined_choices_are_nested(draws, tmp_path):
    run(draws, "-n", 20, "-o", tmp_path / "a.npy", "--no-refine")
    run(draws, "-n", 8, "-o", tmp_path / "b.npy", "--no-refine")
    assert np.array_equal(np.load(tmp_path / "a.npy")[:8], np.load(tmp_path / "b.npy"))


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ((), {"kernel": "energy", "standardise": True}),
        (("--kernel", "gaussian"), {"kernel": "gaussian"}),
        (("--kernel", "matern32", "--bandwidth", "2.5"), {"kernel": "matern32", "bandwidth": 2.5}),
        (("--standardise",), {"standardise": True}),
        (("--no-standardise",), {"standardise": False}),
        (("--no-standardize",), {"standardise": False}),
        (("--approximate", "subsample"), {"approximate": "subsample"}),
        (("--approximate", "chunks"), {"approximate": "chunks"}),
        (
            ("--approximate", "features", "--kernel", "gaussian"),
            {"approximate": "features", "kernel": "gaussian"},
        ),
        (("--threads", "1"), {"n_jobs": 1}),
    ],
)
def test_options_reach_the_library(draws, tmp_path, words, options):
    run(draws, "-n", 10, "-o", tmp_path / "few.npy", *words)
    X = np.load(draws)
    expected = X.reshape(-1, 2)[thin(X, 10, **options)]
    assert np.array_equal(np.load(tmp_path / "few.npy"), expected)


def test_quiet_says_nothing_and_the_mmd_may_be_left_out(draws, tmp_path):
    done = run(draws, "-n", 5, "-o", tmp_path / "few.npy", "--quiet")
    assert done.stdout == done.stderr == ""
    text = run(draws, "-n", 5, "-o", tmp_path / "few.npy", "--no-mmd").stdout
    assert "the MMD to all rows was not computed" in text
    assert "error of a mean" in text


def test_long_runs_say_first_what_they_cost(draws, tmp_path, monkeypatch):
    monkeypatch.setattr("herder.kernel.cost.LONG_SECONDS", -1.0)
    text = run(draws, "-n", 5, "-o", tmp_path / "few.npy").stdout
    assert re.match(rf"{draws}: .* pairs of rows, about 0 s, .*--approximate subsample", text)
    text = run(draws, "-n", 5, "-o", tmp_path / "few.npy", "--approximate", "chunks").stdout
    assert "was not computed, which would take about 0 s (--mmd)" in text
    words = ("--approximate", "chunks", "--mmd")
    assert "MMD to all rows" in run(draws, "-n", 5, "-o", tmp_path / "few.npy", *words).stdout
    assert run(draws, "-n", 5, "-o", tmp_path / "few.npy", "-q").stdout == ""


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (DROPPED, ("MMD against the number of rows", "in the order of herding")),
        ((*DROPPED, "--no-refine", "--kernel", "energy"), ("as they were chosen",)),
        ((*DROPPED, "--weights", "simplex"), ("sum to one", "proportional to the weight")),
        (
            (*DROPPED, "--weights", "optimal", "--kernel", "gaussian"),
            ("may be negative", "median distance of two rows, in standard deviations"),
        ),
        (("--drop", "note,mass", "--label-column", "kind"), ("share chosen",)),
        (
            (
                "--columns",
                "width",
                "--sample-weight",
                "mass",
                "--approximate",
                "chunks",
                "--no-mmd",
            ),
            ("was not computed", "approximation"),
        ),
    ],
)
def test_report_is_one_page_that_needs_nothing_else(plants, tmp_path, words, parts):
    page = tmp_path / "page.html"
    text = run(plants, "-n", 12, "-o", tmp_path / "few.csv", "--report", page, *words).stdout
    assert str(page) in text.splitlines()[0]
    html = page.read_text(encoding="utf-8")
    assert not re.search(r"https?:|<link|<script|url\(", html)
    for part in ("herder thin", "Where the chosen rows lie", herder.__version__, *parts):
        assert part in html


def test_report_of_a_density_and_of_all_rows(draws, tmp_path):
    np.save(tmp_path / "scores.npy", -np.load(draws))
    page = tmp_path / "page.html"
    stein = ("--kernel", "stein", "--scores", tmp_path / "scores.npy")
    run(draws, "-n", 6, "-o", tmp_path / "few.npy", "--report", page, *stein)
    assert "MMD to the density" in page.read_text(encoding="utf-8")
    run(draws, "-n", 240, "-o", tmp_path / "few.npy", "--report", page)
    assert np.load(tmp_path / "few.npy").shape == (240, 2)


def test_progress_shows_what_is_done(draws, tmp_path):
    words = ["thin", str(draws), "-n", "100", "-o", str(tmp_path / "a.npy")]
    done = CliRunner().invoke(app, words, env={"FORCE_COLOR": "1", "COLUMNS": "120"})
    assert done.exit_code == 0, done.stderr
    for part in ("kernel mean", "herding", "exchange", "exact MMD"):
        assert part in done.stderr
    assert "herding" not in done.stdout


def test_the_progress_says_that_loops_are_compiled(tmp_path, monkeypatch):
    class Bar(Progress):
        def __init__(self) -> None:
            super().__init__(disable=True)
            self.shown: list[list[str]] = []

        def update(self, *args: Any, **options: Any) -> None:
            super().update(*args, **options)
            self.note()

        def note(self) -> None:
            self.shown.append([task.description for task in self.tasks])

    bar, real = Bar(), herder.thin

    def slow(*args: Any, **options: Any) -> Any:
        for name in ("one", "two"):
            logging.getLogger("herder.compiling").info("compiling %s", name)
        bar.note()
        options["progress"](0.5, "going on")
        return real(*args, **options)

    monkeypatch.setattr(_verb, "progress_bar", lambda quiet: bar)
    monkeypatch.setattr(herder, "thin", slow)
    np.save(tmp_path / "in.npy", np.arange(12.0).reshape(6, 2))
    words = ["thin", str(tmp_path / "in.npy"), "-n", "2", "-o", str(tmp_path / "out.npy")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    assert bar.shown[:2] == [["compiling (only the first time)"], ["going on"]]
