import numpy as np
import pytest

from herder.learn import BoltzmannMachine, FitReport, check
from herder.learn.likelihood import fit_ml
from herder.learn.rows import DistinctRows
from herder.learn.verdict import FEWEST_ROWS, NEGLIGIBLE
from herder.models.exact import exact_samples
from herder.models.pairwise import PairwiseModel
from tests.learn.brute import all_states, draw_rows, probabilities, random_field
from tests.naming import refuses


def weigh(table):
    rows, counts = np.unique(table.astype(np.uint8), axis=0, return_counts=True)
    return rows, counts / len(table)


def check_fit(model, rows, weights, n_rows, **options):
    return check.check_fit(model, DistinctRows(rows, weights, n_rows), **options)


def test_rows_of_the_field_are_trusted():
    couplings, biases = random_field(6, 1)
    rows, weights = draw_rows(couplings, biases, 5000, 2)
    found = check_fit(PairwiseModel(couplings, biases), rows, weights, 5000)
    assert found.trust
    assert found.mixed
    assert found.n_samples == 0
    assert found.verdict == (
        "Trust it: means, pairs, triples and numbers of ones are those of the rows, within error."
    )


@pytest.mark.parametrize("states", [(0, 1), (-1, 1)])
def test_differences_are_in_standard_errors(states):
    couplings, biases = random_field(5, 3)
    rows, weights = draw_rows(couplings * 0.5, biases, 400, 4)
    model = PairwiseModel(couplings, biases).to_states(states)
    found = check_fit(model, rows, weights, 400)
    x, q = probabilities(couplings, biases)
    table = np.repeat(rows, np.rint(weights * 400).astype(int), axis=0)
    for k in range(5):
        p = table[:, k].mean()
        expected = q @ x[:, k]
        spread = max(r * (1 - r) for r in ((400 * p + 0.5) / 401, (400 * expected + 0.5) / 401))
        assert found.means.z[k] == pytest.approx((p - expected) / np.sqrt(spread / 400))
        assert found.means.model[k] == pytest.approx(expected)
    for (i, j), p, expected in zip(
        found.pairs.labels, found.pairs.rows, found.pairs.model, strict=True
    ):
        assert p == pytest.approx((table[:, i] * table[:, j]).mean())
        assert expected == pytest.approx(q @ (x[:, i] * x[:, j]))
    for k in range(6):
        assert found.counts.rows[k] == pytest.approx((table.sum(axis=1) == k).mean())
        assert found.counts.model[k] == pytest.approx(q[x.sum(axis=1) == k].sum(), abs=1e-14)
    assert found.means.size == pytest.approx(
        max(abs(found.means.rows[k] - found.means.model[k]) / table[:, k].std() for k in range(5))
    )
    assert found.pairs.size == pytest.approx(
        max(
            abs(p - e) / (table[:, i].std() * table[:, j].std())
            for (i, j), p, e in zip(
                found.pairs.labels, found.pairs.rows, found.pairs.model, strict=True
            )
        )
    )


def test_wrong_means_are_not_trusted():
    rows, weights = draw_rows(*random_field(4, 5), 2000, 6)
    model = PairwiseModel(np.zeros((4, 4)), np.array([2.0, 0, 0, 0]), names=list("abcd"))
    found = check_fit(model, rows, weights, 2000)
    assert not found.trust
    assert "means are off by up to" in found.verdict
    assert "in the rows" in found.verdict
    assert found.verdict.split("(")[1][0] in "abcd"


def test_lost_pairs_are_not_trusted():
    couplings = np.array([[0, 3.0], [3.0, 0]])
    rows, weights = draw_rows(couplings, np.array([-1.5, -1.5]), 2000, 7)
    ones = weights @ rows
    found = check_fit(
        PairwiseModel(np.zeros((2, 2)), np.log(ones / (1 - ones))), rows, weights, 2000
    )
    assert found.means.agrees
    assert not found.pairs.good_enough
    assert found.worst is found.counts
    assert "numbers of ones are off by up to 28.7 standard errors (k = 1: " in found.verdict
    assert "Its covariances are too small. Lower alpha somewhat" in found.verdict


def test_what_is_more_than_pairs_shows_in_the_counts():
    # an even number of ones, always: means and pairs are those of fair coins
    states = all_states(6)
    rows = states[states.sum(axis=1) % 2 == 0].astype(np.uint8)
    weights = np.full(len(rows), 1 / len(rows))
    fit = fit_ml(rows, weights, alpha=0.0)
    found = check_fit(PairwiseModel(fit.couplings, fit.biases), rows, weights, 3000)
    assert found.means.agrees
    assert found.pairs.agrees
    assert found.triples.agrees
    assert not found.counts.good_enough
    assert not found.trust
    assert found.verdict.startswith(
        "Trust means and pairs, but no more: numbers of ones are off by up to 36.9 standard "
        "errors (k = 3: 0.0000 in the rows, 0.3125 in the model)."
    )
    assert found.verdict.endswith("no pairwise model can match this.")


def test_with_many_rows_small_differences_do_not_matter():
    couplings, biases = random_field(4, 8)
    x, p = probabilities(couplings, biases)
    near = PairwiseModel(couplings, biases + 0.01)
    few = check_fit(near, x.astype(np.uint8), p, 1000)
    many = check_fit(near, x.astype(np.uint8), p, 10**7)
    assert few.means.agrees
    assert not many.means.agrees
    assert many.means.size < NEGLIGIBLE
    assert many.trust
    assert "too small to matter" in many.verdict


def test_rare_events_are_no_alarm():
    # one row with two ones that the field expects once in ten thousand rows
    table = np.zeros((1000, 3))
    table[0, :2] = 1
    table[:500, 2] = 1
    rows, weights = weigh(table)
    model = PairwiseModel(np.zeros((3, 3)), np.log([0.01 / 0.99, 0.01 / 0.99, 1.0]))
    assert np.abs(check_fit(model, rows, weights, 1000).pairs.z).max() < 4


def test_a_constant_column_is_no_alarm():
    table = (np.random.default_rng(9).random((400, 3)) < 0.5).astype(float)
    table[:, 1] = 0
    rows, weights = weigh(table)
    ones = table[:, [0, 2]].mean(axis=0)
    biases = np.array([0.0, np.log(0.5 / 400.5), 0.0])
    biases[[0, 2]] = np.log(ones / (1 - ones))
    found = check_fit(PairwiseModel(np.zeros((3, 3)), biases), rows, weights, 400)
    assert found.means.agrees
    assert np.isfinite(found.means.size)


def chain_field(n, seed):
    """Sites in a row, exact samples of which are easily drawn one after the other."""
    rng = np.random.default_rng(seed)
    return PairwiseModel.from_edges(
        n, np.column_stack([np.arange(n - 1), np.arange(1, n)]), rng.normal(0, 1, n - 1)
    )


def test_larger_fields_are_sampled():
    model = chain_field(25, 10)
    table = exact_samples(model, 4000, random_state=11)
    rows, weights = weigh(table)
    found = check_fit(model, rows, weights, 4000, n_samples=5000, random_state=12)
    assert found.n_samples == 5000
    assert found.r_hat == pytest.approx(1, abs=0.05)
    assert found.trust
    # the probabilities of the field are right, within five errors of 5,000 nearly independent rows
    exact = model.exact()
    error = 5 * np.sqrt(0.25 / 5000)
    np.testing.assert_allclose(found.means.model, exact.marginals, atol=error)
    assert "5,000 samples, R-hat 1.0" in str(found)
    again = check_fit(model, rows, weights, 4000, n_samples=5000, random_state=12)
    np.testing.assert_array_equal(found.pairs.z, again.pairs.z)
    wrong = check_fit(
        PairwiseModel(model.couplings, model.biases + 0.5), rows, weights, 4000, n_samples=2000
    )
    assert not wrong.trust


def test_monte_carlo_errors_count():
    # With so many rows the error of 1,000 samples is nearly all there is.
    model = chain_field(24, 13)
    rows, weights = weigh(exact_samples(model, 50_000, random_state=14))
    found = check_fit(model, rows, weights, 50_000, n_samples=1000, random_state=15)
    assert found.means.agrees
    assert found.counts.agrees
    assert 0.3 < np.std(found.means.z) < 3


def test_chains_that_disagree_are_told():
    # all sites equal, either way: a chain never crosses
    model = PairwiseModel(0.5 * (np.ones((30, 30)) - np.eye(30)), states=(-1, 1))
    rows = np.vstack([np.zeros(30), np.ones(30)]).astype(np.uint8)
    found = check_fit(model, rows, np.full(2, 0.5), 1000, n_samples=500)
    assert not found.mixed
    assert not found.trust
    assert "chains disagree" in found.verdict


def test_the_summary_is_readable():
    rows, weights = draw_rows(*random_field(4, 16), 500, 17)
    fit = fit_ml(rows, weights, alpha=1e-3)
    found = check_fit(PairwiseModel(fit.couplings, fit.biases), rows, weights, 500)
    lines = str(found).splitlines()
    assert lines[0] == "500 rows compared with the model: exact probabilities"
    for line, part in zip(lines[1:5], found.parts, strict=True):
        assert line.startswith(part.what)
        assert f" {part.largest:.1f}  standard errors off at most (" in line
    assert lines[-1] == found.verdict


def test_one_column_has_no_pairs():
    found = check_fit(
        PairwiseModel([[0.0]], [0.0]), np.array([[0], [1]], np.uint8), np.full(2, 0.5), 40
    )
    assert found.trust
    assert len(found.pairs.z) == 0
    assert "pairs" not in str(found).splitlines()[2]


def test_bad_n_samples_is_named():
    with refuses("n_samples"):
        check_fit(
            PairwiseModel([[0.0]]), np.array([[0], [1]], np.uint8), np.full(2, 0.5), 2, n_samples=0
        )


def report_of(n, n_rows, **options):
    """A report on a fit of n columns that vary."""
    given = {"method": "pl", "penalty": "l2", "alpha": 1e-3, "converged": True} | options
    return FitReport(
        n_rows=n_rows,
        n_distinct=n_rows,
        n_parameters=n * (n + 1) // 2,
        n_couplings=n * (n - 1) // 2,
        n_iter=5,
        gradient_norm=1e-7,
        **given,
    )


def test_noise_is_not_trusted():
    rng = np.random.default_rng(0)
    rows, others = rng.integers(0, 2, (2, 200, 40))
    machine = BoltzmannMachine().fit(rows)
    found = machine.check(rows)
    assert not found.trust
    assert "820 parameters from 200 rows" in found.verdict
    assert (
        "choose alpha by held-out rows (pass alpha='cv'), or check it with held-out rows."
        in found.verdict
    )
    found = machine.check(others, held_out=True)
    assert not found.trust
    assert "held-out rows lose" in found.verdict
    assert "raise alpha tenfold (pass alpha=0.01)" in found.verdict
    assert f"gain             {found.gain:+.4f}   over independent columns; " in str(found)


@pytest.mark.parametrize("n_rows", [2, 5, 20])
def test_few_rows_of_few_columns_are_not_trusted(n_rows):
    rows = np.random.default_rng(1).integers(0, 2, (n_rows, 6))
    rows[:2] = [[0] * 6, [1] * 6]
    found = BoltzmannMachine().fit(rows).check(rows)
    assert not found.trust
    assert f"21 parameters from {n_rows} rows" in found.verdict


def test_a_handful_of_rows_gets_no_verdict():
    rows = np.random.default_rng(2).integers(0, 2, (2000, 6))
    machine = BoltzmannMachine().fit(rows)
    found = machine.check(rows[:1])
    assert not found.trust
    assert found.verdict == "No verdict: 1 row is too few to tell. Give check at least 30."
    assert not machine.check(rows[: FEWEST_ROWS - 1]).trust
    assert machine.check(rows[:FEWEST_ROWS]).verdict.startswith("Trust it: ")


def test_averages_of_few_rows_are_trusted_and_single_couplings_are_not():
    couplings, biases = random_field(6, 1)
    model = PairwiseModel(couplings, biases)
    rows, weights = draw_rows(couplings, biases, 209, 2)
    found = check_fit(model, rows, weights, 209)
    assert found.trust
    assert found.verdict.startswith("Trust it for averages: means")
    assert "10 rows for each parameter, single couplings are uncertain" in found.verdict
    assert check_fit(model, rows, weights, 210).verdict.startswith("Trust it: ")
    assert check_fit(model, rows, weights, 20.5).verdict.startswith("Do not trust it: it has 21")
    # what counts is the rows of the fit, where they are known
    few, many = report_of(6, 15), report_of(6, 210)
    assert not check_fit(model, rows, weights, 209, report=few).trust
    assert check_fit(model, rows, weights, 50, report=many).verdict.startswith("Trust it: ")


def test_held_out_rows_speak_for_a_field_of_many_parameters():
    couplings, biases = random_field(6, 1)
    model = PairwiseModel(couplings, biases)
    rows, weights = draw_rows(couplings, biases, 400, 2)
    learnt = 15, weights @ rows
    found = check_fit(model, rows, weights, 400, report=report_of(6, 15), learnt=learnt)
    assert found.trust
    assert found.gain > 0
    better = report_of(6, 15, held_out=-3.0, held_out_independent=-3.5)
    found = check_fit(model, rows, weights, 400, report=better)
    assert found.trust
    assert "With 0.71 rows for each parameter" in found.verdict
    worse = report_of(6, 15, held_out=-3.5, held_out_independent=-3.0)
    found = check_fit(model, rows, weights, 400, report=worse)
    assert "held-out rows are no likelier than with independent columns" in found.verdict
    assert "'cv'" not in found.verdict
    other = check_fit(model, rows, weights, 400, report=report_of(6, 15, method="pcd"))
    assert "raise alpha, or check it with held-out rows" in other.verdict


def lively(n):
    """A field of n sites that are nearly all zero or, mostly, nearly all one."""
    return PairwiseModel(np.full((n, n), 8 / n) - np.diag(np.full(n, 8 / n)), np.full(n, -3.5))


def quiet_rows(n):
    return weigh(np.random.default_rng(3).random((1000, n)) < 0.05)


@pytest.mark.parametrize(
    ("n", "options", "advice"),
    [
        (
            10,
            {},
            "raise alpha tenfold (pass alpha=0.01), or fit it by likelihood (pass method='ml').",
        ),
        (10, {"method": "ml"}, "raise alpha tenfold (pass alpha=0.01)."),
        (
            10,
            {"penalty": "none"},
            "give it a penalty (pass penalty='l2'), or fit it by likelihood (pass method='ml').",
        ),
        (
            30,
            {},
            "raise alpha tenfold (pass alpha=0.01), or fit it by chains (pass method='pcd').",
        ),
        (30, {"method": "pcd", "alpha": 0.1}, "raise alpha tenfold (pass alpha=1)."),
    ],
)
def test_states_that_the_rows_do_not_have_ask_for_a_larger_penalty(n, options, advice):
    found = check_fit(lively(n), *quiet_rows(n), 1000, report=report_of(n, 1000, **options))
    assert not found.trust
    assert "of its time at numbers of ones that the rows seldom have: " in found.verdict
    assert advice in found.verdict
    assert "ower alpha" not in found.verdict


@pytest.mark.parametrize(
    ("n", "options", "advice"),
    [
        (
            6,
            {},
            "Lower alpha somewhat (pass alpha=0.0003), or fit it by likelihood (pass method='ml'",
        ),
        (
            6,
            {"method": "ml", "alpha": 90.0},
            "Lower alpha somewhat (pass alpha=30).",
        ),
        (
            6,
            {"method": "pcd"},
            "Take more epochs, lower alpha somewhat (pass alpha=0.0003), or fit it",
        ),
        (6, {"converged": False}, "or raise max_iter until the fit converges."),
        (
            6,
            {"penalty": "none"},
            "Give it a penalty (pass penalty='l2'), or fit it by likelihood (pass method='ml').",
        ),
        (
            26,
            {},
            "Lower alpha somewhat (pass alpha=0.0003), or fit it by chains (pass method='pcd').",
        ),
    ],
)
def test_lost_covariance_asks_for_a_smaller_penalty(n, options, advice):
    rng = np.random.default_rng(5)
    rows, weights = weigh(rng.random((1000, n)) < np.where(rng.random((1000, 1)) < 0.5, 0.3, 0.7))
    ones = weights @ rows
    model = PairwiseModel(np.zeros((n, n)), np.log(ones / (1 - ones)))
    found = check_fit(model, rows, weights, 1000, report=report_of(n, 1000, **options))
    assert found.means.agrees
    assert "are off by up to" in found.verdict
    assert advice in found.verdict
    assert ("Its covariances are too small" in found.verdict) == ("penalty" not in options)
    assert "aise alpha" not in found.verdict


def test_valleys_in_other_shares_are_told():
    # both valleys are those of the rows, but one is much too wide
    couplings, biases = np.full((8, 8), 1.2) - 1.2 * np.eye(8), np.full(8, -4.2)
    rows, weights = draw_rows(couplings, biases, 2000, 6)
    found = check_fit(
        PairwiseModel(couplings, biases + 0.3), rows, weights, 2000, report=report_of(8, 2000)
    )
    assert found.means.largest > 20
    assert (
        "Its states come in other shares than those of the rows. Fit it by likelihood (pass "
        "method='ml'), or raise alpha tenfold (pass alpha=0.01)." in found.verdict
    )


def test_small_differences_leave_the_penalty_open():
    couplings, biases = random_field(4, 8)
    rows, weights = draw_rows(couplings, biases, 5000, 9)
    found = check_fit(PairwiseModel(couplings, biases + 0.3), rows, weights, 5000)
    assert not found.trust
    assert found.verdict.endswith(
        "Try other values of alpha, or fit it by likelihood (pass method='ml')."
    )
