from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from herder.learn._pseudo_jit import log_one_plus, power
from herder.learn.design import Design
from herder.learn.lasso import minimise_l1
from herder.learn.newton import minimise
from herder.learn.pseudo import Nodewise, Symmetric, fit_pl, log_pseudo_likelihood, symmetrise
from herder.learn.rows import DistinctRows, merge_rows
from tests.learn.plain import all_states, draw, gradient, objective, probabilities, random_machine

fit_nodes = partial(fit_pl, nodewise=True)


def drawn_sample(n=5, n_rows=400, seed=0):
    return merge_rows(draw(*random_machine(n, seed), n_rows, seed))


def whole_distribution(couplings, biases):
    """All states with their probabilities, as a sample of infinitely many rows."""
    n = len(biases)
    table = probabilities(couplings, biases)
    return DistinctRows(all_states(n).astype(np.uint8), table, 1.0)


def test_powers_and_logarithms_are_exact_to_rounding():
    y = np.concatenate([-np.linspace(0, 1000, 20_001), [-1021.9, -0.5, -1.5, -1e-9]])
    found = np.array([power(value) for value in y])
    np.testing.assert_allclose(found, np.exp2(y), rtol=1e-15)
    e = np.concatenate([np.linspace(0, 1, 10_001), [1e-300, 1e-17, 1e-8]])
    found = np.array([log_one_plus(value) for value in e])
    np.testing.assert_allclose(found, np.log1p(e), rtol=1e-15)


@pytest.mark.parametrize("flip", [False, True])
def test_losses_are_those_of_the_definition(flip):
    sample = drawn_sample()
    if flip:
        sample = DistinctRows(1 - sample.rows, sample.weights, sample.total)
    couplings, biases = random_machine(5, 7)
    design = Design.of(sample)
    losses, _ = design.losses(design.enter(couplings, biases))
    expected = objective(couplings, biases, sample.rows, sample.weights, 0.0)
    assert losses.sum() == pytest.approx(expected, rel=1e-13)
    back = design.leave(design.enter(couplings, biases))
    np.testing.assert_allclose(back[0], couplings, atol=1e-14)
    np.testing.assert_allclose(back[1], biases, atol=1e-14)


def test_blocks_of_columns_change_nothing(monkeypatch):
    rows = np.random.default_rng(3).integers(0, 2, (60, 11)).astype(np.uint8)
    sample = merge_rows(rows)
    theta = np.random.default_rng(4).normal(size=(12, 11))
    theta[:-1][np.diag_indices(11)] = 0
    whole = Design.of(sample)
    losses, sums = whole.losses(theta)
    bent = whole.bend(theta)
    monkeypatch.setattr("herder.learn.design.WIDTH", 4)
    cut = Design.of(sample)
    assert [part.shape[1] for part in cut.curvatures] == [4, 4, 3]
    for a, b in zip(cut.losses(theta), (losses, sums), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-14)
    np.testing.assert_allclose(cut.bend(theta), bent, atol=1e-14)


@pytest.mark.parametrize("alpha", [0.0, 0.03])
def test_gradient_is_that_of_finite_differences(alpha):
    sample = drawn_sample()
    design = Design.of(sample)
    couplings, biases = random_machine(5, 9)
    problem = Symmetric(design, alpha)
    theta = design.enter(couplings, biases)
    _, slopes = problem.evaluate(theta)
    step = 1e-5

    def value(at):
        inner, outer = design.leave(at)
        return objective(inner, outer, sample.rows, sample.weights, alpha)

    for i, j in [(0, 1), (2, 4), (1, 3)]:
        move = np.zeros_like(theta)
        move[i, j] = move[j, i] = step
        numeric = (value(theta + move) - value(theta - move)) / (2 * step)
        assert slopes[i, j] == pytest.approx(numeric, abs=1e-8)
    for i in range(5):
        move = np.zeros_like(theta)
        move[-1, i] = step
        numeric = (value(theta + move) - value(theta - move)) / (2 * step)
        assert slopes[-1, i] == pytest.approx(numeric, abs=1e-8)
    assert np.all(np.diag(slopes[:-1]) == 0)


@pytest.mark.parametrize("kind", [Symmetric, Nodewise])
def test_hessian_is_the_change_of_the_gradient(kind):
    sample = drawn_sample()
    design = Design.of(sample)
    problem = kind(design, 0.02)
    theta = design.enter(*random_machine(5, 9))
    direction = design.enter(*random_machine(5, 11))
    step = 1e-5
    above, below = (
        problem.evaluate(theta + step * direction)[1],
        problem.evaluate(theta - step * direction)[1],
    )
    problem.evaluate(theta)
    # curvatures are kept in single precision: 1e-7 of values near 1
    np.testing.assert_allclose(problem.bend(direction), (above - below) / (2 * step), atol=2e-7)


@pytest.mark.parametrize("kind", [Symmetric, Nodewise])
def test_norm_of_the_gradient_is_that_of_couplings_and_biases(kind):
    sample = drawn_sample()
    design = Design.of(sample)
    couplings, biases = random_machine(5, 9)
    problem = kind(design, 0.0)
    found = np.sum(problem.squares(problem.evaluate(design.enter(couplings, biases))[1]))
    by_coupling, by_bias = gradient(couplings, biases, sample.rows, sample.weights)
    if kind is Symmetric:
        by_coupling = np.triu(by_coupling + by_coupling.T)
    assert found == pytest.approx(np.sum(by_coupling**2) + np.sum(by_bias**2), rel=1e-12)
    start = np.sum(problem.squares(problem.evaluate(design.start())[1]))
    assert np.sqrt(start) == pytest.approx(problem.scale, rel=1e-12)


@pytest.mark.parametrize("kind", [Symmetric, Nodewise])
def test_preconditioner_inverts_the_hessian_of_uncoupled_columns(kind):
    # independent columns: the Hessian at independent sites is the operator itself
    means = np.array([0.2, 0.35, 0.5, 0.1])
    odds = np.log(means / (1 - means))
    sample = whole_distribution(np.zeros((4, 4)), odds)
    design = Design.of(sample)
    problem = kind(design, 0.0)
    problem.evaluate(design.start())
    problem.prepare()
    theta = np.random.default_rng(0).normal(size=(5, 4))
    theta[:-1] += theta[:-1].T
    np.fill_diagonal(theta[:-1], 0.0)
    np.testing.assert_allclose(problem.precondition(problem.bend(theta)), theta, atol=1e-5)


def test_true_parameters_have_no_gradient():
    couplings, biases = random_machine(6, 1)
    sample = whole_distribution(couplings, biases)
    design = Design.of(sample)
    for kind in (Symmetric, Nodewise):
        _, slopes = kind(design, 0.0).evaluate(design.enter(couplings, biases))
        np.testing.assert_allclose(slopes, 0.0, atol=1e-15)


@pytest.mark.parametrize("fit", [fit_pl, fit_nodes])
def test_the_whole_distribution_gives_its_machine_back(fit):
    couplings, biases = random_machine(6, 1)
    found = fit(whole_distribution(couplings, biases), alpha=0.0, tol=1e-11)
    assert found.converged
    np.testing.assert_allclose(found.couplings, couplings, atol=1e-8)
    np.testing.assert_allclose(found.biases, biases, atol=1e-8)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("fit", [fit_pl, fit_nodes])
def test_nothing_near_the_minimum_is_better(fit, penalty):
    sample = drawn_sample()
    found = fit(sample, alpha=0.01, penalty=penalty)
    given = sample.rows, sample.weights, 0.01, penalty
    assert found.objective == pytest.approx(
        objective(found.couplings, found.biases, *given), rel=1e-12
    )
    rng = np.random.default_rng(0)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(20):
            move = rng.normal(size=(5, 5)) * size
            if fit is fit_pl:
                move = move + move.T
            np.fill_diagonal(move, 0.0)
            shift = rng.normal(size=5) * size
            other = objective(found.couplings + move, found.biases + shift, *given)
            assert other > found.objective


@pytest.mark.parametrize("alpha", [1e-2, 1e-4])
def test_nodes_are_the_logistic_regressions_of_scikit_learn(alpha):
    rows = draw(*random_machine(6, 2), 1000, 2)
    found = fit_nodes(merge_rows(rows), alpha=alpha, tol=1e-9)
    for i in range(6):
        others = np.delete(np.arange(6), i)
        model = LogisticRegression(
            C=1 / (2 * len(rows) * alpha), solver="newton-cholesky", tol=1e-12
        ).fit(rows[:, others].astype(float), rows[:, i])
        np.testing.assert_allclose(found.couplings[i, others], model.coef_[0], atol=1e-6)
        assert found.biases[i] == pytest.approx(model.intercept_[0], abs=1e-6)


def test_averaged_nodes_keep_the_fields_at_the_mean():
    sample = drawn_sample(n_rows=60)
    nodes = fit_nodes(sample)
    found = symmetrise(nodes, sample)
    np.testing.assert_array_equal(found.couplings, found.couplings.T)
    np.testing.assert_allclose(found.couplings, (nodes.couplings + nodes.couplings.T) / 2)
    means = sample.weights @ sample.rows
    np.testing.assert_allclose(
        found.biases + found.couplings @ means, nodes.biases + nodes.couplings @ means
    )


def test_gradient_falls_by_a_millionth_on_digits():
    from herder import datasets

    sample = merge_rows(datasets.load_digits_binary().X.astype(np.uint8))
    sample = sample.columns(sample.varying())
    for fit in (fit_pl, fit_nodes):
        found = fit(sample, alpha=1e-4)
        by_coupling, by_bias = gradient(found.couplings, found.biases, sample.rows, sample.weights)
        first, _ = gradient(
            np.zeros_like(found.couplings),
            np.log(sample.means / (1 - sample.means)),
            sample.rows,
            sample.weights,
        )
        by_coupling += 2 * 1e-4 * found.couplings
        if fit is fit_pl:
            by_coupling, first = by_coupling + by_coupling.T, first + first.T
            by_coupling, first = np.triu(by_coupling), np.triu(first)
        norm = np.sqrt(np.sum(by_coupling**2) + np.sum(by_bias**2))
        assert found.converged
        assert norm < 1e-6 * np.linalg.norm(first)
        assert found.gradient_norm == pytest.approx(norm / np.linalg.norm(first), rel=1e-3)


@pytest.mark.parametrize(("fit", "share"), [(fit_pl, 2), (fit_nodes, 1)])
def test_absolute_values_obey_the_conditions_of_optimality(fit, share):
    sample = drawn_sample(n=8, n_rows=300, seed=4)
    alpha = 0.02
    found = fit(sample, alpha=alpha, penalty="l1", tol=1e-7)
    assert found.converged
    by_coupling, by_bias = gradient(found.couplings, found.biases, sample.rows, sample.weights)
    if fit is fit_pl:
        np.testing.assert_array_equal(found.couplings, found.couplings.T)
        by_coupling = by_coupling + by_coupling.T
    is_zero = found.couplings == 0
    np.fill_diagonal(by_coupling, 0.0)
    n_zero = is_zero.sum() - 8
    assert 0 < n_zero < 56
    assert np.abs(by_coupling[is_zero]).max() <= share * alpha + 1e-6
    active = by_coupling + share * alpha * np.sign(found.couplings)
    np.testing.assert_allclose(active[~is_zero], 0.0, atol=1e-6)
    np.testing.assert_allclose(by_bias, 0.0, atol=1e-6)


def test_a_strong_penalty_leaves_independent_columns():
    sample = drawn_sample()
    means = sample.weights @ sample.rows
    covariance = (sample.rows - means).T @ (sample.weights[:, None] * (sample.rows - means))
    largest = np.abs(covariance - np.diag(np.diag(covariance))).max()
    found = fit_pl(sample, alpha=1.001 * largest, penalty="l1")
    assert not found.couplings.any()
    np.testing.assert_allclose(found.biases, np.log(means / (1 - means)), atol=1e-6)
    assert fit_pl(sample, alpha=0.98 * largest, penalty="l1").couplings.any()


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_a_start_changes_the_way_and_not_the_end(penalty):
    sample = drawn_sample(n=7)
    found = fit_pl(sample, alpha=1e-3, penalty=penalty)
    again = fit_pl(sample, alpha=1e-3, penalty=penalty, start=(found.couplings, found.biases))
    assert again.n_iter <= 1
    elsewhere = fit_pl(sample, alpha=1e-3, penalty=penalty, start=random_machine(7, 5))
    np.testing.assert_allclose(elsewhere.couplings, found.couplings, atol=1e-4)
    nodes = fit_nodes(sample, alpha=1e-3, penalty=penalty)
    again = fit_nodes(sample, alpha=1e-3, penalty=penalty, start=(nodes.couplings, nodes.biases))
    assert again.n_iter <= 1


def test_too_few_iterations_are_told():
    found = fit_pl(drawn_sample(), alpha=1e-4, max_iter=1)
    assert not found.converged
    assert found.n_iter == 1
    assert 1e-6 < found.gradient_norm < 1


def test_equal_columns_with_a_penalty_share_their_couplings():
    rows = draw(*random_machine(4, 3), 500, 3)
    found = fit_pl(merge_rows(np.column_stack([rows, rows[:, 0]])), alpha=1e-3)
    assert found.converged
    np.testing.assert_allclose(found.couplings[0, 1:4], found.couplings[4, 1:4], atol=1e-4)


def test_log_pseudo_likelihood_is_that_of_the_definition(monkeypatch):
    couplings, biases = random_machine(5, 6)
    rows = draw(couplings, biases, 50, 6)
    monkeypatch.setattr("herder.data.states.BLOCK", 37)
    found = log_pseudo_likelihood(couplings, biases, rows)
    for row, value in zip(rows, found, strict=True):
        expected = -objective(couplings, biases, [row], [1.0], 0.0)
        assert value == pytest.approx(expected, rel=1e-12)


def test_far_fields_do_not_overflow():
    rows = np.array([[0, 1], [1, 0], [1, 1], [0, 0]], np.uint8)
    design = Design.of(merge_rows(rows))
    theta = np.array([[0.0, 4000.0], [4000.0, 0.0], [0.0, 0.0]])
    losses, sums = design.losses(theta)
    assert np.isfinite(sums).all()
    # fields are +-2000 at all four rows: two rows agree with them, two do not
    np.testing.assert_allclose(losses, 1000.0)


class Curve:
    """A convex function of one number, for `minimise`; it notes where it was looked at."""

    def __init__(self, slope, curvature):
        self.slope, self.curvature, self.visited = slope, curvature, []

    def evaluate(self, theta):
        self.visited.append(float(theta[0]))
        self.here = theta
        return np.nan, self.slope(theta)

    def bend(self, direction):
        return self.curvature(self.here) * direction

    def prepare(self):
        pass

    def precondition(self, gradient):
        return gradient

    def dot(self, a, b):
        return np.sum(a * b)

    def squares(self, gradient):
        return np.sum(gradient**2)


def root_curve():
    """sqrt(1 + x^2): from x the Newton step ends at -x^3, far away beyond 1."""
    return Curve(lambda x: x / np.sqrt(1 + x**2), lambda x: (1 + x**2) ** -1.5)


def test_a_newton_step_that_turns_the_slope_is_shortened():
    curve = root_curve()
    found = minimise(curve, np.array([2.0]), scale=1.0, tol=1e-10, max_iter=20)
    assert found.converged
    assert found.theta[0] == pytest.approx(0.0, abs=1e-9)
    # the step is not taken as far as -3, where the slope is as steep as at 2
    assert curve.visited[1] == pytest.approx(-3.0)
    assert -2 < curve.visited[2] < 2


def test_no_step_is_longer_than_the_longest():
    curve = root_curve()
    found = minimise(curve, np.array([100.0]), scale=1.0, tol=1e-12, max_iter=3)
    np.testing.assert_allclose(curve.visited, [100.0, 95.0, 90.0, 85.0])
    assert not found.converged
    assert found.n_iter == 3


def test_absolute_values_go_on_when_the_optimiser_gives_up(monkeypatch):
    # each run of L-BFGS-B ends after five steps, as when its picture of the curvature misleads it
    from scipy import optimize

    whole = optimize.minimize

    def brief(*args, options, **more):
        return whole(*args, options={**options, "maxiter": min(5, options["maxiter"])}, **more)

    sample = drawn_sample(n=8, n_rows=300, seed=4)
    expected = fit_pl(sample, alpha=0.02, penalty="l1", tol=1e-6)
    problem = Symmetric(Design.of(sample), 0.0)
    start = problem.design.start()
    monkeypatch.setattr(optimize, "minimize", brief)
    found = minimise_l1(problem, start, weight=2 * 0.02, tol=1e-6, max_iter=1000)
    assert found.converged
    assert found.n_iter > 5
    couplings, _ = problem.design.leave(found.theta)
    np.testing.assert_allclose(couplings, expected.couplings, atol=1e-4)
    few = minimise_l1(problem, start, weight=2 * 0.02, tol=1e-6, max_iter=7)
    assert (few.converged, few.n_iter) == (False, 7)
