"""Rows drawn from a fitted field."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import generator, one_of, positive_int
from herder.models.pairwise import PairwiseModel

__all__ = ["draw_rows"]

#: Sites up to which rows are drawn from the table of all states by default.
EXACT_SITES = 16

#: Sites up to which there is such a table.
TABLE_SITES = 20

#: Chains, sweeps before the first row, and sweeps from one row of a chain to the next.
N_CHAINS, BURN_IN, THINNING = 10, 1000, 10


def draw_rows(
    model: PairwiseModel,
    n_samples: int,
    *,
    method: str = "auto",
    random_state: int | np.random.Generator | None = 0,
) -> NDArray[np.int8]:
    """Draw rows in the model's own states; the parameters are those of `BoltzmannMachine.sample`.

    Rows of Gibbs chains come in turn, so that neighbours are of different chains.
    """
    n_samples = positive_int(n_samples, "n_samples")
    one_of(method, "method", ("auto", "exact", "gibbs", "herded-gibbs"))
    if method == "exact" or (method == "auto" and model.n_sites <= EXACT_SITES):
        return _draw(model, n_samples, generator(random_state))
    if method == "herded-gibbs":
        from herder.samplers.herded import herded_gibbs

        return herded_gibbs(model, n_samples, burn_in=BURN_IN).samples
    from herder.samplers.gibbs import gibbs

    n_chains = min(N_CHAINS, n_samples)
    n_sweeps = THINNING * -(-n_samples // n_chains)
    options: Any = {"n_chains": n_chains, "burn_in": BURN_IN, "thinning": THINNING}
    chains = gibbs(model, n_sweeps, random_state=random_state, **options).chains
    return chains.transpose(1, 0, 2).reshape(-1, model.n_sites)[:n_samples]


def _draw(model: PairwiseModel, n_samples: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Draw states by their exact probabilities."""
    if model.n_sites > TABLE_SITES:
        rule = f"be 'gibbs' or 'herded-gibbs' for more than {TABLE_SITES} columns"
        raise ParameterError("method", rule, got=f"'exact' for {model.n_sites}")
    table: Any = model.exact(method="enumerate").probabilities
    sums = np.cumsum(table)
    places = np.searchsorted(sums, rng.random(n_samples) * sums[-1], side="right")
    bits = (places[:, None] >> np.arange(model.n_sites)) & 1
    return np.where(bits, model.states[1], model.states[0]).astype(np.int8)
