"""Herded Gibbs retraces its slow twins, and the loop that all herds are."""

from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from herder import PairwiseModel, PottsModel, herded_gibbs
from herder.core import NeuronSystem, herd
from herder.samplers import herded
from tests.naive import dense, site_chances, textbook_herded_gibbs, textbook_herded_potts
from tests.naming import refuses
from tests.samplers.plain import (
    COMPLETE_4,
    COMPLETE_5,
    LOOP_5,
    draw_pairwise,
    draw_potts,
    small_models,
)
from tests.sharing import shared_out

STAR = [(0, j) for j in range(1, 14)]

MODELS = small_models() | {
    "many neighbours": draw_pairwise(14, STAR, 20, as_sparse=True),
    "seven neighbours": draw_pairwise(8, [(i, j) for j in range(8) for i in range(j)], 21),
    "potts with many neighbours": draw_potts(14, 3, STAR, 22, strength=0.3),
    "huge couplings": draw_pairwise(5, LOOP_5, 23, strength=1e3),
    "huge couplings, complete": draw_pairwise(5, COMPLETE_5, 24, strength=1e3, states=(0, 1)),
    "huge potts": draw_potts(4, 3, COMPLETE_4, 25, strength=1e3),
}


def by_the_textbook(model, start, scans):
    twin = textbook_herded_potts if isinstance(model, PottsModel) else textbook_herded_gibbs
    return twin(model, start, scans)[0]


@pytest.mark.parametrize(("name", "order"), shared_out(MODELS, ["sequential", "reversed"]))
def test_it_retraces_the_textbook(name, order):
    model, n_sweeps = MODELS[name], 400
    scan = np.arange(model.n_sites)[:: 1 if order == "sequential" else -1]
    start = np.full(model.n_sites, model.states[0])
    run = herded_gibbs(model, n_sweeps, order=order, initial="centre")
    wanted = by_the_textbook(model, start, [scan] * n_sweeps)
    np.testing.assert_array_equal(run.samples, wanted)


@pytest.mark.parametrize("name", ["sparse loop +-1", "complete 0/1", "potts loop", "two parts"])
def test_orders_starts_and_held_sites(name):
    model = MODELS[name]
    scan = [2, 0, 3, 2, 1, *range(4, model.n_sites), 0]
    start = np.array(model.states)[(np.arange(model.n_sites) + 1) % model.n_states]
    run = herded_gibbs(model, 300, order=scan, start=start, initial="centre")
    np.testing.assert_array_equal(run.samples, by_the_textbook(model, start, [scan] * 300))
    evidence = {1: model.states[1], 3: model.states[0]}
    held = start.copy()
    held[1], held[3] = evidence[1], evidence[3]
    free = [site for site in scan if site not in evidence]
    run = herded_gibbs(model, 300, order=scan, start=start, evidence=evidence, initial="centre")
    np.testing.assert_array_equal(run.samples, by_the_textbook(model, held, [free] * 300))


@pytest.mark.parametrize("name", ["sparse loop +-1", "complete 0/1", "seven neighbours"])
def test_spread_weights_are_gone_on_from(name):
    """The twin takes over after one sweep, with the weights as they are then."""
    model = MODELS[name]
    first = herded_gibbs(model, 1, n_chains=2)
    run = herded_gibbs(model, 400, n_chains=2, resume=first)
    for number, at in enumerate(first.position.chains):
        weights = at.arrays["weights"] / 2.0**52

        def start_weight(site, around, _, weights=weights):
            bits = [model.states.index(value) for value in around]
            return weights[site, sum(bit << d for d, bit in enumerate(bits))]

        start, scans = first.chains[number, -1], [range(model.n_sites)] * 400
        wanted, _, _ = textbook_herded_gibbs(model, start, scans, start_weight)
        np.testing.assert_array_equal(run.chains[number], wanted)


@given(st.integers(1, 6), st.data())
def test_any_small_binary_model_retraces(n_sites, data):
    every = [(i, j) for j in range(n_sites) for i in range(j)]
    edges = data.draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    states = data.draw(st.sampled_from([(0, 1), (-1, 1)]))
    model = draw_pairwise(n_sites, edges, data.draw(st.integers(0, 2**32 - 1)), states=states)
    scan = data.draw(st.permutations(range(n_sites)))
    start = np.array(
        data.draw(st.lists(st.sampled_from(states), min_size=n_sites, max_size=n_sites))
    )
    run = herded_gibbs(model, 60, order=scan, start=start, initial="centre")
    np.testing.assert_array_equal(run.samples, by_the_textbook(model, start, [scan] * 60))


class Sweeps:
    """Herded Gibbs as a herd: a step is a sweep that visits each site once.

    The weights are one for each site and neighbourhood, in a row. The state is what the sites
    have come to, and which weights were asked on the way.
    """

    def __init__(self, model, scan):
        self.model, self.scan = model, scan
        self.near = [np.flatnonzero(row) for row in dense(model.couplings)]
        keys = [
            (site, around)
            for site in range(model.n_sites)
            for around in product(model.states, repeat=len(self.near[site]))
        ]
        self.places = {key: place for place, key in enumerate(keys)}
        self.chances = np.empty(len(keys))
        for (site, around), place in self.places.items():
            x = [model.states[0]] * model.n_sites
            for j, value in zip(self.near[site], around, strict=True):
                x[j] = value
            self.chances[place] = site_chances(model, x, site)[1]

    def maximise(self, weights, previous):
        x, asked = list(previous[0]), []
        for site in self.scan:
            place = self.places[site, tuple(x[j] for j in self.near[site])]
            fires = int(weights[place] > 0)
            asked.append((place, fires))
            x[site] = self.model.states[fires]
        return x, asked

    def residual(self, weights, state, t):
        found = np.zeros(len(weights))
        for place, fires in state[1]:
            found[place] = self.chances[place] - fires
        return found


@pytest.mark.parametrize("name", ["complete +-1", "sparse loop 0/1", "two parts", "no edges"])
def test_a_sweep_is_a_step_of_the_loop(name):
    model = MODELS[name]
    scan = [int(site) for site in np.random.default_rng(0).permutation(model.n_sites)]
    system = Sweeps(model, scan)
    start = [model.states[0]] * model.n_sites
    steps = list(islice(herd(system, system.chances - 0.5, state=(start, [])), 500))
    run = herded_gibbs(model, 500, order=scan, initial="centre")
    np.testing.assert_array_equal(run.samples, [step.state[0] for step in steps])
    assert max(step.tipi for step in steps) <= 0  # the condition of the cycling theorem


@pytest.mark.parametrize("bias", [-2.0, -0.3, 0.0, 0.1, 1.7])
@pytest.mark.parametrize("states", [(0, 1), (-1, 1)])
def test_one_site_is_a_herding_neuron(bias, states):
    model = PairwiseModel([[0.0]], [bias], states)
    rate = 1 / (1 + np.exp(-(states[1] - states[0]) * bias))
    neuron = NeuronSystem(rate)
    fired = [step.state for step in islice(herd(neuron, neuron.start()), 3000)]
    run = herded_gibbs(model, 3000, initial="centre")
    np.testing.assert_array_equal(run.samples[:, 0], np.array(states)[fired])
    # started in the middle, the number of spikes is never off by more than 1/2 (corollary 2.6)
    spikes = np.cumsum(run.samples[:, 0] == states[1])
    assert np.abs(spikes - rate * np.arange(1, 3001)).max() <= 0.5 + 1e-9


@pytest.mark.parametrize("n_states", [2, 3, 4, 5, 7])
def test_the_lowest_of_equal_weights_wins(n_states):
    """All states alike: they take turns, in order."""
    model = PottsModel(np.zeros((2, 2)), np.zeros((2, n_states)))
    run = herded_gibbs(model, 3 * n_states, initial="centre")
    np.testing.assert_array_equal(run.samples, np.tile(np.arange(n_states), (2, 3)).T)


def conditional_errors(model, samples, start):
    """Give the largest gap, over contexts of one scan, of counts to visits times probability."""
    near = [np.flatnonzero(row) for row in dense(model.couplings)]
    sums = {}
    x = list(start)
    for row in samples:
        for site in range(model.n_sites):
            key = (site, tuple(x[j] for j in near[site]))
            chances = np.array(site_chances(model, x, site))
            x[site] = row[site]
            hit = np.arange(model.n_states) == list(model.states).index(row[site])
            total, largest = sums.get(key, (np.zeros(model.n_states), 0.0))
            total = total + chances - hit
            sums[key] = (total, max(largest, np.abs(total).max()))
    return max(largest for _, largest in sums.values())


@pytest.mark.parametrize(
    ("name", "initial"),
    shared_out(
        ["complete +-1", "sparse loop 0/1", "many neighbours", "huge couplings", "one site"],
        ["centre", "spread"],
    ),
)
def test_conditional_frequencies_are_right_within_one_visit(name, initial):
    """Weights stay in (p - 1, p]: counts are off by less than one, and by 1/2 from p - 1/2."""
    model = MODELS[name]
    start = np.full(model.n_sites, model.states[0])
    run = herded_gibbs(model, 1500, initial=initial, start=start)
    worst = conditional_errors(model, run.samples, start)
    assert worst < (0.5 + 1e-9 if initial == "centre" else 1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "initial"),
    shared_out(
        ["potts complete", "potts loop", "potts with many neighbours"], ["centre", "spread"]
    ),
)
def test_conditional_frequencies_of_many_states(name, initial):
    """Counts stay within a bound that does not grow with the number of visits."""
    model = MODELS[name]
    start = np.full(model.n_sites, model.states[0])
    run = herded_gibbs(model, 1500, initial=initial, start=start)
    assert conditional_errors(model, run.samples, start) < 2


@pytest.mark.parametrize("initial", ["centre", "spread"])
def test_weights_stay_in_their_interval(initial):
    """(p - 1, p], whatever the sweeps: the integers of the table, in units of 2^-52."""
    model = MODELS["sparse loop +-1"]
    chances = table_chances(model)
    run = herded_gibbs(model, 1, initial=initial, n_chains=3)
    for _ in range(40):
        run = herded_gibbs(model, 25, initial=initial, n_chains=3, resume=run)
        for chain in run.position.chains:
            weights = chain.arrays["weights"][:, :4] / 2.0**52
            assert (weights <= chances + 1e-12).all()
            assert (weights > chances - 1 - 1e-12).all()


def table_chances(model):
    """Give P(upper) for the four neighbourhoods of each site of a loop."""
    found = np.empty((model.n_sites, 4))
    for site, row in enumerate(dense(model.couplings)):
        first, second = np.flatnonzero(row)
        for code in range(4):
            x = [model.states[0]] * model.n_sites
            x[first], x[second] = model.states[code & 1], model.states[code >> 1]
            found[site, code] = site_chances(model, x, site)[1]
    return found


@pytest.fixture
def by_hash(monkeypatch):
    """No model is small enough for a table: weights are found by a hash of the neighbours."""
    monkeypatch.setattr(herded, "TABLE_WIDTH", -1)


@pytest.mark.parametrize("name", [name for name in MODELS if "potts" not in name])
def test_weights_by_a_hash_are_those_of_a_table(name, monkeypatch):
    model = MODELS[name]
    wanted = herded_gibbs(model, 500, initial="centre")
    monkeypatch.setattr(herded, "TABLE_WIDTH", -1)
    run = herded_gibbs(model, 500, initial="centre")
    assert "first" in run.position.chains[0].arrays  # the first half of a key
    np.testing.assert_array_equal(run.samples, wanted.samples)


def test_the_table_of_contexts_grows_and_forgets_nothing(monkeypatch):
    model = MODELS["many neighbours"]
    wanted = herded_gibbs(model, 800)
    monkeypatch.setattr(herded, "SLOTS", 4)
    run = herded_gibbs(model, 800)
    np.testing.assert_array_equal(run.samples, wanted.samples)
    assert run.diagnostics == wanted.diagnostics
    assert run.diagnostics["n_weights"][0] > 100


def test_contexts_are_as_many_as_came_up():
    model = MODELS["potts loop"]
    run = herded_gibbs(model, 200, initial="centre")
    start = np.full(model.n_sites, model.states[0])
    scans = [range(model.n_sites)] * 200
    _, weights = textbook_herded_potts(model, start, scans)
    assert run.diagnostics["n_weights"] == [len(weights) * (model.n_states - 1)]


def test_too_many_contexts_are_refused():
    model = PairwiseModel.random(60, coupling_sd=0.05, random_state=0)
    with refuses("max_contexts"):
        herded_gibbs(model, 2000, max_contexts=5000)


@pytest.mark.parametrize("initial", ["centre", "spread"])
@pytest.mark.usefixtures("by_hash")
def test_a_potts_model_of_two_states_is_an_ising_model(initial):
    potts = draw_potts(5, 2, LOOP_5, 5)
    ising = PairwiseModel(
        np.asarray(potts.couplings) / 2, (potts.fields[:, 1] - potts.fields[:, 0]) / 2, (-1, 1)
    )
    one = herded_gibbs(potts, 600, initial=initial)
    other = herded_gibbs(ising, 600, initial=initial)
    np.testing.assert_array_equal(one.samples, (other.samples + 1) // 2)
    assert one.marginals.shape == (5, 2)


def test_both_alphabets_and_both_kinds_of_couplings_give_the_same_states():
    for name in ("complete +-1", "sparse loop +-1", "many neighbours"):
        model = MODELS[name]
        one, other = herded_gibbs(model, 300), herded_gibbs(model.to_states((0, 1)), 300)
        np.testing.assert_array_equal((one.samples + 1) // 2, other.samples)
        full = PairwiseModel(dense(model.couplings), model.biases, model.states)
        thin = PairwiseModel(sparse.csr_array(dense(model.couplings)), model.biases, model.states)
        np.testing.assert_array_equal(herded_gibbs(full, 300).samples, one.samples)
        np.testing.assert_array_equal(herded_gibbs(thin, 300).samples, one.samples)


def test_unused_neighbours_do_not_split_a_neighbourhood():
    """Explicit zeros of a sparse array are no edges: they must not have weights of their own."""
    model = MODELS["sparse loop +-1"]
    i, j = np.indices((5, 5)).reshape(2, -1)
    padded = sparse.coo_array((dense(model.couplings)[i, j], (i, j)), shape=(5, 5))
    kept = PairwiseModel(padded, model.biases, (-1, 1))
    np.testing.assert_array_equal(
        herded_gibbs(kept, 300).samples, herded_gibbs(model, 300).samples
    )


def test_disconnected_parts_do_not_see_each_other():
    model = MODELS["two parts"]
    run = herded_gibbs(model, 400, initial="centre").samples
    left = PairwiseModel(dense(model.couplings)[:3, :3], model.biases[:3], (-1, 1))
    right = PairwiseModel(dense(model.couplings)[3:, 3:], model.biases[3:], (-1, 1))
    np.testing.assert_array_equal(run[:, :3], herded_gibbs(left, 400, initial="centre").samples)
    np.testing.assert_array_equal(run[:, 3:], herded_gibbs(right, 400, initial="centre").samples)


def test_neighbourhoods_that_never_return_are_sampled_and_not_maximised():
    """Fifty sites, all coupled: each of 2^49 neighbourhoods comes up once, and draws with p."""
    model = PairwiseModel.random(50, coupling_sd=0.02, bias_sd=0.5, random_state=1)
    run = herded_gibbs(model, 3000, burn_in=100)
    reached = gibbs_marginals(model)
    # a probability near 1/2 over 3,000 sweeps: 5 errors of 0.5 / sqrt(3,000), 0.045
    assert np.abs(run.marginals - reached).max() < 0.05
    greedy = herded_gibbs(model, 3000, burn_in=100, initial="centre")
    assert np.abs(greedy.marginals - reached).max() > 0.2


def gibbs_marginals(model):
    """Draw long chains by hand, all at once."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random((400, model.n_sites)) < 0.5, -1.0, 1.0)
    total = np.zeros(model.n_sites)
    for sweep in range(120):
        for site in range(model.n_sites):
            field = x @ model.couplings[site] + model.biases[site]
            x[:, site] = np.where(rng.random(400) < 1 / (1 + np.exp(-2 * field)), 1.0, -1.0)
        if sweep >= 20:
            total += (x > 0).mean(axis=0)
    return total / 100
