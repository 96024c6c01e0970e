"""What must not go wrong silently: written arrays, long runs, stuck chains, missed valleys."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from herder import (
    PairwiseModel,
    PottsModel,
    gibbs,
    herded_gibbs,
    log_partition,
    swendsen_wang,
)
from herder.samplers.annealing import AnnealingWarning
from herder.samplers.notes import _remedies
from herder.samplers.scan_check import _pieces
from tests.naming import refuses

GRID = PairwiseModel.grid((3, 3), 0.3)
COLD = PairwiseModel.grid((6, 6), 2.0)
MIXED = PairwiseModel.random(12, coupling_sd=2.0)


@pytest.mark.parametrize("model", [GRID, PottsModel.grid((3, 3)), PairwiseModel.random(5)])
def test_arrays_of_a_model_cannot_be_written_to(model):
    run = gibbs(model, 5, pairs="edges")
    arrays: list[Any] = [run.edges, model.edge_weights, *model.adjacency]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = array[:1]


@pytest.mark.parametrize("resumed", [2**35 - 32, 2**35 + 2**30])
def test_counts_of_very_long_runs_do_not_wrap(resumed):
    """A run of 2^35 sweeps cannot be waited for: its counters are set as it would have left them.

    The site was at its upper state all the time, in batches of 2^30 or of 2^31 sweeps.
    """
    model = PairwiseModel([[0.0]], [50.0])
    first = gibbs(model, 64, keep=False, start=[1])
    chain = first.position.chains[0]
    length = 2**30 if resumed <= 2**35 else 2**31
    batches = np.zeros_like(chain.counted["batches"], dtype=np.int64)
    full, rest = divmod(resumed, length)
    batches[:full], batches[full : full + 1] = length, rest
    counted = {**chain.counted, "counts": np.array([resumed, length]), "batches": batches}
    position = replace(first.position, chains=(replace(chain, counted=counted),))
    both = gibbs(model, 128, keep=False, resume=position)
    assert both.n_sweeps == resumed + 128
    assert both.marginals[0] == 1


def test_batches_are_widened_in_time():
    model = PairwiseModel([[0.0]], [50.0])
    first = gibbs(model, 64, keep=False, start=[1])
    chain = first.position.chains[0]
    batches = np.full_like(chain.counted["batches"], 2**29)
    counted = {**chain.counted, "counts": np.array([2**34, 2**29]), "batches": batches}
    position = replace(first.position, chains=(replace(chain, counted=counted),))
    both = gibbs(model, 64, keep=False, resume=position)
    assert both.position.chains[0].counted["batches"].dtype == np.int64
    assert both.marginals[0] == 1


@pytest.mark.parametrize("dtype", [np.uint8, bool, np.int8, np.float32])
def test_a_start_may_be_of_any_type(dtype):
    start = np.ones(9, dtype)
    np.testing.assert_array_equal(
        gibbs(GRID, 20, start=start, evidence={2: -1}).samples,
        gibbs(GRID, 20, start=np.ones(9), evidence={2: -1}).samples,
    )


def test_functions_cannot_change_the_states():
    def rude(rows):
        rows[:] = 1
        return rows[:, 0]

    with pytest.raises(ValueError, match="read-only"):
        gibbs(GRID, 20, functions=rude)


def test_chains_that_are_stuck_apart_have_the_error_of_their_means():
    run = gibbs(COLD, 1000, n_chains=8)
    means = run.chains.mean(axis=1) / 2 + 0.5
    assert np.nanmax(run.r_hat) > 2
    np.testing.assert_allclose(run.errors, means.std(axis=0, ddof=1) / np.sqrt(8), rtol=0.05)
    assert any("do not agree" in note for note in run.notes)


def test_notes_say_what_speaks_against_a_run():
    many: Any = {"n_chains": 4, "keep": False}
    assert swendsen_wang(GRID, 4000, **many).notes == ()
    alone = gibbs(GRID, 4000, keep=False)
    assert len(alone.notes) == 1
    assert "modes that it never reached; take several chains" in str(alone.summary())
    assert any("no guarantee" in note for note in herded_gibbs(GRID, 4000, **many).notes)
    complete = PairwiseModel.random(4, coupling_sd=0.2)
    assert herded_gibbs(complete, 4000, **many).notes == ()
    held = gibbs(GRID, 4000, evidence={0: 1}, **many)
    assert held.notes == ()
    still = gibbs(PairwiseModel([[0.0]], [30.0]), 4000, **many)
    assert any("only one state at" in note for note in still.notes)
    assert bool(still)


@pytest.mark.parametrize(
    ("sampler", "model", "remedies"),
    [
        (gibbs, COLD, "more sweeps, a burn-in, tempering or Swendsen-Wang"),
        (gibbs, MIXED, "more sweeps, a burn-in or tempering"),
        (herded_gibbs, COLD, "more sweeps, a burn-in or Swendsen-Wang"),
        (swendsen_wang, MIXED, "more sweeps or a burn-in"),
    ],
)
def test_chains_that_do_not_agree_are_told_what_the_sampler_has(sampler, model, remedies):
    notes = sampler(model, 60, n_chains=8, keep=False).notes
    assert sum(note.endswith(f"do not agree; take {remedies}") for note in notes) == 1


def test_swendsen_wang_is_not_advised_to_itself():
    assert _remedies("herded-gibbs", COLD) == "more sweeps, a burn-in or Swendsen-Wang"
    assert _remedies("swendsen-wang", COLD) == "more sweeps or a burn-in"


def test_weights_that_are_used_once_are_told_early(caplog):
    dense = PairwiseModel.random(60, coupling_sd=0.2, bias_sd=0.3)
    short = herded_gibbs(dense, 4000, keep=False)  # 240,000 visits are too few to tell
    assert not caplog.records
    assert not any("used again" in note for note in short.notes)
    lengths = []

    def progress(share, _):
        lengths.append((share, len(caplog.records)))

    run = herded_gibbs(dense, 9000, n_chains=2, keep=False, progress=progress)
    assert min(share for share, n_records in lengths if n_records) < 0.8
    (record,) = caplog.records
    assert "no better than Gibbs sampling" in record.getMessage()
    assert sum("used again" in note for note in run.notes) == 1
    few = PairwiseModel.random(12, coupling_sd=0.2, bias_sd=0.3)
    for model in (few, GRID):
        again = herded_gibbs(model, 30_000, keep=False)
        assert not any("used again" in note for note in again.notes)
    assert len(caplog.records) == 1


def test_a_summary_has_the_run_in_words():
    run = gibbs(GRID, 3000, n_chains=2, functions={"sum": lambda rows: rows.sum(axis=1)})
    lines = str(run.summary()).splitlines()
    assert lines[0] == "6,000 states of 9 sites by Gibbs sampling"
    error = f"{run.average_errors['sum']:.2g}"
    assert lines[-1].split() == ["sum", f"{run.averages['sum']:.6g}", "standard", "error", error]


def test_names_that_are_numbers_of_other_sites_are_refused():
    model = PairwiseModel(np.zeros((3, 3)), [5.0, -5.0, 0.0], names=[2, 1, 0])
    with refuses("evidence"):
        gibbs(model, 10, evidence={2: 0})
    assert gibbs(model, 10, evidence={"2": 0}).marginals[0] == 0
    assert gibbs(model, 10, evidence={1: 1}).marginals[1] == 1  # site 1 is named 1
    far = PairwiseModel(np.zeros((3, 3)), names=[10, 11, 12])
    assert gibbs(far, 10, evidence={12: 1}).marginals[2] == 1


def test_a_position_of_other_evidence_is_refused():
    run = gibbs(GRID, 10, evidence={0: 1})
    with refuses("resume"):
        gibbs(GRID, 10, evidence={0: -1}, resume=run)
    with refuses("start"):
        gibbs(GRID, 10, evidence={0: 1}, resume=run, start=np.ones(9))


def test_a_valley_that_annealing_misses_is_told():
    """All sites at 1 outweigh all others by e^99, and no annealed chain gets there."""
    n = 60
    model = PairwiseModel(0.192 * (1 - np.eye(n)), np.full(n, -4.0))
    with pytest.warns(AnnealingWarning, match="far more probable"):
        found = log_partition(model, method="ais")
    assert found.missed
    assert not found.reliable
    assert found.effective_chains > 50
    assert found.value < -model.energy(np.ones(n))


def test_pieces_of_a_model_do_not_overlap():
    pieces = _pieces(PairwiseModel.grid((12, 12)), 5)
    assert len(pieces) == 5
    assert len(np.unique(np.concatenate(pieces))) == sum(len(piece) for piece in pieces)
    chain = PairwiseModel.from_edges(30, [(i, i + 1) for i in range(12)], 0.5)
    assert all(len(piece) >= 5 for piece in _pieces(chain, 5))


def test_sums_of_hours_are_not_begun_unasked():
    with refuses("method"):
        PairwiseModel.grid((20, 1000)).exact()


def test_states_that_do_not_fit_into_memory_are_refused_with_a_remedy():
    with pytest.raises(MemoryError, match="keep=False"):
        gibbs(PairwiseModel.grid((100, 100)), 10**13)
