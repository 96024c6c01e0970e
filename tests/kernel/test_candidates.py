"""Compiled kernel means, columns and Gram matrices against those of NumPy."""

import threading
import time

import numpy as np
import pytest

from herder.core.lanes import count_threads, run_lanes
from herder.kernel import Energy, Gaussian, Stein, _pairs_jit
from herder.kernel._sums import SHAPES, cross_sums, pair_sums
from herder.kernel.candidates import (
    SINGLE_REACH,
    SMALL_ROWS,
    ArrayCandidates,
    PairCandidates,
    SteinCandidates,
    candidates_of,
)
from herder.kernel.mmd import mean_at
from tests.kernel.plain import KINDS, PROFILES, sample
from tests.naming import refuses
from tests.sharing import shared_out

#: Largest error, as a share of the largest value: kernel values of single precision are good to
#: about 1e-7 each, sums of double to the last digits.
ERRORS = {"single": 1e-6, "double": 1e-12}


def pair(X, name, bandwidth=1.0, n_jobs=1):
    """Both kinds of candidates under one kernel."""
    kernel = KINDS[name](bandwidth)
    if isinstance(kernel, Energy):
        kernel = Energy(bandwidth, centre=X.mean(axis=0, dtype=np.float64))
    return PairCandidates(X, kernel, n_jobs=n_jobs), ArrayCandidates(X, kernel)


def close(found, expected, tol):
    assert found.dtype == np.float64
    assert np.abs(found - expected).max() <= tol * np.abs(expected).max()


@pytest.mark.parametrize(
    ("name", "d", "precision"), shared_out(KINDS, [1, 2, 3, 9, 20], ["single", "double"])
)
def test_kernel_means_are_those_of_numpy(name, d, precision):
    n = {1: 65, 2: 66, 3: 67}.get(d, 72)
    X = sample(n, d)
    fast, plain = pair(X, name, 2.0 * np.sqrt(d))
    close(fast.mean(precision=precision), plain.mean(), ERRORS[precision])
    weight = np.random.default_rng(1).gamma(0.3, size=n)
    weight[:5] = 0.0
    weight /= weight.sum()
    close(fast.mean(weight, precision=precision), plain.mean(weight), ERRORS[precision])


@pytest.mark.parametrize("name", ["gaussian", "inverse-multiquadric", "laplace"])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_many_columns_cross_the_tiles_of_the_products(name, precision):
    X = sample(301, 11)
    fast, plain = pair(X, name, 8.0)
    weight = np.random.default_rng(2).dirichlet(np.ones(301))
    close(fast.mean(weight, precision=precision), plain.mean(weight), ERRORS[precision])


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 3), (3, 9), (4, 20), (5, 1), (600, 1)])
def test_few_rows_and_more_than_a_tile(n, d):
    X = sample(n, d)
    fast, plain = pair(X, "gaussian", 1.5)
    close(fast.mean(), plain.mean(), 1e-12)
    close(fast.column(n - 1), plain.column(n - 1), 1e-12)


@pytest.mark.parametrize("d", [2, 12])
def test_the_same_bits_for_any_number_of_threads(d):
    X = sample(150, d)
    weight = np.random.default_rng(3).dirichlet(np.ones(150))
    for precision in ("single", "double"):
        one, two, five = (
            PairCandidates(X, Gaussian(3.0), n_jobs=jobs).mean(weight, precision=precision)
            for jobs in (1, 2, 5)
        )
        assert one.tobytes() == two.tobytes() == five.tobytes()


@pytest.mark.parametrize("name", ["gaussian", "laplace", "energy"])
def test_far_rows_are_taken_in_double(name):
    X = sample(60, 2)
    X[7] = 1000.0
    fast, plain = pair(X, name, 1.0)
    assert fast.reach > SINGLE_REACH
    assert fast.chooser.dtype == np.float64
    single, double = fast.mean(precision="single"), fast.mean()
    assert single.tobytes() == double.tobytes()
    close(double, plain.mean(), 1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_offsets_cost_no_digits(name):
    X = np.round(sample(70, 9), 2)
    fast, _ = pair(X + 1e6, name, 4.0)
    _, plain = pair(X, name, 4.0)
    # X + 1e6 itself is rounded to 1e-10
    close(fast.mean(), plain.mean(), 1e-9)
    close(fast.mean(precision="single"), plain.mean(), 1e-6)
    close(fast.column(3), plain.column(3), 1e-9)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("bandwidth", [1.7, np.array([0.5, 3.0, 1.0])])
def test_columns_and_gram_matrices(name, bandwidth):
    X = sample(37, 3)
    fast, plain = pair(X, name, bandwidth)
    rows, others = np.array([5, 0, 36]), np.array([1, 5, 8, 9])
    close(fast.diagonal, plain.diagonal, 1e-12)
    for j in (0, 17, 36):
        close(fast.column(j), plain.column(j), 1e-12)
    close(fast.gram(rows), plain.gram(rows), 1e-12)
    close(fast.gram(rows, others), plain.gram(rows, others), 1e-12)


def test_float32_rows_are_reported_in_double():
    X = sample(80, 3).astype(np.float32)
    fast, plain = pair(X, "gaussian", 1.5)
    assert fast.points.dtype == np.float32
    close(fast.mean(), plain.mean(), 1e-12)
    close(fast.column(2), plain.column(2), 1e-12)
    close(fast.gram(np.arange(9)), plain.gram(np.arange(9)), 1e-12)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("single", [False, True])
def test_means_at_other_points(name, single, compiled):
    X, points = sample(55, 3), sample(26, 3, seed=5)
    kernel = KINDS[name](2.0)
    weight = np.random.default_rng(4).dirichlet(np.ones(55))
    found = mean_at(points, X, kernel, weight, n_jobs=2, single=single)
    close(found, kernel(points, X) @ weight, 1e-6 if single else 1e-12)


def test_means_at_far_points_are_taken_in_double(compiled):
    X, points = sample(55, 2), sample(26, 2)
    points[3] = 500.0
    weight = np.full(55, 1 / 55)
    single, double = (
        mean_at(points, X, Gaussian(0.5), weight, single=flag) for flag in (True, False)
    )
    assert single.tobytes() == double.tobytes()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_the_squared_distance(name, dtype):
    """From zero to far beyond where the exponential leaves the numbers of the precision."""
    q = np.r_[0.0, np.geomspace(1e-12, 2e4, 200), 1e6].astype(dtype)
    values = q.copy()
    _pairs_jit.shape_values(values, len(values), SHAPES[name])
    assert values.dtype == dtype
    r = np.sqrt(q.astype(np.float64))
    expected = r if name == "energy" else np.array([PROFILES[name](x) for x in r])
    # Rounding of the exponent, up to 100 before the value is next to nothing; 2^y stops at 2^-126
    # (single) and 2^-1022, which the polynomials of the Matern kernels multiply by up to 2e6.
    rtol, least = (1e-5, 1e-30) if dtype == np.float32 else (1e-13, 1e-300)
    np.testing.assert_allclose(values, expected, rtol=rtol, atol=least)
    near = expected > 0.01
    rtol = 1e-6 if dtype == np.float32 else 2e-15
    np.testing.assert_allclose(values[near], expected[near], rtol=rtol)


def test_sums_leave_out_a_row_with_itself():
    points = np.zeros((2, 5))
    np.testing.assert_allclose(pair_sums(points, np.arange(5.0), 0), 10 - np.arange(5.0))
    wide = np.zeros((12, 5))  # by matrix products
    np.testing.assert_allclose(pair_sums(wide, np.arange(5.0), 0), 10 - np.arange(5.0))
    np.testing.assert_allclose(
        cross_sums(points, np.zeros((2, 2)), np.ones(2), 0), np.full(5, 2.0)
    )


def test_stein_columns_are_those_of_numpy(compiled):
    X = sample(600, 3, offset=100.0)
    rows = np.hstack([X, 100 - X + np.sin(X)])
    kernel = Stein(np.array([1.0, 0.5, 2.0]))
    fast, plain = candidates_of(rows, kernel), ArrayCandidates(rows, kernel)
    assert isinstance(fast, SteinCandidates)
    for j in (0, 511, 512, 599):
        close(fast.column(j), plain.column(j), 1e-10)
    weight = np.random.default_rng(0).dirichlet(np.ones(600))
    close(fast.mean(), plain.mean(), 1e-10)
    close(fast.mean(weight), plain.mean(weight), 1e-10)
    np.testing.assert_allclose(fast.diagonal, plain.diagonal)


def test_small_samples_and_own_kernels_stay_in_numpy():
    X = np.zeros((SMALL_ROWS + 1, 1))
    X[:, 0] = np.linspace(0, 1, len(X))
    assert isinstance(candidates_of(X, Gaussian()), PairCandidates)
    assert isinstance(candidates_of(X[1:], Gaussian()), ArrayCandidates)
    assert isinstance(candidates_of(X, lambda A, B: A @ B.T), ArrayCandidates)
    energy = candidates_of(X[1:], Energy())
    assert isinstance(energy.kernel, Energy)
    assert energy.kernel.centre is not None


def test_threads_are_counted():
    assert count_threads(None) >= 1
    assert count_threads(3) == 3
    for X in (np.zeros((4, 1)), np.zeros((SMALL_ROWS + 1, 1))):
        with refuses("n_jobs"):
            candidates_of(X, Gaussian(), n_jobs=0)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_lanes_run_their_units_in_order_and_tell_progress(n_jobs):
    seen, told = {lane: [] for lane in range(5)}, []
    units = [(0, 1), (1, 2), (2, 3)]
    run_lanes(
        lambda lane, unit: seen[lane].append(unit),
        5,
        units,
        n_jobs=n_jobs,
        progress=lambda share, note: told.append((share, note)),
        note="sums",
    )
    assert all(found == units for found in seen.values())
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert told[-1] == (1.0, "sums")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failure_stops_the_other_lanes(n_jobs):
    calls, lock = [], threading.Lock()

    def work(lane, unit):
        with lock:
            calls.append(unit)
        if lane == 0:
            raise RuntimeError("broken")
        time.sleep(0.01)

    with pytest.raises(RuntimeError, match="broken"):
        run_lanes(work, 2, [(k, k + 1) for k in range(500)], n_jobs=n_jobs)
    assert len(calls) < 100


def test_progress_of_a_kernel_mean_is_told(compiled):
    told = []
    candidates = candidates_of(sample(50, 2), Gaussian(), n_jobs=1)
    candidates.mean(progress=lambda share, note: told.append((share, note)))
    assert told[-1] == (1.0, "kernel mean")


def test_compiled_stein_means_are_those_of_numpy():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(701, 3))
    rows, weight = np.hstack([X, np.cos(X) - X]), rng.random(701)
    fast = SteinCandidates(rows, Stein(1.3), n_jobs=2).mean(weight)
    plain = ArrayCandidates(rows, Stein(1.3)).mean(weight)
    np.testing.assert_allclose(fast, plain, rtol=1e-12, atol=1e-12 * np.abs(plain).max())
    assert (fast == SteinCandidates(rows, Stein(1.3), n_jobs=1).mean(weight)).all()
