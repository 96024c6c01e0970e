"""Fields that hypothesis draws: parameters are eighths, so that energies have no rounding."""

import itertools

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel

EIGHTHS = st.integers(-24, 24).map(lambda k: k / 8)


@st.composite
def couplings(draw, n_sites):
    """Draw symmetric couplings, many of them zero, dense or sparse."""
    found = np.zeros((n_sites, n_sites))
    for i, j in itertools.combinations(range(n_sites), 2):
        if draw(st.booleans()):
            found[i, j] = found[j, i] = draw(EIGHTHS)
    return sparse.csr_array(found) if draw(st.booleans()) else found


@st.composite
def pairwise_models(draw, max_sites=5):
    n_sites = draw(st.integers(1, max_sites))
    biases = draw(st.lists(EIGHTHS, min_size=n_sites, max_size=n_sites))
    states = draw(st.sampled_from([(0, 1), (-1, 1)]))
    return PairwiseModel(draw(couplings(n_sites)), biases, states, offset=draw(EIGHTHS))


@st.composite
def potts_models(draw, max_sites=4):
    n_sites = draw(st.integers(1, max_sites))
    n_states = draw(st.integers(2, 4))
    row = st.lists(EIGHTHS, min_size=n_states, max_size=n_states)
    fields = draw(st.lists(row, min_size=n_sites, max_size=n_sites))
    return PottsModel(draw(couplings(n_sites)), fields, offset=draw(EIGHTHS))


def fields():
    return st.one_of(pairwise_models(), potts_models())
