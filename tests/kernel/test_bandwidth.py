"""The median heuristic, and how a kernel's name and bandwidth become a kernel."""

import numpy as np
import pytest

from herder import mmd, thin
from herder.kernel import Energy, Gaussian, Laplace, Stein, median_bandwidth
from herder.kernel.bandwidth import MEDIAN_ROWS, even_rows, median_distance
from herder.kernel.resolve import attach_scores, resolve_kernel
from tests.kernel.plain import median, sample


@pytest.mark.parametrize(("n", "d"), [(2, 1), (3, 2), (50, 3), (301, 1)])
def test_small_samples_give_the_median_of_all_distances(n, d):
    X = sample(n, d)
    assert median_bandwidth(X) == pytest.approx(median(X), rel=1e-12)


def test_large_samples_give_nearly_the_median_of_all():
    X = sample(6000, 2)
    assert median_bandwidth(X) == pytest.approx(median(X[::2]), rel=0.03)
    assert median_bandwidth(X) == median_bandwidth(X.copy())


def test_sorted_and_periodic_rows_do_not_mislead_the_median():
    X = np.tile(np.arange(10.0), 1000)[:, None]
    assert median_bandwidth(X) == pytest.approx(3.0)
    assert median_bandwidth(np.sort(X, axis=0)) == pytest.approx(3.0)


def test_degenerate_samples_have_a_bandwidth():
    assert median_bandwidth([[4.0]]) == 1.0
    assert median_bandwidth(np.ones((9, 2))) == 1.0
    zeros = np.zeros((10, 1))
    zeros[-1] = 5.0  # more than half of the pairs are equal
    assert median_bandwidth(zeros) == 5.0


@pytest.mark.parametrize("n", [1, 1999, 2000, 2001, 3000, 123_457])
def test_even_rows_are_spread(n):
    rows = even_rows(n, MEDIAN_ROWS)
    assert (np.diff(rows) > 0).all()
    assert rows[0] >= 0
    assert rows[-1] < n
    assert len(rows) <= MEDIAN_ROWS
    if n > MEDIAN_ROWS:
        assert len(rows) > 0.7 * MEDIAN_ROWS
        assert np.diff(rows).max() <= np.ceil(3 * n / MEDIAN_ROWS)


def test_standardised_columns_are_measured_in_their_spread():
    X = sample(200, 3) * [1.0, 100.0, 0.01]
    kernel = resolve_kernel("gaussian", "median", X, standardise=True)
    spread = X.std(axis=0)
    assert isinstance(kernel, Gaussian)
    np.testing.assert_allclose(kernel.bandwidth, spread * median(X / spread), rtol=1e-10)
    given = resolve_kernel("gaussian", 2.0, X, standardise=True)
    np.testing.assert_allclose(given.bandwidth, 2 * spread)  # pyright: ignore[reportAttributeAccessIssue]


def test_a_constant_column_weighs_nothing_when_standardised():
    X = sample(100, 2)
    with_constant = np.column_stack([X, np.full(100, 0.1 + 0.2)])
    assert thin(X, 10, standardise=True).indices.tolist() == (
        thin(with_constant, 10, standardise=True).indices.tolist()
    )


def test_energy_needs_no_bandwidth():
    kernel = resolve_kernel("energy", "median", sample(10, 2))
    assert isinstance(kernel, Energy)
    assert kernel.bandwidth == 1.0


@pytest.mark.parametrize(
    ("bandwidth", "kind", "text"),
    [
        ("mean", ValueError, "bandwidth must be 'median', a number, .* column, got 'mean'"),
        (0.0, ValueError, "bandwidth must be positive and finite, got 0.0"),
        (-1.0, ValueError, "bandwidth must be positive and finite, got -1.0"),
        (np.nan, ValueError, "bandwidth must be positive and finite, got nan"),
        ([1.0, 2.0], ValueError, "bandwidth must be one number or 3, one for each column, got 2"),
        ([[1.0]], TypeError, "bandwidth must be 'median', a number, or one for each column"),
        (None, TypeError, "bandwidth must be 'median', a number, or one for each column, got N"),
    ],
)
def test_wrong_bandwidths_are_told(bandwidth, kind, text):
    with pytest.raises(kind, match=text):
        thin(sample(20, 3), 3, bandwidth=bandwidth)


def test_wrong_kernels_are_told():
    X = sample(20, 2)
    with pytest.raises(ValueError, match=r"kernel must be one of 'gaussian', .*, got 'rbf'"):
        thin(X, 3, kernel="rbf")
    with pytest.raises(TypeError, match=r"kernel must be one of 'gaussian', .* or a callable"):
        thin(X, 3, kernel=3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"not its class, got Laplace: call it, as in Laplace\("):
        thin(X, 3, kernel=Laplace)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"kernel must be a function of two tables .* shape \(2"):
        thin(X, 3, kernel=lambda A, B: A[:, 0])
    with pytest.raises(ValueError, match="must be left alone when kernel is an object"):
        thin(X, 3, kernel=Gaussian(), bandwidth=2.0)
    with pytest.raises(ValueError, match="must be left alone when kernel is an object"):
        thin(X, 3, kernel=Gaussian(), standardise=True)
    with pytest.raises(ValueError, match=r"bandwidth must be one number or 2, .* got 3"):
        thin(X, 3, kernel=Gaussian(np.ones(3)))
    with pytest.raises(ValueError, match=r"centre of the kernel must have the shape \(2,\)"):
        thin(X, 3, kernel=Energy(centre=np.zeros(3)))


def test_scores_are_checked():
    X = sample(20, 2)
    with pytest.raises(ValueError, match=r"score must hold the gradient .* got None"):
        thin(X, 3, kernel="stein")
    with pytest.raises(ValueError, match=r"score must have the shape of X, \(20, 2\), got \(3,\)"):
        thin(X, 3, kernel="stein", score=[1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="score must hold numbers"):
        thin(X, 3, kernel="stein", score=np.full((20, 2), "a"))
    bad = -X
    bad[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"score must be finite, got .* in row 4"):
        thin(X, 3, kernel="stein", score=bad)
    with pytest.raises(ValueError, match="score must be None unless kernel is 'stein'"):
        thin(X, 3, score=-X)
    assert attach_scores(X, lambda x: -x).shape == (20, 4)
    chains = attach_scores(X, (-X).reshape(4, 5, 2))
    np.testing.assert_array_equal(chains, np.hstack([X, -X]))


def test_a_stein_kernel_may_be_given_itself():
    X = sample(60, 2)
    kernel = Stein(median_distance(X))
    named = thin(X, 5, kernel="stein", score=-X)
    assert thin(X, 5, kernel=kernel, score=-X).indices.tolist() == named.indices.tolist()
    with pytest.raises(ValueError, match="Y must be left out when kernel is 'stein'"):
        mmd(X, X, kernel=kernel)
