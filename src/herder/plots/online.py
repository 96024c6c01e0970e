r"""Pictures of online learners: one update, the progressive error, calibration, weights.

An ellipse shows a Gaussian :math:`N(\mu, \Sigma)` over two weights: it is the set
:math:`(w - \mu)^T \Sigma^{-1} (w - \mu) = 1`. NHERD moves each weight vector w of it to
:math:`A (w - \mu) + \mu'` with :math:`A = (\Sigma^{-1} + C x x^T)^{-1} \Sigma^{-1}`; with a full
covariance the ellipse moves along (figure 2 of [crammer2010]_).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import (
    check_fitted,
    finite_number,
    flag,
    of_kind,
    one_of,
    positive_int,
    positive_number,
)
from herder.online.classifier import OnlineClassifier
from herder.online.confidence import ConfidenceWeighted
from herder.online.gaussian import AROW, NHERD, GaussianClassifier, SecondOrderPerceptron
from herder.plots._inputs import by_label, numbers, texts
from herder.plots._style import BESIDE, GREY, INK, SERIES, Figure, line_style, new_figure

__all__ = ["plot_calibration", "plot_progressive", "plot_update", "plot_weights"]

PALE = "#e4e7eb"

#: Line styles of the forms of a covariance; colours are those of the learners.
STYLES = {"project": "-", "exact": "--", "drop": ":", "full": "-."}

#: Colours of the learners.
COLOURS = dict(zip((NHERD, AROW, ConfidenceWeighted, SecondOrderPerceptron), SERIES, strict=True))

#: Weight vectors that the flow is drawn for: numbers on a ring, and its radius in ellipses.
RINGS = ((20, 1.0), (10, 0.55))

#: Steps of the histogram of probabilities.
N_STAIRS = 20

#: C |row|^2 at most: beyond it rounding leaves no ellipse to draw.
MAX_GAIN = 1e12

#: Corners of the polygon that is drawn as an ellipse.
N_CORNERS = 181


def plot_update(
    row: ArrayLike = (1.0, 2.0),
    label: int = 1,
    *,
    C: float = 1.0,
    learners: Mapping[str, GaussianClassifier] | None = None,
) -> Figure:
    """Draw the update of a Gaussian over two weights, N(0, I) at first, by one row.

    Parameters
    ----------
    row : array-like of shape (2,), default (1, 2)
        The row, whose two features are not both zero.
    label : {-1, 1}, default 1
        Its label.
    C : float, default 1.0
        Of NHERD on the left, and of the learners on the right if there are none given.
    learners : mapping of str to estimator, optional
        Learners with a covariance, not fitted, to compare on the right; those of figure 2 of the
        paper by default. They must have ``fit_intercept=False``.

    Returns
    -------
    Figure
        On the left the flow of NHERD with a full covariance: where weight vectors go. On the
        right the ellipses of the learners after the update. The square is the mean, the lines
        are those of margin 0 and 1.
    """
    x = numbers(row, "row")
    if x.shape != (2,) or not x @ x > np.finfo(float).tiny:
        raise ParameterError("row", "be two numbers, not both zero or nearly", row)
    one_of(label, "label", (-1, 1))
    rate = positive_number(C, "C")
    if rate * float(x @ x) > MAX_GAIN:
        raise ParameterError("C", f"be at most {MAX_GAIN:g} over the squared length of row", C)
    compared = _figure_two(rate) if learners is None else by_label(learners, "learners")
    moved = {name: _taught(model, x, label) for name, model in compared.items()}
    figure, (left, right) = new_figure(2, width=4.6, height=4.4)
    for ax in (left, right):
        _ellipse(ax, np.zeros(2), np.eye(2), facecolor=PALE, edgecolor=GREY, label="before")
    _draw_flow(left, x, label, rate)
    for name, (mean, covariance) in moved.items():
        style = _style(compared[name])
        _ellipse(right, mean, covariance, fill=False, linewidth=1.6, label=name, **style)
        right.plot(*mean, "s", color=SERIES[3], markersize=5)
    for ax in (left, right):
        ax.set_aspect("equal")
        ax.autoscale_view()
        ax.margins(0.08)
        _margin_lines(ax, label * x)
        ax.set_xlabel("first weight")
    left.set_ylabel("second weight")
    left.set_title("NHERD, full covariance: the flow", fontsize=10, color=INK)
    right.set_title("after the row", fontsize=10, color=INK)
    right.legend(frameon=False, fontsize=8, **BESIDE)
    return figure


def plot_progressive(
    histories: Mapping[str, Sequence[tuple[float, float]]],
    *,
    recent: bool = False,
    noise: float | None = None,
) -> Figure:
    """Draw the progressive error of learners: each row is predicted before it is learnt.

    Parameters
    ----------
    histories : mapping of str to sequence of (float, float)
        For each learner what ``n_seen_`` and ``progressive_error_`` were after each call of
        ``partial_fit``.
    recent : bool, default False
        Draw the error among the rows of each call, not of all rows so far: it shows drift.
    noise : float, optional
        Share of wrong labels, drawn as a line: the error of a perfect classifier.
    """
    recent = flag(recent, "recent")
    share = None if noise is None else finite_number(noise, "noise")
    figure, ax = new_figure(width=6.0)
    rule = "hold pairs of rows and error"
    for place, (name, pairs) in enumerate(by_label(histories, "histories").items()):
        path = numbers(pairs, "histories", 2, rule)
        if path.shape[1:] != (2,) or not len(path):
            raise ParameterError("histories", rule, got=f"{name!r}: {pairs}")
        seen, error = path.T
        new = np.diff(seen, prepend=0.0)
        if (new <= 0).any():
            got = f"{name!r}: {seen}"
            raise ParameterError("histories", "have growing numbers of rows", got=got)
        if recent:
            error = np.diff(seen * error, prepend=0.0) / new
        ax.plot(seen, error, linewidth=1.5, label=name, **line_style(place))
    if share is not None:
        ax.axhline(share, color=GREY, linestyle="--", linewidth=1.1, label="wrong labels")
    ax.set_ylim(bottom=0.0)
    ax.set(xlabel="rows seen", ylabel="error of the last rows" if recent else "progressive error")
    ax.legend(frameon=False, fontsize=9)
    return figure


def plot_calibration(
    probabilities: Mapping[str, ArrayLike], outcomes: ArrayLike, *, n_bins: int = 10
) -> Figure:
    """Draw observed frequencies against predicted probabilities: a calibration curve.

    Parameters
    ----------
    probabilities : mapping of str to array-like of shape (n,)
        Predicted probabilities of each learner, such as ``predict_proba(X)[:, 1]``.
    outcomes : array-like of bool of shape (n,)
        Whether each event occurred, such as ``y == model.classes_[1]``.
    n_bins : int, default 10
        Groups of rows, of equal size, in the order of their probabilities.

    Returns
    -------
    Figure
        Above, the observed frequency of each group against its mean probability; a calibrated
        classifier lies on the diagonal. Below, a histogram of the probabilities.
    """
    compared = by_label(probabilities, "probabilities")
    happened = numbers(outcomes, "outcomes") != 0
    if not positive_int(n_bins, "n_bins") <= len(happened):
        raise ParameterError("n_bins", f"be at most {len(happened)}", n_bins)
    edges = np.linspace(0.0, 1.0, N_STAIRS + 1)
    figure, (top, low) = new_figure(width=5.0, height=5.2, n_rows=2)
    top.axline((0, 0), slope=1, color=GREY, linewidth=1, zorder=1)
    for place, (name, values) in enumerate(compared.items()):
        given = numbers(values, "probabilities")
        if given.shape != happened.shape or ((given < 0) | (given > 1)).any():
            got = f"{name!r} of shape {given.shape}"
            rule = f"be {len(happened)} numbers from 0 to 1"
            raise ParameterError("probabilities", rule, got=got)
        groups = np.array_split(np.argsort(given, kind="stable"), n_bins)
        predicted = [given[group].mean() for group in groups]
        observed = [happened[group].mean() for group in groups]
        colour = SERIES[place % len(SERIES)]
        top.plot(predicted, observed, "o-", color=colour, markersize=4, linewidth=1.3, label=name)
        low.stairs(np.histogram(given, edges)[0], edges, color=colour, linewidth=1.5)
    top.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), ylabel="observed frequency")
    top.legend(frameon=False, fontsize=9)
    low.set(xlim=(-0.03, 1.03), xlabel="predicted probability", ylabel="rows")
    return figure


def plot_weights(
    model: OnlineClassifier,
    *,
    names: Sequence[str] | None = None,
    n_features: int = 15,
    label: Any = None,
) -> Figure:
    """Draw the strongest weights of a model, with one standard deviation to either side.

    Parameters
    ----------
    model : NHERD, AROW or another of the family
        Fitted. Learners without a covariance have no deviations to show.
    names : sequence of str, optional
        Names of the features; those that ``fit`` saw, or numbers, by default.
    n_features : int, default 15
        Features to show, those whose means are furthest from zero.
    label : optional
        The class whose weights are shown, if each class has its own; with one block of weights
        positive ones favour the second class.
    """
    of_kind(model, "model", OnlineClassifier, "an online classifier")
    check_fitted(model, "classes_")
    n_features = positive_int(n_features, "n_features")
    means = model.coef_
    block, towards = _block_of(model, label)
    known = getattr(model, "feature_names_in_", [str(j) for j in range(means.shape[1])])
    all_names = texts(known if names is None else names, "names", means.shape[1])
    top = np.argsort(-np.abs(means[block]), kind="stable")[:n_features]
    shown, heights = means[block][top], np.arange(len(top))
    figure, ax = new_figure(width=5.6, height=1.1 + 0.22 * len(top))
    signs = [SERIES[0] if mean >= 0 else SERIES[3] for mean in shown]
    ax.axvline(0.0, color=GREY, linewidth=1, zorder=1)
    ax.barh(heights, shown, color=signs, height=0.62, alpha=0.85)
    if isinstance(model, GaussianClassifier):
        spread = model.covariance_
        if model.covariance == "full":
            spread = np.diagonal(spread, axis1=-2, axis2=-1).reshape(means.shape)
        style: dict[str, Any] = {"fmt": "none", "ecolor": INK, "elinewidth": 1.1, "capsize": 2}
        ax.errorbar(shown, heights, xerr=np.sqrt(spread[block][top]), **style)
    ax.set_yticks(heights, [all_names[j] for j in top])
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(f"weight towards {towards}")
    return figure


def _figure_two(C: float) -> Mapping[str, GaussianClassifier]:
    forms = [(NHERD, ("project", "exact", "drop")), (AROW, ("project", "drop"))]
    return {
        f"{kind.__name__} {form}": kind(C, covariance=form, fit_intercept=False)
        for kind, kept in forms
        for form in kept
    }


def _taught(
    model: GaussianClassifier, x: NDArray[np.float64], label: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and covariance of a copy of the model after the row."""
    from sklearn.base import clone

    if not isinstance(model, GaussianClassifier) or model.fit_intercept:
        raise ParameterError("learners", "have a covariance and fit_intercept=False", model)
    after: Any = clone(model)
    after.partial_fit(x[None], [label], classes=[-1, 1])
    spread = after.covariance_
    return after.coef_[0], spread if spread.shape == (2, 2) else np.diag(spread[0])


def _style(model: GaussianClassifier) -> dict[str, str]:
    colour = next((colour for kind, colour in COLOURS.items() if isinstance(model, kind)), INK)
    return {"edgecolor": colour, "linestyle": STYLES[model.covariance]}


def _ellipse(
    ax: Any, mean: NDArray[np.float64], covariance: NDArray[np.float64], **style: Any
) -> None:
    from matplotlib.patches import Polygon

    turn = np.linspace(0.0, 2.0 * np.pi, N_CORNERS)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    corners = mean + circle @ np.linalg.cholesky(covariance).T
    ax.add_patch(Polygon(corners, closed=True, **style))


def _draw_flow(ax: Any, x: NDArray[np.float64], label: int, C: float) -> None:
    mean, covariance = _taught(NHERD(C, covariance="full", fit_intercept=False), x, label)
    flow = np.linalg.inv(np.eye(2) + C * np.outer(x, x))
    style: dict[str, Any] = {"arrowstyle": "-|>", "color": INK, "linewidth": 0.7}
    style |= {"shrinkA": 0, "shrinkB": 0, "mutation_scale": 7}
    starts = []
    for number, radius in RINGS:
        turn = np.arange(number) * 2.0 * np.pi / number
        starts.append(radius * np.column_stack([np.cos(turn), np.sin(turn)]))
    before = np.concatenate(starts)
    after = before @ flow.T + mean
    for start, end in zip(before, after, strict=True):
        ax.annotate("", xy=end, xytext=start, arrowprops=style)
    ax.scatter(*before.T, s=7, color=GREY, zorder=3)
    ax.scatter(*after.T, s=9, color=SERIES[0], zorder=4)
    _ellipse(ax, mean, covariance, fill=False, edgecolor=SERIES[0], linewidth=1.6)
    ax.plot(*mean, "s", color=SERIES[3], markersize=6, zorder=5)


def _margin_lines(ax: Any, toward: NDArray[np.float64]) -> None:
    """Draw the lines of weights with margins 0 and 1, whose normal is the row."""
    ax.set_autoscale_on(False)
    across = np.array([-toward[1], toward[0]])
    foot = toward / (toward @ toward)
    for margin, dash in ((0.0, "--"), (1.0, "-")):
        style = {"color": GREY, "linestyle": dash, "linewidth": 1, "label": f"margin {margin:g}"}
        ax.axline(margin * foot, margin * foot + across, **style)


def _block_of(model: OnlineClassifier, label: Any) -> tuple[int, Any]:
    """Return the block of weights of a class, and the class."""
    classes = model.classes_.tolist()
    if len(model.coef_) == 1:
        if label is not None:
            one_of(label, "label", [classes[1]])
        return 0, classes[1]
    one_of(label, "label", classes)
    return classes.index(label), label
