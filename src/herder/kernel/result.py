"""The result of thinning: rows, weights, the distance to the sample, the error per column."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from herder._deprecated import renamed_attribute
from herder._errors import ParameterError
from herder._validation import flag
from herder.core.blas import one_blas_thread
from herder.core.lanes import Progress
from herder.core.summary import Block, Fact, Facts, Picture, Section, Summary, Table, Text
from herder.data.rows import Rows, locate
from herder.kernel.bandwidth import spreads
from herder.kernel.candidates import BLOCK_VALUES, Candidates
from herder.kernel.comparison import N_SHOWN, ColumnErrors, compare_columns, draws_text
from herder.kernel.functions import Energy, Stein
from herder.kernel.mmd import root

if TYPE_CHECKING:
    from herder.kernel.thinning import Task

__all__ = ["Thinning"]

#: Columns in the tables of a page, and in its picture of marginals.
N_COLUMNS, N_MARGINALS = 15, 6

CAPTION = "Error per column, in its standard deviations; distance of the distributions, 0 to 1"

#: Sizes at which the MMD is drawn, about.
N_SIZES = 40


@dataclass(frozen=True, eq=False, repr=False)
class Thinning(Sequence[int]):
    """Rows chosen by `thin`.

    It is a sequence of row numbers, which NumPy, polars and pandas take: ``X[chosen]``,
    ``frame.iloc[chosen]``; `take` is for other tables. Distances and errors are computed when
    asked for, from the sample itself and not from a copy: do not change it.

    Attributes
    ----------
    indices : array of shape (n_select,)
        Rows, counted from 0; chain by chain where the sample came in chains.
    weights : array of shape (n_select,)
        Weights of the rows; they sum to one but for ``weights="optimal"``.
    """

    indices: NDArray[np.intp]
    weights: NDArray[np.float64]
    _task: "Task"

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices.tolist())

    def __getitem__(self, key: Any) -> Any:
        return self.indices[key]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the indices."""
        return np.array(self.indices, dtype=dtype, copy=True if copy is None else copy)

    def __repr__(self) -> str:
        return f"Thinning({len(self):,} of {self._task.rows.n_rows:,} rows)"

    @property
    def rows(self) -> Rows:
        """The sample that was thinned, as numbers."""
        return self._task.rows

    @property
    def sample_weight(self) -> NDArray[np.float64] | None:
        """Weights of the rows of the sample, which sum to one; None if all are equal."""
        return self._task.weight

    @property
    @one_blas_thread()
    def mmd(self) -> float:
        """Distance to the target, exact and in double precision.

        It is computed when first asked for, from all pairs of rows, and then kept: for a large
        sample that takes longer than the choice. NaN if a kernel mean was given without its norm.
        Its square is the difference of larger numbers, so that an MMD below about 1e-7 of the
        root of k(x, x) is rounding.
        """
        target, norm = self._reference
        square = norm - 2 * float(self.weights @ target[self.indices]) + self._own
        return square if np.isnan(square) else root(square, max(norm, self._own))

    def compute_mmd(self, progress: Progress | None = None) -> float:
        """Compute `mmd` now, and keep it.

        Parameters
        ----------
        progress : callable, optional
            Called as ``progress(share, note)`` on the way.
        """
        if self._task.given is None and "_reference" not in vars(self):
            vars(self)["_reference"] = self._mean(progress)
        return self.mmd

    @cached_property
    @one_blas_thread()
    def mmd_random(self) -> float:
        """Root mean squared MMD of a random subset of that size, in closed form.

        Drawn without replacement, or with it where rows have weights or come more than once.
        """
        task, m, mass, candidates = self._task, len(self), self._task.mass, self._candidates
        diagonal = float(mass @ candidates.diagonal)
        if task.given is not None:
            # E |mean of m - target|^2 = (E k(x, x) - E E k) / m + E E k - 2 E t(x) + |t|^2
            own = float(mass @ candidates.mean(task.weight))
            bias = own - 2 * float(mass @ task.given.values) + task.given.squared_norm
            return float(np.sqrt(max((diagonal - own) / m + bias, 0.0)))
        spread = max(diagonal - self._reference[1], 0.0)
        n = candidates.n_rows
        if task.weight is None and n > 1 and len(np.unique(self.indices)) == m:
            spread *= (n - m) / (n - 1)
        return float(np.sqrt(spread / m))

    @property
    def path(self) -> NDArray[np.float64]:
        """MMD of the first 1, 2, ... rows, in the order chosen and with equal weights."""
        return self._path(self.indices)

    @one_blas_thread()
    def _path(self, order: NDArray[np.intp]) -> NDArray[np.float64]:
        target, norm = self._reference
        counts = np.arange(1, len(self) + 1)
        added = np.empty(len(self))
        for rows in self._blocks():
            gram = self._candidates.gram(order[rows], order)
            before = np.tril(gram, rows.start - 1).sum(axis=1)
            added[rows] = 2 * before + np.diagonal(gram, rows.start)
        own = np.cumsum(added) / counts**2
        square = norm - 2 * np.cumsum(target[order]) / counts + own
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
        """Return chain and draw of each chosen row."""
        return locate(self.indices, self._task.rows.shape)

    def take(self, table: Any) -> Any:
        """Return the chosen rows of a table that is aligned with the sample, in its own form."""
        return self._task.rows.take(table, self.indices)

    def column_errors(self) -> ColumnErrors:
        """Compare each column before and after: means, standard deviations, quantiles."""
        rows, own = self._task.rows, self._task.weight
        found = rows.values, self.indices, self.weights, own, rows.names
        return compare_columns(*found, labels=rows.labels)

    loss = renamed_attribute("loss", "column_errors")

    def summary(self, *, mmd: bool = True) -> Summary:
        """Return how good the choice is: the MMD, and the error per column.

        Parameters
        ----------
        mmd : bool, default True
            Whether to compute the MMD, which takes all pairs of rows.
        """
        errors, known = self.column_errors(), flag(mmd, "mmd") and not np.isnan(self.mmd)
        first: list[Block] = [Facts([*(self._distance() if known else []), *self._how()])]
        if known and self.mmd >= self.mmd_random and len(self) < self._task.rows.n_rows:
            text = (
                f"the chosen rows are no closer to {self._whole} than a random subset of that "
                "size: try another kernel or bandwidth, and no approximation"
            )
            first.append(Text(text, "warning"))
        if self._task.classes is not None:
            first.append(self._classes())
        if note := self._task.settings.get("note"):
            first.append(Text(note, "warning"))
        table = replace(errors.table(N_SHOWN), caption=CAPTION)
        sections = [self._places(), self._columns(errors)]
        if known and self._task.classes is None:
            sections.append(self._falling())
        title = f"{len(self):,} of {self._task.rows.n_rows:,} rows"
        worth = errors.worth + (self._worth() if known and errors.worth else "")
        texts = errors.others(N_SHOWN), errors.comparison, worth
        last = [Text(text) for text in texts if text]
        return Summary(title, [*first, table, *last], sections)

    @property
    def _whole(self) -> str:
        """What the choice is compared with."""
        if self._task.given is None:
            return "all rows"
        return "the density" if isinstance(self._task.kernel, Stein) else "the target"

    def _distance(self) -> list[Fact]:
        ours, random = self.mmd, self.mmd_random
        times = f": {random / ours:,.1f}x closer" if random > ours > 0 else ""
        beside = f"a random subset has {random:.3g}{times}"
        return [Fact(f"MMD to {self._whole}", ours, ".3g", beside)]

    def _worth(self) -> str:
        """Return how many independent draws have the same MMD on average, as words to add."""
        if self._task.given is not None or self.mmd == 0:
            return ""
        spread = float(self._task.mass @ self._candidates.diagonal) - self._reference[1]
        draws = draws_text(spread / self.mmd**2, self._task.rows.n_rows)
        return f", {draws} for the functions of the kernel (MMD)"

    def _how(self) -> list[Fact]:
        settings, kernel = self._task.settings, self._task.kernel
        facts = [Fact("kernel", settings.get("kernel", type(kernel).__name__))]
        lengths = getattr(kernel, "bandwidth", None)
        named = "kernel" in settings
        median = named and isinstance(settings["bandwidth"], str)
        if isinstance(kernel, Energy) and median:  # it has none
            divided = "divided by their standard deviations"
            meaning = divided if settings["standardise"] else "as they are"
            numeric = int((~self._task.rows.is_indicator).sum())
            facts.append(Fact("columns", numeric, "", f"of numbers, {meaning}"))
        elif lengths is not None and np.ndim(settings["bandwidth"] if named else lengths) == 0:
            words = ["median distance of two rows"] if median else []
            if np.ndim(lengths):  # one length in standard deviations, that of any column
                rows = self._task.rows
                lengths = lengths[0] / spreads(rows.values[:, :1], rows.is_indicator[:1])[0]
                words.append("in standard deviations")
            facts.append(Fact("bandwidth", float(lengths), ".4g", ", ".join(words)))
        elif lengths is not None:
            meaning = "in its standard deviation" if settings.get("standardise") else "as given"
            facts.append(Fact("bandwidth", "one for each column", "", meaning))
        weights = settings.get("weights", "uniform")
        if weights != "uniform":
            sign = "sum to one" if weights == "simplex" else "may be negative"
            low, high = self.weights.min(), self.weights.max()
            meaning = f"from {low:.2e} to {high:.2e}, {sign}: use them in every average"
            facts.append(Fact("weights", weights, "", meaning))
        elif self._task.classes is not None and np.ptp(self.weights) > 1e-9:
            meaning = "since classes have other shares than in all rows: use them in every average"
            facts.append(Fact("weights", "by class", "", meaning))
        elif settings.get("refine") is False:
            meaning = "the first rows are those of a smaller choice"
            facts.append(Fact("order", "nested", "", meaning))
        if settings.get("approximate") is not None:
            facts.append(Fact("approximation", settings["approximate"]))
        return facts

    def _classes(self) -> Table:
        """Return how many rows each class has, and its share before and after."""
        task = self._task
        assert task.candidates is not None
        mass = np.bincount(task.candidates.codes, weights=task.mass)
        rows = [
            (str(label), float(share), len(chosen), len(chosen) / len(self))
            for (label, chosen), share in zip(self.by_class.items(), mass, strict=True)
        ]
        header = ("label", "share of all", "chosen", "share chosen")
        return Table(header, rows, ("", ".2%", "", ".2%"))

    def _places(self) -> Section:
        text = (
            "All rows in grey, the chosen ones on top; beside the axes the distributions of all "
            "rows (filled) and of the chosen ones (line)."
        )
        if self._task.settings.get("weights", "uniform") != "uniform":
            text += " The area of a dot is proportional to the weight of its row."
        description = "Scatter of all rows and the chosen ones, with histograms of both."
        picture = Picture("picks", self, description)
        return Section("Where the chosen rows lie", [Text(text), picture])

    def _columns(self, errors: ColumnErrors) -> Section:
        known = self.rows.value_names  # those of numbers, and of the indicators of categories
        ranked = [name for name in errors.worst(len(errors.names)).names if name in known]
        drawn = [known.index(name) for name in ranked[:N_MARGINALS]]
        text = (
            "The table above gives the error of the mean, of the standard deviation (sd) and of "
            "quantiles, in standard deviations of the column, and the largest difference between "
            "the two distribution functions (distance, from 0 to 1); worst first."
        )
        picture = Picture(
            "marginals",
            self,
            "Histograms of columns, of all rows and of the chosen ones.",
            "Filled: all rows. Line: the chosen rows. The outermost bars hold what lies beyond.",
            {"columns": drawn},
        )
        blocks: list[Block] = [Text(text)]
        if len(errors.names) > N_SHOWN:  # the worst are above
            table = errors.table(N_COLUMNS)
            caption = f"The next columns, {errors.others(N_COLUMNS)}".removesuffix(", ")
            blocks.append(replace(table, rows=table.rows[N_SHOWN:], caption=caption))
        return Section("Error per column", [*blocks, *([picture] if drawn else [])])

    def _falling(self) -> Section:
        nested = self._task.settings.get("refine") is False
        order = "as they were chosen" if nested else "in the order of herding"
        text = (
            f"The MMD of the first T chosen rows, {order}, beside that of T random rows. The MMD "
            "is the largest error of a mean of any function of unit norm under the kernel. The "
            "dot is the choice itself."
        )
        picture = Picture(
            "mmd",
            self,
            "MMD against the number of rows on logarithmic axes, chosen rows and random rows.",
            "The dashed line falls as 1/T; random subsets fall as 1/sqrt(T).",
        )
        return Section("MMD against the number of rows", [Text(text), picture])

    def herded_path(self) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
        """Return sizes T, the MMD of the first T rows in herding's order, and of T random rows.

        A refined set has no order of its own: its rows are put into the order in which herding
        would take them from the set. The first array is empty for weighted choices, the second
        for a target other than the sample.
        """
        m, n = len(self), self._task.rows.n_rows
        sizes = np.unique(np.geomspace(1, m, N_SIZES).round().astype(np.intp))
        path = random = np.empty(0)
        if self._task.settings.get("weights", "uniform") == "uniform":
            order = self.indices
            if self._task.settings.get("refine") is not False:
                order = order[self._herding_order()]
            path = self._path(order)[sizes - 1]
        if self._task.given is None and (m < n or self._task.weight is not None):
            random = self.mmd_random * np.sqrt(m / sizes)
            if self._task.weight is None:
                random = random * np.sqrt((n - sizes) / (n - m))
        return sizes, path, random

    def _herding_order(self) -> NDArray[np.intp]:
        """Order the chosen rows as herding takes them from their set."""
        m, rows = len(self), self.indices
        target = self._reference[0][rows]
        half = self._candidates.diagonal[rows] / 2
        left, covered = np.ones(m, dtype=bool), np.zeros(m)
        order = np.empty(m, dtype=np.intp)
        for t in range(m):
            scores = np.where(left, target - (covered + half) / (t + 1), -np.inf)
            order[t] = pick = int(scores.argmax())
            left[pick] = False
            covered += self._candidates.gram(rows[pick : pick + 1], rows)[0]
        return order

    @cached_property
    @one_blas_thread()
    def _candidates(self) -> Candidates:
        return self._task.make_candidates()

    @cached_property
    @one_blas_thread()
    def _reference(self) -> tuple[NDArray[np.float64], float]:
        """Target at every row, and its squared norm."""
        task = self._task
        if task.given is not None:
            return task.given.values, task.given.squared_norm
        return self._mean(None)

    def _mean(self, progress: Progress | None) -> tuple[NDArray[np.float64], float]:
        task = self._task
        mean = self._candidates.mean(task.weight, progress=progress)
        return mean, float(task.mass @ mean)

    @cached_property
    @one_blas_thread()
    def _own(self) -> float:
        total = 0.0
        for rows in self._blocks():
            gram = self._candidates.gram(self.indices[rows], self.indices)
            total += float(self.weights[rows] @ gram @ self.weights)
        return total

    def _blocks(self) -> Iterator[slice]:
        """Yield parts of the chosen rows whose kernel values to all are a few megabytes."""
        step = max(1, BLOCK_VALUES // len(self))
        for low in range(0, len(self), step):
            yield slice(low, min(low + step, len(self)))
