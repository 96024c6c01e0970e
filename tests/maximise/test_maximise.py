from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herder.core import EnumeratedSystem, herd
from herder.maximise import ascend, best_state
from herder.maximise.exhaustive import all_states, feature_table, n_states
from herder.models import CliqueFeatures, Moments


def features_of(alphabet, order, encoding, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(0, k, 30) for k in alphabet], axis=1)
    rows[: max(alphabet)] = np.stack([np.arange(max(alphabet)) % k for k in alphabet], axis=1)
    return CliqueFeatures.of(Moments.from_data(rows, order), encoding)


@given(
    st.lists(st.integers(2, 3), min_size=1, max_size=4),
    st.integers(1, 3),
    st.sampled_from(["01", "indicator"]),
    st.integers(0, 2**32 - 1),
)
def test_ascent_ends_at_a_local_and_search_at_the_global_maximum(alphabet, order, encoding, seed):
    features = features_of(alphabet, order, encoding)
    rng = np.random.default_rng(seed)
    weights = rng.integers(-9, 10, features.n_features)

    def score(state):
        return int(weights @ features.features(np.asarray(state)))

    start = np.array([rng.integers(0, k) for k in features.layout.n_values], dtype=np.int16)
    before = start.copy()
    reached = ascend(features, weights, start)
    np.testing.assert_array_equal(start, before)
    assert score(reached) >= score(start)
    for i, k in enumerate(features.layout.n_values):
        for v in range(k):
            near = reached.copy()
            near[i] = v
            assert score(near) <= score(reached)
    scores = [score(state) for state in product(*map(range, features.layout.n_values))]
    best = best_state(features, weights)
    assert score(best) == max(scores)
    np.testing.assert_array_equal(best, all_states(features)[int(np.argmax(scores))])


def test_ties_keep_the_current_value():
    features = features_of([2, 2, 2], 2, "01")
    still = np.array([1, 0, 1], dtype=np.int16)
    reached = ascend(features, np.zeros(features.n_features, dtype=np.int64), still)
    np.testing.assert_array_equal(reached, still)


def test_variables_left_out_of_the_scan_stay():
    features = features_of([2, 3, 2], 2, "indicator")
    weights = np.arange(features.n_features)
    reached = ascend(features, weights, np.zeros(3, dtype=np.int16), scan=[2])
    np.testing.assert_array_equal(reached[:2], [0, 0])
    assert reached[2] == 1


def test_a_small_field_is_an_enumerated_system():
    """Exact herding of cliques is herding over the table of all states."""
    features = features_of([2, 2, 3], 2, "indicator")
    total = features.units.total
    system = EnumeratedSystem(total * feature_table(features), features.target)
    steps = list(islice(herd(system, features.start_weights()), 300))
    states = all_states(features)[[step.state for step in steps]]
    phi = np.mean([features.features(state) for state in states], axis=0)
    np.testing.assert_allclose(phi, features.target / total, atol=10 / 300)
    assert all(step.tipi <= 0 for step in steps)


def test_large_spaces_are_not_enumerated():
    features = features_of([2] * 21, 1, "01")
    assert n_states(features) == 2**21
    with pytest.raises(ValueError, match="at most 1048576 states"):
        best_state(features, np.zeros(21, dtype=np.int64))
