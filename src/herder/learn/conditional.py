r"""Classification with hidden units by conditional herding.

The system is that of `herder.fields.conditional`. Its weights never settle unless all rows are
classified correctly, so that they are not a model by themselves: *snapshots* of them, at equal
distances in time, vote. The share of votes for a class is its probability (equation 3.35 of
[chen2014]_).

Initial weights are drawn from Gaussians, and both their standard deviations and the rates are
divided by the number of weights of their block (x z, y z, z or y), as in section 3.4.3.2. Only
the ratio of both matters.
"""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from herder._errors import ParameterError
from herder._validation import (
    check_fitted,
    fit_rows,
    flag,
    function_or_none,
    generator,
    non_negative_int,
    non_negative_number,
    one_of,
    positive_int,
    share,
    whole_or_not,
)
from herder.core.blas import one_blas_thread
from herder.core.lanes import Progress
from herder.core.plain import (
    Arrays,
    Header,
    plain_classes,
    plain_estimator,
    read_array,
    read_classes,
    read_estimator,
    read_number,
)
from herder.core.state import State, nest, unnest
from herder.core.summary import Fact, Facts, Picture, Section, Summary, counted, listed
from herder.fields.conditional import class_codes
from herder.fields.conditional_engine import ConditionalHerd
from herder.learn.scaling import ColumnScaling
from herder.learn.snapshots import VotingHerd
from herder.online.inputs import RowsLike, distinct_labels, place_labels, read_known, read_labels

__all__ = ["ConditionalHerder"]

#: Numbers in one block of rows that are classified: 64 MB.
BLOCK = 2**24

#: Rates of x z, y z, z and y, before they are divided by the numbers of weights. The thesis has
#: rates of 1. With inputs of a mean square of 1 and small batches, errors on ten tables were even
#: at 3, 4 and 10 for the first and at 2, 4 and 8 for the second; where the first was 0.3 or less,
#: hidden units saturated on several of them.
RATES = np.array([4.0, 4.0, 1.0, 1.0])

#: Initial weights beyond this would not be numbers in single precision.
LARGEST_SCALE = 1e6

#: Parameters that a model keeps when it goes on.
LASTING = ("n_hidden", "multi_class", "states", "halving", "standardise", "normalising_feature")

#: Most updates after which the share of the entropy trick is halved, as in the thesis.
MOST_HALVING = 500


class ConditionalHerder(ClassifierMixin, BaseEstimator):
    """Classify rows with hidden units, by the vote of herded weights.

    Parameters
    ----------
    n_hidden : int, default 100
        Number of hidden units; 0 for a voted perceptron.
    multi_class : {"joint", "one-vs-rest"}, default "joint"
        Distinguish all classes with the same hidden units, or each from the others with its own.
    states : (-1, 1) or (0, 1), default (-1, 1)
        States of the hidden units.
    max_iter : int, default 50
        Most passes over the rows. Learning ends earlier when a pass has no mistake.
    batch_size : int, default 10
        Rows of an update. Batches are taken in a fixed order.
    initial_scale : float, default 1
        Scale of the initial weights relative to the rates.
    halving : int or None, default None
        Updates after which the share of the entropy trick is halved, which keeps hidden units
        from saturating at the beginning; 0 for none. None: half a pass, at most 500 updates.
    burn_in : float, default 0.25
        Share of the updates before the first weights that vote.
    n_snapshots : int, default 100
        Most snapshots of the weights that are kept to vote.
    standardise : bool, default True
        Whether to centre columns and divide them by their standard deviations; sparse ones are
        divided by one number. Otherwise their mean square should be about 1.
    normalising_feature : bool, default False
        Whether to append a feature that gives all rows the same norm.
    shuffle : bool, default True
        Whether to take the rows in random order, the same in each pass.
    warm_start : bool, default False
        Whether `fit` goes on from the weights and votes of the fit before.
    random_state : int, Generator or None, default 0
        Draws the initial weights and the order of the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    history_ : ndarray of shape (n_passes,)
        Share of mistakes in each pass; of one-vs-rest, the mean over the classes.
    n_iter_ : int
        Number of passes.
    n_updates_, n_violations_ : int
        Updates, and those that violated the PCT inequality: only the entropy trick does.
    n_voters_ : int
        Number of snapshots that vote.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from herder import ConditionalHerder
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ConditionalHerder().fit(X[:1300], y[:1300])
    >>> print(f"{model.score(X[1300:], y[1300:]):.2f}")
    0.93
    """

    n_features_in_: int
    classes_: NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __init__(
        self,
        n_hidden: int = 100,
        *,
        multi_class: str = "joint",
        states: Sequence[int] = (-1, 1),
        max_iter: int = 50,
        batch_size: int = 10,
        initial_scale: float = 1.0,
        halving: int | None = None,
        burn_in: float = 0.25,
        n_snapshots: int = 100,
        standardise: bool = True,
        normalising_feature: bool = False,
        shuffle: bool = True,
        warm_start: bool = False,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.n_hidden = n_hidden
        self.multi_class = multi_class
        self.states = states
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.initial_scale = initial_scale
        self.halving = halving
        self.burn_in = burn_in
        self.n_snapshots = n_snapshots
        self.standardise = standardise
        self.normalising_feature = normalising_feature
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(self, X: RowsLike, y: ArrayLike, *, progress: Progress | None = None) -> Self:
        """Learn all rows, in passes.

        An interrupt (Ctrl-C) ends learning with a warning; the model so far is kept.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Their labels, at least two different ones.
        progress : callable, optional
            Called with the share done, and a word on what is done.
        """
        function_or_none(progress, "progress")
        max_iter = positive_int(self.max_iter, "max_iter")
        again = flag(self.warm_start, "warm_start") and hasattr(self, "classes_")
        with whole_or_not(self), one_blas_thread():
            rows = fit_rows(self, X, reset=not again)
            labels = read_labels(y, rows.shape[0])
            rng = generator(self.random_state)
            n_rows = rows.shape[0]
            order = rng.permutation(n_rows) if flag(self.shuffle, "shuffle") else slice(None)
            if again:
                self._go_on()
            else:
                self._begin(rows, distinct_labels(labels)[0], rng)
            places = self._places(labels)[order]
            self._learn(self._scaling.apply(rows[order]), places, max_iter, progress)
        return self

    def partial_fit(self, X: RowsLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn rows in their order, once.

        Parameters
        ----------
        X, y : array-like
            As for `fit`. Columns are scaled as the rows of the first call ask for.
        classes : array-like, optional
            All labels; needed in the first call.
        """
        first = not hasattr(self, "classes_")
        with whole_or_not(self), one_blas_thread():
            rows = fit_rows(self, X, reset=first)
            labels = read_labels(y, rows.shape[0])
            if not first:
                self._go_on()
            elif classes is None:
                raise ParameterError("classes", "be passed on the first call of partial_fit")
            elif rows.shape[0] < 2 and self.standardise:
                rule = "have at least two rows in the first call, which scale the columns"
                raise ParameterError("X", rule, got="one")
            else:
                self._begin(rows, read_known(classes), generator(self.random_state))
            self._learn(self._scaling.apply(rows), self._places(labels), 1, None, again=False)
        return self

    def predict_proba(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the share of votes for each class; of one-vs-rest, divided by their sum."""
        shares = self._shares(X)
        totals = shares.sum(axis=1, keepdims=True)
        even = np.full_like(shares, 1 / shares.shape[1])
        return np.divide(shares, totals, even, where=totals > 0)

    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Return the class with most votes of each row."""
        shares = self._shares(X)
        return self.classes_[shares.argmax(axis=1)]

    def summary(self) -> Summary:
        """Return how learning went: mistakes, passes, voters, violations of the PCT."""
        check_fitted(self, "classes_")
        size = f"{len(self.classes_)} classes, {counted(self.n_features_in_, 'feature')}"
        title = f"ConditionalHerder, {size}, {counted(self._made['n_hidden'], 'hidden unit')}"
        facts = [
            Fact("training error", self.history_[-1], ".4f", "of single weights, last pass"),
            Fact("passes", self.n_iter_, "", f"{counted(self.n_updates_, 'update')}"),
            Fact("voters", self.n_voters_, "", "snapshots of the weights that predict"),
            Fact("PCT violations", self.n_violations_, "", "updates; the entropy trick's"),
        ]
        picture = Picture("learning", self, "Mistakes in each pass.", "Share of mistakes.")
        return Summary(title, [Facts(facts)], [Section("Learning", [picture])])

    def to_state(self) -> State:
        """Return weights, snapshots and the scaling, and a header that JSON can hold."""
        check_fitted(self, "classes_")
        arrays = {"centre": self._scaling.centre, "factor": self._scaling.factor}
        arrays["history"] = self.history_
        for k, herd in enumerate(self._herds):
            arrays |= nest(f"{k}.", herd.arrays())
        header = {"classes": plain_classes(self.classes_), "radius": self._scaling.radius}
        return arrays, {**plain_estimator(self, **self._made), **header, "halving": self._halving}

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Return the classifier that `to_state` described."""
        centre = read_array(arrays, "centre", (None,))
        factor = read_array(arrays, "factor", centre.shape, low=0)
        model = read_estimator(cls, header, len(centre))
        model.classes_ = read_classes(header["classes"])
        model._scaling = ColumnScaling(centre, factor, read_number(header, "radius", float))
        model.history_ = read_array(arrays, "history", (None,), low=0, high=1)
        model._halving = read_number(header, "halving")
        sizes = len(model.history_), len(model.classes_) - 1
        n_hidden = non_negative_int(model.n_hidden, "n_hidden")
        if not all(sizes) or n_hidden > arrays["0.weights"].size:
            raise ValueError(f"passes and classes {sizes}, {n_hidden} hidden units")
        model._herds = model._new_herds()
        for k, herd in enumerate(model._herds):
            herd.restore(unnest(f"{k}.", arrays))
        return model

    @property
    def n_iter_(self) -> int:
        """Number of passes."""
        return len(self.history_)

    @property
    def n_updates_(self) -> int:
        """Number of updates; of one-vs-rest, of all classes."""
        return sum(voting.herd.n_steps for voting in self._herds)

    @property
    def n_violations_(self) -> int:
        """Updates that violated the PCT inequality."""
        return sum(voting.herd.n_violations for voting in self._herds)

    @property
    def n_voters_(self) -> int:
        """Snapshots that vote; of one-vs-rest, of each class at least."""
        burn_in = share(self.burn_in, "burn_in")
        return min(len(voting.voters(burn_in)) for voting in self._herds)

    def _begin(self, rows: Any, classes: NDArray[Any], rng: np.random.Generator) -> None:
        """Scale the columns and draw the initial weights."""
        if len(classes) < 2:
            rule = "have at least two classes"
            raise ParameterError("y", rule, got=f"one class: {classes.tolist()[0]!r}")
        self.classes_, self.history_ = classes, np.empty(0)
        size = positive_int(self.batch_size, "batch_size")
        self._halving = min(-(-rows.shape[0] // (2 * size)), MOST_HALVING)
        if self.halving is not None:
            self._halving = non_negative_int(self.halving, "halving")
        standardise = flag(self.standardise, "standardise")
        normalise = flag(self.normalising_feature, "normalising_feature")
        self._scaling = ColumnScaling.of(rows, standardise=standardise, normalise=normalise)
        scale = non_negative_number(self.initial_scale, "initial_scale")
        if scale > LARGEST_SCALE:
            raise ParameterError("initial_scale", f"be at most {LARGEST_SCALE:g}", scale)
        self._herds = self._new_herds()
        for voting in self._herds:
            weights, sizes = voting.herd.weights, voting.herd.sizes
            deviations = np.repeat(scale / np.maximum(sizes, 1), sizes)
            weights[:] = deviations * rng.standard_normal(len(weights))

    def _new_herds(self) -> list[VotingHerd]:
        """Return herds with weights of zero: one, or one for each class."""
        n_hidden = non_negative_int(self.n_hidden, "n_hidden")
        states = tuple(self.states) if isinstance(self.states, Sequence) else self.states
        one_of(states, "states", ((-1, 1), (0, 1)))
        one_of(self.multi_class, "multi_class", ("joint", "one-vs-rest"))
        limit = positive_int(self.n_snapshots, "n_snapshots")
        share(self.burn_in, "burn_in")
        n_herds = n_classes = len(self.classes_)
        if self.multi_class == "joint" or n_classes == 2:
            n_herds = 1
        codes = class_codes(n_classes if n_herds == 1 else 2)
        herds = []
        for _ in range(n_herds):
            herd = ConditionalHerd(self._scaling.width, n_hidden, codes, states=states)
            herd.rates[:] = RATES / np.maximum(herd.sizes, 1)
            herds.append(VotingHerd(herd, limit))
        self._made = {name: getattr(self, name) for name in LASTING}
        return herds

    def _go_on(self) -> None:
        """Copy what learning changes, so that a call that fails changes nothing."""
        for name, value in self._made.items():
            if getattr(self, name) != value:
                rule = f"stay {value!r}, as the model was begun with"
                raise ParameterError(name, rule, getattr(self, name))
        self._herds = [voting.twin() for voting in self._herds]
        for voting in self._herds:
            voting.limit = positive_int(self.n_snapshots, "n_snapshots")

    def _shares(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the share of votes for each class, apart in one-vs-rest."""
        check_fitted(self, "classes_")
        rows, burn_in = fit_rows(self, X, reset=False), share(self.burn_in, "burn_in")
        found = np.empty((rows.shape[0], len(self.classes_)))
        stride = max(1, BLOCK // max(self._scaling.width, self._made["n_hidden"]))
        with one_blas_thread():
            for low in range(0, len(found), stride):
                part = slice(low, low + stride)
                inputs = self._scaling.apply(rows[part])
                shares = [voting.shares(inputs, burn_in) for voting in self._herds]
                apart = [votes[:, 1] for votes in shares]
                found[part] = shares[0] if len(shares) == 1 else np.column_stack(apart)
        return found

    def _course(self) -> str:
        """Return how far learning is, for a progress bar."""
        if not self.n_iter_:
            return "first pass"
        return f"training error {self.history_[-1]:.4f} in pass {self.n_iter_}"

    def _places(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """Return the place of each label among the classes."""
        places, strange = place_labels(labels, self.classes_)
        if strange.any():
            known = listed([repr(label) for label in self.classes_.tolist()])
            raise ParameterError("y", f"have labels among {known}", labels[strange].tolist()[0])
        return places

    def _learn(
        self,
        inputs: Any,
        places: NDArray[np.intp],
        n_passes: int,
        progress: Progress | None,
        *,
        again: bool = True,
    ) -> None:
        """Make passes over scaled rows until one has no mistake, or an interrupt comes."""
        size = min(positive_int(self.batch_size, "batch_size"), len(places))
        how = {"size": size, "halving": self._halving}
        n_batches, n_herds = -(-len(places) // size), len(self._herds)
        for voting in self._herds:
            voting.herd.counts[1] = 0
        try:
            for turn in range(n_passes):
                before = sum(voting.herd.n_wrong for voting in self._herds)
                for k, voting in enumerate(self._herds):
                    labels = places if n_herds == 1 else (places == k).astype(np.intp)
                    end = voting.next_pass(n_batches, again=again)
                    while voting.herd.n_steps < end and voting.herd.counts[1] < n_batches:
                        voting.stride(inputs, labels, end, **how)
                        if progress is not None:
                            left = (end - voting.herd.n_steps) / n_batches
                            done = (turn + (k + 1 - left) / n_herds) / n_passes
                            progress(done, f"learning, {self._course()}")
                wrong = sum(voting.herd.n_wrong for voting in self._herds) - before
                mistakes = wrong / (n_batches * size * n_herds)
                self.history_ = np.append(self.history_, mistakes)
                if not wrong and all(one.herd.counts[1] >= n_batches for one in self._herds):
                    break
        except KeyboardInterrupt:
            if not self.n_iter_:
                raise
            done = f"{self.n_iter_} pass{'es' * (self.n_iter_ > 1)}"
            warnings.warn(f"interrupted after {done}; the model so far is kept", stacklevel=3)
        else:
            if progress is not None:
                progress(1.0, f"learning, {self._course()}")
