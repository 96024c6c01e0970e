r"""The voted perceptron: every weight vector of the perceptron votes, for as long as it survived.

A perceptron passes through :math:`w_1, w_2, \ldots, w_k`, each of which classified :math:`c_i`
rows before its next mistake. A new row is classified by

.. math:: \operatorname{sign} \sum_i c_i \operatorname{sign}(w_i^T x)

[freund1999]_. The vectors are prefixes of one sum over mistakes, :math:`w_i = \sum_{j<i} y_j
x_j`, so that one product of x with the mistakes and a running sum give all of them. The mistakes
are kept, which is memory; `budget` bounds it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from herder._validation import check_fitted, positive_int
from herder.core.blas import one_blas_thread
from herder.core.plain import Arrays, read_array
from herder.core.state import nest, unnest
from herder.online.classifier import OnlineClassifier
from herder.online.fitted import finite_answers
from herder.online.inputs import RandomState, read_rows, row_arrays
from herder.online.rules import Rule
from herder.online.weights import DiagonalWeights, PassCounts, RowMatrix, TrainingPass

__all__ = ["VotedPerceptron"]

#: Numbers in one block of votes: 64 MB.
BLOCK = 2**23


class VotedPerceptron(OnlineClassifier):
    """The voted perceptron; parameters not listed are those of `NHERD`.

    More than two classes are distinguished one-vs-rest, by their shares of votes; averaging
    the weights instead is ``Perceptron(average=True)``.

    Parameters
    ----------
    budget : int, default 10_000
        Mistakes that each model may keep. Beyond it the oldest vectors merge: those before the
        oldest kept mistake vote as one.

    Attributes
    ----------
    n_mistakes_ : array of shape (n_models,)
        Mistakes kept by each model.

    Examples
    --------
    >>> from herder import VotedPerceptron
    >>> VotedPerceptron().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).predict([[0.9, 0.1]])
    array([1])
    """

    def __init__(
        self,
        *,
        budget: int = 10_000,
        fit_intercept: bool = True,
        max_iter: int = 5,
        shuffle: bool = True,
        random_state: RandomState = 0,
        class_weight: str | Mapping[Any, float] | None = None,
        new_classes: str = "error",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
    ) -> None:
        super().__init__(
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            shuffle=shuffle,
            random_state=random_state,
            average=False,
            class_weight=class_weight,
            multi_class="one-vs-rest",
            new_classes=new_classes,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
        )
        self.budget = budget

    def _rule(self) -> Rule:
        positive_int(self.budget, "budget")
        return Rule.named("perceptron")

    def _new_weights(self, n_features: int, n_classes: int) -> "Ballot":
        return Ballot(super()._new_weights(n_features, n_classes), self.budget)

    @property
    def n_mistakes_(self) -> NDArray[np.intp]:
        """Mistakes kept by each model."""
        check_fitted(self, "classes_")
        return np.array([len(voters.signs) for voters in self._weights.voters])

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Not there: a vote is not a linear function of the row."""
        raise AttributeError("a VotedPerceptron has no coef_: use Perceptron(average=True)")

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Not there, as ``coef_``."""
        raise AttributeError("a VotedPerceptron has no intercept_: use Perceptron(average=True)")


@dataclass
class Voters:
    """The weight vectors of one perceptron, as the mistakes between them."""

    mistakes: RowMatrix  # (k, d)
    signs: NDArray[np.float64]  # (k,), label times weight
    births: NDArray[np.float64]  # (k,), rows seen when the mistake was made
    base: NDArray[np.float64]  # (D,), sum of the mistakes that are no longer kept
    base_votes: float  # rows that these lived through

    def add(
        self, mistakes: RowMatrix, signs: NDArray[np.float64], births: NDArray[np.float64]
    ) -> None:
        """Add the mistakes of a pass."""
        stack = sparse.vstack if sparse.issparse(mistakes) else np.vstack
        if self.signs.size == 0:
            self.mistakes = mistakes
        elif sparse.issparse(self.mistakes) == sparse.issparse(mistakes):
            self.mistakes = stack([self.mistakes, mistakes])
        else:
            self.mistakes = sparse.vstack([self.mistakes, mistakes], format="csr")
        self.signs = np.concatenate([self.signs, signs])
        self.births = np.concatenate([self.births, births])

    @one_blas_thread()
    def keep(self, budget: int, *, bias: bool) -> None:
        """Fold the oldest mistakes into the base."""
        extra = len(self.signs) - budget
        if extra <= 0:
            return
        self.base[: self.mistakes.shape[1]] += self.signs[:extra] @ self.mistakes[:extra]
        if bias:
            self.base[-1] += self.signs[:extra].sum()
        self.base_votes += self.births[extra] - self.births[0]
        self.mistakes = self.mistakes[extra:]
        self.signs, self.births = self.signs[extra:], self.births[extra:]

    @one_blas_thread()
    def poll(self, rows: RowMatrix, seen: int, *, bias: bool) -> NDArray[np.float64]:
        """Return the sum of votes on each row over the number of votes, from -1 to 1."""
        if self.signs.size == 0:
            return np.zeros(rows.shape[0])
        lives = np.diff(self.births, append=float(seen))
        found = np.empty(rows.shape[0])
        stride = max(1, BLOCK // len(self.signs))
        width = rows.shape[1]
        for low in range(0, rows.shape[0], stride):
            part = rows[low : low + stride]
            with np.errstate(over="ignore", invalid="ignore"):
                products = part @ self.mistakes.T
                dense = products.toarray() if sparse.issparse(products) else np.asarray(products)
                start = part @ self.base[:width] + (self.base[-1] if bias else 0.0)
                totals = np.cumsum((dense + bias) * self.signs, axis=1) + start[:, None]
            finite_answers(totals)
            votes = np.sign(totals) @ lives + np.sign(start) * self.base_votes
            found[low : low + stride] = votes / (lives.sum() + self.base_votes)
        return found

    def arrays(self) -> Arrays:
        """Return the mistakes, and what is left of those that are no longer kept, by name."""
        found = {"signs": self.signs, "births": self.births, "base": self.base}
        return found | {"base_votes": np.array([self.base_votes])} | row_arrays(self.mistakes)

    @classmethod
    def of(cls, arrays: Arrays, n_features: int, *, bias: bool) -> Self:
        """Make the voters that `arrays` described."""
        signs = read_array(arrays, "signs", (None,))
        return cls(
            read_rows(arrays, len(signs), n_features),
            signs,
            read_array(arrays, "births", signs.shape, low=0.0),
            read_array(arrays, "base", (n_features + bias,)),
            float(read_array(arrays, "base_votes", (1,), low=0.0)[0]),
        )


class Ballot:
    """The voters of all blocks, in the place of weights."""

    def __init__(self, last: DiagonalWeights, budget: int) -> None:
        self.last, self.budget = last, budget
        self.voters = [_none_yet(len(last.table)) for _ in range(last.n_blocks)]

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self.last.n_blocks

    def learn(self, training: TrainingPass, rule: Rule) -> PassCounts:
        """Learn rows in turn, and keep the mistakes."""
        done, scores = self.last.learn_apart(training, training.order, rule)
        order = training.order
        for b, voters in enumerate(self.voters):
            targets = np.where(training.labels == (b if self.n_blocks > 1 else 1), 1.0, -1.0)
            steps = (targets * training.rates)[order]
            signs = np.sign(scores[b][order])  # products of both might overflow
            turns = np.flatnonzero((signs * steps <= 0.0) & (steps != 0.0))
            if turns.size:
                births = np.asarray(turns + self.last.seen + 1, np.float64)
                voters.add(training.rows[order[turns]], steps[turns], births)
                voters.keep(self.budget, bias=self.last.bias)
        self.last.seen += len(order)
        return done

    def skip(self, n_rows: int) -> None:
        """Count rows that teach nothing."""
        self.last.skip(n_rows)

    def scores(self, rows: RowMatrix) -> NDArray[np.float64]:
        """Return the votes on every row, (n, B)."""
        polls = [v.poll(rows, self.last.seen + 1, bias=self.last.bias) for v in self.voters]
        return np.column_stack(polls)

    def arrays(self) -> Arrays:
        """Return the last weights, and the mistakes of every block, by name."""
        found = self.last.arrays()
        for b, voters in enumerate(self.voters):
            found |= nest(f"{b}.", voters.arrays())
        return found

    def restore(self, arrays: Arrays, n_features: int) -> None:
        """Take what `arrays` gave."""
        self.last.restore(arrays, n_features)
        self.voters = [
            Voters.of(unnest(f"{b}.", arrays), n_features, bias=self.last.bias)
            for b in range(self.n_blocks)
        ]

    def spread(self, places: NDArray[np.intp], n_blocks: int) -> "Ballot":
        """Return a copy with more blocks, the old ones at ``places``."""
        new = Ballot(self.last.spread(places, n_blocks), self.budget)
        for place, voters in zip(places, self.voters, strict=True):
            new.voters[place] = voters
        return new


def _none_yet(size: int) -> Voters:
    return Voters(np.empty((0, 0)), np.empty(0), np.empty(0), np.zeros(size), 0.0)
