from fractions import Fraction
from itertools import combinations, pairwise, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from herder.data.variables import Variable
from herder.fields.bounds import WIDTH, Bounds, count_bounds, expectation_bounds
from herder.metrics import count_distribution
from herder.models.layout import all_cliques
from herder.models.moments import Moments

# The solver meets its constraints to 1e-10; bounds are compared ten times looser.
TOL = 1e-9


def binary_variables(width):
    return tuple(Variable(f"x{i}", (0, 1), "int64") for i in range(width))


def from_distribution(states, weights, order):
    """Moments of weighted rows over 0/1 alphabets, counted by hand."""
    states, weights = np.asarray(states), np.asarray(weights, dtype=float)
    width = states.shape[1]
    cliques = all_cliques(width, order)
    counts = []
    for clique in cliques:
        table = np.zeros((2,) * len(clique))
        np.add.at(table, tuple(states[:, i] for i in clique), weights)
        counts.append(table.ravel())
    totals = np.full(len(cliques), weights.sum())
    return Moments(binary_variables(width), cliques, np.concatenate(counts), totals)


def from_rows(rows, order):
    return from_distribution(rows, np.ones(len(rows)), order)


def exchangeable(count_weights, order):
    """Moments of the distribution with given P(K = k) and all orders of columns alike."""
    width = len(count_weights) - 1
    states = np.array(list(product((0, 1), repeat=width)))
    ones = states.sum(axis=1)
    weights = [count_weights[k] / comb(width, k) for k in ones]
    return from_distribution(states, weights, order)


def binary_rows(max_width=5):
    return st.integers(1, max_width).flatmap(
        lambda width: st.lists(
            st.lists(st.integers(0, 1), min_size=width, max_size=width), min_size=1, max_size=12
        )
    )


def assert_inside(bounds, truth, tol=TOL):
    assert (bounds.lower <= truth + tol).all()
    assert (truth <= bounds.upper + tol).all()


def assert_not_wider(tight, loose):
    assert (tight.lower >= loose.lower - TOL).all()
    assert (tight.upper <= loose.upper + TOL).all()


def tail_of(distribution):
    return 1 - np.cumsum(distribution)


def basic_solutions(width, binomial):
    """Vertices of the binomial programme in exact arithmetic: the slow twin."""
    size = len(binomial)
    for basis in combinations(range(width + 1), size):
        system = [[Fraction(comb(k, m)) for k in basis] + [binomial[m]] for m in range(size)]
        for i in range(size):  # columns of distinct k are independent: no zero pivot for long
            pivot = next(r for r in range(i, size) if system[r][i])
            system[i], system[pivot] = system[pivot], system[i]
            system[i] = [value / system[i][i] for value in system[i]]
            for r in range(size):
                if r != i:
                    factor = system[r][i]
                    system[r] = [a - factor * b for a, b in zip(system[r], system[i], strict=True)]
        solution = [row[-1] for row in system]
        if min(solution) >= 0:
            full = np.zeros(width + 1)
            full[list(basis)] = [float(value) for value in solution]
            yield full


class TestClosedForms:
    @given(binary_rows())
    def test_boole_frechet_for_singles(self, rows):
        X = np.array(rows)
        singles = X.mean(axis=0)
        bounds = count_bounds(from_rows(X, 1), tail=True, method="joint")
        assert_allclose(bounds.lower[0], singles.max(), atol=TOL)
        assert_allclose(bounds.upper[0], min(1, singles.sum()), atol=TOL)
        # all of them together
        width = X.shape[1]
        assert_allclose(bounds.lower[width - 1], max(0, singles.sum() - width + 1), atol=TOL)
        assert_allclose(bounds.upper[width - 1], singles.min(), atol=TOL)

    @given(binary_rows(max_width=30))
    def test_dawson_sankoff_and_kwerel_for_pairs(self, rows):
        X = np.array(rows)
        width, ones = X.shape[1], X.sum(axis=1)
        first, second = ones.mean(), (ones * (ones - 1) / 2).mean()
        bounds = count_bounds(from_rows(X, 2), tail=True, method="binomial")
        i = 1 + int(np.floor(2 * second / first)) if first else 1
        dawson_sankoff = 2 * first / (i + 1) - 2 * second / (i * (i + 1))
        kwerel = min(1, first - 2 * second / width)
        assert_allclose(bounds.lower[0], dawson_sankoff, atol=TOL)
        assert_allclose(bounds.upper[0], kwerel, atol=TOL)

    @pytest.mark.parametrize("width", [50, pytest.param(300, marks=pytest.mark.slow)])
    def test_pairs_of_many_columns(self, width):
        rng = np.random.default_rng(5)
        X = (rng.random((200, width)) < rng.random((200, 1)) ** 3).astype(int)
        ones = X.sum(axis=1)
        first, second = ones.mean(), (ones * (ones - 1) / 2).mean()
        bounds = count_bounds(from_rows(X, 2), tail=True)
        assert bounds.method == "binomial"
        i = 1 + int(np.floor(2 * second / first))
        assert_allclose(
            bounds.lower[0], 2 * first / (i + 1) - 2 * second / (i * (i + 1)), atol=TOL
        )
        assert_allclose(bounds.upper[0], min(1, first - 2 * second / width), atol=TOL)

    def test_markov_and_its_converse_for_one_sum(self):
        moments = exchangeable([0.5, 0.2, 0.1, 0.1, 0.1], 1)
        mean = 0.2 + 0.2 + 0.3 + 0.4
        bounds = count_bounds(moments, tail=True, method="binomial")
        k = np.arange(4)
        assert_allclose(bounds.upper[:4], np.minimum(1, mean / (k + 1)), atol=TOL)
        assert_allclose(bounds.lower[:4], np.maximum(0, (mean - k) / (4 - k)), atol=TOL)


class TestBinomial:
    @pytest.mark.parametrize("tail", [False, True])
    @pytest.mark.parametrize("order", [1, 2, 3])
    def test_equals_the_best_vertex(self, order, tail):
        width = 9
        rng = np.random.default_rng(order)
        X = (rng.random((40, width)) < rng.random((40, 1))).astype(int)
        ones = X.sum(axis=1)
        binomial = [Fraction(sum(comb(k, m) for k in ones.tolist()), 40) for m in range(order + 1)]
        vertices = np.array(list(basic_solutions(width, binomial)))
        reached = 1 - np.cumsum(vertices, axis=1) if tail else vertices
        bounds = count_bounds(from_rows(X, order), tail=tail, method="binomial")
        assert_allclose(bounds.lower, reached.min(axis=0), atol=TOL)
        assert_allclose(bounds.upper, reached.max(axis=0), atol=TOL)

    @pytest.mark.parametrize("width", [25, pytest.param(100, marks=pytest.mark.slow)])
    def test_triples_of_many_columns(self, width):
        rng = np.random.default_rng(11)
        X = (rng.random((300, width)) < 0.6 * rng.random((300, 1)) ** 2).astype(int)
        truth = count_distribution(X)
        pairs = count_bounds(Moments.from_data(X, 2))
        triples = count_bounds(Moments.from_data(X, 3))
        assert triples.method == "binomial"
        assert not triples.sharp
        assert_inside(triples, truth)
        assert_not_wider(triples, pairs)
        assert (triples.upper - triples.lower).sum() < (pairs.upper - pairs.lower).sum()

    def test_sums_come_from_larger_cliques_too(self):
        rng = np.random.default_rng(3)
        X = rng.integers(0, 2, (30, 4))
        whole = count_bounds(from_rows(X, 3), method="binomial")
        triples = Moments.from_data(X, cliques=list(combinations(range(4), 3)))
        only = count_bounds(triples, method="binomial")
        assert_allclose(only.lower, whole.lower, atol=TOL)
        assert_allclose(only.upper, whole.upper, atol=TOL)

    def test_missing_pairs_leave_the_singles(self):
        X = np.random.default_rng(4).integers(0, 2, (30, 4))
        some = Moments.from_data(X, cliques=[(0, 1), (2, 3), (1, 2)])
        bounds = count_bounds(some, method="binomial")
        singles = count_bounds(from_rows(X, 1), method="binomial")
        assert_allclose(bounds.lower, singles.lower, atol=TOL)
        assert_allclose(bounds.upper, singles.upper, atol=TOL)

    def test_an_unknown_column_leaves_everything_open(self):
        X = np.random.default_rng(4).integers(0, 2, (30, 3))
        bounds = count_bounds(Moments.from_data(X, cliques=[(0, 1)]), method="binomial")
        assert_allclose(bounds.lower, 0)
        assert_allclose(bounds.upper, 1)


class TestLaws:
    @given(binary_rows(), st.integers(1, 3), st.booleans())
    def test_truth_inside_and_joint_not_wider(self, rows, order, tail):
        X = np.array(rows)
        moments = from_rows(X, min(order, X.shape[1]))
        truth = count_distribution(X)
        truth = tail_of(truth) if tail else truth
        joint = count_bounds(moments, tail=tail, method="joint")
        binomial = count_bounds(moments, tail=tail, method="binomial")
        for bounds in (joint, binomial):
            assert_inside(bounds, truth)
            assert (bounds.lower <= bounds.upper).all()
            assert (bounds.lower >= 0).all()
            assert (bounds.upper <= 1).all()
        assert_not_wider(joint, binomial)

    @given(binary_rows(), st.sampled_from(["joint", "binomial"]))
    def test_higher_orders_are_not_wider(self, rows, method):
        X = np.array(rows)
        orders = range(1, min(3, X.shape[1]) + 1)
        by_order = [count_bounds(from_rows(X, order), method=method) for order in orders]
        for loose, tight in pairwise(by_order):
            assert_not_wider(tight, loose)

    @given(st.lists(st.integers(0, 9), min_size=2, max_size=6).filter(any), st.integers(1, 3))
    def test_exchangeable_binomial_equals_joint(self, count_weights, order):
        moments = exchangeable(count_weights, min(order, len(count_weights) - 1))
        joint = count_bounds(moments, method="joint")
        binomial = count_bounds(moments, method="binomial")
        assert_allclose(joint.lower, binomial.lower, atol=TOL)
        assert_allclose(joint.upper, binomial.upper, atol=TOL)

    @given(st.data())
    def test_expectations_of_categories_lie_inside(self, data):
        sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
        rows = data.draw(
            st.lists(st.tuples(*(st.integers(0, k - 1) for k in sizes)), min_size=1, max_size=10)
        )
        X = np.array(rows)
        moments = Moments.from_data(X, 2)
        seed = data.draw(st.integers(0, 99))
        values = np.random.default_rng(seed).normal(size=(2, np.prod(moments.n_values)))

        def function(codes):
            return values[:, np.ravel_multi_index(codes.T.astype(int), moments.n_values)].T

        codes = np.column_stack(
            [
                [variable.code(value) for value in column.tolist()]
                for variable, column in zip(moments.variables, X.T, strict=True)
            ]
        )
        bounds = expectation_bounds(moments, function)
        assert bounds.lower.shape == (2,)
        assert_inside(bounds, function(codes).mean(axis=0))
        assert (bounds.lower >= values.min(axis=1) - TOL).all()

    def test_all_columns_together_leave_nothing_open(self):
        X = np.random.default_rng(0).integers(0, 2, (50, 4))
        bounds = count_bounds(from_rows(X, 4))
        assert bounds.sharp
        assert_allclose(bounds.lower, count_distribution(X), atol=TOL)
        assert_allclose(bounds.upper, count_distribution(X), atol=TOL)

    def test_same_bits_twice_and_input_untouched(self):
        moments = from_rows(np.random.default_rng(1).integers(0, 2, (20, 6)), 2)
        before = moments.counts.copy()
        first, second = count_bounds(moments), count_bounds(moments)
        assert (first.lower == second.lower).all()
        assert (first.upper == second.upper).all()
        assert (moments.counts == before).all()


class TestCounts:
    def test_tail_is_more_than_k(self):
        # two coins that always agree: none or both
        bounds = count_bounds(from_rows([[0, 0], [1, 1]], 2), tail=True)
        assert_allclose(bounds.lower, [0.5, 0.5, 0], atol=TOL)
        assert_allclose(bounds.upper, [0.5, 0.5, 0], atol=TOL)

    def test_joint_uses_what_the_sums_forget(self):
        # P(any) is at least the largest single, however small the others are
        moments = from_rows([[1, 0, 0], [1, 0, 0], [0, 0, 0]], 1)
        joint = count_bounds(moments, tail=True, method="joint")
        binomial = count_bounds(moments, tail=True, method="binomial")
        assert_allclose(joint.lower[0], 2 / 3, atol=TOL)
        assert_allclose(binomial.lower[0], 2 / 9, atol=TOL)

    def test_auto_goes_by_size(self):
        X = np.random.default_rng(2).integers(0, 2, (20, 13))
        assert count_bounds(Moments.from_data(X[:, :4], 2)).method == "joint"
        assert count_bounds(Moments.from_data(X, 3)).method == "binomial"

    def test_labels_are_counted_by_code(self):
        bounds = count_bounds(Moments.from_data([["no", "b"], ["yes", "b"], ["no", "a"]], 2))
        assert_allclose(bounds.lower, [1 / 3, 1 / 3, 1 / 3], atol=TOL)

    def test_unequal_totals_are_probabilities(self):
        moments = from_rows([[0, 0], [1, 1], [1, 0], [0, 0]], 2)
        scale = np.array([3.0, 1.0, 10.0])
        cells = np.repeat(scale, [2, 2, 4])
        other = Moments(
            moments.variables, moments.cliques, moments.counts * cells, moments.totals * scale
        )
        for method in ("joint", "binomial"):
            one = count_bounds(moments, method=method)
            two = count_bounds(other, method=method)
            assert_allclose(one.lower, two.lower, atol=TOL)
            assert_allclose(one.upper, two.upper, atol=TOL)

    def test_result_is_frozen(self):
        bounds = count_bounds(from_rows([[0, 1]], 1))
        assert isinstance(bounds, Bounds)
        with pytest.raises(AttributeError):
            bounds.sharp = False  # type: ignore[misc]


def pair_moments(singles, pairs):
    """Probabilities of three columns, consistent or not."""
    counts = [np.array([1 - p, p]) for p in singles]
    for (i, j), both in pairs.items():
        a, b = singles[i], singles[j]
        counts.append(np.array([1 - a - b + both, b - both, a - both, both]))
    cliques = (*((i,) for i in range(len(singles))), *pairs)
    return Moments(
        binary_variables(len(singles)), cliques, np.concatenate(counts), np.ones(len(cliques))
    )


class TestInconsistent:
    # Three fair coins, each pair never alike: every pair is possible, all three are not.
    odd = pair_moments([0.5] * 3, {(0, 1): 0.0, (0, 2): 0.0, (1, 2): 0.0})

    @pytest.mark.parametrize("method", ["joint", "binomial"])
    def test_counts_say_so(self, method):
        with pytest.raises(ValueError, match=r"consistent.*contradictions\(\)"):
            count_bounds(self.odd, method=method)

    def test_expectations_say_so_even_of_a_constant(self):
        with pytest.raises(ValueError, match="consistent"):
            expectation_bounds(self.odd, lambda codes: np.ones(len(codes)))

    def test_tables_that_disagree_about_a_column(self):
        moments = pair_moments([0.5, 0.5], {(0, 1): 0.25})
        counts = moments.counts.copy()
        counts[:2] = [0.4, 0.6]
        wrong = Moments(moments.variables, moments.cliques, counts, moments.totals)
        with pytest.raises(ValueError, match="consistent"):
            count_bounds(wrong)

    @pytest.mark.parametrize("method", ["joint", "binomial"])
    @pytest.mark.parametrize("off", [1e-16, 1e-12, 1e-10, WIDTH / 2])
    def test_rounding_is_forgiven(self, off, method):
        third = 1 / 3
        pairs = {(0, 1): -off, (0, 2): -off, (1, 2): -off}
        bounds = count_bounds(pair_moments([third + off] * 3, pairs), method=method)
        # Exactly one of three: wider by WIDTH times the dual weights, some units each.
        assert_allclose(bounds.lower, [0, 1, 0, 0], atol=30 * WIDTH)
        assert_allclose(bounds.upper, [0, 1, 0, 0], atol=30 * WIDTH)

    @pytest.mark.parametrize("method", ["joint", "binomial"])
    def test_more_than_rounding_is_not(self, method):
        off = 1e-6
        pairs = {(0, 1): -off, (0, 2): -off, (1, 2): -off}
        with pytest.raises(ValueError, match="consistent"):
            count_bounds(pair_moments([1 / 3] * 3, pairs), method=method)


class TestRefusals:
    def test_categories_have_no_ones(self):
        moments = Moments.from_data([[0, 1], [1, 2], [2, 0]], 1)
        with pytest.raises(ValueError, match="moments must be of columns with two values"):
            count_bounds(moments)

    def test_method(self):
        with pytest.raises(ValueError, match="method must be one of"):
            count_bounds(from_rows([[0, 1]], 1), method="best")

    def test_large_spaces(self):
        moments = from_rows(np.ones((2, 15), dtype=int), 1)
        with pytest.raises(ValueError, match="at most 16384 states"):
            count_bounds(moments, method="joint")
        with pytest.raises(ValueError, match="at most 16384 states"):
            expectation_bounds(moments, lambda codes: codes[:, 0])

    @pytest.mark.parametrize("values", [np.ones(3), 1.0, np.ones((4, 1, 1))])
    def test_function_of_the_wrong_shape(self, values):
        with pytest.raises(ValueError, match="function must return one value or one row"):
            expectation_bounds(from_rows([[0, 1]], 1), lambda codes: values)

    def test_function_that_is_not_finite(self):
        with pytest.raises(ValueError, match="function must return finite values"):
            expectation_bounds(from_rows([[0, 1]], 1), lambda codes: np.full(len(codes), np.nan))
