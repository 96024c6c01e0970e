import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from herder import MomentHerder, Moments, moment_herd
from herder._store import save_arrays
from herder.fields import Position
from tests.fields.test_retrace import coupled_rows, mixed_rows


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


def test_the_error_that_is_reported_is_the_error():
    rows = coupled_rows(200, 6)
    herder = MomentHerder().fit(rows)
    samples = herder.sample(777)
    target, got = rows.T.astype(float) @ rows / 200, samples.T.astype(float) @ samples / 777
    assert herder.diagnostics_.moment_error == pytest.approx(np.abs(target - got).max(), abs=1e-12)


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
    save_arrays(tmp_path / "other.safetensors", {"weights": np.zeros(3)}, {})
    with pytest.raises(ValueError, match="must hold the position of a moment herd"):
        Position.load(tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="resume must come from 6 features, got 28"):
        MomentHerder().fit(coupled_rows(30, 3)).herd(
            5, resume=Position.load(tmp_path / "here.safetensors")
        )


def test_fit_and_fit_moments_agree_without_restarts():
    rows = coupled_rows(60, 7)
    from_rows = MomentHerder(restarts="none").fit(rows).herd(500).samples
    moments = Moments.from_data(rows)
    from_moments = MomentHerder(restarts="none").fit_moments(moments).herd(500).samples
    np.testing.assert_array_equal(from_rows, from_moments)
    np.testing.assert_array_equal(moment_herd(moments, 500, restarts="none").samples, from_rows)


def test_visited_states_restore_the_inequality():
    herder = MomentHerder().fit_moments(Moments.from_data(coupled_rows(60, 7)))
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
    with pytest.raises(ValueError, match="where must name columns"):
        herder.sample(3, where={"z": 1})
    with pytest.raises(ValueError, match="value of 'b' must be one of"):
        herder.sample(3, where={"b": 9})


def test_pairs_without_their_singles_are_matched_cell_by_cell():
    rows = np.array([[0, 0, 0]] * 3 + [[1, 1, 0]] * 2 + [[0, 1, 1]] * 4 + [[1, 0, 1]])
    for encoding in ("auto", "01", "+-1", "indicator"):
        herder = MomentHerder(cliques=[[0, 1], [1, 2]], encoding=encoding).fit(rows)
        samples = herder.sample(1000)
        np.testing.assert_allclose(samples.mean(axis=0), rows.mean(axis=0), atol=0.01)
        got = Moments.from_data(samples, cliques=[[0, 1], [1, 2]])
        np.testing.assert_allclose(got.probabilities(), herder.moments_.probabilities(), atol=0.01)


def test_more_than_127_values():
    rng = np.random.default_rng(0)
    rows = np.stack([np.arange(300) % 150, rng.integers(0, 2, 300)], axis=1)
    out = MomentHerder().fit(rows).herd(3000)
    assert out.samples.dtype == np.int16
    assert out.samples[:, 0].max() == 149
    assert out.diagnostics.moment_error < 0.01


def test_rates_change_the_states_and_keep_the_moments():
    rows = coupled_rows(100, 5)
    plain = MomentHerder().fit(rows)
    n_features = 15
    rated = MomentHerder(rates=np.linspace(0.5, 2.0, n_features)).fit(rows)
    assert (plain.sample(500) != rated.sample(500)).any()
    assert rated.diagnostics_.moment_error < 0.05
    same = MomentHerder(rates=np.full(n_features, 2.0)).fit(rows)
    np.testing.assert_array_equal(plain.sample(500), same.sample(500))
    with pytest.raises(ValueError, match="rates must"):
        MomentHerder(rates=[1.0]).fit(rows).sample(5)


def test_copied_rows_are_counted():
    rows = coupled_rows(40, 12)
    herder = MomentHerder().fit(rows)
    samples = herder.sample(1000)
    known = {tuple(row) for row in rows.tolist()}
    share = np.mean([tuple(row) in known for row in samples.tolist()])
    assert herder.diagnostics_.copied == pytest.approx(share)
    counts = np.unique(rows, axis=0, return_counts=True)[1]
    assert herder.diagnostics_.twins == pytest.approx(counts[counts > 1].sum() / 40)


def test_contradictions_are_refused_or_herded_to_the_nearest():
    # p(a) = p(b) = 1/2 and p(a, b) = 0.9 cannot be
    pairs = np.array([[50, 90], [90, 50]])
    with pytest.raises(ValueError, match="must not contradict"):
        Moments.from_counts(pairs, total=100)
    moments = Moments.from_counts(pairs, total=100, contradictions="allow")
    with pytest.raises(ValueError, match="must not contradict"):
        MomentHerder().fit_moments(moments)
    herder = MomentHerder(contradictions="nearest").fit_moments(moments)
    out = herder.sample(5000)
    assert herder.diagnostics_.growth.verdict == "inconsistent moments"
    # the L2 projection onto {p_ab <= p_a, p_ab <= p_b, ...}: minimise over p_a = p_b = p_ab = x
    x = (0.5 + 0.5 + 0.9) / 3
    assert out["x0"].mean() == pytest.approx(x, abs=2e-3)
    assert (out["x0"] * out["x1"]).mean() == pytest.approx(x, abs=2e-3)
    distance = np.sqrt(2 * (x - 0.5) ** 2 + (0.9 - x) ** 2)
    assert herder.diagnostics_.distance == pytest.approx(distance, abs=2e-3)


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
    assert "rounded to 1/16777216" in str(herding.diagnostics)
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
        (np.random.default_rng(0).random((100, 2)), "bins="),
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
        ({"cliques": [[0, 9]]}, "cliques must name columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            MomentHerder(**settings).fit(rows).sample(2)
    with pytest.raises(ValueError, match="n_samples must be"):
        MomentHerder().fit(rows).sample(0)
    with pytest.raises(NotFittedError):
        MomentHerder().sample(3)
    with pytest.raises(TypeError, match="moments must be Moments"):
        MomentHerder().fit_moments(rows)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no data rows"):
        MomentHerder(restarts="rows").fit_moments(Moments.from_data(rows)).sample(3)


def test_inputs_are_left_alone():
    rows = coupled_rows(30, 4)
    before = rows.copy()
    MomentHerder().fit(rows).sample(50)
    np.testing.assert_array_equal(rows, before)
