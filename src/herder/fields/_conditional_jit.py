"""Compiled loops of conditional herding. They trust their arguments.

Literals would turn single precision into double: the numbers of a run come in one array of the
dtype of the weights, see `Herd`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit_relaxed

#: Batches of fewer rows are multiplied here, larger ones by BLAS.
FEW_ROWS = 20


class Rows(NamedTuple):
    """Inputs and labels; dense or CSR, one of the two is empty."""

    dense: NDArray[np.floating]  # (n, d)
    data: NDArray[np.floating]  # (n_entries,)
    indices: NDArray[np.integer]
    starts: NDArray[np.integer]  # (n + 1,)
    labels: NDArray[np.intp]  # (n,)


class Herd(NamedTuple):
    """The weights, and room for what is computed from them. Without hidden units H is m."""

    inputs: NDArray[np.floating]  # (d, H), W
    units: NDArray[np.floating]  # (m, H), B
    biases: NDArray[np.floating]  # (H,), theta; none without hidden units
    offsets: NDArray[np.floating]  # (m,), alpha; none without bias
    codes: NDArray[np.floating]  # (K, m)
    classes: NDArray[np.floating]  # (K, H), codes @ B + theta
    priors: NDArray[np.floating]  # (K,), codes @ alpha
    rates: NDArray[np.floating]  # (4,), of W, B, theta, alpha
    states: NDArray[np.floating]  # (5,), 0, the lower and the upper state, their middle, half gap
    fields: NDArray[np.floating]  # (size, H), x W
    changes: NDArray[np.floating]  # (size, H), z' - z* of mistakes
    asked: NDArray[np.floating]  # (K, H), z' of the labels minus z* of the rivals
    moved: NDArray[np.floating]  # (K,), mistakes of each label minus those of each rival
    wrong: NDArray[np.intp]  # (size,), rows that are mistakes


@jit_relaxed
def refresh(herd: Herd) -> None:
    """Compute what each class adds to the fields and to the score."""
    zero = herd.states[0]
    for k in range(herd.codes.shape[0]):
        herd.priors[k] = zero
        for m in range(herd.offsets.shape[0]):
            herd.priors[k] += herd.codes[k, m] * herd.offsets[m]
        if herd.biases.shape[0] == 0:
            continue
        row = herd.classes[k]
        for j in range(row.shape[0]):
            row[j] = herd.biases[j]
        for m in range(herd.units.shape[0]):
            code, unit = herd.codes[k, m], herd.units[m]
            for j in range(row.shape[0]):
                row[j] += code * unit[j]


@jit_relaxed
def score(
    field: NDArray[np.floating],  # (H,), x W
    own: NDArray[np.floating],  # (H,), what a class adds; its code if there is nothing hidden
    states: NDArray[np.floating],  # see Herd
    n_hidden: int,
) -> float:
    """Return the largest score of a row and a class over the hidden units, but for its prior."""
    total = plain = states[0]
    if n_hidden == 0:
        for m in range(field.shape[0]):
            total += own[m] * field[m]
        return total
    for j in range(field.shape[0]):
        total += abs(field[j] + own[j])
    if states[3] == states[0]:
        return states[4] * total
    for j in range(field.shape[0]):
        plain += field[j] + own[j]
    return states[4] * total + states[3] * plain


@jit_relaxed
def _multiply(
    inputs: NDArray[np.floating],  # (size, d)
    weights: NDArray[np.floating],  # (d, H)
    fields: NDArray[np.floating],  # (size, H), filled
) -> None:
    """Fill the product of few rows: BLAS would copy all weights first."""
    n_rows, n_inputs = inputs.shape
    n_columns, whole = weights.shape[1], inputs.shape[1] - inputs.shape[1] % 4
    fields[:] = inputs.dtype.type(0)
    for i in range(0, n_rows - 1, 2):
        x, y, f, g = inputs[i], inputs[i + 1], fields[i], fields[i + 1]
        for a in range(0, whole, 4):
            x0, x1, x2, x3 = x[a], x[a + 1], x[a + 2], x[a + 3]
            y0, y1, y2, y3 = y[a], y[a + 1], y[a + 2], y[a + 3]
            w0, w1, w2, w3 = weights[a], weights[a + 1], weights[a + 2], weights[a + 3]
            for j in range(n_columns):
                f[j] += x0 * w0[j] + x1 * w1[j] + x2 * w2[j] + x3 * w3[j]
                g[j] += y0 * w0[j] + y1 * w1[j] + y2 * w2[j] + y3 * w3[j]
        for a in range(whole, n_inputs):
            x0, y0, w0 = x[a], y[a], weights[a]
            for j in range(n_columns):
                f[j] += x0 * w0[j]
                g[j] += y0 * w0[j]
    for i in range(n_rows - n_rows % 2, n_rows):
        x, f = inputs[i], fields[i]
        for a in range(n_inputs):
            x0, w0 = x[a], weights[a]
            for j in range(n_columns):
                f[j] += x0 * w0[j]


@jit_relaxed
def _project(rows: Rows, first: int, herd: Herd, size: int) -> None:
    """Fill the fields of a batch."""
    fields = herd.fields
    if rows.dense.shape[0] > 0:
        part = rows.dense[first : first + size]
        if size < FEW_ROWS:
            _multiply(part, herd.inputs, fields)
        else:
            np.dot(part, herd.inputs, fields)
        return
    for i in range(size):
        field = fields[i]
        for j in range(field.shape[0]):
            field[j] = herd.states[0]
        for p in range(rows.starts[first + i], rows.starts[first + i + 1]):
            value, own = rows.data[p], herd.inputs[rows.indices[p]]
            for j in range(field.shape[0]):
                field[j] += value * own[j]


@jit_relaxed
def _compare(labels: NDArray[np.intp], herd: Herd, tipi: NDArray[np.floating]) -> int:
    """Find the mistakes of a batch and what they ask for; add up the Tipi function."""
    zero, low, high = herd.states[0], herd.states[1], herd.states[2]
    n_wrong, n_hidden, states = 0, herd.biases.shape[0], herd.states
    classes, priors = herd.classes if n_hidden > 0 else herd.codes, herd.priors
    for k in range(herd.codes.shape[0]):
        herd.moved[k] = zero
        for j in range(n_hidden):
            herd.asked[k, j] = zero
    for i in range(labels.shape[0]):
        field, label = herd.fields[i], labels[i]
        rival, best = -1, zero
        for k in range(classes.shape[0]):
            if k != label:
                found = score(field, classes[k], states, n_hidden) + priors[k]
                if rival < 0 or found > best:
                    rival, best = k, found
        own = score(field, classes[label], states, n_hidden) + priors[label]
        if own > best:
            continue
        tipi[0] += own - best
        herd.wrong[n_wrong] = i
        change = herd.changes[n_wrong]
        n_wrong += 1
        herd.moved[label] += herd.states.dtype.type(1)
        herd.moved[rival] -= herd.states.dtype.type(1)
        if n_hidden == 0:
            for m in range(change.shape[0]):
                change[m] = herd.codes[label, m] - herd.codes[rival, m]
            continue
        true, other = classes[label], classes[rival]
        given, taken = herd.asked[label], herd.asked[rival]
        for j in range(n_hidden):
            plus = high if field[j] + true[j] > zero else low
            minus = high if field[j] + other[j] > zero else low
            change[j] = plus - minus
            given[j] += plus
            taken[j] -= minus
    return n_wrong


@jit_relaxed
def _move(rows: Rows, first: int, herd: Herd, n_wrong: int, size: int) -> None:
    """Take a step for the mistakes of a batch; biases of hidden units apart."""
    scale = herd.states.dtype.type(size)
    rate, n_columns = herd.rates[0] / scale, herd.inputs.shape[1]
    if rows.dense.shape[0] > 0:
        for a in range(herd.inputs.shape[0]):
            weights = herd.inputs[a]
            for w in range(n_wrong):
                value, change = rate * rows.dense[first + herd.wrong[w], a], herd.changes[w]
                if value != 0:
                    for j in range(n_columns):
                        weights[j] += value * change[j]
    else:
        for w in range(n_wrong):
            i, change = first + herd.wrong[w], herd.changes[w]
            for p in range(rows.starts[i], rows.starts[i + 1]):
                value, weights = rate * rows.data[p], herd.inputs[rows.indices[p]]
                for j in range(n_columns):
                    weights[j] += value * change[j]
    for m in range(herd.codes.shape[1]):
        for k in range(herd.codes.shape[0]):
            if herd.offsets.shape[0] > 0:
                herd.offsets[m] += herd.rates[3] / scale * herd.codes[k, m] * herd.moved[k]
            factor, asked = herd.rates[1] / scale * herd.codes[k, m], herd.asked[k]
            for j in range(herd.biases.shape[0]):
                herd.units[m, j] += factor * asked[j]


@jit_relaxed
def _shift(
    labels: NDArray[np.intp], herd: Herd, n_wrong: int, share: float, tipi: NDArray[np.floating]
) -> None:
    """Move the biases of hidden units, by the entropy trick as well if its share is positive."""
    zero, low, high, middle = herd.states[0], herd.states[1], herd.states[2], herd.states[3]
    rate = herd.rates[2] / herd.states.dtype.type(labels.shape[0])
    part = herd.states.dtype.type(share)
    for j in range(herd.biases.shape[0]):
        total = zero
        for w in range(n_wrong):
            total += herd.changes[w, j]
        if share > 0:
            pull = zero
            for i in range(labels.shape[0]):
                positive = herd.fields[i, j] + herd.classes[labels[i], j] > zero
                pull += middle - (high if positive else low)
            total += part * pull
            tipi[0] += part * pull * herd.biases[j]
        herd.biases[j] += rate * total


@jit_relaxed
def run(
    rows: Rows,
    herd: Herd,
    counts: NDArray[np.int64],  # (4,) steps; those without a change; mistakes; PCT violations
    place: int,  # the first batch
    n_steps: int,
    size: int,
    halving: int,
    last_halving: int,
) -> int:
    """Take steps until there was no change in a pass; return the number of steps."""
    n_rows = rows.labels.shape[0]
    n_batches = (n_rows + size - 1) // size
    tipi = np.zeros(1, herd.states.dtype)
    refresh(herd)
    for step in range(n_steps):
        first = min((place + step) % n_batches * size, n_rows - size)
        labels = rows.labels[first : first + size]
        _project(rows, first, herd, size)
        tipi[0] = herd.states[0]
        n_wrong = _compare(labels, herd, tipi)
        share = 0.0
        if halving > 0 and herd.biases.shape[0] > 0 and counts[0] // halving < last_halving:
            share = 0.5 ** (counts[0] // halving)
        if n_wrong > 0 or share > 0:
            _shift(labels, herd, n_wrong, share, tipi)
            _move(rows, first, herd, n_wrong, size)
            refresh(herd)
        counts[0] += 1
        counts[1] = 0 if n_wrong > 0 or share > 0 else counts[1] + 1
        counts[2] += n_wrong
        counts[3] += tipi[0] > 0
        if counts[1] >= n_batches:
            return step + 1
    return n_steps


@jit_relaxed
def classify(
    fields: NDArray[np.floating],  # (n, H), x W
    herd: Herd,
    labels: NDArray[np.intp],  # (n,), filled
) -> None:
    """Fill the class of the largest score of each row, the lowest one of equals."""
    refresh(herd)
    n_hidden, states, priors = herd.biases.shape[0], herd.states, herd.priors
    classes = herd.classes if n_hidden > 0 else herd.codes
    for i in range(fields.shape[0]):
        best, top = 0, score(fields[i], classes[0], states, n_hidden) + priors[0]
        for k in range(1, classes.shape[0]):
            found = score(fields[i], classes[k], states, n_hidden) + priors[k]
            if found > top:
                best, top = k, found
        labels[i] = best
