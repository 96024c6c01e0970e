"""The median heuristic, and how a kernel's name and bandwidth become a kernel."""

import numpy as np
import pytest

from herder import mmd, thin
from herder.kernel import Energy, Gaussian, Laplace, Stein, median_bandwidth
from herder.kernel.bandwidth import (
    MEDIAN_ROWS,
    attach_scores,
    even_rows,
    median_distance,
    resolve_kernel,
)
from tests.kernel.plain import median, sample
from tests.naming import refuses


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
    with_tiny = np.column_stack([X, 1e-160 * X[::-1, 0]])  # whose squares are no numbers
    assert thin(with_tiny, 10).indices.tolist() == thin(X, 10).indices.tolist()


def test_energy_needs_no_bandwidth():
    X = sample(10, 2)
    kernel = resolve_kernel("energy", "median", X, standardise=False)
    assert isinstance(kernel, Energy)
    assert kernel.bandwidth == 1.0
    standardised = resolve_kernel("energy", "median", X)
    assert isinstance(standardised, Energy)
    np.testing.assert_allclose(standardised.bandwidth, X.std(axis=0))


def test_a_number_that_would_change_nothing_is_told(caplog):
    X = sample(40, 2)
    assert thin(X, 5, bandwidth=3.0).indices.tolist() == thin(X, 5).indices.tolist()
    assert "one bandwidth only scales the energy kernel" in caplog.text
    caplog.clear()
    thin(X, 5, bandwidth=[1.0, 2.0])
    thin(X, 5, kernel="gaussian", bandwidth=3.0)
    assert not caplog.text


@pytest.mark.parametrize(
    ("bandwidth", "kind"),
    [
        ("mean", ValueError),
        (0.0, ValueError),
        (-1.0, ValueError),
        (np.nan, ValueError),
        ([1.0, 2.0], ValueError),
        ([[1.0]], TypeError),
        (None, TypeError),
    ],
)
def test_wrong_bandwidths_are_told(bandwidth, kind):
    with refuses("bandwidth", kind):
        thin(sample(20, 3), 3, bandwidth=bandwidth)


def test_wrong_kernels_are_told():
    X = sample(20, 2)
    with refuses("kernel"):
        thin(X, 3, kernel="rbf")
    with refuses("kernel", TypeError):
        thin(X, 3, kernel=3)  # pyright: ignore[reportArgumentType]
    with refuses("kernel", TypeError, match=r"got Laplace: call it, as in Laplace\("):
        thin(X, 3, kernel=Laplace)  # pyright: ignore[reportArgumentType]
    with refuses("kernel"):
        thin(X, 3, kernel=lambda A, B: A[:, 0])
    with refuses("bandwidth"):
        thin(X, 3, kernel=Gaussian(), bandwidth=2.0)
    with refuses("bandwidth"):
        thin(X, 3, kernel=Gaussian(np.ones(3)))
    with refuses("kernel", match=r"centre of shape \(2,\), got \(3,\)"):
        thin(X, 3, kernel=Energy(centre=np.zeros(3)))


def test_scores_are_checked():
    X = sample(20, 2)
    with refuses("score"):
        thin(X, 3, kernel="stein")
    with refuses("score"):
        thin(X, 3, kernel="stein", score=[1.0, 2.0, 3.0])
    with refuses("score", TypeError):
        thin(X, 3, kernel="stein", score=np.full((20, 2), "a"))
    bad = -X
    bad[4, 1] = np.nan
    with refuses("score", match="got .* in row 4"):
        thin(X, 3, kernel="stein", score=bad)
    with refuses("score"):
        thin(X, 3, score=-X)
    assert attach_scores(X, lambda x: -x).shape == (20, 4)
    chains = attach_scores(X, (-X).reshape(4, 5, 2))
    np.testing.assert_array_equal(chains, np.hstack([X, -X]))


def test_a_stein_kernel_may_be_given_itself():
    X = sample(60, 2)
    kernel = Stein(X.std(axis=0) * median_distance(X / X.std(axis=0)))
    named = thin(X, 5, kernel="stein", score=-X)
    assert thin(X, 5, kernel=kernel, score=-X).indices.tolist() == named.indices.tolist()
    with refuses("Y"):
        mmd(X, X, kernel=kernel)
