from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from herder.kernel.quadrature import Mode, choose_weighted, optimal_weights, simplex_weights
from tests.kernel.rows import GramRows, Rows, energy, gaussian, squared_mmd
from tests.naming import refuses

MODES = pytest.mark.parametrize("mode", ["simplex", "optimal"])


@MODES
def test_choice_is_near_the_best_of_all_supports(mode):
    weigh = simplex_weights if mode == "simplex" else optimal_weights
    ratios, ranks = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows, p = Rows(rng.normal(size=(8, 2))), rng.dirichlet(np.ones(8))
        target, gram = rows.mean(p), rows.gram(np.arange(8))
        every = []
        for support in combinations(range(8), 3):
            s = list(support)
            w = weigh(gram[np.ix_(s, s)], target[s])
            every.append(squared_mmd(rows, p, s, w))
        reached = squared_mmd(rows, p, *choose_weighted(rows, target, 3, mode, sample_weight=p))
        ratios.append(np.sqrt(reached / min(every)))
        ranks.append(np.sum(np.array(every) < 0.99 * reached))
    assert np.median(ratios) < 1.01
    assert max(ranks) <= 5  # of 56


@given(
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.integers(1, 12),
    st.sampled_from([1e-4, 1.0, 20.0]),
    st.sampled_from([gaussian, energy]),
    st.booleans(),
)
def test_laws_of_the_choice(seed, n, m, spread, kernel, integer):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 2)) * spread
    rows = Rows(values.round() if integer else values, kernel)
    p = rng.dirichlet(np.full(n, 0.5))
    target = rows.mean(p)
    reached = {}
    for mode in ("simplex", "optimal"):
        indices, weights = choose_weighted(rows, target, m, mode, sample_weight=p)
        assert len(indices) == min(m, n)
        assert (np.diff(indices) > 0).all()
        assert np.isfinite(weights).all()
        reached[mode] = squared_mmd(rows, p, indices, weights)
        if mode == "simplex":
            assert (weights >= 0).all()
            assert weights.sum() == pytest.approx(1, abs=1e-12)
            even = squared_mmd(rows, p, indices, np.full(len(indices), 1 / len(indices)))
            slack = 1e-10 * max(1.0, rows.diagonal.max())
            assert reached[mode] <= 1.01 * even + slack


@MODES
def test_choice_beats_herded_rows_with_weights(mode):
    rng = np.random.default_rng(0)
    rows = Rows(rng.normal(size=(400, 2)))
    target, p = rows.mean(), np.full(400, 1 / 400)
    herded, total = [], np.zeros(400)
    for t in range(20):
        scores = target - total / (t + 1)
        scores[herded] = -np.inf
        herded.append(int(np.argmax(scores)))
        total += rows.column(herded[-1])
    weigh = simplex_weights if mode == "simplex" else optimal_weights
    rival = squared_mmd(rows, p, herded, weigh(rows.gram(np.array(herded)), target[herded]))
    indices, weights = choose_weighted(rows, target, 20, mode, sample_weight=p)
    assert squared_mmd(rows, p, indices, weights) < rival / 10


@MODES
def test_choice_repeats_itself_and_leaves_its_arguments_alone(mode):
    rng = np.random.default_rng(0)
    rows, p = Rows(rng.normal(size=(200, 3))), rng.dirichlet(np.ones(200))
    target = rows.mean(p)
    target0, p0 = target.copy(), p.copy()
    first = choose_weighted(rows, target, 15, mode, sample_weight=p)
    second = choose_weighted(rows, target, 15, mode, sample_weight=p)
    for a, b in zip(first, second, strict=True):
        assert_array_equal(a, b)
    assert_array_equal(target, target0)
    assert_array_equal(p, p0)


@MODES
def test_unknown_norm_costs_little(mode):
    rng = np.random.default_rng(1)
    rows, p = Rows(rng.normal(size=(300, 2))), np.full(300, 1 / 300)
    target = rows.mean(p)
    known = squared_mmd(rows, p, *choose_weighted(rows, target, 20, mode, sample_weight=p))
    unknown = squared_mmd(rows, p, *choose_weighted(rows, target, 20, mode))
    assert unknown < 9 * known


@MODES
def test_all_rows_keep_their_own_weights(mode):
    rng = np.random.default_rng(0)
    rows, p = Rows(rng.normal(size=(9, 2))), rng.dirichlet(np.ones(9))
    for n_select in (9, 10, 100):
        indices, weights = choose_weighted(rows, rows.mean(p), n_select, mode, sample_weight=p)
        assert_array_equal(indices, np.arange(9))
        assert_array_equal(weights, p)
    _, weights = choose_weighted(rows, rows.mean(), 9, mode)
    assert_array_equal(weights, np.full(9, 1 / 9))


@MODES
def test_all_rows_with_a_target_from_elsewhere(mode):
    rows = Rows(np.arange(5.0)[:, None])
    target = gaussian(rows.values, np.array([[1.0]]))[:, 0]
    indices, weights = choose_weighted(rows, target, 5, mode)
    assert_array_equal(indices, np.arange(5))
    assert_allclose(weights, [0, 1, 0, 0, 0], atol=1e-9)


@MODES
def test_allowed_and_included_rows(mode):
    rng = np.random.default_rng(0)
    rows, p = Rows(rng.normal(size=(100, 2))), np.full(100, 0.01)
    allowed = np.arange(100) % 2 == 0
    include = np.array([98, 2, 40])
    indices, weights = choose_weighted(
        rows, rows.mean(), 10, mode, sample_weight=p, allowed=allowed, include=include
    )
    assert len(indices) == 10
    assert allowed[indices].all()
    assert np.isin(include, indices).all()
    # A tenth of what ten random rows with equal weights come to, (1 - 1/3) / 10.
    assert squared_mmd(rows, p, indices, weights) < 7e-3
    only, weights = choose_weighted(rows, rows.mean(), 3, mode, allowed=allowed, include=include)
    assert_array_equal(only, [2, 40, 98])
    few, weights = choose_weighted(rows, rows.mean(), 60, mode, allowed=allowed)
    assert_array_equal(few, np.flatnonzero(allowed))
    oracle = simplex_weights if mode == "simplex" else optimal_weights
    assert_allclose(weights, oracle(rows.gram(few), rows.mean()[few]))


@MODES
def test_constant_rows_and_one_row(mode):
    rows = Rows(np.full((50, 3), 7.0))
    indices, weights = choose_weighted(rows, rows.mean(), 4, mode)
    assert len(np.unique(indices)) == 4
    assert_allclose(weights.sum(), 1, atol=1e-9)
    assert_allclose(weights, 0.25, rtol=0.2)
    one = Rows([[3.0]])
    assert choose_weighted(one, one.mean(), 5, mode)[1].tolist() == [1.0]
    assert choose_weighted(rows, rows.mean(), 1, mode)[1] == pytest.approx([1.0])


@MODES
@pytest.mark.parametrize("n_select", [3, 9])
def test_a_kernel_of_zeros(mode, n_select):
    # All rows at the origin of the energy kernel: any weights do.
    rows = Rows(np.zeros((9, 2)), energy)
    indices, weights = choose_weighted(rows, rows.mean(), n_select, mode)
    assert len(np.unique(indices)) == n_select
    assert_allclose(weights, 1 / n_select)


@MODES
def test_target_out_of_reach(mode):
    # The only rows allowed are too far away to see the target.
    rows = Rows(np.append(np.zeros(50), np.arange(100.0, 110.0))[:, None])
    p = np.append(np.full(50, 0.02), np.zeros(10))
    indices, weights = choose_weighted(
        rows, rows.mean(p), 4, mode, sample_weight=p, allowed=np.arange(60) >= 50
    )
    assert (indices >= 50).all()
    assert np.isfinite(weights).all()
    assert squared_mmd(rows, p, indices, weights) <= (1 if mode == "optimal" else 1.3)


@MODES
def test_duplicates_are_met_once_before_twice(mode):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(10, 2))
    p = np.full(100, 0.01)
    rows = Rows(np.repeat(values, 10, axis=0))
    indices, weights = choose_weighted(rows, rows.mean(), 10, mode, sample_weight=p)
    assert len(np.unique(indices // 10)) == 10
    assert_allclose(weights, 0.1, atol=1e-6)
    more, weights = choose_weighted(rows, rows.mean(), 15, mode, sample_weight=p)
    assert len(more) == 15
    assert squared_mmd(rows, p, more, weights) < 1e-12


@MODES
@pytest.mark.parametrize("spread", [1e-8, 1e-3, 1e3])
def test_extreme_bandwidths(mode, spread):
    rng = np.random.default_rng(0)
    rows, p = Rows(rng.normal(size=(120, 2)) * spread), np.full(120, 1 / 120)
    indices, weights = choose_weighted(rows, rows.mean(), 12, mode, sample_weight=p)
    assert len(np.unique(indices)) == 12
    assert np.abs(weights).sum() < 20
    # No two rows meet at the largest spread: 1/m - 1/n is what any twelve reach.
    bound = 1 / 12 - 1 / 120 + 1e-9 if spread > 1 else 1e-12
    assert squared_mmd(rows, p, indices, weights) <= bound


@MODES
def test_zero_target(mode):
    # A Gram matrix as of a Stein kernel: the mean is zero, the diagonal is not constant.
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 1))
    k = gaussian(x, x)
    shift = x - x.T
    stein = k * (x * x.T - shift**2 + 1 - shift**2)  # score -x, base kernel k
    assert np.linalg.eigvalsh(stein)[0] > -1e-8
    rows = GramRows(stein)
    indices, weights = choose_weighted(rows, np.zeros(200), 10, mode)
    assert weights.sum() == pytest.approx(1)
    reached = weights @ rows.gram(indices) @ weights
    weigh = simplex_weights if mode == "simplex" else optimal_weights
    for _ in range(200):
        others = rng.choice(200, 10, replace=False)
        w = weigh(rows.gram(others), np.zeros(10))
        assert reached < w @ rows.gram(others) @ w
    if mode == "simplex":
        assert (weights >= 0).all()


@MODES
def test_weights_of_rows_count(mode):
    rng = np.random.default_rng(0)
    rows = Rows(rng.normal(size=(150, 2)))
    p = np.where(rows.values[:, 0] > 0, 1.0, 0.0)
    p /= p.sum()
    indices, weights = choose_weighted(rows, rows.mean(p), 12, mode, sample_weight=p)
    assert squared_mmd(rows, p, indices, weights) < 1e-4
    assert weights @ rows.values[indices, 0] == pytest.approx(p @ rows.values[:, 0], abs=0.02)


def test_a_better_rival_is_taken():
    rng = np.random.default_rng(0)
    rows, p = Rows(rng.normal(size=(60, 2))), rng.dirichlet(np.ones(60))
    target = rows.mean(p)
    chosen = choose_weighted(rows, target, 4, "simplex", sample_weight=p)
    same = choose_weighted(rows, target, 4, "simplex", sample_weight=p, rival=np.arange(4))
    assert_array_equal(same[0], chosen[0])
    # The target is the mean of four rows: they cannot be beaten.
    few = np.zeros(60)
    few[[10, 20, 30, 40]] = 0.25
    rival = np.array([40, 10, 30, 20])
    indices, weights = choose_weighted(
        rows, rows.mean(few), 4, "simplex", sample_weight=few, rival=rival
    )
    assert_array_equal(indices, np.sort(rival))
    assert_allclose(weights, 0.25, atol=1e-6)


def test_progress_is_told():
    heard = []
    rows = Rows(np.random.default_rng(0).normal(size=(80, 2)))
    choose_weighted(rows, rows.mean(), 8, "simplex", progress=lambda f, note: heard.append(f))
    assert heard
    assert heard == sorted(heard)
    assert 0 < heard[0] <= heard[-1] <= 1


def test_refused_choices():
    rows = Rows(np.arange(6.0)[:, None])
    target = rows.mean()
    with refuses("mode"):
        choose_weighted(rows, target, 2, "best")  # pyright: ignore[reportArgumentType]
    with refuses("n_select"):
        choose_weighted(rows, target, 0, "simplex")
    with refuses("allowed"):
        choose_weighted(rows, target, 2, "simplex", allowed=np.zeros(6, bool))
    with refuses("include"):
        choose_weighted(
            rows, target, 2, "simplex", allowed=np.arange(6) != 3, include=np.array([1, 3])
        )
    with refuses("include"):
        choose_weighted(rows, target, 2, "simplex", include=np.array([1, 2, 3]))


def test_a_kernel_that_is_none_is_refused():
    with refuses("kernel"):
        choose_weighted(GramRows(np.eye(6) - 1), np.full(6, -0.5), 3, "optimal")
    with refuses("kernel"):
        choose_weighted(GramRows(np.full((6, 6), np.nan)), np.ones(6), 3, "optimal")


def mixture(n, d, seed):
    """A cloud of 30 clumps, in units of its median distance."""
    rng = np.random.default_rng(seed)
    centres, sizes = rng.normal(size=(30, d)) * 3, rng.uniform(0.3, 1.2, size=30)
    clump = rng.integers(30, size=n)
    values = centres[clump] + rng.normal(size=(n, d)) * sizes[clump, None]
    pairs = rng.integers(n, size=(2, 4000))
    return values / np.median(np.sqrt(((values[pairs[0]] - values[pairs[1]]) ** 2).sum(-1)))


@pytest.mark.slow
@pytest.mark.parametrize(("d", "least"), [(2, 1000.0), (5, 80.0), (20, 6.0)])
def test_gain_over_random_subsets(d, least):
    n, m = 10_000, 200
    modes: tuple[Mode, ...] = ("simplex", "optimal")
    gains: dict[Mode, list[float]] = {mode: [] for mode in modes}
    for seed in range(2):
        values = mixture(n, d, seed)
        rows, p = Rows(values), np.full(n, 1 / n)
        target = np.concatenate([gaussian(part, values) @ p for part in np.split(values, 50)])
        random = (1 - p @ target) * (n - m) / (m * (n - 1))
        for mode in modes:
            indices, weights = choose_weighted(rows, target, m, mode, sample_weight=p)
            gram, aim = rows.gram(indices), target[indices]
            reached = p @ target + weights @ gram @ weights - 2 * weights @ aim
            gains[mode].append(float(np.sqrt(random / max(reached, 1e-15))))
    for mode in modes:
        assert np.mean(gains[mode]) > least
