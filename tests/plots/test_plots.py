import sys
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np
import pytest

from herder import EnumeratedSystem, Moments, herd, moment_herd
from herder.data.variables import Codes
from herder.plots import (
    plot_agreement,
    plot_count_distribution,
    plot_moment_error,
    plot_tipi,
    plot_weight_norm,
)
from tests.naming import refuses

ROWS = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]])


def axes(figure: Any) -> Any:
    return figure.axes[0]


@pytest.fixture(scope="module")
def run():
    moments = Moments.from_data(ROWS)
    herding = moment_herd(moments, 300)
    return moments, herding, Moments.from_codes(Codes(moments.variables, herding.samples))


def test_agreement_shows_every_cell_twice(run):
    moments, _, reached = run
    figure: Any = plot_agreement(moments, reached)
    left, right = (
        np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections]) for ax in figure.axes
    )
    assert len(left) == len(right) == len(moments.counts)
    gaps = right[:, 1]
    expected = reached.probabilities() - moments.probabilities()
    assert np.allclose(np.sort(gaps), np.sort(expected))


def test_agreement_needs_the_same_cliques(run):
    moments, _, _ = run
    with refuses("reached"):
        plot_agreement(moments, Moments.from_data(ROWS, 1))


def test_count_distribution_draws_bars_and_lines():
    figure = plot_count_distribution({"table": [0.2, 0.5, 0.3], "herd": [0.25, 0.5, 0.25]})
    ax = axes(figure)
    assert [bar.get_height() for bar in ax.patches] == [0.2, 0.5, 0.3]
    assert ax.lines[0].get_ydata().tolist() == [0.25, 0.5, 0.25]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["table", "herd"]


def test_count_distribution_bars_can_be_chosen():
    figure = plot_count_distribution({"a": [1, 0], "b": [0.5, 0.5]}, bars="b")
    assert [bar.get_height() for bar in axes(figure).patches] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("shares", "bars", "name"),
    [
        ({}, None, "distributions"),
        ({"a": [1.0], "b": [0.5, 0.5]}, None, "distributions"),
        ({"a": [1.0]}, "b", "bars"),
    ],
)
def test_count_distribution_refuses(shares, bars, name):
    with refuses(name):
        plot_count_distribution(shares, bars=bars)


def test_error_and_norm_follow_the_trace(run):
    trace = run[1].diagnostics.trace
    ax = axes(plot_moment_error(trace))
    assert ax.get_xscale() == ax.get_yscale() == "log"
    held = trace.error > 0
    assert np.array_equal(ax.lines[0].get_ydata(), trace.error[held])
    guide = ax.lines[2]
    assert np.allclose(guide.get_ydata() * guide.get_xdata(), guide.get_ydata()[0])
    ax = axes(plot_weight_norm(trace))
    assert np.array_equal(ax.lines[0].get_ydata(), trace.norm)


@pytest.mark.parametrize("n_steps", [5, 100])
def test_tipi_draws_the_weights(n_steps):
    system = EnumeratedSystem([[0, 0], [1, 0], [0, 1]], counts=[5, 3, 2])
    steps = list(islice(herd(system, system.target), n_steps))
    figure = plot_tipi(system, steps, start=system.target, labels=["none", "a", "b"])
    figure.canvas.draw()
    ax = axes(figure)
    weights = np.array([system.target, *(step.weights for step in steps)]) / 10
    drawn = [np.asarray(c.get_offsets()) for c in ax.collections]
    assert any(points.shape == weights.shape and np.allclose(points, weights) for points in drawn)
    assert {t.get_text() for t in ax.get_legend().get_texts()} <= {"none", "a", "b"}


def test_tipi_refuses_other_systems():
    system = EnumeratedSystem([[0], [1]], counts=[1, 1])
    with refuses("system"):
        plot_tipi(system, [])
    plane = EnumeratedSystem([[0, 0], [1, 0]], counts=[1, 1])
    with refuses("labels"):
        plot_tipi(plane, [], labels=["a"])


def test_a_missing_matplotlib_is_reported_before_anything_is_drawn(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    monkeypatch.delitem(sys.modules, "herder.plots._style")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'herder\[report\]'"):
        import_module("herder.plots._style")
