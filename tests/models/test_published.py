"""Published counts: matrices, plain tables typed by hand, files."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from herder.models import Moments, Variable
from tests.naming import refuses

SUFFIXES = [".csv", ".npz", ".parquet"]


def same(a, b):
    """Whether two moments say the same, dtypes aside."""
    return (
        a.names == b.names
        and [v.values for v in a.variables] == [v.values for v in b.variables]
        and a.cliques == b.cliques
        and np.array_equal(a.counts, b.counts)
        and np.array_equal(a.totals, b.totals)
    )


def typed(text, tmp_path, **options):
    path = tmp_path / "typed.csv"
    path.write_text(text)
    return Moments.load(path, **options)


def plain(*rows, columns="variable_a value_a variable_b value_b count total", **options):
    names = columns.split()
    listed = [dict(zip(names, row, strict=True)) for row in rows]
    return Moments.from_counts(listed, **options)


def test_a_matrix_of_counts_is_what_the_rows_have():
    X = np.random.default_rng(3).integers(0, 2, (50, 4))
    wanted = Moments.from_data(X, 2)
    assert same(Moments.from_counts(X.T @ X, total=50), wanted)
    frame = pd.DataFrame(X.T @ X, columns=wanted.names, index=wanted.names)
    assert same(Moments.from_counts(frame, total=50), wanted)
    shares = Moments.from_counts((X.T @ X / 50).tolist(), total=1)
    np.testing.assert_allclose(shares.counts, wanted.counts / 50, atol=1e-15)
    assert not shares.from_rows


@pytest.mark.parametrize(
    ("counts", "options", "error", "words"),
    [
        ([[5, 1], [2, 5]], {"total": 9, "names": ["a", "b"]}, ValueError, "^counts must"),
        ([[5, 1]], {"total": 9}, ValueError, "^counts must"),
        ([5, 1], {"total": 9}, ValueError, "^counts must"),
        ([[5, np.nan], [np.nan, 5]], {"total": 9}, ValueError, "counts must be finite.*x0, x1"),
        ([["a"]], {"total": 9}, TypeError, "^counts must"),
        ([[5]], {}, ValueError, "^total must"),
        ([[5]], {"total": 0}, ValueError, "^total must"),
        ([[5]], {"total": np.inf}, ValueError, "^total must"),
        ([[5]], {"total": 9, "names": ["a", "b"]}, ValueError, "^names must"),
        ([[5, 1], [1, 5]], {"total": 9, "names": ["a", "a"]}, ValueError, "^names must"),
    ],
)
def test_bad_matrices_are_refused(counts, options, error, words):
    with pytest.raises(error, match=words):
        Moments.from_counts(counts, **options)


def test_a_file_typed_by_hand(tmp_path):
    text = """
 Variable_B , count,variable_a, total

 coughs , 31 , smokes, 200
 smokes,60,smokes,200
 , 50, coughs, 200
"""
    moments = typed(text, tmp_path)
    assert moments.names == ("smokes", "coughs")
    assert [v.values for v in moments.variables] == [(0, 1), (0, 1)]
    np.testing.assert_array_equal(moments.table(["smokes", "coughs"]), [[121, 19], [29, 31]])
    assert moments.common_total == 200


def test_triples_follow_from_pairs_and_singles():
    X = np.random.default_rng(3).integers(0, 2, (50, 3))
    rows = [
        ("x0", "x0", "x0", X[:, 0].sum()),
        ("x1", "x1", "", X[:, 1].sum()),
        ("x2", "", None, X[:, 2].sum()),
        *((f"x{i}", f"x{j}", "", (X[:, i] & X[:, j]).sum()) for i, j in [(0, 1), (0, 2), (1, 2)]),
        ("x2", "x0", "x1", X.all(axis=1).sum()),
    ]
    moments = plain(*rows, columns="variable_a variable_b variable_c count", total=50)
    assert same(moments, Moments.from_data(X, 3))


def test_typed_cells_are_completed():
    moments = plain(
        ("c", "red", "c", "red", 6, 40),
        ("c", "blue", "", "", 32, 40),
        ("c", "10", "", "", 2, 40),
        ("c", "red", "d", 9, 3, 20),
        ("d", 7.0, "c", "blue", 16, 20),
        ("d", 7, "c", 10, 1, 20),
    )
    assert [v.values for v in moments.variables] == [(10, "blue", "red"), (7, 9)]
    assert moments.variables[1].dtype == "int64"
    assert moments.table(["c"]).tolist() == [2, 32, 6]
    # the three cells that are listed add up to 20, so the others are zero
    assert moments.table(["c", "d"]).tolist() == [[1, 0], [16, 0], [0, 3]]
    assert moments.totals.tolist() == [40, 20]


def test_one_missing_cell_is_the_rest():
    rows = [("a", 0, "b", 0, 1, 10), ("a", 0, "b", 1, 2, 10), ("a", 1, "b", 0, 3, 10)]
    assert plain(*rows).table(["a", "b"]).tolist() == [[1, 2], [3, 4]]


def test_unequal_totals_meet_in_probabilities():
    moments = plain(("a", "a", 50, 100), ("b", "b", 20, 50), ("a", "b", 30, 150),
                    columns="variable_a variable_b count total")  # fmt: skip
    np.testing.assert_allclose(moments.table(["a", "b"]), [[45, 30], [45, 30]])
    assert moments.totals.tolist() == [100, 50, 150]
    assert moments.common_total is None


def test_equal_duplicates_are_fine():
    columns = "variable_a variable_b count total"
    rows = [("a", "a", 5, 10), ("b", "b", 4, 10), ("a", "b", 3, 10), ("b", "a", 3, 10)]
    moments = plain(*rows, rows[0], columns=columns)
    assert moments.table(["a", "b"])[1, 1] == 3
    assert moments.common_total == 10
    assert moments.conflicts == ()


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("b", "", "a", "", 3, 10), "the pair a, b must come with the count of b.*row for b, b"),
        (("a", 1, "a", 0, 3, 10), "a column must have one value in a row, got a = 1 and 0"),
        (("", "", "b", "", "x", 10), "count must be a number, got 'x' in row 2"),
        (("b", "", "", "", "", 10), "count must be a number, got a blank in row 2"),
        (("b", "", "", "", -1, 10), "count must lie between 0 and its total 10, got -1 in row 2"),
        (("b", "", "", "", 1, ""), "total must be given, got a blank in row 2"),
        (("b", "", "", "", 1, 0), "total must be positive, got 0 in row 2"),
        (("", "", "", "", 1, 10), "variable_a must be given, got a blank in row 2"),
        (("a", "", "b", 0, 1, 10), "the pair a, b must add up to their total 10.*got 1"),
    ],
)
def test_bad_rows_are_named(row, words):
    with pytest.raises(ValueError, match=words):
        plain(("a", 1, "a", 1, 5, 10), row)


def test_values_may_be_left_out_for_switches_only():
    left_out = ("b", "", "a", "", 1, 10)
    with pytest.raises(ValueError, match=r"value of 'b' must be given, got a blank in row 3.*'u'"):
        plain(("b", "u", "", "", 5, 10), ("b", "v", "", "", 5, 10), left_out)
    with pytest.raises(ValueError, match=r"value of 'b' must be given.*this one has 1, 2"):
        plain(("b", 1, "", "", 5, 10), ("b", 2, "", "", 5, 10), left_out)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"variable_a": ["a"], "count": [1]}, "counts must have a column 'total' .or pass total="),
        ({"variable_a": ["a"], "total": [1]}, "counts must have a column 'count'"),
        ({"count": [1], "total": [2]}, "counts must have a column 'variable_a'"),
        ({"variable_a": ["a"], "n": [1]}, "counts must have the columns.*got 'n'"),
        ({"variable_a": ["a"], "value_b": [1], "count": [1], "total": [2]}, "'variable_b'"),
        ({"variable_a": ["a"], "Variable_A ": ["a"], "count": [1], "total": [2]}, "once"),
        ({"variable_a": [], "count": [], "total": []}, "at least one count"),
    ],
)
def test_bad_headers_are_named(columns, words):
    with pytest.raises(ValueError, match=words):
        Moments.from_counts(columns)


def test_names_give_the_order_of_a_plain_table():
    rows = [("a", 5), ("b", 4)]
    moments = plain(*rows, columns="variable_a count", total=10, names=["b", "a"])
    assert moments.names == ("b", "a")
    assert moments.counts.tolist() == [6, 4, 5, 5]
    with pytest.raises(ValueError, match=r"names must name all columns, got none for \['b'\]"):
        plain(*rows, columns="variable_a count", total=10, names=["a"])


def test_errors_in_a_file_give_the_line(tmp_path):
    text = "variable_a,count,total\n\na,5,10\n\nb,many,10\n"
    with pytest.raises(ValueError, match=r"count must be a number, got 'many' in line 5 of .*csv"):
        typed(text, tmp_path)
    with pytest.raises(ValueError, match=r"typed.csv must have the columns"):
        typed("a,b\n1,2\n", tmp_path)


def test_contradictions_in_a_file_are_errors_unless_allowed(tmp_path):
    text = "variable_a,variable_b,count,total\na,a,5,10\nb,b,4,10\na,b,6,10\n"
    with refuses("moments", match=r"P\(a=1, b=1\) = 0.6 must lie between"):
        typed(text, tmp_path)
    assert typed(text, tmp_path, contradictions="allow").contradictions()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_files_of_switches_are_compact_and_come_back(tmp_path, suffix, order):
    X = np.random.default_rng(3).integers(0, 2, (50, 4)).astype(bool)
    moments = Moments.from_data({name: X[:, j] for j, name in enumerate("dcba")}, order)
    path = tmp_path / f"m{suffix}"
    moments.save(path)
    assert same(Moments.load(path), moments)
    if suffix == ".csv":
        lines = path.read_text().splitlines()
        assert "value_a" not in lines[0]
        assert lines[1] == f"(rows){',' * order}{len(moments.cliques)},"
        assert len(lines) == 2 + len(moments.cliques)


AWKWARD = [
    ("numbers as text", ("1", "2", "nan"), (0, 1)),
    ("missing", ("u", "v", None), (1.5, 2, None)),
    ("quotes", ("'q'", "", " space ", "(missing)", "a,b"), ("it's", "007", "1e3")),
    ("unsorted", ("z", "a"), (1, 0)),
    ("constant", (3,), ("only",)),
    ("mixed", (1, "1", 2.5), (False, True)),
]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(("case", "first", "second"), AWKWARD, ids=[a[0] for a in AWKWARD])
@pytest.mark.parametrize("cliques", [((0,), (1,), (0, 1)), ((1,), (0, 1)), ((0, 1),)])
def test_awkward_labels_come_back(tmp_path, suffix, case, first, second, cliques):
    variables = (Variable("1.50", first), Variable(" name, ", second))
    shape = (len(first), len(second))
    cells = np.arange(1.0, 1 + shape[0] * shape[1]).reshape(shape) / 8
    tables = [cells.sum(axis=tuple({0, 1} - set(c))) if len(c) == 1 else cells for c in cliques]
    counts = np.concatenate([np.ravel(table) for table in tables])
    moments = Moments(variables, cliques, counts, np.full(len(cliques), cells.sum()))
    path = tmp_path / f"m{suffix}"
    moments.save(path)
    assert same(Moments.load(path), moments)


def test_what_counts_of_ones_do_not_say_is_written_in_full(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (50, 3))
    cases = [
        Moments.from_data(X, cliques=[[0, 2], [1, 2]]),
        Moments.from_data(X, sample_weight=rng.random(50)),
        plain(("a", "a", 50, 100), ("b", "b", 20, 50), ("a", "b", 31, 151),
              columns="variable_a variable_b count total"),
    ]  # fmt: skip
    pair = [("a", a, "b", b, 5, 20) for a in (0, 1) for b in (0, 1)]
    disagreeing = [("a", 1, "a", 1, 6, 20), ("b", 1, "b", 1, 10, 20), *pair]
    cases.append(plain(*disagreeing, contradictions="allow"))
    for moments in cases:
        moments.save(tmp_path / "m.csv")
        assert same(Moments.load(tmp_path / "m.csv", contradictions="allow"), moments)


def test_frames_are_plain_tables_too():
    frame = {"variable_a": ["a", "b", "a"], "variable_b": [None, "b", "b"], "count": [5, 4, 3]}
    wanted = Moments.from_counts(frame, total=10)
    assert wanted.cliques == ((0,), (1,), (0, 1))
    assert same(Moments.from_counts(pd.DataFrame(frame), total=10), wanted)
    assert same(Moments.from_counts(pl.DataFrame(frame), total=10), wanted)


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.npy"
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match=r"\.npy table must hold numbers"):
        Moments.from_data([[0, 1]]).save(path)
    assert path.read_bytes() == b"old"


def test_a_count_above_its_total_is_a_mistake(tmp_path):
    (tmp_path / "a.csv").write_text("variable_a,variable_b,count,total\na,a,40,100\na,b,250,100\n")
    with pytest.raises(ValueError, match=r"its total 100, got 250 in line 3"):
        Moments.load(tmp_path / "a.csv", contradictions="allow")


def test_moments_print_what_is_counted():
    assert repr(Moments.from_data([[0, 1], [1, 1]])) == (
        "Moments(2 columns, 3 tables up to order 2, 2 rows)"
    )


def test_a_name_with_a_typo_is_told_from_a_new_one(tmp_path):
    lines = ["variable_a,variable_b,count,total", "rain,rain,40,100", "wind,wind,50,100"]
    (tmp_path / "a.csv").write_text("\n".join([*lines, "rian,wind,25,100"]) + "\n")
    with pytest.raises(ValueError, match="or is 'rain' meant"):
        Moments.load(tmp_path / "a.csv")


# Tables that were cut short

WORDS = {"colour": ["red", "green", "red", "blue"], "size": [10, 20, 20, 10]}
CUT = {
    "switches": Moments.from_data(np.random.default_rng(3).integers(0, 2, (400, 3))),
    "words": Moments.from_data(WORDS),
    "declared": Moments.from_data(WORDS, cliques=[("size",), ("colour", "size")]),
    "odd names": Moments.from_data({"(rows)": ["(rows)", 'a\n,"b', "x", "4"], "7": [1, 2, 2, 1]}),
    "weights": Moments.from_data([[0, 1], [1, 1], [0, 0]], sample_weight=[0.1, 0.7, 0.3]),
    "one": Moments.from_data([[0], [1], [1]], 1),
}


@pytest.mark.parametrize("name", CUT)
def test_every_cut_of_a_csv_file_is_refused(tmp_path, name):
    path = tmp_path / "m.csv"
    CUT[name].save(path)
    data = path.read_bytes()
    assert same(Moments.load(path), CUT[name])
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(ValueError, match=r"m\.csv"):
            Moments.load(path)


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_every_cut_of_other_files_is_refused(tmp_path, suffix):
    path = tmp_path / f"m{suffix}"
    CUT["one"].save(path)
    data = path.read_bytes()
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(ValueError, match=rf"m\{suffix}"):
            Moments.load(path)


ROWS = "variable_a,count,total\n(rows),{},\na,5,10\nb,4,10\n"


def test_a_table_has_the_rows_that_it_says(tmp_path):
    plain_form = ROWS.replace("(rows),{},\n", "")
    assert same(typed(ROWS.format(2), tmp_path), typed(plain_form, tmp_path))
    for number, rule in [
        (1, "must be followed by 1 rows, as its count says, got 2"),
        (3, "line 2 of .* must be followed by 3 rows.*got 2: the table was cut"),
        ("", "count must be a number, got a blank in line 2"),
    ]:
        with pytest.raises(ValueError, match=rule):
            typed(ROWS.format(number), tmp_path)
    with pytest.raises(ValueError, match="must end with a line end, got none"):
        typed(ROWS.format(2)[:-2], tmp_path)
    assert typed(plain_form[:-1], tmp_path).totals.tolist() == [10, 10]


def test_two_tables_one_below_the_other_have_their_own_numbers(tmp_path):
    second = "(rows),1,\nc,3,10\n"
    assert typed(ROWS.format(2) + second, tmp_path).names == ("a", "b", "c")
    with pytest.raises(ValueError, match=r"line 5 of .* must be followed by 1 rows.* got 0"):
        typed(ROWS.format(2) + second[:10], tmp_path)
    assert same(plain(("(rows)", 1, ""), ("a", 5, 10), columns="variable_a count total"),
                plain(("a", 5, 10), columns="variable_a count total"))  # fmt: skip


def test_numbers_of_very_many_digits_are_text(tmp_path):
    digits = "9" * 5000  # Python refuses to read them as a number
    text = f"variable_a,value_a,count,total\na,{digits},5,10\na,1,5,10\n"
    (variable,) = typed(text, tmp_path).variables
    assert variable.values == (1, digits)
