"""`kernel_herd` against the specification loop and the textbook equation."""

from itertools import islice

import numpy as np
import pytest

from herder import kernel_herd, kernel_mean
from herder.core import herd
from herder.kernel import Energy, Gaussian, KernelMean
from herder.kernel.choice import DOUBLE_TIES
from herder.kernel.system import KernelSystem
from herder.testing import check_system
from tests.kernel.plain import KINDS, default_lengths, gram, sample
from tests.naming import refuses


def specification(X, name, weight=None):
    K = gram(name, X, X, default_lengths(X, name), X.mean(axis=0))
    p = np.full(len(X), 1 / len(X)) if weight is None else weight / weight.sum()
    return KernelSystem(K, K @ p, DOUBLE_TIES * K.diagonal().max())


def retrace(X, name, n_steps, **options):
    """Compare a run with the loop, step for step."""
    found = kernel_herd(X, n_steps, kernel=name, **options)
    system = specification(X, name, options.get("sample_weight"))
    steps = list(islice(herd(system, system.target), n_steps))
    assert found.indices.tolist() == [step.state for step in steps]
    assert found.indices.dtype == np.intp
    np.testing.assert_allclose(found.scores, steps[-1].weights, atol=1e-10, rtol=1e-10)
    return found, system


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("d", [1, 3])
def test_retraces_the_loop(name, d):
    found, _ = retrace(sample(45, d), name, 80)
    assert len(set(found.indices.tolist())) < 80  # rows come again


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("d", [1, 3])
def test_compiled_columns_retrace_the_loop(name, d, compiled):
    retrace(sample(45, d), name, 80)


@pytest.mark.parametrize("name", ["gaussian", "energy"])
def test_weighted_targets_retrace_the_loop(name, compiled):
    weight = np.random.default_rng(0).gamma(0.5, size=40)
    retrace(sample(40, 2), name, 60, sample_weight=weight)


def test_is_the_textbook_equation():
    """Equation 4.20: argmax of mean(x) - sum_t k(x, x_t) / (T + 1)."""
    X = sample(25, 2, seed=3)
    K = gram("gaussian", X, X, 0.8)
    picks = []
    for t in range(30):
        score = K.mean(axis=1) - K[:, picks].sum(axis=1) / (t + 1)
        picks.append(int(score.argmax()))
    assert kernel_herd(X, 30, kernel=Gaussian(0.8)).indices.tolist() == picks


@pytest.mark.parametrize("name", KINDS)
def test_the_loop_keeps_its_laws(name):
    X = sample(30, 2)
    system = specification(X, name)
    check_system(system, system.target, exact=False, n_steps=60)
    # In feature space <w, mean - phi(s)> = E u - u_s, never above zero but for tied scores.
    before = system.target
    for step in islice(herd(system, system.target), 60):
        assert before.mean() - before[step.state] <= system.tie_tol
        before = step.weights


def test_first_picks_do_not_depend_on_the_number():
    X = sample(60, 2)
    assert kernel_herd(X, 40).indices[:9].tolist() == kernel_herd(X, 9).indices.tolist()


@pytest.mark.parametrize("options", [{}, {"kernel": "energy"}, {"kernel": "gaussian"}])
def test_n_then_m_picks_are_n_plus_m(options):
    X = sample(60, 2)
    whole = kernel_herd(X, 37, **options)
    first = kernel_herd(X, 20, **options)
    kept = first.scores.copy()
    second = kernel_herd(X, 17, **options, resume=first)
    assert [*first.indices, *second.indices] == whole.indices.tolist()
    assert second.scores.tobytes() == whole.scores.tobytes()
    np.testing.assert_array_equal(first.scores, kept)


def test_ties_go_to_the_lowest_row():
    grid = np.indices((5, 5)).reshape(2, -1).T.astype(float)
    found = kernel_herd(grid, 30, kernel=Gaussian())
    assert found.indices[0] == 12
    moved = kernel_herd(grid + 0.1, 30, kernel=Gaussian())  # other roundings
    assert moved.indices.tolist() == found.indices.tolist()


def test_a_mean_of_ones_own_is_the_target():
    X = sample(50, 2)
    mean = kernel_mean(X, kernel=Gaussian())
    plain = kernel_herd(X, 20, kernel=Gaussian()).indices.tolist()
    assert kernel_herd(X, 20, kernel=Gaussian(), kernel_mean=mean).indices.tolist() == plain
    function = lambda points: kernel_mean(X, points, kernel=Gaussian())  # noqa: E731
    for target in (function, KernelMean(function)):
        found = kernel_herd(X, 20, kernel=Gaussian(), kernel_mean=target)
        assert found.indices.tolist() == plain


def test_constant_rows_and_one_row():
    assert kernel_herd(np.ones((4, 2)), 3).indices.tolist() == [0, 0, 0]
    assert kernel_herd(np.ones((4, 2)), 3, kernel="energy").indices.tolist() == [0, 0, 0]
    assert kernel_herd([[5.0]], 2).indices.tolist() == [0, 0]


def test_progress_is_told():
    told = []
    kernel_herd(sample(40, 1), 130, progress=lambda share, note: told.append((share, note)))
    assert told[-2:] == [(64 / 130, "herding"), (128 / 130, "herding")]


def test_wrong_arguments_are_told():
    X = sample(20, 2)
    with refuses("n_select"):
        kernel_herd(X, 0)
    with refuses("kernel"):
        kernel_herd(X, 3, kernel="stein")
    with refuses("resume"):
        kernel_herd(X, 3, resume=kernel_herd(X[1:], 3))
    with refuses("resume", TypeError):
        kernel_herd(X, 3, resume=np.zeros(20))  # pyright: ignore[reportArgumentType]
    with refuses("kernel_mean"):
        kernel_herd(X, 3, kernel_mean=[1.0])
    with refuses("kernel_mean", match="got nan in row 2"):
        kernel_herd(X, 3, kernel_mean=np.where(np.arange(20) == 2, np.nan, 1.0))
    with refuses("kernel_mean", TypeError):
        kernel_herd(X, 3, kernel_mean=["a"] * 20)
    with refuses("kernel_mean", match="kernel_mean must be a function of rows, .* KeyError"):
        kernel_herd(X, 3, kernel_mean=lambda rows: {}["x"])


def test_the_input_is_left_alone():
    X = sample(30, 2)
    X.setflags(write=False)
    weight = np.ones(30)
    weight[0] = 3.0
    weight.setflags(write=False)
    kernel_herd(X, 5, sample_weight=weight, kernel=Energy())


def test_a_herding_prints_as_its_summary():
    found = kernel_herd([[0.0], [1.0], [2.0]], 4, kernel=Gaussian())
    assert found.indices.tolist() == [1, 0, 2, 1]
    lines = str(found).splitlines()
    assert lines[0] == "4 picks of 3 rows"
    assert [line.split()[-1] for line in lines[1:]] == ["3", "2"]
