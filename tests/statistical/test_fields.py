"""Samplers of random fields against sums over all states."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from herder import PairwiseModel, PottsModel, gibbs, herded_gibbs, swendsen_wang
from herder.core import fit_rate
from tests.samplers.plain import (
    COMPLETE_4,
    COMPLETE_5,
    all_states,
    chain_errors,
    distribution,
    draw_pairwise,
    draw_potts,
    frequencies,
    marginals_of,
    pairs_of,
    small_models,
    sweep_kernel,
    total_variation,
    true_marginals,
)
from tests.sharing import shared_out

MODELS = small_models()

#: Clusters of sites with three states want couplings that are not negative.
FRIENDLY = MODELS | {
    name: PottsModel(abs(model.couplings), model.fields)
    for name, model in MODELS.items()
    if isinstance(model, PottsModel)
}

#: A deviation beyond this many standard errors has a chance below 1e-6: a few hundred
#: comparisons with fixed seeds all pass unless the sampler is wrong.
LIMIT = 5.0

#: Chains of runs that are compared by the spread between chains. Student's t with 63 degrees of
#: freedom exceeds 5.5 with a chance below 1e-6.
N_CHAINS, CHAIN_LIMIT = 64, 5.5


def check_joint(model, rows, truth, errors):
    gaps = frequencies(model, rows) - truth
    possible = errors > 0
    assert np.abs(gaps[~possible]).max(initial=0) < 1e-12
    assert np.abs(gaps[possible] / errors[possible]).max() < LIMIT


def check_by_chains(run, truth_of_rows, model, truth):
    """Compare the mean over independent chains with the truth, in errors between chains."""
    means = np.array([truth_of_rows(model, chain) for chain in run.chains])
    errors = means.std(axis=0, ddof=1) / math.sqrt(len(means))
    gaps = means.mean(axis=0) - truth
    # a state so rare that no chain saw it has no spread: it must be rare in truth, too
    rare = errors == 0
    n_rows = run.chains.shape[0] * run.chains.shape[1]
    assert np.abs(gaps[rare]).max(initial=0) < 15 / n_rows  # e^-15: not seen by bad luck
    assert np.abs(gaps[~rare] / errors[~rare]).max() < CHAIN_LIMIT


@pytest.mark.parametrize(("name", "order"), shared_out(MODELS, ["sequential", "reversed"]))
def test_gibbs_visits_every_state_as_often_as_it_should(name, order):
    """Error bars from the sum over all lags of the true kernel of a sweep."""
    model, n_sweeps = MODELS[name], 40_000
    scan = range(model.n_sites) if order == "sequential" else range(model.n_sites)[::-1]
    truth = distribution(model)
    errors = chain_errors(sweep_kernel(model, scan), truth, n_sweeps)
    run = gibbs(model, n_sweeps, burn_in=50, order=order, random_state=1)
    check_joint(model, run.samples, truth, errors)


@pytest.mark.parametrize("name", ["complete 0/1", "sparse loop +-1", "potts complete"])
def test_gibbs_given_some_sites(name):
    model, n_sweeps = MODELS[name], 40_000
    evidence = {1: model.states[-1], 3: model.states[0]}
    truth = distribution(model, evidence)
    scan = [site for site in range(model.n_sites) if site not in evidence]
    rows = all_states(model)
    possible = (rows[:, 1] == evidence[1]) & (rows[:, 3] == evidence[3])
    kernel = sweep_kernel(model, scan)[np.ix_(possible, possible)]
    errors = np.zeros(len(rows))
    errors[possible] = chain_errors(kernel, truth[possible], n_sweeps)
    run = gibbs(model, n_sweeps, burn_in=50, evidence=evidence, random_state=2)
    check_joint(model, run.samples, truth, errors)


#: sampler, sweeps, options
KINDS = {
    "by colours": (gibbs, 500, {"order": "checkerboard", "random_state": 3}),
    "tempered": (gibbs, 400, {"temperatures": (1.0, 1.6, 3.0), "random_state": 4}),
    "clusters": (swendsen_wang, 500, {"random_state": 6}),
}


@pytest.mark.parametrize(("name", "kind"), shared_out(MODELS, KINDS))
def test_chains_visit_every_state_as_often_as_they_should(name, kind):
    sampler, n_sweeps, options = KINDS[kind]
    model = FRIENDLY[name] if sampler is swendsen_wang else MODELS[name]
    run = sampler(model, n_sweeps, n_chains=N_CHAINS, burn_in=50, **options)
    check_by_chains(run, frequencies, model, distribution(model))


def test_tempering_crosses_a_wall_that_plain_chains_do_not():
    """Two wells of unequal depth: e^(2 * 6 * 0.05) apart, and a wall of e^-30 between them."""
    couplings = np.full((6, 6), 1.6)
    np.fill_diagonal(couplings, 0)
    model = PairwiseModel(couplings, np.full(6, 0.05), (-1, 1))
    truth = true_marginals(model)
    temperatures = tuple(np.geomspace(1, 12, 8))
    low = np.full(6, -1)
    plain = gibbs(model, 1500, n_chains=16, start=low, random_state=0)
    assert plain.marginals.max() < 0.01
    run = gibbs(
        model,
        1500,
        n_chains=N_CHAINS,
        burn_in=300,
        temperatures=temperatures,
        start=low,
        random_state=0,
    )
    check_by_chains(run, marginals_of, model, truth)


def test_tempering_with_evidence():
    model, evidence = MODELS["complete +-1"], {0: 1, 4: -1}
    run = gibbs(
        model,
        400,
        n_chains=N_CHAINS,
        burn_in=50,
        temperatures=(1.0, 2.0),
        evidence=evidence,
        random_state=5,
    )
    check_by_chains(run, frequencies, model, distribution(model, evidence))


@pytest.mark.parametrize(
    "name", ["complete 0/1", "ferromagnetic grid in a field", "sparse loop +-1", "potts loop"]
)
def test_clusters_given_some_sites(name):
    model = FRIENDLY[name]
    evidence = {1: model.states[-1], 3: model.states[0]}
    run = swendsen_wang(
        model, 500, n_chains=N_CHAINS, burn_in=50, evidence=evidence, random_state=7
    )
    check_by_chains(run, frequencies, model, distribution(model, evidence))


@pytest.mark.parametrize(
    ("sampler", "coupling"), [(gibbs, -0.7), (gibbs, 0.7), (swendsen_wang, 0.7)]
)
def test_pairs_of_a_potts_grid(sampler, coupling):
    """Sites that like to be equal, and sites that like to differ."""
    model = PottsModel.grid((2, 3), 3, coupling, [0.0, 0.2, -0.3])
    rows, p = all_states(model), distribution(model)
    run = sampler(model, 500, n_chains=N_CHAINS, burn_in=50, random_state=8)
    edges = model.edges
    truth = pairs_of(model, edges, rows, p)
    check_by_chains(run, lambda model, rows: pairs_of(model, edges, rows), model, truth)


LAST = {
    "gibbs": (gibbs, {}),
    "tempered": (gibbs, {"temperatures": (1.0, 2.0)}),
    "clusters": (swendsen_wang, {}),
}


@pytest.mark.parametrize(
    ("name", "kind"), shared_out(["complete +-1", "sparse loop 0/1", "potts loop"], LAST)
)
def test_last_states_of_many_chains_pass_a_chi_square_test(name, kind):
    """One state from each of 1,500 chains: independent draws, whatever a chain remembers."""
    model, n_chains = FRIENDLY[name], 1500
    sampler, options = LAST[kind]
    run = sampler(model, 1, n_chains=n_chains, burn_in=40, random_state=10, **options)
    expected = n_chains * distribution(model)
    counts = n_chains * frequencies(model, run.samples)
    order = np.argsort(expected)
    # states that are expected less than five times are counted together
    rare = order[: np.searchsorted(np.cumsum(expected[order]), 5) + 1]
    common = np.setdiff1d(order, rare)
    counts = np.append(counts[common], counts[rare].sum())
    expected = np.append(expected[common], expected[rare].sum())
    assert len(expected) >= 15
    assert chisquare(counts, expected).pvalue > 1e-4  # nine tests: 0.1 % to fail by chance


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [gibbs, swendsen_wang])
def test_marginals_and_pairs_over_a_long_run(sampler):
    """A million sweeps see a bias of one in a thousand."""
    for name in ("complete 0/1", "sparse loop +-1", "potts complete"):
        model = FRIENDLY[name]
        run = sampler(model, 20_000, n_chains=N_CHAINS, burn_in=50, random_state=9)
        check_by_chains(run, frequencies, model, distribution(model))


def herded_distances(model, n_sweeps, **options):
    """Give the total variation to the truth over growing prefixes of a run."""
    truth = distribution(model)
    rows = herded_gibbs(model, n_sweeps, **options).samples
    lengths = np.unique(np.geomspace(100, n_sweeps, 40).astype(int))
    return lengths, np.array(
        [total_variation(frequencies(model, rows[:length]), truth) for length in lengths]
    )


@pytest.mark.parametrize(
    "model",
    [
        draw_pairwise(4, COMPLETE_4, 10),
        draw_pairwise(5, COMPLETE_5, 11, states=(0, 1)),
        draw_potts(4, 3, COMPLETE_4, 12),
    ],
    ids=["+-1", "0/1", "potts"],
)
def test_the_error_on_a_complete_graph_falls_like_one_over_t(model):
    """Theorem 4.4. The distance wanders by a factor or two below its bound."""
    lengths, distances = herded_distances(model, 200_000)
    assert fit_rate(lengths, distances).slope == pytest.approx(-1.0, abs=0.15)
    # Gibbs sampling would be at 1 / sqrt(T) = 2e-3
    assert distances[-1] < 2e-4
    assert (distances * lengths).max() < 20 * model.n_states**model.n_sites


def biases_for(probabilities):
    """Give the biases of 0/1 sites on their own that are one with these probabilities."""
    p = np.asarray(probabilities)
    return np.log(p) - np.log1p(-p)


def test_an_empty_graph_converges_if_the_probabilities_have_no_common_measure():
    """Theorem 4.1, with the roots of different primes; no rate is promised."""
    p = np.sqrt([2.0, 3.0, 5.0]) % 1
    model = PairwiseModel(np.zeros((3, 3)), biases_for(p))
    _, distances = herded_distances(model, 300_000)
    assert distances[-10:].max() < 0.1 * distances[:10].max()
    assert distances[-1] < 1e-3


def test_an_empty_graph_with_equal_probabilities_never_converges():
    """Rational, and equal: the sites move in step, and two of four states never come."""
    model = PairwiseModel(np.zeros((2, 2)), biases_for([0.4, 0.4]))
    run = herded_gibbs(model, 20_000, initial="centre")
    assert set(state_codes(run.samples)) == {0, 3}
    truth = distribution(model)
    floor = total_variation(frequencies(model, run.samples), truth)
    assert floor == pytest.approx(0.48, abs=1e-3)  # 2 * 0.4 * 0.6
    np.testing.assert_allclose(run.marginals, 0.4, atol=1e-4)  # each site alone is right


def state_codes(rows):
    return rows @ 2 ** np.arange(rows.shape[1])


LOOP_4 = [(0, 1), (1, 2), (2, 3), (0, 3)]


@pytest.mark.parametrize(("seed", "states"), [(1, (-1, 1)), (4, (0, 1))])
def test_on_a_loop_of_four_the_order_of_the_scan_decides(seed, states):
    """Figure 4.6: around the loop the error stays, across it the error falls on and on."""
    loop = draw_pairwise(4, LOOP_4, seed, states=states, strength=1.0)
    _, around = herded_distances(loop, 500_000, order=[0, 1, 2, 3])
    lengths, across = herded_distances(loop, 500_000, order=[0, 2, 1, 3])
    assert around[-10:].min() > 3e-3
    assert across[-1] < 3e-4
    assert fit_rate(lengths, across).slope < -0.6  # Gibbs sampling has -0.5


def test_herded_marginals_beat_those_of_chance_on_a_grid():
    """No theorem, but what it is used for: 16 sites, where the error is summed by hand."""
    model = PairwiseModel.grid((3, 4), 0.3, 0.1)
    truth = true_marginals(model)
    herded = np.abs(herded_gibbs(model, 20_000).marginals - truth)
    drawn = np.abs(gibbs(model, 20_000, burn_in=50).marginals - truth)
    assert herded.max() < 0.002
    assert herded.mean() < drawn.mean() / 3


@pytest.mark.slow
def test_the_rate_holds_over_a_million_sweeps():
    for seed in range(3):
        model = draw_pairwise(4, COMPLETE_4, 30 + seed, strength=1.0)
        lengths, distances = herded_distances(model, 2_000_000)
        assert fit_rate(lengths, distances).slope == pytest.approx(-1.0, abs=0.1)
        assert distances[-1] < 3e-5
