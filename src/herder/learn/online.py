r"""Pseudo-likelihood from a stream of rows.

Each batch has a gradient g of the penalised pseudo-likelihood, and the parameters take a step

.. math:: \theta \leftarrow \theta - \gamma_t \, \mathcal H^{-1} g, \qquad
          \gamma_t = \frac{B a_t}{1 + B a_t}, \qquad
          a_t = \frac{1}{2 n + n^{1/3} t^{2/3}},

for B rows after t rows of n columns, where :math:`\mathcal H` is the Sylvester operator of
`herder.learn.pseudo`, with the covariance of the rows so far and the mean variances of the
sites. One row has curvature along n directions at most, hence 2n; the power of t lets averages of
the parameters converge [polyak1992]_. The result is a weighted average of the parameters: row s
counts like s, which costs a third of the variance once there are many rows, and forgets the start
sooner.

Rows must come in random order. Where they are sorted by kind, the average follows the kinds that
came last. Rows are cut into batches at each call, so that the same rows cut otherwise lead to
other parameters, unless every call but the last has a multiple of the rows of a batch.

Each batch is scored before it is learnt: its log pseudo-likelihood by the current average. The
running mean is weighted as the parameters are. Rows in random order are predicted better than by
independent columns with the shares of all rows; rows sorted by kind are not.
"""

from collections.abc import Sequence
from dataclasses import Field, dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from herder.core.plain import Arrays, Header, read_array, read_number
from herder.core.state import State
from herder.learn.fit import Fit, FitReport
from herder.learn.pseudo import log_pseudo_likelihood, solve_sylvester
from herder.learn.rows import find_duplicate_columns

__all__ = ["OnlineFit"]

#: Weights of the average: row s counts like s to this power.
RECENCY = 1.0

#: Eigenvectors are recomputed when there are this many times as many rows.
GROWTH = 1.2

#: A column is constant if its rarer state has no more than this share of the weight: sums of
#: weights are rounded.
ROUNDING = 1e-9

#: Arrays of a stream that are square; the others have an entry for each column.
SQUARE = ("couplings", "latest_couplings", "pairs", "vectors")

#: What cannot be negative, and what is divided by.
SUMS = ("alpha", "n_seen", "n_steps", "ones", "pairs", "variances", "n_scored")
DIVISORS = ("curvature", "scale", "values")


@dataclass(frozen=True, eq=False)
class Operator:
    """The Sylvester operator of the rows up to some time, in the basis where it is diagonal.

    Parameters
    ----------
    n_seen : float
        Rows it was made from.
    curvature : ndarray of shape (n,)
        Mean variances of the sites.
    scale : ndarray of shape (n,)
        What rows are multiplied by.
    values, vectors : ndarray of shape (n,) and (n, n)
        Of the scaled covariance.
    """

    n_seen: float
    curvature: NDArray[np.float64]
    scale: NDArray[np.float64]
    values: NDArray[np.float64]
    vectors: NDArray[np.float64]

    def divide(self, slope: NDArray[np.float64]) -> NDArray[np.float64]:
        """Solve for the couplings whose image is ``slope``."""
        sums = self.values[:, None] + self.values
        return solve_sylvester(self.scale, sums, self.vectors, slope)


@dataclass(eq=False)
class OnlineFit:
    """Parameters and sums over the rows so far; `learn` changes them.

    Parameters
    ----------
    alpha : float
        Weight of the squared couplings of 0/1 states, each counted twice.
    couplings, biases : ndarray of shape (n, n) and (n,)
        The average to use.
    latest_couplings, latest_biases : ndarray of shape (n, n) and (n,)
        The parameters of the latest step.
    n_seen : float
        Rows so far, or the sum of their weights.
    n_steps : int
        Batches so far.
    ones : ndarray of shape (n,)
        How often each site was on.
    pairs : ndarray of shape (n, n)
        How often two were on together.
    variances : ndarray of shape (n,)
        Sums of p (1 - p) over the rows so far, each at the parameters of its time.
    n_scored : float
        Rows that were scored before they were learnt: all but the first batch.
    score : float
        Running log pseudo-likelihood of such a row.
    operator : Operator or None
        Preconditioner of the steps; None before the first.
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
    n_scored: float = 0.0
    score: float = 0.0
    operator: Operator | None = None

    @classmethod
    def begin(cls, n: int) -> "OnlineFit":
        """Return a stream without rows."""
        square, line = np.zeros((n, n)), np.zeros(n)
        return cls.after(square, line, 0.0, line, square)

    @classmethod
    def after(
        cls,
        couplings: NDArray[np.float64],
        biases: NDArray[np.float64],
        total: float,
        means: NDArray[np.float64],
        pairs: NDArray[np.float64],
    ) -> "OnlineFit":
        """Return a stream that continues a fit to ``total`` rows with these means and pairs."""
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

    @property
    def means(self) -> NDArray[np.float64]:
        """Share of ones of each site; rows of weight zero are none."""
        return self.ones / (self.n_seen or 1.0)

    def to_state(self) -> State:
        """Return arrays, and a header that JSON can hold."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        operator = own.pop("operator")
        if operator is not None:
            for field in fields(operator):
                own[f"operator.{field.name}"] = getattr(operator, field.name)
        arrays = {name: value for name, value in own.items() if isinstance(value, np.ndarray)}
        return arrays, {name: value for name, value in own.items() if name not in arrays}

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Return the stream that `to_state` described."""
        n = len(read_array(arrays, "biases", (None,)))
        own = (field for field in fields(cls) if field.name != "operator")
        stream = cls(**{field.name: _read(field, arrays, header, n) for field in own})
        most = stream.n_seen * (1 + ROUNDING)
        if stream.ones.max(initial=0.0) > most or stream.pairs.max(initial=0.0) > most:
            raise ValueError(f"more ones than {stream.n_seen:g} rows have")
        if "operator.n_seen" in header:
            parts = fields(Operator)
            found = {part.name: _read(part, arrays, header, n, "operator.") for part in parts}
            stream.operator = Operator(**found)
        return stream

    def fit(self) -> Fit:
        """Return the average parameters, without a gradient or an objective."""
        couplings, biases = self.couplings.copy(), self.biases.copy()
        return Fit(couplings, biases, self.n_steps, True, np.nan, np.nan)

    def report(self, alpha: float, names: Sequence[str]) -> FitReport:
        """Return a report on the fit; ``alpha`` is the weight in the rows' own states."""
        least = np.minimum(self.ones, self.n_seen - self.ones)
        constant = least <= ROUNDING * self.n_seen
        n = int((~constant).sum())
        seen = self.n_seen or 1.0  # rows of weight zero are none
        means, shares = self.means, _shares(self.ones, self.n_seen)
        independent = float(means @ np.log(shares) + (1 - means) @ np.log1p(-shares))
        is_scored = self.n_scored > 0
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
            duplicate_columns=find_duplicate_columns(
                means, self.pairs / seen, names, least=ROUNDING
            ),
            held_out=self.score if is_scored else None,
            held_out_independent=independent if is_scored else None,
        )

    def learn(self, codes: NDArray[np.uint8], counts: NDArray[np.float64]) -> None:
        """Take one step by a batch of 0/1 rows, each of some weight."""
        total = float(counts.sum())
        if total == 0:
            return
        rows, n = codes.astype(np.float64), codes.shape[1]
        if self.n_seen > 0:
            self._score(codes, counts, total)
        self.n_seen += total
        self.ones += counts @ rows
        self.pairs += rows.T @ (counts[:, None] * rows)
        means = _shares(self.ones, self.n_seen)
        if self.n_seen == total:  # the first rows of all
            self.latest_biases[:] = np.log(means) - np.log1p(-means)
        chances = expit(rows @ self.latest_couplings + self.latest_biases)
        self.variances += counts @ (chances * (1 - chances))
        residuals = (chances - rows) * (counts / total)[:, None]
        slope = (rows - means).T @ residuals
        slope = slope + slope.T + 4 * self.alpha * self.latest_couplings
        np.fill_diagonal(slope, 0.0)
        rate = total / (2 * n + np.cbrt(n * self.n_seen**2))
        rate /= 1 + rate
        if self.operator is None or self.n_seen >= GROWTH * self.operator.n_seen:
            self.operator = self._make_operator(means)
        change = -rate * self.operator.divide(slope)
        np.fill_diagonal(change, 0.0)
        self.latest_couplings += change
        field_change = -rate * residuals.sum(axis=0) / self.operator.curvature
        self.latest_biases += field_change - change @ means
        self.n_steps += 1
        share = _share(total, self.n_seen)
        self.couplings += share * (self.latest_couplings - self.couplings)
        self.biases += share * (self.latest_biases - self.biases)

    def _score(self, codes: NDArray[np.uint8], counts: NDArray[np.float64], total: float) -> None:
        """Score a batch by the parameters before it."""
        weights = counts / total
        score = float(weights @ log_pseudo_likelihood(self.couplings, self.biases, codes))
        self.n_scored += total
        self.score += _share(total, self.n_scored) * (score - self.score)

    def _make_operator(self, means: NDArray[np.float64]) -> Operator:
        """Return the operator of the rows so far."""
        # one row of a fair coin, so that a column that has not varied yet can be divided by
        prior = 0.25 / (self.n_seen + 1)
        curvature = self.variances / self.n_seen + prior
        ridge = np.sqrt(2 * self.alpha) + prior
        covariance = self.pairs / self.n_seen - np.outer(means, means)
        covariance[np.diag_indices_from(covariance)] = means * (1 - means) + ridge
        scale = 1 / np.sqrt(curvature + ridge)
        values, vectors = np.linalg.eigh(covariance * np.outer(scale, scale))
        return Operator(self.n_seen, curvature, scale, np.maximum(values, prior), vectors)


def _share(total: float, n_rows: float) -> float:
    """Return the share of the latest ``total`` of ``n_rows`` rows in the weighted average."""
    return min(1.0, (RECENCY + 1) * total / (n_rows + RECENCY * total))


def _read(field: Field[Any], arrays: Arrays, header: Header, n: int, prefix: str = "") -> Any:
    """Read a part of a stream of n columns: an array, or a number."""
    name = prefix + field.name
    low = 0.0 if field.name in SUMS else -np.inf
    if field.name in DIVISORS:
        low = float(np.finfo(np.float64).tiny)
    if field.type in (int, float):
        return read_number(header, name, field.type, low=low)
    return read_array(arrays, name, (n, n) if field.name in SQUARE else (n,), low=low)


def _shares(ones: NDArray[np.float64], n_seen: float) -> NDArray[np.float64]:
    """Return the shares of ones, half a row added to either side; neither 0 nor 1."""
    return np.clip((ones + 0.5) / (n_seen + 1), 1e-300, 1 - 2.0**-53)
