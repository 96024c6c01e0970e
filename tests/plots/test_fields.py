from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel
from herder.plots import (
    plot_convergence,
    plot_couplings,
    plot_energies,
    plot_sampling,
    plot_scan_report,
    plot_state,
)
from herder.samplers.scan_check import OrderReport, ScanReport
from tests.naming import refuses

COUPLINGS = np.array([[0.0, 1.0, -2.0], [1.0, 0.0, 0.0], [-2.0, 0.0, 0.0]])
MODEL = PairwiseModel(COUPLINGS, [0.1, 0.2, 0.3])


class Machine(BaseEstimator):
    """Anything with a model of its own, once it has been fitted."""

    def fit(self) -> "Machine":
        self.model_ = MODEL
        return self


def matrix_of(figure: Any) -> np.ndarray:
    return np.asarray(figure.axes[0].images[0].get_array())


def test_couplings_are_the_matrix():
    figure = plot_couplings(MODEL)
    assert np.array_equal(matrix_of(figure), COUPLINGS)
    assert figure.axes[0].images[0].get_clim() == (-2.0, 2.0)
    assert np.array_equal(matrix_of(plot_couplings(Machine().fit())), COUPLINGS)
    figure.canvas.draw()


def test_a_few_strong_couplings_leave_the_others_their_colours():
    n = 30
    couplings = np.triu(np.random.default_rng(3).normal(size=(n, n)), 1)
    couplings[0, 1:4] = 50.0
    figure = plot_couplings(PairwiseModel(couplings + couplings.T))
    sizes = sorted(abs(w) for w in couplings.ravel() if w)
    low, high = figure.axes[0].images[0].get_clim()
    assert -low == high
    # at most one in a hundred lies beyond the scale, and the 50s do
    assert sum(size > high for size in sizes) <= len(sizes) / 100
    assert high in sizes
    assert high < 5
    assert "beyond the scale: up to 50" in figure.axes[1].get_ylabel()
    assert plot_couplings(MODEL).axes[1].get_ylabel() == "coupling"


def test_truth_goes_above_the_diagonal():
    truth = PairwiseModel(3 * COUPLINGS)
    figure = plot_couplings(MODEL, truth=truth)
    expected = np.tril(COUPLINGS) + np.triu(3 * COUPLINGS)
    assert np.array_equal(matrix_of(figure), expected)
    assert figure.axes[0].images[0].get_clim() == (-6.0, 6.0)


def test_couplings_into_axes_with_names():
    from matplotlib.figure import Figure

    figure = Figure()
    ax = figure.subplots()
    named = PairwiseModel(COUPLINGS, names=["a", "b", "c"])
    assert plot_couplings(named, ax=ax) is figure
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c"]
    assert len(figure.axes) == 2  # the matrix and its scale


def test_large_models_are_dots():
    model = PairwiseModel.grid((30, 30), 0.5)
    ax: Any = plot_couplings(model).axes[0]
    assert not ax.images
    (dots,) = ax.collections
    places = {(int(i), int(j)) for j, i in np.asarray(dots.get_offsets())}
    edges = {(int(i), int(j)) for i, j in model.edges}
    assert places == edges | {(j, i) for i, j in edges}
    assert np.all(dots.get_array() == 0.5)


def test_a_model_without_couplings():
    figure = plot_couplings(PottsModel(np.zeros((2, 2)), np.zeros((2, 3))))
    assert not matrix_of(figure).any()
    assert figure.axes[0].images[0].get_clim() == (-1.0, 1.0)


def test_couplings_refuse_what_they_cannot_draw():
    with refuses("model", TypeError):
        plot_couplings(COUPLINGS)
    with pytest.raises(NotFittedError):
        plot_couplings(Machine())
    with refuses("truth"):
        plot_couplings(MODEL, truth=MODEL.to_states((-1, 1)))


def test_states_are_pictures():
    x = np.array([[-1, 1, 1, -1, -1, 1], [1, 1, 1, 1, 1, 1]])
    figure = plot_state((2, 3), x, titles=["a", "b"])
    first, second = (np.asarray(ax.images[0].get_array()) for ax in figure.axes)
    assert np.array_equal(first, [[0, 1, 1], [0, 0, 1]])
    assert np.array_equal(second, [[1, 1, 1], [1, 1, 1]])  # upper, though no lower one is there
    assert [ax.get_title() for ax in figure.axes] == ["a", "b"]
    figure.canvas.draw()


def test_states_of_a_potts_model_keep_their_colours():
    model = PottsModel.grid((2, 2), 4, 1.0)
    figure = plot_state(model, [0, 3, 3, 0])
    image = figure.axes[0].images[0]
    assert np.array_equal(np.asarray(image.get_array()), [[0, 3], [3, 0]])
    assert image.get_clim() == (-0.5, 3.5)
    assert matrix_of(plot_state(3, [5, 7, 9])).tolist() == [[0, 1, 2]]


def test_states_in_colours_of_ones_own():
    image: Any = plot_state(3, [0, 1, 2], colours=["white", "black", "red"]).axes[0].images[0]
    drawn = image.to_rgba(image.get_array())[0, :, :3]
    assert drawn.tolist() == [[1, 1, 1], [0, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("shape", "x", "options", "name"),
    [
        ((2, 2), [0, 1, 0], {}, "x"),
        ((2, 2, 2), [0] * 8, {}, "shape"),
        ((0, 2), [], {}, "shape"),
        (MODEL, [0, 1, 0], {}, "shape"),
        (PairwiseModel.grid((2, 2)), [0, 1, 0, 1], {}, "x"),
        ((1, 2), [0, 1], {"titles": ["a", "b"]}, "titles"),
        ((1, 2), [0, 1], {"colours": ["red"]}, "colours"),
    ],
)
def test_states_refuse_what_they_cannot_draw(shape, x, options, name):
    with refuses(name):
        plot_state(shape, x, **options)


def heights(ax: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {stair.get_label(): stair.get_data()[:2] for stair in ax.patches}


def test_energies_are_counted():
    rng = np.random.default_rng(0)
    given = {"ours": rng.normal(size=500), "theirs": rng.normal(2.0, size=300)}
    left, right = plot_energies(given, exact=1.0).axes
    traces: list[Any] = [line.get_ydata() for line in right.lines[:2]]
    for label, (shares, edges) in heights(left).items():
        values = given[label]
        counts = [np.sum((values >= a) & (values < b)) for a, b in pairwise(edges)]
        counts[-1] += np.sum(values == edges[-1])
        assert np.allclose(shares, np.array(counts) / len(values))
        assert np.isclose(shares.sum(), 1.0)
    assert np.array_equal(traces[0], given["ours"])
    assert np.array_equal(traces[1], given["theirs"])
    assert len(plot_energies(given, trace=False).axes) == 1


def test_energies_on_a_ladder_leave_no_comb():
    # rungs of 4/T from -200 to 200: with 101 rungs in up to 40 bins each bin holds three
    rungs = 4 * np.arange(-50, 51) / 2.269
    (ax,) = plot_energies({"grid": rungs}, trace=False).axes
    shares, _ = heights(ax)["grid"]
    assert np.allclose(shares[:-1] * 101, 3)
    assert shares.sum() == pytest.approx(1.0)
    (ax,) = plot_energies({"one": [2.0, 2.0]}, trace=False).axes
    assert heights(ax)["one"][0].tolist() == [1.0]


def test_long_traces_are_thinned():
    right = plot_energies({"long": np.arange(10_000.0)}).axes[1]
    drawn: Any = right.lines[0].get_xydata()
    assert len(drawn) == 2000
    assert np.array_equal(drawn[:, 0], drawn[:, 1] + 1)


@pytest.mark.parametrize("values", [[], [[1.0]], [np.nan]])
def test_energies_refuse_what_they_cannot_draw(values):
    with refuses("energies"):
        plot_energies({"bad": values})


def test_nothing_to_compare():
    with refuses("energies"):
        plot_energies({})
    with refuses("errors"):
        plot_convergence({})


def test_convergence_draws_both_slopes():
    t = np.array([1.0, 10.0, 100.0])
    ax: Any = plot_convergence({"a": (t, [0.5, 0.05, 0.0]), "b": (t, [0.4, 0.2, 0.1])}).axes[0]
    lines = {line.get_label(): line.get_xydata() for line in ax.lines}
    assert np.allclose(lines["a"], [[1.0, 0.5], [10.0, 0.05]])  # zero is left out
    sweeps, error = lines["$1/T$"].T
    assert np.allclose(error, 0.5 / sweeps)
    sweeps, error = lines[r"$1/\sqrt{T}$"].T
    assert np.allclose(error, 0.5 / np.sqrt(sweeps))
    assert sweeps[[0, -1]].tolist() == pytest.approx([1.0, 100.0])
    with refuses("errors"):
        plot_convergence({"a": (t, [0.5])})


def run(marginals: Any, n_sites: int) -> Any:
    errors = np.full(np.shape(marginals), 0.01)
    r_hat = np.linspace(1, 1.1, n_sites)
    return SimpleNamespace(marginals=marginals, errors=errors, r_hat=r_hat, names=None)


def bars(ax: Any) -> list[np.ndarray]:
    return [
        np.asarray(container.lines[2][0].get_segments())
        for container in ax.containers
        if container.lines[2]
    ]


def test_sampling_against_sites():
    left, right = plot_sampling(run([0.2, 0.5, 0.9], 3)).axes
    (segments,) = bars(left)
    assert np.allclose(segments[:, :, 0], [[0, 0], [1, 1], [2, 2]])
    assert np.allclose(segments[:, :, 1], [[0.18, 0.22], [0.48, 0.52], [0.88, 0.92]])
    assert np.allclose(right.lines[0].get_ydata(), [1.0, 1.05, 1.1])


def test_sites_have_whole_numbers_or_names():
    figure = plot_sampling(run([0.2, 0.5, 0.9], 3))
    figure.canvas.draw()
    for ax in figure.axes:
        assert ax.get_xlabel() == "site"
        assert all(place == round(place) for place in ax.get_xticks())
    named = run([0.2, 0.5, 0.9], 3)
    named.names = ("rain", "wind", "cold")
    for ax in plot_sampling(named).axes:
        assert [label.get_text() for label in ax.get_xticklabels()] == ["rain", "wind", "cold"]


def test_many_sites_of_a_grid_are_maps():
    rng = np.random.default_rng(1)
    many = run(rng.random(600), 600)
    many.r_hat[7] = np.nan
    figure = plot_sampling(many, shape=(20, 30))
    left, right = (ax.images[0] for ax in figure.axes[:2])
    assert np.array_equal(np.asarray(left.get_array()), many.marginals.reshape(20, 30))
    assert left.get_clim() == (0.0, 1.0)
    drawn: Any = right.get_array()
    assert drawn.mask.sum() == 1
    assert drawn.mask[0, 7]
    assert drawn[19, 29] == 1.1
    figure.canvas.draw()
    potts = rng.dirichlet(np.ones(4), size=600)
    image = plot_sampling(run(potts, 600), shape=(20, 30)).axes[0].images[0]
    assert np.array_equal(np.asarray(image.get_array()).ravel(), [max(row) for row in potts])
    assert image.get_clim() == (0.25, 1.0)
    assert not plot_sampling(run([0.2, 0.5, 0.9, 0.1], 4), shape=(2, 2)).axes[0].images
    with refuses("shape"):
        plot_sampling(many, shape=(20, 20))


def test_many_sites_of_other_graphs_are_in_order_of_size():
    many = run(np.random.default_rng(2).random(600), 600)
    many.r_hat = many.r_hat[::-1]
    left, right = plot_sampling(many).axes
    for ax, values in ((left, many.marginals), (right, many.r_hat)):
        assert np.asarray(ax.lines[0].get_ydata()).tolist() == sorted(values)
        assert ax.get_xlabel() == "sites, the smallest first"
    (band,) = left.collections
    corners = np.asarray(band.get_paths()[0].vertices)
    assert corners[:, 1].min() == pytest.approx(many.marginals.min() - 0.02)
    exact: Any = SimpleNamespace(marginals=many.marginals)
    assert len(bars(plot_sampling(many, exact=exact).axes[0])) == 1


def test_sampling_against_the_exact_marginals():
    table = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    exact: Any = SimpleNamespace(marginals=table + 0.001)
    other: Any = SimpleNamespace(marginals=table[:, :2])
    figure = plot_sampling(run(table, 2), exact=exact)
    segments = bars(figure.axes[0])
    assert len(segments) == 3
    for k, drawn in enumerate(segments):
        assert np.allclose(drawn[:, 0, 0], table[:, k] + 0.001)
        assert np.allclose(drawn.mean(axis=1)[:, 1], table[:, k])
    figure.canvas.draw()
    with refuses("exact"):
        plot_sampling(run(table, 2), exact=other)


def test_scan_report_has_a_line_for_each_order():
    errors = {"good": (1e-2, 1e-3, 5e-3), "bad": (4e-2, 3e-2, 6e-3)}
    orders = tuple(
        OrderReport(name, *three, joint=0.1, gibbs_joint=0.1, stalled=0)
        for name, three in errors.items()
    )
    figure = plot_scan_report(ScanReport(orders, 1, 4, 1000, ()))
    figure.canvas.draw()
    ax: Any = figure.axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["bad", "good"]
    drawn = {line.get_label(): line.get_xdata().tolist() for line in ax.lines}
    assert drawn == {
        "T = 1,000": [4e-2, 1e-2],
        "T = 10,000": [3e-2, 1e-3],
        "Gibbs, T = 10,000": [6e-3, 5e-3],
    }
    wrong: Any = orders
    with refuses("report", TypeError):
        plot_scan_report(wrong)
