"""Laws of herds over tables: hypothesis draws the features, the distribution and the start."""

from fractions import Fraction
from itertools import islice

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from herder.core import EnumeratedSystem, MiniBatches, growth, herd, moment_error, norm
from herder.testing import check_system

N_STEPS = 40


@st.composite
def tables(draw):
    """Integer features, counts of the states, and integer weights to start from."""
    n_states = draw(st.integers(1, 6))
    n_features = draw(st.integers(1, 4))
    entry = st.integers(-5, 5)
    row = st.lists(entry, min_size=n_features, max_size=n_features)
    features = draw(st.lists(row, min_size=n_states, max_size=n_states))
    counts = draw(st.lists(st.integers(0, 9), min_size=n_states, max_size=n_states).filter(any))
    start = draw(st.lists(st.integers(-50, 50), min_size=n_features, max_size=n_features))
    return np.array(features), np.array(counts), np.array(start)


def run(system, weights, n=N_STEPS, **options):
    return list(islice(herd(system, weights, **options), n))


def states(steps):
    return [step.state for step in steps]


@given(tables())
def test_integers_obey_all_laws(table):
    features, counts, start = table
    check_system(EnumeratedSystem(features, counts=counts), start, exact=True, n_steps=N_STEPS)


@given(tables(), st.integers(1, 5))
def test_rates_obey_all_laws(table, seed):
    features, counts, start = table
    rates = 1 + (seed * np.arange(len(start)) % 4)
    system = EnumeratedSystem(features, counts=counts)
    check_system(system, start, exact=True, n_steps=N_STEPS, rates=rates)


@given(tables())
def test_floats_obey_all_laws(table):
    features, counts, start = table
    system = EnumeratedSystem(features / 7, probabilities=counts / counts.sum())
    check_system(system, start / 3, exact=True, n_steps=N_STEPS)


@given(tables())
def test_fractions_obey_all_laws_and_follow_the_integers(table):
    features, counts, start = table
    total = int(counts.sum())
    shares = np.array([Fraction(int(c), total) for c in counts], dtype=object)
    system = EnumeratedSystem(features, probabilities=shares)
    begin = np.array([Fraction(int(w), total) for w in start], dtype=object)
    check_system(system, begin, exact=True, n_steps=20)
    exact = run(EnumeratedSystem(features, counts=counts), start, 20)
    rational = run(system, begin, 20)
    assert states(exact) == states(rational)
    assert (rational[-1].weights * total == exact[-1].weights).all()


@given(tables())
def test_weights_stay_bounded_and_moments_are_reached(table):
    features, counts, start = table
    system = EnumeratedSystem(features, counts=counts)
    steps = run(system, start, 400)
    norms = [norm(start), *(norm(step.weights) for step in steps)]
    # |w'|^2 = |w|^2 + 2 tipi + |v|^2: a step grows by at most |v|, and the cycling condition
    # keeps the squares below |w_0|^2 + t max |v|^2
    longest = max(norm(system.target - row) for row in system.features)
    for t, length in enumerate(norms):
        assert length**2 <= norm(start) ** 2 + t * longest**2 + 1e-6
    assert not growth(np.arange(1, 401), norms[1:]).linear
    # proposition 2.2: twice the radius over T, in units of 1/N
    total = system.units.total
    average = np.mean([features[step.state] for step in steps], axis=0)
    gap = np.linalg.norm(average - system.target / total)
    assert gap <= 2 * max(norms) / (400 * total) + 1e-9
    error = moment_error(start, steps[-1].weights, 400, total=total)
    np.testing.assert_allclose(gap, error, atol=1e-12)


@given(tables(), st.integers(1, 1000))
def test_states_do_not_depend_on_the_scale(table, factor):
    features, counts, start = table
    system = EnumeratedSystem(features, counts=counts)
    plain = run(system, start)
    scaled = run(system, factor * start, rates=factor)
    assert states(plain) == states(scaled)
    assert (scaled[-1].weights == factor * plain[-1].weights).all()


@given(tables(), st.integers(-20, 20))
def test_float_states_do_not_depend_on_powers_of_two(table, power):
    features, counts, start = table
    system = EnumeratedSystem(features / 7, probabilities=counts / counts.sum())
    factor = 2.0**power
    plain = run(system, start / 3)
    scaled = run(system, start / 3 * factor, rates=factor)
    assert states(plain) == states(scaled)
    assert (scaled[-1].weights == factor * plain[-1].weights).all()


@given(tables(), st.floats(0.1, 50))
def test_rescaling_changes_no_state(table, max_norm):
    features, _, start = table
    # a target that need not be consistent
    system = EnumeratedSystem(features / 7, start / 11)
    plain = run(system, start / 3)
    kept = run(system, start / 3, max_norm=max_norm)
    assert states(plain) == states(kept)
    for a, b in zip(plain, kept, strict=True):
        assert norm(b.weights) <= max_norm
        assert (a.weights * b.scale == b.weights).all()


@given(tables(), st.integers(1, N_STEPS - 1), st.floats(0.5, 20))
def test_resume_after_any_number_of_steps(table, n, max_norm):
    features, _, start = table
    system = EnumeratedSystem(features / 7, start / 11)
    whole = run(system, start / 3, max_norm=max_norm)
    stop = whole[n - 1]
    rest = run(
        system,
        stop.weights,
        N_STEPS - n,
        state=stop.state,
        t=stop.t,
        scale=stop.scale,
        max_norm=max_norm,
    )
    for a, b in zip(whole[n:], rest, strict=True):
        assert (a.t, a.state, a.tipi, a.scale) == (b.t, b.state, b.tipi, b.scale)
        assert (a.weights == b.weights).all()


@given(tables(), tables(), st.integers(0, 100))
def test_tipi_is_concave_scale_free_and_never_positive(table, other, factor):
    features, counts, v = table
    system = EnumeratedSystem(features, counts=counts)
    w = np.resize(other[2], v.shape)
    assert system.tipi(0 * v) == 0
    assert system.tipi(v) <= 0
    assert system.tipi(factor * v) == factor * system.tipi(v)
    # concave and scale free: superadditive
    assert system.tipi(v + w) >= system.tipi(v) + system.tipi(w)


@given(tables(), st.data())
def test_mini_batches_keep_the_laws(table, data):
    rows, _, start = table
    batch_size = data.draw(st.integers(1, len(rows)))
    total = int(np.lcm(len(rows), batch_size))
    system = EnumeratedSystem(rows, total // len(rows) * rows.sum(0), total=total)
    batches = MiniBatches(system, rows, batch_size=batch_size, total=total)
    check_system(batches, start, exact=True, n_steps=N_STEPS)
    cycle = len(rows) // int(np.gcd(len(rows), batch_size))
    targets = np.array([batches.target(t) for t in range(cycle)])
    assert (targets.sum(0) == cycle * system.target).all()
