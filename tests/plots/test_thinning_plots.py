import itertools
from typing import Any

import numpy as np
import pytest

from herder.plots import plot_density, plot_marginals, plot_mmd_path, plot_picks
from herder.plots import thinning as module
from tests.naming import refuses

RNG = np.random.default_rng(3)
X = RNG.normal(size=(500, 4)) * [1, 10, 0.1, 1] + 5
X[:, 3] = X[:, 0] - 2.0
PICKS = RNG.choice(500, 20, replace=False)


def offsets(ax: Any) -> list[np.ndarray]:
    return [np.asarray(c.get_offsets()) for c in ax.collections]


def stairs(ax: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(p.get_data().values, p.get_data().edges) for p in ax.patches]


def test_picks_lie_where_all_rows_lie():
    figure = plot_picks(X, PICKS)
    figure.canvas.draw()
    ax: Any = figure.axes[0]
    cloud, chosen = offsets(ax)
    assert cloud.shape == (500, 2)
    assert np.allclose(cloud[PICKS], chosen)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    _, s, vt = np.linalg.svd(Z, full_matrices=False)
    for k in range(2):
        assert np.allclose(np.abs(cloud[:, k]), np.abs(Z @ vt[k]))
    assert f"({s[0] ** 2 / (s**2).sum():.0%})" in ax.get_xlabel()
    assert not np.isnan(cloud).any()


def test_one_and_two_columns_are_their_own_axes():
    ax: Any = plot_picks(X[:, :2], PICKS, names=["a", "b"]).axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")
    assert np.array_equal(offsets(ax)[1], X[PICKS, :2])
    ax = plot_picks(X[:, :1], PICKS).axes[0]
    assert np.array_equal(offsets(ax)[1][:, 0], X[PICKS, 0])
    assert not offsets(ax)[1][:, 1].any()


def test_dots_follow_the_weights_and_many_rows_are_thinned_out(monkeypatch):
    monkeypatch.setattr(module, "MAX_DOTS", 100)
    monkeypatch.setattr(module, "MAX_ROWS", 100)
    monkeypatch.setattr(module, "BLOCK_CELLS", 64)
    weights = np.linspace(-1, 3, 20)
    ax: Any = plot_picks(X.astype(np.float32), PICKS, weights=weights).axes[0]
    assert len(offsets(ax)[0]) == 100
    sizes = ax.collections[1].get_sizes()
    assert np.allclose(sizes / sizes.sum(), np.abs(weights) / np.abs(weights).sum())


def test_fewer_rows_than_axes_and_constant_columns():
    plot_picks(np.ones((1, 5)), [0]).canvas.draw()
    plot_picks(np.ones((9, 5)), [0, 3]).canvas.draw()


def test_marginals_are_histograms_of_shares():
    weight = RNG.random(500)
    figure: Any = plot_marginals(
        X, PICKS, sample_weight=weight, names=["a", "b", "c", "d"], columns=[2, 0]
    )
    first = figure.axes[0]
    assert first.get_xlabel() == "c"
    (whole, edges), (part, same) = stairs(first)
    assert np.array_equal(edges, same)
    assert whole.sum() == pytest.approx(1)
    assert part.sum() == pytest.approx(1)
    inside = X[:, 2].clip(edges[0], edges[-1])
    assert np.allclose(whole, np.histogram(inside, edges, weights=weight)[0] / weight.sum())


def test_marginals_of_many_columns():
    wide = RNG.normal(size=(30, 20))
    figure: Any = plot_marginals(wide, [0, 1])
    assert len(figure.axes) == 9
    assert len(plot_marginals(wide, [0, 1], columns=[3]).axes) == 1
    four: Any = plot_marginals(wide, [0, 1], columns=[0, 1, 2, 3])
    assert sum(bool(ax.patches) for ax in four.axes) == 4
    with refuses("columns"):
        plot_marginals(wide, [0], columns=[20])


@pytest.mark.parametrize("scale", [1.0, 70_000.0, 1e9, 2e-7])
def test_numbers_below_marginals_do_not_overlap(scale):
    table = scale * (1 + RNG.random((200, 3)) * [0.1, 0.8, 30])
    figure = plot_marginals(table, PICKS[PICKS < 200])
    figure.canvas.draw()
    for ax in figure.axes:
        low, high = ax.get_xlim()
        labels = zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
        boxes = [label.get_window_extent() for tick, label in labels if low <= tick <= high]
        assert 2 <= len(boxes) <= 5
        assert all(a.x1 + 4 < b.x0 for a, b in itertools.pairwise(boxes))


def test_mmd_path():
    t = np.array([1, 2, 4, 8])
    ax: Any = plot_mmd_path(t, 0.5 / t, 0.5 / np.sqrt(t), final=(8, 0.01)).axes[0]
    by_label = {line.get_label(): line for line in ax.lines}
    assert by_label["random rows"].get_ydata().tolist() == (0.5 / np.sqrt(t)).tolist()
    assert by_label["chosen rows"].get_ydata().tolist() == (0.5 / t).tolist()
    assert by_label["1/T"].get_ydata().tolist() == (0.5 / t).tolist()
    assert offsets(ax)[0].tolist() == [[8, 0.01]]
    only: Any = plot_mmd_path(t, [], 0.5 / np.sqrt(t)).axes[0]
    assert [line.get_label() for line in only.lines] == ["random rows"]
    with pytest.raises(ValueError, match="must have 4 values, got 1"):
        plot_mmd_path(t, [1.0], [])


def test_density_has_contours_and_both_kinds_of_points():
    points, others = RNG.normal(size=(20, 2)), RNG.normal(size=(15, 2))
    figure = plot_density(lambda z: np.exp(-np.sum(z**2, axis=1)), points, others=others)
    figure.canvas.draw()
    ax: Any = figure.axes[0]
    drawn = offsets(ax)
    assert any(np.array_equal(each, points) for each in drawn)
    assert any(np.array_equal(each, others) for each in drawn)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["i.i.d.", "herded"]
    with refuses("points"):
        plot_density(lambda z: z[:, 0], np.zeros((3, 3)))
