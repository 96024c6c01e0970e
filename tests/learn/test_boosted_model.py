"""Boosted fields as models: compiled chains, what they leave alone, and log Z."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from herder import DimpleFeatures, RBMFeatures, TreeFeatures
from herder.core.blas import one_blas_thread
from herder.learn import _boosting_jit as jit
from herder.learn import boosted_model, boosted_partition
from herder.learn.boosted_base import GaussianBase, SignBase
from herder.learn.boosted_model import BoostedModel
from herder.learn.boosted_partition import annealed, grid_sum


@pytest.fixture(autouse=True)
def one_thread():
    """As in a fit: products of small arrays do not wait for other threads."""
    with one_blas_thread():
        yield


def all_states(width):
    return np.array(list(itertools.product((-1, 1), repeat=width)), float)


def signs(rng, width):
    """A mixture of two kinds of signs."""
    return SignBase(np.log([0.3, 0.7]), rng.normal(0, [[0.3], [0.8]], (2, width)))


def gaussians(width, seed=0):
    """A mixture of two Gaussians."""
    rng = np.random.default_rng(seed)
    roots = np.eye(width) + 0.3 * rng.normal(size=(2, width, width))
    return GaussianBase(np.log([0.6, 0.4]), rng.normal(0, 0.5, (2, width)), roots)


def units(width=4, seed=0, coefficients=(1.5, 0.7, 2.0)):
    rng = np.random.default_rng(seed)
    table = rng.normal(0, 0.7, (len(coefficients), width + 1))
    return BoostedModel(RBMFeatures(), table, np.array(coefficients), signs(rng, width))


def sign_trees(width=4, seed=0):
    rng = np.random.default_rng(seed)
    columns = rng.integers(width, size=(3, 3)).astype(float)
    table = np.hstack([columns, np.zeros((3, 3)), rng.uniform(-1, 1, (3, 4))])
    return BoostedModel(TreeFeatures(max_depth=2), table, np.ones(3), signs(rng, width))


def dimples(means, widths, coefficients):
    """Dimples in one column."""
    table = np.column_stack([means, -2 * np.log(widths)])
    return BoostedModel(DimpleFeatures(), table, np.array(coefficients, float), gaussians(1))


def number_trees():
    """Steps of the energy at -1, 0 and 1."""
    table = np.array([[0, 0, 0, 0.0, -1.0, 1.0, -1.0, 0.5, 1.0, -0.5]])
    return BoostedModel(TreeFeatures(max_depth=2), table, np.array([1.5]), gaussians(1))


FIELDS: dict[str, Any] = {"units": units, "trees": sign_trees}
LINES: dict[str, Any] = {
    "one dimple": lambda: dimples([0.7], [0.3], [1.0]),
    "many": lambda: dimples([-1.0, 0.5, 1.5], [0.2, 0.5, 1.0], [0.5, 1.2, 2.0]),
    "trees": number_trees,
}


def shares_of_states(model, share=1.0):
    """By enumeration, with a share of the features in the energy."""
    states = all_states(model.base.width)
    features = model.family.values(model.parameters, states) @ model.coefficients
    logs = log_mixture(model.base, states) - share * features
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def log_mixture(base, rows):
    """The log of a mixture, one component after the other, by other code."""
    parts = []
    for k, log in enumerate(base.logs):
        if isinstance(base, SignBase):
            chances = 1 / (1 + np.exp(-2 * base.fields[k]))
            part = np.log(np.where(rows > 0, chances, 1 - chances)).sum(axis=1)
        else:
            covariance = np.linalg.inv(base.roots[k] @ base.roots[k].T)
            part = multivariate_normal(base.means[k], covariance).logpdf(rows)
        parts.append(log + np.reshape(part, len(rows)))
    return np.logaddexp.reduce(parts)


def assert_left_alone(rows, chances):
    """The shares of states of independent rows are these, within 4.5 of their errors."""
    places = ((rows > 0) @ 2 ** np.arange(rows.shape[1])[::-1]).astype(int)
    found = np.bincount(places, minlength=len(chances)) / len(rows)
    assert (np.abs(found - chances) < 4.5 * np.sqrt(chances * (1 - chances) / len(rows))).all()


def cumulative(model, points, share=1.0):
    """The distribution function of a field in one column, on a fine grid."""
    grid = np.linspace(-9, 9, 20001)
    features = model.family.values(model.parameters, grid[:, None]) @ model.coefficients
    masses = np.exp(log_mixture(model.base, grid[:, None]) - share * features)
    return np.interp(points, grid, masses.cumsum() / masses.sum())


def distance(rows, model, share=1.0):
    """Kolmogorov's distance times the root of the number of rows; 1.95 has a chance of 0.001."""
    points = np.sort(rows[:, 0])
    exact, n = cumulative(model, points, share), len(points)
    steps = np.arange(n + 1) / n
    gap = max(np.abs(exact - steps[1:]).max(), np.abs(exact - steps[:-1]).max())
    return gap * np.sqrt(n)


def test_energy_written_out():
    rng = np.random.default_rng(0)
    for model, rows in (
        (units(), all_states(4)),
        (sign_trees(), all_states(4)),
        (LINES["many"](), rng.normal(size=(9, 1))),
    ):
        expected = -log_mixture(model.base, rows)
        stages = list(model.staged(rows))
        np.testing.assert_allclose(stages[0], expected)
        for t, coefficient in enumerate(model.coefficients):
            expected = expected + coefficient * model.values(model.parameters[t], rows)
            np.testing.assert_allclose(stages[t + 1], expected)
            np.testing.assert_allclose(model.first(t + 1).energy(rows), expected)
        np.testing.assert_allclose(model.energy(rows), expected)
        empty = model.first(0)
        assert model.signs == (rows.shape[1] == 4)
        np.testing.assert_array_equal(empty.energy(rows), stages[0])
        back = empty.added(model.parameters[0], model.coefficients[0])
        np.testing.assert_array_equal(back.energy(rows), model.first(1).energy(rows))


def test_energies_in_blocks(monkeypatch):
    model, rows = units(), all_states(4)
    expected = model.energy(rows)
    monkeypatch.setattr(boosted_model, "BLOCK", 12)
    np.testing.assert_allclose(model.energy(rows), expected)


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_gibbs_sampling_step_by_step(share):
    """The compiled loop against energies of both states of a site."""
    model, rng = units(5), np.random.default_rng(3)
    rows = np.where(rng.random((20, 5)) < 0.5, 1.0, -1.0)
    uniforms = rng.random((20, 3, 5))
    signs, pulls = rows.copy(), np.empty(20)
    weights = np.ascontiguousarray(model.parameters[:, :-1].T)
    biases = model.parameters[:, -1].copy()
    base: Any = model.base
    mixture = base.heights, base.fields
    jit.gibbs(signs, pulls, weights, biases, model.coefficients, *mixture, share, uniforms)
    for i, k, j in np.ndindex(uniforms.shape):
        pair = np.array([rows[i], rows[i]])
        pair[1, j] *= -1
        energies = share * model.pulls(pair) - log_mixture(model.base, pair)
        chance = 1 / (1 + np.exp(energies[1] - energies[0]))
        assert abs(uniforms[i, k, j] - chance) > 1e-9
        if uniforms[i, k, j] < chance:
            rows[i, j] *= -1
    np.testing.assert_array_equal(signs, rows)
    np.testing.assert_allclose(pulls, model.pulls(rows), atol=1e-12)


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_metropolis_step_by_step(share):
    rng = np.random.default_rng(5)
    table = np.hstack([rng.normal(size=(4, 2)), rng.normal(1, 1, (4, 2))])
    model = BoostedModel(DimpleFeatures(), table, rng.random(4) + 0.5, gaussians(2))
    rows, steps = rng.normal(size=(20, 2)), rng.normal(0, 0.5, (20, 12, 2))
    levels = -rng.standard_exponential((20, 12))
    moved, pulls = rows.copy(), np.empty(20)
    means = np.hstack([table[:, :2], np.exp(table[:, 2:])])
    heights = table[:, 2:].sum(axis=1) / 2
    given = means, heights, model.coefficients, -2 * np.log(3.0), share
    base: Any = model.base
    mixture = base.heights, base.means, base.roots
    accepted = jit.metropolis(moved, pulls, *given, *mixture, steps, levels)
    n_accepted = 0
    for i, k in np.ndindex(levels.shape):
        pair = np.array([rows[i], rows[i] + steps[i, k]])
        energies = share * model.pulls(pair) - log_mixture(model.base, pair)
        if levels[i, k] < energies[0] - energies[1]:
            rows[i] = pair[1]
            n_accepted += 1
    assert accepted == n_accepted
    assert 0 < n_accepted < levels.size
    np.testing.assert_allclose(moved, rows, atol=1e-12)
    np.testing.assert_allclose(pulls, model.pulls(rows), atol=1e-10)


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_gibbs_sampling_leaves_the_field_alone(kind, share):
    model, rng = FIELDS[kind](), np.random.default_rng(6)
    starts = np.ones((3000, 4))
    rows, pulls = model.advance(starts, 15, rng, share=share)
    assert (starts == 1).all()
    assert_left_alone(rows, shares_of_states(model, share))
    np.testing.assert_allclose(pulls, model.pulls(rows), atol=1e-12)


@pytest.mark.parametrize("width", [4, 6])
def test_blocks_of_units_are_exact_with_coefficients_of_1(width):
    model = units(width, 1, (1.0, 1.0, 1.0))
    rows, pulls = model.advance(
        np.ones((4000, width)), 30, np.random.default_rng(7), chain="block"
    )
    assert_left_alone(rows, shares_of_states(model))
    np.testing.assert_allclose(pulls, model.pulls(rows), atol=1e-12)


def test_blocks_of_units_are_those_of_another_field():
    """With other coefficients: log cosh of the scaled fields, instead of scaled log cosh."""
    model, states = units(), all_states(4)
    rows, _ = model.advance(np.ones((4000, 4)), 200, np.random.default_rng(8), chain="block")
    fields = states @ model.parameters[:, :-1].T + model.parameters[:, -1]
    logs = np.log(np.cosh(model.coefficients * fields)).sum(axis=1)
    weights = np.exp(logs + log_mixture(model.base, states))
    assert_left_alone(rows, weights / weights.sum())


@pytest.mark.parametrize("means", [[0.7], [-1.0, 0.5, 1.5]])
def test_blocks_of_dimples_are_exact_with_coefficients_of_1(means):
    model = dimples(means, [0.3, 0.5, 1.0][: len(means)], [1.0] * len(means))
    rows, pulls = model.advance(np.zeros((4000, 1)), 30, np.random.default_rng(9), chain="block")
    assert distance(rows, model) < 1.95
    np.testing.assert_allclose(pulls, model.pulls(rows))


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_metropolis_leaves_the_field_alone(kind, share):
    model, rng = LINES[kind](), np.random.default_rng(10)
    starts = rng.normal(size=(2000, 1))
    rows, pulls = model.advance(starts, 150, rng, share=share)
    assert distance(rows, model, share) < 1.95
    np.testing.assert_allclose(pulls, model.pulls(rows))


def test_jumps_lead_from_mode_to_mode():
    """Two narrow modes, from one of which all chains start."""
    unit = GaussianBase(np.zeros(1), np.zeros((1, 1)), np.ones((1, 1, 1)))
    model = replace(dimples([-3.5, 3.0], [0.2, 0.2], [4.0, 4.0]), base=unit)
    rng = np.random.default_rng(11)
    archive = np.concatenate([rng.normal(-3.5, 0.2, (50, 1)), rng.normal(3.0, 0.2, (50, 1))])
    starts = np.full((2000, 1), -3.5)
    rows, _ = model.advance(starts, 300, rng, archive=archive)
    assert 0.2 < cumulative(model, 0.0) < 0.8
    assert distance(rows, model) < 1.95
    alone, _ = model.advance(starts, 50, rng)
    assert distance(alone, model) > 10


@pytest.mark.parametrize("kind", [*FIELDS, *LINES])
def test_fields_without_features_are_drawn(kind):
    model = (FIELDS | LINES)[kind]().first(0)
    rows, pulls = model.advance(np.zeros((3000, model.base.width)), 1, np.random.default_rng(12))
    assert not pulls.any()
    if model.signs:
        assert_left_alone(rows, shares_of_states(model))
        assert np.logaddexp.reduce(-model.energy(all_states(4))) == pytest.approx(0)
    else:
        assert distance(rows, model) < 1.95


@pytest.mark.parametrize("width", [1, 2])
def test_sum_over_a_grid_without_features(width):
    model = LINES["many"]().first(0)
    model = replace(model, base=gaussians(width))
    found = grid_sum(model, np.full(width, -3.0), np.full(width, 3.0))
    assert found.value == pytest.approx(0, abs=1e-5)
    assert found.error < 1e-9


@pytest.mark.parametrize("kind", LINES)
def test_sum_over_a_grid_against_an_integral(kind):
    model = LINES[kind]()
    found = grid_sum(model, np.array([-4.0]), np.array([4.0]))
    grid = np.linspace(-12, 12, 400_001)
    exact = np.log(np.exp(-model.energy(grid[:, None])).sum() * (grid[1] - grid[0]))
    assert found.value == pytest.approx(exact, abs=max(4 * found.error, 1e-5))
    assert found.error < 2e-3


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize("seed", range(3))
def test_annealing_against_enumeration(kind, seed):
    model = FIELDS[kind](6, seed)
    told: list[float] = []
    rng, archive = np.random.default_rng(seed), np.ones((1, 6))
    found = annealed(model, archive, rng, lambda share, note: told.append(share))
    exact = np.logaddexp.reduce(-model.energy(all_states(6)))
    assert 0 < found.error < 0.05
    assert abs(found.value - exact) < 4 * found.error
    assert told[-1] == 1
    assert told == sorted(told)


@pytest.mark.parametrize("kind", ["dimples", "trees"])
def test_annealing_against_a_grid(kind, monkeypatch):
    rng = np.random.default_rng(0)
    table = np.hstack([rng.normal(size=(3, 2)), rng.normal(1, 0.5, (3, 2))])
    model = BoostedModel(DimpleFeatures(), table, np.array([1.0, 0.5, 2.0]), gaussians(2))
    if kind == "trees":
        table = np.hstack([[[0, 1, 1], [1, 0, 0]], rng.normal(size=(2, 7))])
        model = BoostedModel(TreeFeatures(max_depth=2), table, np.array([1.0, 0.5]), gaussians(2))
    monkeypatch.setitem(boosted_partition.LINES, 2, 513)
    exact = grid_sum(model, np.full(2, -3.0), np.full(2, 3.0))
    found = annealed(model, rng.normal(size=(50, 2)), rng)
    assert 0 < found.error < 0.1
    assert abs(found.value - exact.value) < 4 * found.error + exact.error
