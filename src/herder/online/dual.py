r"""Mercer kernels for the learners with a full covariance.

[crammer2010]_ says that it can be done; this is how. Let
:math:`\mu = \sum_i a_i \phi(x_i)` and
:math:`\Sigma = I - \sum_{ij} B_{ij} \phi(x_i) \phi(x_j)^T` over some supports. A row x with
:math:`k_i = k(x_i, x)` and :math:`k_0 = k(x, x)` has

.. math:: \mu^T \phi(x) = a^T k, \qquad v = k_0 - k^T B k, \qquad
          \Sigma \phi(x) = \phi(x) - \sum_i (Bk)_i \phi(x_i),

so a row that changes anything becomes a support, and with :math:`c = (-Bk, 1)` and
:math:`h = \beta / (1 + \beta v)` the update of `herder.online.rules` reads

.. math:: a \leftarrow (a, 0) + y \alpha c, \qquad
          B \leftarrow \begin{pmatrix} B & 0 \\ 0 & 0 \end{pmatrix} + h c c^T.

Where supports are nearly dependent the entries of B are so large that no digits of v are left.
`herder.online.span` keeps the same Gaussian in an orthonormal basis of the span of the supports:
:math:`B = L^{-T} (I - S) L^{-1}` with the Cholesky factor L of their Gram matrix.

**Cost.** A row costs one product :math:`a^T k` if it changes nothing whatever its variance may
be, else four passes over triangles, O(n_supports^2). Kernel values are computed for `BLOCK` rows
at once.

**Memory.** A row with :math:`k_0 - k^T G^{-1} k \le \epsilon k_0`, G the Gram matrix, lies in the
span of the supports as far as rounding can tell (:math:`\epsilon` is 1e-10) and needs no new
support. So a linear kernel on d columns needs d supports (d + 1 with a bias) and is then the
primal learner, and repeated rows cost nothing. A smooth kernel, whose Gram matrix is nearly
singular, is learnt with errors of 1e-5 or so, the root of :math:`\epsilon`, in the scores.

Once there are ``budget`` supports, the projection of a row on their span takes its place: an
approximation, and ``n_projected`` counts such updates. What is held: two triangles of budget^2 / 2
numbers, the supports, and while rows are learnt `BLOCK` x (budget + 2 `BLOCK`) kernel values; for
variances two square matrices besides.

**More than two classes.** In the max-margin form a support is a difference vector
:math:`f(x, y) - f(x, z)` of a row, its label and its strongest rival then, with the Mercer kernel

.. math:: k(x_i, x_j) \left([y_i = y_j] - [y_i = z_j] - [z_i = y_j] + [z_i = z_j]\right):

the same algorithm with another kernel, and d (K - 1) supports if it is linear. The bias is a
constant 1 added to the kernel. One against the rest is K machines with two classes.
"""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import positive_int
from herder.core.blas import one_blas_thread
from herder.core.plain import POSITIVE, Arrays, read_array
from herder.online import _dual_jit as _jit
from herder.online.inputs import read_rows, row_arrays
from herder.online.mercer import KernelLike, Mercer, RowMatrix, RowStore
from herder.online.rules import FORMS, Rule, step
from herder.online.span import SpanGaussian, with_room

__all__ = ["BLOCK", "DualPass", "DualWeights"]

#: Rows whose kernel values are computed at once.
BLOCK = 256

#: Rows with a larger k(x, x) are left out: sums of a few such numbers are still finite.
LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class DualPass:
    """What one pass over rows did."""

    n_updates: int  #: rows that changed the model
    n_mistakes: int  #: rows predicted wrongly before they were learnt
    n_projected: int  #: updates that the budget made approximate
    n_left_out: int  #: rows left out, since their kernel values overflow


class _Case(NamedTuple):
    """A row as the rule sees it."""

    values: NDArray[np.float64]  # kernel values to the supports
    sign: float
    margin: float
    prior: float  # kernel value to itself
    ends: tuple[int, int]
    is_wrong: bool


class DualWeights:
    """A Gaussian over weights in the feature space of a kernel.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly", "laplacian"} or callable
        As in `sklearn.metrics.pairwise`; a callable ``kernel(A, B)`` returns the Gram matrix of
        the rows of A and B and must be a Mercer kernel. It is given CSR rows if the first rows
        learnt were CSR.
    gamma : float, "scale" or None
        Scale in "rbf", "poly" and "laplacian"; None means 1 / n_features, which suits standardised
        columns, and "scale" 1 / (n_features * variance of the first rows learnt).
    degree : int
        Degree of "poly".
    coef0 : float
        Constant in "poly", at least 0.
    budget : int
        Largest number of supports.
    fit_intercept : bool
        Whether 1 is added to the kernel.
    n_blocks : int
        1 for two classes, K for the max-margin form with K classes.
    together : bool, optional
        Whether this is the max-margin form; default if there are several blocks. A model that
        begins with one class and grows must say so.

    Examples
    --------
    >>> import numpy as np
    >>> from herder.online.dual import DualWeights
    >>> from herder.online.rules import Rule
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> weights, y = DualWeights("rbf", gamma=1.0), np.array([1.0, 1.0, -1.0, -1.0])
    >>> weights.learn(X, y, np.ones(4), Rule.named("NHERD", "full")).n_updates
    4
    >>> np.sign(weights.scores(X))
    array([ 1.,  1., -1., -1.])
    """

    def __init__(
        self,
        kernel: KernelLike,
        *,
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        budget: int = 1000,
        fit_intercept: bool = True,
        n_blocks: int = 1,
        together: bool | None = None,
    ) -> None:
        self.kernel = Mercer(kernel, gamma, degree, coef0, 1.0 if fit_intercept else 0.0)
        self.budget = positive_int(budget, "budget")
        self.n_blocks = positive_int(n_blocks, "n_blocks")
        self.together = self.n_blocks > 1 if together is None else bool(together)
        if self.n_blocks > 1 and not self.together:
            raise ParameterError("n_blocks", "be 1 for two classes", n_blocks)
        self.n_seen = 0
        self.n_projected = 0
        self._gaussian = SpanGaussian()
        self._ends = np.empty((0, 2), np.intp)  # class and rival of every support
        self._store: RowStore | None = None

    @property
    def n_supports(self) -> int:
        """Number of supports."""
        return self._gaussian.size

    @property
    def supports(self) -> RowMatrix:
        """Rows of the supports in float64, (n_supports, n_features); None before the first pass.

        An array, or a CSR array if the first rows learnt were CSR; rows that come later are
        brought to that form, a block at a time.
        """
        return None if self._store is None else self._store.rows

    @property
    def dual_coef(self) -> NDArray[np.float64]:
        """Coefficients of the supports, (n_supports,) or (n_blocks, n_supports)."""
        return self._by_block(self._gaussian.coef)

    def scores(self, X: RowMatrix, *, average: bool = False) -> NDArray[np.float64]:
        """Mean of the scores of rows, (n_rows,) or (n_rows, n_blocks).

        Parameters
        ----------
        X : array or CSR matrix of shape (n_rows, n_features)
            Rows.
        average : bool
            Whether to average the mean vectors after every row seen so far, instead of taking the
            last.
        """
        gaussian = self._gaussian
        dual = self._by_block(gaussian.averaged(self.n_seen) if average else gaussian.coef)
        scores = np.empty((X.shape[0], *dual.shape[:-1]))
        with one_blas_thread():
            for span, _, table in self._tables(X):
                scores[span] = table @ dual.T
        return scores

    def variances(self, X: RowMatrix) -> NDArray[np.float64]:
        """Variances of the scores of rows, (n_rows,) or (n_rows, n_blocks)."""
        own = np.tile(np.arange(self.n_blocks), (X.shape[0], 1))
        variances = self.gap_variances(X, own)
        return variances if self.together else variances[:, 0]

    def gap_variances(self, X: RowMatrix, rivals: NDArray[np.intp]) -> NDArray[np.float64]:
        """Variances of the gaps between scores and those of rival blocks, (n_rows, n_blocks).

        A block that is its own rival has none: its gap is the score itself.
        """
        kernel, signs, gaussian = self.kernel.fixed(X), self._signs(), self._gaussian
        triangles = gaussian.triangles()
        variances = np.empty((X.shape[0], len(signs)))
        with one_blas_thread():
            for span, rows, table in self._tables(X):
                own = kernel.diagonal(rows)
                for k, sign in enumerate(signs):
                    for other in np.unique(rivals[span, k]):
                        among = np.flatnonzero(rivals[span, k] == other)
                        gap, times = (sign, 1.0) if other == k else (sign - signs[other], 2.0)
                        variances[span.start + among, k] = gaussian.variances(
                            table[among] * gap, times * own[among], triangles
                        )
        return variances

    def spread(self, places: NDArray[np.intp], n_blocks: int) -> None:
        """Move the blocks to ``places`` among ``n_blocks``; nothing is known of the others."""
        n_blocks = positive_int(n_blocks, "n_blocks")
        if not self.together:
            raise ParameterError("n_blocks", "stay 1 in a model of two classes; make it together")
        if len(places) != self.n_blocks or n_blocks < self.n_blocks:
            raise ParameterError(
                "n_blocks",
                f"be at least {self.n_blocks}, with a place for each block",
                got=f"{n_blocks} and {len(places)} places",
            )
        self._ends = np.asarray(places, np.intp)[self._ends[: self.n_supports]]
        self.n_blocks = n_blocks

    def learn(
        self,
        X: RowMatrix,
        labels: NDArray[Any],
        rates: NDArray[np.float64],
        rule: Rule,
        order: NDArray[np.intp] | None = None,
    ) -> DualPass:
        """Learn rows in turn.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_rows, n_features)
            Rows.
        labels : array of shape (n_rows,)
            +1 or -1 for two classes, else the number of the class.
        rates : array of shape (n_rows,)
            As in `herder.online.rules.step`.
        rule : Rule
            The learner.
        order : array of int, optional
            Rows to learn, in this order; default all.
        """
        if FORMS[rule.form] not in ("none", "full"):
            raise ParameterError("rule", "have the form 'full'", FORMS[rule.form])
        self._check(X, labels, rates)
        if not X.shape[0]:
            return DualPass(0, 0, 0, 0)
        if self._store is None:
            self.kernel = self.kernel.fixed(X)
            self._store = RowStore.empty_like(X)
            self._gaussian = SpanGaussian(self.kernel.precision(self._store.alike(X[:1])))
        turns = np.arange(X.shape[0]) if order is None else np.asarray(order)
        counts = np.zeros(4, np.int64)
        with one_blas_thread():
            for start in range(0, len(turns), BLOCK):
                picked = turns[start : start + BLOCK]
                rows = self._store.alike(X[picked])
                counts += self._learn_block(rows, labels[picked], rates[picked], rule)
        self.n_projected += int(counts[2])
        if counts[3]:
            warnings.warn(
                f"left out {counts[3]} of {len(turns)} rows: their kernel values are too large; "
                "scale the columns",
                RuntimeWarning,
                stacklevel=2,
            )
        return DualPass(*counts.tolist())

    def arrays(self) -> Arrays:
        """All that has been learnt, by name; the parameters of the class are not among them."""
        found = self._gaussian.arrays()
        found["counts"] = np.array([self.n_blocks, self.n_seen, self.n_projected], np.int64)
        found["ends"] = self._ends[: self.n_supports].astype(np.int64)
        if self._store is not None:
            found["gamma"] = np.array([self.kernel.gamma], np.float64)
            found |= row_arrays(self._store.rows)
        return found

    def restore(self, arrays: Arrays, n_features: int) -> None:
        """Take what `arrays` gave for rows of so many features."""
        self._gaussian.restore(arrays)
        size = self.n_supports
        counts = read_array(arrays, "counts", (3,), np.int64, low=0)
        n_blocks, self.n_seen, self.n_projected = counts.tolist()
        if size > self.budget or n_blocks != self.n_blocks:
            raise ValueError(f"{size} supports of {n_blocks} blocks, not {self.n_blocks}")
        self._ends = read_array(arrays, "ends", (size, 2), np.int64, low=0, high=n_blocks - 1)
        if size or "gamma" in arrays:
            gamma = read_array(arrays, "gamma", (1,), low=POSITIVE)[0]
            self.kernel = replace(self.kernel, gamma=float(gamma))
            self._store = RowStore(read_rows(arrays, size, n_features))

    def _signs(self) -> NDArray[np.float64]:
        """Return the sign of every support in every block, (n_blocks, n_supports)."""
        ends = self._ends[: self.n_supports]
        if not self.together:
            return np.ones((1, len(ends)))
        blocks = np.arange(self.n_blocks)[:, None]
        return (ends[:, 0] == blocks).astype(np.float64) - (ends[:, 1] == blocks)

    def _by_block(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._signs() * coef if self.together else coef.copy()

    def _check(self, X: RowMatrix, labels: NDArray[Any], rates: NDArray[np.float64]) -> None:
        n = X.shape[0]
        if labels.shape != (n,) or rates.shape != (n,):
            raise ValueError(
                f"labels and rates must have one entry for each of {n} rows, got shapes "
                f"{labels.shape} and {rates.shape}"
            )
        if not self.together and not (np.abs(labels) == 1).all():
            raise ParameterError("labels", "be +1 or -1", got=str(np.unique(labels)[:5]))
        if self.together and n and not 0 <= labels.min() <= labels.max() < self.n_blocks:
            raise ParameterError(
                "labels",
                f"be from 0 to {self.n_blocks - 1}",
                got=f"{labels.min()} to {labels.max()}; grow the model first",
            )

    def _tables(self, X: RowMatrix) -> Iterator[tuple[slice, RowMatrix, NDArray[np.float64]]]:
        """Blocks of rows to predict, with their kernel values to the supports."""
        for start in range(0, X.shape[0], BLOCK):
            span = slice(start, start + BLOCK)
            if self._store is None:
                rows = RowStore.empty_like(X).alike(X[span])
                yield span, rows, np.empty((rows.shape[0], 0))
                continue
            rows = self._store.alike(X[span])
            table = self.kernel.gram(rows, self._store.rows)
            if not np.isfinite(table).all():
                raise ParameterError("X", "give finite kernel values", got="NaN or infinity")
            yield span, rows, table

    def _learn_block(
        self, rows: RowMatrix, labels: NDArray[Any], rates: NDArray[np.float64], rule: Rule
    ) -> tuple[int, int, int, int]:
        gaussian, store = self._gaussian, cast("RowStore", self._store)
        n, n_rows = gaussian.size, rows.shape[0]
        room = min(n_rows, self.budget - n)
        table = np.empty((n_rows, n + room))
        table[:, :n] = self.kernel.gram(rows, store.rows)
        among = self.kernel.gram(rows, rows) if room else table
        own = self.kernel.diagonal(rows)
        usable = (own <= LARGEST) & np.isfinite(table[:, :n]).all(axis=1)
        n_updates = n_mistakes = n_projected = 0
        for i in range(n_rows):
            gaussian.relax(rule.forget)
            self.n_seen += 1
            if not usable[i]:
                continue
            case, rate = self._read(table[i, : gaussian.size], labels[i], own[i]), float(rates[i])
            n_mistakes += case.is_wrong
            # No variance is larger than the prior's, and every rule that passes over a row with
            # that one passes over it with a smaller one.
            if not any(step(rule, case.margin, case.prior, rate)):
                continue
            is_full = gaussian.size >= self.budget
            sight = gaussian.look(case.values, case.prior, project=is_full and not rule.is_hard)
            alpha, gain = step(rule, case.margin, sight.variance, rate)
            if alpha == 0.0 and gain == 0.0:
                continue
            n_updates += 1
            if sight.residual > 0.0 and not is_full:
                n = gaussian.size
                sight = gaussian.widen(sight)
                store.append(rows[i : i + 1])
                self._ends = with_room(self._ends, n + 1)
                self._ends[n] = case.ends
                table[:, n] = among[:, i]
            n_projected += sight.residual > 0.0
            gaussian.move(sight, case.sign * alpha, gain, self.n_seen - 1)
        return n_updates, n_mistakes, n_projected, n_rows - int(usable.sum())

    def _read(self, values: NDArray[np.float64], label: Any, own: float) -> _Case:
        """Turn kernel values to the supports into what the rule wants to know."""
        coef = self._gaussian.coef
        if not self.together:
            score, sign = float(coef @ values), float(label)
            return _Case(values, sign, sign * score, float(own), (0, 0), (score > 0) != (sign > 0))
        scores, coupled = np.empty(self.n_blocks), np.empty(len(values))
        other = _jit.rival(values, coef, self._ends, label, scores, coupled)
        # With one class so far there is nothing to tell it from.
        margin = float(scores[label] - scores[other]) if other >= 0 else math.inf
        wrong = int(scores.argmax()) != label
        return _Case(coupled, 1.0, margin, 2.0 * float(own), (label, other), wrong)
