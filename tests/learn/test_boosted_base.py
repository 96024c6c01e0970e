"""First energies of boosted fields: mixtures, the number of their components, and their draws."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.mixture import GaussianMixture

from herder.learn.boosted_base import (
    GaussianBase,
    SignBase,
    draw_components,
    fit_gaussians,
    fit_signs,
)
from herder.learn.boosted_frame import RowFrame


def clusters(n=300, width=3, seed=0):
    """Rows of numbers in three clusters, in columns of different units."""
    rng = np.random.default_rng(seed)
    centres = 8 * np.eye(3)[:, :width]
    rows = centres[rng.integers(3, size=n)] + rng.normal(size=(n, width))
    return rows * 10.0 ** np.arange(width) + 100


def kinds(n=400, width=8, seed=0):
    """Rows of signs of two kinds."""
    rng = np.random.default_rng(seed)
    chances = np.where(rng.random((n, 1)) < 0.3, 0.9, 0.2)
    return np.where(rng.random((n, width)) < chances, 1.0, -1.0)


def fitted(points, most=20, seed=0):
    """Return a mixture of Gaussians, its frame, and what it was fitted to."""
    frame = RowFrame.around(points, None)
    rows = frame.scaled(points)
    return fit_gaussians(rows, frame, most, seed), frame, rows


def test_gaussians_are_those_of_least_bic_in_standardised_columns():
    points = clusters()
    base, frame, rows = fitted(points)
    standard = (points - points.mean(axis=0)) / points.std(axis=0)
    rivals: Any = [
        GaussianMixture(k, reg_covar=1e-6, random_state=0).fit(standard) for k in range(1, 21)
    ]
    best = min(rivals, key=lambda model: model.bic(standard))
    assert len(base.logs) == best.n_components == 3
    logs = -base.energy(rows) + frame.log_volume()
    expected = best.score_samples(standard) - np.log(points.std(axis=0)).sum()
    np.testing.assert_allclose(logs, expected, atol=1e-6)


def test_number_of_gaussians_is_bounded():
    points = clusters()
    assert len(fitted(points, most=2)[0].logs) == 2
    few = clusters(11)  # two rows for each column and one more: one component
    assert len(fitted(few)[0].logs) == 1
    base, _, rows = fitted(clusters(7))  # too few for any: the Gaussian of all rows
    np.testing.assert_array_equal(base.roots, np.eye(3)[None])
    expected = (rows**2).sum(axis=1) / 2 + 1.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(base.energy(rows), expected)


def test_a_component_of_few_rows_has_the_covariance_of_all():
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(size=(200, 3)), np.full((2, 3), 50.0)])
    base = fitted(points)[0]
    assert len(base.logs) > 1
    least = base.logs.argmin()
    np.testing.assert_array_equal(base.roots[least], np.eye(3))
    assert np.exp(base.logs[least]) * 202 == pytest.approx(2, abs=0.1)


def test_signs_of_two_kinds():
    rows = kinds(2000)
    base = fit_signs(rows, 20)
    order = base.logs.argsort()
    assert len(base.logs) == 2
    np.testing.assert_allclose(np.exp(base.logs[order]), [0.3, 0.7], atol=0.03)
    chances = 1 / (1 + np.exp(-2 * base.fields[order]))
    np.testing.assert_allclose(chances, np.repeat([[0.9], [0.2]], 8, axis=1), atol=0.06)
    assert len(fit_signs(rows, 1).logs) == 1


def test_least_bic_of_signs():
    """Against the BIC of each number of components, written out."""
    rows = kinds(150)
    n, width = rows.shape
    values = []
    for most in range(1, 6):
        tried = fit_signs(rows, most)
        k = len(tried.logs)
        chances = 1 / (1 + np.exp(-2 * tried.fields))
        each = binom.pmf((rows[:, None, :] > 0).astype(int), 1, chances).prod(axis=2)
        likelihood = np.log(each @ np.exp(tried.logs)).sum()
        values.append(-2 * likelihood + (k * width + k - 1) * np.log(n))
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(values))
    assert values[-1] < values[0] - 100


def test_constant_signs_stay_possible():
    base = fit_signs(np.ones((50, 3)), 20)
    assert len(base.logs) == 1
    np.testing.assert_allclose(1 / (1 + np.exp(-2 * base.fields)), 51 / 52, atol=1e-3)


@pytest.mark.parametrize("kind", ["signs", "numbers"])
def test_components_are_drawn_from_their_posterior(kind):
    rng = np.random.default_rng(1)
    if kind == "signs":
        base: Any = SignBase(np.log([0.2, 0.5, 0.3]), rng.normal(size=(3, 2)))
    else:
        roots = np.eye(2) + 0.3 * rng.normal(size=(3, 2, 2))
        base = GaussianBase(np.log([0.2, 0.5, 0.3]), rng.normal(size=(3, 2)), roots)
    row = np.array([[1.0, -1.0]])
    joint = np.exp(base.joint(row)[0])
    assert joint.sum() == pytest.approx(np.exp(-base.energy(row)[0]))
    drawn = draw_components(base, np.repeat(row, 4000, axis=0), rng)
    found = np.bincount(drawn, minlength=3) / 4000
    expected = joint / joint.sum()
    # 4.5 standard errors
    assert (np.abs(found - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 4000)).all()


@pytest.mark.parametrize("kind", ["signs", "numbers"])
def test_mixtures_come_back(kind):
    base: Any = fit_signs(kinds(), 20) if kind == "signs" else fitted(clusters())[0]
    arrays = base.to_arrays()
    back = type(base).from_arrays(arrays, base.width)
    for name, array in arrays.items():
        np.testing.assert_array_equal(getattr(back, name), array)
    with pytest.raises(ValueError, match="sum to 1"):
        type(base).from_arrays({**arrays, "logs": arrays["logs"] + 0.1}, base.width)
    if kind == "numbers":
        with pytest.raises(ValueError, match="inverse"):
            type(base).from_arrays({**arrays, "roots": 0 * arrays["roots"]}, base.width)
