"""`HiddenHerder`: samples and features from rows by herding with hidden sites.

The mathematics is at the top of `herder.fields.hidden_system`.
"""

import copy
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from herder._validation import (
    check_fitted,
    function_or_none,
    one_of,
    positive_int,
    whole_or_not,
)
from herder.core.blas import one_blas_thread
from herder.core.lanes import Progress
from herder.core.plain import Arrays, Header, plain_estimator, read_array, read_estimator
from herder.core.state import State
from herder.core.summary import Fact, Facts, Picture, Section, Summary, counted
from herder.data.states import check_alphabet, read_codes
from herder.fields.hidden_engine import HiddenHerd, mixed_order, rounded_means
from herder.fields.hidden_system import rows_of_a_step

__all__ = ["HiddenHerder"]

#: Weights that are kept, evenly over the steps of a fit, to complete rows that come later.
SNAPSHOTS = 100

#: What the picture of samples shows, and the text below it.
SAMPLES = (
    "Visible states of the herd, as small images.",
    "Samples after the steps of the fit, every tenth.",
)


class HiddenHerder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Herd a restricted Boltzmann machine with rows: samples like them, and features of them.

    Sites are herded as -1 and 1, whatever two states the rows hold; of the visible ones the mean,
    rounded to -1, 0 or 1, is subtracted, so that columns that hardly vary do not pull all hidden
    sites the same way.

    Parameters
    ----------
    n_hidden : int, default 100
        Number of hidden sites.
    n_steps : int, default 1000
        Steps of `fit`.
    batch_size : int, optional
        Rows of a step, in a fixed order that does not depend on theirs; all by default.
    start : {"state", "rows"}, default "state"
        Where a search starts: at the last state, and at the best row only when it falls short
        of the PCT inequality; or always at the best row.
    binarize : float, optional
        Threshold for numbers: those above it are the upper state, all others the lower one.

    Attributes
    ----------
    weights_ : ndarray of shape (n_hidden + 1, n_features + 1)
        The weights after the last step; the last row and column are biases.
    rates_ : ndarray of shape (n_hidden + 1, n_features + 1)
        What the rows asked for, on average over the steps: moments of products of a hidden and
        a visible site, the latter less its rounded mean.
    hidden_averages_ : ndarray of shape (n_rows, n_hidden)
        Share of the steps in which each hidden site of each row was in the upper state.
    n_restarts_ : int
        Searches that fell short of the PCT inequality and started again at a row.
    n_violations_ : int
        Steps that broke it all the same.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from herder import HiddenHerder
    >>> rows = [[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 1, 0]]
    >>> herder = HiddenHerder(4, n_steps=100).fit(rows)
    >>> herder.sample(4).tolist()
    [[1, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 1]]
    """

    n_features_in_: int

    def __init__(
        self,
        n_hidden: int = 100,
        *,
        n_steps: int = 1000,
        batch_size: int | None = None,
        start: str = "state",
        binarize: float | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.start = start
        self.binarize = binarize

    def fit(self, X: object, y: object = None, *, progress: Progress | None = None) -> Self:
        """Herd with all rows.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or mapping of columns by name
            Rows of 0 and 1, or of -1 and 1.
        y : ignored
            For scikit-learn.
        progress : callable, optional
            Called with the share done, and a word on what is done.
        """
        function_or_none(progress, "progress")
        n_hidden = positive_int(self.n_hidden, "n_hidden")
        n_steps = positive_int(self.n_steps, "n_steps")
        start = one_of(self.start, "start", ("state", "rows"))
        with whole_or_not(self):
            codes, states = read_codes(self, X, "auto", binarize=self.binarize)
            order = np.arange(len(codes))
            size = rows_of_a_step(self.batch_size, len(codes))
            if size < len(codes):
                order = mixed_order(len(codes))
            signs = (2 * codes.astype(np.int8) - 1)[order]
            herd = HiddenHerd(
                signs,
                n_hidden,
                centre=rounded_means(signs),
                batch_size=size,
                from_rows=start == "rows",
            )
            ends = np.unique(np.linspace(0, n_steps, SNAPSHOTS + 1).round().astype(int))[1:]
            kept = []
            for end in ends:
                herd.run(end - herd.t)
                kept.append(herd.weights)
                if progress is not None:
                    progress(end / n_steps, "herding")
            self._keep(herd, np.array(kept), order, states)
        return self

    def transform(self, X: object) -> NDArray[np.float64]:
        """Return how often each hidden site of the rows is in the upper state.

        An average over 100 weights, evenly from the steps of `fit`; for the rows of the fit
        ``hidden_averages_`` has it over all steps.
        """
        check_fitted(self, "weights_")
        codes, _ = read_codes(self, X, self._states, reset=False, binarize=self.binarize)
        values = np.ones((len(codes), codes.shape[1] + 1))
        values[:, :-1] = 2.0 * codes - 1.0 - self._herd.centre
        found = np.zeros((len(codes), self._n_features_out))
        with one_blas_thread():
            for weights in self._snapshots:
                found += values @ weights[:-1].T.astype(np.float64) > 0
        return found / len(self._snapshots)

    def sample(self, n_samples: int = 1, *, drive: str = "rows") -> NDArray[np.int8]:
        """Return visible states of the steps after those of `fit`.

        Parameters
        ----------
        n_samples : int
            Number of states, one for each step.
        drive : {"rows", "rates"}, default "rows"
            What the herd follows: the rows, or only their rates over the steps of `fit`; this
            herd is a new one, after a burn-in of 100 steps.
        """
        check_fitted(self, "weights_")
        n_samples = positive_int(n_samples, "n_samples")
        one_of(drive, "drive", ("rows", "rates"))
        if drive == "rows":
            return self._own(copy.deepcopy(self._herd).run(n_samples)[0])
        herd = HiddenHerd.of_rates(self.rates_, self._herd.centre)
        return self._own(herd.samples(n_samples))

    def steps(self) -> Iterator[tuple[NDArray[np.int8], NDArray[np.int8]]]:
        """Yield for ever, after the steps of `fit`: a visible state, the hidden ones of all rows.

        Rows are in their order, those of a step outside the batch as they were before.
        """
        check_fitted(self, "weights_")
        herd = copy.deepcopy(self._herd)
        while True:
            visible = herd.run(1)[0][0]
            yield self._own(visible), self._own(herd.herd.hidden[:-1, self._place].T)

    def summary(self) -> Summary:
        """Return sizes, how the moments agree, and how the searches went."""
        check_fitted(self, "weights_")
        herd = self._herd
        rows, sites = (
            counted(len(self.hidden_averages_), "row"),
            counted(self.n_features_in_, "column"),
        )
        facts = [
            Fact("steps", herd.t, ",d"),
            Fact("moment error", herd.moment_error, ".2g", "largest, between rows and states"),
            Fact("restarts", self.n_restarts_, ",d", "searches that started again at a row"),
            Fact("PCT violations", self.n_violations_, ",d"),
        ]
        title = f"herding with {counted(self._n_features_out, 'hidden site')}, {rows} of {sites}"
        section = Section("Samples", [Picture("samples", self, *SAMPLES)])
        return Summary(title, [Facts(facts)], [section])

    def to_state(self) -> State:
        """Return the herd with its rows, and a header that JSON can hold."""
        check_fitted(self, "weights_")
        arrays, header = self._herd.to_state()
        arrays |= {"snapshots": self._snapshots, "order": self._order}
        return arrays, {**plain_estimator(self), **header, "low": self._states[0]}

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Return the herder that `to_state` described."""
        herd = HiddenHerd.from_state(arrays, header)
        herder = read_estimator(cls, header, herd.weights.shape[1] - 1)
        n_rows = len(herd.rows.values)
        order = read_array(arrays, "order", (n_rows,), np.int64)
        if not np.array_equal(np.sort(order), np.arange(n_rows)) or not n_rows:
            raise ValueError("an order that does not hold each row once")
        snapshots = read_array(arrays, "snapshots", (None, *herd.weights.shape), np.int64)
        herder._keep(herd, snapshots, order, check_alphabet((header["low"], 1)))
        return herder

    def _keep(
        self,
        herd: HiddenHerd,
        snapshots: NDArray[np.int64],
        order: NDArray[np.int64],
        states: tuple[int, int],
    ) -> None:
        self._herd, self._snapshots, self._order, self._states = herd, snapshots, order, states
        self._place = np.argsort(order)
        self._n_features_out = len(herd.weights) - 1
        self.weights_ = herd.weights / herd.scale
        self.rates_ = herd.rates
        self.hidden_averages_ = herd.hidden_averages[self._place]
        self.n_restarts_, self.n_violations_ = (int(count) for count in herd.counts)

    def _own(self, signs: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return states -1 and 1 as those of the rows."""
        return np.where(signs > 0, 1, self._states[0]).astype(np.int8)

    def __sklearn_tags__(self) -> Any:
        """Return the tags of scikit-learn: sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
