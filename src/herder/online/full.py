"""The Gaussian over weight vectors with its whole covariance."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from herder._errors import ParameterError
from herder.core.blas import one_blas_thread
from herder.core.plain import Arrays, read_array
from herder.online.rules import VARIANCE_FLOOR, Rule
from herder.online.weights import BREATH, PassCounts, RowMatrix, TrainingPass, applied, summed

__all__ = ["FullWeights"]

#: Numbers held at once for the variances of gaps: 64 MB.
BLOCK = 2**23

#: A covariance larger than this many bytes is refused.
LARGEST_MATRIX = 4 * 2**30


class FullWeights:
    """Means and the whole covariance of the weights; parameters as for `DiagonalWeights`.

    Blocks that learn together share one matrix, since their weights become correlated. The
    covariance is kept as a root R, S = R R': it is positive whatever rounding does, and no entry
    of R ever grows, while a plain S loses its small eigenvalues, then its sign, then all bounds.
    """

    def __init__(
        self, n_features: int, n_blocks: int, *, bias: bool, together: bool, average: bool = False
    ) -> None:
        size = n_features + bias
        groups, side = (1, n_blocks * size) if together else (n_blocks, size)
        if groups * side * side * 8 > LARGEST_MATRIX:
            raise ParameterError(
                "covariance",
                f"not be 'full' for {size} features and {n_blocks} blocks of weights: "
                f"{groups * side * side * 8 / 2**30:.1f} GB; use 'project'",
            )
        self.bias, self.together = bias, together
        self.means_ = np.zeros((n_blocks, size))
        self.roots = np.tile(np.eye(side), (groups, 1, 1))
        self.drift = np.zeros((n_blocks, size)) if average else None
        self.seen = 0

    @property
    @one_blas_thread()
    def matrices(self) -> NDArray[np.float64]:
        """The covariances, made from their roots: one for blocks together, or one a block."""
        found = self.roots @ np.swapaxes(self.roots, 1, 2)
        found = (found + np.swapaxes(found, 1, 2)) / 2
        side = np.arange(found.shape[1])
        found[:, side, side] = np.maximum(found[:, side, side], VARIANCE_FLOOR)
        return found

    @matrices.setter
    @one_blas_thread()
    def matrices(self, covariances: NDArray[np.float64]) -> None:
        values, vectors = np.linalg.eigh(covariances)
        self.roots = np.ascontiguousarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.means_)

    @property
    def means(self) -> NDArray[np.float64]:
        """Means, averaged over the rows seen if that is wanted, (D, B)."""
        means = self.means_.T
        return means if self.drift is None or not self.seen else means - self.drift.T / self.seen

    def learn(self, training: TrainingPass, rule: Rule) -> PassCounts:
        """Learn rows in turn."""
        from herder.online import _passes_jit as _jit

        n_blocks, size = self.means_.shape
        stride = max(1, BREATH // self.roots.size)
        # what comes back by forgetting has no root of its own: such passes learn S itself
        matrices = self.matrices if rule.forget > 0.0 else self.roots
        passes = []
        for low in range(0, len(training.order), stride):
            turn = training.order[low : low + stride]
            rows = training.rows[turn]
            rows = rows.toarray() if sparse.issparse(rows) else rows
            own = np.arange(len(turn))
            labels, rates = training.labels[turn], training.rates[turn]
            answers = np.empty((len(matrices), len(turn)))
            updates, left_out = 0, 0
            for g, matrix in enumerate(matrices):
                targets = labels.astype(np.float64)
                if not self.together:
                    targets = np.where(labels == (g if n_blocks > 1 else 1), 1.0, -1.0)
                means = self.means_.reshape(len(matrices), -1)[g]
                drift = np.empty(0)
                if self.drift is not None:
                    drift = self.drift.reshape(len(matrices), -1)[g]
                done = _jit.learn_full(
                    rows,
                    _jit.Turns(own, targets, rates),
                    means,
                    matrix,
                    answers[g],
                    _jit.Past(self.seen, drift, np.empty(0, np.int64)),
                    rule,
                    len(means) // size,
                )
                updates += done[0]
                left_out = max(left_out, done[1])
            picks = answers[0] if self.together else answers.argmax(axis=0)
            if n_blocks == 1:
                picks = answers[0] > 0
            passes.append(PassCounts(updates, int(np.sum(picks != labels)), left_out))
            self.seen += len(turn)
        if rule.forget > 0.0:
            self.matrices = matrices
        return summed(passes)

    def skip(self, n_rows: int) -> None:
        """Count rows that teach nothing."""
        self.seen += n_rows

    def scores(self, rows: RowMatrix) -> NDArray[np.float64]:
        """Return mu.x for every row and block, (n, B)."""
        return applied(rows, self.means, bias=self.bias)

    @one_blas_thread()
    def variances(self, rows: RowMatrix) -> NDArray[np.float64]:
        """Return x'Sx for every row and block, (n, B)."""
        points = self._points(rows)
        found = np.empty((len(points), self.n_blocks))
        for b in range(self.n_blocks):
            spread = points @ self.block_root(b)
            found[:, b] = np.einsum("ij,ij->i", spread, spread)
        return found

    @one_blas_thread()
    def gap_variances(self, rows: RowMatrix, rivals: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the variance of each score's gap to that of the rival block, (n, B)."""
        if not self.together:
            found = self.variances(rows)
            return found + np.take_along_axis(found, rivals, axis=1)
        gaps = np.empty((rows.shape[0], self.n_blocks))
        stride = max(1, BLOCK // self.roots.shape[2] // self.n_blocks)
        for low in range(0, len(gaps), stride):
            points = self._points(rows[low : low + stride])
            spread = np.stack([points @ self.block_root(b) for b in range(self.n_blocks)])
            for b in range(self.n_blocks):
                other = spread[rivals[low : low + stride, b], np.arange(len(points))]
                gaps[low : low + stride, b] = np.square(spread[b] - other).sum(axis=1)
        return gaps

    def _points(self, rows: RowMatrix) -> NDArray[np.float64]:
        """Return dense rows, with the constant feature if there is one."""
        dense = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, np.float64)
        return np.hstack([dense, np.ones((len(dense), 1))]) if self.bias else dense

    def block_root(self, b: int) -> NDArray[np.float64]:
        """Return a root of the covariance within a block, (D, D) or (D, K D)."""
        if not self.together:
            return self.roots[b]
        size = self.means_.shape[1]
        return self.roots[0, b * size : (b + 1) * size]

    def arrays(self) -> Arrays:
        """Return all that was learnt, by name."""
        found = {"mean": self.means_, "root": self.roots}
        if self.drift is not None:
            found["drift"] = self.drift
        return found | {"seen": np.array([self.seen], np.int64)}

    def restore(self, arrays: Arrays, n_features: int) -> None:
        """Take what `arrays` gave for so many features, whatever their number was here."""
        n_blocks, size = self.n_blocks, n_features + self.bias
        groups, side = (1, n_blocks * size) if self.together else (n_blocks, size)
        self.means_ = read_array(arrays, "mean", (n_blocks, size))
        self.roots = read_array(arrays, "root", (groups, side, side))
        if self.drift is not None:
            self.drift = read_array(arrays, "drift", (n_blocks, size))
        self.seen = int(read_array(arrays, "seen", (1,), np.int64, low=0)[0])

    def extended(self, n_features: int) -> "FullWeights":
        """Return a copy with more features, which are at the prior."""
        n_blocks, old = self.means_.shape
        new = self._prior(n_features, n_blocks)
        size = new.means_.shape[1]
        kept = np.arange(old)
        if self.bias:
            kept[-1] = size - 1
        new.means_[:, kept] = self.means_
        if new.drift is not None and self.drift is not None:
            new.drift[:, kept] = self.drift
        blocks = np.arange(n_blocks if self.together else 1)
        flat = (blocks[:, None] * size + kept).ravel()
        for matrix, former in zip(new.roots, self.roots, strict=True):
            matrix[np.ix_(flat, flat)] = former
        return new

    def spread(self, places: NDArray[np.intp], n_blocks: int) -> "FullWeights":
        """Return a copy with more blocks: old ones at ``places``, new ones at the prior."""
        size = self.means_.shape[1]
        new = self._prior(size - self.bias, n_blocks)
        new.means_[places] = self.means_
        if new.drift is not None and self.drift is not None:
            new.drift[places] = self.drift
        if self.together:
            flat = (places[:, None] * size + np.arange(size)).ravel()
            new.roots[0][np.ix_(flat, flat)] = self.roots[0]
        else:
            new.roots[places] = self.roots
        return new

    def _prior(self, n_features: int, n_blocks: int) -> "FullWeights":
        """Return weights of this kind that have seen as much and know nothing."""
        new = FullWeights(
            n_features,
            n_blocks,
            bias=self.bias,
            together=self.together,
            average=self.drift is not None,
        )
        new.seen = self.seen
        return new
