"""The compiled conditional herd: weights in one vector, steps over batches, classes of rows."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from herder.fields._conditional_jit import Herd, Rows, classify, run
from herder.fields.conditional import LAST_HALVING

__all__ = ["ConditionalHerd"]


class ConditionalHerd:
    """The loop of `ConditionalSystem` with the features of a discriminative RBM, compiled.

    Parameters
    ----------
    n_inputs, n_hidden : int
        Columns of the rows; hidden units, 0 for `LabelFeatures`.
    codes : ndarray of shape (n_classes, n_units)
        See `herder.fields.conditional.class_codes`.
    states : (-1, 1) or (0, 1)
        Of the hidden units.
    bias : bool
        Whether there are weights of the codes alone; with hidden units always.
    dtype : dtype
        Of the weights and the rows.

    Attributes
    ----------
    weights : ndarray of shape (n_weights,)
        All weights in the order of the features; may be written.
    sizes : ndarray of shape (4,)
        Number of weights of x z, y z, z and y; without hidden units the first are those of x y.
    rates : ndarray of shape (4,)
        Their rates.
    n_steps, n_wrong, n_violations : int
        Steps so far, mistakes in them, and steps that violated the PCT inequality.
    """

    def __init__(
        self,
        n_inputs: int,
        n_hidden: int,
        codes: NDArray[Any],
        *,
        states: Sequence[int] = (-1, 1),
        bias: bool = True,
        dtype: Any = np.float32,
    ) -> None:
        self._options = {"states": states, "bias": bias, "dtype": dtype}
        n_classes, n_units = codes.shape
        width = n_hidden or n_units
        #: Shapes of the blocks of weights.
        self.shapes = [(n_inputs, width), (n_units, n_hidden), (n_hidden,), (n_units,)]
        if not n_hidden and not bias:
            self.shapes[3] = (0,)
        self.sizes = np.array([int(np.prod(shape)) for shape in self.shapes])
        self.weights, self.rates = np.zeros(self.sizes.sum(), dtype), np.ones(4, dtype)
        ends = np.cumsum([0, *self.sizes])
        blocks = [
            self.weights[low:high].reshape(shape)
            for low, high, shape in zip(ends[:-1], ends[1:], self.shapes, strict=True)
        ]
        low, high = states
        levels = np.array([0, low, high, (low + high) / 2, (high - low) / 2], dtype)
        fields, classes = np.zeros((0, width), dtype), np.zeros((n_classes, n_hidden), dtype)
        self.herd = Herd(
            *blocks,
            codes=np.asarray(codes, dtype),
            classes=classes,
            priors=np.zeros(n_classes, dtype),
            rates=self.rates,
            states=levels,
            fields=fields,
            changes=fields,
            asked=classes.copy(),
            moved=np.zeros(n_classes, dtype),
            wrong=np.zeros(0, np.intp),
        )
        self.counts = np.zeros(4, np.int64)

    @property
    def n_steps(self) -> int:
        """Steps so far."""
        return int(self.counts[0])

    @property
    def n_wrong(self) -> int:
        """Mistakes so far."""
        return int(self.counts[2])

    @property
    def n_violations(self) -> int:
        """Steps that violated the PCT inequality."""
        return int(self.counts[3])

    def run(
        self,
        rows: Any,
        labels: NDArray[np.intp],
        n_steps: int,
        *,
        place: int,
        size: int,
        halving: int = 0,
    ) -> int:
        """Take steps over batches, from one of them on; stop after a pass without a change.

        Parameters
        ----------
        rows : ndarray or csr_array of shape (n_rows, n_inputs)
            Of the dtype of the weights.
        labels : ndarray of shape (n_rows,)
            Their classes.
        n_steps : int
            How many steps at most; the number of steps taken is returned.
        place, size : int
            The first batch, and rows of a batch.
        halving : int
            Steps after which the share of the entropy trick is halved; 0 for none.
        """
        size = min(size, len(labels))
        if len(self.herd.fields) != size:
            fields = np.zeros((size, self.herd.inputs.shape[1]), self.weights.dtype)
            room = {"fields": fields, "changes": fields.copy(), "wrong": np.zeros(size, np.intp)}
            self.herd = self.herd._replace(**room)
        parts = _parts(rows, self.weights.dtype, labels)
        return run(parts, self.herd, self.counts, place, n_steps, size, halving, LAST_HALVING)

    def twin(self) -> Self:
        """Return a copy, which runs apart."""
        (n_inputs, _), (_, n_hidden), *_ = self.shapes
        new = type(self)(n_inputs, n_hidden, self.herd.codes, **self._options)
        new.weights[:], new.rates[:], new.counts[:] = self.weights, self.rates, self.counts
        return new

    def classify(self, rows: Any) -> NDArray[np.intp]:
        """Return the class of the largest score of each row."""
        labels = np.empty(rows.shape[0], np.intp)
        classify(np.ascontiguousarray(rows @ self.herd.inputs), self.herd, labels)
        return labels


def _parts(rows: Any, dtype: Any, labels: NDArray[np.intp]) -> Rows:
    none = np.zeros((0, 0), dtype), np.zeros(0, dtype)
    if sparse.issparse(rows):
        return Rows(none[0], rows.data, rows.indices, rows.indptr, labels)
    return Rows(rows, none[1], np.zeros(0, np.int32), np.zeros(1, np.int32), labels)
