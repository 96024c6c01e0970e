r"""Restricted Boltzmann machines, learnt from rows of binary states.

The model is that of `herder.models.rbm`, and its learning that of `herder.learn.rbm_steps`. Rows
may also hold probabilities between 0 and 1, as grey values do: these take part in the moments as
the expected states of 0/1 sites.
"""

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from herder._errors import ParameterError
from herder._validation import (
    check_fitted,
    finite_number,
    flag,
    function_or_none,
    generator,
    non_negative_number,
    one_of,
    positive_int,
    positive_number,
    require_finite,
    share,
    whole_or_not,
)
from herder.core.blas import one_blas_thread
from herder.core.lanes import Progress
from herder.core.plain import Arrays, Header, plain_estimator, read_array, read_estimator
from herder.core.state import State
from herder.core.summary import Fact, Facts, Picture, Section, Summary
from herder.data.states import read_numbers
from herder.fields.hidden_engine import HiddenHerd
from herder.learn.rbm_herding import herd_machine
from herder.learn.rbm_rows import (
    alphabet,
    dense,
    flip_gains,
    parts,
    row_free_energy,
    spot_check,
    upper,
)
from herder.learn.rbm_steps import RBMSteps
from herder.models.rbm import RBMModel

__all__ = ["RBM"]

#: How a machine is learnt, those in batches first.
METHODS = ("cd", "pcd", "herding")

#: What the picture of the filters shows, and the text below it.
FILTERS = (
    "The couplings of each hidden unit to the columns, as small images.",
    "Couplings of the hidden units, those with the largest norms first.",
)

#: Standard deviation of the first couplings: small beside 1, and different for each hidden site.
FIRST_SD = 0.01

#: Means of columns are kept this far from 0 and 1 when they become first biases.
MARGIN = 0.01


class RBM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Learn a restricted Boltzmann machine from rows of binary states.

    Parameters
    ----------
    n_hidden : int, default 100
        Number of hidden sites.
    method : {"cd", "pcd", "herding"}, default "cd"
        Chains of the negative phase start at the rows, or persist from update to update; or the
        parameters are the mean of herded weights, which needs no chains and no learning rate.
    n_steps : int, default 1
        Sweeps of the chains for each update: the k of CD-k.
    learning_rate : float, default 0.1
        Of the first half of the epochs; then it falls to zero. `partial_fit` keeps it.
    n_epochs : int, default 20
        Passes over the rows; of herding, 50 each.
    batch_size : int, default 10
        Rows of an update, and number of chains.
    momentum : float, default 0
        Share of the last step that is repeated.
    l2 : float, default 0
        Weight of the squared couplings.
    fast_rate : float, default 0
        Learning rate of fast weights, for "pcd" only: they make the chains move faster.
    binarize : float, optional
        Threshold for numbers: those above it are 1, all others 0.
    warm_start : bool, default False
        Whether `fit` starts from the parameters of the fit before.
    random_state : int, Generator or None, default 0
        Draws first couplings, the order of the rows and the chains.

    Attributes
    ----------
    model_ : RBMModel
        The machine, in the states of the rows.
    components_ : ndarray of shape (n_hidden, n_features)
        Its couplings, a row for each hidden site.
    intercept_hidden_, intercept_visible_ : ndarray
        Its biases.
    history_ : ndarray of shape (n_epochs,)
        Log pseudo-likelihood of a row after each epoch, estimated by one column of each row;
        of herding once, at the end.
    rates_ : ndarray of shape (n_hidden + 1, n_features + 1) or None
        What `sample` herds, with method "herding": see `HiddenHerder`.
    log_partition_error_ : float
        Standard error of log Z, after `score_samples`; 0 when it is exact.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from herder import RBM
    >>> rows = [[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 1, 0]] * 10
    >>> machine = RBM(2, n_epochs=50).fit(rows)
    >>> machine.transform(rows).shape
    (40, 2)
    """

    n_features_in_: int

    def __init__(
        self,
        n_hidden: int = 100,
        *,
        method: str = "cd",
        n_steps: int = 1,
        learning_rate: float = 0.1,
        n_epochs: int = 20,
        batch_size: int = 10,
        momentum: float = 0.0,
        l2: float = 0.0,
        fast_rate: float = 0.0,
        binarize: float | None = None,
        warm_start: bool = False,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.n_hidden = n_hidden
        self.method = method
        self.n_steps = n_steps
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.momentum = momentum
        self.l2 = l2
        self.fast_rate = fast_rate
        self.binarize = binarize
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(self, X: object, y: object = None, *, progress: Progress | None = None) -> Self:
        """Learn the machine from all rows.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or mapping of columns by name
            Rows of 0 and 1, of -1 and 1, or of probabilities from 0 to 1.
        y : ignored
            For scikit-learn.
        progress : callable, optional
            Called with the share done, and a word on what is done.
        """
        function_or_none(progress, "progress")
        n_epochs = positive_int(self.n_epochs, "n_epochs")
        again = flag(self.warm_start, "warm_start") and hasattr(self, "model_")
        with whole_or_not(self), one_blas_thread():
            rows, states = self._rows(X, reset=True)
            if one_of(self.method, "method", METHODS) == "herding":
                return self._herd(dense(rows), states, progress)
            start = self.model_ if again and self.model_.n_visible == rows.shape[1] else None
            steps = self._begin(rows, states, start)
            size = positive_int(self.batch_size, "batch_size")
            top = positive_number(self.learning_rate, "learning_rate")
            history = []
            for epoch in range(n_epochs):
                rate = top * min(1.0, 2.0 - 2.0 * (epoch + 1) / (n_epochs + 1))
                order = steps.rng.permutation(rows.shape[0])
                for first in range(0, len(order), size):
                    steps.learn(dense(rows[order[first : first + size]]), rate)
                history.append(spot_check(steps.model(states), rows, epoch))
                if progress is not None:
                    progress((epoch + 1) / n_epochs, "learning")
            self._adopt(steps, states)
            self.history_ = np.array(history)
        return self

    def partial_fit(self, X: object, y: object = None) -> Self:
        """Learn rows in their order, once, at a constant rate; parameters as for `fit`."""
        first = not hasattr(self, "model_")
        with whole_or_not(self), one_blas_thread():
            rows, states = self._rows(X, reset=first)
            steps: RBMSteps | None = vars(self).get("_steps")
            if steps is None:
                steps = self._begin(rows, states, None if first else self.model_)
            steps = copy.deepcopy(steps)
            size = positive_int(self.batch_size, "batch_size")
            rate = positive_number(self.learning_rate, "learning_rate")
            for at in range(0, rows.shape[0], size):
                steps.learn(dense(rows[at : at + size]), rate)
            self._adopt(steps, states)
        return self

    def transform(self, X: object) -> NDArray[Any]:
        """Return the probability of the upper state of each hidden site, given the rows."""
        rows, model = self._read(X), self.model_
        gap = model.states[1] - model.states[0]
        with one_blas_thread():
            fields = np.asarray(rows @ model.couplings) + model.hidden_biases
        return expit(gap * fields).astype(rows.dtype)

    def free_energy(self, X: object) -> NDArray[np.float64]:
        """Return the free energy of each row: -log of its probability times Z."""
        rows = self._read(X)
        return np.concatenate([row_free_energy(self.model_, part) for part in parts(rows)])

    def score_samples(self, X: object) -> NDArray[np.float64]:
        """Return the log probabilities of rows.

        The partition function is exact when either side has at most 20 sites, and else estimated
        by annealed importance sampling: ``log_partition_error_`` is its standard error, the same
        for all rows.
        """
        from herder.samplers.annealing import log_partition

        energies = self.free_energy(X)
        if self._partition is None:
            found = log_partition(self.model_, random_state=self.random_state)
            self._partition, self.log_partition_error_ = found.value, found.error
        return -energies - self._partition

    def pseudo_likelihood(self, X: object) -> float:
        """Return the log pseudo-likelihood of a row, summed over columns, on average over rows."""
        rows, model = self._read(X), self.model_
        total = 0.0
        for part in parts(rows, model.n_hidden):
            for j in range(model.n_visible):
                total += float(flip_gains(model, part, np.full(len(part), j)).sum())
        return float(total / rows.shape[0])

    def score(self, X: object, y: object = None) -> float:
        """Return `pseudo_likelihood`, for scikit-learn."""
        return self.pseudo_likelihood(X)

    def sample(
        self, n_samples: int = 1, *, random_state: int | np.random.Generator | None = 0
    ) -> NDArray[np.int8]:
        """Draw visible rows by block Gibbs sampling, or with "herding" by herding the rates.

        Parameters
        ----------
        n_samples : int
            Number of rows. They come from up to 100 chains in turn, after a burn-in of 1,000
            sweeps, every tenth sweep; herded ones are the steps after a burn-in of 100.
        random_state : int, Generator or None
            Draws the rows; herding does not use it.
        """
        from herder.samplers.blocks import draw_rows

        check_fitted(self, "model_")
        n_samples, rng = positive_int(n_samples, "n_samples"), generator(random_state)
        if self.rates_ is None:
            return draw_rows(self.model_, n_samples, rng)
        signs = HiddenHerd.of_rates(self.rates_, self._centre).samples(n_samples)
        return np.where(signs > 0, 1, self.model_.states[0]).astype(np.int8)

    def conditional(self, X: object) -> NDArray[np.float64]:
        """Return the probability of the upper state of each entry; NaN entries are unknown.

        Entries that are known have probability 0 or 1. A chain for each row holds the known
        entries and averages over 200 sweeps.
        """
        from herder.samplers.blocks import fill_chances

        check_fitted(self, "model_")
        low = self.model_.states[0]
        rows = np.array(dense(read_numbers(self, X, reset=False)), np.float64)
        held = ~np.isnan(rows)
        if self.binarize is not None:
            rows = np.where(held, upper(rows, self.binarize), np.nan)
        alphabet(np.where(held, rows, low), self.model_.states, probabilities=False)
        return fill_chances(self.model_, rows, generator(self.random_state))

    def impute(self, X: object) -> NDArray[np.float64]:
        """Fill the NaN of rows with their more probable states."""
        low, high = self.model_.states if hasattr(self, "model_") else (0, 1)
        return np.where(self.conditional(X) > 0.5, high, low).astype(np.float64)

    def summary(self) -> Summary:
        """Return the sizes of the parameters, how learning went, and a picture of the filters."""
        check_fitted(self, "model_")
        found = self.model_.summary()
        meaning = "log pseudo-likelihood of a row after the first and the last epoch, estimated"
        facts = []
        if len(self.history_):
            course = f"{self.history_[0]:.2f} to {self.history_[-1]:.2f}"
            facts.append(Fact("learning", course, "", meaning))
        section = Section("Hidden units", [Picture("filters", self, *FILTERS)])
        return Summary(found.title, [*found.blocks, Facts(facts)], [section])

    def to_state(self) -> State:
        """Return the machine, and a header that JSON can hold."""
        check_fitted(self, "model_")
        arrays, header = self.model_.to_state()
        arrays["history"] = self.history_
        if self.rates_ is not None:
            arrays |= {"rates": self.rates_, "centre": self._centre}
        return arrays, {**plain_estimator(self), **header}

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Return the machine that `to_state` described."""
        model = RBMModel.from_state(arrays, header)
        machine = read_estimator(cls, header, model.n_visible)
        shape = (model.n_hidden + 1, model.n_visible + 1)
        herded: list[Any] = []
        if "rates" in arrays:
            herded = [read_array(arrays, "rates", shape, low=-2, high=2)]
            herded += [read_array(arrays, "centre", (model.n_visible,), np.int8, low=-1, high=1)]
        machine._keep(model, *herded)
        machine.history_ = read_array(arrays, "history", (None,))
        return machine

    def _begin(self, rows: Any, states: tuple[int, int], start: RBMModel | None) -> RBMSteps:
        """Return a learner at the first parameters, or at those of a machine."""
        n_hidden = positive_int(self.n_hidden, "n_hidden")
        one_of(self.method, "method", METHODS[:2])
        positive_number(self.learning_rate, "learning_rate")
        fast_rate = non_negative_number(self.fast_rate, "fast_rate")
        if fast_rate and self.method != "pcd":
            raise ParameterError("fast_rate", "be 0 unless method is 'pcd'", self.fast_rate)
        rng = generator(self.random_state)
        table = np.zeros((rows.shape[1] + 1, n_hidden + 1), rows.dtype)
        if start is not None and start.n_hidden == n_hidden:
            table[:-1, :-1] = start.couplings
            table[:-1, -1], table[-1, :-1] = start.visible_biases, start.hidden_biases
        else:
            low, high = states
            means = (np.asarray(rows.mean(axis=0)).ravel() - low) / (high - low)
            table[:-1, -1] = logit(np.clip(means, MARGIN, 1 - MARGIN)) / (high - low)
            table[:-1, :-1] = rng.normal(0.0, FIRST_SD, (rows.shape[1], n_hidden))
        return RBMSteps(
            table,
            states,
            n_steps=positive_int(self.n_steps, "n_steps"),
            n_chains=positive_int(self.batch_size, "batch_size") if self.method == "pcd" else 0,
            momentum=share(self.momentum, "momentum"),
            l2=non_negative_number(self.l2, "l2"),
            fast_rate=fast_rate,
            rng=rng,
        )

    def _herd(self, rows: NDArray[Any], states: tuple[int, int], progress: Any) -> Self:
        """Learn by herding."""
        alphabet(rows, states, probabilities=False)
        signs = np.where(rows > 0, 1, -1).astype(np.int8)
        n_hidden = positive_int(self.n_hidden, "n_hidden")
        model, rates, centre = herd_machine(signs, n_hidden, self.n_epochs, progress)
        self._keep(model.to_states(states), rates, centre)
        self.history_ = np.array([spot_check(self.model_, rows, 0)])
        return self

    def _adopt(self, steps: RBMSteps, states: tuple[int, int]) -> None:
        self._keep(steps.model(states))
        self._steps = steps
        self.history_ = vars(self).get("history_", np.empty(0))

    def _keep(self, model: RBMModel, rates: Any = None, centre: Any = None) -> None:
        self.model_, self.rates_, self._centre = model, rates, centre
        self.components_ = np.array(model.couplings.T)
        self.intercept_hidden_ = model.hidden_biases.copy()
        self.intercept_visible_ = model.visible_biases.copy()
        self._n_features_out = model.n_hidden
        self._partition: float | None = None

    def _read(self, X: object) -> Any:
        check_fitted(self, "model_")
        return self._rows(X, reset=False)[0]

    def _rows(self, X: object, *, reset: bool) -> tuple[Any, tuple[int, int]]:
        """Return rows that hold states or probabilities, and the alphabet they are in."""
        rows = read_numbers(self, X, reset=reset)
        require_finite(self, rows)
        if self.binarize is not None:
            rows = upper(rows, finite_number(self.binarize, "binarize"))
        return rows, alphabet(rows, None if reset else self.model_.states)

    def __sklearn_tags__(self) -> Any:
        """Return the tags of scikit-learn: sparse rows are accepted, single precision stays."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
