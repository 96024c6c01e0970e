"""The result of `herd_density`: points of a herded density, and their distance to it."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from herder.core.plain import Arrays, Header, read_array, read_number
from herder.core.state import State
from herder.core.summary import Block, Fact, Facts, Summarised, Summary, Text, counted
from herder.kernel.bandwidth import plain_kernel, read_kernel
from herder.kernel.functions import Bandwidth, Kernel, diagonal_of

__all__ = ["ARRAYS", "TIE_TOL", "DensityHerding", "read_picks"]

#: Auxiliary points whose scores are this close, relative to the largest kernel mean, tie, and
#: the first is the start: rounding never decides.
TIE_TOL = 1e-9

#: Fields that are arrays.
ARRAYS = ("points", "means", "sums", "auxiliary", "auxiliary_sums")


@dataclass(frozen=True, eq=False)
class DensityHerding(Summarised):
    """Points of a herded density, in order; the first n are the herd of size n.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        The picks, with those of an earlier run that was continued. ``np.asarray`` of the result
        returns them.
    kernel : Kernel
        The kernel with its bandwidth.
    means : ndarray of shape (n,)
        Kernel mean of the target at each pick.
    sums : ndarray of shape (n,)
        Sum of the kernel between each pick and all before it.
    squared_norm : float
        Squared norm of the kernel mean; NaN if it was not given.
    auxiliary : ndarray of shape (m, d)
        Where maximisations started.
    auxiliary_sums : ndarray of shape (m,)
        Sum of the kernel between each auxiliary point and all picks, to continue from.
    """

    points: NDArray[np.float64]
    kernel: Kernel
    means: NDArray[np.float64]
    sums: NDArray[np.float64]
    squared_norm: float
    auxiliary: NDArray[np.float64]
    auxiliary_sums: NDArray[np.float64]

    @property
    def bandwidth(self) -> Bandwidth:
        """Bandwidth of the kernel; NaN if that has none."""
        return getattr(self.kernel, "bandwidth", np.nan)

    @property
    def values(self) -> NDArray[np.float64]:
        """Score of each pick when it was picked: what equation 4.20 maximises."""
        return self.means - self.sums / np.arange(1, len(self) + 1)

    @property
    def expected_values(self) -> NDArray[np.float64]:
        """Mean under the target of the score that each pick maximised; NaN if unknown."""
        before = np.cumsum(self.means) - self.means
        return self.squared_norm - before / np.arange(1, len(self) + 1)

    @property
    def violations(self) -> NDArray[np.intp]:
        """Picks that did not reach the mean score: the maximisation failed there.

        None are found if the squared norm of the target is not known.
        """
        slack = TIE_TOL * float(self.means.max())
        return np.flatnonzero(self.values < self.expected_values - slack)

    @property
    def errors(self) -> NDArray[np.float64]:
        """MMD between the target and the first T picks, T = 1 ... n; NaN if unknown."""
        t = np.arange(1, len(self) + 1)
        pairs = np.cumsum(2 * self.sums + diagonal_of(self.kernel, self.points))
        squares = self.squared_norm - 2 * np.cumsum(self.means) / t + pairs / t / t
        return np.sqrt(np.maximum(squares, 0.0))

    @property
    def mmd(self) -> float:
        """MMD between the target and all picks; NaN if the target's squared norm is unknown."""
        return float(self.errors[-1])

    def summary(self) -> Summary:
        """Return the kernel, the distance to the target, and failed maximisations."""
        facts = [Fact("kernel", self.kernel)]
        if not np.isnan(self.squared_norm):
            facts.append(Fact("MMD", self.mmd, meaning="between the target and the points"))
        blocks: list[Block] = [Facts(facts)]
        if len(self.violations):
            failed = counted(len(self.violations), "pick")
            blocks.append(Text(f"{failed} did not reach the mean score", "warning"))
        n, d = self.points.shape
        return Summary(f"{counted(n, 'point')} in {counted(d, 'dimension')}", blocks)

    def to_state(self) -> State:
        """Return the picks and the sums, and the kernel as JSON can hold it."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        kernel = plain_kernel(self.kernel)
        return arrays, {"kernel": kernel, "squared_norm": float(self.squared_norm)}

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Make a result of what `to_state` returned."""
        found = read_picks(arrays)
        return cls(
            kernel=read_kernel(header["kernel"], found["points"].shape[1]),
            squared_norm=read_number(header, "squared_norm", float, low=None),
            **found,
        )

    def __len__(self) -> int:
        return len(self.points)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.points, dtype=dtype, copy=copy)


def read_picks(arrays: Arrays) -> Arrays:
    """Return copies of the arrays of a result, whose shapes must agree."""
    points = read_array(arrays, "points", (None, None))
    n, d = points.shape
    if not n:
        raise ValueError("no points")
    auxiliary = read_array(arrays, "auxiliary", (None, d))
    return {
        "points": points,
        "means": read_array(arrays, "means", (n,)),
        "sums": read_array(arrays, "sums", (n,)),
        "auxiliary": auxiliary,
        "auxiliary_sums": read_array(arrays, "auxiliary_sums", (len(auxiliary),)),
    }
