"""The dual learner in the place of weights, so that an estimator need not know."""

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from herder.core.plain import Arrays
from herder.online.dual import DualWeights
from herder.online.rules import Rule
from herder.online.weights import PassCounts, RowMatrix, TrainingPass

__all__ = ["KernelWeights"]


class KernelWeights:
    """A Gaussian in the feature space of a kernel; blocks learn together.

    Parameters
    ----------
    dual : DualWeights
        The learner.
    average : bool
        Whether scores are those of the average over rows seen.
    """

    def __init__(self, dual: DualWeights, *, average: bool) -> None:
        self.dual, self.average = dual, average

    @classmethod
    def of(cls, model: Any, n_blocks: int, *, together: bool) -> Self:
        """Make the weights of an estimator with a kernel."""
        names = ("gamma", "degree", "coef0", "budget")
        options = {name: getattr(model, name) for name in names}
        bias = bool(model.fit_intercept)
        dual = DualWeights(
            model.kernel, fit_intercept=bias, n_blocks=n_blocks, together=together, **options
        )
        return cls(dual, average=bool(model.average))

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self.dual.n_blocks

    def learn(self, training: TrainingPass, rule: Rule) -> PassCounts:
        """Learn rows in turn."""
        is_plain = self.dual.together
        labels = training.labels if is_plain else np.where(training.labels == 1, 1.0, -1.0)
        done = self.dual.learn(training.rows, labels, training.rates, rule, training.order)
        # the dual itself says which rows it left out, and why
        return PassCounts(done.n_updates, done.n_mistakes, 0)

    def skip(self, n_rows: int) -> None:
        """Count rows that teach nothing."""
        self.dual.n_seen += n_rows

    def scores(self, rows: RowMatrix) -> NDArray[np.float64]:
        """Return the mean scores of rows, (n, B)."""
        return self.dual.scores(rows, average=self.average).reshape(rows.shape[0], -1)

    def variances(self, rows: RowMatrix) -> NDArray[np.float64]:
        """Return the variances of the scores, (n, B)."""
        return self.dual.variances(rows).reshape(rows.shape[0], -1)

    def gap_variances(self, rows: RowMatrix, rivals: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the variance of each score's gap to that of the rival block, (n, B)."""
        return self.dual.gap_variances(rows, rivals)

    def arrays(self) -> Arrays:
        """Return all that was learnt, by name."""
        return self.dual.arrays()

    def restore(self, arrays: Arrays, n_features: int) -> None:
        """Take what `arrays` gave."""
        self.dual.restore(arrays, n_features)

    def spread(self, places: NDArray[np.intp], n_blocks: int) -> "KernelWeights":
        """Return a copy with more blocks: the old ones at ``places``, nothing known of the new."""
        dual = copy.deepcopy(self.dual)
        dual.spread(places, n_blocks)
        return KernelWeights(dual, average=self.average)
