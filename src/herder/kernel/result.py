"""What thinning returns: rows, weights, how near they are to the sample, and what was lost."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._deprecated import renamed_attribute
from herder._errors import ParameterError
from herder.data.rows import Rows, locate
from herder.kernel.candidates import BLOCK_VALUES, Candidates, candidates_of
from herder.kernel.comparison import ColumnErrors, compare_columns
from herder.kernel.functions import Kernel
from herder.kernel.labelled import LabelledCandidates
from herder.kernel.mmd import root
from herder.kernel.targets import GivenTarget

__all__ = ["Task", "Thinning"]


@dataclass(frozen=True, eq=False)
class Task:
    """A sample under a kernel, with what is to be matched."""

    rows: Rows
    values: NDArray[Any]
    kernel: Kernel
    given: GivenTarget | None
    weight: NDArray[np.float64] | None = None
    n_jobs: int | None = None
    classes: NDArray[Any] | None = None
    candidates: LabelledCandidates | None = None

    @property
    def mass(self) -> NDArray[np.float64]:
        """Weight of every row; they sum to one."""
        n = len(self.values)
        return np.full(n, 1 / n) if self.weight is None else self.weight

    def weighted(self, weight: NDArray[np.float64] | None) -> "Task":
        """Return the task with weights of the rows."""
        return replace(self, weight=weight)

    def labelled(self, classes: NDArray[Any], candidates: LabelledCandidates) -> "Task":
        """Return the task with classes, between which nothing is compared."""
        return replace(self, classes=classes, candidates=candidates)

    def part(self, rows: NDArray[np.intp], mass: float) -> "Task":
        """Return the task of one class, as if it were all there is."""
        given = self.given and replace(self.given, values=self.given.values[rows] / mass)
        weight = None if self.weight is None else self.weight[rows] / mass
        return replace(self, values=self.values[rows], weight=weight, given=given)

    def result(self, indices: NDArray[np.intp], weights: NDArray[np.float64] | None) -> "Thinning":
        """Wrap what was chosen."""
        m = len(indices)
        return Thinning(indices, np.full(m, 1 / m) if weights is None else weights, self)


@dataclass(frozen=True, eq=False, repr=False)
class Thinning:
    """Rows chosen by `thin`.

    It may stand wherever NumPy and pandas take an array of row numbers: ``X[chosen]``,
    ``frame.iloc[chosen]``, ``len(chosen)``; `take` serves other tables. Distances and errors are
    computed when asked for, from the sample itself and not from a copy: leave it as it is.

    Attributes
    ----------
    indices : array of shape (n_select,)
        Rows, counted from 0; chain by chain where the sample came in chains.
    weights : array of shape (n_select,)
        Weights of the rows; they sum to one but for ``weights="optimal"``.
    """

    indices: NDArray[np.intp]
    weights: NDArray[np.float64]
    _task: Task

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices.tolist())

    def __getitem__(self, key: Any) -> Any:
        return self.indices[key]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Give the indices."""
        return np.array(self.indices, dtype=dtype, copy=True if copy is None else copy)

    def __repr__(self) -> str:
        return f"Thinning({len(self):,} of {self._task.rows.n_rows:,} rows)"

    @property
    def mmd(self) -> float:
        """Distance to the target, exact and in double precision.

        It is computed when first asked for, from all pairs of rows, and then kept: for a large
        sample that takes longer than the choice. NaN if a kernel mean was given without its norm.
        Its square is the difference of larger numbers, so that an MMD below about 1e-7 of the
        root of k(x, x) is rounding.
        """
        square, norm = self._square
        return square if np.isnan(square) else root(square, max(norm, self._own))

    @cached_property
    def mmd_random(self) -> float:
        """Root mean squared MMD of a random subset of that size, in closed form.

        Drawn without replacement, or with it where rows have weights or come more than once.
        """
        task, m = self._task, len(self)
        candidates = self._candidates
        if task.given is not None:
            return _random_to_given(candidates, task, m)
        mass = task.mass
        spread = max(float(mass @ candidates.diagonal) - self._reference[1], 0.0)
        n = candidates.n_rows
        if task.weight is None and n > 1 and len(np.unique(self.indices)) == m:
            spread *= (n - m) / (n - 1)
        return float(np.sqrt(spread / m))

    @property
    def path(self) -> NDArray[np.float64]:
        """MMD of the first 1, 2, ... rows, in the order chosen and with equal weights."""
        target, norm = self._reference
        counts = np.arange(1, len(self) + 1)
        added = np.empty(len(self))
        for rows in self._blocks():
            gram = self._candidates.gram(self.indices[rows], self.indices)
            before = np.tril(gram, rows.start - 1).sum(axis=1)
            added[rows] = 2 * before + np.diagonal(gram, rows.start)
        own = np.cumsum(added) / counts**2
        square = norm - 2 * np.cumsum(target[self.indices]) / counts + own
        return np.sqrt(np.maximum(square, 0.0))

    @property
    def by_class(self) -> dict[Any, NDArray[np.intp]]:
        """Chosen rows of each label, in order; only where labels were given."""
        task = self._task
        if task.classes is None or task.candidates is None:
            raise ParameterError("y", "be given to thin for rows to have classes", None)
        codes = task.candidates.codes[self.indices]
        labels = task.classes.tolist()
        return {label: self.indices[codes == c] for c, label in enumerate(labels)}

    def locate(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Chain and draw of each chosen row."""
        return locate(self.indices, self._task.rows.shape)

    def take(self, table: Any) -> Any:
        """Give the chosen rows of a table that is aligned with the sample, in its own form."""
        return self._task.rows.take(table, self.indices)

    def column_errors(self) -> ColumnErrors:
        """Compare each column before and after: means, standard deviations, quantiles."""
        rows, own = self._task.rows, self._task.weight
        return compare_columns(rows.values, self.indices, self.weights, own, rows.names)

    loss = renamed_attribute("loss", "column_errors")

    def summary(self) -> str:
        """Say in words how good the choice is."""
        rows, ours, random = self._task.rows, self.mmd, self.mmd_random
        head = f"{len(self):,} of {rows.n_rows:,} rows"
        if np.isnan(ours):
            return f"{head}\n{self.column_errors()}"
        better = f": {_times(random, ours)}" if ours > 0 else ""
        distance = f"MMD {ours:.3g}, of a random subset {random:.3g}{better}"
        return f"{head}, {distance}\n{self.column_errors()}"

    @cached_property
    def _candidates(self) -> Candidates:
        task = self._task
        if task.candidates is not None:
            return task.candidates
        return candidates_of(task.values, task.kernel, n_jobs=task.n_jobs)

    @cached_property
    def _reference(self) -> tuple[NDArray[np.float64], float]:
        """Target at every row, and its squared norm."""
        task = self._task
        if task.given is not None:
            return task.given.values, task.given.squared_norm
        mean = self._candidates.mean(task.weight)
        return mean, float(task.mass @ mean)

    @cached_property
    def _own(self) -> float:
        total = 0.0
        for rows in self._blocks():
            gram = self._candidates.gram(self.indices[rows], self.indices)
            total += float(self.weights[rows] @ gram @ self.weights)
        return total

    def _blocks(self) -> Iterator[slice]:
        """Parts of the chosen rows whose kernel values to all chosen rows are a few megabytes."""
        step = max(1, BLOCK_VALUES // len(self))
        for low in range(0, len(self), step):
            yield slice(low, min(low + step, len(self)))

    @cached_property
    def _square(self) -> tuple[float, float]:
        target, norm = self._reference
        return norm - 2 * float(self.weights @ target[self.indices]) + self._own, norm


def _times(random: float, ours: float) -> str:
    """Say how much nearer, or farther, than a random subset."""
    return f"{random / ours:,.1f} times nearer" if random >= ours else "farther than at random"


def _random_to_given(candidates: Candidates, task: Task, m: int) -> float:
    """Random draws from the rows, against a target that is not their mean.

    E |mean of m - target|^2 = (E k(x, x) - E E k) / m + E E k - 2 E t(x) + |t|^2.
    """
    assert task.given is not None
    mass = task.mass
    centre = float(mass @ candidates.mean(task.weight))
    spread = (float(mass @ candidates.diagonal) - centre) / m
    bias = centre - 2 * float(mass @ task.given.values) + task.given.squared_norm
    return float(np.sqrt(max(spread + bias, 0.0)))
