import math

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from herder import count_distribution, kl_divergence, total_variation
from tests.naming import refuses

tables = hnp.arrays(
    np.int8, st.tuples(st.integers(1, 9), st.integers(1, 6)), elements=st.integers(0, 1)
)
weights = hnp.arrays(np.float64, 5, elements=st.floats(0.01, 1.0))


@given(tables)
def test_counts_are_those_of_a_plain_loop(X):
    expected = [sum(sum(row) == k for row in X.tolist()) / len(X) for k in range(X.shape[1] + 1)]
    assert count_distribution(X).tolist() == expected


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.float16, np.float64, object])
def test_counts_do_not_overflow_the_dtype(dtype):
    assert count_distribution(np.ones((2, 3000), dtype=dtype))[3000] == 1.0


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil"])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float64])
def test_sparse_equals_dense(form, dtype):
    X = (np.random.default_rng(0).random((40, 300)) < 0.5).astype(dtype)
    for sparse in (scipy.sparse.csr_matrix(X), scipy.sparse.csr_array(X)):
        counts = count_distribution(sparse.asformat(form))
        np.testing.assert_array_equal(counts, count_distribution(X))


def test_repeated_sparse_entries_add_up_and_input_is_untouched():
    X = scipy.sparse.csr_matrix((np.ones(2), [0, 0], [0, 2]), shape=(1, 3))
    with refuses("X"):
        count_distribution(X)
    assert X.nnz == 2


@pytest.mark.parametrize("bad", [2, -1, 0.5, math.nan])
def test_counts_refuse_other_values(bad):
    with refuses("X"):
        count_distribution(np.array([[0, 1], [bad, 0]]))


@pytest.mark.parametrize("shape", [(0,), (3,), (0, 3), (3, 0), (1, 2, 2)])
def test_counts_refuse_other_shapes(shape):
    with refuses("X"):
        count_distribution(np.zeros(shape))


def test_counts_refuse_text_and_a_wrong_width():
    with refuses("X", TypeError):
        count_distribution([["0", "1"]])
    with refuses("n_variables"):
        count_distribution([[0, 1]], 1)


def test_counts_on_a_longer_axis():
    assert count_distribution([[0, 1]], 4).tolist() == [0, 1, 0, 0, 0]


def test_known_divergence():
    expected = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    assert kl_divergence([0.5, 0.5], [0.25, 0.75], floor=0.0) == pytest.approx(expected)
    assert kl_divergence([1.0, 0.0], [0.5, 0.5], floor=0.0) == pytest.approx(math.log(2))


def test_floor_makes_an_empty_cell_finite():
    assert kl_divergence([0.5, 0.5], [1.0, 0.0], floor=0.0) == math.inf
    floor = 1e-3
    q = np.array([1.0 + floor, floor]) / (1 + 2 * floor)
    expected = 0.5 * np.log(0.5 / q).sum()
    assert kl_divergence([0.5, 0.5], [1.0, 0.0], floor=floor) == pytest.approx(expected)
    # The default floor is 1e-10.
    assert kl_divergence([0.0, 1.0], [1.0, 0.0]) == pytest.approx(10 * math.log(10))


@given(weights, weights)
def test_laws_of_the_distances(p, q):
    assert kl_divergence(p, p, floor=0.0) == 0.0
    assert total_variation(p, q) == total_variation(q, p)
    # Pinsker: TV <= sqrt(KL / 2); the slack is for rounding near p = q.
    assert total_variation(p, q) <= math.sqrt(kl_divergence(p, q, floor=0.0) / 2) + 1e-7


def test_counts_will_do_and_input_is_untouched():
    p = np.array([2.0, 2.0])
    assert total_variation(p, [0.25, 0.75]) == 0.25
    assert p.tolist() == [2.0, 2.0]
    assert total_variation([1, 0], [0, 1]) == 1.0


@pytest.mark.parametrize("distance", [kl_divergence, total_variation])
def test_distances_refuse_what_is_no_distribution(distance):
    with refuses("p"):
        distance([1.5, -0.5], [0.5, 0.5])
    with refuses("q"):
        distance([0.5, 0.5], [math.nan, 0.5])
    with refuses("p"):
        distance([0, 0], [0.5, 0.5])
    with refuses("q"):
        distance([0.5, 0.5], [0.5, 0.25, 0.25])


@pytest.mark.parametrize("floor", [-1e-3, 1.0, 1e308, math.nan, math.inf])
def test_divergence_refuses_a_bad_floor(floor):
    with refuses("floor"):
        kl_divergence([1.0], [1.0], floor=floor)
