"""The scikit-learn face of thinning."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from herder import KernelHerder, mmd, thin
from herder.kernel import Gaussian, Laplace
from tests.kernel.plain import KINDS, default_lengths, gram, sample
from tests.naming import refuses

#: Checks that must fail, and why.
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": (
        "rows are chosen once each, and the bandwidth is their median distance: both count rows, "
        "whatever their weights, so that a weight of two is not a row that comes twice"
    )
}


@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(KernelHerder(n_select=10))),
    ids=lambda value: getattr(getattr(value, "func", value), "__name__", "KernelHerder"),
)
def test_is_a_scikit_learn_estimator(estimator, check):
    name = getattr(check, "func", check).__name__
    if name in EXPECTED:
        with pytest.raises(AssertionError):
            check(estimator)
    else:
        check(estimator)


@pytest.mark.parametrize("weights", ["uniform", "simplex", "optimal"])
def test_fits_what_thin_chooses(weights):
    X = sample(80, 2)
    herder = KernelHerder(n_select=9, weights=weights).fit(X)
    chosen = thin(X, 9, weights=weights)
    assert herder.indices_.tolist() == chosen.indices.tolist()
    np.testing.assert_array_equal(herder.samples_, X[chosen.indices])
    np.testing.assert_array_equal(herder.weights_, chosen.weights)
    assert herder.mmd_ == pytest.approx(chosen.mmd)


@pytest.mark.parametrize("name", KINDS)
def test_transforms_to_kernel_values(name):
    X, Y = sample(60, 2), sample(7, 2, seed=1)
    herder = KernelHerder(n_select=5, kernel=name).fit(X)
    lengths = default_lengths(X, name)
    expected = gram(name, Y, X[herder.indices_], lengths, X.mean(axis=0))
    np.testing.assert_allclose(herder.transform(Y), expected, rtol=1e-9, atol=1e-12)


def test_weights_of_the_rows():
    X = sample(60, 2)
    weight = np.arange(60.0)
    herder = KernelHerder(n_select=6).fit(X, sample_weight=weight)
    assert herder.indices_.tolist() == thin(X, 6, sample_weight=weight).indices.tolist()
    assert herder.mmd_ == pytest.approx(mmd(X, X[herder.indices_], x_weight=weight), rel=1e-6)


def test_small_samples_are_taken_whole():
    X = sample(20, 2)
    herder = KernelHerder().fit(X)
    assert sorted(herder.indices_) == list(range(20))


def test_works_in_a_pipeline_and_names_its_features():
    frame = pd.DataFrame(sample(120, 2), columns=["a", "b"])
    target = np.sin(frame["a"])
    model = make_pipeline(KernelHerder(n_select=25), Ridge(1e-6)).fit(frame, target)
    assert model.score(frame, target) > 0.98
    herder = model.named_steps["kernelherder"]
    assert herder.feature_names_in_.tolist() == ["a", "b"]
    assert herder.get_feature_names_out()[:2].tolist() == ["kernelherder0", "kernelherder1"]


def test_parameters_are_kept_and_cloned():
    herder = KernelHerder(7, kernel=Laplace(2.0), refine=False, n_jobs=1)
    twin: KernelHerder = clone(herder)  # pyright: ignore[reportAssignmentType]
    twin.fit(sample(30, 2))
    assert twin.get_params()["kernel"] == Laplace(2.0)
    assert twin.kernel_ == Laplace(2.0)
    assert twin.indices_.tolist() == (
        thin(sample(30, 2), 7, kernel=Laplace(2.0), refine=False).indices.tolist()
    )


def test_wrong_parameters_are_told_by_fit():
    X = sample(20, 2)
    for herder, text in (
        (KernelHerder(0), "n_select must be a positive integer, got 0"),
        (KernelHerder(kernel="stein"), "kernel must not be 'stein', which needs scores"),
        (KernelHerder(kernel="rbf"), "kernel must be one of"),
        (KernelHerder(bandwidth=-1.0), "bandwidth must be positive and finite"),
        (KernelHerder(kernel=Gaussian(), bandwidth=2.0), "bandwidth must be left out"),
        (KernelHerder(n_jobs=0), "n_jobs must be a positive integer"),
    ):
        with pytest.raises(ValueError, match=text):
            herder.fit(X)
    with pytest.raises(NotFittedError):
        KernelHerder().transform(X)
    with refuses("n_select", TypeError):
        KernelHerder("ten").fit(X)  # pyright: ignore[reportArgumentType]
