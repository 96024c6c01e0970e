"""Conditional herding: the compiled loop equals the specification; the perceptron; moments."""

from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from herder import ParameterError, Perceptron
from herder.core import herd
from herder.fields.conditional import (
    ConditionalSystem,
    HiddenLabelFeatures,
    LabelFeatures,
    class_codes,
    entropy_share,
)
from herder.fields.conditional_engine import ConditionalHerd

#: Whole multiples of 1/4 and rates that are powers of two: sums of both are exact.
RATES = (0.25, 0.5, 1.0, 2.0)


def problem(n_rows, n_inputs, n_classes, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-4, 5, (n_rows, n_inputs)) / 4
    return rows, rng.integers(n_classes, size=n_rows)


def engine_and_system(rows, labels, n_classes, n_hidden, states, bias, **how):
    codes = class_codes(n_classes)
    engine = ConditionalHerd(
        rows.shape[1], n_hidden, codes, states=states, bias=bias, dtype=np.float64
    )
    rng = np.random.default_rng(len(rows))
    engine.weights[:] = rng.integers(-8, 9, engine.weights.size) / 8
    engine.rates[:] = RATES
    model = HiddenLabelFeatures(codes, n_hidden, states)
    if not n_hidden:
        model = LabelFeatures(codes, bias=bias)
    system = ConditionalSystem(model, rows, labels, **how)
    sizes = [int(np.prod(shape)) for shape in engine.shapes]
    return engine, system, np.repeat(RATES, sizes)


@given(
    n_rows=st.integers(1, 12),
    n_inputs=st.sampled_from([3, 9]),
    n_classes=st.integers(2, 4),
    n_hidden=st.integers(0, 3),
    states=st.sampled_from([(-1, 1), (0, 1)]),
    batch_size=st.sampled_from([1, 2, 4]),
    halving=st.sampled_from([0, 3]),
    is_sparse=st.booleans(),
    bias=st.booleans(),
    seed=st.integers(0, 99),
)
def test_retraces_the_loop(
    n_rows, n_inputs, n_classes, n_hidden, states, batch_size, halving, is_sparse, bias, seed
):
    rows, labels = problem(n_rows, n_inputs, n_classes, seed)
    how = {"batch_size": batch_size, "halving": halving}
    engine, system, rates = engine_and_system(
        rows, labels, n_classes, n_hidden, states, bias, **how
    )
    steps = list(islice(herd(system, engine.weights.copy(), rates=rates), 40))
    given_rows = sparse.csr_array(rows) if is_sparse else rows
    n_batches = -(-n_rows // system.size)
    taken = 0
    while taken < 40:  # step by step, since a run ends after a pass without a mistake
        options = {"place": taken, "size": batch_size, "halving": halving}
        taken += engine.run(given_rows, labels, 1, **options)
        step = steps[taken - 1]
        if system.size in (1, 2, 4):  # else 1/size is rounded
            np.testing.assert_array_equal(engine.weights, step.weights)
        else:
            np.testing.assert_allclose(engine.weights, step.weights, atol=1e-12)
    assert engine.n_violations == sum(step.tipi > 0 for step in steps)
    if not halving:
        assert engine.n_violations == 0
    wrong = 0
    for step in steps:
        first = min((step.t - 1) % n_batches * system.size, n_rows - system.size)
        wrong += np.sum(step.state.labels != labels[first : first + system.size])
    assert engine.n_wrong == wrong
    predicted = [system.predict(engine.weights, row) for row in rows]
    assert engine.classify(given_rows).tolist() == predicted


def test_large_batches_retrace():
    """Which are multiplied by BLAS; products of these numbers are exact in any order."""
    rows, labels = problem(64, 9, 3, seed=1)
    how = {"batch_size": 32, "halving": 4}
    engine, system, rates = engine_and_system(rows, labels, 3, 4, (-1, 1), True, **how)
    steps = list(islice(herd(system, engine.weights.copy(), rates=rates), 30))
    engine.run(rows, labels, 30, place=0, size=32, halving=4)
    np.testing.assert_array_equal(engine.weights, steps[-1].weights)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_perceptron_is_its_special_case(is_sparse):
    """After every row the weights are twice those of the perceptron (equations 3.29, 3.30)."""
    rng = np.random.default_rng(3)
    rows = rng.integers(-8, 9, (200, 5)) / 8
    labels = (rows @ [1, -2, 0.5, 0, 1] + rng.normal(0, 0.5, 200) > 0).astype(np.intp)
    given_rows = sparse.csr_array(rows) if is_sparse else rows
    engine = ConditionalHerd(5, 0, class_codes(2), bias=False, dtype=np.float64)
    plain = Perceptron(fit_intercept=False, shuffle=False)
    n_moves, before = 0, np.zeros(5)
    for i in range(len(rows)):
        engine.run(given_rows, labels, 1, place=i, size=1)
        plain.partial_fit(rows[i : i + 1], labels[i : i + 1], classes=[0, 1])
        np.testing.assert_array_equal(engine.weights, 2 * plain.coef_[0])
        n_moves += bool((engine.weights != before).any())
        before = engine.weights.copy()
    assert engine.n_wrong == n_moves > 20  # a first score of 0 is a mistake


@pytest.mark.parametrize("seed", range(2))
def test_moments_meet_at_rate_one_over_t(seed):
    """Proposition 3.3: the sum of all differences of features is the way of the weights."""
    rng = np.random.default_rng(seed)
    rows, labels = np.repeat(rng.normal(size=(5, 2)), 2, axis=0), rng.integers(3, size=10)
    labels[1::2] = (labels[::2] + 1) % 3  # the same rows again: there are always mistakes
    engine = ConditionalHerd(2, 3, class_codes(3), dtype=np.float64)
    engine.weights[:] = rng.normal(size=engine.weights.size)
    start, times = engine.weights.copy(), [1000, 5000, 25_000]
    gaps = []
    for n_steps in times:
        engine.run(rows, labels, n_steps - engine.n_steps, place=0, size=10)
        gaps.append(np.abs(engine.weights - start).max() / n_steps)
    assert engine.n_wrong > times[-1]
    assert engine.n_violations == 0
    slope = np.polyfit(np.log(times), np.log(gaps), 1)[0]
    assert -1.1 < slope < -0.9


@pytest.mark.parametrize("states", [(-1, 1), (0, 1)])
def test_the_maximum_over_hidden_units_is_that_of_all_of_them(states):
    rng = np.random.default_rng(7)
    model = HiddenLabelFeatures(class_codes(3), 3, states)
    engine = ConditionalHerd(2, 3, class_codes(3), states=states, dtype=np.float64)
    engine.weights[:] = rng.normal(size=engine.weights.size)
    rows = rng.normal(size=(20, 2))
    best = [
        max(
            range(3),
            key=lambda k: max(
                engine.weights @ model.features(row, k, np.array(z, float))
                for z in product(states, repeat=3)
            ),
        )
        for row in rows
    ]
    assert engine.classify(rows).tolist() == best


def test_entropy_trick_halves_and_ends():
    shares = [entropy_share(t, 3) for t in range(31)]
    assert shares[:7] == [1, 1, 1, 0.5, 0.5, 0.5, 0.25]
    assert shares[29] == 0.5**9
    assert shares[30] == 0
    assert entropy_share(0, 0) == 0


def test_entropy_trick_keeps_hidden_units_from_saturating():
    """Shifted inputs: without the trick all units are in one state for all rows."""
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(300, 10)) + 5).astype(np.float32)
    labels = (rows[:, 0] > 5).astype(np.intp) ^ (rows[:, 1] > 5)
    shares = {}
    for halving in (0, 100):
        engine = ConditionalHerd(10, 20, class_codes(2))
        engine.weights[:] = rng.normal(size=engine.weights.size) * np.repeat(
            1 / engine.sizes, engine.sizes
        )
        engine.rates[:] = 1 / engine.sizes
        engine.run(rows, labels, 100, place=0, size=10, halving=halving)
        on = rows @ engine.herd.inputs + engine.herd.biases > 0
        shares[halving] = np.mean(np.abs(on.mean(axis=0) - 0.5) < 0.45)
    assert shares[100] > shares[0] + 0.3


def test_rows_and_labels_are_checked():
    model = LabelFeatures(class_codes(2))
    with pytest.raises(ParameterError, match="rows must be as many as the labels"):
        ConditionalSystem(model, [[0.0]], [0, 1])
    with pytest.raises(ParameterError, match="rows must be as many"):
        ConditionalSystem(model, [], [])
    with pytest.raises(ParameterError, match="labels must be numbers of classes, 0 to 1"):
        ConditionalSystem(model, [[0.0], [1.0]], [-1, 1])
