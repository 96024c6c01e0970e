r"""Mixtures of Bernoulli distributions over rows of 0/1, fitted by EM.

.. math:: P(x) = \sum_k \pi_k \prod_j \mu_{kj}^{x_j} (1 - \mu_{kj})^{1 - x_j}.

The E step computes the posterior of the components given each row, the M step averages the rows
under it, as if each component had seen ``prior`` rows more at the mean of all rows. The means
begin at distinct rows, spread evenly over their lexical order and drawn halfway to 1/2: no random
numbers, and neither the order of the rows nor copies of them change where EM begins.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from herder._errors import ParameterError
from herder._validation import positive_int, positive_number, real_array
from herder.core.blas import one_blas_thread

__all__ = ["BernoulliMixture", "fit_bernoulli_mixture"]

#: Means are kept this far from 0 and 1, where a single pixel would decide everything.
MARGIN = 1e-4


@dataclass(frozen=True, eq=False)
class BernoulliMixture:
    """A mixture of Bernoulli distributions; the mathematics is at the top of the module.

    Parameters
    ----------
    shares : ndarray of shape (n_components,)
        Probabilities of the components.
    means : ndarray of shape (n_components, n_columns)
        Probability of a 1 in each column, given the component.
    """

    shares: NDArray[np.float64]
    means: NDArray[np.float64]

    def log_joint(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Return the log probability of each row together with each component.

        Parameters
        ----------
        rows : array-like of shape (n, n_columns)
            Zeros and ones.
        """
        return self._log_joint(_zeros_and_ones(rows, self.means.shape[1]))

    def log_likelihood(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Return the log probability of each row, in nats.

        Parameters
        ----------
        rows : array-like of shape (n, n_columns)
            Zeros and ones.
        """
        return np.asarray(logsumexp(self.log_joint(rows), axis=1))

    def _log_joint(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        on, off = np.log(self.means), np.log1p(-self.means)
        with one_blas_thread():
            return rows @ (on - off).T + (off.sum(axis=1) + np.log(self.shares))


def fit_bernoulli_mixture(
    rows: ArrayLike, n_components: int, *, n_iterations: int = 40, prior: float = 1.0
) -> BernoulliMixture:
    """Fit a mixture of Bernoulli distributions by EM, without random numbers.

    Parameters
    ----------
    rows : array-like of shape (n, n_columns)
        Zeros and ones.
    n_components : int
        Number of components; fewer if there are fewer distinct rows.
    n_iterations : int
        Steps of EM.
    prior : float
        Rows at the overall mean that each component is given beside its own.

    Examples
    --------
    >>> from herder.models.bernoulli import fit_bernoulli_mixture
    >>> mixture = fit_bernoulli_mixture([[0, 0], [1, 1]] * 50, 2)
    >>> mixture.means.round(2).tolist()
    [[0.01, 0.01], [0.99, 0.99]]
    """
    points = _zeros_and_ones(rows)
    n_components = positive_int(n_components, "n_components")
    n_iterations = positive_int(n_iterations, "n_iterations")
    prior = positive_number(prior, "prior")
    distinct = np.unique(np.packbits(points > 0, axis=1), axis=0)
    count = min(n_components, len(distinct))
    begin = distinct[np.arange(count) * len(distinct) // count]
    bits = np.unpackbits(begin, axis=1, count=points.shape[1])
    means = 0.25 + 0.5 * bits.astype(np.float64)
    mixture = BernoulliMixture(np.full(count, 1 / count), means)
    centre = points.mean(axis=0)
    for _ in range(n_iterations):
        scores = mixture._log_joint(points)
        scores -= scores.max(axis=1, keepdims=True)
        posterior = np.exp(scores, out=scores)
        posterior /= posterior.sum(axis=1, keepdims=True)
        sizes = posterior.sum(axis=0) + prior
        with one_blas_thread():
            means = (posterior.T @ points + prior * centre) / sizes[:, None]
        mixture = BernoulliMixture(sizes / sizes.sum(), means.clip(MARGIN, 1 - MARGIN))
    return mixture


def _zeros_and_ones(rows: ArrayLike, width: int | None = None) -> NDArray[np.float64]:
    """Return the rows as numbers, checked."""
    points = real_array(rows, "rows")
    if points.ndim != 2 or not points.size or width not in (None, points.shape[1]):
        columns = "columns" if width is None else f"{width} columns"
        raise ParameterError("rows", f"have rows and {columns}", got=f"shape {points.shape}")
    if not np.isin(points, (0.0, 1.0)).all():
        raise ParameterError("rows", "hold zeros and ones only", got="other numbers")
    return points
