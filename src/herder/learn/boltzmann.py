r"""Boltzmann machines without hidden sites, learnt from rows of binary states.

The machine is :math:`P(x) \propto \exp(x^T W x / 2 + b^T x)` with symmetric W of zero diagonal,
in the states of the rows, 0/1 or -1/+1. It minimises

.. math:: -\frac{1}{N} \sum_n \sum_i \log p(x_{ni} \mid x_{n, -i}) + \alpha \sum_{i \ne j} W_{ij}^2

(``method="pl"``, see `herder.learn.pseudo`), or the negative log-likelihood with the same
penalty (``"ml"``), or follows its stochastic gradients (``"cd"``, ``"pcd"``). The biases have no
penalty. Pseudo-likelihood is consistent for rows of such a machine [hyvarinen2006]_; for rows of
another distribution each method has a limit of its own.
"""

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from herder._validation import flag, whole_or_not
from herder.core.blas import one_blas_thread
from herder.data.states import column_names, read_codes
from herder.learn.fit import warn_of_fit
from herder.learn.fitted import FittedMachine
from herder.learn.methods import Method, learn
from herder.learn.online import OnlineFit
from herder.learn.rows import count_rows, warn_of_constants

__all__ = ["BoltzmannMachine"]

#: Rows of one step of `partial_fit`.
STREAM_BATCH = 20


class BoltzmannMachine(FittedMachine):
    """Learn pairwise couplings and biases from rows of binary states.

    Parameters
    ----------
    method : {"pl", "pl-node", "cd", "pcd", "ml"}, default "pl"
        Pseudo-likelihood with symmetric couplings; one logistic regression a column, then
        averaged; contrastive divergence; its persistent form; likelihood, which sums over all
        states and so is for up to about 20 columns.
    penalty : {"l2", "l1", None}, default "l2"
        Squares of the couplings, or absolute values, which make couplings exactly zero ("pl" and
        "pl-node" only).
    alpha : float or "cv", default 1e-3
        Weight of the penalty; "cv" chooses it by held-out rows ("pl" and "pl-node" only).
    alphas : sequence of float, optional
        The weights that "cv" tries.
    cv : int or splitter, default 5
        Folds of "cv": a number, or an object of scikit-learn with ``split``.
    states : "auto", (0, 1) or (-1, 1)
        What the rows hold, and the states of the machine.
    binarize : float, optional
        Threshold for numbers: those above it are the upper state.
    max_iter : int, default 1000
        Iterations of "pl", "pl-node" and "ml".
    tol : float, default 1e-6
        Norm of their gradient at which they stop, relative to that of independent columns.
    n_steps : int, default 1
        Sweeps of "cd" and "pcd" for each update: the k of CD-k.
    learning_rate : float, default 0.2
        Of their first update, as a share of a Newton step.
    n_epochs, batch_size : int
        Passes of "cd" and "pcd" over the rows, and rows in an update.
    n_particles : int, default 200
        Chains of "pcd".
    warm_start : bool, default False
        Whether `fit` starts from the parameters of the fit before.
    random_state : int, Generator or None, default 0
        Draws folds, and the chains of "cd" and "pcd".

    Attributes
    ----------
    model_ : PairwiseModel
        The machine, in the states of the rows.
    couplings_ : ndarray of shape (n, n)
        Its couplings.
    biases_ : ndarray of shape (n,)
        Its biases.
    states_ : (0, 1) or (-1, 1)
        The states of the rows.
    alpha_ : float
        Weight of the penalty that was used.
    alphas_, cv_scores_ : ndarray
        Weights that "cv" tried, and their scores on the folds, of shape (n_alphas, n_folds).
    node_couplings_, node_biases_ : ndarray
        The logistic regressions of "pl-node", one a line, before they are averaged.
    n_iter_ : int
        Iterations, epochs, or batches of `partial_fit`.
    converged_ : bool
        Whether the gradient fell below the tolerance.
    gradient_norm_ : float
        Of the end, relative to independent columns; NaN for stochastic methods.
    objective_ : float
        What was minimised, penalty included; NaN for stochastic methods.
    diagnostics_ : FitReport
        All that, and warnings about the fit; ``print`` it.
    log_partition_error_ : float
        Standard error of the log partition function, after `score_samples`; 0 when it is exact.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, when they have names.

    Examples
    --------
    >>> from herder.learn import BoltzmannMachine
    >>> rows = [[0, 0], [0, 0], [1, 1], [1, 1], [0, 1], [1, 0], [1, 1], [0, 0]]
    >>> machine = BoltzmannMachine(alpha=0.01).fit(rows)
    >>> machine.couplings_.round(2)
    array([[0.  , 1.57],
           [1.57, 0.  ]])
    """

    def __init__(
        self,
        method: str = "pl",
        *,
        penalty: str | None = "l2",
        alpha: float | str = 1e-3,
        alphas: Sequence[float] | None = None,
        cv: Any = 5,
        states: str | Sequence[int] = "auto",
        binarize: float | None = None,
        max_iter: int = 1000,
        tol: float = 1e-6,
        n_steps: int = 1,
        learning_rate: float = 0.2,
        n_epochs: int = 50,
        batch_size: int = 200,
        n_particles: int = 200,
        warm_start: bool = False,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.method = method
        self.penalty = penalty
        self.alpha = alpha
        self.alphas = alphas
        self.cv = cv
        self.states = states
        self.binarize = binarize
        self.max_iter = max_iter
        self.tol = tol
        self.n_steps = n_steps
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.n_particles = n_particles
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(self, X: object, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the machine from all rows.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n), or mapping of columns by name
            Rows of 0 and 1, or of -1 and 1.
        y : ignored
            For scikit-learn.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts.
        """
        again = flag(self.warm_start, "warm_start") and hasattr(self, "model_")
        start = self._binary() if again else None
        with whole_or_not(self), one_blas_thread():  # the same bits for any number of threads
            codes, states = read_codes(self, X, self.states, binarize=self.binarize)
            if start is not None and len(start[1]) != codes.shape[1]:
                start = None
            method, names = Method.of(self, states[0]), column_names(self)
            learnt = learn(codes, sample_weight, method, start=start, names=names)
            report, sample = learnt.report, learnt.sample
            self._sums, self._stream = (sample.total, sample.means, sample.pairs), None
            self._adopt(learnt.fit, report, states)
            vars(self).update(learnt.details)
        if report.constant:
            warn_of_constants(report.constant, sample.rows.shape[1])
        warn_of_fit(report, self.couplings_)
        return self

    def partial_fit(
        self, X: object, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn rows in their order, once, by steps of the pseudo-likelihood.

        The first call starts a machine, or continues that of `fit`; see `herder.learn.online`.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        """
        if self.method != "pl" or self.penalty == "l1" or isinstance(self.alpha, str):
            raise ValueError(
                "partial_fit needs method='pl', penalty='l2' or None and a number as alpha, got "
                f"method={self.method!r}, penalty={self.penalty!r}, alpha={self.alpha!r}"
            )
        first = not hasattr(self, "model_")
        wanted = self.states if first else self.states_
        with whole_or_not(self), one_blas_thread():
            codes, states = read_codes(self, X, wanted, reset=first, binarize=self.binarize)
            method = Method.of(self, states[0])
            counts = count_rows(sample_weight, len(codes))
            known: OnlineFit | None = vars(self).get("_stream")
            if known is not None:
                stream = copy.deepcopy(known)
            elif first:
                stream = OnlineFit.begin(codes.shape[1])
            else:
                stream = OnlineFit.after(*self._binary(), *self._sums)
            stream.alpha = (method.alpha or 0.0) * method.scale
            for at in range(0, len(codes), STREAM_BATCH):
                stream.learn(codes[at : at + STREAM_BATCH], counts[at : at + STREAM_BATCH])
            self._stream = stream
            report = stream.report(method.alpha or 0.0, column_names(self))
            self._adopt(stream.fit(), report, states)
        return self

    def __sklearn_tags__(self) -> Any:
        """Return the tags of scikit-learn: sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
