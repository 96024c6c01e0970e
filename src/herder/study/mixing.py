r"""How soon herding forgets: autocorrelation of states, effective sample size, visits of modes.

For the shares :math:`\hat\pi` of the states in a sequence of T,

.. math:: R(t) = \frac{\frac{1}{T - t} \sum_\tau [s_\tau = s_{\tau + t}] - \sum_s \hat\pi(s)^2}
                     {1 - \sum_s \hat\pi(s)^2}

([chen2014]_, equation 2.12). It is 1 at lag 0 and about 0 for independent states; herding, which
makes a state less likely for having been emitted, is below 0 at the first lags.

Averages over L successive states are as good as those over

.. math:: L' = \Big( \frac{1}{K} \sum_k \frac{E (\bar\phi_k - \mu_k)^2}{\sigma_k^2} \Big)^{-1}

independent ones. For Gibbs sampling this is below L and grows in proportion to it; for herding the
error falls as 1/L, and L' grows as the square of L.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import non_negative_int, of_kind, plain_array, positive_int, real_array
from herder.core.summary import Picture, Section, Summarised, Summary, Table
from herder.models.exact import exact_samples
from herder.models.pairwise import PairwiseModel
from herder.samplers.gibbs import gibbs
from herder.study.dynamics import Floats, itinerary

__all__ = ["Mixing", "autocorrelation", "compare_mixing", "effective_size"]

#: Sites of a model all of whose states are listed.
MOST_SITES = 12

#: Lags that are shown, and states of an average whose error is measured.
N_LAGS, LENGTH = 50, 100


def autocorrelation(states: ArrayLike, max_lag: int) -> Floats:
    """Return R(t) of the states for the lags t = 0, 1, ..., ``max_lag``.

    Parameters
    ----------
    states : array-like of shape (n_steps,)
        Labels of states of any kind that can be sorted.
    max_lag : int
        Largest lag, below the number of states.

    Examples
    --------
    >>> autocorrelation([0, 1, 0, 1, 0, 1, 0, 1], 2)
    array([ 1., -1.,  1.])
    """
    given = plain_array(states, "states")
    if given.ndim != 1 or not given.size:
        raise ParameterTypeError("states", "be a row of states", got=f"shape {given.shape}")
    max_lag = non_negative_int(max_lag, "max_lag")
    if max_lag >= len(given):
        raise ParameterError("max_lag", f"be below {len(given)}, the number of states", max_lag)
    try:
        counts = np.unique(given, return_counts=True)[1]
    except TypeError:
        raise ParameterTypeError("states", "be labels of one kind", got="several") from None
    if len(counts) < 2:
        raise ParameterError("states", "take two values at least", got="one")
    chance = float(np.square(counts / len(given)).sum())
    n = len(given)
    same = [float(np.mean(given[lag:] == given[: n - lag])) for lag in range(max_lag + 1)]
    return (np.array(same) - chance) / (1 - chance)


def effective_size(values: ArrayLike, target: ArrayLike, length: int) -> float:
    """Return how many independent draws are as good as ``length`` successive ones.

    Parameters
    ----------
    values : array-like of shape (n_steps,) or (n_steps, n_features)
        Features of successive states.
    target : float or array-like of shape (n_features,)
        Their true means.
    length : int
        States of an average, at most half of them; infinite if all such averages are exact.

    Examples
    --------
    >>> effective_size([0, 1, 1, 0, 1, 0, 0, 1], 0.5, 2)
    inf
    """
    rows = real_array(values, "values")
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ParameterError("values", "be finite numbers in rows", got=f"shape {rows.shape}")
    means = np.atleast_1d(real_array(target, "target"))
    if means.shape != rows.shape[1:] or not np.isfinite(means).all():
        raise ParameterError("target", f"be {rows.shape[1]} finite numbers", means.tolist())
    length = positive_int(length, "length")
    n_blocks = len(rows) // length
    if n_blocks < 2:
        raise ParameterError("length", f"be at most {len(rows) // 2}", length)
    variance = np.square(rows - means).mean(axis=0)
    if not variance.all():
        raise ParameterError("values", "vary in each column")
    blocks = rows[: n_blocks * length].reshape(n_blocks, length, -1).mean(axis=1)
    errors = np.square(blocks - means).mean(axis=0) / variance
    with np.errstate(divide="ignore"):
        return float(1 / np.float64(errors.mean()))


@dataclass(frozen=True, eq=False)
class Mixing(Summarised):
    """Herding beside independent states and Gibbs sampling.

    Parameters
    ----------
    correlations : dict of str to ndarray
        R(t) from lag 0 on, by method.
    effective_sizes : dict of str to float
        Independent draws that 100 successive states are worth.
    switches : dict of str to float
        Times per 1,000 states that one of the two most probable states follows after the other,
        whatever came between.
    """

    correlations: dict[str, Floats]
    effective_sizes: dict[str, float]
    switches: dict[str, float]

    def summary(self) -> Summary:
        """Return the numbers of each method."""
        rows = [
            (name, curve[1], self.effective_sizes[name], self.switches[name])
            for name, curve in self.correlations.items()
        ]
        header = ["states of", "R(1)", f"{LENGTH} are worth", "switches of mode per 1,000"]
        picture = Picture("mixing", self, "Autocorrelation of states by lag, for each method.")
        table = Table(header, rows, ["", ".3f", ".1f", ".1f"])
        sections = [Section("Autocorrelation", [picture])]
        return Summary("How soon states are forgotten", [table], sections)


def compare_mixing(model: PairwiseModel, n_states: int, *, random_state: int = 0) -> Mixing:
    """Herd a small model, and draw from it independently and by Gibbs sampling.

    Parameters
    ----------
    model : PairwiseModel
        Of at most 12 sites; herding matches the means of its sites and edges.
    n_states : int
        States of each method, above 200.
    random_state : int, default 0
        Seed of the other two.

    Examples
    --------
    >>> ring = PairwiseModel.grid((1, 6), temperature=1.0, periodic=True)
    >>> found = compare_mixing(ring, 10_000)
    >>> bool(found.correlations["herding"][1] < 0 < found.correlations["Gibbs sampling"][1])
    True
    """
    of_kind(model, "model", PairwiseModel, "a PairwiseModel")
    if model.n_sites > MOST_SITES:
        raise ParameterError("model", f"have at most {MOST_SITES} sites", model.n_sites)
    n_states = positive_int(n_states, "n_states")
    if n_states <= 2 * LENGTH:
        raise ParameterError("n_states", f"be above {2 * LENGTH}", n_states)
    powers = 1 << np.arange(model.n_sites)
    low, high = model.states
    listed = np.where(np.arange(2**model.n_sites)[:, None] & powers, high, low)
    i, j = model.edges.T
    features = np.hstack([listed, listed[:, i] * listed[:, j]]).astype(np.float64)
    energies = np.asarray(model.energy(listed))
    shares = np.exp(energies.min() - energies)
    shares /= shares.sum()
    moments = shares @ features
    apart = exact_samples(model, n_states, random_state=random_state)
    chain = gibbs(model, n_states, random_state=random_state).samples
    drawn = {
        "herding": itinerary(features, moments, n_states),
        "independence": (apart == high) @ powers,
        "Gibbs sampling": (chain == high) @ powers,
    }
    modes = np.argsort(-shares, kind="stable")[:2]
    lags = min(N_LAGS, n_states - 1)
    return Mixing(
        {name: autocorrelation(states, lags) for name, states in drawn.items()},
        {name: effective_size(features[s], moments, LENGTH) for name, s in drawn.items()},
        {name: _switches(states, modes) for name, states in drawn.items()},
    )


def _switches(states: NDArray[np.intp], modes: NDArray[np.intp]) -> float:
    visits = states[np.isin(states, modes)]
    return 1000 * float((visits[1:] != visits[:-1]).sum()) / len(states)
