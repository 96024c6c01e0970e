"""Choose the weight of the penalty by held-out rows.

For each fold the machine is fitted without it, from the strongest penalty to the weakest, each
fit starting from the one before; the score is the log pseudo-likelihood of the fold, a row on
average. The best mean over all held-out rows wins, so that folds count by their weight; in a tie
it is the stronger penalty.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import generator, positive_int, real_array
from herder.learn.fit import Fit
from herder.learn.pseudo import log_pseudo_likelihood
from herder.learn.rows import DistinctRows, constant_bias, count_rows, merge_rows

__all__ = ["PenaltyChoice", "choose_alpha", "default_alphas"]

#: Fits of folds stop early: scores change by less than a thousandth of themselves, far less than
#: from one fold to another.
FOLD_TOL = 1e-4

#: Squares of 0/1 couplings: two to each power of ten. The first all but removes them, as is best
#: for independent columns.
SQUARES = (1.0, 3e-1, 1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)

#: Absolute values: shares of the least weight at which all couplings are zero.
ABSOLUTES = (1.0, 0.6, 0.3, 0.1, 0.06, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001)


@dataclass(frozen=True, eq=False)
class PenaltyChoice:
    """Scores of all weights on all folds.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Weights of the penalty, the strongest first.
    scores : ndarray of shape (n_alphas, n_folds)
        Log pseudo-likelihood of a held-out row, on average.
    independent : ndarray of shape (n_folds,)
        The same for independent columns.
    weights : ndarray of shape (n_folds,)
        Held-out rows, or the sum of their weights.
    """

    alphas: NDArray[np.float64]
    scores: NDArray[np.float64]
    independent: NDArray[np.float64]
    weights: NDArray[np.float64]

    @property
    def means(self) -> NDArray[np.float64]:
        """Score of each weight, a held-out row on average."""
        return self.scores @ self.weights / self.weights.sum()

    @property
    def best(self) -> int:
        """Position of the best mean score."""
        return int(np.argmax(self.means))

    @property
    def held_out(self) -> float:
        """The best mean score."""
        return float(self.means[self.best])

    @property
    def held_out_independent(self) -> float:
        """The mean score of independent columns."""
        return float(self.independent @ self.weights / self.weights.sum())

    @property
    def alpha(self) -> float:
        """The weight with the best mean score."""
        return float(self.alphas[self.best])


def default_alphas(sample: DistinctRows, penalty: str, scale: float) -> NDArray[np.float64]:
    """Return the weights to try; ``scale`` turns them into those of 0/1 couplings.

    The same machines are tried for 0/1 and for -1/+1 rows.
    """
    if penalty == "l2":
        return np.array(SQUARES) / scale
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
    """Score weights of the penalty on held-out rows.

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
    cv : int, splitter or sequence of (train, test)
        Number of folds, of rows in random order; an object of scikit-learn with ``split``, as
        for rows that follow each other in time; or the numbers of the rows to fit and of the
        held-out ones, one pair a fold.
    random_state : int, Generator or None
        Draws the folds.
    """
    counts = count_rows(sample_weight, len(codes))
    ordered = np.sort(real_array(alphas, "alphas"))[::-1]
    scores, independent, weights = [], [], []
    for train, test in _folds(codes, cv, random_state):
        if not counts[train].any() or not counts[test].any():
            raise ParameterError("cv", "leave rows of some weight on both sides")
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
        weights.append(held.total)
    return PenaltyChoice(ordered, np.array(scores).T, np.array(independent), np.array(weights))


def _folds(
    codes: NDArray[np.uint8], cv: Any, random_state: int | np.random.Generator | None
) -> Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    n_rows, is_text = len(codes), isinstance(cv, str | bytes)  # with such a method
    if hasattr(cv, "split") and not is_text:
        return cv.split(codes)
    if isinstance(cv, list | tuple):
        return _listed_folds(cv, n_rows)
    n_folds = positive_int(cv, "cv")
    if not 2 <= n_folds <= n_rows:
        raise ParameterError("cv", f"be from 2 to the number of rows, {n_rows}", cv)
    parts = np.array_split(generator(random_state).permutation(n_rows), n_folds)
    return [(np.setdiff1d(np.arange(n_rows), part), np.sort(part)) for part in parts]


def _listed_folds(
    cv: Sequence[Any], n_rows: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return folds that are given as pairs of row numbers, checked."""
    rule = "be pairs (train, test) of row numbers"
    if not cv:
        raise ParameterError("cv", rule, got="none")
    found = []
    for k, fold in enumerate(cv):
        if not isinstance(fold, list | tuple) or len(fold) != 2:
            raise ParameterTypeError("cv", rule, got=f"{type(fold).__name__} as fold {k}")
        train, test = (np.asarray(rows) for rows in fold)
        for rows in (train, test):
            if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
                got = f"{rows.ndim} axes of {rows.dtype} in fold {k}"
                raise ParameterTypeError("cv", rule, got=got)
            if rows.size and not 0 <= rows.min() <= rows.max() < n_rows:
                got = f"{rows.min()} to {rows.max()} in fold {k}"
                raise ParameterError("cv", f"name rows from 0 to {n_rows - 1}", got=got)
        found.append((train.astype(np.intp), test.astype(np.intp)))
    return found


def _independent_score(
    sample: DistinctRows, held: DistinctRows, chosen: NDArray[np.bool_]
) -> float:
    """Score columns as independent, with the shares of ``sample``, on the held-out rows."""
    odds, means = constant_bias(sample)[chosen], held.means[chosen]
    return float(np.sum(means * odds - np.logaddexp(0.0, odds)))
