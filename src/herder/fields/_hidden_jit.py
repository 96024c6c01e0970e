"""Compiled loop of herding with hidden sites. It trusts its arguments: callers validate.

States are -1 and 1. The sites of a side are followed by a constant, so that one table holds
couplings and biases, and one product makes all fields. Hidden sites come first in all tables,
since loops run along the visible sites or along the rows. Rows carry whole numbers of votes;
weights are in units of 1 / scale, where scale is the votes of a step times the constant of a row.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit


class Rows(NamedTuple):
    """What drives the herd; n visible sites, d rows."""

    values: NDArray[np.int8]  # (d, n + 1), the last column the constant
    columns: NDArray[np.int8]  # (n + 1, d), the same the other way round
    votes: NDArray[np.int64]  # (d,)
    gram: NDArray[np.int16]  # (d, d), values @ values.T; (0, 0): fields are made by products


class Herd(NamedTuple):
    """What moves; m hidden sites. Numbers are int32 while they fit, then int64."""

    weights: NDArray[np.int32]  # (m + 1, n + 1)
    hidden: NDArray[np.int8]  # (m + 1, d), hidden states of the rows, the last of them 1
    fields: NDArray[np.int32]  # (m + 1, d), weights @ values.T
    pulls: NDArray[np.int32]  # (m + 1, d), votes * hidden @ gram; without a Gram matrix (m + 1, 0)
    sums: NDArray[np.int32]  # (m + 1, n + 1), votes * hidden @ values, of the rows of a step
    totals: NDArray[np.int64]  # (m + 1, n + 1), sums added up over the steps
    times: NDArray[np.int64]  # (m + 1, d), changes of the hidden states times their steps
    visible: NDArray[np.int8]  # (n + 1,), the state, then 1
    answer: NDArray[np.int8]  # (m + 1,), its hidden states, then 1


@jit
def fill_fields(rows: Rows, h: Herd, first: int, last: int) -> None:
    """Make the fields of some rows by products."""
    for k in range(h.weights.shape[0]):
        fields = h.fields[k, first:last]
        fields[:] = 0
        for j in range(h.weights.shape[1]):
            weight, column = h.weights[k, j], rows.columns[j, first:last]
            for i in range(fields.shape[0]):
                fields[i] += weight * column[i]


@jit
def add_rows(
    table: NDArray[np.int16],
    which: NDArray[np.int64],
    n: int,  # how many of them
    votes: NDArray[np.int64],
    chunk: int,  # rows of equal votes whose sum is an int16
    factor: int,
    part: NDArray[np.int16],  # to be overwritten
    out: NDArray[np.int32],
) -> None:
    """Add ``factor`` times the votes times some rows of a table."""
    for start in range(0, n, chunk):
        stop = min(start + chunk, n)
        part[:] = 0
        q = start
        while q + 4 <= stop:
            a, b = table[which[q]], table[which[q + 1]]
            c, d = table[which[q + 2]], table[which[q + 3]]
            for j in range(part.shape[0]):
                part[j] += a[j] + b[j] + c[j] + d[j]
            q += 4
        while q < stop:
            a = table[which[q]]
            for j in range(part.shape[0]):
                part[j] += a[j]
            q += 1
        step = factor * votes[which[start]]
        for j in range(part.shape[0]):
            out[j] += step * part[j]


@jit
def complete(rows: Rows, h: Herd, first: int, last: int, t: int, chunk: int) -> None:
    """Set hidden sites of rows to their best states; sums and pulls follow the changes.

    When these are not all the rows, and at the first step, sums are made anew.
    """
    constant = h.hidden.shape[0] - 1
    anew = t == 0 or last - first < h.hidden.shape[1]
    if anew:
        h.sums[:] = 0
    flags = np.zeros(-(-(last - first) // 8) * 8, np.uint8)
    words = flags.view(np.uint64)  # most are 0: few states change
    up, down = np.empty(flags.shape[0], np.int64), np.empty(flags.shape[0], np.int64)
    part, pulled = np.empty(h.sums.shape[1], np.int16), np.empty(h.pulls.shape[1], np.int16)
    for k in range(constant + 1):
        fields, hidden = h.fields[k, first:last], h.hidden[k, first:last]
        if k < constant:
            for i in range(fields.shape[0]):
                flags[i] = (fields[i] > 0) != (hidden[i] > 0)
        else:
            flags[:] = 0
        n_up = n_down = 0
        for word in range(words.shape[0]):
            if words[word] != 0:
                for place in range(8 * word, 8 * word + 8):
                    if flags[place]:
                        hidden[place] = -hidden[place]
                        h.times[k, first + place] += 2 * hidden[place] * t
                        up[n_up], down[n_down] = first + place, first + place
                        n_up += hidden[place] > 0
                        n_down += hidden[place] < 0
        if anew:
            n_up = n_down = 0
            for i in range(fields.shape[0]):
                up[n_up], down[n_down] = first + i, first + i
                n_up += hidden[i] > 0
                n_down += hidden[i] < 0
        if n_up + n_down == 0:
            continue
        factor = 1 if anew else 2
        for which, n, sign in ((up, n_up, factor), (down, n_down, -factor)):
            add_rows(rows.values, which, n, rows.votes, chunk, sign, part, h.sums[k])
            if h.pulls.shape[1]:
                add_rows(rows.gram, which, n, rows.votes, chunk, sign, pulled, h.pulls[k])


@jit
def climb(h: Herd, visible_fields: NDArray[np.int64], visible_first: bool) -> None:
    """Maximise over hidden and visible sites in turn until no site changes; ties stay."""
    m, n = h.weights.shape[0] - 1, h.weights.shape[1] - 1
    hidden_fields = np.empty(m, np.int64)
    visible_fields[:] = h.weights[m]
    for k in range(m):
        weights = h.weights[k]
        field = 0
        for j in range(n + 1):
            field += weights[j] * h.visible[j]
        hidden_fields[k] = field
        if field != 0 and not visible_first:
            h.answer[k] = 1 if field > 0 else -1
        answer = h.answer[k]
        for j in range(n + 1):
            visible_fields[j] += answer * weights[j]
    changed = True
    while changed:
        changed = False
        for j in range(n):
            if visible_fields[j] * h.visible[j] < 0:
                changed = True
                h.visible[j] = -h.visible[j]
                change = 2 * h.visible[j]
                for k in range(m):
                    hidden_fields[k] += change * h.weights[k, j]
        if not (changed or visible_first):
            return
        changed = visible_first = False
        for k in range(m):
            if hidden_fields[k] * h.answer[k] < 0:
                changed = True
                h.answer[k] = -h.answer[k]
                change, weights = 2 * h.answer[k], h.weights[k]
                for j in range(n + 1):
                    visible_fields[j] += change * weights[j]


@jit
def gap(h: Herd, scale: int, visible_fields: NDArray[np.int64]) -> int:
    """Return the inner product of weights and residual: at most 0 under the PCT inequality."""
    total = 0
    for k in range(h.weights.shape[0]):
        weights, sums = h.weights[k], h.sums[k]
        for j in range(weights.shape[0]):
            total += np.int64(weights[j]) * np.int64(sums[j])
    for j in range(visible_fields.shape[0]):
        total -= scale * h.visible[j] * visible_fields[j]
    return total


@jit
def start_at_best(rows: Rows, h: Herd, first: int, last: int) -> None:
    """Make the state the first row of the highest score, with its own hidden states.

    Entries of a prototype may lie between the states: they are rounded. The search then begins
    with the visible sites, so that it ends above the score of the prototype.
    """
    scores = np.zeros(last - first, np.int64)
    for k in range(h.fields.shape[0]):
        for i in range(first, last):
            scores[i - first] += h.fields[k, i] * h.hidden[k, i]
    best = first + np.argmax(scores)
    for j in range(h.visible.shape[0]):
        h.visible[j] = 1 if rows.values[best, j] > 0 else -1
    h.answer[:] = h.hidden[:, best]


@jit
def move(rows: Rows, h: Herd, scale: int) -> int:
    """Add the residual to the weights, and to the fields by the Gram matrix.

    Returns the largest absolute value of a weight.
    """
    largest = 0
    for k in range(h.weights.shape[0]):
        weights, sums, totals = h.weights[k], h.sums[k], h.totals[k]
        pull = scale * h.answer[k]
        for j in range(weights.shape[0]):
            totals[j] += sums[j]
            weights[j] += sums[j] - pull * h.visible[j]
            largest = max(largest, abs(weights[j]))
    overlaps = np.empty(h.pulls.shape[1], h.fields.dtype)
    for i in range(overlaps.shape[0]):
        row = rows.values[i]
        overlap = 0
        for j in range(row.shape[0]):
            overlap += row[j] * h.visible[j]
        overlaps[i] = overlap
    for k in range(h.fields.shape[0]):
        fields, pulls = h.fields[k], h.pulls[k]
        pull = scale * h.answer[k]
        for i in range(overlaps.shape[0]):
            fields[i] += pulls[i] - pull * overlaps[i]
    return largest


@jit
def run(
    rows: Rows,
    h: Herd,
    t: int,  # steps done before
    size: int,  # rows of a step
    scale: int,
    from_rows: bool,  # whether each search starts at a row
    chunk: int,  # rows of equal votes whose sum is an int16
    limit: int,  # weights beyond it: stop, the numbers are too small
    states: NDArray[np.int8],  # (n_steps, n), filled
    answers: NDArray[np.int8],  # (n_steps, m), filled
    fields: NDArray[np.int64],  # (n_steps or 0, n), filled: fields of the visible states
    counts: NDArray[np.int64],  # (2,): searches that began again at a row, steps that fell short
) -> int:
    """Take the steps, and return how many; state, weights and totals move on in place."""
    n_rows, n, m = rows.values.shape[0], states.shape[1], answers.shape[1]
    n_batches = -(-n_rows // size) if n_rows else 1
    visible_fields = np.empty(n + 1, np.int64)
    for done in range(states.shape[0]):
        first = min((t + done) % n_batches * size, n_rows - size)
        if n_rows:
            if rows.gram.shape[0] == 0 or t + done == 0:
                fill_fields(rows, h, first, first + size)
            complete(rows, h, first, first + size, t + done, chunk)
        if from_rows:
            start_at_best(rows, h, first, first + size)
        climb(h, visible_fields, from_rows)
        if gap(h, scale, visible_fields) > 0:
            if n_rows:
                counts[0] += 1
                start_at_best(rows, h, first, first + size)
                climb(h, visible_fields, True)
            counts[1] += gap(h, scale, visible_fields) > 0
        states[done] = h.visible[:n]
        answers[done] = h.answer[:m]
        if fields.shape[0]:
            fields[done] = visible_fields[:n]
        if move(rows, h, scale) > limit:
            return done + 1
    return states.shape[0]
