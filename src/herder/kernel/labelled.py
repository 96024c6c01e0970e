r"""Rows with labels: the kernel counts only between rows of the same class.

.. math:: k((x, y), (x', y')) = k(x, x') \, [y = y']

The squared MMD is then a sum over classes,
:math:`\sum_c \| p_c \mu_c - w_c \hat\mu_c \|^2`, where class c has the share :math:`p_c` of the
sample and the weight :math:`w_c` of the choice. If the number from each class is settled the
classes are thinned one by one, as the exemplars of [rebuffi2017]_ are.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import non_negative_int, one_of
from herder.core.lanes import Progress
from herder.kernel.candidates import Candidates, Precision, candidates_of
from herder.kernel.choice import Rules
from herder.kernel.functions import Kernel, Stein, centred

__all__ = ["ALLOCATIONS", "Allocation", "LabelledCandidates", "check_quotas", "quotas"]

#: How many rows each class gets.
ALLOCATIONS = ("proportional", "equal", "joint")

Allocation = str | Mapping[Any, int]


def quotas(
    allocation: Allocation, classes: NDArray[Any], mass: NDArray[np.float64], n_select: int
) -> NDArray[np.intp]:
    """Rows to choose of each class, ``n_select`` in all.

    Parameters
    ----------
    allocation : "proportional", "equal" or mapping
        In proportion to ``mass`` (largest remainders first, so that every class gets its share
        rounded down or up), as equal as can be, or as given for each label.
    classes : array
        The labels.
    mass : array
        Share of each class in the sample.
    n_select : int
        Rows in all.
    """
    if isinstance(allocation, Mapping):
        wanted = dict(allocation)
        unknown = [label for label in wanted if label not in classes]
        if unknown:
            raise ParameterError("allocation", "name labels of y", unknown[0])
        counts = [
            non_negative_int(wanted.get(label, 0), "allocation") for label in classes.tolist()
        ]
        if sum(counts) != n_select:
            raise ParameterError("allocation", f"sum to n_select, {n_select}", sum(counts))
        return np.array(counts, dtype=np.intp)
    one_of(allocation, "allocation", ALLOCATIONS)
    if allocation == "equal":
        mass = np.full(len(classes), 1 / len(classes))
    exact = mass / mass.sum() * n_select
    counts = np.floor(exact).astype(np.intp)
    rest = exact - counts
    # Ties go to the first label; the tolerance keeps rounding from deciding.
    order = np.argsort(-rest.round(9), kind="stable")
    counts[order[: n_select - counts.sum()]] += 1
    return counts


class LabelledCandidates:
    """Candidates of each class under one kernel, together.

    Parameters
    ----------
    values : array of shape (n, d)
        The rows.
    codes : array of shape (n,)
        Number of each row's class.
    kernel : callable
        Kernel of the rows.
    n_jobs : int, optional
        Threads of the kernel means.
    """

    def __init__(
        self,
        values: NDArray[Any],
        codes: NDArray[np.intp],
        kernel: Kernel,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.values, self.codes, self.n_jobs = values, codes, n_jobs
        # One centre of an energy kernel for all classes, and for every pair.
        self.kernel = centred(kernel, values.mean(axis=0, dtype=np.float64))
        self.n_rows = len(values)
        order = np.argsort(codes, kind="stable")
        self.members = np.split(order, np.cumsum(np.bincount(codes))[:-1])
        self._place = np.empty(self.n_rows, dtype=np.intp)
        for rows in self.members:
            self._place[rows] = np.arange(len(rows))
        self._parts: dict[int, Candidates] = {}
        self._diagonal: NDArray[np.float64] | None = None

    def part(self, c: int) -> Candidates:
        """Candidates of one class, made anew: a large table need not be held twice."""
        return candidates_of(self.values[self.members[c]], self.kernel, n_jobs=self.n_jobs)

    def _kept(self, c: int) -> Candidates:
        if c not in self._parts:
            self._parts[c] = self.part(c)
        return self._parts[c]

    @property
    def diagonal(self) -> NDArray[np.float64]:
        """``k(x_i, x_i)``."""
        if self._diagonal is None:
            self._diagonal = np.empty(self.n_rows)
            for c, rows in enumerate(self.members):
                self._diagonal[rows] = self.part(c).diagonal
        return self._diagonal

    def mean(
        self,
        weight: NDArray[np.float64] | None = None,
        *,
        precision: Precision = "double",
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Kernel mean at every row: only its own class counts."""
        p = np.full(self.n_rows, 1 / self.n_rows) if weight is None else weight
        total = np.empty(self.n_rows)
        for c, rows in enumerate(self.members):
            total[rows] = self.part(c).mean(p[rows], precision=precision)
            if progress is not None:
                progress((c + 1) / len(self.members), "kernel mean")
        return total

    def column(self, j: int) -> NDArray[np.float64]:
        """Kernel values of row j to every row: zero outside its class."""
        c = int(self.codes[j])
        out = np.zeros(self.n_rows)
        out[self.members[c]] = self._kept(c).column(int(self._place[j]))
        return out

    def gram(
        self, rows: NDArray[np.intp], others: NDArray[np.intp] | None = None
    ) -> NDArray[np.float64]:
        """Gram matrix of some rows."""
        right = rows if others is None else others
        same = self.codes[rows][:, None] == self.codes[right]
        return np.where(same, self.kernel(self.values[rows], self.values[right]), 0.0)

    def scaled(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Coordinates in bandwidths, and one more that sets the classes apart."""
        scale = getattr(self.kernel, "bandwidth", 1.0)
        coordinates = np.asarray(self.values[rows], np.float64)
        if isinstance(self.kernel, Stein):
            coordinates = coordinates[:, : coordinates.shape[1] // 2]
        coordinates = coordinates / scale
        reach = float(np.ptp(coordinates, axis=0).max(initial=0.0)) + 1.0
        apart = (10 * reach * coordinates.shape[1]) * self.codes[rows]
        return np.column_stack([coordinates, apart])


def check_quotas(
    counts: NDArray[np.intp],
    mass: NDArray[np.float64],
    classes: NDArray[Any],
    labelled: LabelledCandidates,
    barred: NDArray[np.bool_],
    rules: Rules,
) -> None:
    """Refuse numbers of rows that a class cannot give, or that its included rows exceed."""
    included = np.bincount(labelled.codes[rules.include], minlength=len(classes))
    for c, (label, count) in enumerate(zip(classes.tolist(), counts.tolist(), strict=True)):
        free = int((~barred[labelled.members[c]]).sum())
        if count and mass[c] == 0:
            raise ParameterError(
                "sample_weight",
                "give every class that is chosen from some weight",
                got=f"zero for {label!r}",
            )
        if rules.unique and count > free:
            raise ParameterError(
                "n_select",
                "leave every class at most its rows",
                got=f"{count} for {label!r}, which has {free}; allocation='proportional' or "
                "a mapping may help, and unique=False allows a row to come more than "
                "once",
            )
        if included[c] > count:
            raise ParameterError(
                "include", f"hold at most {count} rows of class {label!r}", included[c]
            )
