r"""Approximations of thinning, each asked for by name.

Exact thinning evaluates all n (n - 1) / 2 pairs once. These evaluate fewer:

=================  ==============================================================  ================
name               what is approximated                                            pairs
=================  ==============================================================  ================
`Subsample` (r)    rows other than r, spread evenly, cannot be chosen; the target  r n
                   is still that of all rows
`Chunks` (c)       rows compete within c interleaved parts first, then the         n^2 / 2c + c m n
                   winners against the target of all rows
`RandomFeatures`   the kernel is replaced by D features, whose means over all      n D
(D)                rows are matched by some, spread evenly; Gaussian kernels only
=================  ==============================================================  ================

No random numbers are drawn: rows are spread by the golden ratio, and the frequencies of the
features of [rahimi2007]_ are the points of a Halton sequence put through the normal quantile.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import positive_int
from herder.core.lanes import Progress
from herder.kernel.candidates import SMALL_ROWS, Candidates, candidates_of
from herder.kernel.choice import Rules, choose
from herder.kernel.functions import Gaussian
from herder.kernel.mixture import halton
from herder.kernel.mmd import mean_at

if TYPE_CHECKING:
    from herder.kernel.thinning import Task

__all__ = ["APPROXIMATIONS", "Approximation", "Chunks", "RandomFeatures", "Subsample"]


@dataclass(frozen=True)
class Subsample:
    """Choose from some rows only; the target is that of all rows.

    Parameters
    ----------
    n_candidates : int
        Rows that may be chosen, spread evenly over the table; at least twice as many as are
        wanted.
    """

    n_candidates: int = 2048

    def choose(
        self, task: "Task", n_select: int, rules: Rules, progress: Progress | None
    ) -> NDArray[np.intp]:
        """Choose among the rows that were spread out."""
        most = max(positive_int(self.n_candidates, "n_candidates"), 2 * n_select)
        rows = rules.spread(len(task.values), most)
        return _choose_among(rows, task, n_select, rules, progress)


@dataclass(frozen=True)
class Chunks:
    """Thin interleaved parts of the table first, then what is left of them.

    Parameters
    ----------
    n_chunks : int
        Number of parts.
    """

    n_chunks: int = 10

    def choose(
        self, task: "Task", n_select: int, rules: Rules, progress: Progress | None
    ) -> NDArray[np.intp]:
        """Choose within each part, then among the winners."""
        n, weight = len(task.values), task.mass
        n_chunks = min(positive_int(self.n_chunks, "n_chunks"), max(1, n // (2 * n_select)))
        none, winners = np.empty(0, dtype=np.intp), [rules.include]
        for c in range(n_chunks):
            rows = np.arange(c, n, n_chunks)
            excluded = np.flatnonzero(np.isin(rows, rules.exclude))
            count = min(n_select, len(rows) - len(excluded))
            if count:
                values, mass = task.values[rows], weight[rows]
                candidates = candidates_of(values, task.kernel, n_jobs=task.n_jobs)
                # A part without weight still has rows that may be needed.
                part = mass / mass.sum() if mass.any() else None
                target = candidates.mean(part, precision="single")
                inner = Rules(True, none, excluded, 0 if rules.sweeps == 0 else 1)
                winners.append(rows[choose(candidates, target, count, inner)])
            if progress is not None:
                progress((c + 1) / (n_chunks + 1), f"chunk {c + 1} of {n_chunks}")
        rows = np.unique(np.concatenate(winners))
        return _choose_among(rows, task, n_select, rules, progress)


@dataclass(frozen=True)
class RandomFeatures:
    """Match the means of features whose inner products approximate a Gaussian kernel.

    Parameters
    ----------
    n_features : int
        Number of features, half of them cosines and half sines.
    n_candidates : int
        Rows that may be chosen, spread evenly over the table; at least eight for each that is
        wanted.
    """

    n_features: int = 512
    n_candidates: int = 2048

    def choose(
        self, task: "Task", n_select: int, rules: Rules, progress: Progress | None
    ) -> NDArray[np.intp]:
        """Choose rows by the features."""
        if not isinstance(task.kernel, Gaussian):
            kind = type(task.kernel).__name__
            raise ParameterError("kernel", "be 'gaussian' if approximate is 'features'", got=kind)
        half = max(1, positive_int(self.n_features, "n_features") // 2)
        most = max(positive_int(self.n_candidates, "n_candidates"), 8 * n_select)
        rows = rules.spread(len(task.values), most)
        scale = _frequencies(task.values.shape[1], task.kernel, half)
        centre = task.values.mean(axis=0, dtype=np.float64)
        mean, mass = np.zeros(2 * half), task.mass
        for low in range(0, len(task.values), 4096):
            part = _features(task.values[low : low + 4096] - centre, scale)
            mean += mass[low : low + 4096] @ part
            if progress is not None:
                progress(min(1.0, (low + 4096) / len(task.values)), "features")
        candidates = FeatureCandidates(_features(task.values[rows] - centre, scale))
        target = candidates.features @ mean
        return rows[choose(candidates, target, n_select, rules.among(rows))]


#: The names that ``approximate=`` takes.
APPROXIMATIONS: "dict[str, type[Approximation]]" = {
    "chunks": Chunks,
    "subsample": Subsample,
    "features": RandomFeatures,
}

Approximation: TypeAlias = Chunks | Subsample | RandomFeatures


class FeatureCandidates(Candidates):
    """Candidates whose kernel is the inner product of rows of features.

    Parameters
    ----------
    features : array of shape (n, D)
        One row of features for each candidate.
    """

    def __init__(self, features: NDArray[np.float64]) -> None:
        self.features = features
        self.n_rows = len(features)
        self.diagonal = np.square(features).sum(axis=1)

    def column(self, j: int) -> NDArray[np.float64]:
        """Return the inner products with row j."""
        return self.features @ self.features[j]

    def gram(
        self, rows: NDArray[np.intp], others: NDArray[np.intp] | None = None
    ) -> NDArray[np.float64]:
        """Return the inner products of some rows."""
        return self.features[rows] @ self.features[rows if others is None else others].T


def _choose_among(
    rows: NDArray[np.intp],
    task: "Task",
    n_select: int,
    rules: Rules,
    progress: Progress | None,
) -> NDArray[np.intp]:
    """Choose among some rows, against the target of all."""
    rows = rows[~np.isin(rows, rules.exclude)]
    mass = task.mass
    points, every, kernel, jobs = task.values[rows], task.values, task.kernel, task.n_jobs
    target = mean_at(points, every, kernel, mass, n_jobs=jobs, single=True)
    # For many rows the loops are compiled already, so that few rows may use them too.
    candidates = candidates_of(points, kernel, n_jobs=jobs, compiled=len(every) > SMALL_ROWS)
    options: dict[str, Any] = {"mass": mass[rows], "progress": progress}
    return rows[choose(candidates, target, n_select, rules.among(rows), **options)]


def _frequencies(d: int, kernel: Gaussian, half: int) -> NDArray[np.float64]:
    from scipy.special import ndtri

    return (ndtri(halton(half, d)) / kernel.bandwidth).T


def _features(points: NDArray[Any], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cosines and sines of the rows along the frequencies, of norm one."""
    angles = points @ scale
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(scale.shape[1])
