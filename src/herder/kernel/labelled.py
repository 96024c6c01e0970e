r"""Rows with labels: the kernel is zero between rows of different classes.

.. math:: k((x, y), (x', y')) = k(x, x') \, [y = y']

The squared MMD is then a sum over classes,
:math:`\sum_c \| p_c \mu_c - w_c \hat\mu_c \|^2`, where class c has the share :math:`p_c` of the
sample and the weight :math:`w_c` of the choice. If the number of rows of each class is fixed, the
classes are thinned one by one, as the exemplars of [rebuffi2017]_ are.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import non_negative_int, one_of
from herder.core.lanes import Progress
from herder.core.summary import listed
from herder.kernel.candidates import Candidates, Precision, candidates_of, centred
from herder.kernel.choice import Rules
from herder.kernel.functions import Kernel, diagonal_of

__all__ = [
    "ALLOCATIONS",
    "Allocation",
    "LabelledCandidates",
    "absent_classes",
    "check_quotas",
    "quotas",
]

#: How many rows each class gets.
ALLOCATIONS = ("proportional", "equal", "joint")

Allocation = str | Mapping[Any, int]


def quotas(
    allocation: Allocation, classes: NDArray[Any], mass: NDArray[np.float64], n_select: int
) -> NDArray[np.intp]:
    """Return the number of rows to choose of each class, ``n_select`` in all.

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
        known = set(classes.tolist())
        if unknown := [label for label in allocation if label not in known]:
            raise ParameterError("allocation", "name labels of y", unknown[0])
        wanted = [allocation.get(label, 0) for label in classes.tolist()]
        counts = [non_negative_int(count, "allocation") for count in wanted]
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


class LabelledCandidates(Candidates):
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
        self.kernel = centred(kernel, values)
        self.n_rows = len(values)
        order = np.argsort(codes, kind="stable")
        self.members = np.split(order, np.cumsum(np.bincount(codes))[:-1])
        self._place = np.empty(self.n_rows, dtype=np.intp)
        for rows in self.members:
            self._place[rows] = np.arange(len(rows))
        self.diagonal = diagonal_of(self.kernel, values)
        self._kept = cache(self.part)

    def part(self, c: int) -> Candidates:
        """Return candidates of one class, made anew: a large table need not be held twice."""
        return candidates_of(self.values[self.members[c]], self.kernel, n_jobs=self.n_jobs)

    def column(self, j: int) -> NDArray[np.float64]:
        """Return the kernel values of row j to every row: zero outside its class."""
        c = int(self.codes[j])
        out = np.zeros(self.n_rows)
        out[self.members[c]] = self._kept(c).column(int(self._place[j]))
        return out

    def gram(
        self, rows: NDArray[np.intp], others: NDArray[np.intp] | None = None
    ) -> NDArray[np.float64]:
        """Return the Gram matrix of some rows."""
        right = rows if others is None else others
        same = self.codes[rows][:, None] == self.codes[right]
        return np.where(same, self.kernel(self.values[rows], self.values[right]), 0.0)

    def _mean(
        self, p: NDArray[np.float64], precision: Precision, progress: Progress | None
    ) -> NDArray[np.float64]:
        total = np.empty(self.n_rows)
        for c, rows in enumerate(self.members):
            total[rows] = self.part(c).mean(p[rows], precision=precision)
            if progress is not None:
                progress((c + 1) / len(self.members), "kernel mean")
        return total


def check_quotas(
    counts: NDArray[np.intp],
    mass: NDArray[np.float64],
    classes: NDArray[Any],
    codes: NDArray[np.intp],
    rules: Rules,
) -> None:
    """Raise an error if a class has too few rows, too many included ones, or no weight."""
    included = np.bincount(codes[rules.include], minlength=len(classes))
    allowed = np.bincount(np.delete(codes, rules.exclude), minlength=len(classes))
    for c, (label, count) in enumerate(zip(classes.tolist(), counts.tolist(), strict=True)):
        if count and mass[c] == 0:
            rule = "be positive somewhere in every class that is chosen from"
            raise ParameterError("sample_weight", rule, got=f"zero for {label!r}")
        if rules.unique and count > allowed[c]:
            found = f"{count} for {label!r}, which has {allowed[c]}"
            remedy = "allocation='proportional' or unique=False may help"
            raise ParameterError("n_select", "fit into every class", got=f"{found}; {remedy}")
        if included[c] > count:
            rule = f"hold at most {count} rows of class {label!r}"
            raise ParameterError("include", rule, included[c])


def absent_classes(
    classes: NDArray[Any], mass: NDArray[np.float64], chosen: NDArray[np.intp]
) -> str:
    """Return in words which classes of positive mass no chosen row has, "" if there are none."""
    counts = np.bincount(chosen, minlength=len(classes))
    absent = np.flatnonzero((counts == 0) & (mass > 0)).tolist()
    if not absent:
        return ""
    labels = classes.tolist()
    shares = [f"{labels[c]!r} ({mass[c]:.2%})" for c in absent]
    remedy = "pass allocation='equal' or allocation=mapping"
    if len(chosen) < len(classes):
        remedy = f"a row of each class takes {len(classes)} rows or more"
    noun = "class" if len(absent) == 1 else f"{len(absent)} classes"
    return f"no row was chosen of {noun} {listed(shares, 5)}; {remedy}"
