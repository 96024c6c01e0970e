r"""Parametric herding: prototypes in place of the rows.

Herding with hidden sites (`herder.fields.hidden_system`) needs the rows at every step, for what
they ask for: :math:`\bar\phi_{jk}(w) = \frac{1}{D} \sum_i x_{ij} z_{ik}(w)`. A regression with M
prototypes A of weights :math:`\pi` takes their place (equations 3.20 and 3.21 of [chen2014]_):

.. math:: r_{jk}(w) = \sum_m \pi_m \tanh\bigl(b (\sum_j w_{kj} A_{jm} + w_k)\bigr) A_{jm}.

It is learnt by steps down the gradient of the squared differences (equation 3.22), in two phases:
along the weights of a herd that the rows drive, and then of one that the prototypes drive, since
that is where they are used. The prototypes begin at the means of a mixture of Bernoullis.

Afterwards entries of A are rounded to halves, the weights :math:`\pi` to 1/1024, and the tanh
becomes a sign: the herd then runs on integers alone, with the same states on every machine.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from herder._validation import (
    check_fitted,
    function_or_none,
    non_negative_int,
    positive_int,
    whole_or_not,
)
from herder.core.blas import one_blas_thread
from herder.core.lanes import Progress
from herder.core.plain import Arrays, Header, plain_estimator, read_array, read_estimator
from herder.core.state import State
from herder.core.summary import Fact, Facts, Picture, Section, Summary, counted
from herder.data.states import check_alphabet, read_codes
from herder.fields.hidden_engine import BURN_IN, HiddenHerd, mixed_order
from herder.fields.hidden_system import RBMFeatures, batch
from herder.models.bernoulli import fit_bernoulli_mixture

__all__ = ["SHARES", "UNIT", "ParametricHerder", "codebook"]

#: Entries of prototypes are multiples of 1 / UNIT, their weights of 1 / SHARES.
UNIT, SHARES = 2, 1024

#: Rows of a step of the regression.
BATCH = 1000

#: Weights that a file may ask for.
MAX_WEIGHTS = 2**28

#: Learning rate of the first half of each phase; then it falls to zero.
RATE = 0.01

#: What the picture of the prototypes shows, and the text below it.
PROTOTYPES = (
    "The prototypes, as small images, those with the largest weights first.",
    "Prototypes in place of the rows.",
)


def codebook(
    prototypes: NDArray[np.int8], shares: NDArray[np.int64], n_hidden: int, n_codewords: int
) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Return visible states that prototypes herd, with their fields, in integers.

    Parameters
    ----------
    prototypes : ndarray of shape (n_prototypes, n_visible)
        Entries from -UNIT to UNIT.
    shares : ndarray of shape (n_prototypes,)
        Whole weights, which sum to SHARES.
    n_hidden : int
        Number of hidden sites.
    n_codewords : int
        Number of states, after a burn-in of 100.

    Returns
    -------
    states, fields : ndarray of shape (n_codewords, n_visible)
        States -1 and 1; the larger the field of a site, the surer its state.
    """
    herd = HiddenHerd(prototypes, n_hidden, votes=shares, unit=UNIT)
    herd.run(BURN_IN)
    fields = np.empty((n_codewords, prototypes.shape[1]), np.int64)
    return herd.run(n_codewords, fields=fields)[0], fields


class Regression:
    """The prototypes while they are learnt, by Adam [kingma2015]_, in floating point."""

    def __init__(self, prototypes: NDArray[np.float64], shares: NDArray[np.float64]) -> None:
        self.parameters = {"A": prototypes, "log_pi": np.log(shares), "log_b": np.zeros(())}
        self.means = {name: np.zeros_like(value) for name, value in self.parameters.items()}
        self.squares = {name: np.zeros_like(value) for name, value in self.parameters.items()}
        self.n_updates = 0

    @property
    def shares(self) -> NDArray[np.float64]:
        """The weights of the prototypes."""
        raw = np.exp(self.parameters["log_pi"] - self.parameters["log_pi"].max())
        return raw / raw.sum()

    def learn(
        self, weights: NDArray[np.float64], target: NDArray[np.float64], rate: float
    ) -> tuple[NDArray[np.float64], float]:
        """Return what the prototypes ask for and its squared error, and step down its gradient."""
        values = np.ones((len(self.parameters["A"]), weights.shape[1]))
        values[:, :-1] = self.parameters["A"]
        fields, shares = weights @ values.T, self.shares
        if self.n_updates == 0:  # tanh is neither flat nor straight at the usual fields
            self.parameters["log_b"] = -np.log(np.abs(fields[:-1]).mean())
        b = np.exp(self.parameters["log_b"])
        answers = np.tanh(b * fields)
        answers[-1] = 1.0  # of the constant, for the visible biases
        asked = (answers * shares) @ values
        error = asked - target
        pulls = error @ values.T
        slopes = (1.0 - answers**2) * shares * pulls
        by_share = (answers * pulls).sum(axis=0)
        gradients: dict[str, Any] = {
            "A": ((answers * shares).T @ error + b * slopes.T @ weights)[:, :-1],
            "log_pi": shares * (by_share - shares @ by_share),
            "log_b": b * (slopes * fields).sum(),
        }
        self._step(gradients, rate)
        return asked, float((error[:-1] ** 2).sum())

    def _step(self, gradients: dict[str, Any], rate: float) -> None:
        self.n_updates += 1
        for name, gradient in gradients.items():
            mean, square = self.means[name], self.squares[name]
            mean += 0.1 * (gradient - mean)
            square += 0.01 * (gradient**2 - square)
            even = mean / (1 - 0.9**self.n_updates)
            size = np.sqrt(square / (1 - 0.99**self.n_updates)) + 1e-12
            self.parameters[name] = self.parameters[name] - rate * even / size
        self.parameters["A"] = self.parameters["A"].clip(-1.0, 1.0)

    def rounded(self) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """Return prototypes and shares as whole numbers; those without a share are left out."""
        exact = self.shares * SHARES
        shares = np.floor(exact).astype(np.int64)
        rest = np.argsort(shares - exact, kind="stable")[: SHARES - shares.sum()]
        shares[rest] += 1
        order = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)]
        prototypes = np.rint(UNIT * self.parameters["A"]).astype(np.int8)
        return prototypes[order], shares[order]


class ParametricHerder(BaseEstimator):
    """Learn prototypes that herd a restricted Boltzmann machine as the rows would.

    Afterwards the rows are not needed: samples come from the prototypes alone, computed in
    integers.

    Parameters
    ----------
    n_prototypes : int, default 20
        Number of prototypes; fewer if some end without a share.
    n_hidden : int, default 100
        Number of hidden sites.
    n_steps : int, default 1000
        Steps of learning along the weights of a herd that the rows drive.
    n_tuning_steps : int, default 1000
        Steps of learning, afterwards, along those of a herd that the prototypes drive.
    binarize : float, optional
        Threshold for numbers: those above it are the upper state, all others the lower one.

    Attributes
    ----------
    prototypes_ : ndarray of shape (n, n_features), int8
        In halves: from -2 to 2.
    shares_ : ndarray of shape (n,), int64
        Weights of the prototypes, which sum to 1024.
    history_ : ndarray of shape (n_steps + n_tuning_steps,)
        Squared error of the regression at each step.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from herder import ParametricHerder
    >>> rows = [[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 1, 0]]
    >>> herder = ParametricHerder(2, n_hidden=4, n_steps=100).fit(rows)
    >>> herder.sample(4).tolist()
    [[1, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 1]]
    """

    n_features_in_: int

    def __init__(
        self,
        n_prototypes: int = 20,
        *,
        n_hidden: int = 100,
        n_steps: int = 1000,
        n_tuning_steps: int = 1000,
        binarize: float | None = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.n_hidden = n_hidden
        self.n_steps = n_steps
        self.n_tuning_steps = n_tuning_steps
        self.binarize = binarize

    def fit(self, X: object, y: object = None, *, progress: Progress | None = None) -> Self:
        """Learn the prototypes.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or mapping of columns by name
            Rows of 0 and 1, or of -1 and 1.
        y : ignored
            For scikit-learn.
        progress : callable, optional
            Called with the share done, and a word on what is done.
        """
        tell = function_or_none(progress, "progress") or (lambda share, note: None)
        n_prototypes = positive_int(self.n_prototypes, "n_prototypes")
        n_hidden = positive_int(self.n_hidden, "n_hidden")
        n_steps = positive_int(self.n_steps, "n_steps")
        n_tuning = non_negative_int(self.n_tuning_steps, "n_tuning_steps")
        with whole_or_not(self), one_blas_thread():
            codes, states = read_codes(self, X, "auto", binarize=self.binarize)
            codes = codes[mixed_order(len(codes))]
            rows = Completion(codes)
            mixture = fit_bernoulli_mixture(codes, n_prototypes)
            learner = Regression(2.0 * mixture.means - 1.0, mixture.shares)
            herd = HiddenHerd(rows.signs, n_hidden, batch_size=BATCH)
            herd.run(BURN_IN)
            history = []
            for step in range(n_steps):
                weights = herd.weights / herd.scale
                herd.run(1)
                rate = RATE * min(1.0, 2.0 - 2.0 * step / n_steps)
                history.append(learner.learn(weights, herd.herd.sums / herd.scale, rate)[1])
                tell(step / (n_steps + n_tuning), "learning with the rows")
            model, weights = RBMFeatures(), herd.weights / herd.scale
            visible, hidden = herd.herd.visible[:-1], herd.herd.answer[:-1]
            for step in range(n_tuning):
                visible, hidden = model.climb(weights, visible, hidden)
                rate = RATE * min(1.0, 2.0 - 2.0 * step / n_tuning)
                asked, error = learner.learn(weights, rows.asked(weights, step), rate)
                weights = weights + asked - model.features(visible, hidden)
                history.append(error)
                tell((n_steps + step) / (n_steps + n_tuning), "learning on its own")
            self._keep(*learner.rounded(), states)
            self.history_ = np.array(history)
        return self

    def sample(self, n_samples: int = 1) -> NDArray[np.int8]:
        """Return visible states of a herd that the prototypes drive, after a burn-in of 100.

        Parameters
        ----------
        n_samples : int
            Number of states, one for each step.
        """
        check_fitted(self, "prototypes_")
        n_samples = positive_int(n_samples, "n_samples")
        n_hidden = positive_int(self.n_hidden, "n_hidden")
        signs, _ = codebook(self.prototypes_, self.shares_, n_hidden, n_samples)
        return np.where(signs > 0, 1, self._states[0]).astype(np.int8)

    def errors(self, X: object, n_steps: int = 1000) -> NDArray[np.float64]:
        """Return squared errors along the herd of the prototypes: what rows would have asked for.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or mapping of columns by name
            The rows of the fit, or others.
        n_steps : int
            Steps of the herd, after a burn-in of 100.
        """
        check_fitted(self, "prototypes_")
        n_steps = positive_int(n_steps, "n_steps")
        codes, _ = read_codes(self, X, self._states, reset=False, binarize=self.binarize)
        rows, found = Completion(codes), np.empty(n_steps)
        herd = HiddenHerd(self.prototypes_, self.n_hidden, votes=self.shares_, unit=UNIT)
        herd.run(BURN_IN)
        with one_blas_thread():
            for step in range(n_steps):
                weights = herd.weights / herd.scale
                herd.run(1)
                gap = herd.herd.sums / herd.scale - rows.asked(weights, step)
                found[step] = (gap[:-1] ** 2).sum()
        return found

    def summary(self) -> Summary:
        """Return sizes, how learning went, and a picture of the prototypes."""
        check_fitted(self, "prototypes_")
        tenth = -(-len(self.history_) // 10)
        course = f"{self.history_[:tenth].mean():.3g} to {self.history_[-tenth:].mean():.3g}"
        meaning = "squared error of the regression, means of the first and the last tenth of steps"
        values, counts = np.unique(self.prototypes_, return_counts=True)
        entropy = -(counts / counts.sum()) @ np.log2(counts / counts.sum())
        facts = [
            Fact("learning", course, "", meaning),
            Fact("largest share", float(self.shares_[0] / SHARES), ".1%", "of a prototype"),
            Fact("entropy", float(entropy), ".2f", f"bits an entry, of {len(values)} values"),
        ]
        sizes = counted(len(self.prototypes_), "prototype")
        title = f"parametric herding, {sizes} of {counted(self.n_features_in_, 'column')}"
        section = Section("Prototypes", [Picture("prototypes", self, *PROTOTYPES)])
        return Summary(title, [Facts(facts)], [section])

    def to_state(self) -> State:
        """Return the prototypes, and a header that JSON can hold."""
        check_fitted(self, "prototypes_")
        arrays: Arrays = {
            "prototypes": self.prototypes_,
            "shares": self.shares_,
            "history": self.history_,
        }
        return arrays, {**plain_estimator(self), "low": self._states[0]}

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Return the herder that `to_state` described."""
        kind = {"kind": np.int8, "low": -UNIT, "high": UNIT}
        prototypes = read_array(arrays, "prototypes", (None, None), **kind)
        shares = read_array(arrays, "shares", (len(prototypes),), np.int64, low=1, high=SHARES)
        history = read_array(arrays, "history", (None,), low=0)
        if not prototypes.size or not history.size or shares.sum() != SHARES:
            raise ValueError(f"prototypes of shape {prototypes.shape}, shares of {shares.sum()}")
        herder = read_estimator(cls, header, prototypes.shape[1])
        if positive_int(herder.n_hidden, "n_hidden") * prototypes.shape[1] > MAX_WEIGHTS:
            raise ValueError(f"{herder.n_hidden} hidden sites")
        herder._keep(prototypes, shares, check_alphabet((header["low"], 1)))
        herder.history_ = history
        return herder

    def _keep(
        self, prototypes: NDArray[np.int8], shares: NDArray[np.int64], states: tuple[int, int]
    ) -> None:
        self.prototypes_, self.shares_, self._states = prototypes, shares, states

    def __sklearn_tags__(self) -> Any:
        """Return the tags of scikit-learn: sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Completion:
    """Rows, and what batches of them ask for at weights that others have moved."""

    def __init__(self, codes: NDArray[np.uint8]) -> None:
        self.signs = (2 * codes.astype(np.int8) - 1).astype(np.int8)
        self.values = np.ones((len(codes), codes.shape[1] + 1), np.float32)
        self.values[:, :-1] = self.signs

    def asked(self, weights: NDArray[np.float64], step: int) -> NDArray[np.float64]:
        """Return the mean features of a batch of rows with their best hidden states."""
        size = min(BATCH, len(self.values))
        rows = self.values[batch(step, size, len(self.values))]
        hidden = np.where(rows @ weights.T.astype(np.float32) > 0, 1, -1).astype(np.float32)
        hidden[:, -1] = 1
        return (hidden.T @ rows / size).astype(np.float64)
