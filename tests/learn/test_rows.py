import numpy as np
import pytest

from herder.learn.rows import constant_bias, find_duplicate_columns, merge_rows
from tests.naming import refuses

ROWS = np.array([[0, 1, 1], [1, 0, 1], [0, 0, 0], [0, 1, 1]])


@pytest.mark.parametrize("n", [1, 7, 8, 64, 65, 200])
def test_merged_rows_are_the_distinct_rows(n):
    rng = np.random.default_rng(n)
    pool = rng.integers(0, 2, (9, n)).astype(np.uint8)
    rows = pool[rng.integers(0, 9, 300)]
    weights = rng.integers(0, 4, 300).astype(float)
    sample = merge_rows(rows, weights)
    distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
    expected = np.bincount(inverse.ravel(), weights)
    order = np.lexsort(sample.rows.T[::-1])
    np.testing.assert_array_equal(sample.rows[order], distinct[expected > 0])
    shares = expected[expected > 0] / weights.sum()
    np.testing.assert_allclose(sample.weights[order], shares, rtol=1e-12)
    assert sample.total == weights.sum()
    np.testing.assert_allclose(sample.means, weights @ rows / weights.sum())
    pairs = rows.T.astype(float) @ (weights[:, None] * rows) / weights.sum()
    np.testing.assert_allclose(sample.pairs, pairs)


def test_weights_must_leave_a_row():
    with refuses("sample_weight"):
        merge_rows(ROWS.astype(np.uint8), np.zeros(4))
    with refuses("sample_weight"):
        merge_rows(ROWS.astype(np.uint8), [1, 1, -1, 1])


def test_constant_columns_are_found_and_have_finite_odds():
    sample = merge_rows(np.array([[0, 1, 1], [0, 0, 1], [0, 1, 1]], np.uint8))
    np.testing.assert_array_equal(sample.varying(), [False, True, False])
    np.testing.assert_allclose(constant_bias(sample), np.log([0.5 / 3.5, 2.5 / 1.5, 3.5 / 0.5]))
    np.testing.assert_array_equal(sample.columns(sample.varying()).rows.sum(), 1)
    assert sample.columns(np.ones(3, bool)) is sample


@pytest.mark.parametrize("seed", range(5))
def test_twins_are_the_columns_that_are_equal_or_opposite(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (6, 30)).astype(np.uint8)
    rows[:, 7] = 1  # a constant column has no twin
    rows[:, 9] = 0
    weights = rng.random(6) + 0.01
    sample = merge_rows(rows, weights)
    names = [f"x{i}" for i in range(30)]
    found = find_duplicate_columns(
        sample.means, sample.pairs, names, least=sample.weights.min() / 2
    )
    expected = []
    for j in set(range(30)) - {i for i in range(30) if rows[:, i].min() == rows[:, i].max()}:
        for i in range(j):
            if (rows[:, i] == rows[:, j]).all() or (rows[:, i] != rows[:, j]).all():
                how = "equal" if rows[0, i] == rows[0, j] else "opposite"
                expected.append((f"x{i}", f"x{j}", how))
                break
    assert sorted(found) == sorted(expected)
    assert len(found) > 2
