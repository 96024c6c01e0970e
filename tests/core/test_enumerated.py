from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from herder.core import (
    EnumeratedSystem,
    MiniBatches,
    NeuronSystem,
    Units,
    fit_rate,
    herd,
    moment_error,
    weight_norms,
)
from tests.naming import refuses

FEATURES = np.array([[0, 0], [3, 1], [1, 2], [3, 1]])


def run(system, weights, n, **options):
    return list(islice(herd(system, weights, **options), n))


def states(steps):
    return [step.state for step in steps]


def test_counts_give_exact_units():
    system = EnumeratedSystem(FEATURES, counts=[2, 3, 5, 0])
    assert system.units == Units(10, exact=True)
    assert system.target.tolist() == [14, 13]
    assert (system.features == 10 * FEATURES).all()
    same = EnumeratedSystem(FEATURES, [14, 13], total=10)
    assert (same.features == system.features).all()
    assert states(run(same, [0, 0], 50)) == states(run(system, [0, 0], 50))


def test_probabilities_counts_and_targets_agree():
    floats = EnumeratedSystem(FEATURES, probabilities=[0.2, 0.3, 0.5, 0.0])
    np.testing.assert_allclose(floats.target, [1.4, 1.3], rtol=1e-15)
    assert floats.units == Units(1, exact=False)
    counted = EnumeratedSystem(FEATURES.astype(float), counts=[2, 3, 5, 0])
    np.testing.assert_allclose(counted.target, floats.target, rtol=1e-15)
    shares = np.array([Fraction(1, 5), Fraction(3, 10), Fraction(1, 2), Fraction(0)])
    exact = EnumeratedSystem(FEATURES, probabilities=shares)
    assert exact.target.tolist() == [Fraction(7, 5), Fraction(13, 10)]
    assert exact.units == Units(1, exact=True)


def test_ties_go_to_the_lowest_index():
    system = EnumeratedSystem(FEATURES, counts=[1, 1, 1, 1])
    assert system.maximise(np.array([1, 1]), None) == 1
    assert system.maximise(np.array([0, 0]), None) == 0
    noisy = FEATURES.astype(float)
    noisy[3] += 1e-13
    floats = EnumeratedSystem(noisy, [1.0, 1.0])
    assert floats.maximise(np.array([1.0, 1.0]), None) == 1
    assert floats.maximise(np.array([1e9, 1e9]), None) == 1
    strict = EnumeratedSystem(noisy, [1.0, 1.0], tie_tol=0.0)
    assert strict.maximise(np.array([1.0, 1.0]), None) == 3


def test_tipi_is_the_inner_product_of_the_step():
    system = EnumeratedSystem(FEATURES, counts=[2, 3, 5, 0])
    w = np.array([4, -7])
    assert system.tipi(w) == 4 * 14 - 7 * 13 - 10 * max(FEATURES @ w)
    for step in run(system, w, 40):
        assert system.tipi(w) == step.tipi
        w = step.weights


def test_scores_do_not_wrap():
    system = EnumeratedSystem([[2**40, 0], [2**40, 1]], [0, 0])
    w = np.array([2**40, 1])
    assert system.scores(w).tolist() == [2**80, 2**80 + 1]
    assert system.maximise(w, None) == 1


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"features": [1, 2], "target": [1]}, ValueError, "features must have shape"),
        ({"features": np.zeros((0, 2)), "target": [1, 2]}, ValueError, "features must have shape"),
        ({"features": [[np.nan]], "target": [1]}, ValueError, "features must be finite"),
        ({"features": [[1]]}, ValueError, "exactly one of target, probabilities and counts"),
        ({"features": [[1]], "target": [1], "counts": [1]}, ValueError, "exactly one"),
        ({"features": [[1]], "target": [1, 2]}, ValueError, r"target must have shape \(1,\)"),
        ({"features": [[1]], "counts": [1, 2]}, ValueError, r"counts must have shape \(1,\)"),
        ({"features": [[1]], "counts": [-1]}, ValueError, "counts must be non-negative, got -1"),
        ({"features": [[1]], "counts": [0]}, ValueError, "counts must not be all zero"),
        ({"features": [[1]], "counts": [0.5]}, TypeError, "counts must be integers"),
        ({"features": [[1]], "probabilities": [0.9]}, ValueError, "must sum to 1, got 0.9"),
        ({"features": [[1]], "counts": [2], "total": 2}, ValueError, "total must be left out"),
        ({"features": [[0.5]], "target": [1], "total": 2}, TypeError, "total must be left out"),
        ({"features": [[1]], "target": [1], "total": 0}, ValueError, "total must be a positive"),
        ({"features": [[1]], "target": [1], "tie_tol": -1}, ValueError, "tie_tol must be"),
    ],
)
def test_bad_tables_are_refused(arguments, error, text):
    with pytest.raises(error, match=text):
        EnumeratedSystem(**arguments)


def test_features_that_outgrow_int64_are_refused():
    with pytest.raises(OverflowError, match=r"features times 1024 must stay below 2\*\*62"):
        EnumeratedSystem([[2**53]], [0], total=1024)


def test_wrong_weights_are_refused():
    system = EnumeratedSystem(FEATURES, counts=[1, 1, 1, 1])
    with refuses("weights"):
        next(herd(system, [0, 0, 0]))
    with refuses("weights", TypeError):
        next(herd(system, [0.0, 0.0]))


@pytest.mark.parametrize("batch_size", [1, 2, 3, 5, 6])
def test_average_target_over_a_cycle_is_the_mean(batch_size):
    rows = FEATURES[[0, 1, 2, 2, 1, 0]]
    n, total = 6, 30
    system = EnumeratedSystem(FEATURES, total // n * rows.sum(0), total=total)
    batches = MiniBatches(system, rows, batch_size=batch_size, total=total)
    cycle = n // np.gcd(n, batch_size)
    mean = sum(batches.target(t) for t in range(cycle))
    assert (mean == cycle * system.target).all()
    steps = run(batches, [0, 0], 400)
    for t, step in enumerate(steps):
        assert (step.residual == batches.target(t) - system.features[step.state]).all()
        assert step.tipi <= 0


@pytest.mark.parametrize("number", ["float", "fraction"])
def test_mini_batches_of_other_number_types(number):
    rows = np.array([[0.0, 0.0], [3.0, 1.0], [1.0, 2.0]])
    if number == "fraction":
        rows = np.array([[Fraction(int(x)) for x in row] for row in rows], dtype=object)
    system = EnumeratedSystem(rows, rows.sum(0) / 3)
    steps = run(MiniBatches(system, rows, batch_size=2), 0 * system.target, 300)
    assert moment_error(0 * system.target, steps[-1].weights, 300) < 0.02
    assert max(weight_norms(steps)) < 10
    if number == "fraction":
        assert all(step.tipi <= 0 for step in steps)


def test_mini_batches_refuse():
    system = EnumeratedSystem(FEATURES, counts=[1, 1, 1, 1])
    with refuses("batch_size"):
        MiniBatches(system, FEATURES, batch_size=5, total=4)
    with refuses("batch_size"):
        MiniBatches(system, FEATURES, batch_size=0, total=4)
    with refuses("rows"):
        MiniBatches(system, [1, 2], batch_size=1)
    uneven = MiniBatches(system, FEATURES, batch_size=3, total=4)
    with refuses("total"):
        run(uneven, [0, 0], 4)


def rabbits(n):
    """Young grow up, adults breed: 0 -> 1, 1 -> 10."""
    word = "1"
    while len(word) < n:
        word = "".join("1" if c == "0" else "10" for c in word)
    return [int(c) for c in word[:n]]


def fibonacci(k):
    a, b = 1, 1
    for _ in range(k):
        a, b = b, a + b
    return a, b


def test_rabbit_sequence_in_integers():
    rate, total = fibonacci(40)
    steps = run(NeuronSystem(rate, total=total), [2 * rate - total], 5000)
    assert states(steps) == rabbits(5000)


def test_rabbit_sequence_in_fractions():
    rate = Fraction(*fibonacci(40))
    steps = run(NeuronSystem(rate), np.array([2 * rate - 1], dtype=object), 1000)
    assert states(steps) == rabbits(1000)


def test_rabbit_sequence_in_floats():
    golden = (5**0.5 - 1) / 2
    assert states(run(NeuronSystem(golden), [2 * golden - 1], 1000)) == rabbits(1000)


@pytest.mark.parametrize("rate", [0, 1, 5, 6, 12, 13])
@pytest.mark.parametrize("total", [13, 14])
def test_spikes_are_never_off_by_more_than_one_half(rate, total):
    neuron = NeuronSystem(rate, total=total)
    fired = 0
    for step in islice(herd(neuron, neuron.start()), 3 * total):
        fired += step.state
        assert 2 * abs(total * fired - rate * step.t) <= total
        assert rate - total < step.weights[0] <= rate


def test_start_of_a_neuron():
    assert NeuronSystem(0.75).start().tolist() == [0.25]
    assert NeuronSystem(Fraction(1, 3)).start().tolist() == [Fraction(-1, 6)]
    assert NeuronSystem(3, total=7).start().tolist() == [0]


def test_bad_rates_are_refused():
    with refuses("rate"):
        NeuronSystem(1.5)
    with refuses("rate"):
        NeuronSystem(float("nan"))


def test_sine_and_cosine_reach_their_means_at_rate_one():
    # figure 2 of Welling (2009)
    x = -np.pi + np.arange(7)
    system = EnumeratedSystem(np.column_stack([np.sin(x), np.cos(x)]), probabilities=[1 / 7] * 7)
    steps = run(system, [0.0, 0.0], 20_000)
    t = np.arange(1, 20_001)
    norms = weight_norms(steps)
    # inside Corollary 2.4's ball, whose radius a few steps of length at most 2 suffice to show
    assert norms.max() < 3
    assert all(step.tipi <= 1e-9 for step in steps)
    late = np.unique(np.geomspace(10, 20_000, 300).astype(int)) - 1
    rate = fit_rate(t[late], norms[late] / t[late])
    assert rate.slope == pytest.approx(-1.0, abs=max(0.05, 3 * rate.standard_error))
    assert len(set(states(steps))) == 7
