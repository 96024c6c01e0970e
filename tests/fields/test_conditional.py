"""Conditional herding: the compiled loop equals the specification; the perceptron; moments."""

from itertools import islice

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
    n_rows, n_classes, n_hidden, states, batch_size, halving, is_sparse, bias, seed
):
    rows, labels = problem(n_rows, 3, n_classes, seed)
    how = {"batch_size": batch_size, "halving": halving}
    engine, system, rates = engine_and_system(
        rows, labels, n_classes, n_hidden, states, bias, **how
    )
    steps = list(islice(herd(system, engine.weights.copy(), rates=rates), 40))
    given_rows = sparse.csr_array(rows) if is_sparse else rows
    n_batches = -(-n_rows // min(batch_size, n_rows))
    taken = 0
    while taken < 40:  # step by step, since a run ends after a pass without a mistake
        options = {"place": taken, "size": batch_size, "halving": halving}
        taken += engine.run(given_rows, labels, 1, **options)
        step = steps[taken - 1]
        if batch_size != 3 and min(batch_size, n_rows) in (1, 2, 4):  # else 1/size is rounded
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
