import itertools
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from herder import MomentHerder, Moments, moment_herd
from herder.core import Checkpoint, save_checkpoint
from herder.core.state import ModelFileError
from herder.fields import Position
from herder.fields.row_filter import RowFilter
from herder.models import CliqueFeatures, Variable
from tests.fields.test_retrace import coupled_rows, mixed_rows
from tests.naming import refuses


def expected_failures(estimator):
    return {
        "check_sample_weight_equivalence_on_sparse_data": (
            "the check draws measurements; a sparse table holds 0 and 1 only"
        )
    }


@parametrize_with_checks([MomentHerder()], expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("encoding", ["01", "+-1", "indicator"])
def test_samples_match_all_tables(order, encoding):
    rows = coupled_rows(200, 6)
    herder = MomentHerder(order, encoding=encoding).fit(rows)
    samples = herder.sample(4000)
    given, got = Moments.from_data(rows, order), Moments.from_data(samples, order)
    error = np.abs(given.probabilities() - got.probabilities()).max()
    assert error < 20 / 4000
    assert herder.diagnostics_.growth.verdict == "bounded"
    assert herder.diagnostics_.violations == 0


def worst_cell(rows, samples, groups):
    """Give the largest difference of shares of a combination of values, and its columns."""
    worst = 0.0, ()
    for group in groups:
        columns = list(group)
        for cell in itertools.product(*(np.unique(rows[:, i]).tolist() for i in columns)):
            shares = [(X[:, columns] == cell).all(axis=1).mean() for X in (rows, samples)]
            worst = max(worst, (abs(shares[0] - shares[1]), group))
    return worst


def groups_up_to(order, width):
    return [c for k in range(1, order + 1) for c in itertools.combinations(range(width), k)]


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(
    ("encoding", "engine", "settings"),
    [
        ("01", "BinaryHerd", {}),
        ("+-1", None, {}),  # triples are for the general loop
        ("indicator", "BinaryHerd", {}),
        ("indicator", "BinaryHerd", {"burn_in": 50}),
        ("01", "CliqueHerd", {"rates": 1}),
        ("+-1", "CliqueHerd", {"rates": 1}),
        ("indicator", "CliqueHerd", {"rates": 1}),
    ],
)
def test_the_moment_error_is_that_of_the_worst_cell(order, encoding, engine, settings):
    rows = coupled_rows(200, 6)
    plain = MomentHerder(order, encoding=encoding).fit(rows)
    if "rates" in settings:
        n_features = plain.start().features.n_features
        settings = {"rates": np.linspace(1, 2, n_features)}
    herder = plain.set_params(**settings)
    samples = herder.sample(777)
    found = herder.diagnostics_
    error, group = worst_cell(rows, samples, groups_up_to(order, 6))
    assert found.moment_error == pytest.approx(error, abs=1e-12)
    assert found.trace.error[-1] == found.moment_error
    assert found.worst == tuple(f"x{i}" for i in group) or error == pytest.approx(
        worst_cell(rows, samples, [tuple(int(name[1:]) for name in found.worst)])[0], abs=1e-12
    )
    used = type(herder.start()._engine).__name__
    assert engine in (None, used)


@pytest.mark.parametrize("encoding", ["01", "indicator"])
@pytest.mark.parametrize(
    ("cliques", "engine"), [(None, "AtomHerd"), ([[0, 1], [1, 2, 3], [4]], "CliqueHerd")]
)
def test_the_worst_cell_of_mixed_columns_and_single_groups(encoding, cliques, engine):
    rows = mixed_rows(120)
    herder = MomentHerder(encoding=encoding, cliques=cliques).fit(rows)
    samples = herder.sample(500)
    error, _ = worst_cell(rows, samples, cliques or groups_up_to(2, 5))
    assert herder.diagnostics_.moment_error == pytest.approx(error, abs=1e-12)
    assert type(herder.start()._engine).__name__ == engine


@pytest.mark.parametrize("encoding", ["01", "+-1", "indicator"])
def test_every_place_shows_the_same_moment_error(encoding):
    rows = coupled_rows(200, 6)
    herder = MomentHerder(encoding=encoding).fit(rows)
    made = herder.synthesise(777, count_cells=True)
    samples = np.concatenate(list(made.codes()))
    error, _ = worst_cell(rows, samples, groups_up_to(2, 6))
    herder.sample(777)
    assert herder.diagnostics_.moment_error == pytest.approx(error, abs=1e-12)
    assert made.diagnostics.moment_error == herder.diagnostics_.moment_error
    summary = made.summary()
    assert f"{error:.2e}" in str(summary)
    tables = [block for section in summary.sections for block in section.blocks]
    least: Any = next(block for block in tables if "agree least" in getattr(block, "caption", ""))
    assert abs(least.rows[0][3]) == pytest.approx(error, abs=1e-12)


def test_auto_is_an_old_name_of_the_default():
    rows = coupled_rows(60, 5)
    with pytest.warns(DeprecationWarning, match='use encoding="indicator"'):
        named = MomentHerder(encoding="auto").fit(rows)
    with pytest.warns(DeprecationWarning, match='use encoding="indicator"'):
        samples = named.sample(50)
    np.testing.assert_array_equal(samples, MomentHerder().fit(rows).sample(50))


def test_sample_is_pure_and_a_stream_begins_with_it():
    herder = MomentHerder(burn_in=10).fit(coupled_rows(50, 5))
    first = herder.sample(300)
    np.testing.assert_array_equal(herder.sample(300), first)
    np.testing.assert_array_equal(list(itertools.islice(herder.stream(), 300)), first)
    everything = MomentHerder().fit(coupled_rows(50, 5)).sample(310)
    np.testing.assert_array_equal(everything[10:], first)


def test_averages_are_those_of_the_sample():
    frame = pd.DataFrame(mixed_rows(100), columns=list("abcde"))
    herder = MomentHerder(burn_in=3).fit(frame)
    rows = herder.sample(20_000)
    got = herder.average(lambda part: part["e"] * part["a"], 20_000)
    assert got == pytest.approx((rows["e"] * rows["a"]).mean(), rel=1e-12)
    with refuses("function"):
        herder.average(lambda part: part["a"].mean(), 100)
    both = herder.average(lambda part: part[["a", "c"]].to_numpy(), 20_000)
    np.testing.assert_allclose(both, rows[["a", "c"]].mean(), rtol=1e-12)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("restarts", ["rows", "visited", "none"])
def test_resume_is_going_on(order, restarts):
    herder = MomentHerder(order, restarts=restarts).fit(coupled_rows(30, 7))
    whole = herder.herd(500)
    part = herder.herd(123)
    rest = herder.herd(377, resume=part)
    np.testing.assert_array_equal(np.concatenate([part.samples, rest.samples]), whole.samples)
    np.testing.assert_array_equal(rest.position.weights, whole.position.weights)
    assert rest.position.t == 500


@pytest.mark.parametrize("restarts", ["rows", "visited", "none"])
def test_a_position_can_be_kept_in_a_file(tmp_path, restarts):
    herder = MomentHerder(restarts=restarts).fit(coupled_rows(30, 7))
    whole = herder.herd(300).samples
    herder.herd(100).position.save(tmp_path / "here.safetensors")
    rest = herder.herd(200, resume=Position.load(tmp_path / "here.safetensors")).samples
    np.testing.assert_array_equal(rest, whole[100:])
    save_checkpoint(tmp_path / "other.safetensors", Checkpoint(np.zeros(3), 0, 1, 1.0))
    with pytest.raises(ModelFileError, match="must hold a Position, got a Checkpoint"):
        Position.load(tmp_path / "other.safetensors")
    position = Position.load(tmp_path / "here.safetensors")
    others = [
        MomentHerder().fit(coupled_rows(30, 3)),
        MomentHerder().fit(coupled_rows(31, 7)),
        MomentHerder(encoding="+-1").fit(coupled_rows(30, 7)),
        MomentHerder(rates=np.linspace(1, 2, 98)).fit(coupled_rows(30, 7)),
    ]
    for other in others:
        with refuses("resume"):
            other.herd(5, resume=position)


def test_fit_and_fit_moments_agree_without_restarts():
    rows = coupled_rows(60, 7)
    from_rows = MomentHerder(restarts="none").fit(rows).herd(500).samples
    moments = Moments.from_data(rows)
    from_moments = MomentHerder(restarts="none").fit_moments(moments).herd(500).samples
    np.testing.assert_array_equal(from_rows, from_moments)
    np.testing.assert_array_equal(moment_herd(moments, 500, restarts="none").samples, from_rows)


def test_visited_states_restore_the_inequality():
    herder = MomentHerder().fit_moments(Moments.from_data(coupled_rows(60, 12)))
    herder.sample(3000)
    assert herder.diagnostics_.restarts > 0
    assert herder.diagnostics_.violations < 0.01 * 3000


def test_tables_come_back_in_the_form_they_came():
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(["red", "blue", "red", "green"], ["blue", "green", "red"]),
            "owner": ["yes", "no", "no", "yes"],
            "rooms": np.array([1, 2, 3, 2], dtype=np.int16),
            "warm": [True, False, True, True],
        }
    )
    out = MomentHerder().fit(frame).sample(20)
    pd.testing.assert_series_equal(out.dtypes, frame.dtypes)
    for name in frame:
        assert set(out[name]) <= set(frame[name])
    polar = pl.from_pandas(frame)
    twin = MomentHerder().fit(polar).sample(20)
    assert twin.schema == polar.schema
    assert twin["colour"].to_list() == out["colour"].tolist()
    matrix = sparse.csr_matrix(coupled_rows(30, 5).astype(np.float32))
    herded = MomentHerder().fit(matrix).sample(10)
    assert sparse.issparse(herded)
    assert herded.dtype == np.float32
    for dtype in (np.int64, np.float32, bool, np.uint8):
        assert MomentHerder().fit(coupled_rows(30, 5).astype(dtype)).sample(5).dtype == dtype
    columns = MomentHerder().fit({"a": [0, 1, 1], "b": ["x", "y", "y"]}).sample(3)
    assert list(columns) == ["a", "b"]


def test_frames_with_numbers_for_names_and_nullable_columns():
    frame = pd.DataFrame({0: [0, 1, 1, 0], 7: pd.array([1, None, 2, 1], dtype="Int64")})
    herder = MomentHerder(missing="category").fit(frame)
    out = herder.sample(12)
    assert list(out.columns) == [0, 7]
    pd.testing.assert_series_equal(out.dtypes, frame.dtypes)
    assert out[7].isna().sum() == 3
    assert not hasattr(herder, "feature_names_in_")


def test_where_keeps_the_rows_that_match():
    frame = pd.DataFrame(mixed_rows(200), columns=list("abcde"))
    herder = MomentHerder().fit(frame)
    out = herder.sample(500, where={"b": 2, "a": 1})
    assert len(out) == 500
    assert set(out["b"]) == {2}
    assert set(out["a"]) == {1}
    assert herder.diagnostics_.copied is not None
    one = herder.sample(2000, where={"b": 2})
    given = frame.loc[frame["b"] == 2, "e"].value_counts(normalize=True).sort_index()
    got = one["e"].value_counts(normalize=True).reindex(given.index, fill_value=0)
    assert np.abs(given - got).max() < 0.03  # pairs match, so conditional singles do
    with refuses("where", match="got two for 'a'"):
        RowFilter(herder.moments_, [("a", 1), ("a", 0)])
    with refuses("where"):
        herder.sample(3, where={"z": 1})
    with pytest.raises(ValueError, match="value of 'b' must be one of"):
        herder.sample(3, where={"b": 9})


def test_a_condition_that_is_never_met_is_given_up(monkeypatch):
    herder = MomentHerder().fit([[1, 0], [0, 1]] * 2)
    with refuses("where", match="which the counts of x0, x1 exclude"):
        herder.sample(2, where={"x0": 0, "x1": 0})
    monkeypatch.setattr("herder.fields.row_filter.MAX_FRUITLESS", 5000)
    rows = np.random.default_rng(0).integers(0, 2, (200, 12))
    rows[:, 2] = rows[:, 0] ^ rows[:, 1]  # no pair tells that all three are never one
    free = MomentHerder(cliques=[[0], [1], [2], *([i] for i in range(3, 12))]).fit(rows)
    impossible = dict.fromkeys((f"x{j}" for j in range(12)), 1)
    with refuses("where", match="none of the last"):
        free.sample(50, where=impossible)


def test_pairs_without_their_singles_are_matched_cell_by_cell():
    rows = np.array([[0, 0, 0]] * 3 + [[1, 1, 0]] * 2 + [[0, 1, 1]] * 4 + [[1, 0, 1]])
    for encoding in ("01", "+-1", "indicator"):
        herder = MomentHerder(cliques=[[0, 1], [1, 2]], encoding=encoding).fit(rows)
        samples = herder.sample(1000)
        np.testing.assert_allclose(samples.mean(axis=0), rows.mean(axis=0), atol=0.01)
        got = Moments.from_data(samples, cliques=[[0, 1], [1, 2]])
        np.testing.assert_allclose(got.probabilities(), herder.moments_.probabilities(), atol=0.01)


def test_more_than_127_values():
    rng = np.random.default_rng(0)
    rows = np.stack([np.arange(300) % 150, rng.integers(0, 2, 300)], axis=1)
    out = MomentHerder(bins=None).fit(rows).herd(3000)
    assert out.samples.dtype == np.int16
    assert out.samples[:, 0].max() == 149
    assert out.diagnostics.moment_error < 0.01


def test_rates_change_the_states_and_keep_the_moments():
    rows = coupled_rows(100, 5)
    plain = MomentHerder().fit(rows)
    n_features = 50  # cells of five columns and their ten pairs
    rated = MomentHerder(rates=np.linspace(0.5, 2.0, n_features)).fit(rows)
    assert (plain.sample(500) != rated.sample(500)).any()
    assert rated.diagnostics_.moment_error < 0.05
    same = MomentHerder(rates=np.full(n_features, 2.0)).fit(rows)
    np.testing.assert_array_equal(plain.sample(500), same.sample(500))
    with refuses("rates"):
        MomentHerder(rates=[1.0]).fit(rows).sample(5)


def test_copied_rows_are_counted():
    rows = coupled_rows(40, 12)
    herder = MomentHerder().fit(rows)
    samples = herder.sample(1000)
    known = {tuple(row) for row in rows.tolist()}
    share = np.mean([tuple(row) in known for row in samples.tolist()])
    assert herder.diagnostics_.copied == pytest.approx(share)
    counts = np.unique(rows, axis=0, return_counts=True)[1]
    assert herder.diagnostics_.duplicate_share == pytest.approx(counts[counts > 1].sum() / 40)


def test_contradictions_are_refused_or_herded_to_the_nearest():
    # p(a) = p(b) = 1/2 and p(a, b) = 0.9 cannot be
    pairs = np.array([[50, 90], [90, 50]])
    with refuses("moments"):
        Moments.from_counts(pairs, total=100)
    moments = Moments.from_counts(pairs, total=100, contradictions="allow")
    with refuses("moments"):
        MomentHerder().fit_moments(moments)
    herder = MomentHerder(contradictions="nearest").fit_moments(moments)
    out = herder.sample(5000)
    # the nearest table: cells 0.9, -0.4, -0.4, 0.9 become 0.5, 0, 0, 0.5
    assert out["x0"].mean() == pytest.approx(0.5, abs=2e-3)
    assert (out["x0"] * out["x1"]).mean() == pytest.approx(0.5, abs=2e-3)
    assert herder.diagnostics_.distance == pytest.approx(0.8, abs=2e-3)
    assert herder.diagnostics_.moment_error == pytest.approx(0.4, abs=2e-3)
    herder = MomentHerder(encoding="01", contradictions="nearest").fit_moments(moments)
    out = herder.sample(5000)
    assert herder.diagnostics_.growth.verdict == "inconsistent moments"
    # the L2 projection onto {p_ab <= p_a, p_ab <= p_b, ...}: minimise over p_a = p_b = p_ab = x
    x = (0.5 + 0.5 + 0.9) / 3
    assert out["x0"].mean() == pytest.approx(x, abs=2e-3)
    assert (out["x0"] * out["x1"]).mean() == pytest.approx(x, abs=2e-3)
    distance = np.sqrt(2 * (x - 0.5) ** 2 + (0.9 - x) ** 2)
    assert herder.diagnostics_.distance == pytest.approx(distance, abs=2e-3)


def test_margins_that_disagree_are_matched_cell_by_cell_and_said():
    columns = ("variable_a", "value_a", "variable_b", "value_b", "count", "total")
    cells = [("a", 1, "a", 1, 500, 1000), ("b", 1, "b", 1, 500, 1000)]
    cells += [("a", 0, "a", 0, 500, 1000), ("b", 0, "b", 0, 500, 1000)]
    pair = {(0, 0): 200, (0, 1): 200, (1, 0): 300, (1, 1): 300}
    cells += [("a", i, "b", j, n, 1000) for (i, j), n in pair.items()]
    table = dict(zip(columns, map(list, zip(*cells, strict=True)), strict=True))
    moments = Moments.from_counts(table, contradictions="allow")
    for encoding in ("01", "+-1", "indicator"):
        herder = MomentHerder(encoding=encoding, contradictions="nearest").fit_moments(moments)
        herder.sample(5000)
        assert herder.diagnostics_.growth.verdict == "inconsistent moments"
        assert herder.diagnostics_.distance > 0.05
        assert "off by 0.1" in str(herder.diagnostics_)


def test_small_contradictions_are_said_after_few_rows():
    def pair_of(name, share):
        halves = {0: 1 - share, 1: share}
        return [("a", i, name, j, 500 * halves[i], 1000) for i in (0, 1) for j in (0, 1)]

    columns = ("variable_a", "value_a", "variable_b", "value_b", "count", "total")
    cells = pair_of("b", 0.5) + pair_of("c", 0.502)
    table = dict(zip(columns, map(list, zip(*cells, strict=True)), strict=True))
    moments = Moments.from_counts(table, contradictions="allow")
    herder = MomentHerder(contradictions="nearest").fit_moments(moments)
    herder.sample(50)
    assert herder.diagnostics_.growth.verdict == "inconsistent moments"
    assert re.search(r"distance +[\d.e+-]+ +from the given moments", str(herder.diagnostics_))


def test_two_statements_of_one_count_are_averaged_and_said():
    given = {
        "variable_a": ["a", "a", "b", "a"],
        "variable_b": ["a", "a", "b", "b"],
        "count": [500, 540, 300, 200],
        "total": [1000] * 4,
    }
    moments = Moments.from_counts(given, contradictions="allow")
    herder = MomentHerder(contradictions="nearest").fit_moments(moments)
    assert herder.sample(1000)["a"].mean() == pytest.approx(0.52, abs=2e-3)
    assert herder.diagnostics_.growth.verdict == "bounded"  # the means agree with the rest
    assert "contradictions: 1, the worst: the single a is stated twice" in str(herder.diagnostics_)


def test_copies_far_above_chance_are_warned_of():
    rows = np.column_stack([np.arange(60), np.arange(60) % 2])
    herder = MomentHerder(bins=None).fit(rows)
    herder.sample(60)
    assert herder.diagnostics_.copies_stand_out
    assert "do not publish" in str(herder.diagnostics_)
    common = MomentHerder().fit(coupled_rows(200, 4))
    common.sample(100)
    assert not common.diagnostics_.copies_stand_out


def test_a_stuck_search_is_not_called_bounded():
    rows = np.random.default_rng(3).integers(0, 4, (27, 5))
    moments = Moments.from_data(rows, cliques=[[0, 1, 2, 3, 4]])
    diagnostics = moment_herd(moments, 3000).diagnostics
    assert diagnostics.violations > 1000
    assert diagnostics.growth.verdict == "stuck search"


def test_rows_without_weight_do_not_count():
    rows = coupled_rows(40, 6)
    weight = np.arange(40) % 3
    weighted = MomentHerder().fit(rows, sample_weight=weight)
    repeated = MomentHerder().fit(np.repeat(rows, weight, axis=0))
    np.testing.assert_array_equal(weighted.sample(300), repeated.sample(300))
    assert weighted.diagnostics_.copied == repeated.diagnostics_.copied


def test_binned_integers_come_back_as_integers():
    squares = np.arange(30)[:, None] ** 2
    rows = np.hstack([squares, squares % 2])
    out = MomentHerder(bins=3).fit(rows).sample(30)
    assert out.dtype == rows.dtype
    assert np.histogram(out[:, 0], [0, 100, 400, 900])[0].tolist() == [10, 10, 10]
    frame = pl.DataFrame({"a": rows[:, 0], "b": rows[:, 1]})
    twin = MomentHerder(bins=3).fit(frame).sample(30)
    np.testing.assert_array_equal(twin["a"].to_numpy(), out[:, 0])
    assert twin.schema == frame.schema


def test_bins_that_have_only_means_give_them():
    variables = (
        Variable("a", (28.5, 218.5, 608.5), "float64", (96.6, 374.0)),
        Variable("b", (0, 1), "int64"),
    )
    counts = np.array([10.0, 10, 10, 15, 15])
    model = MomentHerder().fit_moments(Moments(variables, ((0,), (1,)), counts, np.full(2, 30.0)))
    for herder in (model, MomentHerder.from_state(*model.to_state())):
        out = herder.sample(30)
        values, times = np.unique(out["a"], return_counts=True)
        np.testing.assert_array_equal(values, [28.5, 218.5, 608.5])
        assert times.tolist() == [10, 10, 10]
        assert (herder.sample(5, where={"a": 100})["a"] == 218.5).all()


def test_start_weights_and_rows_are_checked():
    moments = Moments.from_data(mixed_rows())
    n_features = CliqueFeatures.of(moments).n_features
    for rows in (np.full((3, 5), -1), np.full((3, 5), 9), np.zeros((3, 4), int), np.zeros((3, 5))):
        with refuses("rows"):
            moment_herd(moments, 3, rows=rows)
    for start in (np.zeros(n_features), np.zeros(3, int), np.full(n_features, 2**50)):
        with refuses("start_weights"):
            moment_herd(moments, 3, start_weights=start)
    with refuses("resume", TypeError):
        moment_herd(moments, 3, resume=3)  # type: ignore[arg-type]
    with refuses("moments", TypeError):
        moment_herd(mixed_rows(), 3)  # type: ignore[arg-type]
    target = CliqueFeatures.of(moments).target
    plain = moment_herd(moments, 200, start_weights=target).samples
    rated = moment_herd(moments, 200, start_weights=target, rates=np.full(n_features, 0.5))
    np.testing.assert_array_equal(rated.samples, plain)


def test_triples_resume_from_any_start():
    moments = Moments.from_data(coupled_rows(40, 5), 3)
    start = np.arange(130) - 12
    whole = moment_herd(moments, 300, start_weights=start).samples
    part = moment_herd(moments, 100, start_weights=start)
    rest = moment_herd(moments, 200, resume=part)
    np.testing.assert_array_equal(rest.samples, whole[100:])


def test_unequal_totals_leave_the_integer_path_and_say_so():
    moments = Moments.from_counts(
        {
            "variable_a": ["a", "b", "a"],
            "variable_b": ["a", "b", "b"],
            "count": [30, 28, 10],
            "total": [100, 70, 100],
        }
    )
    herding = moment_herd(moments, 4000)
    assert not herding.diagnostics.exact
    assert "shares, to multiples of 1/16,777,216" in str(herding.diagnostics)
    np.testing.assert_allclose(herding.samples.mean(axis=0), [0.3, 0.4], atol=2e-3)


def test_documented_corner_cases():
    one_row = MomentHerder().fit([[0, 1, 2]])
    np.testing.assert_array_equal(one_row.sample(3), [[0, 1, 2]] * 3)
    constant = MomentHerder().fit(np.column_stack([np.full(6, 7), [0, 1, 0, 1, 1, 1]]))
    assert set(constant.sample(20)[:, 0]) == {7}
    single_column = MomentHerder().fit([[0], [1], [1]])
    assert single_column.sample(3).sum() == 2
    zeros = MomentHerder().fit(np.zeros((5, 3), dtype=int))
    assert not zeros.sample(7).any()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.array([[0.0, np.nan]]), "NaN or missing"),
        (np.array([[0.0, np.inf]]), "infinity"),
        (np.zeros((0, 3)), "at least 1 row"),
        (np.zeros((3, 0)), "at least 1 column"),
        (np.zeros(3), "2-D"),
    ],
)
def test_bad_tables_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        MomentHerder().fit(bad)


def test_bad_settings_are_refused():
    rows = coupled_rows(10, 3)
    for settings, message in [
        ({"order": 0}, "order must be"),
        ({"encoding": "pm"}, "encoding must be one of"),
        ({"restarts": "often"}, "restarts must be one of"),
        ({"burn_in": -1}, "burn_in must be"),
        ({"scan": [0, 0, 1]}, "scan must be a permutation"),
        ({"missing": "drop"}, "missing must be"),
        ({"contradictions": "foo"}, "contradictions must be one of"),
        ({"cliques": [[0, 9]]}, "cliques must name columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            MomentHerder(**settings).fit(rows).sample(2)
    with refuses("n_samples"):
        MomentHerder().fit(rows).sample(0)
    with pytest.raises(NotFittedError):
        MomentHerder().sample(3)
    with refuses("moments", TypeError):
        MomentHerder().fit_moments(rows)  # type: ignore[arg-type]
    with refuses("X", TypeError, match="use fit_moments"):
        MomentHerder().fit(Moments.from_data(rows))
    with refuses("X", TypeError, match="read the file first"):
        MomentHerder().fit("table.csv")
    with refuses("restarts"):
        MomentHerder(restarts="rows").fit_moments(Moments.from_data(rows)).sample(3)


def test_inputs_are_left_alone():
    rows = coupled_rows(30, 4)
    before = rows.copy()
    MomentHerder().fit(rows).sample(50)
    np.testing.assert_array_equal(rows, before)
