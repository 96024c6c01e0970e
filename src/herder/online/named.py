r"""A model whose features and classes have names, and come as they come.

A row is a dict of names to numbers; names that it does not have are zeros. A name gets its place
in the table of weights when it is first learnt, and the table doubles when it is full. Until then
a feature has the prior, mean 0 and variance 1, so that for a row with names not seen before
:math:`v = x^T \Sigma x` counts the squares of their values in full: what is strange is uncertain.
The bias is one more feature, in place 0, with the value 1; place 1 stays at the prior and stands
for all names that are not known.

Labels True and False make one Gaussian, told of both classes from the start, as does a list of two
classes. Other labels become classes as they come, each with a block of weights, as with
``new_classes="add"``: nothing can be learnt before there are two.
"""

import copy
import math
import struct
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder.online import _named_jit, _passes_jit
from herder.online.classifier import OnlineClassifier
from herder.online.full import FullWeights
from herder.online.odds import ABOVE_HALF, find_rivals, probabilities
from herder.online.weights import DiagonalWeights, TrainingPass

__all__ = ["NamedModel", "Row"]

#: Places for names in a new model; the table doubles when they are taken.
FIRST_PLACES = 64

#: The place of names that are not known, and the first place that is given to a name.
STRANGE, FIRST = 1, 2

#: Largest weight of a row: times C, which is at most 1e100, its square is finite.
LARGEST_WEIGHT = 1e50

#: Bytes of a value and of a place: a row is written after that of the bias.
VALUE_BYTES, PLACE_BYTES = 8, 4

Row = Mapping[Hashable, Any]
Floats = NDArray[np.float64]


class NamedModel:
    """The Gaussian of an online learner over named features.

    Parameters
    ----------
    estimator : OnlineClassifier
        The learner, not fitted: only its parameters are used.
    classes : tuple, optional
        All labels there will be.
    """

    def __init__(
        self, estimator: OnlineClassifier, classes: tuple[Hashable, ...] | None = None
    ) -> None:
        self.estimator = estimator
        self.classes = classes
        self.n_seen = 0
        self.n_updates = 0
        self.labels: list[Hashable] = []
        self.places: dict[Hashable, int] = {}
        self.index: dict[Hashable, int] = {}
        self.weights: Any = None
        self.few = self.quick = False
        self.rule = estimator._checked_rule()
        self.rates: list[float] = []
        # Rows seen when the variance at a place was last brought up to date, for forgetting.
        self.dates = np.zeros(0, np.int64)
        # The row at hand: its names, their places and values, with the bias before them.
        self.keys: list[Hashable] | None = None
        self.row_places = np.zeros(FIRST_PLACES, np.int32)
        self.row_values = np.full(FIRST_PLACES, float(estimator.fit_intercept))
        if classes is not None:
            self.open(classes)

    def learn(self, x: Row, y: Hashable, w: float) -> None:
        """Learn a row."""
        if not 0.0 <= w <= LARGEST_WEIGHT:
            raise ParameterError("w", f"be a number from 0 to {LARGEST_WEIGHT:g}", w)
        place = self.places.get(y)
        if place is None:
            check_finite(self.values_of(x), list(x))
            place = self.add_label(y)
        try:
            stop = self.read(x)
        except KeyError:
            self.add_names(x)
            stop = self.read(x)
        places, values = self.row_places, self.row_values
        if not self.quick:
            check_finite(values[None, 1:stop], list(x))
            self.learn_rows(values[None, :stop], places[:stop], [place], w)
            return
        table = self.weights.table[:, 0]
        m, v = _named_jit.look(table, places, values, stop)
        self.n_seen += 1
        if not (math.isfinite(m) and math.isfinite(v)):
            check_finite(values[None, 1:stop], list(x))
            self.leave_out(1, 1)
            return
        sign = 1.0 if place else -1.0
        rule, rate = self.rule, self.rates[place] * w
        alpha, gain = _passes_jit.step(rule, sign * m, v, rate)
        if alpha != 0.0 or gain != 0.0:
            self.n_updates += 1
            _named_jit.move(table, places, values, stop, sign * alpha, gain, v, rate, rule.form)

    def learn_rows(
        self, values: Floats, places: NDArray[Any], labels: list[int], weight: float = 1.0
    ) -> None:
        """Learn rows (n, k) with values at the same k places, by the learner's own pass."""
        self.n_seen += len(labels)
        if len(self.labels) < 2:
            return
        training = TrainingPass(
            self.padded(values, places),
            np.array(labels, np.intp),
            np.array([self.rates[label] for label in labels]) * weight,
            np.arange(len(labels)),
        )
        part = self.part(places, self.n_seen - len(labels))
        done = part.learn(training, self.rule)
        self.n_updates += done.n_updates
        if isinstance(part, DiagonalWeights):
            self.weights.table[places] = part.table
            self.weights.seen = self.n_seen
            self.dates[places] = self.n_seen
            if part.drift is not None:
                self.weights.drift[places] = part.drift
        if done.n_left_out:
            self.leave_out(done.n_left_out, len(labels))

    def part(self, places: NDArray[Any], seen: int) -> Any:
        """Return the weights at some places after so many rows; the whole of a full covariance."""
        whole = self.weights
        if isinstance(whole, FullWeights):
            return whole
        part = copy.copy(whole)
        part.seen = seen
        part.table = whole.table[places]
        if whole.drift is not None:
            part.drift = whole.drift[places]
        if self.rule.forget:
            keep = (1.0 - self.rule.forget) ** (seen - self.dates[places])
            part.table[:, :, 1] = part.table[:, :, 1] * keep[:, None] + (1.0 - keep[:, None])
        return part

    def padded(self, values: Floats, places: NDArray[Any]) -> Floats:
        """Return rows as wide as their `part` of the weights."""
        if not isinstance(self.weights, FullWeights):
            return values
        rows = np.zeros((len(values), self.weights.means_.shape[1]))
        strange = places == STRANGE
        rows[:, places[~strange]] = values[:, ~strange]
        # Names that are not known are independent of all others: only their length counts.
        rows[:, STRANGE] = np.sqrt((values[:, strange] ** 2).sum(axis=1))
        return rows

    def predict(self, x: Row) -> Any:
        """Return the label of a row; None before the first label is known."""
        if self.weights is None:
            return None
        stop = self.read_any(x)
        places, values = self.row_places, self.row_values
        if self.quick:
            m, _ = _named_jit.look(self.weights.table[:, 0], places, values, stop)
            if not math.isfinite(m):
                check_finite(values[None, 1:stop], list(x))
            return self.labels[1 if m > 0.0 else 0]
        check_finite(values[None, 1:stop], list(x))
        scores, _ = self.answers(values[None, :stop], places[:stop])
        return self.labels[self.picks(scores)[0]]

    def odds(self, x: Row) -> dict[Hashable, float]:
        """Return the probability of each label by the probit of margin and variance."""
        if self.weights is None:
            return {}
        stop = self.read_any(x)
        places, values = self.row_places, self.row_values
        if self.quick:
            m, v = _named_jit.look(self.weights.table[:, 0], places, values, stop)
            if not (math.isfinite(m) and math.isfinite(v)):
                check_finite(values[None, 1:stop], list(x))
            odds = 0.5 * math.erfc(-m / math.sqrt(2.0 * (1.0 + v)))
            odds = max(odds, ABOVE_HALF) if m > 0.0 else odds
            no, yes = self.labels
            return {no: 1.0 - odds, yes: odds}
        check_finite(values[None, 1:stop], list(x))
        scores, variances = self.answers(values[None, :stop], places[:stop])
        found = probabilities(scores, variances, len(self.labels))
        return dict(zip(self.labels, found[0].tolist(), strict=True))

    def answers(self, values: Floats, places: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return scores, and variances as `probabilities` takes them, of rows (n, k).

        The rows have values at the same k places.
        """
        part, rows = self.part(places, self.n_seen), self.padded(values, places)
        scores = part.scores(rows)
        if part.n_blocks == 1:
            return scores, part.variances(rows)
        return scores, part.gap_variances(rows, find_rivals(scores))

    def picks(self, scores: Floats) -> NDArray[np.intp]:
        """Return the place of each row's class."""
        return (scores[:, 0] > 0.0).astype(np.intp) if self.few else scores.argmax(axis=1)

    def read(self, x: Row) -> int:
        """Take values and places of a row and give their number; KeyError if a name is new."""
        keys = list(x)
        n = len(keys)
        if n >= len(self.row_values):
            self.widen(n + 1)
        pack_values, pack_places = packers(n)
        try:
            pack_values(self.row_values, VALUE_BYTES, *x.values())
        except (struct.error, OverflowError, TypeError):
            raise bad_value(x) from None
        if keys != self.keys:
            pack_places(self.row_places, PLACE_BYTES, *map(self.index.__getitem__, keys))
            self.keys = keys
        return n + 1

    def values_of(self, x: Row) -> Floats:
        """Return the values of a row (1, k), or say which is no number."""
        try:
            return np.array([struct.unpack("d", struct.pack("d", v))[0] for v in x.values()])[None]
        except (struct.error, OverflowError, TypeError):
            raise bad_value(x) from None

    def read_any(self, x: Row) -> int:
        """Take a row as `read` does, with names that have no place among the strange ones."""
        try:
            return self.read(x)
        except KeyError:
            n = len(x)
            places = map(self.index.get, x, repeat(STRANGE))
            packers(n)[1](self.row_places, PLACE_BYTES, *places)
            self.keys = None
            return n + 1

    def places_of(self, names: Iterable[Hashable]) -> NDArray[np.intp]:
        """Return the places of the bias and of names."""
        get = self.index.get
        return np.array([0, *(get(name, STRANGE) for name in names)], np.intp)

    def widen(self, size: int) -> None:
        """Make room for longer rows."""
        size = max(size, 2 * len(self.row_values))
        self.row_values = np.full(size, self.row_values[0])
        self.row_places = np.zeros(size, np.int32)
        self.keys = None

    def add_names(self, names: Iterable[Hashable]) -> None:
        """Assign places to new names, in a larger table if need be."""
        index = self.index
        for name in names:
            if name not in index:
                index[name] = len(index) + FIRST
        size, weights = len(index) + FIRST, self.weights
        if isinstance(weights, FullWeights):
            if size > weights.means_.shape[1]:
                self.weights = weights.extended(size)
        elif size > len(weights.table):
            size = max(size, 2 * len(weights.table))
            self.weights = weights.extended(size)
            # At the prior there is nothing to forget, so any date is right for a new place.
            self.dates = np.append(self.dates, np.zeros(size - len(self.dates), np.int64))

    def add_label(self, y: Any) -> int:
        """Assign a place to a new label, or say why not."""
        label = y.item() if isinstance(y, np.generic) else y
        if label is None or type(label).__name__ == "NAType" or label != label:
            raise ParameterError("y", "be a label", label)
        if self.weights is None:
            self.open((False, True) if isinstance(label, bool) else (label,))
        elif self.few or (self.classes is not None and self.estimator.new_classes == "error"):
            known = ", ".join(repr(other) for other in self.labels)
            raise ParameterError(
                "y",
                f"be one of {known}",
                got=f"{label!r}: name all classes at the start, or give the estimator "
                "new_classes='add'",
            )
        else:
            n_labels = len(self.labels)
            self.weights = self.weights.spread(np.arange(n_labels), n_labels + 1)
            self.name_labels([*self.labels, label])
        return self.places[label]

    def open(self, labels: tuple[Hashable, ...]) -> None:
        """Begin a model of these classes."""
        estimator, rule = self.estimator, self.rule
        fixed = self.classes is not None and estimator.new_classes == "error"
        if fixed and len(labels) < 2:
            raise ParameterError("classes", "be at least two labels", list(labels))
        self.name_labels(list(labels))
        # Without a list of classes two labels at once are False and True.
        self.few = len(labels) == 2 and (fixed or self.classes is None)
        self.quick = self.few and not (rule.is_full or rule.forget or estimator.average)
        kind = FullWeights if rule.is_full else DiagonalWeights
        self.weights = kind(
            FIRST if rule.is_full else FIRST_PLACES,
            1 if self.few else len(labels),
            bias=False,
            together=not self.few and estimator.multi_class == "max-margin",
            average=bool(estimator.average),
        )
        self.dates = np.zeros(FIRST_PLACES, np.int64)

    def name_labels(self, labels: list[Hashable]) -> None:
        """Set the list of classes, and the rate of a row of each."""
        places = {label: place for place, label in enumerate(labels)}
        if len(places) < len(labels):
            raise ParameterError("classes", "be distinct labels", labels)
        named = np.empty(len(labels), object)
        named[:] = labels
        ones, each = np.ones(len(labels)), np.arange(len(labels))
        rates = self.estimator._rates(ones, each, named, whole=False)
        self.labels, self.places, self.rates = labels, places, rates.tolist()

    def leave_out(self, n_rows: int, n_all: int) -> None:
        """Say that rows were left out."""
        warnings.warn(
            f"{n_rows} of {n_all} rows were left out: their squared length is beyond what a float "
            "can hold; scale x",
            RuntimeWarning,
            stacklevel=4,
        )


@cache
def packers(n: int) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return functions that write n doubles and n integers into a buffer: nothing is quicker."""
    return struct.Struct(f"{n}d").pack_into, struct.Struct(f"{n}i").pack_into


def bad_value(x: Row) -> Exception:
    """Say which value of a row is no number."""
    for name, value in x.items():
        try:
            struct.pack("d", value)
        except (struct.error, OverflowError, TypeError):
            if isinstance(value, int):
                return ParameterError(
                    "x", "hold numbers within floats", got=f"{len(str(value))} digits for {name!r}"
                )
            return ParameterTypeError(
                "x",
                "hold numbers",
                got=f"{value!r} for {name!r}: encode it first, for instance by "
                "river.preprocessing.OneHotEncoder",
            )
    raise AssertionError("every value is a number")


def check_finite(values: Floats, names: list[Hashable]) -> None:
    """Refuse rows (n, k) with values that are not finite."""
    finite = np.isfinite(values)
    if not finite.all():
        row, place = np.argwhere(~finite)[0]
        raise ParameterError(
            "x", "hold finite numbers", got=f"{values[row, place]} for {names[place]!r}"
        )
