r"""Whether a fitted field has the statistics of rows: means, pairs, and the number of ones.

A penalty, an approximation or chains that do not mix can leave a field whose samples differ from
the rows. So we compare probabilities: of a one in each column, of two ones in each pair of
columns, and of k ones in a row. A probability p of the rows and q of the field differ by

.. math:: z = \frac{p - q}{\sqrt{v / N + s^2}}, \qquad
          v = \max_{r \in \{p, q\}} \tilde r (1 - \tilde r), \quad
          \tilde r = \frac{N r + 1/2}{N + 1},

standard errors, where s is the Monte Carlo error of q by batch means, at least that of independent
samples, and zero when q is a sum over all states. Half an observation is added because rare events
are not normal. The largest of M differences is within sampling error when it is below the quantile
that normal ones exceed with probability 1 %. Rows that the field was fitted to agree with it
better than others do.

With very many rows every difference is significant. So each also has a size that does not depend
on how many there are: a mean relative to the standard deviation of its column, a pair as a
correlation, the number of ones as a total variation. Small differences are accepted. The verdict
on all that is in `herder.learn.verdict`.

Rows that were held out also have a score: how much likelier they are, by the pseudo-likelihood,
than with independent columns that have the means of the field.
"""

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

#: Probability that the largest difference of a perfect field is called too large.
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
    held_out: bool = False,
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
    held_out : bool, default False
        Whether the rows are others than those of the fit, which is far stronger evidence.
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
    upper = np.triu_indices(n, 1)
    means, model_means = data.diagonal().copy(), found.pairs.diagonal().copy()
    pairs, model_pairs = data[upper], found.pairs[upper]
    counts = np.bincount(sample.rows.sum(axis=1, dtype=np.intp), sample.weights, n + 1)
    spread = np.sqrt(means * (1 - means))
    spread[spread == 0] = 1.0  # a constant column
    pair_spread = spread[upper[0]] * spread[upper[1]]
    variation = np.abs(counts - found.counts).sum(keepdims=True) / 2

    def compare(
        what: str, labels: NDArray[np.intp], p: Any, q: Any, variance: Any, gaps: Any
    ) -> Comparison:
        if found.n_samples:
            variance = np.maximum(variance, _variance(p, q, found.n_samples))
        z = (p - q) / np.sqrt(_variance(p, q, n_rows) + variance)
        threshold = float(ndtri(1 - ALARM / 2 / max(1, len(z))))
        return Comparison(what, labels, p, q, z, float(gaps.max(initial=0.0)), threshold)

    numbers, variance = np.arange(n + 1)[:, None], found.pairs_variance
    singles = "means", numbers[:n], means, model_means, variance.diagonal()
    doubles = "pairs", np.column_stack(upper), pairs, model_pairs, variance[upper]
    ones = "numbers of ones", numbers, counts, found.counts, found.counts_variance
    gain, error = _gain(bits, sample, model_means) if held_out else (np.nan, np.nan)
    return FitCheck(
        n_rows=n_rows,
        n_samples=found.n_samples,
        means=compare(*singles, np.abs(means - model_means) / spread),
        pairs=compare(*doubles, np.abs(pairs - model_pairs) / pair_spread),
        counts=compare(*ones, variation),
        r_hat=found.r_hat,
        names=model.names or tuple(f"x{i}" for i in range(n)),
        report=report,
        held_out=held_out,
        gain=gain,
        gain_error=error,
        model=model,
    )


def _gain(
    bits: PairwiseModel, sample: DistinctRows, chances: NDArray[np.float64]
) -> tuple[float, float]:
    """Score rows against independent columns with the means of the field; mean and its error."""
    rows, weights, n_rows = sample.rows, sample.weights, sample.total
    smooth = (n_rows * chances + 0.5) / (n_rows + 1)
    alone = rows @ np.log(smooth) + (1.0 - rows) @ np.log1p(-smooth)
    gains = log_pseudo_likelihood(_dense(bits), bits.biases, rows) - alone
    mean = float(weights @ gains)
    return mean, float(np.sqrt(weights @ (gains - mean) ** 2 / n_rows))


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
