r"""Boltzmann machines without hidden sites, learnt from rows of binary states.

The machine is :math:`P(x) \propto \exp(x^T W x / 2 + b^T x)` with symmetric W of zero diagonal,
in the states of the rows, 0/1 or -1/+1. It minimises

.. math:: -\frac1N \sum_n \sum_i \log p(x_{ni} \mid x_{n, -i}) + \alpha \sum_{i \ne j} W_{ij}^2

(``method="pl"``, see `herder.learn.pseudo`), or the negative log-likelihood with the same
penalty (``"ml"``), or follows its stochastic gradients (``"cd"``, ``"pcd"``). The biases have no
penalty. Pseudo-likelihood is consistent for rows of such a machine [hyvarinen2006]_; rows of
anything else get another machine from each method.
"""

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from herder._validation import check_fitted, row_weights, whole_or_not
from herder.core.blas import one_blas_thread
from herder.learn.batches import learn_batches
from herder.learn.draws import draw_rows
from herder.learn.fit import Fit, FitReport, warn_of_fit
from herder.learn.methods import DETAILS, Folds, Method, learn
from herder.learn.online import Stream
from herder.learn.pseudo import Start, log_pseudo_likelihood
from herder.learn.rows import column_names, merge_rows, read_codes, warn_of_constants
from herder.models.pairwise import PairwiseModel

if TYPE_CHECKING:
    from herder.learn.check import FitCheck

__all__ = ["BoltzmannMachine"]


class BoltzmannMachine(BaseEstimator):
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
        Weight of the penalty; "cv" chooses it by rows held back ("pl" and "pl-node" only).
    alphas : sequence of float, optional
        The weights that "cv" tries.
    cv : int or splitter, default 5
        Folds of "cv": a number, or an object of scikit-learn with ``split``.
    states : "auto", (0, 1) or (-1, 1)
        What the rows hold, and the states of the machine.
    binarize : float, optional
        Cut numbers in two: those above it are the upper state.
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
        Whether `fit` starts from the machine there is.
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
        All that, and what speaks against trusting the machine; ``print`` it.
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

    n_features_in_: int
    alphas_: NDArray[np.float64]
    cv_scores_: NDArray[np.float64]
    node_couplings_: NDArray[np.float64]
    node_biases_: NDArray[np.float64]

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
        start = self._start()
        with whole_or_not(self), one_blas_thread():  # the same bits for any number of threads
            codes, states = read_codes(self, X, self.states, binarize=self.binarize)
            method = Method.of(self, states[0])
            learnt = learn(
                codes,
                sample_weight,
                method,
                Folds.of(self),
                start=start if start is not None and len(start[1]) == codes.shape[1] else None,
                names=column_names(self),
            )
            report, sample = learnt.report, learnt.sample
            self._sums = sample.total, sample.means, sample.pairs
            self._adopt(learnt.fit, report, states)
            for name, value in learnt.details(states[0]).items():
                setattr(self, name, value)
            self._stream = None
        if report.constant:
            warn_of_constants(report.constant, sample.rows.shape[1])
        warn_of_fit(report, self.couplings_)
        return self

    def partial_fit(
        self, X: object, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn rows in the order given, once, by steps of the pseudo-likelihood.

        The first call begins a machine, or goes on from that of `fit`; see `herder.learn.online`.

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
        with whole_or_not(self):
            codes, states = read_codes(self, X, wanted, reset=first, binarize=self.binarize)
            method = Method.of(self, states[0])
            counts = row_weights(sample_weight, len(codes))
            stream = self._open_stream(codes.shape[1])
            stream.alpha = (method.alpha or 0.0) * method.scale
            learn_batches(stream, codes, counts)
            self._stream = stream
            report = stream.report(method.alpha or 0.0, column_names(self))
            self._adopt(stream.fit(), report, states)
        return self

    def pseudo_likelihood(self, X: object) -> float:
        """Give the log pseudo-likelihood of a row, summed over columns, on average over rows."""
        check_fitted(self, "model_")
        codes = self._codes(X)
        couplings, biases = self._binary()
        return float(log_pseudo_likelihood(couplings, biases, codes).mean())

    def score(self, X: object, y: object = None) -> float:
        """Give `pseudo_likelihood`, for scikit-learn."""
        return self.pseudo_likelihood(X)

    def score_samples(self, X: object) -> NDArray[np.float64]:
        """Give the log probabilities of rows.

        The partition function is exact where `PairwiseModel.exact` can give it, and else
        estimated by annealed importance sampling: ``log_partition_error_`` is its standard error,
        the same for all rows.
        """
        from herder.samplers.annealing import log_partition

        check_fitted(self, "model_")
        rows = self._values(self._codes(X))
        if self._partition is None:
            found = log_partition(self.model_, random_state=self.random_state)
            self._partition = found.value
            self.log_partition_error_ = found.error
        return -self.model_.energy(rows) - self._partition

    def sample(
        self,
        n_samples: int = 1,
        *,
        method: str = "auto",
        random_state: int | np.random.Generator | None = 0,
    ) -> NDArray[np.int8]:
        """Draw rows from the machine.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        method : {"auto", "exact", "gibbs", "herded-gibbs"}
            From the table of all states; by chains that visit the columns one after the other;
            by such a chain without random numbers. "auto" is exact up to 16 columns, else Gibbs.
        random_state : int, Generator or None
            Draws the rows; herded Gibbs needs none.
        """
        check_fitted(self, "model_")
        return draw_rows(self.model_, n_samples, method=method, random_state=random_state)

    def conditional(self, X: object) -> NDArray[np.float64]:
        """Give the probability of the upper state of each entry of rows with NaN for unknown ones.

        Entries that are known have probability 0 or 1.
        """
        from herder.learn.missing import conditional_probabilities

        check_fitted(self, "model_")
        rows = self._values(self._codes(X, missing=True))
        return conditional_probabilities(self.model_, rows, random_state=self.random_state)

    def impute(
        self, X: object, *, random_state: int | np.random.Generator | None = None
    ) -> NDArray[np.float64]:
        """Fill the NaN of rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n)
            Rows, NaN where they are unknown.
        random_state : int, Generator or None
            With a seed or generator the unknown entries of a row are drawn together, given the
            known ones. By default each gets its more probable state, which needs no chance but
            makes rows less varied than they are.
        """
        from herder.learn.missing import impute

        check_fitted(self, "model_")
        rows = self._values(self._codes(X, missing=True))
        draw = random_state is not None
        seed = random_state if draw else self.random_state
        return impute(self.model_, rows, draw=draw, random_state=seed)

    def check(
        self,
        X: object,
        *,
        held_out: bool = False,
        n_samples: int = 10_000,
        random_state: int | np.random.Generator | None = 0,
    ) -> "FitCheck":
        """Sample the machine and compare its rows with ``X``: see `herder.learn.check.FitCheck`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n)
            Rows that the machine should resemble: those of `fit`, or better, others.
        held_out : bool, default False
            Whether they are others. Fewer rows than parameters are matched whatever they are, so
            that only others can then speak for the machine.
        n_samples : int
            Rows to sample.
        random_state : int, Generator or None
            Draws them.
        """
        from herder.learn.check import check_fit

        check_fitted(self, "model_")
        sample = merge_rows(self._codes(X))
        return check_fit(
            self.model_,
            sample.rows,
            sample.weights,
            sample.total,
            n_samples=n_samples,
            report=self.diagnostics_,
            held_out=held_out,
            random_state=random_state,
        )

    def _adopt(self, fit: Fit, report: FitReport, states: tuple[int, int]) -> None:
        """Take the parameters of a fit."""
        names = vars(self).get("feature_names_in_")
        model = PairwiseModel(fit.couplings, fit.biases, names=names).to_states(states)
        self.model_ = PairwiseModel(model.couplings, model.biases, states, names=names)
        self.couplings_ = np.array(self.model_.couplings)
        self.biases_ = self.model_.biases.copy()
        self.states_ = states
        self.alpha_ = report.alpha
        self.n_iter_ = fit.n_iter
        self.converged_ = fit.converged
        self.gradient_norm_ = fit.gradient_norm
        self.objective_ = fit.objective
        self.diagnostics_ = report
        self._partition: float | None = None
        for name in DETAILS:
            vars(self).pop(name, None)

    def _start(self) -> Start | None:
        """Give the machine there is, if `fit` shall start from it."""
        return self._binary() if self.warm_start and hasattr(self, "model_") else None

    def _open_stream(self, n: int) -> Stream:
        """Give the stream there is, or begin one, at the machine of `fit` if there is one."""
        known: Stream | None = vars(self).get("_stream")
        if known is not None:
            return copy.deepcopy(known)
        if not hasattr(self, "model_"):
            return Stream.begin(n)
        return Stream.after(*self._binary(), *self._sums)

    def _binary(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give couplings and biases of 0/1 states."""
        model = self.model_.to_states((0, 1))
        return np.asarray(model.couplings), model.biases

    def _codes(self, X: object, *, missing: bool = False) -> NDArray[Any]:
        """Give rows as 0/1 codes, as wide as those of `fit`."""
        return read_codes(
            self, X, self.states_, reset=False, missing=missing, binarize=self.binarize
        )[0]

    def _values(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        low, high = self.states_
        return low + (high - low) * codes.astype(np.float64)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
