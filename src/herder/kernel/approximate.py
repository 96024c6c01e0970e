r"""Approximations of thinning, each asked for by name.

Exact thinning looks at all n (n - 1) / 2 pairs once. These look at fewer:

=================  ==============================================================  ================
name               what is given up                                                pairs
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

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import positive_int
from herder.core.lanes import Progress
from herder.kernel.bandwidth import even_rows
from herder.kernel.candidates import SMALL_ROWS, Precision, candidates_of
from herder.kernel.choice import Rules, choose
from herder.kernel.functions import Gaussian, Kernel
from herder.kernel.mixture import halton
from herder.kernel.mmd import mean_at

__all__ = ["APPROXIMATIONS", "Approximation", "Chunks", "RandomFeatures", "Subsample"]


@dataclass(frozen=True)
class WeightedRows:
    """What the approximations work on: rows, kernel, weights, and the threads to use."""

    values: NDArray[Any]
    kernel: Kernel
    weight: NDArray[np.float64]
    n_jobs: int | None


@dataclass(frozen=True)
class Subsample:
    """Only some rows may be chosen; the target is that of all rows.

    Parameters
    ----------
    n_candidates : int
        Rows that may be chosen, spread evenly over the table; at least twice as many as are
        wanted.
    """

    n_candidates: int = 2048

    def choose(
        self, sample: WeightedRows, n_select: int, rules: Rules, progress: Progress | None
    ) -> NDArray[np.intp]:
        """Choose among the rows that were spread out."""
        most = max(positive_int(self.n_candidates, "n_candidates"), 2 * n_select)
        allowed = np.delete(np.arange(len(sample.values)), rules.exclude)
        rows = np.union1d(allowed[even_rows(len(allowed), most)], rules.include)
        return _choose_among(rows, sample, n_select, rules, progress)


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
        self, sample: WeightedRows, n_select: int, rules: Rules, progress: Progress | None
    ) -> NDArray[np.intp]:
        """Choose within each part, then among the winners."""
        n = len(sample.values)
        n_chunks = min(positive_int(self.n_chunks, "n_chunks"), max(1, n // (2 * n_select)))
        barred = np.zeros(n, dtype=bool)
        barred[rules.exclude] = True
        winners = [rules.include]
        for c in range(n_chunks):
            rows = np.arange(c, n, n_chunks)
            mass = sample.weight[rows]
            closed = np.flatnonzero(barred[rows])
            count = min(n_select, len(rows) - len(closed))
            if count:
                candidates = candidates_of(
                    sample.values[rows], sample.kernel, n_jobs=sample.n_jobs
                )
                # A part without weight still has rows that may be needed.
                part = mass / mass.sum() if mass.any() else None
                target = candidates.mean(part, precision="single")
                free = Rules(True, _none(), closed, 0 if rules.sweeps == 0 else 1)
                winners.append(rows[choose(candidates, target, count, free)])
            if progress is not None:
                progress((c + 1) / (n_chunks + 1), f"chunk {c + 1} of {n_chunks}")
        rows = np.unique(np.concatenate(winners))
        return _choose_among(rows, sample, n_select, rules, progress)


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
        self, sample: WeightedRows, n_select: int, rules: Rules, progress: Progress | None
    ) -> NDArray[np.intp]:
        """Choose rows by the features."""
        if not isinstance(sample.kernel, Gaussian):
            raise ParameterError(
                "kernel",
                "be 'gaussian' when approximate is 'features'",
                got=type(sample.kernel).__name__,
            )
        half = max(1, positive_int(self.n_features, "n_features") // 2)
        most = max(positive_int(self.n_candidates, "n_candidates"), 8 * n_select)
        allowed = np.delete(np.arange(len(sample.values)), rules.exclude)
        rows = np.union1d(allowed[even_rows(len(allowed), most)], rules.include)
        scale = _frequencies(sample.values.shape[1], sample.kernel, half)
        centre = sample.values.mean(axis=0, dtype=np.float64)
        mean = np.zeros(2 * half)
        for low in range(0, len(sample.values), 4096):
            part = _features(sample.values[low : low + 4096] - centre, scale)
            mean += sample.weight[low : low + 4096] @ part
            if progress is not None:
                progress(min(1.0, (low + 4096) / len(sample.values)), "features")
        candidates = FeatureCandidates(_features(sample.values[rows] - centre, scale))
        inner = replace(rules, include=np.searchsorted(rows, rules.include), exclude=_none())
        return rows[choose(candidates, candidates.features @ mean, n_select, inner)]


#: The names that ``approximate=`` takes.
APPROXIMATIONS: "dict[str, type[Approximation]]" = {
    "chunks": Chunks,
    "subsample": Subsample,
    "features": RandomFeatures,
}

Approximation: TypeAlias = Chunks | Subsample | RandomFeatures


class FeatureCandidates:
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

    def mean(
        self,
        weight: NDArray[np.float64] | None = None,
        *,
        precision: Precision = "double",
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Features times their mean."""
        p = np.full(self.n_rows, 1 / self.n_rows) if weight is None else weight
        return self.features @ (p @ self.features)

    def column(self, j: int) -> NDArray[np.float64]:
        """Inner products with row j."""
        return self.features @ self.features[j]

    def gram(
        self, rows: NDArray[np.intp], others: NDArray[np.intp] | None = None
    ) -> NDArray[np.float64]:
        """Inner products of some rows."""
        return self.features[rows] @ self.features[rows if others is None else others].T

    def scaled(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the features themselves."""
        return self.features[rows]


def _choose_among(
    rows: NDArray[np.intp],
    sample: WeightedRows,
    n_select: int,
    rules: Rules,
    progress: Progress | None,
) -> NDArray[np.intp]:
    """Choose among some rows, against the target of all."""
    rows = rows[~np.isin(rows, rules.exclude)]
    points = sample.values[rows]
    target = mean_at(
        points, sample.values, sample.kernel, sample.weight, n_jobs=sample.n_jobs, single=True
    )
    place = np.searchsorted(rows, rules.include)
    inner = replace(rules, include=place, exclude=_none())
    # The compiler has been called for already, so that few rows may use its loops too.
    large = len(sample.values) > SMALL_ROWS
    candidates = candidates_of(points, sample.kernel, n_jobs=sample.n_jobs, compiled=large)
    mass = sample.weight[rows]
    return rows[choose(candidates, target, n_select, inner, mass=mass, progress=progress)]


def _frequencies(d: int, kernel: Gaussian, half: int) -> NDArray[np.float64]:
    from scipy.special import ndtri

    return (ndtri(halton(half, d)) / kernel.bandwidth).T


def _features(points: NDArray[Any], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosines and sines of the rows along the frequencies, of norm one."""
    angles = points @ scale
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(scale.shape[1])


def _none() -> NDArray[np.intp]:
    return np.empty(0, dtype=np.intp)
