r"""Words of herding: how many itineraries of length T there are, and what they can tell.

The weights at the start decide the T states that follow. All starts with the same word form one
cell: cones, translated back and intersected, a convex polygon in the plane. Their number M(T)
grows at most as :math:`T^K` for K features ([chen2014]_, section 2.6.3), so that the entropy is

.. math:: H(T) = \log M(T) \approx K \log T,

twice the :math:`\tfrac{1}{2} K \log T` that a Bayesian learns from T independent draws.

Starts are those of the smallest box around the attractor. In the plane the cells themselves are
cut as the weights move, and counted; in any number of dimensions words are counted over many
starts, which misses cells between them. For one neuron M(T) = T + 1. A single orbit gives fewer
words, since it visits the attractor alone (`complexity`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import positive_int
from herder.core.enumerated import TIE_TOL
from herder.core.summary import Fact, Facts, Picture, Section, Summarised, Summary, Table, counted
from herder.study import _dynamics_jit as _dynamics
from herder.study import _split_jit as _jit
from herder.study.dynamics import Floats, as_system, fill_box, orbit
from herder.study.neurons import refine
from herder.study.slopes import Exponent, mean_slope

__all__ = ["Words", "count_words", "split_words"]

#: Steps before, and steps in, the orbit whose box holds the starts.
BURN_IN, N_STEPS = 10_000, 100_000

#: Longest words.
MOST_STEPS = 10_000

#: Cells smaller than this part of the box are what rounding leaves at a cut.
SLIVER = 1e-13

#: The exponent is the mean of slopes over this many parts of the longest three quarters.
PARTS = 4


@dataclass(frozen=True, eq=False)
class Words(Summarised):
    """Numbers of words.

    Parameters
    ----------
    counts : ndarray of intp of shape (max_length,)
        M(T), the number of distinct words of each length T = 1, 2, ...
    n_features : int
        K.
    box : ndarray of shape (2, n_features)
        The lowest and the highest corner of the box of starts.
    n_starts : int or None
        Number of starts; None if the cells were cut, so that no word is missed.
    """

    counts: NDArray[np.intp]
    n_features: int
    box: Floats
    n_starts: int | None

    @property
    def entropy(self) -> Floats:
        """Logarithm of each number."""
        return np.log(self.counts)

    def exponent(self) -> Exponent:
        """Return the exponent of growth over the longer words, at most K in the limit."""
        longest = len(self.counts)
        if longest < 8:
            raise ParameterError("max_length", "be at least 8 for an exponent", longest)
        at = np.unique(np.rint(np.geomspace(longest / 4, longest, PARTS + 1)).astype(np.intp))
        slopes = np.diff(self.entropy[at - 1]) / np.diff(np.log(at))
        return mean_slope(slopes, at[0], at[-1])

    def summary(self) -> Summary:
        """Return some of the numbers, and how they grow."""
        longest, k = len(self.counts), self.n_features
        means = "every cell was cut" if self.n_starts is None else f"over {self.n_starts:,} starts"
        facts = [Fact(f"words of length {longest}", int(self.counts[-1]), "", means)]
        if longest >= 8:
            facts.append(Fact("exponent", str(self.exponent()), "", f"at most {k} in the limit"))
        shown = [t for t in (1, 2, 5, 10, 20, 40, 100, 200) if t <= longest]
        rows = [(t, int(self.counts[t - 1]), self.entropy[t - 1]) for t in shown]
        rows = [(*row, k * np.log(row[0]), k / 2 * np.log(row[0])) for row in rows]
        header = ["T", "M(T)", "log M(T)", "K log T", "K/2 log T"]
        table = Table(header, rows, ["", "", ".2f", ".2f", ".2f"])
        picture = Picture("words", self, "Number of words by length, on logarithmic axes.")
        title = f"Words of herding with {counted(k, 'feature')}"
        return Summary(title, [Facts(facts), table], [Section("Words", [picture])])


def count_words(
    features: ArrayLike, moments: ArrayLike, max_length: int, *, n_starts: int = 2**20
) -> Words:
    """Count words over many starts.

    Parameters
    ----------
    features : array-like of shape (n_states, n_features)
        One row per state.
    moments : array-like of shape (n_features,)
        A mean of the rows.
    max_length : int
        Length of the longest words.
    n_starts : int, default 2**20
        Starts that fill the box evenly. Words whose cells are between them are missed: the more of
        them, the longer the words and the more features there are.

    Examples
    --------
    >>> count_words([[0], [1]], [0.618], 6).counts
    array([2, 3, 4, 5, 6, 7])
    """
    table, target = as_system(features, moments)
    if len(table) > 2**16:
        raise ParameterError("features", "have at most 65,536 states", len(table))
    longest = _as_length(max_length)
    wanted = positive_int(n_starts, "n_starts")
    box = _box(table, target)
    starts = fill_box(box[0], box[1], wanted)
    states = np.empty((1, wanted), dtype=np.uint16)
    labels, counts = np.zeros(wanted, dtype=np.intp), []
    for _ in range(longest):
        _dynamics.itineraries(table, target, TIE_TOL, starts, states)
        n_words, labels = refine(labels, states[0])
        counts.append(n_words)
    return Words(np.array(counts), len(target), box, wanted)


def split_words(features: ArrayLike, moments: ArrayLike, max_length: int) -> Words:
    """Count the words of a system of two features exactly, by cutting polygons.

    Parameters
    ----------
    features : array-like of shape (n_states, 2)
        One row per state.
    moments : array-like of shape (2,)
        A mean of the rows.
    max_length : int
        Length of the longest words.

    Examples
    --------
    >>> from herder.study import six_states
    >>> split_words(*six_states(), 4).counts
    array([  6,  32,  53, 108])
    """
    table, target = as_system(features, moments)
    if len(target) != 2:
        raise ParameterError("features", "have 2 columns", len(target))
    longest = _as_length(max_length)
    _, first = np.unique(table, axis=0, return_index=True)
    table = table[np.sort(first)]  # of equal rows the lowest is emitted
    box = _box(table, target)
    (left, low), (right, high) = box
    corners = np.array([[left, low], [right, low], [right, high], [left, high]])
    ends, least = np.array([4], dtype=np.intp), SLIVER * (right - left) * (high - low)
    counts: list[int] = []
    for _ in range(longest):
        corners, ends = _split(table, target, corners, ends, least)
        counts.append(len(ends))
    return Words(np.array(counts, dtype=np.intp), 2, box, None)


def _as_length(max_length: int) -> int:
    longest = positive_int(max_length, "max_length")
    if longest > MOST_STEPS:
        raise ParameterError("max_length", f"be at most {MOST_STEPS:,}", longest)
    return longest


def _box(table: Floats, target: Floats) -> Floats:
    weights = np.zeros(len(target))
    orbit(table, target, 0.0, weights, BURN_IN)
    points = orbit(table, target, 0.0, weights, N_STEPS)
    return np.stack([points.min(axis=0), points.max(axis=0)])


def _split(
    table: Floats, target: Floats, corners: Floats, ends: NDArray[np.intp], least: float
) -> tuple[Floats, NDArray[np.intp]]:
    """Cut polygons at the borders of the cones, and move each piece."""
    room = 2
    while True:  # room for the pieces: nobody knows before how many there will be
        pieces = np.empty((room * len(corners), 2))
        stops = np.empty(room * len(ends), dtype=np.intp)
        n = _jit.split(table, target, corners, ends, least, pieces, stops)
        if n >= 0:
            return pieces[: stops[n - 1]].copy(), stops[:n].copy()
        room *= 2
