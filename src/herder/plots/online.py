r"""Pictures of online learners: one update, the progressive error, calibration, weights.

An ellipse stands for a Gaussian :math:`N(\mu, \Sigma)` over two weights: it is the set
:math:`(w - \mu)^T \Sigma^{-1} (w - \mu) = 1`. NHERD moves each weight vector w of it to
:math:`A (w - \mu) + \mu'` with :math:`A = (\Sigma^{-1} + C x x^T)^{-1} \Sigma^{-1}`; with a full
covariance the ellipse moves along (figure 2 of [crammer2010]_).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import check_fitted, positive_int, positive_number
from herder.online.classifier import OnlineClassifier
from herder.online.confidence import ConfidenceWeighted
from herder.online.gaussian import AROW, NHERD, GaussianClassifier, SecondOrderPerceptron
from herder.plots._style import GREY, INK, SERIES, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_calibration", "plot_progressive", "plot_update", "plot_weights"]

PALE = "#e4e7eb"

#: Line styles of the forms of a covariance: the colour tells the learner.
STYLES = {"project": "-", "exact": "--", "drop": ":", "full": "-."}

#: Colours of the learners.
COLOURS = dict(zip((NHERD, AROW, ConfidenceWeighted, SecondOrderPerceptron), SERIES, strict=True))

#: Weight vectors that the flow is drawn for: numbers on a ring, and its radius in ellipses.
RINGS = ((20, 1.0), (10, 0.55))

#: Steps of the histogram of probabilities.
N_STAIRS = 20

#: Corners of the polygon that is drawn as an ellipse.
N_CORNERS = 181


def plot_update(
    row: ArrayLike = (1.0, 2.0),
    label: int = 1,
    *,
    C: float = 1.0,
    learners: Mapping[str, GaussianClassifier] | None = None,
) -> "Figure":
    """Draw what one row does to a Gaussian over two weights that begins at N(0, I).

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
    x = np.asarray(row, dtype=np.float64)
    if x.shape != (2,) or not x.any() or not np.isfinite(x).all():
        raise ParameterError("row", "be two numbers, not both zero", row)
    if label not in (-1, 1):
        raise ParameterError("label", "be -1 or 1", label)
    rate = positive_number(C, "C")
    compared = _figure_two(rate) if learners is None else learners
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
    right.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def plot_progressive(
    histories: Mapping[str, Sequence[tuple[float, float]]],
    *,
    recent: bool = False,
    noise: float | None = None,
) -> "Figure":
    """Draw the progressive error of learners: rows predicted wrongly before they were learnt.

    Parameters
    ----------
    histories : mapping of str to sequence of (float, float)
        For each learner what ``n_seen_`` and ``progressive_error_`` were after each call of
        ``partial_fit``.
    recent : bool, default False
        Draw the error among the rows of each call, not of all rows so far: it shows drift.
    noise : float, optional
        Share of wrong labels, drawn as a line: without luck no learner is below it.
    """
    if not histories:
        raise ParameterError("histories", "hold at least one", got="none")
    figure, ax = new_figure(width=6.0)
    for place, (name, pairs) in enumerate(histories.items()):
        path = np.asarray(pairs, dtype=np.float64)
        if path.ndim != 2 or path.shape[1:] != (2,) or not len(path):
            raise ParameterError(
                "histories", "hold pairs of rows and error", got=f"{name!r}: {pairs}"
            )
        seen, error = path.T
        if (np.diff(seen, prepend=0.0) <= 0).any():
            raise ParameterError(
                "histories", "have growing numbers of rows", got=f"{name!r}: {seen}"
            )
        if recent:
            error = np.diff(seen * error, prepend=0.0) / np.diff(seen, prepend=0.0)
        style = {"color": SERIES[place % len(SERIES)], "linestyle": _dashes(place)}
        ax.plot(seen, error, linewidth=1.5, label=name, **style)
    if noise is not None:
        ax.axhline(noise, color=GREY, linestyle="--", linewidth=1.1, label="wrong labels")
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("rows seen")
    ax.set_ylabel("error of the last rows" if recent else "progressive error")
    ax.legend(frameon=False, fontsize=9)
    return figure


def plot_calibration(
    probabilities: Mapping[str, ArrayLike], outcomes: ArrayLike, *, n_bins: int = 10
) -> "Figure":
    """Draw how often things happened against the probability they were given.

    Parameters
    ----------
    probabilities : mapping of str to array-like of shape (n,)
        For each learner the probability that it gave to each row, such as
        ``predict_proba(X)[:, 1]``.
    outcomes : array-like of bool of shape (n,)
        Whether it was so, such as ``y == model.classes_[1]``.
    n_bins : int, default 10
        Groups of rows, of equal size, by their probabilities in order.

    Returns
    -------
    Figure
        Above, the share of rows in each group where it was so, against their mean probability; on
        the diagonal a probability is what it says. Below, how many rows have which probability.
    """
    if not probabilities:
        raise ParameterError("probabilities", "hold at least one", got="none")
    happened = np.asarray(outcomes, dtype=np.bool_)
    if not positive_int(n_bins, "n_bins") <= len(happened):
        raise ParameterError("n_bins", f"be at most {len(happened)}", n_bins)
    edges = np.linspace(0.0, 1.0, N_STAIRS + 1)
    figure, (top, low) = new_figure(width=5.0, height=5.2, n_rows=2)
    top.axline((0, 0), slope=1, color=GREY, linewidth=1, zorder=1)
    for place, (name, values) in enumerate(probabilities.items()):
        given = np.asarray(values, dtype=np.float64)
        if given.shape != happened.shape or ((given < 0) | (given > 1)).any():
            raise ParameterError(
                "probabilities",
                f"be {len(happened)} numbers from 0 to 1",
                got=f"{name!r} of shape {given.shape}",
            )
        groups = np.array_split(np.argsort(given, kind="stable"), n_bins)
        said = [given[group].mean() for group in groups]
        was = [happened[group].mean() for group in groups]
        colour = SERIES[place % len(SERIES)]
        top.plot(said, was, "o-", color=colour, markersize=4, linewidth=1.3, label=name)
        low.stairs(np.histogram(given, edges)[0], edges, color=colour, linewidth=1.5)
    top.set_xlim(-0.03, 1.03)
    top.set_ylim(-0.03, 1.03)
    top.set_ylabel("share where it was so")
    top.legend(frameon=False, fontsize=9)
    low.set_xlim(-0.03, 1.03)
    low.set_xlabel("probability given")
    low.set_ylabel("rows")
    return figure


def plot_weights(
    model: OnlineClassifier,
    *,
    names: Sequence[str] | None = None,
    n_features: int = 15,
    label: Any = None,
) -> "Figure":
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
        positive ones speak for the second class.
    """
    check_fitted(model, "classes_")
    n_features = positive_int(n_features, "n_features")
    means = model.coef_
    block, towards = _block_of(model, label)
    known = getattr(model, "feature_names_in_", [str(j) for j in range(means.shape[1])])
    all_names = [str(name) for name in (known if names is None else names)]
    if len(all_names) != means.shape[1]:
        raise ParameterError("names", f"be {means.shape[1]}", len(all_names))
    top = np.argsort(-np.abs(means[block]), kind="stable")[:n_features]
    deviations = _deviations(model)
    bars = None if deviations is None else deviations[block][top]
    figure, ax = new_figure(width=5.6, height=1.1 + 0.22 * len(top))
    heights = np.arange(len(top))
    signs = [SERIES[0] if mean >= 0 else SERIES[3] for mean in means[block][top]]
    ax.axvline(0.0, color=GREY, linewidth=1, zorder=1)
    ax.barh(heights, means[block][top], color=signs, height=0.62, alpha=0.85)
    if bars is not None:
        style: dict[str, Any] = {"fmt": "none", "ecolor": INK, "elinewidth": 1.1, "capsize": 2}
        ax.errorbar(means[block][top], heights, xerr=bars, **style)
    ax.set_yticks(heights, [all_names[j] for j in top])
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(f"weight towards {towards}")
    return figure


def _figure_two(C: float) -> Mapping[str, GaussianClassifier]:
    forms = ("project", "exact", "drop")
    herds = {f"NHERD {form}": NHERD(C, covariance=form, fit_intercept=False) for form in forms}
    others = ("project", "drop")
    return herds | {
        f"AROW {form}": AROW(C, covariance=form, fit_intercept=False) for form in others
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
    found = [colour for kind, colour in COLOURS.items() if isinstance(model, kind)]
    colour = found[0] if found else INK
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
    """Draw the weights with margin 0 and 1; the row is their normal."""
    ax.set_autoscale_on(False)
    across = np.array([-toward[1], toward[0]])
    foot = toward / (toward @ toward)
    for margin, dash in ((0.0, "--"), (1.0, "-")):
        on_line = margin * foot
        style = {"color": GREY, "linestyle": dash, "linewidth": 1}
        ax.axline(on_line, on_line + across, label=f"margin {margin:g}", **style)


def _dashes(place: int) -> str:
    return ("-", "--", ":")[place // len(SERIES) % 3]


def _block_of(model: OnlineClassifier, label: Any) -> tuple[int, Any]:
    """Return the block of weights that speaks for a class, and the class."""
    classes = model.classes_.tolist()
    if len(model.coef_) == 1:
        if label is not None and label != classes[1]:
            raise ParameterError("label", f"be {classes[1]!r} or None", label)
        return 0, classes[1]
    if label not in classes:
        raise ParameterError("label", f"be one of {classes}", label)
    return classes.index(label), label


def _deviations(model: OnlineClassifier) -> NDArray[np.float64] | None:
    """Return the standard deviations of the weights, shaped like ``coef_``, if there are any."""
    if not isinstance(model, GaussianClassifier):
        return None
    spread, shape = model.covariance_, model.coef_.shape
    if model.covariance == "full":
        spread = np.diagonal(spread, axis1=-2, axis2=-1).reshape(shape)
    return np.sqrt(spread)
