"""Sparse matrices that SciPy takes without a look: indices out of range, columns twice."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import herder
from herder import _csr_jit
from herder._csr import distinct_columns, sound_sparse, summed_csr
from tests.naming import refuses


def csr(data, indices, indptr, shape, kind=sparse.csr_matrix):
    """Make a matrix of these very arrays."""
    rows = kind(shape, dtype=np.asarray(data).dtype)
    rows.data, rows.indices, rows.indptr = map(np.asarray, (data, indices, indptr))
    return rows


BAD = {
    "far": (
        [1.0, 1.0],
        [0, 10**8],
        [0, 1, 2],
        "indices from 0 to 2, got 100000000 in row 1",
    ),
    "next": ([1.0, 1.0], [3, 0], [0, 1, 2], "got 3 in row 0"),
    "negative": ([1.0, 1.0], [0, -1], [0, 1, 2], "got -1 in row 1"),
    "falling": ([1.0, 1.0], [0, 1], [0, 2, 1], "indptr of 3 numbers from 0 to 2"),
    "late": ([1.0, 1.0], [0, 1], [1, 1, 2], "indptr"),
    "long": ([1.0, 1.0], [0, 1], [0, 1, 10**8], "indptr"),
    "below": ([1.0, 1.0], [0, 1], [0, -5, 2], "indptr"),
    "short": ([1.0, 1.0], [0, 1], [0, 2], "indptr"),
    "little data": ([1.0], [0, 1], [0, 1, 2], "from 0 to 1 that never fall"),
    "floats": ([1.0, 1.0], [0.0, 1.0], [0, 1, 2], "whole numbers as indptr and indices"),
}


def bad(name, kind=sparse.csr_matrix):
    data, indices, indptr, _ = BAD[name]
    return csr(data, indices, indptr, (2, 3), kind)


@pytest.mark.parametrize("kind", [sparse.csc_matrix, sparse.csc_array])
def test_bad_indices_of_other_formats_are_refused(kind):
    X = csr([1.0, 1.0], [0, 10**8], [0, 1, 2, 2], (2, 3), kind)
    coo = sparse.coo_array(np.eye(3)[:2])
    coo.coords = (coo.coords[0], np.array([0, 10**8]))
    for table in (X, coo):
        with refuses("X", match="sound sparse matrix"):
            herder.Perceptron().fit(table, [0, 1])
        with refuses("X"):
            herder.count_distribution(table)


def test_couplings_with_bad_indices_are_refused():
    rows = csr([1.0, 1.0], [1, 10**8], [0, 1, 2], (2, 2))
    with refuses("couplings", match="100000000 in row 1"):
        herder.PairwiseModel(rows)


@st.composite
def matrices(draw):
    """CSR matrices with rows in any order, and columns more than once."""
    width = draw(st.integers(1, 9))
    rows = draw(st.lists(st.lists(st.integers(0, width - 1), max_size=12), min_size=1, max_size=9))
    whole = draw(st.sampled_from([np.int32, np.int64]))
    indices = np.array([j for row in rows for j in row], whole)
    indptr = np.cumsum([0, *map(len, rows)]).astype(whole)
    seed, dtype = draw(st.integers(0, 99)), draw(st.sampled_from([np.float32, np.float64]))
    data = np.random.default_rng(seed).normal(size=len(indices)).astype(dtype)
    return csr(data, indices, indptr, (len(rows), width))


def plainly_merged(X):
    """Columns and values of each row, repeats added to the first."""
    found = []
    for a, b in pairwise(X.indptr.tolist()):
        row = {}
        for j, x in zip(X.indices[a:b].tolist(), X.data[a:b], strict=True):
            row[j] = row[j] + x if j in row else x
        found.append(row)
    return found


@given(matrices())
def test_repeats_are_added_where_the_first_is(X):
    parts = [part.copy() for part in (X.indptr, X.indices, X.data)]
    X.has_canonical_format = X.has_sorted_indices = True  # which SciPy believes
    merged = distinct_columns(X)
    rows = plainly_merged(X)
    assert (merged is X) == (sum(map(len, rows)) == X.indptr[-1])
    assert merged.indices.tolist() == [j for row in rows for j in row]
    assert merged.data.tolist() == [x for row in rows for x in row.values()]
    assert merged.data.dtype == X.data.dtype
    assert np.array_equal(merged.toarray(), X.toarray())
    assert np.array_equal(summed_csr(X).toarray(), X.toarray())
    for part, before in zip((X.indptr, X.indices, X.data), parts, strict=True):
        assert np.array_equal(part, before)


def test_what_a_look_finds():
    def look(indptr, indices):
        return _csr_jit.look(np.array(indptr), np.array(indices), len(indices), 5)

    assert look([0, 0, 0], []) == _csr_jit.SORTED
    assert look([0, 2, 2, 4], [3, 4, 0, 1]) == _csr_jit.SORTED
    assert look([0, 0, 2, 2, 2, 4, 4], [3, 4, 3, 4]) == _csr_jit.SORTED
    assert look([0, 2, 4], [3, 4, 1, 0]) == _csr_jit.UNSORTED
    assert look([0, 2, 4], [3, 3, 0, 1]) == _csr_jit.UNSORTED
    assert look([0, 2, 2], [3, 4, 1, 9]) == _csr_jit.SORTED  # entries beyond the last row


def test_a_look_in_blocks_finds_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    for low, high in ((0, 5), (-1, 5), (0, 6)):
        indices = rng.integers(low, high, 60)
        indptr = np.sort(rng.integers(0, 61, 9))
        indptr[0], indptr[-1] = 0, 60
        whole = _csr_jit.look(indptr, indices, 60, 5)
        for size in (1, 2, 7):
            monkeypatch.setattr(_csr_jit, "BLOCK", size)
            plain = getattr(_csr_jit.look, "py_func", _csr_jit.look)
            assert plain(indptr, indices, 60, 5) == whole


def test_long_rows_of_columns_that_fall_on_one_place():
    # 2^16 steps apart, so that the low bits of their places are alike
    columns = np.r_[np.arange(3000) * 2**16, 2**16].astype(np.int32)
    X = csr(np.ones(3001), columns, [0, 3001], (1, 2**28))
    assert distinct_columns(X).data.tolist() == [1.0, 2.0, *[1.0] * 2998]
    X = csr(np.ones(3000), columns[:3000][::-1].copy(), [0, 3000], (1, 2**28))
    assert distinct_columns(X) is X


def test_sound_matrices_pass():
    X = sparse.random_array((5, 4), density=0.5, rng=np.random.default_rng(0))
    for form in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr"):
        assert np.array_equal(sound_sparse(X.asformat(form)).toarray(), X.toarray())
