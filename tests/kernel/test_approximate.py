"""Approximations: how near they come to exact thinning, and what they refuse."""

from typing import Any

import numpy as np
import pytest

from herder import thin
from herder.kernel import Chunks, RandomFeatures, Subsample
from herder.kernel.approximate import APPROXIMATIONS, FeatureCandidates, _features, _frequencies
from herder.kernel.functions import Gaussian
from tests.kernel.plain import sample
from tests.naming import refuses

SMALL = {
    "chunks": Chunks(4),
    "subsample": Subsample(200),
    "features": RandomFeatures(300),
}


@pytest.mark.parametrize("name", APPROXIMATIONS)
@pytest.mark.parametrize("path", ["numpy", "compiled"])
def test_comes_near_the_exact_choice(name, path, request):
    if path == "compiled":
        request.getfixturevalue("compiled")
    X = sample(600, 2)
    options: dict[str, Any] = {"kernel": "gaussian", "standardise": False}
    exact = thin(X, 20, **options)
    for method in (name, SMALL[name]):
        chosen = thin(X, 20, approximate=method, **options)
        print(f"{method}: {chosen.mmd / exact.mmd:.2f} times the exact MMD")
        assert len(set(chosen)) == 20
        assert chosen.mmd < chosen.mmd_random / 4
        assert chosen.mmd < 2.5 * exact.mmd


@pytest.mark.parametrize("method", SMALL.values(), ids=str)
@pytest.mark.parametrize("kernel", ["energy", "laplace"])
def test_other_kernels(method, kernel):
    X = sample(300, 2)
    if isinstance(method, RandomFeatures):
        with refuses("kernel"):
            thin(X, 10, kernel=kernel, approximate=method)
    else:
        chosen = thin(X, 10, kernel=kernel, approximate=method)
        assert chosen.mmd < 0.6 * chosen.mmd_random
        assert chosen.mmd < 1.2 * thin(X, 10, kernel=kernel).mmd


@pytest.mark.parametrize("method", SMALL.values(), ids=str)
def test_weights_of_the_rows_count(method):
    X = sample(400, 2)
    weight = np.exp(X[:, 0])
    chosen = thin(X, 15, sample_weight=weight, kernel="gaussian", approximate=method)
    without = thin(X, 15, kernel="gaussian", approximate=method)
    truth = np.average(X[:, 0], weights=weight)
    assert chosen.mmd < chosen.mmd_random / 2
    assert abs(X[chosen.indices, 0].mean() - truth) < 0.3
    assert abs(X[without.indices, 0].mean() - truth) > 0.5


@pytest.mark.parametrize("method", SMALL.values(), ids=str)
def test_settled_rows_are_kept(method):
    X = sample(400, 2)
    chosen = thin(
        X, 20, kernel="gaussian", approximate=method, include=[399, 7], exclude=np.arange(50, 350)
    )
    assert chosen.indices[:2].tolist() == [399, 7]
    assert len(set(chosen)) == 20
    assert not set(chosen) & set(range(50, 350))


@pytest.mark.parametrize("method", [Subsample(50), Chunks(10), RandomFeatures(32)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_hardly_more_rows_are_left_than_wanted(method, weighted):
    X = sample(400, 2)
    weight = (np.arange(400) % 20 == 0).astype(float) if weighted else None
    chosen = thin(
        X, 60, kernel="gaussian", approximate=method, exclude=np.arange(335), sample_weight=weight
    )
    assert len(set(chosen)) == 60
    assert chosen.indices.min() >= 335


def test_rows_may_come_again():
    X = sample(30, 2)
    for method in SMALL.values():
        assert len(thin(X, 50, unique=False, kernel="gaussian", approximate=method)) == 50


def test_features_approximate_the_kernel():
    X = sample(200, 2)
    kernel = Gaussian(np.array([1.0, 2.0]))
    candidates = FeatureCandidates(_features(X, _frequencies(2, kernel, 2000)))
    K = kernel(X, X)
    rows = np.arange(30)
    assert np.abs(candidates.gram(rows, rows) - K[:30, :30]).max() < 0.02
    assert np.abs(candidates.column(5) - K[5]).max() < 0.02
    assert np.abs(candidates.mean() - K.mean(axis=1)).max() < 0.01
    np.testing.assert_allclose(candidates.diagonal, 1, rtol=1e-5)


def test_the_choice_is_the_same_every_time():
    X = sample(300, 2)
    for method in SMALL.values():
        one = thin(X, 10, kernel="gaussian", approximate=method, n_jobs=1)
        assert (
            thin(X, 10, kernel="gaussian", approximate=method, n_jobs=2).indices.tolist()
            == one.indices.tolist()
        )


def test_progress_names_the_parts():
    told = []
    progress = lambda share, note: told.append(note)  # noqa: E731
    thin(sample(300, 2), 10, approximate=Chunks(3), progress=progress)
    assert {"chunk 1 of 3", "chunk 3 of 3", "herding"} <= set(told)


def test_wrong_approximations_are_told():
    X = sample(50, 2)
    with refuses("approximate"):
        thin(X, 5, approximate="nystrom")
    with refuses("approximate", TypeError):
        thin(X, 5, approximate=3)  # pyright: ignore[reportArgumentType]
    with refuses("n_chunks"):
        thin(X, 5, approximate=Chunks(0))
    with refuses("n_candidates"):
        thin(X, 5, approximate=Subsample(-1))
    with refuses("n_features", TypeError):
        thin(X, 5, kernel="gaussian", approximate=RandomFeatures(2.5))  # pyright: ignore[reportArgumentType]
    with refuses("weights"):
        thin(X, 5, approximate="chunks", weights="simplex")
    with refuses("y"):
        thin(X, 5, approximate="chunks", y=np.zeros(50, int))
    with refuses("kernel_mean"):
        thin(X, 5, approximate="chunks", kernel_mean=np.ones(50))
    with refuses("kernel"):
        thin(X, 5, approximate="chunks", kernel="stein", score=-X)
