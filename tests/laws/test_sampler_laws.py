"""What holds for every random field, every sampler and every way to run it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from herder import PairwiseModel, PottsModel, gibbs, herded_gibbs, swendsen_wang
from tests.samplers.cases import same_sampling
from tests.samplers.plain import marginals_of, pairs_of

SAMPLERS = (gibbs, herded_gibbs, swendsen_wang)


@st.composite
def random_fields(draw):
    """Draw any graph, dense or sparse, of one to six sites with two to four states."""
    n_sites = draw(st.integers(1, 6))
    every = [(i, j) for j in range(n_sites) for i in range(j)]
    edges = draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    couplings = np.zeros((n_sites, n_sites))
    for i, j in edges:
        couplings[i, j] = couplings[j, i] = abs(rng.normal())
    scale = draw(st.sampled_from([0.0, 0.3, 1.0, 30.0]))
    kept = sparse.csr_array(couplings * scale) if draw(st.booleans()) else couplings * scale
    n_states = draw(st.sampled_from(["0/1", "+-1", 2, 3, 4]))
    if isinstance(n_states, str):
        states = (0, 1) if n_states == "0/1" else (-1, 1)
        return PairwiseModel(kept, rng.normal(size=n_sites) * scale, states)
    return PottsModel(kept, rng.normal(size=(n_sites, n_states)) * scale)


@st.composite
def settings_of(draw, model):
    """Draw a sampler and its options for a model."""
    sampler = draw(st.sampled_from(SAMPLERS))
    options = {"n_chains": draw(st.integers(1, 3))}
    held = draw(st.lists(st.integers(0, model.n_sites - 1), unique=True))
    held = held[: model.n_sites - 1]  # one site at least is free
    options["evidence"] = {site: draw(st.sampled_from(model.states)) for site in held}
    if sampler is not swendsen_wang:
        orders = ["sequential", "reversed", "checkerboard"]
        visits = draw(st.permutations(range(model.n_sites)))
        options["order"] = draw(st.sampled_from([*orders, visits]))
    if sampler is gibbs:
        options["temperatures"] = draw(st.sampled_from([None, (1.0,), (1.0, 1.5, 4.0)]))
    if sampler is herded_gibbs:
        options["initial"] = draw(st.sampled_from(["centre", "spread"]))
    else:
        options["random_state"] = draw(st.integers(0, 2**32 - 1))
    return sampler, options


@given(random_fields(), st.data())
def test_how_a_run_is_cut_does_not_show(model, data):
    sampler, options = data.draw(settings_of(model))
    n, m = data.draw(st.integers(1, 70)), data.draw(st.integers(1, 70))
    options |= {"thinning": data.draw(st.integers(1, 5)), "keep": data.draw(st.booleans())}
    whole = sampler(model, n + m, pairs="all", n_jobs=1, **options)
    first = sampler(model, n, pairs="all", n_jobs=2, **options)
    second = sampler(model, m, pairs="all", n_jobs=2, resume=first, **options)
    pieces = np.concatenate([first.chains, second.chains], axis=1)
    np.testing.assert_array_equal(pieces, whole.chains)
    same_sampling(second, whole, samples=False)


@given(random_fields(), st.data())
def test_averages_are_those_of_the_samples(model, data):
    sampler, options = data.draw(settings_of(model))
    n_sweeps, burn_in = data.draw(st.integers(1, 90)), data.draw(st.integers(0, 9))
    functions = {"first": lambda rows: rows[:, 0]}
    run = sampler(
        model, n_sweeps, burn_in=burn_in, pairs="all", functions=functions, n_jobs=1, **options
    )
    assert set(np.unique(run.samples)) <= set(model.states)
    np.testing.assert_allclose(run.marginals, marginals_of(model, run.samples), atol=1e-12)
    wanted = pairs_of(model, np.column_stack(np.triu_indices(model.n_sites, 1)), run.samples)
    np.testing.assert_allclose(run.pair_marginals, wanted, atol=1e-12)
    np.testing.assert_allclose(run.averages["first"], run.samples[:, 0].mean(), atol=1e-12)
    for site, value in options["evidence"].items():
        assert (run.samples[:, site] == value).all()
    assert ((run.errors >= 0) | np.isnan(run.errors)).all()


@given(random_fields(), st.data())
def test_held_sites_are_those_of_the_smaller_model(model, data):
    """Sampling given some sites is sampling the model of the others."""
    sampler, options = data.draw(settings_of(model))
    evidence = options.pop("evidence")
    options.pop("order", None)
    rest, free = model.given(evidence)
    run = sampler(model, 40, evidence=evidence, n_jobs=1, **options)
    np.testing.assert_array_equal(run.samples[:, free], sampler(rest, 40, **options).samples)
