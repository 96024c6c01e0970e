"""The compiled loop with hidden sites equals the specification, state for state."""

from itertools import islice

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from herder.core import herd
from herder.fields.hidden_engine import HiddenHerd, first_weights, rounded_means
from herder.fields.hidden_system import HiddenSystem, RBMFeatures


def spins(n_rows, n_visible, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n_rows, n_visible)) < rng.random((n_rows, 1)), 1, -1)


@given(
    n_rows=st.integers(1, 20),
    n_visible=st.integers(1, 6),
    n_hidden=st.integers(1, 4),
    batch_size=st.sampled_from([None, 1, 3, 7]),
    start=st.sampled_from(["state", "rows"]),
    seed=st.integers(0, 99),
)
def test_retraces_the_loop(n_rows, n_visible, n_hidden, batch_size, start, seed):
    rows = spins(n_rows, n_visible, seed)
    size = n_rows if batch_size is None else min(batch_size, n_rows)
    centre = rounded_means(rows) if seed % 2 else np.zeros(n_visible, np.int8)
    engine = HiddenHerd(
        rows.astype(np.int8),
        n_hidden,
        centre=centre,
        batch_size=batch_size,
        from_rows=start == "rows",
    )
    states, hidden = engine.run(60)
    system = HiddenSystem(RBMFeatures(centre), rows, batch_size=batch_size, start=start)
    steps = list(islice(herd(system, first_weights(n_hidden, n_visible, size)), 60))
    np.testing.assert_array_equal(states, [step.state.visible for step in steps])
    np.testing.assert_array_equal(hidden, [step.state.hidden for step in steps])
    np.testing.assert_array_equal(engine.weights, steps[-1].weights)
    assert all(step.tipi <= 0 for step in steps)
    assert engine.counts[1] == 0


def test_wide_rows_and_many_rows_retrace():
    for shape in ((40, 70), (300, 3)):  # with a Gram matrix, and by products
        rows = spins(*shape, seed=1)
        engine = HiddenHerd(rows.astype(np.int8), 9)
        assert bool(len(engine.rows.gram)) == (shape == (40, 70))
        steps = islice(herd(HiddenSystem(RBMFeatures(), rows), engine.weights), 80)
        want = [step.state.visible for step in steps]
        np.testing.assert_array_equal(engine.run(80)[0], want)


def test_numbers_grow_wider_when_they_must(monkeypatch):
    rows = spins(30, 8).astype(np.int8)
    plain = HiddenHerd(rows, 5)
    states, _ = plain.run(50)
    assert plain.herd.weights.dtype == np.int32
    narrow = HiddenHerd._limit
    monkeypatch.setattr(
        HiddenHerd,
        "_limit",
        lambda self, kind, shape: narrow(self, kind, shape) if kind == np.int64 else 40,
    )
    wide = HiddenHerd(rows, 5)
    np.testing.assert_array_equal(wide.run(50)[0], states)
    assert wide.herd.weights.dtype == np.int64
    np.testing.assert_array_equal(wide.weights, plain.weights)


def test_moment_error_rates_and_averages_against_the_sequence():
    rows = spins(12, 6, seed=2)
    engine = HiddenHerd(rows.astype(np.int8), 4)
    states, hidden = engine.run(90)
    steps = list(islice(herd(HiddenSystem(RBMFeatures(), rows), first_weights(4, 6, 12)), 90))
    before = [step.weights - step.residual for step in steps]
    completed = np.array([[RBMFeatures().complete(w, row) for row in rows] for w in before])
    asked = np.mean(
        [
            RBMFeatures().features(row, z)
            for answers in completed
            for row, z in zip(rows, answers, strict=True)
        ],
        axis=0,
    )
    found = np.mean(
        [RBMFeatures().features(*pair) for pair in zip(states, hidden, strict=True)], 0
    )
    np.testing.assert_allclose(engine.rates, asked)
    np.testing.assert_allclose(engine.moment_error, np.abs(asked - found).max())
    np.testing.assert_allclose(engine.hidden_averages, (completed.mean(axis=0) + 1) / 2)
