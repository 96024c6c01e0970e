r"""One neuron that fires at a given rate: its word, in exact arithmetic.

The herd of one binary state with rate :math:`\pi` fires while its weight is positive,

.. math:: s_t = [w_{t-1} > 0], \qquad w_t = w_{t-1} + \pi - s_t.

Once the weight is in :math:`(\pi - 1, \pi]` it stays there, so that the number of spikes after T
steps is determined by the interval alone:

.. math:: N_T = \lceil w_0 + (T - 1) \pi \rceil, \qquad |N_T - T \pi| \le 1,

and at most 1/2 from :math:`w_0 = \pi - 1/2` ([chen2014]_, proposition 2.5 and corollary 2.6).
The word of an irrational rate is Sturmian: it has T + 1 words of every length T, the fewest that a
sequence which is not periodic in the end can have. That of the golden mean
:math:`(\sqrt 5 - 1) / 2` from :math:`w_0 = 2 \pi - 1` is the rabbit sequence. A rate p/q in
lowest terms has the period q.

The number of spikes is rounded up from a float where that is safe, and otherwise from integers:
:math:`\lfloor b \sqrt d \rfloor` is an integer square root. So rational numbers and those of the
form :math:`(a + b \sqrt d) / c` are exact, however many terms are asked for.
"""

import logging
import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import finite_number, plain_array, positive_int

__all__ = ["Quadratic", "complexity", "discrepancy", "neuron"]

#: Terms that are computed at once.
BLOCK = 2**18

#: Binary places of a rate before it is rounded to a float.
PLACES = 128

#: Integers a, b, c and d of a number (a + b sqrt(d)) / c, with a positive c.
_Parts: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Quadratic:
    """The number ``(a + b * sqrt(d)) / c``, exactly.

    Parameters
    ----------
    a, b : int
        The rational part, and the factor of the root.
    c : int
        The denominator, not 0.
    d : int
        Under the root, not negative.

    Examples
    --------
    >>> golden = Quadratic(-1, 1, 2, 5)
    >>> float(golden)
    0.6180339887498949
    >>> golden - Fraction(1, 2)
    Quadratic(a=-4, b=2, c=4, d=5)
    """

    a: int
    b: int
    c: int
    d: int

    def __post_init__(self) -> None:
        for name in ("a", "b", "c", "d"):
            value: Any = getattr(self, name)
            try:
                object.__setattr__(self, name, operator.index(value))
            except TypeError:
                raise ParameterTypeError(name, "be an integer", value) from None
        if self.c == 0:
            raise ParameterError("c", "not be 0", 0)
        if self.d < 0:
            raise ParameterError("d", "be 0 or more", self.d)

    def __float__(self) -> float:
        """Return the float next to the number."""
        a, b, c, d = _parts(self)
        return _floor(a << PLACES, b << PLACES, c, d) / 2**PLACES

    def __sub__(self, other: int | Fraction) -> "Quadratic":
        """Return the number less a rational one."""
        less = Fraction(other)
        n, m = less.numerator, less.denominator
        return Quadratic(self.a * m - n * self.c, self.b * m, self.c * m, self.d)


Real: TypeAlias = int | float | Fraction | Quadratic


def neuron(rate: Real, n: int, w0: Real | None = None) -> NDArray[np.uint8]:
    """Return the first n states of a neuron: 1 where it fires.

    Parameters
    ----------
    rate : Fraction, Quadratic, int or float
        Firing rate, from 0 to 1. Exact, but for a float: that is taken as the binary fraction that
        it is, which is not the number it stands for, so that ties and distant terms may be those
        of another rate. A message in the log says so.
    n : int
        Number of terms.
    w0 : Fraction, Quadratic, int or float, optional
        Weight before the first step, by default ``2 * rate - 1``; a float as above. With an
        irrational rate it may have the same root.

    Examples
    --------
    >>> neuron(Fraction(5, 8), 16)
    array([1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 1], dtype=uint8)
    >>> neuron(Quadratic(-1, 1, 2, 5), 13)
    array([1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0], dtype=uint8)
    """
    steps = _exact(rate, "rate")
    n = positive_int(n, "n")
    if _floor(*steps) < 0 or _ceil(*steps) > 1:
        raise ParameterError("rate", "be from 0 to 1", rate)
    a, b, c, d = steps
    start = (2 * a - c, 2 * b, c, d) if w0 is None else _exact(w0, "w0")
    a, b, e, f, c, d = _common(steps, start)
    states = np.empty(n, dtype=np.uint8)
    done = 0
    # on its way into (rate - 1, rate], rarely more than a few steps
    while done < n and not 0 <= _floor(a - e, b - f, c, d) < 1:
        fires = _ceil(e, f, c, d) > 0
        states[done] = fires
        e, f, done = e + a - fires * c, f + b, done + 1
    before = 0
    for low in range(done, n, BLOCK):
        t = np.arange(low, min(low + BLOCK, n), dtype=np.int64) - done
        counts = _counts(t, (a, b), (e, f), c, d)
        states[low : low + len(t)] = np.diff(counts, prepend=before)
        before = int(counts[-1])
    return states


def discrepancy(states: ArrayLike, rate: Real) -> float:
    """Return the largest distance of the number of spikes from that expected, over all T.

    Parameters
    ----------
    states : array-like of shape (n,)
        0 and 1, such as `neuron` returns.
    rate : Fraction, Quadratic, int or float
        Firing rate.

    Examples
    --------
    >>> discrepancy(neuron(Fraction(1, 4), 100, w0=Fraction(-1, 4)), Fraction(1, 4))
    0.5
    """
    word = _as_word(states)
    if word.max() > 1:
        raise ParameterError("states", "be 0 and 1", int(word.max()))
    expected = np.arange(1, len(word) + 1) * _nearest(_exact(rate, "rate", warn=False))
    return float(np.abs(np.cumsum(word) - expected).max())


def complexity(states: ArrayLike, max_length: int) -> NDArray[np.intp]:
    """Return the number of distinct words of each length 1, ..., ``max_length`` in a sequence.

    Parameters
    ----------
    states : array-like of int of shape (n,)
        Symbols from 0 on.
    max_length : int
        Length of the longest words.

    Examples
    --------
    >>> complexity(neuron(Quadratic(-1, 1, 2, 5), 1000), 6)
    array([2, 3, 4, 5, 6, 7])
    """
    word = _as_word(states)
    longest = positive_int(max_length, "max_length")
    if longest > len(word):
        raise ParameterError(
            "max_length", f"be at most {len(word)}, the number of states", longest
        )
    labels, counts = np.zeros(len(word), dtype=np.intp), []
    for length in range(1, longest + 1):
        n_words, labels = refine(labels[: len(word) - length + 1], word[length - 1 :])
        counts.append(n_words)
    return np.array(counts)


def refine(labels: NDArray[Any], symbols: NDArray[Any]) -> tuple[int, NDArray[np.intp]]:
    """Return how many pairs of label and symbol there are, and the label of each pair."""
    codes = labels * (int(symbols.max()) + 1) + symbols
    seen = np.zeros(int(codes.max()) + 1, dtype=np.bool_)
    seen[codes] = True
    rank = np.cumsum(seen) - 1
    return int(rank[-1]) + 1, rank[codes]


def _as_word(states: ArrayLike) -> NDArray[np.intp]:
    word = plain_array(states, "states")
    if word.ndim != 1 or not word.size or word.dtype.kind not in "biu":
        got = f"{word.dtype} of shape {word.shape}"
        raise ParameterTypeError("states", "be a row of integers", got=got)
    if word.min() < 0:
        raise ParameterError("states", "be 0 or more", int(word.min()))
    return word.astype(np.intp)


def _exact(value: Any, name: str, *, warn: bool = True) -> _Parts:
    if isinstance(value, Quadratic | Fraction):
        return _parts(value)
    number = finite_number(value, name)
    if warn and not number.is_integer():
        logging.getLogger("herder").warning(
            "%s %r is not exact: it is taken as a binary fraction; a Fraction or a Quadratic is "
            "exact",
            name,
            number,
        )
    return _parts(Fraction(number))


def _parts(value: Fraction | Quadratic) -> _Parts:
    if isinstance(value, Fraction):
        return value.numerator, 0, value.denominator, 0
    sign = 1 if value.c > 0 else -1
    return sign * value.a, sign * value.b, sign * value.c, value.d


def _common(rate: _Parts, start: _Parts) -> tuple[int, int, int, int, int, int]:
    """Return the parts of both over one denominator and one root."""
    a, b, c, d = rate
    e, f, g, h = start
    if b and f and d != h:
        raise ParameterError("w0", f"be rational or have the root of the rate, {d}", h)
    whole = math.lcm(c, g)
    k, m = whole // c, whole // g
    return a * k, b * k, e * m, f * m, whole, d if b else h


def _floor(a: int, b: int, c: int, d: int) -> int:
    """Return (a + b sqrt(d)) / c rounded down, for positive c."""
    root = math.isqrt(b * b * d)
    if b < 0:
        root = -root - (root * root < b * b * d)
    return (a + root) // c


def _ceil(a: int, b: int, c: int, d: int) -> int:
    return -_floor(-a, -b, c, d)


def _nearest(parts: _Parts) -> float:
    a, b, c, d = parts
    return _floor(a << PLACES, b << PLACES, c, d) / 2**PLACES


def _counts(
    t: NDArray[np.int64], rate: tuple[int, int], start: tuple[int, int], c: int, d: int
) -> NDArray[np.int64]:
    """Return w_0 + t rate rounded up, for steps t."""
    (a, b), (e, f) = rate, start
    if b == f == 0 and abs(e) + int(t[-1]) * a < 2**62:
        return -((-e - t * a) // c)
    sums = _nearest((e, f, c, d)) + t * _nearest((a, b, c, d))
    counts = np.ceil(sums).astype(np.int64)
    # the rate is off by 2^-54 at most, the sum by as much relative to its size: four times that
    unsafe = np.abs(sums - np.rint(sums)) <= (t + 4) * 2.0**-50
    for i in np.flatnonzero(unsafe).tolist():
        k = int(t[i])
        counts[i] = _ceil(e + k * a, f + k * b, c, d)
    return counts
