r"""Unknown entries of rows, from a fitted field and the known entries.

Given the known sites K of a row, the unknown ones U have the field

.. math:: P(x_U \mid x_K) \propto \exp\Bigl( \tfrac{1}{2} x_U^T W_{UU} x_U
          + (b_U + W_{UK} x_K)^T x_U \Bigr),

over 0/1 states. It falls into parts that no coupling connects. A part of one site is a logistic
function, a part of few sites is summed over all its states, and a larger one is sampled: there the
probabilities are averages of :math:`P(x_i = 1 \mid \text{all others})` over the states of several
chains. One starts with all sites low, one with all high, the others at random: where these
disagree there are modes that a chain does not leave, and the averages are unreliable. R-hat shows
it, and there is a warning.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import generator, non_negative_int, positive_int, real_array
from herder.core.blas import one_blas_thread
from herder.models.pairwise import PairwiseModel

__all__ = ["UnmixedWarning", "conditional_probabilities", "impute"]

#: Tables of more than 2^20 states are not made for a single row.
MOST_EXACT = 20

#: Cells of a table of rows by states that are in memory at once.
BLOCK = 2**20

#: Chains that share the sweeps of a part.
N_CHAINS = 4

#: Burn-in of each chain, as a share of its sweeps.
BURN_IN = 0.1

#: Chains whose R-hat is above this at some site disagree.
UNMIXED = 1.1


class UnmixedWarning(UserWarning):
    """Chains over unknown entries disagree, so that their averages cannot be trusted."""


def conditional_probabilities(
    model: PairwiseModel,
    X: ArrayLike,
    *,
    max_exact: int = 20,
    n_sweeps: int = 5000,
    random_state: int | np.random.Generator | None = 0,
) -> NDArray[np.float64]:
    """Return the probability of the upper state of every entry, given the known ones of its row.

    Parameters
    ----------
    model : PairwiseModel
        The field.
    X : array-like of shape (n_rows, n_sites)
        States of the model, NaN where they are unknown.
    max_exact : int, default 20
        Most unknown sites, connected by couplings, whose states are all summed over; at most
        ``MOST_EXACT``. A row with 20 of them takes about twice as long as its sweeps would, one
        with 16 half as long.
    n_sweeps : int, default 5000
        Sweeps over more of them than that, shared by ``N_CHAINS`` chains, after their burn-in.
    random_state : int, Generator or None, default 0
        Draws the sweeps.

    Returns
    -------
    ndarray of shape (n_rows, n_sites)
        Known entries have probability 0 or 1.

    Warns
    -----
    UnmixedWarning
        If the chains of some rows disagree.

    Examples
    --------
    >>> model = PairwiseModel([[0.0, np.log(4)], [np.log(4), 0.0]], [0.0, -np.log(2)])
    >>> conditional_probabilities(model, [[1, np.nan], [0, np.nan]]).round(6)
    array([[1.      , 0.666667],
           [0.      , 0.333333]])
    """
    return _Unknown(model, X, max_exact, n_sweeps, random_state).fill()


def impute(
    model: PairwiseModel,
    X: ArrayLike,
    *,
    draw: bool = False,
    max_exact: int = 20,
    n_sweeps: int = 5000,
    random_state: int | np.random.Generator | None = 0,
) -> NDArray[np.float64]:
    """Fill the unknown entries.

    Parameters
    ----------
    model : PairwiseModel
        The field.
    X : array-like of shape (n_rows, n_sites)
        States of the model, NaN where they are unknown.
    draw : bool, default False
        Whether to draw the unknown entries of a row together, from their distribution given the
        known ones. Otherwise each gets its more probable state, the lower one at even odds; a
        table filled so is less varied than rows are.
    max_exact, n_sweeps, random_state
        As in `conditional_probabilities`; with ``draw`` the last state of one of the chains is
        taken.

    Returns
    -------
    ndarray of float64 of shape (n_rows, n_sites)
        States of the model.

    Warns
    -----
    UnmixedWarning
        If the chains of some rows disagree.

    Examples
    --------
    >>> model = PairwiseModel([[0.0, 1.0], [1.0, 0.0]], states=(-1, 1))
    >>> impute(model, [[1, np.nan], [np.nan, -1]])
    array([[ 1.,  1.],
           [-1., -1.]])
    """
    task = _Unknown(model, X, max_exact, n_sweeps, random_state, draw=draw)
    upper = task.fill() > 0.5
    low, high = model.states
    return np.where(upper, float(high), float(low))


class _Unknown:
    """Rows with unknown entries under a field, both over 0/1."""

    def __init__(
        self,
        model: PairwiseModel,
        X: ArrayLike,
        max_exact: int,
        n_sweeps: int,
        random_state: int | np.random.Generator | None,
        *,
        draw: bool = False,
    ) -> None:
        if not isinstance(model, PairwiseModel):
            raise ParameterTypeError("model", "be a PairwiseModel", got=type(model).__name__)
        self.max_exact = non_negative_int(max_exact, "max_exact")
        if self.max_exact > MOST_EXACT:
            raise ParameterError("max_exact", f"be at most {MOST_EXACT}", max_exact)
        self.n_sweeps = positive_int(n_sweeps, "n_sweeps")
        self.rng, self.draw = generator(random_state), draw
        self.known, self.unknown = _read_rows(model, X)
        bits = model.to_states((0, 1))
        self.couplings: Any = bits.couplings
        self.biases = bits.biases
        self.unmixed: set[int] = set()

    @one_blas_thread()
    def fill(self) -> NDArray[np.float64]:
        """Return the rows with probabilities of unknown entries, or values drawn by them."""
        filled = self.known.copy()
        linked: Any = self.couplings != 0
        beside = (linked.astype(np.float64) @ self.unknown.T.astype(np.float64)).T > 0
        alone = self.unknown & ~beside
        # unknown sites are 0 in the known rows, so that they add nothing to the fields
        fields = (self.couplings @ self.known.T).T + self.biases
        chances = expit(fields[alone])
        filled[alone] = self.rng.random(chances.shape) < chances if self.draw else chances
        rest = self.unknown & beside
        some = np.flatnonzero(rest.any(axis=1))
        if not len(some):
            return filled
        patterns, which = np.unique(rest[some], axis=0, return_inverse=True)
        which = which.ravel()  # a column in NumPy 2.0
        ends = np.cumsum(np.bincount(which))[:-1]
        groups = np.split(some[np.argsort(which, kind="stable")], ends)
        for pattern, group in zip(patterns, groups, strict=True):
            for part in self._parts(np.flatnonzero(pattern)):
                at = np.ix_(group, part)
                among = self.couplings[part][:, part]
                couplings = among if isinstance(among, np.ndarray) else among.toarray()
                if len(part) > self.max_exact:
                    filled[at] = self._sample_part(couplings, fields[at], group)
                else:
                    filled[at] = self._sum_part(couplings, fields[at])
        self._warn()
        return filled

    def _warn(self) -> None:
        """Warn in how many rows chains disagree."""
        if self.unmixed:
            warnings.warn(
                f"{len(self.unmixed)} of {len(self.known)} rows have more than {self.max_exact} "
                "unknown entries that depend on each other, and their chains disagree "
                f"(R-hat above {UNMIXED}; the first is row {min(self.unmixed)}): do not trust "
                "what was put there; leave fewer entries unknown, or raise n_sweeps",
                UnmixedWarning,
                stacklevel=4,
            )

    def _parts(self, sites: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Split sites into sets that no coupling connects."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        among = csr_array(self.couplings[sites][:, sites])
        n_parts, label = connected_components(among, directed=False)
        return [sites[label == k] for k in range(n_parts)]

    def _sample_part(
        self, couplings: NDArray[np.float64], fields: NDArray[np.float64], rows: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Fill connected unknown sites by chains, given their fields (n_rows, n_sites)."""
        from herder.samplers.gibbs import gibbs

        filled, n_sweeps = np.empty_like(fields), -(-self.n_sweeps // N_CHAINS)
        starts = np.zeros((N_CHAINS, len(couplings)), np.int8)
        starts[1] = 1
        options: Any = {"burn_in": int(BURN_IN * n_sweeps), "n_jobs": 1, "random_state": self.rng}
        for k, field in enumerate(fields):
            model = PairwiseModel(couplings, field)
            starts[2:] = self.rng.integers(0, 2, starts[2:].shape)
            if self.draw:
                options["thinning"] = n_sweeps
            else:
                options |= {"keep": False, "functions": {"upper": model.conditional}}
            run = gibbs(model, n_sweeps, n_chains=N_CHAINS, start=starts, **options)
            if self.draw:  # any chain: each may have reached the likelier states
                filled[k] = run.samples[self.rng.integers(len(run.samples))]
            else:
                filled[k] = run.averages["upper"]
            if (run.r_hat > UNMIXED).any():  # NaN for too few sweeps
                self.unmixed.add(int(rows[k]))
        return filled

    def _sum_part(
        self, couplings: NDArray[np.float64], fields: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Fill connected unknown sites by sums, given their fields (n_rows, n_sites)."""
        filled, scores = np.empty_like(fields), np.zeros(1)
        for site in range(len(couplings)):
            scores = np.concatenate([scores, scores + _doubled(couplings[None, site, :site])[0]])
        size = max(1, BLOCK // len(scores))
        for start in range(0, len(fields), size):
            cells = _doubled(fields[start : start + size]) + scores
            cells -= cells.max(axis=1, keepdims=True)
            np.exp(cells, out=cells)
            cells /= cells.sum(axis=1, keepdims=True)
            filled[start : start + size] = self._draw(cells) if self.draw else _marginals(cells)
        return filled

    def _draw(self, chances: NDArray[np.float64]) -> NDArray[np.int64]:
        """Draw states of some sites by the probabilities (n_rows, 2^n_sites) of all of them."""
        reached = np.cumsum(chances, axis=1)
        level = self.rng.random(len(chances)) * reached[:, -1]
        chosen = np.minimum((reached <= level[:, None]).sum(axis=1), chances.shape[1] - 1)
        return chosen[:, None] >> np.arange(chances.shape[1].bit_length() - 1) & 1


def _marginals(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of each site from those (n_rows, 2^n_sites) of all states."""
    n_sites = chances.shape[1].bit_length() - 1
    found = np.empty((len(chances), n_sites))
    for site in reversed(range(n_sites)):  # its two halves, then their sum: site by site
        halves = chances.reshape(len(chances), 2, 2**site)
        found[:, site] = halves[:, 1].sum(axis=1)
        chances = halves.sum(axis=1)
    return found


def _doubled(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum gains (n_rows, n_sites) of the upper states over all states, site 0 changing fastest."""
    found = np.zeros((len(gains), 1))
    for column in gains.T:
        found = np.concatenate([found, found + column[:, None]], axis=1)
    return found


def _read_rows(
    model: PairwiseModel, X: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return rows over 0/1, 0 where they are unknown, and where that is."""
    rows = real_array(X, "X", "be numbers, NaN where unknown")
    if rows.ndim != 2 or rows.shape[1] != model.n_sites:
        rule = f"have {model.n_sites} sites in each row"
        raise ParameterError("X", rule, got=f"shape {rows.shape}")
    low, high = model.states
    unknown = np.isnan(rows)
    wrong = ~unknown & (rows != low) & (rows != high)
    if wrong.any():
        raise ParameterError("X", f"be {low}, {high} or NaN", got=f"{rows[wrong][0]:g}")
    return (rows == high).astype(np.float64), unknown
