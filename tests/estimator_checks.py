"""Scikit-learn's checks of estimators, shared out between `make test` and `make slow`."""

from collections import Counter
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

#: How many of the other estimators share one round of the checks.
SHARE = 5


def estimator_checks(estimators: list[Any], expected_failures: Any) -> pytest.MarkDecorator:
    """Parametrise over ``estimator`` and ``check``.

    The first estimator passes all checks in `make test`. The others, which are of the same family,
    share them: each passes every fifth, and five in a row pass all. The rest is slow.
    """
    every = parametrize_with_checks(estimators, expected_failed_checks=expected_failures)
    names, pairs = every.args
    seen: Counter[int] = Counter()
    chosen = []
    for pair in pairs:
        values, marks = getattr(pair, "values", pair), getattr(pair, "marks", ())
        turn = next(i for i, estimator in enumerate(estimators) if estimator is values[0])
        seen[turn] += 1
        if turn and (seen[turn] + turn) % SHARE:
            marks = (*marks, pytest.mark.slow)
        chosen.append(pytest.param(*values, marks=marks))
    return pytest.mark.parametrize(names, chosen, ids=every.kwargs["ids"])
