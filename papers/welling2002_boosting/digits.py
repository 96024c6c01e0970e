"""A boosted field of each digit, and what their energies classify."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from herder import BoostedField
from papers.welling2002_boosting import data
from papers.welling2002_boosting.data import Split

__all__ = ["errors_by_round", "fit_fields", "on_energies"]

#: Inverse penalty of the regression on standardised energies, as in `BoostedClassifier`.
STRENGTH = 100.0


@cache
def fit_fields(k: int, weighted: bool, n_rounds: int, quick: bool) -> list[BoostedField]:
    """Fit a field to each digit of split k."""
    *_, split = data.splits(k + 1, quick=quick)
    return [
        BoostedField(
            n_rounds=n_rounds,
            weighted=weighted,
            max_components=0,
            chain="block",
            n_iter_no_change=n_rounds,
            random_state=data.SEED + k,
        ).fit(split.X[split.y == digit])
        for digit in (0, 1)
    ]


def on_energies(learnt: ArrayLike, tested: ArrayLike, split: Split) -> tuple[float, float]:
    """Return the training and the test error, in per cent, of a regression on energies.

    Their columns are models, one of each digit.
    """
    # the optimum is that of `BoostedClassifier`; with two columns this solver is the fastest
    regression = LogisticRegression(C=STRENGTH, solver="newton-cholesky")
    model: Any = make_pipeline(StandardScaler(), regression)
    model.fit(learnt, split.y)
    return 100 * (1 - model.score(learnt, split.y)), 100 * (1 - model.score(tested, split.y_test))


def errors_by_round(
    fields: list[BoostedField], split: Split, rounds: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return training and test errors, in per cent, in a row each, after some rounds.

    Of a field that stopped, the last energies count in all further rounds.
    """
    stages = [
        np.stack([_staged(field, rows, rounds) for field in fields], axis=-1)
        for rows in (split.X, split.X_test)
    ]
    found = [on_energies(a, b, split) for a, b in zip(*stages, strict=True)]
    return np.array(found).T


def _staged(
    field: BoostedField, rows: NDArray[Any], rounds: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the energies of rows after some rounds, in a row for each of these."""
    stages = np.array(list(field.staged_energy(rows)))
    return stages[np.minimum(rounds, len(stages)) - 1]
