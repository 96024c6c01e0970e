"""Boosted fields as models: compiled chains, what they leave alone, and log Z."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from herder import DimpleFeatures, RBMFeatures, TreeFeatures
from herder.core.blas import one_blas_thread
from herder.learn import _boosting_jit as jit
from herder.learn import boosted_model, boosted_partition
from herder.learn.boosted_model import BoostedModel
from herder.learn.boosted_partition import annealed, grid_sum


@pytest.fixture(autouse=True)
def one_thread():
    """As in a fit: products of small arrays do not wait for other threads."""
    with one_blas_thread():
        yield


def all_states(width):
    return np.array(list(itertools.product((-1, 1), repeat=width)), float)


def units(width=4, seed=0, coefficients=(1.5, 0.7, 2.0)):
    rng = np.random.default_rng(seed)
    table = rng.normal(0, 0.7, (len(coefficients), width + 1))
    return BoostedModel(RBMFeatures(), table, np.array(coefficients), rng.normal(0, 0.3, width))


def sign_trees(width=4, seed=0):
    rng = np.random.default_rng(seed)
    columns = rng.integers(width, size=(3, 3)).astype(float)
    table = np.hstack([columns, np.zeros((3, 3)), rng.uniform(-1, 1, (3, 4))])
    return BoostedModel(TreeFeatures(max_depth=2), table, np.ones(3), rng.normal(0, 0.3, width))


def dimples(means, widths, coefficients):
    """Dimples in one column."""
    table = np.column_stack([means, -2 * np.log(widths)])
    return BoostedModel(DimpleFeatures(), table, np.array(coefficients, float), None)


def number_trees():
    """Steps of the energy at -1, 0 and 1."""
    table = np.array([[0, 0, 0, 0.0, -1.0, 1.0, -1.0, 0.5, 1.0, -0.5]])
    return BoostedModel(TreeFeatures(max_depth=2), table, np.array([1.5]), None)


FIELDS: dict[str, Any] = {"units": units, "trees": sign_trees}
LINES: dict[str, Any] = {
    "one dimple": lambda: dimples([0.7], [0.3], [1.0]),
    "many": lambda: dimples([-1.0, 0.5, 1.5], [0.2, 0.5, 1.0], [0.5, 1.2, 2.0]),
    "trees": number_trees,
}


def shares_of_states(model, share=1.0):
    """By enumeration, with a share of the features in the energy."""
    states = all_states(len(model.fields))
    features = model.family.values(model.parameters, states) @ model.coefficients
    logs = states @ model.fields - share * features
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def assert_left_alone(rows, chances):
    """The shares of states of independent rows are these, within 4.5 of their errors."""
    places = ((rows > 0) @ 2 ** np.arange(rows.shape[1])[::-1]).astype(int)
    found = np.bincount(places, minlength=len(chances)) / len(rows)
    assert (np.abs(found - chances) < 4.5 * np.sqrt(chances * (1 - chances) / len(rows))).all()


def cumulative(model, points, share=1.0):
    """The distribution function of a field in one column, on a fine grid."""
    grid = np.linspace(-9, 9, 20001)
    features = model.family.values(model.parameters, grid[:, None]) @ model.coefficients
    masses = np.exp(-(grid**2) / 2 - share * features)
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
        fields: Any = model.fields
        signs = fields is not None
        expected = -(rows @ fields) if signs else (rows**2).sum(axis=1) / 2
        stages = list(model.staged(rows))
        np.testing.assert_allclose(stages[0], expected)
        for t, coefficient in enumerate(model.coefficients):
            expected = expected + coefficient * model.values(model.parameters[t], rows)
            np.testing.assert_allclose(stages[t + 1], expected)
            np.testing.assert_allclose(model.first(t + 1).energy(rows), expected)
        np.testing.assert_allclose(model.energy(rows), expected)
        empty = model.first(0)
        assert model.signs == signs
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
    fields: Any = model.fields
    biases = model.parameters[:, -1].copy()
    jit.gibbs(signs, pulls, weights, biases, model.coefficients, fields, share, uniforms)
    for i, k, j in np.ndindex(uniforms.shape):
        pair = np.array([rows[i], rows[i]])
        pair[1, j] *= -1
        energies = model.base_energy(pair) + share * model.pulls(pair)
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
    model = BoostedModel(DimpleFeatures(), table, rng.random(4) + 0.5, None)
    rows, steps = rng.normal(size=(20, 2)), rng.normal(0, 0.5, (20, 12, 2))
    levels = -rng.standard_exponential((20, 12))
    moved, pulls = rows.copy(), np.empty(20)
    means = np.hstack([table[:, :2], np.exp(table[:, 2:])])
    heights = table[:, 2:].sum(axis=1) / 2
    given = means, heights, model.coefficients, -2 * np.log(3.0), share
    accepted = jit.metropolis(moved, pulls, *given, steps, levels)
    n_accepted = 0
    for i, k in np.ndindex(levels.shape):
        pair = np.array([rows[i], rows[i] + steps[i, k]])
        energies = model.base_energy(pair) + share * model.pulls(pair)
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
    logs = states @ model.fields + np.log(np.cosh(model.coefficients * fields)).sum(axis=1)
    weights = np.exp(logs)
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
    model, rng = dimples([-3.5, 3.0], [0.2, 0.2], [4.0, 4.0]), np.random.default_rng(11)
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
    width = 1 if model.fields is None else 4
    rows, pulls = model.advance(np.zeros((3000, width)), 1, np.random.default_rng(12))
    assert not pulls.any()
    if model.fields is None:
        assert np.abs(norm.cdf(np.sort(rows[:, 0])) - np.arange(3000) / 3000).max() < 0.036
        assert model.base_log_partition(3) == pytest.approx(1.5 * np.log(2 * np.pi))
    else:
        assert_left_alone(rows, shares_of_states(model))
        exact = np.logaddexp.reduce(-model.energy(all_states(4)))
        assert model.base_log_partition(4) == pytest.approx(exact)


@pytest.mark.parametrize("width", [1, 2])
def test_sum_over_a_grid_without_features(width):
    model = LINES["many"]().first(0)
    found = grid_sum(model, np.full(width, -2.0), np.full(width, 3.0))
    assert found.value == pytest.approx(width / 2 * np.log(2 * np.pi), abs=1e-5)
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
    found = annealed(model, 6, archive, rng, lambda share, note: told.append(share))
    exact = np.logaddexp.reduce(-model.energy(all_states(6)))
    assert 0 < found.error < 0.05
    assert abs(found.value - exact) < 4 * found.error
    assert told[-1] == 1
    assert told == sorted(told)


@pytest.mark.parametrize("kind", ["dimples", "trees"])
def test_annealing_against_a_grid(kind, monkeypatch):
    rng = np.random.default_rng(0)
    table = np.hstack([rng.normal(size=(3, 2)), rng.normal(1, 0.5, (3, 2))])
    model = BoostedModel(DimpleFeatures(), table, np.array([1.0, 0.5, 2.0]), None)
    if kind == "trees":
        table = np.hstack([[[0, 1, 1], [1, 0, 0]], rng.normal(size=(2, 7))])
        model = BoostedModel(TreeFeatures(max_depth=2), table, np.array([1.0, 0.5]), None)
    monkeypatch.setitem(boosted_partition.LINES, 2, 513)
    exact = grid_sum(model, np.full(2, -3.0), np.full(2, 3.0))
    found = annealed(model, 2, rng.normal(size=(50, 2)), rng)
    assert 0 < found.error < 0.1
    assert abs(found.value - exact.value) < 4 * found.error + exact.error
