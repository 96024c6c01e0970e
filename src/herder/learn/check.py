r"""Whether a fitted field has the statistics of rows: means, pairs, triples, numbers of ones.

A penalty, an approximation or chains that do not mix can leave a field whose samples differ from
the rows. So we compare probabilities: of a one in each column, of two ones in each pair of
columns, and of k ones in a row. A probability p of N rows and q of the field differ by

.. math:: z = \frac{p - q}{\sqrt{v(N) + v(N_0) + s^2}}, \qquad
          v(N) = \frac{1}{N} \max_{r \in \{p, q\}} \tilde r (1 - \tilde r), \quad
          \tilde r = \frac{N r + 1/2}{N + 1},

standard errors. Here v(N) is the variance of the rows; half an observation is added because rare
events are not normal. The second term is there for held-out rows only, and is the error of the
:math:`N_0` rows of the fit: a fit by likelihood has their means and pairs, up to the penalty, and
its P(k) vary less than theirs. Rows that the field was fitted to agree with it better than others
do. The Monte Carlo error of q, s, is found by batch means, is at least that of independent
samples, and is zero when q is a sum over all states. All M differences are within sampling error
when the largest is below the quantile that M normal ones exceed with probability 1 %: of the
right fields, at most so many are refused.

With very many rows every difference is significant. So each also has a size that does not depend
on how many there are: a mean relative to the standard deviation of its column, a pair as a
correlation, an interaction relative to the root of the sum of 1 / p, the number of ones as a
total variation. Small differences are accepted. The verdict
on all that is in `herder.learn.verdict`.

Of three columns we compare what means and pairs do not determine, their interaction

.. math:: \theta = \log \frac{p_{111} \, p_{100} \, p_{010} \, p_{001}}
                          {p_{110} \, p_{101} \, p_{011} \, p_{000}},

whose variance is the sum of 1 / (N p) over the eight cells, each with half an observation more.

A pairwise model is determined by its means and pairs. If these agree with the rows and the others
do not, no pairwise model can match the rows, unless many small differences of pairs add up. So
P(k) is also compared with that of the field whose biases are all changed by one number and whose
couplings by another, such that the number of ones has the mean and the variance that it has in
the rows: :math:`P'(k) \propto P(k) \exp(a k + b k^2)`.

Rows that were held out also have a score: their log pseudo-likelihood, and how much more that is
than with independent columns that have the means of the rows of the fit.
"""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from herder._validation import generator, positive_int
from herder.core.blas import one_blas_thread
from herder.learn.comparison import Comparison, FitCheck
from herder.learn.fit import FitReport
from herder.learn.likelihood import field_moments, row_moments
from herder.learn.pseudo import log_pseudo_likelihood
from herder.learn.rows import DistinctRows
from herder.models.pairwise import PairwiseModel

__all__ = ["Comparison", "FitCheck", "check_fit"]

#: Fields of up to this many sites are summed over, which takes some tenths of a second.
EXACT_SITES = 20

#: Interactions of three columns are compared in fields of up to this many sites.
TRIPLE_SITES = 16

#: Bounds of a and b of the field that is matched to the numbers of ones, from -1 to 1: rows that
#: all have one number have no finite ones.
LARGEST_TILT = 500.0

#: Probability that the largest of all differences of a perfect field is called too large.
ALARM = 0.01

#: Chains, sweeps before the first sample, sweeps from one sample of a chain to the next, and
#: batches of each chain for the Monte Carlo errors.
N_CHAINS, BURN_IN, THINNING, BATCHES = 10, 1000, 5, 5


class _Moments(NamedTuple):
    """Probabilities of a field, and their Monte Carlo variances."""

    pairs: NDArray[np.float64]  # (n, n), means on the diagonal
    counts: NDArray[np.float64]  # (n + 1,)
    pairs_variance: NDArray[np.float64]
    counts_variance: NDArray[np.float64]
    r_hat: float
    n_samples: int


def check_fit(
    model: PairwiseModel,
    sample: DistinctRows,
    *,
    n_samples: int = 10_000,
    report: FitReport | None = None,
    learnt: tuple[float, NDArray[np.float64]] | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> FitCheck:
    """Compare a field with rows.

    Parameters
    ----------
    model : PairwiseModel
        The field.
    sample : DistinctRows
        The rows.
    n_samples : int, default 10_000
        Samples of a field of more than ``EXACT_SITES`` sites.
    report : FitReport, optional
        How the field was fitted; by default it counts as fitted to these rows.
    learnt : (float, ndarray of shape (n,)), optional
        Number of rows of the fit, and the share of ones in each of their columns, when
        ``sample`` holds other rows, which are far stronger evidence.
    random_state : int, Generator or None, default 0
        Draws the samples.

    Examples
    --------
    >>> rows = np.array([[0, 0], [1, 1], [0, 1]], np.uint8)
    >>> model = PairwiseModel([[0, 1.6], [1.6, 0]], [-1.5, -0.0])
    >>> check_fit(model, DistinctRows(rows, np.full(3, 1 / 3), 60)).trust
    True
    """
    n_samples = positive_int(n_samples, "n_samples")
    generator(random_state)  # refuses a wrong one for exact sums too
    bits = model.to_states((0, 1))
    n, n_rows = bits.n_sites, sample.total
    with one_blas_thread():  # the same bits for any number of threads
        found = _exact(bits) if n <= EXACT_SITES else _sample(bits, n_samples, random_state)
        data = row_moments(sample.rows, sample.weights)
        triples = np.array(list(combinations(range(n if n <= TRIPLE_SITES else 0), 3)), np.intp)
        triples = triples.reshape(-1, 3)
        cells = _row_cells(sample, data, triples), _field_cells(bits, found.pairs, triples)
    upper = np.triu_indices(n, 1)
    means, model_means = data.diagonal().copy(), found.pairs.diagonal().copy()
    counts: Any = np.bincount(sample.rows.sum(axis=1, dtype=np.intp), sample.weights, n + 1)
    spread = np.sqrt(means * (1 - means))
    spread[spread == 0] = 1.0  # a constant column
    numbers, pair_labels = np.arange(n + 1)[:, None], np.column_stack(upper)
    n_all = len(means) + len(pair_labels) + len(triples) + len(counts)
    threshold = float(ndtri(1 - ALARM / 2 / n_all))
    n_both = [n_rows] if learnt is None else [n_rows, learnt[0]]

    def compare(
        what: str, labels: Any, p: Any, q: Any, sampling: Any, scale: Any, total: bool = False
    ) -> Comparison:
        variance = sum(_variance(p, q, number) for number in n_both)
        if found.n_samples and sampling is not None:
            variance += np.maximum(sampling, _variance(p, q, found.n_samples))
        gaps = np.abs(p - q) / scale
        size = gaps.sum() if total else gaps.max(initial=0.0)
        return Comparison(what, labels, p, q, (p - q) / np.sqrt(variance), float(size), threshold)

    def compare_counts(q: NDArray[np.float64]) -> Comparison:
        variance = found.counts_variance
        return compare("numbers of ones", numbers, counts, q, variance, 2.0, total=True)

    pair_variance, ones = found.pairs_variance, compare_counts(found.counts)
    drift, score = None, (np.nan, np.nan, np.nan)
    if learnt is not None:
        score = _score(bits, sample, *learnt)
        drift = compare("means", numbers[:n], means, learnt[1], None, spread)
    return FitCheck(
        n_rows=n_rows,
        n_samples=found.n_samples,
        means=compare("means", numbers[:n], means, model_means, pair_variance.diagonal(), spread),
        pairs=compare(
            "pairs",
            pair_labels,
            data[upper],
            found.pairs[upper],
            pair_variance[upper],
            spread[upper[0]] * spread[upper[1]],
        ),
        triples=_interactions(triples, *cells, n_both, threshold),
        counts=ones,
        r_hat=found.r_hat,
        names=model.names or tuple(f"x{i}" for i in range(n)),
        report=report,
        held_out=learnt is not None,
        score=score[0],
        gain=score[1],
        gain_error=score[2],
        matched=None if ones.good_enough else compare_counts(_match(found.counts, counts)),
        drift=drift,
        model=model,
    )


def _row_cells(
    sample: DistinctRows, pairs: NDArray[np.float64], triples: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the shares of the eight states of three columns."""
    rows = sample.rows
    shares = [sample.weights @ rows[:, triple].all(axis=1) for triple in triples]
    return _cells(pairs, triples, np.array(shares))


def _field_cells(
    bits: PairwiseModel, pairs: NDArray[np.float64], triples: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the same of a field: three ones are two in the field of the others, given a one."""
    couplings, shares = _dense(bits), np.empty(len(triples))
    for i in np.unique(triples[:, 0]):
        others = np.delete(np.arange(bits.n_sites), i)
        given = field_moments(
            couplings[np.ix_(others, others)], bits.biases[others] + couplings[i, others]
        )
        mine = triples[:, 0] == i
        _, j, k = triples[mine].T
        shares[mine] = pairs[i, i] * given.pairs[j - 1, k - 1]
    return _cells(pairs, triples, shares)


def _cells(
    pairs: NDArray[np.float64], triples: NDArray[np.intp], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the probabilities of 111, 100, 010, 001, then 110, 101, 011, 000."""
    i, j, k = triples.T
    means = pairs.diagonal()
    two = np.array([pairs[i, j], pairs[i, k], pairs[j, k]]) - shares
    one = np.array([means[i], means[j], means[k]]) - shares
    one -= np.array([two[0] + two[1], two[0] + two[2], two[1] + two[2]])
    none = 1 - shares - one.sum(axis=0) - two.sum(axis=0)
    return np.vstack([shares, one, two, none]).clip(min=0.0)


def _interactions(
    triples: NDArray[np.intp],
    rows: NDArray[np.float64],
    model: NDArray[np.float64],
    n_both: list[float],
    threshold: float,
) -> Comparison:
    """Compare the interactions of three columns, from their cells."""
    signs = np.repeat([1.0, -1.0], 4)

    def smooth(cells: NDArray[np.float64], n_rows: float) -> NDArray[np.float64]:
        return (n_rows * cells + 0.5) / (n_rows + 4)

    def widest(n_rows: float) -> NDArray[np.float64]:
        return np.maximum(*((1 / smooth(cells, n_rows)).sum(axis=0) for cells in (rows, model)))

    p, q = (signs @ np.log(smooth(cells, n_both[0])) for cells in (rows, model))
    errors = np.sqrt(np.sum([widest(n_rows) / n_rows for n_rows in n_both], axis=0))
    size = float((np.abs(p - q) / np.sqrt(widest(n_both[0]))).max(initial=0.0))
    return Comparison("triples", triples, p, q, (p - q) / errors, size, threshold)


def _score(
    bits: PairwiseModel, sample: DistinctRows, n_learnt: float, shares: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Score rows: mean, gain over independent columns with these shares of ones, its error."""
    rows, weights = sample.rows, sample.weights
    scores = log_pseudo_likelihood(_dense(bits), bits.biases, rows)
    smooth = (n_learnt * shares + 0.5) / (n_learnt + 1)
    gains = scores - rows @ np.log(smooth) - (1.0 - rows) @ np.log1p(-smooth)
    gain = float(weights @ gains)
    error = float(np.sqrt(weights @ (gains - gain) ** 2 / sample.total))
    return float(weights @ scores), gain, error


def _match(counts: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P(k) exp(a k + b k^2), normalised, with the mean and variance of ``wanted``."""
    from scipy.optimize import minimize

    k = np.linspace(-1, 1, len(counts))
    powers = np.stack([k, k**2])
    logs = np.log(counts, where=counts > 0, out=np.full(len(counts), -np.inf))

    def shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        scores = logs + weights @ powers
        return np.exp(scores - np.logaddexp.reduce(scores))

    def objective(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        total = float(np.logaddexp.reduce(logs + weights @ powers) - weights @ powers @ wanted)
        return total, powers @ (shares(weights) - wanted)

    bounds = [(-LARGEST_TILT, LARGEST_TILT)] * 2
    return shares(minimize(objective, np.zeros(2), jac=True, bounds=bounds, tol=1e-12).x)


def _variance(
    p: NDArray[np.float64], q: NDArray[np.float64], n_rows: float
) -> NDArray[np.float64]:
    """Return the variance of a share among so many rows, with half an observation added."""
    smooth = [(n_rows * r + 0.5) / (n_rows + 1) for r in (p, q)]
    return np.maximum(*(r * (1 - r) for r in smooth)) / n_rows


def _dense(bits: PairwiseModel) -> NDArray[np.float64]:
    couplings = bits.couplings
    return couplings if isinstance(couplings, np.ndarray) else couplings.toarray()


def _exact(bits: PairwiseModel) -> _Moments:
    found = field_moments(_dense(bits), bits.biases)
    pairs, counts = found.pairs, found.counts
    return _Moments(pairs, counts, np.zeros_like(pairs), np.zeros_like(counts), np.nan, 0)


def _sample(
    bits: PairwiseModel, n_samples: int, random_state: int | np.random.Generator | None
) -> _Moments:
    """Estimate the probabilities from chains; errors come from the batches of all chains."""
    from herder.samplers.gibbs import gibbs

    n = bits.n_sites
    length = max(1, -(-n_samples // (N_CHAINS * BATCHES)))
    run = gibbs(
        bits,
        THINNING * BATCHES * length,
        n_chains=N_CHAINS,
        burn_in=BURN_IN,
        thinning=THINNING,
        random_state=random_state,
    )
    sums = [np.zeros((n, n)), np.zeros((n, n)), np.zeros(n + 1), np.zeros(n + 1)]
    batches = run.samples.reshape(N_CHAINS * BATCHES, length, n)
    for batch in batches:
        states = batch.astype(np.float64)
        pairs = states.T @ states / length
        counts = np.bincount(batch.sum(axis=1, dtype=np.intp), minlength=n + 1) / length
        for total, value in zip(sums, (pairs, pairs**2, counts, counts**2), strict=True):
            total += value / len(batches)
    pairs, squares, counts, count_squares = sums
    error = (squares - pairs**2).clip(min=0) / (len(batches) - 1)
    count_error = (count_squares - counts**2).clip(min=0) / (len(batches) - 1)
    # a site that never changed has no R-hat
    r_hat = float(np.fmax.reduce(run.r_hat))
    return _Moments(pairs, counts, error, count_error, r_hat, len(run.samples))
