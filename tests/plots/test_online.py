from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from herder import AROW, NHERD, ConfidenceWeighted, PassiveAggressive
from herder.plots import plot_calibration, plot_progressive, plot_update, plot_weights
from tests.naming import refuses

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 4))
Y = (X @ [2.0, -1.0, 0.0, 0.1] > 0).astype(int)


def patches(ax: Any) -> dict[str, np.ndarray]:
    return {patch.get_label(): patch.get_xy()[:-1] for patch in ax.patches}


def test_the_flow_carries_the_circle_to_the_ellipse():
    figure = plot_update()
    figure.canvas.draw()
    ax: Any = figure.axes[0]
    before, after = (np.asarray(c.get_offsets()) for c in ax.collections)
    # from N(0, I) with x = (1, 2), C = 1: |x|^2 = 5, mu = x / 6, A = I - x x' / 6
    x = np.array([1.0, 2.0])
    assert np.allclose(after, before - np.outer(before @ x, x) / 6 + x / 6, atol=1e-15)
    # and the ellipse of the learner is where the unit circle goes: A A' by theorem 1
    covariance = np.linalg.matrix_power(np.eye(2) - np.outer(x, x) / 6, 2)
    on_circle = np.isclose(np.linalg.norm(before, axis=1), 1.0)
    gaps = after[on_circle] - x / 6
    lengths = np.einsum("ij,jk,ik->i", gaps, np.linalg.inv(covariance), gaps)
    assert np.allclose(lengths, 1.0, atol=1e-12)
    corners = ax.patches[1].get_xy() - x / 6
    lengths = np.einsum("ij,jk,ik->i", corners, np.linalg.inv(covariance), corners)
    assert np.allclose(lengths, 1.0, atol=1e-12)


def test_ellipses_of_the_five_forms():
    ax: Any = plot_update().axes[1]
    drawn = patches(ax)
    # half axes after x = (1, 2), C = 1: by the formulas of the forms, with v = 5
    expected = {
        "before": (1, 1),
        "NHERD project": (1 / 8, 1 / 29),
        "NHERD exact": (1 / 4, 1 / 25),
        "NHERD drop": (1 - 7 / 36, 1 - 28 / 36),
        "AROW project": (1 / 2, 1 / 5),
        "AROW drop": (1 - 1 / 6, 1 - 4 / 6),
    }
    assert list(drawn) == list(expected)
    for name, variances in expected.items():
        centre = np.zeros(2) if name == "before" else np.array([1.0, 2.0]) / 6
        reach = np.abs(drawn[name] - centre).max(axis=0)
        assert np.allclose(reach, np.sqrt(variances), atol=1e-9), name


def test_margin_lines_are_where_they_say():
    figure = plot_update([2.0, -1.0], -1)
    for ax in figure.axes:
        lines = {line.get_label(): line for line in ax.lines}
        for margin in (0, 1):
            line: Any = lines[f"margin {margin}"]
            points = np.array([line.get_xy1(), line.get_xy2()])
            assert np.allclose(points @ [-2.0, 1.0], margin)


def test_other_learners_are_copied_and_told_apart():
    given = {
        "soft": ConfidenceWeighted(form="soft-1", covariance="full", fit_intercept=False),
        "AROW": AROW(0.5, fit_intercept=False),
    }
    ax: Any = plot_update((1.0, 1.0), learners=given).axes[1]
    assert list(patches(ax)) == ["before", "soft", "AROW"]
    assert len({patch.get_edgecolor() for patch in ax.patches}) == 3
    assert not hasattr(given["AROW"], "classes_")


@pytest.mark.parametrize(
    ("row", "label", "options", "name"),
    [
        ((1, 2, 3), 1, {}, "row"),
        ((0, 0), 1, {}, "row"),
        ((np.inf, 0), 1, {}, "row"),
        ((1, 2), 0, {}, "label"),
        ((1, 2), 1, {"C": 0}, "C"),
        ((1, 2), 1, {"learners": {"a": AROW()}}, "learners"),
        ((1, 2), 1, {"learners": {"a": PassiveAggressive()}}, "learners"),
    ],
)
def test_update_refuses(row, label, options, name):
    with refuses(name):
        plot_update(row, label, **options)


def test_progressive_error_of_all_rows_and_of_the_last():
    model, history, wrong = NHERD(), [], np.empty(300)
    for i in range(300):
        guess = model.predict(X[i : i + 1])[0] if i else 0
        wrong[i] = guess != Y[i]
        model.partial_fit(X[i : i + 1], [Y[i]], classes=[0, 1])
        if (i + 1) % 50 == 0:
            history.append((model.n_seen_, model.progressive_error_))
    ax: Any = plot_progressive({"NHERD": history}, noise=0.1).axes[0]
    line, floor = ax.lines
    assert line.get_xdata().tolist() == [50, 100, 150, 200, 250, 300]
    assert np.allclose(line.get_ydata(), np.cumsum(wrong)[49::50] / line.get_xdata())
    assert set(floor.get_ydata()) == {0.1}
    late: Any = plot_progressive({"NHERD": history, "same": history}, recent=True).axes[0]
    errors = late.lines[0].get_ydata()
    assert np.allclose(errors, wrong.reshape(6, 50).mean(axis=1))
    assert [text.get_text() for text in late.get_legend().get_texts()] == ["NHERD", "same"]


@pytest.mark.parametrize(
    "histories",
    [
        {},
        {"a": []},
        {"a": [(1, 2, 3)]},
        {"a": [(5, 0.1), (5, 0.1)]},
    ],
)
def test_progressive_refuses(histories):
    with refuses("histories"):
        plot_progressive(histories)


def test_calibration_is_the_share_in_each_group():
    given = np.array([0.55, 0.05, 0.45, 0.0, 0.56, 1.0])
    was = np.array([1, 1, 0, 0, 0, 1], bool)
    ax, below = plot_calibration({"one": given}, was, n_bins=2).axes
    line: Any = next(line for line in ax.lines if line.get_label() == "one")
    assert np.allclose(line.get_xdata(), [0.5 / 3, 2.11 / 3])
    assert np.allclose(line.get_ydata(), [1 / 3, 2 / 3])
    stairs: Any = below.patches[0]
    counts = stairs.get_data().values
    assert counts.sum() == 6
    assert counts[11] == 2
    assert counts[-1] == 1


def test_calibration_refuses():
    with refuses("probabilities"):
        plot_calibration({}, [True])
    with refuses("probabilities"):
        plot_calibration({"a": [0.5]}, [True, False], n_bins=1)
    with refuses("probabilities"):
        plot_calibration({"a": [1.5]}, [True], n_bins=1)
    with refuses("n_bins"):
        plot_calibration({"a": [0.5]}, [True], n_bins=0)
    with refuses("n_bins"):
        plot_calibration({"a": [0.5]}, [True])


def test_the_strongest_weights_come_first():
    model = NHERD().fit(X, Y)
    ax: Any = plot_weights(model, names=list("abcd"), n_features=2).axes[0]
    order = np.argsort(-np.abs(model.coef_[0]))[:2]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["abcd"[j] for j in order]
    bars = [patch.get_width() for patch in ax.patches]
    assert bars == model.coef_[0][order].tolist()
    spans = np.array([np.ptp(segment[:, 0]) for segment in ax.collections[0].get_segments()])
    assert np.allclose(spans, 2 * np.sqrt(model.covariance_[0][order]))
    assert ax.get_xlabel() == "weight towards 1"


@pytest.mark.parametrize("multi_class", ["max-margin", "one-vs-rest"])
def test_weights_of_one_of_several_classes(multi_class):
    iris: Any = load_iris(as_frame=True)
    rows, flowers = iris.data, iris.target
    model = AROW(covariance="full", multi_class=multi_class, new_classes="add").fit(rows, flowers)
    ax: Any = plot_weights(model, label=2).axes[0]
    order = np.argsort(-np.abs(model.coef_[2]))
    assert [text.get_text() for text in ax.get_yticklabels()] == rows.columns[order].tolist()
    spans = np.array([np.ptp(segment[:, 0]) for segment in ax.collections[0].get_segments()])
    covariance = model.covariance_
    own = covariance[2] if multi_class == "one-vs-rest" else covariance[8:12, 8:12]
    assert np.allclose(spans, 2 * np.sqrt(own.diagonal()[order]))
    with refuses("label"):
        plot_weights(model)


def test_weights_without_a_covariance_have_no_deviations():
    ax: Any = plot_weights(PassiveAggressive().fit(X, Y)).axes[0]
    assert not ax.collections
    assert len(ax.patches) == 4
    with refuses("label"):
        plot_weights(PassiveAggressive().fit(X, Y), label=0)
    with refuses("names"):
        plot_weights(PassiveAggressive().fit(X, Y), names=["a"])
