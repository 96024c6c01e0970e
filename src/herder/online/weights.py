"""The Gaussian over weight vectors: its arrays, how it learns rows, what it says of them.

A model has one *block* of weights for two classes (positive for the second), or one for each of
K classes. Blocks learn *together*, by the difference between the score of the right class and
that of the best other one, or *apart*, each telling its class from all others.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from herder.core.blas import one_blas_thread
from herder.core.plain import POSITIVE, Arrays, read_array
from herder.online.rules import Rule

__all__ = [
    "BREATH",
    "DiagonalWeights",
    "PassCounts",
    "RowMatrix",
    "TrainingPass",
    "applied",
    "summed",
]

#: Rows of a table: dense, or scipy's CSR in either of its two classes.
RowMatrix: TypeAlias = Any

#: Entries of work in one compiled call, a tenth of a second or so: Ctrl-C is heard in between.
BREATH = 50_000_000

#: Products of fewer numbers are not worth a second thread of BLAS, nor asking for one.
FEW = 4096


@dataclass(frozen=True, slots=True)
class TrainingPass:
    """Rows to learn: their classes and rates, and the order of turns."""

    rows: RowMatrix  # (n, d)
    labels: NDArray[np.intp]  # (n,) places in the list of classes
    rates: NDArray[np.float64]  # (n,)
    order: NDArray[np.intp]  # (n_turns,)


@dataclass(frozen=True, slots=True)
class PassCounts:
    """What a pass did."""

    n_updates: int
    n_wrong: int  # rows predicted wrongly before they were learnt
    n_left_out: int  # rows whose squared length overflows


class DiagonalWeights:
    """Means and variances of independent weights; first-order learners leave the variances at 1.

    Parameters
    ----------
    n_features, n_blocks : int
        Features without the bias, and blocks.
    bias : bool
        Whether a constant feature comes last.
    together : bool
        Whether the blocks learn together.
    average : bool
        Whether the mean over time is kept.
    """

    def __init__(
        self, n_features: int, n_blocks: int, *, bias: bool, together: bool, average: bool = False
    ) -> None:
        size = n_features + bias
        self.bias, self.together = bias, together
        self.table = _prior_table(size, n_blocks)
        self.drift = np.zeros((size, n_blocks)) if average else None
        self.seen = 0

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self.table.shape[1]

    @property
    def means(self) -> NDArray[np.float64]:
        """Means, averaged over the rows seen if that is wanted, (D, B)."""
        means = self.table[:, :, 0]
        return means if self.drift is None or not self.seen else means - self.drift / self.seen

    def learn(self, training: TrainingPass, rule: Rule) -> PassCounts:
        """Learn rows in turn."""
        rows = training.rows
        entries = rows.nnz if sparse.issparse(rows) else rows.size
        stride = max(1, BREATH * max(1, rows.shape[0]) // max(1, entries * self.n_blocks))
        passes = []
        for low in range(0, len(training.order), stride):
            order = training.order[low : low + stride]
            if self.together:
                passes.append(self._learn_together(training, order, rule))
            else:
                passes.append(self.learn_apart(training, order, rule)[0])
            self.seen += len(order)
        return summed(passes)

    def learn_apart(
        self, training: TrainingPass, order: NDArray[np.intp], rule: Rule
    ) -> tuple[PassCounts, NDArray[np.float64]]:
        """Learn every block in turn; give also the scores (B, n) of rows before they were."""
        from herder.online import _passes_jit as _jit

        n_blocks = self.n_blocks
        scores = np.empty((n_blocks, training.rows.shape[0]))
        updates, left_out = 0, 0
        for b in range(n_blocks):
            targets = np.where(training.labels == (b if n_blocks > 1 else 1), 1.0, -1.0)
            turns = _jit.Turns(order, targets, training.rates)
            table = np.ascontiguousarray(self.table[:, b])
            drift = _column(self.drift, b)
            past = _jit.Past(self.seen, drift, self._ages(training, rule))
            if sparse.issparse(training.rows):
                rows = _jit.Sparse(training.rows.indptr, training.rows.indices, training.rows.data)
                done = _jit.learn_csr(rows, turns, table, scores[b], past, rule, self.bias)
                _relax(table, past.ages, len(order), rule)
            else:
                mean, variance = table[:, 0].copy(), table[:, 1].copy()
                rows = _read_only(training.rows)
                done = _jit.learn_dense(
                    rows, turns, mean, variance, scores[b], past, rule, self.bias
                )
                table[:, 0], table[:, 1] = mean, variance
            if not np.may_share_memory(table, self.table):
                self.table[:, b] = table
            if self.drift is not None:
                self.drift[:, b] = drift
            updates += done[0]
            left_out = max(left_out, done[1])
        seen = scores[:, order]  # the other rows have none yet
        picks = seen[0] > 0 if n_blocks == 1 else seen.argmax(axis=0)
        wrong = np.count_nonzero(picks != training.labels[order])
        return PassCounts(updates, int(wrong), left_out), scores

    def _learn_together(
        self, training: TrainingPass, order: NDArray[np.intp], rule: Rule
    ) -> PassCounts:
        from herder.online import _passes_jit as _jit

        turns = _jit.Turns(order, training.labels, training.rates)
        picks = np.empty(training.rows.shape[0], np.intp)
        drift = np.empty((0, 0)) if self.drift is None else self.drift
        ages = self._ages(training, rule)
        if sparse.issparse(training.rows):
            past = _jit.Past(self.seen, drift, ages)
            rows = _jit.Sparse(training.rows.indptr, training.rows.indices, training.rows.data)
            done = _jit.learn_classes_csr(rows, turns, self.table, picks, past, rule, self.bias)
            _relax(self.table, ages, len(order), rule)
        else:
            means = np.ascontiguousarray(self.table[:, :, 0].T)
            variances = np.ascontiguousarray(self.table[:, :, 1].T)
            past = _jit.Past(self.seen, np.ascontiguousarray(drift.T), ages)
            rows = _read_only(training.rows)
            done = _jit.learn_classes_dense(
                rows, turns, means, variances, picks, past, rule, self.bias
            )
            self.table[:, :, 0], self.table[:, :, 1] = means.T, variances.T
            if self.drift is not None:
                self.drift[:] = past.drift.T
        wrong = np.count_nonzero(picks[order] != training.labels[order])
        return PassCounts(done[0], int(wrong), done[1])

    def _ages(self, training: TrainingPass, rule: Rule) -> NDArray[np.int64]:
        wanted = rule.forget > 0.0 and sparse.issparse(training.rows)
        return np.zeros(len(self.table) if wanted else 0, np.int64)

    def skip(self, n_rows: int) -> None:
        """Count rows that teach nothing."""
        self.seen += n_rows

    def scores(self, rows: RowMatrix) -> NDArray[np.float64]:
        """Return mu.x for every row and block, (n, B)."""
        return applied(rows, self.means, bias=self.bias)

    def variances(self, rows: RowMatrix) -> NDArray[np.float64]:
        """Return x'Sx for every row and block, (n, B)."""
        return applied(_squared(rows), self.table[:, :, 1], bias=self.bias)

    def gap_variances(self, rows: RowMatrix, rivals: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the variance of each score's gap to that of the rival block, (n, B)."""
        found = self.variances(rows)
        return found + np.take_along_axis(found, rivals, axis=1)

    def arrays(self) -> Arrays:
        """Return all that was learnt, by name."""
        found = {"mean": self.table[:, :, 0].T, "variance": self.table[:, :, 1].T}
        if self.drift is not None:
            found["drift"] = self.drift.T
        return found | {"seen": np.array([self.seen], np.int64)}

    def restore(self, arrays: Arrays, n_features: int) -> None:
        """Take what `arrays` gave for so many features, whatever their number was here."""
        shape = (self.n_blocks, n_features + self.bias)
        mean = read_array(arrays, "mean", shape)
        variance = read_array(arrays, "variance", shape, low=POSITIVE)
        self.table = np.stack([mean.T, variance.T], axis=2)
        if self.drift is not None:
            self.drift = np.ascontiguousarray(read_array(arrays, "drift", shape).T)
        self.seen = int(read_array(arrays, "seen", (1,), np.int64, low=0)[0])

    def extended(self, n_features: int) -> "DiagonalWeights":
        """Return a copy with more features, which are at the prior."""
        old = len(self.table) - self.bias
        new = self._prior(n_features, self.n_blocks)
        new.table[:old] = self.table[:old]
        if self.bias:
            new.table[-1] = self.table[-1]
        if new.drift is not None and self.drift is not None:
            new.drift[:old] = self.drift[:old]
            if self.bias:
                new.drift[-1] = self.drift[-1]
        return new

    def spread(self, places: NDArray[np.intp], n_blocks: int) -> "DiagonalWeights":
        """Return a copy with more blocks: old ones at ``places``, new ones at the prior."""
        new = self._prior(len(self.table) - self.bias, n_blocks)
        new.table[:, places] = self.table
        if new.drift is not None and self.drift is not None:
            new.drift[:, places] = self.drift
        return new

    def _prior(self, n_features: int, n_blocks: int) -> "DiagonalWeights":
        """Return weights of this kind that have seen as much and know nothing."""
        new = DiagonalWeights(
            n_features,
            n_blocks,
            bias=self.bias,
            together=self.together,
            average=self.drift is not None,
        )
        new.seen = self.seen
        return new


def _prior_table(size: int, n_blocks: int) -> NDArray[np.float64]:
    # tile writes the table once, in large pages of memory
    return np.tile(np.array([0.0, 1.0]), (size, n_blocks)).reshape(size, n_blocks, 2)


def _read_only(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return a view that cannot be written to: one compilation, whether the rows can or not."""
    view = rows.view()
    view.flags.writeable = False
    return view


def _column(drift: NDArray[np.float64] | None, b: int) -> NDArray[np.float64]:
    return np.empty(0) if drift is None else np.ascontiguousarray(drift[:, b])


def _relax(table: NDArray[np.float64], ages: NDArray[np.int64], turns: int, rule: Rule) -> None:
    """Bring features that the last rows did not have up to date."""
    if ages.size:
        keep = (1.0 - rule.forget) ** (turns - ages)
        keep = keep.reshape((-1,) + (1,) * (table.ndim - 2))
        table[..., 1] = table[..., 1] * keep + (1.0 - keep)


def summed(passes: list[PassCounts]) -> PassCounts:
    """Return what several passes did."""
    return PassCounts(
        sum(part.n_updates for part in passes),
        sum(part.n_wrong for part in passes),
        sum(part.n_left_out for part in passes),
    )


def applied(rows: RowMatrix, weights: NDArray[np.float64], *, bias: bool) -> NDArray[np.float64]:
    """Return rows times weights (D, B), the last of which is the bias if there is one."""
    width, linear = rows.shape[1], np.ascontiguousarray(weights[: rows.shape[1]])
    with np.errstate(over="ignore", invalid="ignore"):  # rows that are too long: callers look
        if sparse.issparse(rows) or rows.size * linear.shape[1] < FEW:
            found = np.asarray(rows @ linear, np.float64)
        else:
            with one_blas_thread():  # the same bits for any number of threads
                found = np.asarray(rows @ linear, np.float64)
    return found + weights[width] if bias else found


def _squared(rows: RowMatrix) -> RowMatrix:
    if not sparse.issparse(rows):
        return np.square(rows, dtype=np.float64)
    data = np.square(rows.data, dtype=np.float64)
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
