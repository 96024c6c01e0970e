"""Features of boosted fields: values, slopes, fits, and what families refuse."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.tree import DecisionTreeRegressor

from herder import BoostedField, DimpleFeatures, RBMFeatures, TreeFeatures
from herder.core.blas import one_blas_thread
from herder.learn import _boosting_jit as jit
from herder.learn.boosted_features import FAMILIES, FLAT, _loss, choose_family
from tests.naming import refuses


@pytest.fixture(autouse=True)
def one_thread():
    """As in a fit: products of small arrays do not wait for other threads."""
    with one_blas_thread():
        yield


gaussian: Any = stats.multivariate_normal

FAMILY_ROWS: Any = [
    (RBMFeatures(), True),
    (TreeFeatures(), True),
    (TreeFeatures(max_depth=2), False),
    (DimpleFeatures(), False),
]


def weighted_rows(signs, seed=0, n=150, width=3):
    """Return data and negative examples that differ, their signs and weights."""
    rng = np.random.default_rng(seed)
    if signs:
        rows = np.where(rng.random((2 * n, width)) < 0.5, 1.0, -1.0)
        rows[:n, 1] = np.where(rng.random(n) < 0.9, rows[:n, 0], -rows[:n, 0])
    else:
        rows = rng.normal(size=(2 * n, width))
        rows[:n] = 0.3 * rows[:n] + 1
    labels = np.repeat([-1.0, 1.0], n)
    weights = rng.random(2 * n)
    weights[:n] /= weights[:n].sum()
    weights[n:] /= weights[n:].sum()
    return rows, labels, weights


@pytest.mark.parametrize("width", [1, 2, 5])
def test_values_of_dimples_against_densities(width):
    rng = np.random.default_rng(width)
    rows = rng.normal(0, 3, (40, width))
    parameters = np.hstack([rng.normal(size=(6, width)), rng.normal(0, 2, (6, width))])
    family = DimpleFeatures(broad_width=2.5)
    found = family.values(parameters, rows)
    for k, one in enumerate(parameters):
        mean, precision = one[:width], np.exp(one[width:])
        narrow = gaussian(mean, np.diag(1 / precision))
        broad = gaussian(mean, 2.5**2 * np.eye(width))
        logs = np.logaddexp(narrow.logpdf(rows), broad.logpdf(rows))
        np.testing.assert_allclose(found[:, k], -logs - width / 2 * np.log(2 * np.pi), rtol=1e-10)


@given(seed=st.integers(0, 2**20), width=st.integers(1, 4), broad=st.floats(-4, 1))
def test_slopes_of_dimples_against_differences(seed, width, broad):
    rng = np.random.default_rng(seed)
    rows, dimple = rng.normal(0, 2, (5, width)), rng.normal(size=2 * width)
    values, slopes = np.empty(5), np.empty((5, 2 * width))
    jit.dimple_slopes(rows, dimple, broad, values, slopes)
    out = np.empty((5, 1))
    jit.dimples(rows, dimple[None], broad, out)
    np.testing.assert_allclose(values, out[:, 0], rtol=1e-12)
    for k in range(2 * width):
        step = 1e-5 * np.eye(2 * width)[k]
        above, below = np.empty((5, 1)), np.empty((5, 1))
        jit.dimples(rows, (dimple + step)[None], broad, above)
        jit.dimples(rows, (dimple - step)[None], broad, below)
        np.testing.assert_allclose(
            slopes[:, k], (above - below)[:, 0] / 2e-5, rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("seed", range(3))
def test_slope_of_the_loss_of_dimples(seed):
    """The loss is C over the deviation of the feature; its slope is that of differences."""
    rows, signs, weights = weighted_rows(False, seed)
    dimple = np.random.default_rng(seed).normal(size=6)
    force, broad = signs * weights, -2 * np.log(3.0)

    def loss(parameters):
        values = DimpleFeatures().values(parameters[None], rows)[:, 0]
        return -(force @ values) / np.sqrt(values.var() + FLAT)

    found, slope = _loss(dimple, rows, force, broad)
    assert found == pytest.approx(loss(dimple))
    steps = 1e-5 * np.eye(6)
    differences = [(loss(dimple + step) - loss(dimple - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-8)


def test_dimples_far_away_are_finite():
    rows, dimple = np.array([[1e100], [-1e6], [0.0]]), np.array([[0.0, 3.0]])
    assert np.isfinite(DimpleFeatures().values(dimple, rows)).all()
    values, slopes = np.empty(3), np.empty((3, 2))
    jit.dimple_slopes(rows, dimple[0], -2.0, values, slopes)
    assert np.isfinite(values).all()
    assert np.isfinite(slopes).all()


def test_values_of_units_against_log_cosh():
    rng = np.random.default_rng(0)
    units, rows = rng.normal(size=(4, 6)), np.where(rng.random((9, 5)) < 0.5, 1.0, -1.0)
    expected = -np.log(np.cosh(rows @ units[:, :-1].T + units[:, -1]))
    np.testing.assert_allclose(RBMFeatures().values(units, rows), expected, atol=1e-12)
    far = RBMFeatures().values(1e5 * units, rows)
    np.testing.assert_allclose(
        far, np.log(2) - np.abs(1e5 * (rows @ units[:, :-1].T + units[:, -1]))
    )


@pytest.mark.parametrize("seed", range(3))
def test_units_ascend_along_the_gradient(seed):
    """One step of the fit against finite differences of C, from the same random start."""
    rows, signs, weights = weighted_rows(True, seed)
    family = RBMFeatures(n_ascent=1, rate=0.05)
    found = family.fit(rows, signs, weights, np.random.default_rng(seed))
    start = np.random.default_rng(seed).standard_normal(4)
    start *= family.bound / 2 / np.linalg.norm(start)

    def gain(unit):
        return (weights * signs) @ -np.log(np.cosh(rows @ unit[:-1] + unit[-1]))

    steps = 1e-5 * np.eye(4)
    slope = np.array([gain(start + step) - gain(start - step) for step in steps]) / 2e-5
    unit = start + family.rate / 4 * slope
    unit *= min(1, family.bound / 2 / np.linalg.norm(unit))
    np.testing.assert_allclose(found, unit, atol=1e-6)
    assert gain(found) > gain(start)
    assert np.abs(found - start).max() > 1e-4


@pytest.mark.parametrize(("family", "signs"), FAMILY_ROWS)
@pytest.mark.parametrize("seed", range(3))
def test_fitted_features_are_smaller_on_the_data(family, signs, seed):
    rows, labels, weights = weighted_rows(signs, seed)
    feature = family.fit(rows, labels, weights, np.random.default_rng(seed))
    assert feature.shape == (family.n_parameters(3),)
    values = family.values(feature[None], rows)[:, 0]
    assert (labels * weights) @ values > 0.05 * values.std()
    again = family.fit(rows, labels, weights, np.random.default_rng(seed))
    np.testing.assert_array_equal(feature, again)
    other = family.fit(rows, labels, weights, np.random.default_rng(seed + 100))
    assert isinstance(family, TreeFeatures) or not np.array_equal(feature, other)


def test_units_keep_their_bound():
    rows, labels, weights = weighted_rows(True)
    for bound in (0.1, 1.6, 10.0):
        family = RBMFeatures(bound=bound, n_ascent=50)
        unit = family.fit(rows, labels, weights, np.random.default_rng(0))
        assert np.linalg.norm(unit) <= bound / 2 * (1 + 1e-6)


@pytest.mark.parametrize("least", [0.15, 0.5])
def test_dimples_keep_their_widths_and_find_the_data(least):
    rows, labels, weights = weighted_rows(False)
    family = DimpleFeatures(min_width=least)
    dimple = family.fit(rows, labels, weights, np.random.default_rng(0))
    np.testing.assert_allclose(dimple[:3], 1, atol=0.6)
    widths = np.exp(-dimple[3:] / 2)
    assert (widths >= least * (1 - 1e-12)).all()
    assert widths.max() < 1.5


@pytest.mark.parametrize("depth", [1, 3, 5])
def test_trees_against_scikit_learn(depth):
    rng = np.random.default_rng(depth)
    rows = rng.normal(size=(500, 4)).astype(np.float32).astype(float)
    new = rng.normal(size=(500, 4)).astype(np.float32).astype(float)
    labels = np.where(rng.random(500) < 1 / (1 + np.exp(-rows[:, 0] * rows[:, 1])), 1.0, -1.0)
    weights = rng.random(500)
    family = TreeFeatures(max_depth=depth, min_share=0.05)
    feature = family.fit(rows, labels, weights, np.random.default_rng(7))
    seed = int(np.random.default_rng(7).integers(2**31))
    tree: Any = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=25, random_state=seed)
    tree.fit(rows, labels, sample_weight=weights)
    for table in (rows, new):
        np.testing.assert_array_equal(
            family.values(feature[None], table)[:, 0], tree.predict(table)
        )
    assert np.abs(feature[-(2**depth) :]).max() <= 1


def test_trees_against_a_walk_written_out():
    rng = np.random.default_rng(0)
    rows, columns = rng.normal(size=(50, 3)), rng.integers(3, size=(4, 7))
    thresholds, leaves = rng.normal(size=(4, 7)), rng.normal(size=(4, 8))
    out = np.empty((50, 4))
    jit.trees(rows, columns.astype(np.intp), thresholds, leaves, out)
    for i, t in np.ndindex(50, 4):
        right = [rows[i, columns[t, 0]] > thresholds[t, 0]]
        for level in (1, 2):
            at = 2**level - 1 + int("".join(map(str, map(int, right))), 2)
            right.append(rows[i, columns[t, at]] > thresholds[t, at])
        assert out[i, t] == leaves[t, 4 * right[0] + 2 * right[1] + right[2]]


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        *((RBMFeatures, "bound", value) for value in (0, -1.0, np.nan, "a", 1e-308, 1e30)),
        *((RBMFeatures, "n_ascent", value) for value in (0, 2.5, True)),
        *((RBMFeatures, "rate", value) for value in (0.0, np.inf, None, 1e30)),
        *((DimpleFeatures, "min_width", value) for value in (0.0, 1.5, "a", 1e-100)),
        *((DimpleFeatures, "broad_width", value) for value in (0.0, -3.0, np.inf)),
        *((DimpleFeatures, "n_starts", value) for value in (0, -1, 1.5)),
        (DimpleFeatures, "n_ascent", 0),
        *((TreeFeatures, "max_depth", value) for value in (0, 17, 10**11, 2.0)),
        *((TreeFeatures, "min_share", value) for value in (-0.1, 1.0, np.nan)),
    ],
)
def test_settings_of_families_are_checked(make, name, value):
    with refuses(name, (ValueError, TypeError)):
        make(**{name: value})


@pytest.mark.parametrize("name", [*FAMILIES, "auto"])
@pytest.mark.parametrize("kind", ["bits", "signs", "numbers", "ones"])
def test_which_features_rows_get(name, kind):
    bits = np.array([[0.0, 1.0], [1.0, 1.0]])
    table = {"bits": bits, "signs": 2 * bits - 1, "numbers": bits + 0.5, "ones": bits**0}[kind]
    states = {"bits": (0, 1), "signs": (-1, 1), "numbers": None, "ones": (0, 1)}[kind]
    if name == "rbm" and states is None:
        for features in (name, RBMFeatures()):
            with refuses("X"):
                choose_family(features, table)
        return
    family, found = choose_family(name, table)
    assert found == (None if isinstance(family, DimpleFeatures) else states)
    if name == "auto":
        assert isinstance(family, DimpleFeatures if states is None else RBMFeatures)
    else:
        assert type(family) is FAMILIES[name]
    assert choose_family(family, table) == (family, found)


@pytest.mark.parametrize("features", [None, 3, RBMFeatures, object(), ["rbm"]])
def test_what_is_no_family(features):
    with refuses("features", TypeError, match="methods fit and values"):
        BoostedField(features).fit(np.eye(3))


def test_a_name_that_is_unknown():
    with refuses("features", match="did you mean dimple"):
        BoostedField("dimples").fit(np.eye(3))
