"""Greedy choice and exchange: compiled against NumPy, and both against trying all subsets."""

from itertools import combinations

import numpy as np
import pytest

from herder.kernel import Energy, Gaussian, choice
from herder.kernel.candidates import ArrayCandidates, PairCandidates, candidates_of
from herder.kernel.choice import Rules, _Plain, choose, pick_first
from tests.kernel.plain import KINDS, gram, sample, squared_mmd

NONE = np.empty(0, dtype=np.intp)


def rules(unique=True, include=(), exclude=(), sweeps=5):
    return Rules(unique, np.array(include, np.intp), np.array(exclude, np.intp), sweeps)


def both(X, name, bandwidth=1.5):
    kernel = KINDS[name](bandwidth)
    if isinstance(kernel, Energy):
        kernel = Energy(bandwidth, centre=X.mean(axis=0))
    return PairCandidates(X, kernel), ArrayCandidates(X, kernel)


CASES = [
    rules(),
    rules(sweeps=0),
    rules(unique=False),
    rules(include=[7, 3], exclude=[0, 1, 50]),
    rules(unique=False, include=[7], sweeps=2),
]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_compiled_steps_retrace_those_of_numpy(name, case, double):
    X = sample(53, 2, seed=case)
    fast, plain = both(X, name)
    target = plain.mean()
    found = choose(fast, target, 13, CASES[case])
    assert found.tolist() == choose(plain, target, 13, CASES[case]).tolist()
    assert found.dtype == np.intp


def test_more_rows_than_a_stride_and_than_a_tile(double):
    X = sample(530, 1)
    fast, plain = both(X, "gaussian", 0.5)
    found = choose(fast, plain.mean(), 70, rules(sweeps=1))
    assert found.tolist() == choose(plain, plain.mean(), 70, rules(sweeps=1)).tolist()


@pytest.mark.parametrize("name", KINDS)
def test_single_precision_chooses_as_well(name, compiled):
    X = sample(120, 3)
    fast, plain = both(X, name)
    K, target = plain.gram(np.arange(120)), plain.mean()
    assert fast.chooser.dtype == np.float32
    found = choose(fast, fast.mean(precision="single"), 15, rules())
    best = choose(plain, target, 15, rules())
    assert squared_mmd(K, found) <= squared_mmd(K, best) + 1e-6 * np.abs(K).max()


@pytest.mark.parametrize("unique", [True, False])
def test_every_exchange_lowers_the_exact_mmd(unique):
    for seed in range(4):
        X = sample(60, 2, seed)
        K = gram("gaussian", X, X, 1.0)
        chosen = np.random.default_rng(seed).choice(60, 12, replace=False).astype(np.intp)
        steps = _Plain(ArrayCandidates(X, Gaussian()), K.mean(axis=1), chosen, unique)
        before, n_changed = squared_mmd(K, chosen), 0
        for t in [*range(12)] * 3:
            changed = steps.exchange(t, t + 1)
            after = squared_mmd(K, chosen)
            assert after < before if changed else after == before
            n_changed += changed
            before = after
        assert n_changed > 5


def test_sweeps_never_make_it_worse(compiled):
    X = sample(150, 2)
    K = gram("gaussian", X, X, 1.0)
    candidates = candidates_of(X, Gaussian())
    target, none = K.mean(axis=1), np.zeros(150)  # without weights no other start is tried
    values = [
        squared_mmd(K, choose(candidates, target, 20, rules(sweeps=sweeps), mass=none))
        for sweeps in range(6)
    ]
    assert (np.diff(values) <= 1e-9).all()
    assert values[-1] < 0.7 * values[0]


def test_a_finished_choice_is_a_local_optimum():
    X = sample(40, 2)
    K = gram("gaussian", X, X, 1.0)
    chosen = choose(ArrayCandidates(X, Gaussian()), K.mean(axis=1), 6, rules(sweeps=50))
    best = squared_mmd(K, chosen)
    for t in range(6):
        for row in set(range(40)) - set(chosen.tolist()):
            other = chosen.copy()
            other[t] = row
            assert squared_mmd(K, other) >= best - 1e-8


@pytest.mark.parametrize("name", ["gaussian", "energy", "laplace"])
def test_exchange_comes_near_the_best_of_all_subsets(name):
    ratios = []
    for seed in range(25):
        X = np.random.default_rng(seed).normal(size=(9, 2))
        _, plain = both(X, name, 1.0)
        K, target = plain.gram(np.arange(9)), plain.mean()
        greedy = squared_mmd(K, choose(plain, target, 3, rules(sweeps=0)))
        found = squared_mmd(K, choose(plain, target, 3, rules(sweeps=50)))
        best = min(squared_mmd(K, list(rows)) for rows in combinations(range(9), 3))
        assert best - 1e-12 <= found <= greedy + 1e-12
        ratios.append(np.sqrt(found / best))
    assert np.mean(ratios) < 1.1
    assert max(ratios) < 1.6


def test_greedy_steps_are_the_best_single_additions():
    """With a diagonal that differs from row to row."""
    X = sample(30, 2)
    kernel = Energy(centre=X.mean(axis=0))
    K = kernel(X, X)
    found = choose(ArrayCandidates(X, kernel), K.mean(axis=1), 8, rules(sweeps=0)).tolist()
    for t in range(8):
        values = {
            row: squared_mmd(K, [*found[:t], row]) for row in range(30) if row not in found[:t]
        }
        assert values[found[t]] == pytest.approx(min(values.values()), abs=1e-8)


@pytest.mark.parametrize("path", ["numpy", "compiled"])
def test_rules_are_kept(path, request):
    if path == "compiled":
        request.getfixturevalue("compiled")
    X = sample(40, 2)
    candidates = candidates_of(X, Gaussian())
    target = candidates.mean()
    found = choose(candidates, target, 20, rules(include=[39, 0, 11], exclude=range(12, 30)))
    assert found[:3].tolist() == [39, 0, 11]
    assert len(set(found.tolist())) == 20
    assert not set(found.tolist()) & set(range(12, 30))
    # As many as are left: all of them.
    found = choose(candidates, target, 22, rules(exclude=range(12, 30)))
    assert sorted(found.tolist()) == [*range(12), *range(30, 40)]


@pytest.mark.parametrize("path", ["numpy", "compiled"])
def test_orders_without_exchange_are_nested(path, request):
    if path == "compiled":
        request.getfixturevalue("compiled")
    candidates = candidates_of(sample(80, 2), Gaussian())
    target = candidates.mean()
    long = choose(candidates, target, 70, rules(sweeps=0)).tolist()
    for m in (1, 7, 64, 65):
        assert choose(candidates, target, m, rules(sweeps=0)).tolist() == long[:m]


@pytest.mark.parametrize("path", ["numpy", "double"])
@pytest.mark.parametrize("unique", [True, False])
def test_large_samples_begin_in_a_pool(path, unique, request, monkeypatch):
    if path == "double":
        request.getfixturevalue("double")
    X = sample(150, 2)
    candidates = candidates_of(X, Gaussian())
    K, target = gram("gaussian", X, X), candidates.mean()
    plain = choose(candidates, target, 10, rules(unique=unique, sweeps=20))
    monkeypatch.setattr(choice, "POOL_ROWS", 20)
    monkeypatch.setattr(choice, "POOL_PER_ROW", 2)
    pooled = choose(candidates, target, 10, rules(unique=unique, sweeps=20))
    assert squared_mmd(K, pooled) < 1.5 * squared_mmd(K, plain)
    few = choose(
        candidates, target, 10, rules(unique=unique, include=[149, 139], exclude=range(138))
    )
    assert few[:2].tolist() == [149, 139]
    assert few.min() >= 138
    assert len(set(few.tolist())) == 10 or not unique


def test_sweeps_that_pay_are_taken_by_default():
    X = sample(80, 2)
    candidates = candidates_of(X, Gaussian())
    free = choose(candidates, candidates.mean(), 10, Rules(True, NONE, NONE, None))
    many = choose(candidates, candidates.mean(), 10, rules(sweeps=20))
    assert free.tolist() == many.tolist()


def test_ties_go_to_the_lowest_row():
    assert pick_first(np.array([0.0, 1.0, 1.0 + 1e-12]), 1e-9) == 1
    assert pick_first(np.array([0.0, 1.0, 1.0 + 1e-6]), 1e-9) == 2
    assert pick_first(np.array([-np.inf, -np.inf, 3.0]), 1e-9) == 2


def test_symmetric_grids_are_chosen_alike_by_both(double):
    grid = np.indices((9, 9)).reshape(2, -1).T.astype(float)
    fast, plain = both(grid, "gaussian", 2.0)
    target = plain.mean()
    assert (
        choose(fast, target, 20, rules()).tolist() == choose(plain, target, 20, rules()).tolist()
    )


def test_progress_is_told():
    told = []
    candidates = candidates_of(sample(100, 1), Gaussian())
    choose(
        candidates,
        candidates.mean(),
        70,
        rules(sweeps=1),
        progress=lambda share, note: told.append((round(share, 3), note)),
    )
    assert told == [
        (0.914, "herding"),
        (1.0, "herding"),
        (0.914, "exchange, sweep 1"),
        (1.0, "exchange, sweep 1"),
    ]


def test_a_rough_start_helps_a_smooth_kernel():
    """Three clusters, narrow beside the bandwidth: exchanges alone stop at a poor set."""
    centres = np.repeat([[-2.0, 0.0], [1.5, 1.5], [1.5, -1.8]], 100, axis=0)
    X = centres + 0.5 * np.random.default_rng(0).normal(size=(300, 2))
    candidates = ArrayCandidates(X, Gaussian(3.0))
    target, K = candidates.mean(), Gaussian(3.0)(X, X)
    alone = choose(candidates, target, 30, rules(sweeps=20), mass=np.zeros(300))
    begun = choose(candidates, target, 30, rules(sweeps=20), mass=np.full(300, 1 / 300))
    assert squared_mmd(K, begun) < 0.5 * squared_mmd(K, alone)
    given = choose(candidates, target, 30, rules(sweeps=20))  # weights that are not known
    np.testing.assert_array_equal(given, begun)
