import warnings
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from herder.learn.missing import UnmixedWarning, conditional_probabilities, impute
from herder.models.pairwise import PairwiseModel
from tests.learn.brute import random_field
from tests.naming import refuses

NAN = np.nan


def brute(model, row):
    """Sum over all states that agree with a row: probabilities of whole states."""
    states = np.array(list(product(model.states, repeat=model.n_sites)), dtype=float)
    known = ~np.isnan(row)
    states = states[(states[:, known] == row[known]).all(axis=1)]
    energies = np.array([model.energy(state) for state in states])
    p = np.exp(energies.min() - energies)
    return states, p / p.sum()


def field(n, seed, states):
    return PairwiseModel(*random_field(n, seed, coupling_sd=0.8), states=states, offset=2.0)


def rows_with_holes(model, n_rows, share, seed):
    rng = np.random.default_rng(seed)
    rows = rng.choice(np.array(model.states, dtype=float), (n_rows, model.n_sites))
    rows[rng.random(rows.shape) < share] = NAN
    rows[0], rows[1] = NAN, model.states[1]
    return rows


@pytest.mark.parametrize("states", [(0, 1), (-1, 1)])
@pytest.mark.parametrize("graph", ["dense", "sparse", "loop", "empty"])
def test_probabilities_are_sums_over_what_is_unknown(states, graph):
    if graph in ("loop", "empty"):
        model = PairwiseModel.random(
            7, coupling_sd=1.0, bias_sd=0.7, graph=graph, states=states, random_state=1
        )
    else:
        model = field(7, 1, states)
        if graph == "sparse":
            model = PairwiseModel(sparse.csr_array(model.couplings), model.biases, states)
    rows = rows_with_holes(model, 60, 0.4, 2)
    given = rows.copy()
    found = conditional_probabilities(model, rows)
    np.testing.assert_array_equal(rows, given)
    for row, probability in zip(rows, found, strict=True):
        whole, p = brute(model, row)
        np.testing.assert_allclose(probability, p @ (whole == states[1]), atol=1e-12)
    known = ~np.isnan(rows)
    np.testing.assert_array_equal(found[known], rows[known] == states[1])


def test_the_more_probable_state_is_filled_in():
    model = field(6, 3, (-1, 1))
    rows = rows_with_holes(model, 40, 0.5, 4)
    filled = impute(model, rows)
    for row, full in zip(rows, filled, strict=True):
        whole, p = brute(model, row)
        np.testing.assert_array_equal(full, np.where(p @ (whole == 1) > 0.5, 1.0, -1.0))
    assert filled.dtype == np.float64


def test_even_odds_give_the_lower_state():
    model = PairwiseModel(np.zeros((2, 2)), states=(-1, 1))
    np.testing.assert_array_equal(impute(model, [[NAN, 1.0]]), [[-1.0, 1.0]])


@pytest.mark.parametrize(("max_exact", "n_rows"), [(16, 4000), (0, 400)])
def test_draws_are_joint(max_exact, n_rows):
    # Two of three unknown sites want to be equal: drawn one by one they would often differ.
    couplings = np.array([[0, 3.0, 0, 0.5], [3.0, 0, 0, 0], [0, 0, 0, -1.0], [0.5, 0, -1.0, 0]])
    model = PairwiseModel(couplings, [-1.5, -1.5, 0.2, 0.0])
    rows = np.full((n_rows, 4), NAN)
    rows[:, 3] = 1.0
    filled = impute(model, rows, draw=True, max_exact=max_exact, n_sweeps=2000, random_state=5)
    whole, p = brute(model, rows[0])
    shares = np.array([(filled == state).all(axis=1).mean() for state in whole])
    # five standard errors of independent rows; 500 sweeps of these sites forget the start
    np.testing.assert_allclose(shares, p, atol=5 * np.sqrt(0.25 / n_rows))
    assert shares.sum() == pytest.approx(1.0)
    equal = (filled[:, 0] == filled[:, 1]).mean()
    assert equal > 0.75


def test_larger_parts_are_sampled():
    model = field(9, 6, (0, 1))
    rows = rows_with_holes(model, 6, 0.6, 7)
    exact = conditional_probabilities(model, rows)
    sampled = conditional_probabilities(model, rows, max_exact=3, random_state=8)
    assert (exact != sampled).any()
    # 5,000 sweeps; five standard errors of a tenth as many independent ones, which is more than
    # these chains need
    np.testing.assert_allclose(sampled, exact, atol=5 * np.sqrt(0.25 / 500))
    again = conditional_probabilities(model, rows, max_exact=3, random_state=8)
    np.testing.assert_array_equal(sampled, again)
    short = conditional_probabilities(model, rows, max_exact=3, n_sweeps=10, random_state=8)
    assert np.abs(short - exact).max() > np.abs(sampled - exact).max()


def two_valleys(n, depth):
    """All sites want to be equal, and both states are alike."""
    couplings = depth * (np.ones((n, n)) - np.eye(n))
    return PairwiseModel(couplings, np.full(n, -depth * (n - 1) / 2))


def test_chains_that_disagree_are_told():
    model = two_valleys(24, 1.5)
    rows = np.full((3, 24), NAN)
    rows[1] = 1.0  # nothing unknown
    with pytest.warns(UnmixedWarning, match=r"2 of 3 rows .*R-hat above 1.1; the first is row 0"):
        found = conditional_probabilities(model, rows)
    # either valley has a chain that began in it
    assert ((found[[0, 2]] > 0.2) & (found[[0, 2]] < 0.8)).all()
    with pytest.warns(UnmixedWarning, match="2 of 3 rows"):
        impute(model, rows)


def test_draws_of_chains_that_disagree_are_of_all_valleys():
    rows = np.full((40, 22), NAN)
    with pytest.warns(UnmixedWarning, match="40 of 40 rows"):
        filled = impute(two_valleys(22, 1.5), rows, draw=True, n_sweeps=400, random_state=0)
    ones = filled.mean(axis=1)
    assert np.isin(ones.round(), (0, 1)).all()
    # half of 40 rows, give or take four standard deviations
    assert 7 <= (ones > 0.5).sum() <= 33


def test_chains_that_agree_say_nothing():
    # warnings are errors here
    found = conditional_probabilities(two_valleys(24, 0.05), np.full((1, 24), NAN))
    np.testing.assert_allclose(found, 0.5, atol=0.05)


def test_the_beginning_of_a_chain_does_not_count():
    # From all low it takes some ten sweeps to the upper states, and there is next to no way back:
    # counted among the 250 sweeps of that chain they would make it miss by a percent.
    model = PairwiseModel(2 * (np.ones((6, 6)) - np.eye(6)), np.full(6, -3.5))
    rows = np.full((60, 6), NAN)
    states, p = brute(model, rows[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmixedWarning)  # a few take longer than 25 sweeps
        found = conditional_probabilities(model, rows, max_exact=0, n_sweeps=1000)
    np.testing.assert_allclose(found.mean(axis=0), p @ states, atol=3e-3)


@pytest.mark.parametrize("max_exact", [16, 20])
def test_twenty_unknown_sites_are_summed_over(max_exact):
    # a chain: the transfer matrix gives the truth
    n, coupling, bias = 20, 1.3, -0.4
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    model = PairwiseModel.from_edges(n, edges, coupling, np.full(n, bias))
    step = np.exp([[0.0, bias], [0.0, coupling + bias]])
    ahead = [np.array([1.0, np.exp(bias)])]
    behind = [np.ones(2)]
    for _ in range(n - 1):
        ahead.append(ahead[-1] @ step)
        behind.append(step @ behind[-1])
    both = np.array(ahead) * np.array(behind[::-1])
    truth = both[:, 1] / both.sum(axis=1)
    found = conditional_probabilities(model, np.full((1, n), NAN), max_exact=max_exact)
    # five standard errors of a fifth of 5,000 sweeps, or rounding
    atol = 1e-12 if max_exact == 20 else 5 * np.sqrt(0.25 / 1000)
    np.testing.assert_allclose(found[0], truth, atol=atol)
    assert (np.abs(found[0] - truth).max() > 1e-6) == (max_exact == 16)


def test_parts_that_no_coupling_connects_are_exact_apart():
    # 40 unknown sites in pairs: no part has more than two
    edges = np.arange(40).reshape(20, 2)
    model = PairwiseModel.from_edges(41, edges, 1.0, np.full(41, 0.3))
    row = np.full((1, 41), NAN)
    row[0, 40] = 0
    odds = np.exp([0.0, 0.3, 0.3, 1.6])
    expected = (odds[1] + odds[3]) / odds.sum()
    found = conditional_probabilities(model, row, max_exact=2)
    np.testing.assert_allclose(found[0, :40], expected, rtol=1e-12)


def test_extreme_couplings_do_not_overflow():
    couplings = 1e3 * (np.ones((4, 4)) - np.eye(4))
    model = PairwiseModel(couplings, np.full(4, -1.5e3))
    found = conditional_probabilities(model, [[NAN] * 4, [1, NAN, NAN, NAN]])
    np.testing.assert_allclose(found[0], 0.5)
    np.testing.assert_allclose(found[1], 1.0)


def test_nothing_unknown_and_no_rows():
    model = field(3, 9, (-1, 1))
    rows = np.array([[1.0, -1.0, 1.0]])
    np.testing.assert_array_equal(impute(model, rows), rows)
    assert conditional_probabilities(model, np.empty((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("X", "options", "error", "name"),
    [
        ([[0, 2, NAN]], {}, ValueError, "X"),
        ([[0, np.inf, NAN]], {}, ValueError, "X"),
        ([[0, 1]], {}, ValueError, "X"),
        ([0, 1, NAN], {}, ValueError, "X"),
        ([["a", "b", "c"]], {}, TypeError, "X"),
        ([[0, 1, NAN]], {"max_exact": 21}, ValueError, "max_exact"),
        ([[0, 1, NAN]], {"max_exact": -1}, ValueError, "max_exact"),
        ([[0, 1, NAN]], {"n_sweeps": 0}, ValueError, "n_sweeps"),
    ],
)
def test_bad_input_is_named(X, options, error, name):
    for function in (conditional_probabilities, impute):
        with refuses(name, error):
            function(field(3, 10, (0, 1)), X, **options)


def test_a_model_is_wanted():
    with refuses("model", TypeError):
        impute(None, [[NAN]])  # pyright: ignore[reportArgumentType]
