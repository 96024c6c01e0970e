"""Section 3.4 of the thesis: rows that choose a setting are neither learnt from nor tested on."""

import numpy as np
import pytest

from papers.chen2013_thesis import classifiers
from papers.chen2013_thesis.classifiers import Split


def test_folds_share_the_rows_out() -> None:
    folds = classifiers.splits("digits")
    assert sum(len(fold.y_test) for fold in folds) == 1797
    assert {len(fold.y) + len(fold.y_test) for fold in folds} == {1797}
    tested = np.vstack([fold.X_test for fold in folds])
    learnt = np.vstack([folds[0].X, folds[0].X_test])
    np.testing.assert_array_equal(np.sort(tested, axis=0), np.sort(learnt, axis=0))


def test_validation_rows_are_training_rows_that_are_not_learnt() -> None:
    rows = np.arange(100.0).reshape(-1, 1)
    split = Split(rows[:80], rows[:80, 0].astype(int), rows[80:], rows[80:, 0].astype(int))
    part = classifiers.validation(split)
    assert len(part.y_test) == 16
    assert sorted([*part.y, *part.y_test]) == list(range(80))
    np.testing.assert_array_equal(part.X[:, 0], part.y)


def test_the_setting_with_the_lowest_error_is_chosen(monkeypatch) -> None:
    grid = [{"max_iter": n} for n in (3, 1, 2)]
    monkeypatch.setitem(classifiers.GRIDS, "vp", grid)
    monkeypatch.setattr(
        classifiers, "error", lambda model, part: {3: 5.0, 1: 2.0, 2: 9.0}[model.max_iter]
    )
    monkeypatch.setattr(classifiers, "choose", classifiers.choose.__wrapped__)
    assert classifiers.choose("digits", "vp") == {"max_iter": 1}


@pytest.mark.parametrize("procedure", ["joint", "one-vs-rest"])
@pytest.mark.parametrize("method", ["vp", "ch", "drbm"])
def test_errors_are_those_of_test_rows(method, procedure) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 3)).astype(np.float32)
    labels = np.array(["a", "b", "c"])[rows.argmax(axis=1)]
    wrong = labels[200:].copy()
    wrong[:50] = "none of them"
    n_hidden = 0 if method == "vp" else 10
    model = classifiers.classifier(method, procedure, n_hidden)
    right = classifiers.error(model, Split(rows[:200], labels[:200], rows[200:], labels[200:]))
    assert right < 15
    found = classifiers.error(model, Split(rows[:200], labels[:200], rows[200:], wrong))
    assert 50 <= found <= 50 + right
