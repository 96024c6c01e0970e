"""Mercer kernels of dense and sparse rows: values to the last digits, parameters, refusals."""

import numpy as np
import pytest
from scipy import sparse

from herder.online.inputs import read_rows, row_arrays
from herder.online.mercer import KERNELS, Mercer, RowStore
from tests.naming import refuses


def make_rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_by_name_are_their_formulas(kernel, dense):
    A, B = make_rows(7, 4), make_rows(5, 4, seed=1)
    products, gaps = A @ B.T, A[:, None] - B
    known = {
        "linear": products,
        "rbf": np.exp(-0.6 * (gaps**2).sum(axis=2)),
        "poly": (0.6 * products + 0.2) ** 4,
        "laplacian": np.exp(-0.6 * np.abs(gaps).sum(axis=2)),
    }[kernel]
    form = np.asarray if dense else sparse.csr_array
    found = Mercer(kernel, 0.6, degree=4, coef0=0.2, shift=2.0).gram(form(A), form(B))
    assert np.allclose(found, known + 2.0, rtol=1e-13)
    assert Mercer(kernel, 0.6).gram(form(A), form(B)[:0]).shape == (7, 0)


@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_distances_keep_their_digits_far_from_the_origin(d, offset):
    rng = np.random.default_rng(19)
    A = np.round(rng.normal(size=(30, d)), 3) + offset
    B = np.concatenate([A[:5], A[:5] + 2.0**-10, np.round(rng.normal(size=(20, d)), 3) + offset])
    exact = np.exp(-0.1 * ((A[:, None] - B) ** 2).sum(axis=2))
    eps = np.finfo(float).eps
    assert np.abs(Mercer("rbf", 0.1).gram(A, B) - exact).max() < 10 * eps
    if not offset:
        found = Mercer("rbf", 0.1).gram(sparse.csr_array(A), sparse.csr_array(B))
        assert np.abs(found - exact).max() < 10 * eps


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
def test_the_diagonal_of_a_kernel(kernel):
    X = make_rows(10, 4)
    for rows in (X, sparse.csr_array(X)):
        given = Mercer(kernel, shift=1.0).fixed(rows)
        assert np.allclose(given.diagonal(rows), given.gram(rows, rows).diagonal(), rtol=1e-14)


def test_gamma_by_default_and_by_scale():
    X = make_rows(40, 5, seed=20)
    X[np.abs(X) < 0.7] = 0.0
    assert Mercer("rbf").fixed(X).gamma == 0.2
    assert Mercer("rbf", 3.0).fixed(X).gamma == 3.0
    for rows in (X, sparse.csr_matrix(X)):
        assert Mercer("rbf", "scale").fixed(rows).gamma == pytest.approx(1 / (5 * X.var()))
    assert Mercer("rbf", "scale").fixed(np.ones((3, 2))).gamma == 1.0


@pytest.mark.parametrize(
    ("options", "error", "name"),
    [
        ({"kernel": "sigmoid"}, ValueError, "kernel"),
        ({"gamma": 0.0}, ValueError, "gamma"),
        ({"gamma": "auto"}, ValueError, "gamma"),
        ({"gamma": True}, ValueError, "gamma"),
        ({"gamma": np.inf}, ValueError, "gamma"),
        ({"coef0": -1.0}, ValueError, "coef0"),
        ({"coef0": np.nan}, ValueError, "coef0"),
        ({"degree": 0}, ValueError, "degree"),
        ({"degree": 2.5}, TypeError, "degree"),
    ],
)
def test_bad_parameters_are_refused(options, error, name):
    with refuses(name, error):
        Mercer(**{"kernel": "rbf", **options})


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_store_keeps_rows_as_they_came(form):
    X = make_rows(9, 3)
    store = RowStore.empty_like(form(X))
    for i in range(9):
        store.append(store.alike(X[i : i + 1].astype(np.float32)))
        if i % 4 == 0:
            assert store.rows.shape == (i + 1, 3)
    again = RowStore(read_rows(row_arrays(store.rows), 9, 3))
    for kept in (store.rows, again.rows):
        assert sparse.issparse(kept) == (form is sparse.csr_array)
        assert kept.dtype == np.float64
        plain = kept.toarray() if sparse.issparse(kept) else kept
        assert np.array_equal(plain, X.astype(np.float32))


def test_kernels_that_return_no_array_are_refused():
    ragged = Mercer(lambda A, B: [[1.0], [1.0, 2.0]])
    with refuses("kernel"):
        ragged.gram(make_rows(2, 2), make_rows(2, 2))
