r"""Thin a sample: choose its most representative rows.

Herding picks rows greedily, and exchange sweeps then improve the set (`herder.kernel.choice`).
They minimise the MMD between the chosen rows and the whole sample, which bounds the error of
every average: for a function f in the space of the kernel,

.. math:: | E_{all} f - E_{chosen} f | \le \|f\| \, \mathrm{MMD}.

A random subset of size m has a root mean squared MMD of
:math:`\sqrt{(E k(x, x) - E E k(x, x')) (n - m) / (m (n - 1))}`, which is reported beside ours.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._deprecated import warn_renamed
from herder._errors import ParameterError, ParameterTypeError
from herder._validation import flag, function_or_none, one_of, positive_int
from herder.core.blas import one_blas_thread
from herder.core.lanes import Progress
from herder.core.summary import counted, listed
from herder.data.rows import Rows, read_choice, read_labels, read_rows, read_weights
from herder.kernel.approximate import APPROXIMATIONS, Approximation
from herder.kernel.bandwidth import BandwidthLike, KernelLike, attach_scores, resolve_kernel
from herder.kernel.candidates import Candidates, candidates_of, weights_or_equal
from herder.kernel.choice import Rules, choose
from herder.kernel.cost import LONG_SECONDS, exact_cost
from herder.kernel.functions import Kernel, Stein
from herder.kernel.labelled import (
    Allocation,
    LabelledCandidates,
    absent_classes,
    check_quotas,
    quotas,
)
from herder.kernel.quadrature import choose_weighted
from herder.kernel.result import Thinning
from herder.kernel.targets import GivenTarget, columns_at_borders, read_target

__all__ = ["thin"]

_log = logging.getLogger("herder")


@dataclass(frozen=True, eq=False)
class Task:
    """A sample under a kernel, with the target to match."""

    rows: Rows
    values: NDArray[Any]
    kernel: Kernel
    given: GivenTarget | None
    weight: NDArray[np.float64] | None = None
    n_jobs: int | None = None
    classes: NDArray[Any] | None = None
    candidates: LabelledCandidates | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def mass(self) -> NDArray[np.float64]:
        """Weight of every row; they sum to one."""
        return weights_or_equal(self.weight, len(self.values))

    def part(self, rows: NDArray[np.intp], mass: float) -> "Task":
        """Return the task of one class alone."""
        given = self.given and replace(self.given, values=self.given.values[rows] / mass)
        weight = None if self.weight is None else self.weight[rows] / mass
        own = {"values": self.values[rows], "weight": weight, "given": given}
        return replace(self, candidates=None, **own)

    def make_candidates(self) -> Candidates:
        """Return the rows under the kernel: those of all classes, or made anew."""
        if self.candidates is not None:
            return self.candidates
        return candidates_of(self.values, self.kernel, n_jobs=self.n_jobs)


@one_blas_thread()
def thin(
    X: Any,
    n_select: int,
    *,
    kernel: KernelLike = "energy",
    bandwidth: BandwidthLike = "median",
    standardise: bool = True,
    refine: bool | int = True,
    unique: bool = True,
    weights: str = "uniform",
    sample_weight: ArrayLike | None = None,
    log_weight: ArrayLike | None = None,
    score: Any = None,
    kernel_mean: Any = None,
    y: ArrayLike | None = None,
    allocation: Allocation = "proportional",
    include: ArrayLike | None = None,
    exclude: ArrayLike | None = None,
    approximate: "str | Approximation | None" = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    shares: Allocation | None = None,  # deprecated name of allocation
) -> Thinning:
    """Choose the most representative rows of a sample.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (chain, draw, ...)
        The sample: an array (it may be memory-mapped), a pandas or polars frame, an xarray or
        ArviZ posterior, or a mapping of names to draws. Columns of frames and mappings may hold
        dates, compared by their days, and categories (text, booleans, the categories of pandas):
        two that differ are at the distance sqrt(2), which is typical of two rows in a standardised
        column of numbers.
    n_select : int
        How many rows to choose; more than there are only with ``unique=False``.
    kernel : str or callable, default "energy"
        "energy", "gaussian", "matern32", "matern52", "laplace", "inverse-multiquadric", "stein"
        (with ``score``), a kernel of `herder.kernel`, or a function of two tables of rows that
        returns their Gram matrix. Kernels that are objects or functions are used as they are, on
        the columns as they are.
    bandwidth : "median", float or array of shape (n_features,)
        Length scale of the kernel, one or one for each column. "median" is the median distance
        of rows, from at most 2,000 of them, spread evenly. The energy kernel has none.
    standardise : bool, default True
        Divide every column by its standard deviation first, so that units do not matter; given
        bandwidths are then in standard deviations. False compares the columns as they are.
    refine : bool or int, default True
        Exchange rows after herding, for the best set of that size. An int is the number of
        sweeps; by default two over all rows of a large sample, up to twenty of a small one. False
        keeps the nested order of herding, whose first rows are the choice of a smaller size (with
        labels, within each class). For equal weights only: the other modes have their own search.
    unique : bool, default True
        Choose no row twice.
    weights : "uniform", "simplex" or "optimal"
        Equal weights; weights of a distribution; or any weights (Bayesian quadrature). The latter
        two choose their own support and reach a far smaller MMD.
    sample_weight, log_weight : array-like of shape (n_samples,), optional
        Weights of the rows in the target, or their logarithms, as from importance sampling.
        If the target is given by ``score`` or ``kernel_mean`` they do not change the choice.
    score : array-like of the shape of X, or callable, optional
        Gradient of the log density at the rows, for the Stein kernel: the target is then the
        density itself, so that a burn-in or a biased sampler is corrected. Parameters with
        borders (positive, between 0 and 1) mislead it: transform rows and scores to an
        unconstrained scale first, with the logarithm of the Jacobian in the log density.
    kernel_mean : array-like of shape (n_samples,), callable, or KernelMean, optional
        A custom target: the mean of the kernel under it, at the rows, for a ``kernel`` that is
        an object with its bandwidth.
    y : array-like of shape (n_samples,), optional
        Labels. Only rows of the same class are then compared.
    allocation : "proportional", "equal", "joint" or mapping of label to number
        How many rows each class gets: its share of the sample (to the nearest row), the same
        for all, or as given; "joint" minimises the MMD over the numbers as well. The weights of
        the chosen rows correct for unequal shares.
    include, exclude : array-like of int, or of bool, optional
        Rows that are forced in, and rows that may not be chosen.
    approximate : None, "chunks", "subsample" or "features"
        A faster approximation, by name: see `Chunks`, `Subsample` and `RandomFeatures`, of
        which an object may be given as well.
    n_jobs : int, optional
        Threads, all cores by default; the choice is the same for any number.
    progress : callable, optional
        Called with the share done and a note on the current step.

    Returns
    -------
    Thinning
        Indices, weights, the MMD reached and that of a random subset, and the error per column.

    Examples
    --------
    >>> import numpy as np
    >>> from herder import thin
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> chosen = thin(X, 20)
    >>> X[chosen].shape
    (20, 2)
    >>> bool(chosen.mmd < chosen.mmd_random / 2)
    True
    """
    m = positive_int(n_select, "n_select")
    one_of(weights, "weights", ["uniform", "simplex", "optimal"])
    unique, progress = flag(unique, "unique"), function_or_none(progress, "progress")
    rows = read_rows(X, mixed=True)
    n = rows.n_rows
    included, excluded = read_choice(include, exclude, n, m)
    weight = read_weights(sample_weight, log_weight, n, rows.shape)
    if unique and m > n - len(excluded):
        left = counted(n - len(excluded), "row") + (" not excluded" if len(excluded) else "")
        got = f"{m}; unique=False allows a row to be chosen more than once"
        raise ParameterError("n_select", f"be at most the {left}", m, got=got)
    if not unique and weights != "uniform":
        raise ParameterError("unique", f"be True when weights is {weights!r}", False)
    if isinstance(refine, bool | np.bool_):
        sweeps = None if refine else 0
    else:
        sweeps = positive_int(refine, "refine")
    rules = Rules(unique, included, excluded, sweeps)
    if weights != "uniform" and sweeps is not None:
        raise ParameterError("refine", f"be True when weights is {weights!r}", refine)
    chosen = resolve_kernel(kernel, bandwidth, rows, standardise=standardise)
    values = rows.values
    given = None if kernel_mean is None else read_target(kernel_mean, values)
    if isinstance(chosen, Stein):
        values, given = _stein_target(rows, score, given)
    elif score is not None:
        got = f"it with {kernel!r}"
        raise ParameterError("score", "be None unless kernel is 'stein'", got=got)
    named = approximate if isinstance(approximate, str | None) else type(approximate).__name__
    settings = {"weights": weights, "refine": refine, "bandwidth": bandwidth}
    settings |= {"approximate": named}
    if isinstance(kernel, str):  # other kernels have their own lengths
        settings |= {"kernel": kernel, "standardise": standardise}
    task = Task(rows, values, chosen, given, weight, n_jobs, settings=settings)
    method = None if approximate is None else _approximation(approximate, task, weights, y)
    if weights == "uniform" and unique and weight is not None and given is None:
        _warn_if_few(weight, m)
    if shares is not None:
        warn_renamed("shares", "allocation", depth=2)  # past the decorator
        allocation = shares
    if y is None and not (isinstance(allocation, str) and allocation == "proportional"):
        raise ParameterError("y", f"be given when allocation is {allocation!r}", None)
    if method is not None:
        return Thinning(method.choose(task, m, rules, progress), np.full(m, 1 / m), task)
    if y is not None:
        return _thin_classes(task, y, allocation, m, rules, weights, progress)
    d, double = values.shape[1], weights != "uniform"
    cost = exact_cost(n, d, m, sweeps=sweeps, n_jobs=n_jobs, double=double)
    if cost.seconds > LONG_SECONDS and progress is None:  # else the caller shows how far it is
        _log.warning("thin: %s; approximate='chunks' or approximate='subsample' is faster", cost)
    return Thinning(*_select(task, m, rules, weights, progress), task)


def _stein_target(
    rows: Rows, score: Any, given: GivenTarget | None
) -> tuple[NDArray[np.float64], GivenTarget]:
    """Return rows with their scores, and the mean of the Stein kernel under the density: zero."""
    if rows.labels:
        odd = [name for name, own in zip(rows.names, rows.labels, strict=True) if own]
        got = f"categories in {listed([repr(name) for name in odd], 5)}"
        raise ParameterError("X", "have columns of numbers only if kernel is 'stein'", got=got)
    values = attach_scores(rows.values, score)
    if given is not None:
        raise ParameterError("kernel_mean", "be None when kernel is 'stein': its mean is zero")
    if found := columns_at_borders(rows.values):
        names = ", ".join(rows.names[j] for j in found[:3]) + ", ..." * (len(found) > 3)
        _log.warning(
            "thin: columns with a border at 0 or 1 (%s) mislead the Stein kernel: transform rows "
            "and scores to an unconstrained scale, such as the logarithm",
            names,
        )
    return values, GivenTarget(np.zeros(rows.n_rows), 0.0)


def _approximation(
    approximate: "str | Approximation", task: Task, weights: str, y: Any
) -> Approximation:
    if isinstance(approximate, str):
        method = APPROXIMATIONS[one_of(approximate, "approximate", APPROXIMATIONS)]()
    elif isinstance(approximate, tuple(APPROXIMATIONS.values())):
        method = approximate
    else:
        names = ", ".join(repr(name) for name in APPROXIMATIONS)
        raise ParameterTypeError("approximate", f"be None, {names}, or one of them", approximate)
    if isinstance(task.kernel, Stein):
        raise ParameterError("kernel", "not be 'stein' when approximate is given")
    for name, wrong in (
        ("weights", weights != "uniform"),
        ("y", y is not None),
        ("kernel_mean", task.given is not None),
    ):
        if wrong:
            raise ParameterError(name, "be left at its default when approximate is given")
    return method


def _select(
    task: Task, m: int, rules: Rules, weights: str, progress: Progress | None
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Choose rows, and their weights."""
    candidates = task.make_candidates()
    if task.given is None:
        precision = "single" if weights == "uniform" else "double"
        mass = weights_or_equal(task.weight, candidates.n_rows)
        target = candidates.mean(mass, precision=precision, progress=progress)
    else:
        target, mass = task.given.values, None
    if weights == "uniform":
        picks = choose(candidates, target, m, rules, mass=mass, progress=progress)
        return picks, np.full(m, 1 / m)
    allowed = np.ones(candidates.n_rows, dtype=bool)
    allowed[rules.exclude] = False
    return choose_weighted(
        candidates,
        target,
        m,
        "simplex" if weights == "simplex" else "optimal",
        sample_weight=mass,
        allowed=allowed,
        include=rules.include,
        rival=choose(candidates, target, m, rules, mass=mass),
        progress=progress,
    )


def _thin_classes(
    task: Task,
    y: ArrayLike,
    allocation: Allocation,
    m: int,
    rules: Rules,
    weights: str,
    progress: Progress | None,
) -> Thinning:
    classes, codes = read_labels(y, task.rows.n_rows)
    labelled = LabelledCandidates(task.values, codes, task.kernel, n_jobs=task.n_jobs)
    task = replace(task, classes=classes, candidates=labelled)
    mass = np.bincount(codes, weights=task.mass).astype(np.float64)
    if isinstance(allocation, str) and allocation == "joint":
        picks, own = _select(task, m, rules, weights, progress)
        return Thinning(picks, own, _noted(task, classes, mass, codes[picks]))
    counts = quotas(allocation, classes, mass, m)
    check_quotas(counts, mass, classes, codes, rules)
    chosen, parts = [], []
    for c, count in enumerate(counts.tolist()):
        if count == 0:
            continue
        members = labelled.members[c]
        forced, out = (np.flatnonzero(np.isin(members, r)) for r in (rules.include, rules.exclude))
        inner, part = replace(rules, include=forced, exclude=out), task.part(members, mass[c])
        picks, own = _select(part, count, inner, weights, None)
        chosen.append(members[picks])
        parts.append(mass[c] * own)
        if progress is not None:
            progress((c + 1) / len(counts), f"class {classes[c]}")
    # Classes without a row are represented by the others, in proportion.
    every, indices = np.concatenate(parts), np.concatenate(chosen)
    shares = every if weights == "optimal" else every / every.sum()
    if isinstance(allocation, str):
        task = _noted(task, classes, mass, codes[indices])
    return Thinning(indices, shares, task)


def _noted(
    task: Task, classes: NDArray[Any], mass: NDArray[np.float64], chosen: NDArray[np.intp]
) -> Task:
    """Log which classes got no row, and keep it for the summary."""
    note = absent_classes(classes, mass, chosen)
    if note:
        _log.warning("thin: %s", note)
    return replace(task, settings={**task.settings, "note": note})


def _warn_if_few(weight: NDArray[np.float64], m: int) -> None:
    effective = 1 / float(np.square(weight).sum())
    if effective < 2 * m:
        _log.warning(
            "thin: the effective sample size of the weights, %.1f rows, is small for %d distinct "
            "rows of equal weight; weights='simplex' or unique=False may be closer",
            effective,
            m,
        )
