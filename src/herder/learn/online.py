r"""Pseudo-likelihood from rows that come in a stream.

Each batch gives a gradient g of the penalised pseudo-likelihood, and the parameters take a step

.. math:: \theta \leftarrow \theta - \gamma_t \, \mathcal H^{-1} g, \qquad
          \gamma_t = \frac{B a_t}{1 + B a_t}, \qquad
          a_t = \frac{1}{2 n + n^{1/3} t^{2/3}},

for B rows after t rows of n columns, where :math:`\mathcal H` is the Sylvester operator of
`herder.learn.pseudo`, with the covariance of the rows so far and the mean variances of the
sites. One row bends the function along n directions at most, hence 2n; the power of t lets
averages of the parameters settle [polyak1992]_. What is given is an average that forgets the first
rows: row s counts like s, which costs a third of the variance once there are many rows, and is
rid of the beginning sooner.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from herder.learn.fit import Fit, FitReport

__all__ = ["Stream"]

#: The average forgets: row s counts like s to this power.
RECENCY = 1.0

#: Eigenvectors are computed anew when there are this many times as many rows.
GROWTH = 1.2


@dataclass(eq=False)
class Stream:
    """Parameters and sums over the rows so far; `learn` changes them.

    Parameters
    ----------
    alpha : float
        Weight of the squared couplings of 0/1 states, each counted twice.
    couplings, biases : ndarray of shape (n, n) and (n,)
        The average to use.
    latest_couplings, latest_biases : ndarray of shape (n, n) and (n,)
        Where the steps are.
    n_seen : float
        Rows so far, or the sum of their weights.
    n_steps : int
        Batches so far.
    ones : ndarray of shape (n,)
        How often each site was on.
    pairs : ndarray of shape (n, n)
        How often two were on together.
    variances : ndarray of shape (n,)
        Sums of p (1 - p) as the sites were met.
    """

    alpha: float
    couplings: NDArray[np.float64]
    biases: NDArray[np.float64]
    latest_couplings: NDArray[np.float64]
    latest_biases: NDArray[np.float64]
    n_seen: float
    n_steps: int
    ones: NDArray[np.float64]
    pairs: NDArray[np.float64]
    variances: NDArray[np.float64]

    @classmethod
    def begin(cls, n: int) -> "Stream":
        """Begin without rows."""
        square, line = (n, n), n
        return cls(
            alpha=0.0,
            couplings=np.zeros(square),
            biases=np.zeros(line),
            latest_couplings=np.zeros(square),
            latest_biases=np.zeros(line),
            n_seen=0.0,
            n_steps=0,
            ones=np.zeros(line),
            pairs=np.zeros(square),
            variances=np.zeros(line),
        )

    @classmethod
    def after(
        cls,
        couplings: NDArray[np.float64],
        biases: NDArray[np.float64],
        total: float,
        means: NDArray[np.float64],
        pairs: NDArray[np.float64],
    ) -> "Stream":
        """Go on from a fit to ``total`` rows with these means and shares of pairs."""
        return cls(
            alpha=0.0,
            couplings=couplings.copy(),
            biases=biases.copy(),
            latest_couplings=couplings.copy(),
            latest_biases=biases.copy(),
            n_seen=total,
            n_steps=0,
            ones=total * means,
            pairs=total * pairs,
            # more than the couplings leave, so that the first steps are short
            variances=total * means * (1 - means),
        )

    def fit(self) -> Fit:
        """Give the average parameters; there is no gradient to judge them by."""
        nothing = float("nan")
        couplings, biases = self.couplings.copy(), self.biases.copy()
        return Fit(couplings, biases, self.n_steps, True, nothing, nothing)

    def report(self, alpha: float, names: Sequence[str]) -> FitReport:
        """Sum up what was learnt; ``alpha`` is the weight in the rows' own states."""
        n = len(names)
        constant = (self.ones == 0) | (self.ones == self.n_seen)
        return FitReport(
            method="pl, in a stream",
            n_rows=self.n_seen,
            n_distinct=None,
            n_parameters=n * (n + 1) // 2,
            n_couplings=int(np.count_nonzero(self.couplings)) // 2,
            converged=True,
            n_iter=self.n_steps,
            gradient_norm=float("nan"),
            penalty="l2" if alpha else "none",
            alpha=alpha,
            constant=tuple(np.array(names)[constant].tolist()),
        )

    def __post_init__(self) -> None:
        self._known = 0.0

    def learn(self, codes: NDArray[np.uint8], counts: NDArray[np.float64]) -> None:
        """Take one step by a batch of 0/1 rows, each of some weight."""
        total = float(counts.sum())
        if total == 0:
            return
        rows, n = codes.astype(np.float64), codes.shape[1]
        self.n_seen += total
        self.ones += counts @ rows
        self.pairs += rows.T @ (counts[:, None] * rows)
        means = (self.ones + 0.5) / (self.n_seen + 1)
        if self.n_seen == total:  # the first rows of all
            self.latest_biases[:] = np.log(means) - np.log1p(-means)
        chances = expit(rows @ self.latest_couplings + self.latest_biases)
        self.variances += counts @ (chances * (1 - chances))
        residuals = (chances - rows) * (counts / total)[:, None]
        slope = (rows - means).T @ residuals
        slope = slope + slope.T + 4 * self.alpha * self.latest_couplings
        np.fill_diagonal(slope, 0.0)
        rate = total / (2 * n + np.cbrt(n * self.n_seen**2))
        self._step(slope, residuals.sum(axis=0), means, rate / (1 + rate))
        self.n_steps += 1
        share = min(1.0, (RECENCY + 1) * total / (self.n_seen + RECENCY * total))
        self.couplings += share * (self.latest_couplings - self.couplings)
        self.biases += share * (self.latest_biases - self.biases)

    def _step(
        self,
        slope: NDArray[np.float64],
        field_slope: NDArray[np.float64],
        means: NDArray[np.float64],
        rate: float,
    ) -> None:
        if self.n_seen >= GROWTH * self._known:
            self._look(means)
        vectors, scale = self._vectors, self._scale
        inner = vectors.T @ (slope * scale) @ vectors / self._values
        change = -rate * (vectors @ inner @ vectors.T * scale)
        np.fill_diagonal(change, 0.0)
        self.latest_couplings += change
        self.latest_biases += -rate * field_slope / self._curvature - change @ means

    def _look(self, means: NDArray[np.float64]) -> None:
        """Compute the eigenvectors of the operator for the rows so far."""
        self._known = self.n_seen
        # one row of a fair coin, so that a column that has not varied yet can be divided by
        prior = 0.25 / (self.n_seen + 1)
        self._curvature = self.variances / self.n_seen + prior
        ridge = np.sqrt(2 * self.alpha) + prior
        covariance = self.pairs / self.n_seen - np.outer(means, means)
        covariance[np.diag_indices_from(covariance)] = means * (1 - means) + ridge
        scale = 1 / np.sqrt(self._curvature + ridge)
        self._scale = np.outer(scale, scale)
        values, self._vectors = np.linalg.eigh(covariance * self._scale)
        values = np.maximum(values, prior)
        self._values = values[:, None] + values
