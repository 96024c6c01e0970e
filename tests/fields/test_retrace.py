"""Every compiled loop equals the specification, state for state and weight for weight."""

import itertools
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herder.core import herd
from herder.fields import _binary_jit, atom, binary
from herder.fields.atom import AtomHerd
from herder.fields.binary import BinaryHerd
from herder.fields.clique import CliqueHerd
from herder.fields.system import MomentSystem, Pool, Setup
from herder.models import CliqueFeatures, Moments
from herder.models.counting import binary_tables
from herder.models.marginals import PatchTables, read_marginals
from herder.testing import check_system
from tests.naive import textbook_cells, textbook_herd

ENCODINGS = ("01", "+-1", "indicator")
RESTARTS = ("none", "rows", "visited")


def coupled_rows(n_rows, width, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random((n_rows, width)) < rng.random((n_rows, 1))).astype(np.int8)


def mixed_rows(n_rows=50, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(0, k, n_rows) for k in (2, 3, 4, 2, 5)], axis=1)
    rows[:, 1] = (rows[:, 0] + rows[:, 1] // 2) % 3
    return rows


def make_pool(rows, restarts):
    empty = np.zeros((0, rows.shape[1]), dtype=np.int16)
    if restarts == "rows":
        return Pool(np.unique(rows, axis=0).astype(np.int16))
    return Pool(empty, visited=True, size=16) if restarts == "visited" else Pool(empty)


def plain_setup(features):
    """From the default weights and the first state, without restarts."""
    state = np.zeros(features.n_variables, dtype=np.int16)
    scan = np.arange(features.n_variables)
    return Setup(features.start_weights(), state, 0, make_pool(state[None], "none"), scan)


def engines_for(features, complete, setup):
    engines: list[type] = [CliqueHerd]
    if binary.serves(features, complete, setup):
        engines.append(BinaryHerd)
    if atom.serves(features):
        engines.append(AtomHerd)
    return engines


def check_retrace(
    rows, order, encoding, restarts, *, scan=None, max_sweeps=0, n_steps=120, moments=None, t=0
):
    """Run specification and engines; return the engines that took part and the spec's tally."""
    moments = Moments.from_data(rows, order) if moments is None else moments
    features = CliqueFeatures.of(moments, encoding)
    scan = np.arange(rows.shape[1]) if scan is None else scan
    start, state = features.start_weights(), np.zeros(rows.shape[1], dtype=np.int16)
    system = MomentSystem(features, make_pool(rows, restarts), scan=scan, max_sweeps=max_sweeps)
    steps = list(islice(herd(system, start, state=state, t=t), n_steps))
    wanted = np.array([step.state for step in steps])
    setup = Setup(start, state, t, make_pool(rows, restarts), scan, max_sweeps)
    engines = engines_for(features, moments.is_complete, setup)
    for engine in engines:
        live = engine(features, setup)
        got = np.empty_like(wanted)
        live.run(got[: n_steps // 3])  # two runs: what is folded away in between must not show
        live.run(got[n_steps // 3 :])
        np.testing.assert_array_equal(got, wanted, err_msg=engine.__name__)
        np.testing.assert_array_equal(live.weights, steps[-1].weights)
        np.testing.assert_array_equal(live.state, steps[-1].state)
        assert live.step_counts.restarts == system.restarts
        assert live.step_counts.violations == system.violations
        if restarts == "visited":
            np.testing.assert_array_equal(live.visited, system._ring)
    return engines, system


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("restarts", RESTARTS)
def test_binary_tables_retrace(order, encoding, restarts):
    scan = np.array([3, 0, 6, 5, 1, 4, 2])
    check_retrace(coupled_rows(60, 7), order, encoding, restarts, scan=scan)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("encoding", ["01", "indicator"])
@pytest.mark.parametrize("restarts", RESTARTS)
def test_mixed_tables_retrace(order, encoding, restarts):
    check_retrace(mixed_rows(), order, encoding, restarts, scan=np.array([4, 2, 0, 1, 3]))


@pytest.mark.parametrize("max_sweeps", [1, 2])
def test_limited_sweeps_retrace(max_sweeps):
    check_retrace(coupled_rows(40, 9), 2, "01", "none", max_sweeps=max_sweeps)
    check_retrace(mixed_rows(), 2, "indicator", "none", max_sweeps=max_sweeps)


def test_the_cases_reach_restarts_and_every_engine():
    """The suite would prove little if no case had to restart, or if a loop never served."""
    rows = coupled_rows(20, 8, seed=1)
    for order, encoding in itertools.product((2, 3), ("01", "indicator")):
        engines, system = check_retrace(rows, order, encoding, "rows", n_steps=300)
        assert engines == [CliqueHerd, BinaryHerd] + ([AtomHerd] if order == 2 else [])
        assert system.restarts > 2
        assert system.violations == 0
        _, system = check_retrace(rows, order, encoding, "visited", n_steps=300)
        assert system.restarts > 2
        _, system = check_retrace(rows, order, encoding, "none", n_steps=300)
        assert system.violations > 2


@given(
    st.integers(1, 12),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.integers(1, 3),
    st.sampled_from(["01", "indicator"]),
    st.sampled_from(RESTARTS),
    st.integers(0, 2**32 - 1),
)
def test_any_small_table_retraces(n_rows, alphabet, order, encoding, restarts, seed):
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(0, k, n_rows) for k in alphabet], axis=1)
    check_retrace(rows, order, encoding, restarts, n_steps=24)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_textbook_loop_gives_the_same_states(order):
    rows = coupled_rows(83, 11, seed=5)
    n_rows, width = rows.shape
    moments = Moments.from_data(rows, order)
    features = CliqueFeatures.of(moments, "01")
    wide = rows.astype(np.int64)
    n3 = np.einsum("ri,rj,rk->ijk", wide, wide, wide) if order == 3 else np.zeros((0, 0, 0), int)
    wanted = np.empty((400, width), dtype=np.int8)
    violations = textbook_herd(n_rows, wide.sum(0), wide.T @ wide, n3, order, wanted)
    live = BinaryHerd(features, plain_setup(features))
    got = np.empty_like(wanted)
    live.run(got)
    np.testing.assert_array_equal(got, wanted)
    assert live.step_counts.violations == violations


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("restarts", ["none", "rows"])
def test_the_textbook_loop_over_cells_gives_the_same_states(order, restarts):
    rows = coupled_rows(41, 5, seed=3)
    wanted, restarted = textbook_cells(rows, order, 150, restart=restarts == "rows")
    features = CliqueFeatures.of(Moments.from_data(rows, order))
    setup = replace(plain_setup(features), pool=make_pool(rows, restarts))
    live = BinaryHerd(features, setup)
    got = np.empty((150, 5), dtype=np.int8)
    live.run(got)
    np.testing.assert_array_equal(got, wanted)
    assert live.step_counts.restarts == restarted


@pytest.mark.parametrize("encoding", ["01", "indicator"])
def test_counts_survive_the_folding_of_the_clock(encoding):
    """Triples of few rows turn the clock over every N steps; pairs of many rows widen int32."""
    rows = coupled_rows(7, 6, seed=2)
    check_retrace(rows, 3, encoding, "none", n_steps=150)
    check_retrace(coupled_rows(900, 5), 3, encoding, "visited", n_steps=1500)
    moments = Moments.from_data(rows, 2)
    many = Moments(
        moments.variables,
        moments.cliques,
        moments.counts * 3_000_000,
        moments.totals * 3_000_000,
        True,
    )
    states = []
    for counted in (moments, many):
        features = CliqueFeatures.of(counted, encoding)
        live = BinaryHerd(features, plain_setup(features))
        out = np.empty((3000, 6), dtype=np.int8)
        live.run(out)
        states.append(out)
    np.testing.assert_array_equal(states[0], states[1])  # herding is scale free


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_specification_obeys_the_laws_of_a_system(encoding):
    rows = coupled_rows(40, 5)
    features = CliqueFeatures.of(Moments.from_data(rows, 2), encoding)
    system = MomentSystem(features, make_pool(rows, "rows"))
    report = check_system(system, features.start_weights(), exact=True, n_steps=60)
    assert report.violations.n_violations == 0


@pytest.mark.parametrize("encoding", ["01", "indicator"])
@pytest.mark.parametrize(
    ("order", "steps", "factor"),
    # the loop is compiled for each width of its tables, which takes seconds
    [(2, 9000, 200_000), pytest.param(3, 70_000, 1, marks=pytest.mark.slow)],
)
def test_growing_weights_widen_their_tables_and_stay_exact(order, steps, factor, encoding):
    """Contradictory moments let weights grow past int16 and int32 without a wrong bit."""
    rows = coupled_rows(30, 5).astype(float)
    pairs = rows.T @ rows * factor
    triples = np.einsum("ri,rj,rk->ijk", rows, rows, rows) * factor
    total = 30.0 * factor
    pairs[3, 4] = pairs[4, 3] = 2 * total  # no table can have more than all rows
    triples[2, 3, 4] = 2 * total
    counts = binary_tables(total, pairs.diagonal(), pairs, triples, order)
    given = Moments.from_data(rows.astype(int), order)
    totals = np.full(len(given.cliques), total)
    moments = Moments(given.variables, given.cliques, counts, totals)
    features = CliqueFeatures.of(moments, encoding)
    assert binary.serves(features, moments.is_complete, plain_setup(features))
    engines: list[type] = [BinaryHerd, CliqueHerd] + ([AtomHerd] if order == 2 else [])
    results = []
    for engine in engines:
        live = engine(features, plain_setup(features))
        out = np.empty((steps, 5), dtype=np.int8)
        live.run(out)
        results.append((out, live.weights))
    assert np.abs(results[0][1]).max() > (2**31 if order == 2 else 2**15)
    for out, weights in results[1:]:
        np.testing.assert_array_equal(out, results[0][0])
        np.testing.assert_array_equal(weights, results[0][1])


@pytest.mark.parametrize(
    ("encoding", "order"), [("01", 3), ("indicator", 3), ("indicator", 2), ("+-1", 2)]
)
def test_the_scores_of_data_rows_move_along_with_the_weights(encoding, order):
    """With many ones the loop updates the scores of its rows instead of summing them anew."""
    rows = coupled_rows(120, 12)
    rows[:, 6:] = rows[:, :6] ^ (np.random.default_rng(0).random((120, 6)) < 0.05)
    features = CliqueFeatures.of(Moments.from_data(rows, order), encoding)
    pool = make_pool(rows, "rows")
    start, state = features.start_weights(), np.zeros(12, dtype=np.int16)
    live = BinaryHerd(features, Setup(start, state, 0, pool, np.arange(12)))
    assert live._herd.tally[_binary_jit.CATCH_UP] > (10 if order == 3 else 4)
    got = np.empty((600, 12), dtype=np.int8)
    live.run(got)
    general = CliqueHerd(features, Setup(start, state, 0, pool, np.arange(12)))
    wanted = np.empty_like(got)
    general.run(wanted)
    np.testing.assert_array_equal(got, wanted)
    assert live.step_counts.restarts == general.step_counts.restarts > 10
    assert live.step_counts.violations == general.step_counts.violations == 0


def test_a_ring_of_visited_states_may_start_late():
    """A position without visited states, resumed with restarts, must not invent any."""
    for rows, order in ((coupled_rows(60, 7), 2), (mixed_rows(), 2), (mixed_rows(), 3)):
        for encoding in ("01", "indicator"):
            check_retrace(rows, order, encoding, "visited", t=5, n_steps=40)


@pytest.mark.parametrize(
    ("encoding", "order"), [("01", 2), ("indicator", 2), ("indicator", 3), ("+-1", 2)]
)
def test_fixed_point_retraces(encoding, order):
    rows = coupled_rows(50, 5)
    given = Moments.from_data(rows, order)
    moments = Moments(
        given.variables, given.cliques, given.counts * 1.1, given.totals * 1.1, given.from_rows
    )
    engines, _ = check_retrace(rows, order, encoding, "visited", moments=moments)
    assert BinaryHerd in engines
    assert not CliqueFeatures.of(moments).units.exact


def test_sums_over_triples_that_float64_cannot_hold_retrace(monkeypatch):
    """What would be rounded is summed in whole numbers, one by one."""
    monkeypatch.setattr(binary, "LARGEST_EXACT", 0)
    for restarts in RESTARTS:
        rows = coupled_rows(20, 8, seed=1)
        engines, system = check_retrace(rows, 3, "indicator", restarts, n_steps=200)
        assert BinaryHerd in engines
        assert system.restarts > 0 or restarts == "none"


@pytest.mark.parametrize("order", [2, 3])
def test_only_weights_that_agree_are_served(order):
    """Any start will do for the other engines; the fast one wants tables that share margins."""
    features = CliqueFeatures.of(Moments.from_data(coupled_rows(60, 7), order))
    setup = plain_setup(features)
    assert binary.serves(features, True, setup)
    zero = replace(setup, weights=np.zeros_like(setup.weights))
    assert binary.serves(features, True, zero)
    uneven = setup.weights.copy()
    uneven[-1] += features.units.total
    assert not binary.serves(features, True, replace(setup, weights=uneven))
    live, other = BinaryHerd(features, zero), CliqueHerd(features, zero)
    got, wanted = np.empty((90, 7), dtype=np.int8), np.empty((90, 7), dtype=np.int8)
    live.run(got)
    other.run(wanted)
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(live.weights, other.weights)


def test_rates_retrace():
    rows = coupled_rows(60, 6)
    features = CliqueFeatures.of(Moments.from_data(rows, 2))
    rates = np.random.default_rng(0).integers(1, 7, features.n_features)
    setup = plain_setup(features)
    system = MomentSystem(features, setup.pool)
    steps = list(islice(herd(system, setup.weights, state=setup.state, rates=rates), 200))
    live = CliqueHerd(features, setup, rates=rates)
    got = np.empty((200, 6), dtype=np.int16)
    live.run(got)
    np.testing.assert_array_equal(got, [step.state for step in steps])
    np.testing.assert_array_equal(live.weights, steps[-1].weights)


@pytest.mark.parametrize("rates", [None, {"edges": 3.0, "inverse": 0.25}])
def test_patches_that_contradict_each_other_retrace(rates):
    """Cells that share a feature, all or some of them, and cells without one."""
    rng = np.random.default_rng(3)
    triples = rng.dirichlet(np.ones(8), 2).reshape(2, 2, 2, 2)
    marginals = {
        "sites": PatchTables([[0], [1], [2], [3]], rng.dirichlet([1, 1], 4)),
        "triples": PatchTables([[0, 1, 2], [3, 1, 0]], triples),
        "inverse": PatchTables([[1, 2, 3]], triples[:1], "inverse"),
        "edges": PatchTables([[0, 1], [2, 3]], [0.9, 0.05], "differ"),
    }
    given = read_marginals(marginals, rates)
    setup = plain_setup(given.features)
    system = MomentSystem(given.features, setup.pool)
    steps = list(islice(herd(system, setup.weights, state=setup.state, rates=given.rates), 300))
    live, states = (
        CliqueHerd(given.features, setup, rates=given.rates),
        np.empty((300, 4), np.int16),
    )
    live.run(states)
    np.testing.assert_array_equal(states, [step.state for step in steps])
    np.testing.assert_array_equal(live.weights, steps[-1].weights)
    assert live.step_counts.violations == system.violations


@pytest.mark.parametrize(
    ("largest", "step", "kind"),
    [(2**15 - 1, 0, np.int16), (2**15 - 1, 1, np.int32), (2**31, 0, np.int64)],
)
def test_tables_are_as_wide_as_their_numbers(largest, step, kind):
    numbers = np.array([[0, -largest], [largest, 1]])
    kept = binary.fitted(numbers, step, np.int16)
    assert kept.dtype == kind
    np.testing.assert_array_equal(kept, numbers)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1, 2, 40])
def test_targets_beyond_their_total_do_not_wrap(factor):
    """Herding is scale free, also for contradictory counts that exceed all rows."""
    total = 20_000.0 * factor
    pairs = np.full((3, 3), 0.5 * total)
    np.fill_diagonal(pairs, 0.75 * total)
    triples = np.full((3, 3, 3), 2 * total)
    counts = binary_tables(total, pairs.diagonal(), pairs, triples, 3)
    given = Moments.from_data(coupled_rows(9, 3), 3)
    moments = Moments(given.variables, given.cliques, counts, np.full(7, total))
    features = CliqueFeatures.of(moments, "01")
    setup = plain_setup(features)
    out = []
    for engine in engines_for(features, moments.is_complete, setup):
        states = np.empty((500, 3), dtype=np.int8)
        engine(features, setup).run(states)
        out.append(states.prod(axis=1).mean())
    assert len(set(out)) == 1
    assert out[0] > 0.7


def test_weights_that_would_overflow_are_refused():
    moments = Moments.from_counts(
        np.array([[50, 90], [90, 50]]), total=100, contradictions="allow"
    )
    features = CliqueFeatures.of(moments, "01")
    setup = plain_setup(features)
    live = CliqueHerd(features, setup, rates=np.full(features.n_features, 2**50))
    with pytest.raises(OverflowError, match="herd fewer steps"):
        live.run(np.empty((2000, 2), dtype=np.int16))
