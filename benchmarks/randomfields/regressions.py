r"""Pseudo-likelihood by one logistic regression for each column, with scikit-learn.

With 0/1 rows x, couplings W (row i belongs to column i) and biases b, all methods minimise

.. math:: F(W, b) = -\tfrac1N \sum_n \sum_i \log p(x_{ni} | x_{n,-i})
          + \alpha \sum_{i \ne j} W_{ij}^2 .

Regressions have it apart for each column, so that W need not be symmetric; this is what the
method "pl-node" solves too. The symmetric one has fewer numbers and a higher least F.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

__all__ = ["FORMS", "Fitted", "Regressions", "gradient_share", "objective"]


class Fitted(NamedTuple):
    """Couplings and biases."""

    couplings: NDArray[np.float64]
    biases: NDArray[np.float64]


#: Solvers, and whether they are given sparse rows.
FORMS = {
    "lbfgs": ("lbfgs", False),
    "lbfgs, sparse rows": ("lbfgs", True),
    "newton-cholesky": ("newton-cholesky", False),
    "newton-cholesky, sparse rows": ("newton-cholesky", True),
}


class Regressions:
    """One regression after another on a table, the column that is predicted taken out."""

    def __init__(self, table: NDArray[np.uint8], alpha: float) -> None:
        self.table, self.alpha = table, alpha
        self.dense = table.astype(np.float64)
        self.columns = sparse.csc_array(self.dense)

    def run(self, form: str, tol: float = 1e-4) -> Callable[[], Fitted]:
        """Give a run of all regressions with one solver, at scikit-learn's own tolerance."""
        solver, thin = FORMS[form]
        n_rows, width = self.table.shape
        options: dict[str, Any] = {"C": 1 / (2 * n_rows * self.alpha), "solver": solver}

        def fit() -> Fitted:
            couplings, biases = np.zeros((width, width)), np.zeros(width)
            for i in range(width):
                others = np.delete(np.arange(width), i)
                rows: Any = self.columns[:, others].tocsr() if thin else self.dense[:, others]
                # A regression that stops early is seen in the gap of its objective.
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    found = LogisticRegression(tol=tol, max_iter=1000, **options).fit(
                        rows, self.table[:, i]
                    )
                couplings[i, others] = found.coef_[0]
                biases[i] = found.intercept_[0]
            return Fitted(couplings, biases)

        return fit


def objective(table: NDArray[np.uint8], fitted: Fitted, alpha: float) -> float:
    """Give F of couplings that need not be symmetric."""
    logits = table @ fitted.couplings.T + fitted.biases
    losses = np.logaddexp(0, logits) - table * logits
    return float(losses.sum() / len(table) + alpha * np.square(fitted.couplings).sum())


def gradient_share(
    table: NDArray[np.uint8], fitted: Fitted, alpha: float, *, symmetric: bool
) -> float:
    """Give the norm of the gradient of F, as a share of its norm where columns are independent.

    With ``symmetric`` W_ij and W_ji are one number.
    """
    shares = table.mean(axis=0)
    independent = Fitted(np.zeros_like(fitted.couplings), np.log(shares / (1 - shares)))
    ends = [_gradient(table, at, alpha, symmetric=symmetric) for at in (fitted, independent)]
    return float(np.linalg.norm(ends[0]) / np.linalg.norm(ends[1]))


def _gradient(
    table: NDArray[np.uint8], at: Fitted, alpha: float, *, symmetric: bool
) -> NDArray[np.float64]:
    wrong = (expit(table @ at.couplings.T + at.biases) - table) / len(table)
    couplings = wrong.T @ table + 2 * alpha * at.couplings
    np.fill_diagonal(couplings, 0)
    if symmetric:
        couplings = np.triu(couplings + couplings.T)
    return np.append(couplings.ravel(), wrong.sum(axis=0))
