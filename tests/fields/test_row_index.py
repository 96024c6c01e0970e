"""Copies of rows of a table, against brute force."""

import re
from collections import Counter
from datetime import date

import numpy as np
import pandas as pd
import pytest

from herder import MomentHerder, load, save
from herder.data import open_table, write_table
from herder.data.columns import as_numbers
from herder.data.variables import encode
from herder.fields.row_index import Copies, CopyCount, RowIndex
from herder.report import page_html


def drawn(seed: int, n: int) -> dict[str, np.ndarray]:
    """Return a small table: text, 0/1 and numeric columns, with gaps and values that repeat."""
    rng = np.random.default_rng(seed)
    income = rng.choice([-0.0, 0.0, 1.5, 2.25, 7.0, 8.5, 11.0, 40.0], n)
    income[rng.random(n) < 0.1] = np.nan
    return {
        "town": rng.choice(["a", "b", "c"], n).astype(object),
        "yes": rng.integers(0, 2, n),
        "income": income,
        "age": rng.choice([20.0, 21.0, 33.0, 47.0, 48.0, 60.0], n),
    }


def tuples(table: dict[str, np.ndarray]) -> list[tuple[object, ...]]:
    """Return rows that compare as people do: a gap equals a gap, and 0 equals -0."""
    columns = [
        [None if x != x or x is None else x for x in column.tolist()] for column in table.values()
    ]
    return list(zip(*columns, strict=True))


def brute(rows: list[tuple[object, ...]], table: list[tuple[object, ...]]) -> Copies:
    """Return the copies by comparing rows as tuples."""
    times = Counter(table)
    once = {row for row, n in times.items() if n == 1}
    n, m = len(rows), len(table)
    return Copies(
        n,
        sum(row in times for row in rows) / n,
        sum(times[row] > 1 for row in table) / m,
        sum(row in once for row in rows) / n,
        sum(times[row] == 2 for row in table) / m,
        len(once & set(rows)),
        len(once),
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("bins", [None, {"income": 3, "age": 2}])
def test_copies_are_those_of_brute_force(seed, bins, tmp_path, monkeypatch):
    monkeypatch.setattr("herder.data.source.CHUNK_BYTES", 1000)
    table = drawn(seed, 60)
    model = MomentHerder(missing="category", bins=bins, restarts="rows").fit(table)
    write_table(tmp_path / "t.parquet", list(table), [table])
    path = tmp_path / "t.parquet"
    other = MomentHerder(missing="category", bins=bins).fit_source(open_table(path))
    assert model._index is not None
    for made in (model.synthesise(300), other.synthesise(300)):
        parts = list(made.chunks())
        rows = {name: np.concatenate([part[name] for part in parts]) for name in table}
        found = made.diagnostics
        assert found.copies == brute(tuples(rows), tuples(table))
        if bins is None:
            assert found.copies_binned is None
            continue
        # the bins that the rows lie in, by pandas
        cut: dict[str, np.ndarray] = {}
        for variable in made.moments.variables:
            if variable.edges is not None:
                both = np.concatenate([rows[variable.name], table[variable.name]])
                edges = [-np.inf, *variable.edges, np.inf]
                cut[variable.name] = np.array(pd.cut(both, edges, right=False, labels=False))
        binned = [
            tuples({**some, **{name: codes[part] for name, codes in cut.items()}})
            for some, part in ((rows, slice(0, 300)), (table, slice(300, None)))
        ]
        assert found.copies_binned == brute(*binned)
    herded = model.herd(300).diagnostics
    made = model.synthesise(300)
    assert len(np.concatenate(list(made.codes()))) == 300
    assert (herded.copies, herded.copies_binned) == (
        made.diagnostics.copies,
        made.diagnostics.copies_binned,
    )


def test_raw_copies_and_binned_copies_are_labelled():
    table = drawn(0, 80)
    model = MomentHerder(missing="category", bins={"income": 3}).fit(table)
    model.sample(200)
    found, text = model.diagnostics_, str(model.diagnostics_)
    assert found.copies is not None
    assert found.copies_binned is not None
    assert found.copied == found.copies.copied < found.copies_binned.copied
    by_value = rf"copied rows +{found.copied:.2%} +equal a row of the table, all values as written"
    assert re.search(by_value, text)
    by_bin = rf"copied rows, binned +{found.copies_binned.copied:.2%} +equal a row of the table in"
    assert re.search(by_bin, text)
    binned = found.copies_binned
    assert f"{binned.unique_found} of {binned.n_unique}" in text
    assert "Columns that are binned are compared twice" in page_html(found.summary())
    plain = MomentHerder(missing="category").fit({"town": table["town"]})
    plain.sample(20)
    assert "compared twice" not in page_html(plain.diagnostics_.summary())


def test_with_a_memory_limit_a_part_of_the_rows_is_compared_by_the_same_rule():
    table = drawn(2, 4000) | {"x": np.random.default_rng(3).normal(size=4000).round(1)}
    codes = encode(table, missing="category", bins={"income": 3, "age": 2, "x": 4})
    index = RowIndex.over([codes], n_rows=4000, max_memory=4 * 48 * 1000)
    assert index.values is not None
    assert (index.one_in, index.values.one_in) == (4, 4)
    found = CopyCount(index, codes.variables)
    found.add(codes.rows, table)
    everything = brute(tuples(table), tuples(table))
    assert found.copies is not None
    assert found.copies.copied == 1
    assert found.copies.unique_found == found.copies.n_unique
    assert found.copies.n_rows == pytest.approx(1000, rel=0.1)
    assert found.copies.duplicate_share == pytest.approx(everything.duplicate_share, abs=0.05)
    assert found.copies.n_unique == pytest.approx(everything.n_unique / 4, rel=0.1)


def test_what_is_known_of_unique_rows_is_saved(tmp_path):
    model = MomentHerder(missing="category", bins={"income": 3}).fit(drawn(1, 50))
    save(model, tmp_path / "m")
    back = load(tmp_path / "m")
    ours, theirs = model.herd(200).diagnostics, back.herd(200).diagnostics
    assert ours.copies is not None
    assert ours.copies.unique_copied is not None
    assert (ours.copies, ours.copies_binned) == (theirs.copies, theirs.copies_binned)


@pytest.mark.parametrize("bins", [None, {"income": 3}])
def test_files_without_unique_rows_still_load(bins):
    """As an earlier version wrote them: hashes of codes, and no more."""
    model = MomentHerder(missing="category", bins=bins).fit(drawn(1, 50))
    arrays, header = model.to_state()
    for name in [name for name in arrays if name.startswith(("index.values.", "index.unique"))]:
        del arrays[name]
    for name in ("pair_share", "values"):
        del header["index"][name]
    back = MomentHerder.from_state(arrays, header)
    ours, theirs = model.herd(200).diagnostics, back.herd(200).diagnostics
    old, known = theirs.copies, ours.copies
    if bins is not None:
        assert theirs.copies is None
        old, known = theirs.copies_binned, ours.copies_binned
    assert old is not None
    assert known is not None
    assert (old.copied, old.duplicate_share) == (known.copied, known.duplicate_share)
    assert old.unique_copied is None
    assert "unique found" not in str(theirs)


def test_dates_are_numbers_whatever_form_they_have():
    days = ["2020-02-01", "1969-12-31"]
    wanted = [(date.fromisoformat(day) - date(1970, 1, 1)).days * 86_400e6 for day in days]
    forms = (
        np.array([*days, "NaT"], "M8[D]"),
        np.array([date.fromisoformat(day) for day in days] + [None], object),
        np.array([*days, None], object),
    )
    for form in forms:
        np.testing.assert_array_equal(as_numbers(form), [*wanted, np.nan])
