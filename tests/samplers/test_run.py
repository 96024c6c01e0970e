"""What holds for every sampler: how a run is cut, threaded, kept and averaged changes nothing."""

import signal
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from herder import PairwiseModel, gibbs, herded_gibbs, swendsen_wang
from herder.samplers import stream
from herder.samplers.sampling import SamplingPosition
from tests.samplers.cases import CASES, GRID, LOOP, POTTS, run_case, same_sampling
from tests.samplers.plain import marginals_of, pairs_of

EVERY_CASE = pytest.mark.parametrize("name", list(CASES))


def counts(rows):
    """Whole numbers: their sums are exact in any order."""
    return rows.astype(np.float64) @ np.arange(rows.shape[1])


def outer(rows):
    return rows[:, :2, None] * rows[:, None, :3]


WATCHED = {"pairs": "edges", "functions": {"counts": counts, "outer": outer}}


@EVERY_CASE
def test_n_then_m_sweeps_are_n_plus_m_sweeps(name):
    options = {"n_chains": 3, **WATCHED}
    whole = run_case(name, 157, burn_in=4, **options)
    first = run_case(name, 57, burn_in=4, **options)
    second = run_case(name, 99, resume=first, **options)
    third = run_case(name, 1, resume=second.position, **options)
    for part in range(3):
        pieces = [run.chains[part] for run in (first, second, third)]
        np.testing.assert_array_equal(np.concatenate(pieces), whole.chains[part])
    same_sampling(third, whole, samples=False)
    # nothing was left behind in the position: it can be gone on from again
    np.testing.assert_array_equal(
        run_case(name, 99, resume=first, **options).chains, second.chains
    )


def upper(rows):
    return rows == rows.max()


def test_averages_of_functions_have_the_errors_of_marginals():
    """An indicator has the error of its marginal, a sum that of independent runs."""
    functions = {"upper": upper, "sum": lambda rows: rows.sum(axis=1)}
    for sampler in (gibbs, herded_gibbs):
        run = sampler(GRID, 5000, n_chains=2, functions=functions)
        assert run.r_hat.max() < 1.1
        np.testing.assert_allclose(run.average_errors["upper"], run.errors, rtol=1e-9)
    runs = [gibbs(GRID, 2000, functions=functions, random_state=seed) for seed in range(100)]
    found = np.std([run.averages["sum"] for run in runs], ddof=1)
    claimed = np.sqrt(np.mean([run.average_errors["sum"] ** 2 for run in runs]))
    # the standard deviation of 100 runs has an error of 7 %, and batches are slightly dependent
    assert claimed == pytest.approx(found, rel=0.25)
    assert np.isnan(gibbs(GRID, 1, functions=functions).average_errors["sum"])


def test_functions_of_chains_in_different_modes_have_the_error_of_their_means():
    cold = PairwiseModel.grid((6, 6), 2.0)
    run = gibbs(cold, 1000, n_chains=8, functions={"sum": lambda rows: rows.sum(axis=1)})
    means = run.chains.sum(axis=2).mean(axis=1)
    error = means.std(ddof=1) / np.sqrt(8)
    assert run.average_errors["sum"] == pytest.approx(error, rel=0.01)


def test_a_position_without_batches_of_functions_has_unknown_errors():
    """As runs of version 0.1.0 left them."""
    first = gibbs(GRID, 40, functions=counts)
    (chain,) = first.position.chains
    counted = dict(chain.counted)
    counted["sum.counts"] = counted.pop("batch.counts").sum(axis=0)
    position = replace(first.position, chains=(replace(chain, counted=counted),))
    both = gibbs(GRID, 40, functions=counts, resume=position)
    whole = gibbs(GRID, 80, functions=counts)
    assert both.averages == whole.averages
    assert np.isnan(both.average_errors["counts"])
    again = gibbs(GRID, 40, functions=counts, resume=both)
    assert again.averages == gibbs(GRID, 120, functions=counts).averages


@EVERY_CASE
def test_a_position_goes_through_a_file(name, tmp_path):
    options = {"n_chains": 2, **WATCHED}
    first = run_case(name, 33, **options)
    first.position.save(tmp_path / "position.safetensors")
    loaded = SamplingPosition.load(tmp_path / "position.safetensors")
    same_sampling(
        run_case(name, 40, resume=loaded, **options),
        run_case(name, 40, resume=first, **options),
    )


@EVERY_CASE
def test_the_number_of_threads_changes_nothing(name):
    runs = [run_case(name, 60, n_chains=5, n_jobs=n_jobs, **WATCHED) for n_jobs in (1, 2, 7)]
    same_sampling(runs[1], runs[0])
    same_sampling(runs[2], runs[0])


@EVERY_CASE
def test_runs_repeat(name):
    same_sampling(run_case(name, 50, n_chains=2), run_case(name, 50, n_chains=2))


@EVERY_CASE
def test_states_are_dropped_and_not_changed(name):
    """Burn-in and thinning only choose among the same states."""
    whole = run_case(name, 100, n_chains=2)
    late = run_case(name, 70, n_chains=2, burn_in=30)
    np.testing.assert_array_equal(late.chains, whole.chains[:, 30:])
    thinned = run_case(name, 100, n_chains=2, thinning=7)
    np.testing.assert_array_equal(thinned.chains, whole.chains[:, 6::7])
    none = run_case(name, 100, n_chains=2, keep=False)
    assert none.samples.shape == (0, whole.samples.shape[1])
    assert none.chains.shape == (2, 0, whole.samples.shape[1])
    for run in (thinned, none):
        np.testing.assert_array_equal(run.marginals, whole.marginals)
        np.testing.assert_array_equal(run.errors, whole.errors)


@EVERY_CASE
def test_thinning_keeps_step_over_a_resume(name):
    whole = run_case(name, 50, thinning=4)
    first = run_case(name, 22, thinning=4)
    second = run_case(name, 28, thinning=4, resume=first)
    np.testing.assert_array_equal(np.concatenate([first.samples, second.samples]), whole.samples)


@EVERY_CASE
def test_averages_are_those_of_the_samples(name):
    model = CASES[name][1]
    run = run_case(name, 230, n_chains=3, burn_in=3, **WATCHED)
    assert run.samples.shape == (690, model.n_sites)
    assert run.samples.dtype == np.int8
    assert set(np.unique(run.samples)) <= set(model.states)
    np.testing.assert_allclose(run.marginals, marginals_of(model, run.samples), atol=1e-12)
    np.testing.assert_array_equal(run.edges, model.edges)
    wanted = pairs_of(model, model.edges, run.samples)
    np.testing.assert_allclose(run.pair_marginals, wanted, atol=1e-12)
    assert isinstance(run.averages["counts"], float)
    assert run.averages["counts"] == pytest.approx(counts(run.samples).mean(), abs=1e-9)
    np.testing.assert_allclose(run.averages["outer"], outer(run.samples).mean(axis=0), atol=1e-9)
    assert (run.n_sweeps, run.n_chains) == (230, 3)
    assert run.errors.shape == run.marginals.shape
    assert run.r_hat.shape == run.ess.shape == (model.n_sites,)
    for site, value in CASES[name][2].get("evidence", {}).items():
        assert (run.samples[:, site] == value).all()


@EVERY_CASE
def test_no_input_is_changed(name):
    sampler, model, settings = CASES[name]
    before = [model.adjacency.weights.copy(), model.edge_weights.copy()]
    start = np.full((2, model.n_sites), model.states[0])
    kept = start.copy()
    first = sampler(model, 20, n_chains=2, start=start, **settings)
    np.testing.assert_array_equal(start, kept)
    np.testing.assert_array_equal(before[0], model.adjacency.weights)
    np.testing.assert_array_equal(before[1], model.edge_weights)
    arrays = [
        {key: value.copy() for key, value in {**chain.arrays, **chain.counted}.items()}
        for chain in first.position.chains
    ]
    sampler(model, 20, n_chains=2, resume=first, **settings)
    for chain, wanted in zip(first.position.chains, arrays, strict=True):
        for key, value in {**chain.arrays, **chain.counted}.items():
            np.testing.assert_array_equal(value, wanted[key], err_msg=key)


@pytest.mark.parametrize("pairs", ["all", [[0, 3], [4, 1]]])
@pytest.mark.parametrize("model", [LOOP, POTTS], ids=["binary", "potts"])
def test_any_pairs_can_be_counted(pairs, model):
    run = gibbs(model, 300, pairs=pairs)
    wanted = [[0, 3], [1, 4]] if pairs != "all" else np.column_stack(np.triu_indices(5, 1))
    np.testing.assert_array_equal(run.edges, wanted)
    assert run.pair_marginals is not None
    found = pairs_of(model, wanted, run.samples)
    np.testing.assert_allclose(run.pair_marginals, found, atol=1e-12)


def test_pairs_are_not_counted_unless_asked_for():
    run = gibbs(LOOP, 10)
    assert run.edges is None
    assert run.pair_marginals is None


def test_one_function_goes_by_its_name():
    assert list(gibbs(LOOP, 10, functions=counts).averages) == ["counts"]
    assert gibbs(LOOP, 10).averages == {}


def test_evidence_by_name():
    named = type(GRID)(
        GRID.couplings, GRID.biases, GRID.states, names=[f"s{k}" for k in range(20)]
    )
    for sampler in (gibbs, herded_gibbs, swendsen_wang):
        one = sampler(named, 30, evidence={"s3": 1, 7: -1})
        other = sampler(GRID, 30, evidence={7: -1, 3: 1})
        np.testing.assert_array_equal(one.samples, other.samples)


@pytest.mark.parametrize("sampler", [gibbs, swendsen_wang])
def test_seeds_make_different_runs_and_generators_are_taken(sampler):
    one, two = (sampler(GRID, 50, random_state=seed).samples for seed in (1, 2))
    assert (one != two).any()
    drawn = [sampler(GRID, 50, random_state=np.random.default_rng(3)).samples for _ in range(2)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    rng = np.random.default_rng(3)
    sampler(GRID, 50, random_state=rng)
    assert (sampler(GRID, 50, random_state=rng).samples != drawn[0]).any()  # it has moved on
    fresh = [sampler(GRID, 50, random_state=None).samples for _ in range(2)]
    assert (fresh[0] != fresh[1]).any()  # equal with probability 2^-1000


@pytest.mark.parametrize("sampler", [gibbs, herded_gibbs, swendsen_wang])
def test_chains_of_one_run_are_different(sampler):
    chains = sampler(GRID, 40, n_chains=4).chains
    for one in range(4):
        for other in range(one):
            assert (chains[one] != chains[other]).any()


METHODS = {gibbs: "gibbs", herded_gibbs: "herded-gibbs", swendsen_wang: "swendsen-wang"}


@EVERY_CASE
def test_a_stream_begins_with_the_samples_of_a_run(name):
    sampler, model, settings = CASES[name]
    states = list(islice(stream(model, METHODS[sampler], **settings), 150))
    np.testing.assert_array_equal(states, run_case(name, 150).samples)
    assert states[0].shape == (model.n_sites,)
    assert states[0].dtype == np.int8


def test_states_of_a_stream_are_not_written_over():
    states = islice(stream(GRID), 1000)
    kept = [(state, state.copy()) for state in states]
    assert all((state == copy).all() for state, copy in kept)


def test_arviz_gets_chains_draws_and_sites():
    run = gibbs(LOOP, 30, n_chains=2)
    x = run.to_arviz().posterior["x"]
    assert x.dims == ("chain", "draw", "x_site")
    np.testing.assert_array_equal(x.values, run.chains)
    named = type(LOOP)(LOOP.couplings, LOOP.biases, LOOP.states, names="abcde")
    spins = gibbs(named, 30).to_arviz("spin").posterior["spin"]
    assert spins.coords["spin_site"].values.tolist() == list("abcde")
    with pytest.raises(ValueError, match="keep"):
        gibbs(LOOP, 30, keep=False).to_arviz()


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_progress_rises_to_one(n_jobs):
    seen = []
    gibbs(GRID, 9000, n_chains=3, n_jobs=n_jobs, progress=lambda share, _: seen.append(share))
    assert len(seen) > 3
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


class StopError(Exception):
    pass


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("kind", [StopError, KeyboardInterrupt])
@pytest.mark.parametrize("place", ["progress", "functions"])
def test_an_error_in_a_function_of_the_caller_comes_out(n_jobs, kind, place):
    def fail(*_):
        raise kind

    options: dict[str, Any] = {place: fail}
    with pytest.raises(kind):
        gibbs(GRID, 9000, n_chains=4, n_jobs=n_jobs, **options)
    assert len(gibbs(GRID, 10, n_jobs=n_jobs)) == 10


ENDLESS = """
from herder import PairwiseModel, {sampler}

model = PairwiseModel.grid((20, 20), 0.4)
{sampler}(model, 2, n_chains=2)  # compiled, or taken from the cache


def tell(share, note):
    print("running", flush=True)


{sampler}(model, 2 * 10**7, n_chains=4, keep=False, n_jobs={n_jobs}, progress=tell)
"""


@pytest.mark.parametrize(
    ("sampler", "n_jobs"),
    [
        ("gibbs", 1),
        ("swendsen_wang", 2),
        pytest.param("herded_gibbs", 2, marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_ends_a_run(sampler, n_jobs):
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS.format(sampler=sampler, n_jobs=n_jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "running\n"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert errors.splitlines()[-1] == "KeyboardInterrupt"
    assert process.returncode in (1, -signal.SIGINT)
