"""Features: means over rows are the targets, and site scores are scores."""

import numpy as np
import pytest

from herder.core.units import FIXED_POINT
from herder.data.variables import encode
from herder.models import CliqueFeatures, Moments
from tests.naming import refuses

RNG_SEED = 20


def table(n_values, n_rows=30):
    rng = np.random.default_rng(RNG_SEED)
    rows = np.column_stack([rng.integers(0, k, n_rows) for k in n_values])
    rows[: max(n_values)] = np.minimum(np.arange(max(n_values))[:, None], np.array(n_values) - 1)
    return rows


CASES = [
    ((2, 2, 2, 2), "01", 3),
    ((2, 2, 2, 2), "+-1", 3),
    ((2, 2, 2, 2), "+-1", 2),
    ((2, 2, 2, 2), "indicator", 2),
    ((2, 3, 2, 4), "01", 2),
    ((2, 3, 2, 4), "01", 3),
    ((3, 5), "01", 2),
    ((1, 2, 3), "01", 2),
    ((2, 200), "01", 2),
]


@pytest.mark.parametrize(("n_values", "encoding", "order"), CASES)
def test_mean_features_over_the_rows_are_the_targets(n_values, encoding, order):
    X = table(n_values, max(30, max(n_values)))
    codes = encode(X)
    moments = Moments.from_codes(codes, order)
    features = CliqueFeatures.of(moments, encoding)
    assert features.units.exact
    assert features.units.total == len(X)
    total = sum(features.features(row) for row in codes.rows)
    np.testing.assert_array_equal(total, features.target)


@pytest.mark.parametrize(("n_values", "encoding", "order"), CASES)
def test_site_scores_are_scores_up_to_what_the_site_does_not_touch(n_values, encoding, order):
    rng = np.random.default_rng(RNG_SEED)
    codes = encode(table(n_values, max(30, max(n_values))))
    features = CliqueFeatures.of(Moments.from_codes(codes, order), encoding)
    weights = rng.integers(-50, 50, features.n_features)
    for site in range(features.n_variables):
        state = codes.rows[7].copy()
        scores = features.site_scores(weights, state, site)
        brute = []
        for value in range(features.layout.n_values[site]):
            state[site] = value
            brute.append(int(weights @ features.features(state)))
        np.testing.assert_array_equal(scores - scores[0], np.array(brute) - brute[0])


def test_only_products_start_from_zero():
    moments = Moments.from_data(table((2, 3, 2)), 2)
    mixed = CliqueFeatures.of(moments, "01")
    start = mixed.start_weights()
    assert mixed.encoding == "01"
    assert (start[mixed.product] == 0).all()
    np.testing.assert_array_equal(start[~mixed.product], mixed.target[~mixed.product])
    assert mixed.product.sum() == 3  # x0, x2 and their pair
    signed = CliqueFeatures.of(Moments.from_data(table((2, 2))), "+-1")
    np.testing.assert_array_equal(signed.start_weights(), signed.target)


def test_encodings_that_do_not_fit_are_refused():
    moments = Moments.from_data(table((2, 3)))
    with refuses("encoding", match=r"encoding must be .*got '\+-1'.*'x1'"):
        CliqueFeatures.of(moments, "+-1")
    with refuses("encoding"):
        CliqueFeatures.of(moments, "onehot")


def test_unequal_totals_leave_the_integer_path():
    rows = {
        "variable_a": ["a", "b", "a"],
        "variable_b": ["a", "b", "b"],
        "count": [5, 3, 30],
        "total": [10, 10, 150],
    }
    features = CliqueFeatures.of(Moments.from_counts(rows))
    np.testing.assert_array_equal(features.target[4:6].sum(), features.target[0])  # still agree
    features = CliqueFeatures.of(Moments.from_counts(rows), "01")
    assert not features.units.exact
    assert features.units.total == FIXED_POINT
    np.testing.assert_allclose(features.target / FIXED_POINT, [0.5, 0.3, 0.2], atol=2**-24)


def test_site_cliques_hold_the_site():
    features = CliqueFeatures.of(Moments.from_data(table((2, 2, 3)), 3))
    for site, cliques in enumerate(features.site_cliques):
        holds = (features.layout.members == site).any(axis=1)
        np.testing.assert_array_equal(cliques, np.flatnonzero(holds))
