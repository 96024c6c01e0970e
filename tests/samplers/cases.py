"""Every sampler in every setting, for what must hold of all of them."""

import numpy as np

from herder import PairwiseModel, PottsModel, gibbs, herded_gibbs, swendsen_wang
from tests.samplers.plain import COMPLETE_5, LOOP_5, draw_pairwise, draw_potts

LOOP = draw_pairwise(5, LOOP_5, 0, as_sparse=True)
COMPLETE = draw_pairwise(5, COMPLETE_5, 1, states=(0, 1))
POTTS = draw_potts(5, 3, LOOP_5, 2)
FRIENDLY = PottsModel(abs(POTTS.couplings), POTTS.fields)
GRID = PairwiseModel.grid((4, 5), 0.4, 0.1)
POTTS_GRID = PottsModel.grid((3, 4), 4, 0.8, [0.0, 0.1, 0.2, 0.3])
#: More neighbours than a table of all their states could hold.
DENSE = PairwiseModel.random(40, coupling_sd=0.1, random_state=0)

#: name: sampler, model, options
CASES = {
    "gibbs": (gibbs, LOOP, {}),
    "gibbs dense": (gibbs, COMPLETE, {"order": "reversed"}),
    "gibbs of many sites": (gibbs, DENSE, {}),
    "gibbs by colours": (gibbs, GRID, {"order": "checkerboard"}),
    "gibbs in any order": (gibbs, LOOP, {"order": [4, 0, 2, 1, 3, 0]}),
    "gibbs given sites": (gibbs, GRID, {"evidence": {3: 1, 7: -1}}),
    "gibbs of three states": (gibbs, POTTS, {"evidence": {0: 2}}),
    "tempered": (gibbs, LOOP, {"temperatures": (1.0, 1.7, 3.0)}),
    "tempered given sites": (gibbs, GRID, {"temperatures": (1.0, 2.0), "evidence": {0: 1}}),
    "tempered with three states": (gibbs, POTTS, {"temperatures": (1.0, 1.5, 2.0)}),
    "herded": (herded_gibbs, LOOP, {}),
    "herded complete": (herded_gibbs, COMPLETE, {"order": [2, 0, 4, 1, 3]}),
    "herded by colours": (herded_gibbs, GRID, {"order": "checkerboard"}),
    "herded given sites": (herded_gibbs, GRID, {"evidence": {3: 1, 7: -1}}),
    "herded with three states": (herded_gibbs, POTTS, {}),
    "herded with four states": (herded_gibbs, POTTS_GRID, {"evidence": {5: 3}}),
    "herded with many neighbours": (herded_gibbs, DENSE, {}),
    "clusters": (swendsen_wang, GRID, {}),
    "clusters of any sign": (swendsen_wang, LOOP, {}),
    "clusters given sites": (swendsen_wang, GRID, {"evidence": {3: 1, 7: -1}}),
    "clusters of three states": (swendsen_wang, FRIENDLY, {}),
    "clusters of four states": (swendsen_wang, POTTS_GRID, {"evidence": {5: 3}}),
}


def run_case(name, n_sweeps, **options):
    """Run a sampler of the table with further options."""
    sampler, model, settings = CASES[name]
    return sampler(model, n_sweeps, **{**settings, **options})


def same_sampling(one, other, *, samples=True):
    """Ask for the same bits in all that a run gives."""
    if samples:
        np.testing.assert_array_equal(one.samples, other.samples)
    for field in ("marginals", "errors", "r_hat", "ess", "edges", "pair_marginals"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field), err_msg=field)
    assert one.averages.keys() == other.averages.keys()
    for key, value in one.averages.items():
        np.testing.assert_array_equal(value, other.averages[key], err_msg=key)
        assert type(value) is type(other.averages[key])
        errors = other.average_errors[key]
        np.testing.assert_array_equal(one.average_errors[key], errors, err_msg=key)
        assert np.shape(errors) == np.shape(value)
    assert one.n_sweeps == other.n_sweeps
    assert one.n_chains == other.n_chains
    assert one.method == other.method
    np.testing.assert_equal(one.diagnostics, other.diagnostics)
