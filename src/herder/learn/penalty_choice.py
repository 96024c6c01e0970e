"""Choose the weight of the penalty by rows held back.

For each fold the machine is fitted without it, from the strongest penalty to the weakest, each
fit starting from the one before; the score is the log pseudo-likelihood of the fold, a row on
average. The best mean over folds wins, and the stronger penalty in a tie.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._validation import positive_int, row_weights
from herder.learn.fit import Fit
from herder.learn.pseudo import log_pseudo_likelihood
from herder.learn.rows import Sample, constant_bias, merge_rows

__all__ = ["PenaltyChoice", "choose_alpha", "default_alphas"]

#: Fits of folds stop early: scores move by less than a thousandth part of themselves, far less
#: than from one fold to another.
FOLD_TOL = 1e-4

#: Squares: two to each power of ten.
SQUARES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)

#: Absolute values: shares of the least weight at which all couplings are zero.
ABSOLUTES = (0.3, 0.1, 0.06, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001)


@dataclass(frozen=True, eq=False)
class PenaltyChoice:
    """Scores of all weights on all folds.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Weights of the penalty, the strongest first.
    scores : ndarray of shape (n_alphas, n_folds)
        Log pseudo-likelihood of a held-back row, on average.
    independent : ndarray of shape (n_folds,)
        The same for independent columns.
    """

    alphas: NDArray[np.float64]
    scores: NDArray[np.float64]
    independent: NDArray[np.float64]

    @property
    def best(self) -> int:
        """Position of the best mean score."""
        return int(np.argmax(self.scores.mean(axis=1)))

    @property
    def alpha(self) -> float:
        """The weight with the best mean score."""
        return float(self.alphas[self.best])

    @property
    def is_at_edge(self) -> bool:
        """Whether the best weight is the first or the last, so that a better one may be beyond."""
        return self.best in (0, len(self.alphas) - 1) and len(self.alphas) > 1


def default_alphas(sample: Sample, penalty: str, scale: float) -> NDArray[np.float64]:
    """Give the weights to try; ``scale`` turns them into those of 0/1 couplings."""
    if penalty == "l2":
        return np.array(SQUARES)
    covariance = sample.pairs - np.outer(sample.means, sample.means)
    np.fill_diagonal(covariance, 0.0)
    largest = float(np.abs(covariance).max(initial=0.0)) or 1.0
    return largest / scale * np.array(ABSOLUTES)


def choose_alpha(
    codes: NDArray[np.uint8],
    sample_weight: object,
    fit: Callable[..., Fit],
    *,
    alphas: Sequence[float] | NDArray[np.float64],
    cv: Any = 5,
    random_state: int | np.random.Generator | None = 0,
) -> PenaltyChoice:
    """Score weights of the penalty on rows held back.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n) of 0 and 1
        All rows.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts.
    fit : callable
        ``fit(sample, alpha=, start=, tol=)`` fits rows without constant columns.
    alphas : sequence of float
        The weights to try.
    cv : int or splitter
        Number of folds, of rows in random order, or an object of scikit-learn with ``split``, as
        for rows that follow each other in time.
    random_state : int, Generator or None
        Draws the folds.
    """
    counts = row_weights(sample_weight, len(codes))
    ordered = np.sort(np.asarray(alphas, float))[::-1]
    scores, independent = [], []
    for train, test in _folds(codes, cv, random_state):
        if not counts[train].any() or not counts[test].any():
            raise ValueError("cv must leave rows of some weight on both sides, got a fold without")
        sample = merge_rows(codes[train], counts[train])
        held = merge_rows(codes[test], counts[test])
        varying = sample.varying()
        inner, outer = sample.columns(varying), held.columns(varying)
        # what is constant in the rows of a fit has the same score at all weights
        rest = _independent_score(sample, held, ~varying)
        independent.append(_independent_score(sample, held, varying) + rest)
        start, column = None, []
        for alpha in ordered:
            if not varying.any():
                column.append(rest)
                continue
            found = fit(inner, alpha=float(alpha), start=start, tol=FOLD_TOL)
            start = found.couplings, found.biases
            values = log_pseudo_likelihood(found.couplings, found.biases, outer.rows)
            column.append(float(outer.weights @ values) + rest)
        scores.append(column)
    return PenaltyChoice(ordered, np.array(scores).T, np.array(independent))


def _folds(
    codes: NDArray[np.uint8], cv: Any, random_state: int | np.random.Generator | None
) -> Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    if _is_splitter(cv):
        return cv.split(codes)
    n_folds, n_rows = positive_int(cv, "cv"), len(codes)
    if not 2 <= n_folds <= n_rows:
        raise ValueError(f"cv must be from 2 to the number of rows, {n_rows}, got {cv!r}")
    parts = np.array_split(np.random.default_rng(random_state).permutation(n_rows), n_folds)
    return [(np.setdiff1d(np.arange(n_rows), part), np.sort(part)) for part in parts]


def _is_splitter(cv: Any) -> bool:
    return hasattr(cv, "split") and not isinstance(cv, str)


def _independent_score(sample: Sample, held: Sample, chosen: NDArray[np.bool_]) -> float:
    """Score columns as independent, with the shares of ``sample``, on the rows held back."""
    odds, means = constant_bias(sample)[chosen], held.means[chosen]
    return float(np.sum(means * odds - np.logaddexp(0.0, odds)))
