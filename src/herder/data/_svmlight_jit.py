"""The compiled reader of svmlight lines. It trusts its arguments: callers allocate."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit

#: What is wrong with a line.
NO_LABEL, NO_PAIR, BAD_INDEX, BIG_INDEX, BAD_VALUE, SAME_INDEX = 1, 2, 3, 4, 5, 6

#: Powers of ten that are exact in double precision.
POWERS: NDArray[np.float64] = np.array([10.0**k for k in range(23)])

#: Digits that always fit 64 bits without a sign.
MAX_DIGITS = 19

#: 2^27 + 1 cuts a double into halves whose products are exact.
SPLITTER = 134217729.0

#: Far above the error of arithmetic in twice the precision, relative to its second part.
SLACK = 1e-12

# Bytes of: new line, space, # + - . 0 9 : E e
LINE, SPACE, HASH, PLUS, MINUS, DOT, ZERO, NINE = 10, 32, 35, 43, 45, 46, 48, 57
COLON, LARGE_E, SMALL_E = 58, 69, 101


class Lines(NamedTuple):
    """Where the rows of a block of lines go.

    Parameters
    ----------
    indptr : ndarray of shape (rows + 1,)
        Where each row begins in ``indices``; room for as many rows as there are lines.
    indices, values : ndarray of shape (pairs,)
        Room for as many as there are colons.
    labels : ndarray of shape (rows, 2)
        Begin and end of each label in the text.
    numbers : ndarray of shape (rows,)
        The line of each row, counted from 0.
    broken : ndarray of shape (rows, 4)
        Line, what is wrong, and begin and end of the word, of lines that gave no row.
    hard : ndarray of shape (pairs, 3)
        Place, begin and end of values that Python's float must read.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    values: NDArray[np.float64]
    labels: NDArray[np.int64]
    numbers: NDArray[np.int64]
    broken: NDArray[np.int64]
    hard: NDArray[np.int64]


@jit
def scaled(digits: np.uint64, shift: int, powers: NDArray[np.float64]) -> float:
    """Round ``digits`` * 10^``shift`` to the nearest double, or give NaN when that is unsure."""
    high = float(digits)
    power = powers[abs(shift)]
    first = high * power if shift >= 0 else high / power
    if digits <= np.uint64(9007199254740992):  # 2^53: both are exact, so there is one rounding
        return first
    # what float(digits) left over, in halves: 2^64 itself does not fit 64 bits
    top = digits >> np.uint64(32)
    rest = (float(top) * 4294967296.0 - high) + float(digits - (top << np.uint64(32)))
    factor = high if shift >= 0 else first
    product = factor * power
    big = SPLITTER * factor
    a = big - (big - factor)
    big = SPLITTER * power
    b = big - (big - power)
    error = ((a * b - product) + a * (power - b) + (factor - a) * b) + (factor - a) * (power - b)
    if shift >= 0:
        second = error + rest * power
        slack = SLACK * (abs(error) + abs(rest * power))
    else:
        remainder = (high - product) - error
        second = (remainder + rest) / power
        slack = SLACK * (abs(remainder) + abs(rest)) / power
    if first + (second - slack) != first + (second + slack):
        return np.nan
    return first + second


@jit
def read_value(
    text: NDArray[np.uint8], begin: int, end: int, powers: NDArray[np.float64]
) -> tuple[float, bool]:
    """Read a number; NaN when Python's float must, and whether it is a number at all."""
    k = begin
    negative = k < end and text[k] == MINUS
    if k < end and (text[k] == PLUS or text[k] == MINUS):
        k += 1
    digits = np.uint64(0)
    n_digits, n_seen, shift = 0, 0, 0
    point = False
    while k < end:
        c = int(text[k])
        if c == DOT and not point:
            point = True
        elif ZERO <= c <= NINE:
            n_seen += 1
            if n_digits > 0 or c > ZERO:
                n_digits += 1
                if n_digits <= MAX_DIGITS:
                    digits = digits * np.uint64(10) + np.uint64(c - ZERO)
            if point:
                shift -= 1
        else:
            break
        k += 1
    if n_seen == 0:
        return 0.0, False
    if k < end and (text[k] == SMALL_E or text[k] == LARGE_E):
        k += 1
        down = k < end and text[k] == MINUS
        if k < end and (text[k] == PLUS or text[k] == MINUS):
            k += 1
        if k == end:
            return 0.0, False
        exponent = 0
        while k < end and ZERO <= text[k] <= NINE:
            if exponent < 100_000:
                exponent = 10 * exponent + int(text[k]) - ZERO
            k += 1
        shift += -exponent if down else exponent
    if k < end:
        return 0.0, False
    value = np.nan
    if n_digits == 0:
        value = 0.0
    elif n_digits <= MAX_DIGITS and abs(shift) < len(powers):
        value = scaled(digits, shift, powers)
    return -value if negative else value, True


@jit
def is_group(text: NDArray[np.uint8], begin: int, end: int) -> bool:
    """Whether the word is qid, which tells the group in a ranking."""
    return (
        end - begin == 3 and text[begin] == 113 and text[begin + 1] == 105 and text[end - 1] == 100
    )


@jit
def read_index(text: NDArray[np.uint8], begin: int, end: int, limit: int) -> tuple[int, int]:
    """Read a whole number up to ``limit``, and what is wrong with it."""
    if begin == end:
        return 0, BAD_INDEX
    index = 0
    for k in range(begin, end):
        c = int(text[k])
        if not ZERO <= c <= NINE:
            return 0, BAD_INDEX
        if index <= limit:
            index = 10 * index + c - ZERO
    return index, BIG_INDEX if index > limit else 0


@jit
def read_lines(
    text: NDArray[np.uint8],  # whole lines
    need_label: bool,
    limit: int,  # the largest index that will do
    powers: NDArray[np.float64],
    out: Lines,
    counts: NDArray[np.int64],  # (5,), filled: rows, broken, hard, lines, rows out of order
) -> None:
    """Read rows until the text ends; blank lines and comments give none."""
    n_rows, n_broken, n_hard, n_lines, n_unsorted = 0, 0, 0, 0, 0
    at, size = 0, text.shape[0]
    out.indptr[0] = 0
    while at < size:
        filled, hard_before = out.indptr[n_rows], n_hard
        n_words, wrong, word, word_end = 0, 0, at, at
        previous, ordered = -1, True
        out.labels[n_rows, 0] = out.labels[n_rows, 1] = at
        while wrong == 0 and at < size:
            c = text[at]
            if c in (LINE, HASH):
                break
            if c <= SPACE:
                at += 1
                continue
            word, colon = at, -1
            while at < size and text[at] > SPACE and text[at] != HASH:
                if text[at] == COLON and colon < 0:
                    colon = at
                at += 1
            word_end = at
            n_words += 1
            if colon < 0:
                if n_words > 1:
                    wrong = NO_PAIR
                out.labels[n_rows, 0], out.labels[n_rows, 1] = word, word_end
                continue
            if n_words == 1 and need_label:
                wrong = NO_LABEL
                continue
            if is_group(text, word, colon):
                continue
            index, wrong = read_index(text, word, colon, limit)
            if wrong != 0:
                continue
            value, fine = read_value(text, colon + 1, word_end, powers)
            if not fine:
                wrong = BAD_VALUE
            elif index == previous:
                wrong = SAME_INDEX
            else:
                if value != value:
                    out.hard[n_hard, 0] = filled
                    out.hard[n_hard, 1], out.hard[n_hard, 2] = colon + 1, word_end
                    n_hard += 1
                ordered = ordered and index > previous
                previous = index
                out.indices[filled], out.values[filled] = index, value
                filled += 1
        while at < size and text[at] != LINE:  # a comment, or the rest of a broken line
            at += 1
        at += 1
        if wrong != 0:
            out.broken[n_broken, 0], out.broken[n_broken, 1] = n_lines, wrong
            out.broken[n_broken, 2], out.broken[n_broken, 3] = word, word_end
            n_broken += 1
            n_hard = hard_before
        elif n_words > 0:
            out.numbers[n_rows] = n_lines
            n_rows += 1
            out.indptr[n_rows] = filled
            n_unsorted += not ordered
        n_lines += 1
    counts[0], counts[1], counts[2] = n_rows, n_broken, n_hard
    counts[3], counts[4] = n_lines, n_unsorted
