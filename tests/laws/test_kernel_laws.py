"""Laws of kernel herding and thinning: hypothesis draws the rows, the weights and the rules."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from herder import kernel_herd, kernel_mean, median_bandwidth, mmd, thin
from herder.kernel.candidates import ArrayCandidates, PairCandidates
from herder.kernel.choice import Rules, choose
from herder.kernel.functions import Gaussian
from herder.kernel.system import KernelSystem
from herder.testing import check_system
from tests.kernel.plain import KINDS

#: Few distinct numbers, so that rows tie and come twice.
numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-10, 10).map(lambda x: round(x, 3)))
tables = arrays(np.float64, st.tuples(st.integers(1, 14), st.integers(1, 3)), elements=numbers)
kinds = st.sampled_from(list(KINDS))


@st.composite
def tasks(draw):
    """Rows, a number to choose, and settled rows."""
    X = draw(tables)
    n = len(X)
    order = draw(st.permutations(range(n)))
    n_out = draw(st.integers(0, n - 1))
    m = draw(st.integers(1, n - n_out))
    n_in = draw(st.integers(0, m))
    return X, m, order[:n_in], order[n_in : n_in + n_out]


@given(tasks(), kinds, st.booleans())
def test_choices_keep_their_rules(task, kernel, refine):
    X, m, include, exclude = task
    chosen = thin(X, m, kernel=kernel, include=include, exclude=exclude, refine=refine)
    assert len(set(chosen)) == m
    assert chosen.indices[: len(include)].tolist() == list(include)
    assert not set(chosen) & set(exclude)
    assert chosen.mmd >= 0
    assert chosen.mmd_random >= 0


@given(tables, kinds, st.integers(1, 14))
def test_exchange_never_makes_it_worse(X, kernel, m):
    m = min(m, len(X))
    greedy, refined = thin(X, m, kernel=kernel, refine=False), thin(X, m, kernel=kernel)
    assert refined.mmd <= greedy.mmd + 1e-7


@given(tables, kinds)
def test_prefixes_are_nested(X, kernel):
    whole = thin(X, len(X), kernel=kernel, refine=False).indices.tolist()
    half = max(1, len(X) // 2)
    assert thin(X, half, kernel=kernel, refine=False).indices.tolist() == whole[:half]


@given(tables, kinds, st.integers(1, 12), st.integers(1, 12))
def test_n_then_m_picks_are_n_plus_m(X, kernel, n, m):
    first = kernel_herd(X, n, kernel=kernel)
    second = kernel_herd(X, m, kernel=kernel, resume=first)
    whole = kernel_herd(X, n + m, kernel=kernel)
    assert [*first.indices, *second.indices] == whole.indices.tolist()
    np.testing.assert_array_equal(second.scores, whole.scores)


@given(tables, kinds)
def test_the_specification_keeps_the_laws_of_the_loop(X, kernel):
    K = KINDS[kernel](1.0)(X, X)
    system = KernelSystem(K, K.mean(axis=1), 1e-9 * max(K.diagonal().max(), 1e-300))
    check_system(system, system.target, exact=False, n_steps=20)


@given(tables, tables, kinds)
def test_mmd_is_symmetric_and_not_negative(X, Y, kernel):
    d = min(X.shape[1], Y.shape[1])
    X, Y = X[:, :d], Y[:, :d]
    there = mmd(X, Y, kernel=kernel, bandwidth=1.0)
    assert there >= 0
    # The squares agree to rounding; near zero their roots need not.
    assert abs(there**2 - mmd(Y, X, kernel=kernel, bandwidth=1.0) ** 2) < 1e-12
    assert mmd(X, X, kernel=kernel) < 1e-6


@given(tables, kinds, st.data())
def test_a_weight_of_two_is_a_row_that_comes_twice(X, kernel, data):
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(X), max_size=len(X))))
    options = {"kernel": KINDS[kernel](1.3)}
    weighted = kernel_mean(X, X, **options, sample_weight=times)
    repeated = kernel_mean(np.repeat(X, times, axis=0), X, **options)
    if kernel != "energy":  # whose centre is the mean of the rows
        np.testing.assert_allclose(weighted, repeated, rtol=1e-10, atol=1e-12)
    Y = X[::-1][: max(1, len(X) // 2)]
    one = mmd(X, Y, **options, x_weight=times)
    assert abs(one**2 - mmd(np.repeat(X, times, axis=0), Y, **options) ** 2) < 1e-11


@given(tables, st.floats(0.1, 100), st.floats(-1000, 1000).map(round))
def test_units_and_offsets_do_not_matter(X, scale, offset):
    """The median moves with the data, and so does everything else."""
    moved = X * 2.0 ** round(np.log2(scale)) + 0.0
    m = max(1, len(X) // 2)
    assert thin(moved, m).indices.tolist() == thin(X, m).indices.tolist()
    shifted = thin(X + offset, m, bandwidth=1.0)
    assert abs(shifted.mmd**2 - thin(X, m, bandwidth=1.0).mmd ** 2) < 1e-6


@given(tables)
def test_the_median_is_a_distance(X):
    h = median_bandwidth(X)
    assert h > 0
    gaps = np.linalg.norm(X[:, None] - X, axis=2)
    assert h <= max(gaps.max(), 1.0) * (1 + 1e-12)


@given(
    arrays(np.float64, st.tuples(st.integers(4, 14), st.integers(1, 3)), elements=numbers),
    kinds,
    st.integers(0, 2),
    st.booleans(),
)
def test_compiled_choices_are_those_of_numpy(X, kernel, sweeps, unique):
    k = KINDS[kernel](1.0)
    fast, plain = PairCandidates(X, k, n_jobs=1), ArrayCandidates(X, k)
    scale = max(plain.diagonal.max(), 1e-300)
    target = plain.mean()
    assert np.abs(fast.mean() - target).max() <= 1e-12 * scale
    vars(fast)["chooser"] = fast.doubles  # choose in double precision
    none = np.empty(0, dtype=np.intp)
    rules = Rules(unique, none, none, sweeps)
    m = len(X) // 2
    assert choose(fast, target, m, rules).tolist() == choose(plain, target, m, rules).tolist()


@given(tables)
def test_all_rows_are_at_no_distance(X):
    chosen = thin(X, len(X))
    assert sorted(chosen) == list(range(len(X)))
    assert chosen.mmd < 1e-7
    assert chosen.mmd_random == 0


@given(tables, st.integers(1, 30))
def test_the_mmd_is_that_of_the_counts(X, m):
    free = thin(X, m, unique=False, kernel=Gaussian(1.0))
    K = Gaussian(1.0)(X, X)
    w = np.bincount(free.indices, minlength=len(X)) / m - 1 / len(X)
    assert abs(free.mmd**2 - w @ K @ w) < 1e-12
