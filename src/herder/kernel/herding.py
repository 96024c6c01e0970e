r"""Kernel herding: rows picked one by one, whose kernel mean follows that of the sample.

Herding in feature space needs only scores :math:`u_i = \langle w, \phi(x_i) \rangle`:

.. math:: s_t = \arg\max_i u_i, \qquad u \leftarrow u + \bar k - K_{s_t},
          \qquad \bar k_i = \sum_j p_j k(x_i, x_j).

Starting from :math:`u = \bar k` this is the herding of [chen2010]_, equation 4.20 of [chen2014]_
times T + 1. After T picks the MMD to the sample is O(1/T) when the mean lies inside the hull of
the features, which a finite sample and a finite-dimensional feature space give; for a Gaussian
kernel the constant grows with the sample and no rate is guaranteed ([bach2012]_), though one near
1/T is usually seen.

Departure: scores within a tolerance of the highest tie, and the lowest index wins, so that
rounding never decides.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import function_or_none, positive_int
from herder.core.blas import one_blas_thread
from herder.core.lanes import Progress
from herder.core.plain import Arrays, Header, read_array
from herder.core.state import State
from herder.core.summary import Fact, Facts, Summarised, Summary, counted
from herder.data.rows import read_rows, read_weights
from herder.kernel.bandwidth import BandwidthLike, KernelLike, resolve_kernel
from herder.kernel.candidates import candidates_of
from herder.kernel.choice import DOUBLE_TIES, pick_first, typical
from herder.kernel.functions import Stein
from herder.kernel.targets import read_target

__all__ = ["KernelHerding", "kernel_herd"]


@dataclass(frozen=True, slots=True, eq=False)
class KernelHerding(Summarised):
    """Rows picked by kernel herding, in order, and the scores to continue from.

    Attributes
    ----------
    indices : array of shape (n_select,)
        The picks of this call; a row may be picked more than once.
    scores : array of shape (n_samples,)
        Scores of all rows after the last pick.
    """

    indices: NDArray[np.intp]
    scores: NDArray[np.float64]

    def summary(self) -> Summary:
        """Return the number of picks and of distinct rows."""
        times = np.unique(self.indices, return_counts=True)[1]
        facts = [
            Fact("distinct rows", len(times)),
            Fact("most picks of one row", int(times.max(initial=0))),
        ]
        rows = counted(len(self.scores), "row")
        return Summary(f"{counted(len(self.indices), 'pick')} of {rows}", [Facts(facts)])

    def to_state(self) -> State:
        """Return picks and scores; there is nothing else."""
        return {"indices": self.indices, "scores": self.scores}, {}

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Make a result of what `to_state` returned."""
        scores = read_array(arrays, "scores", (None,))
        last = len(scores) - 1
        return cls(read_array(arrays, "indices", (None,), np.intp, low=0, high=last), scores)


@one_blas_thread()
def kernel_herd(
    X: ArrayLike,
    n_select: int,
    *,
    kernel: KernelLike = "energy",
    bandwidth: BandwidthLike = "median",
    standardise: bool = True,
    sample_weight: ArrayLike | None = None,
    kernel_mean: Any = None,
    resume: KernelHerding | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> KernelHerding:
    """Pick rows of ``X`` in order, so that their kernel mean follows that of all rows.

    This is plain herding, in double precision: the first n picks of a longer run are those of a
    shorter one, and a row may be picked more than once. For the best set of a given size use
    `thin`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The sample; anything `thin` takes.
    n_select : int
        Number of picks; it may exceed the number of rows.
    kernel : str or callable, default "energy"
        As for `thin`, except "stein": its target is zero, so that the first pick would always be
        the first row. Where k(x, x) grows outwards, as in the energy kernel, the first picks are
        outer rows; the order of ``thin(..., refine=False)`` begins with typical ones.
    bandwidth : "median", float or array of shape (n_features,)
        As for `thin`.
    standardise : bool, default True
        Measure every column in its standard deviation, as for `thin`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows in the target.
    kernel_mean : array-like, callable or KernelMean, optional
        A custom target, as for `thin`.
    resume : KernelHerding, optional
        Continue an earlier result with the same arguments: n then m picks are n + m picks.
    n_jobs : int, optional
        Threads of the kernel mean, all cores by default; the result is the same for any number.
    progress : callable, optional
        Called with the share done and a note on the current step.

    Examples
    --------
    >>> from herder import Gaussian, kernel_herd
    >>> kernel_herd([[0.0], [1.0], [2.0]], 4, kernel=Gaussian(1.0)).indices
    array([1, 0, 2, 1])
    """
    rows = read_rows(X)
    n_picks = positive_int(n_select, "n_select")
    progress = function_or_none(progress, "progress")
    chosen_kernel = resolve_kernel(kernel, bandwidth, rows, standardise=standardise)
    if isinstance(chosen_kernel, Stein):
        remedy = "thin(..., kernel='stein', refine=False) returns a nested order"
        raise ParameterError("kernel", f"not be 'stein', whose target is zero: {remedy}")
    weight = read_weights(sample_weight, None, rows.n_rows, rows.shape)
    candidates = candidates_of(rows.values, chosen_kernel, n_jobs=n_jobs)
    given = None if kernel_mean is None else read_target(kernel_mean, rows.values)
    target = candidates.mean(weight, progress=progress) if given is None else given.values
    if not isinstance(resume, KernelHerding | None):
        raise ParameterTypeError("resume", "be a KernelHerding", got=type(resume).__name__)
    scores = np.array(target if resume is None else resume.scores)
    if scores.shape != target.shape:
        raise ParameterError("resume", f"come from {len(target)} rows", np.size(scores))
    if scores.dtype != np.float64 or not np.isfinite(scores).all():
        raise ParameterError("resume", "hold finite scores", got=f"{scores.dtype}")
    indices = np.empty(n_picks, dtype=np.intp)
    tie_tol = DOUBLE_TIES * typical(candidates.diagonal)
    for t in range(n_picks):
        indices[t] = pick = pick_first(scores, tie_tol)
        scores += target
        scores -= candidates.column(pick)
        if progress is not None and t % 64 == 63:
            progress((t + 1) / n_picks, "herding")
    return KernelHerding(indices, scores)
