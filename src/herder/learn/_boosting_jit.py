"""Compiled loops of boosted fields. They trust their arguments: callers validate."""

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit

#: Beyond this gap of two logarithms their sum is the larger one, and how finely log(1 + exp(-gap))
#: is tabulated below it: linear interpolation is off by 1e-6 at most. Only steps use the table.
TOP, N_LINES = 20.0, 4096
LINES = np.log1p(np.exp(-np.linspace(0, TOP, N_LINES + 1)))


@jit
def dimples(
    rows: NDArray[np.float64],  # (n, d)
    dimple: NDArray[np.float64],  # (n_features, 2 d): means, log precisions
    broad: float,  # log precision of the broad Gaussian
    out: NDArray[np.float64],  # (n, n_features), filled in place
) -> None:
    """Fill in the values of dimples."""
    n, d = rows.shape
    flat = np.exp(broad)
    for t in range(dimple.shape[0]):
        precisions = np.exp(dimple[t, d:])
        height = 0.5 * dimple[t, d:].sum()
        for i in range(n):
            near, far = 0.0, 0.0
            for j in range(d):
                square = (rows[i, j] - dimple[t, j]) ** 2
                near += square * precisions[j]
                far += square
            narrow = height - 0.5 * near
            wide = 0.5 * (d * broad - far * flat)
            gap = abs(narrow - wide)
            out[i, t] = -max(narrow, wide)
            if gap < 40.0:
                out[i, t] -= np.log1p(np.exp(-gap))


@jit
def dimple_slopes(
    rows: NDArray[np.float64],  # (n, d)
    dimple: NDArray[np.float64],  # (2 d,): means, log precisions
    broad: float,  # log precision of the broad Gaussian
    values: NDArray[np.float64],  # (n,), filled in place
    slopes: NDArray[np.float64],  # (n, 2 d), filled in place
) -> None:
    """Fill in the values of a dimple, and their derivatives by its parameters."""
    n, d = rows.shape
    flat = np.exp(broad)
    precisions = np.exp(dimple[d:])
    height = 0.5 * dimple[d:].sum()
    for i in range(n):
        near, far = 0.0, 0.0
        for j in range(d):
            square = (rows[i, j] - dimple[j]) ** 2
            near += square * precisions[j]
            far += square
        narrow = height - 0.5 * near
        wide = 0.5 * (d * broad - far * flat)
        share = 1 / (1 + np.exp(wide - narrow)) if wide - narrow < 700.0 else 0.0
        values[i] = -max(narrow, wide) - np.log1p(np.exp(-abs(narrow - wide)))
        for j in range(d):
            gap = rows[i, j] - dimple[j]
            slopes[i, j] = -gap * (share * precisions[j] + (1 - share) * flat)
            slopes[i, d + j] = 0.5 * share * (gap * gap * precisions[j] - 1)


@jit
def _dimple_energy(
    row: NDArray[np.float64],  # (d,)
    dimple: NDArray[np.float64],  # (n_features, 2 d): means, precisions
    heights: NDArray[np.float64],  # (n_features,): half the logs of the determinants
    coefficients: NDArray[np.float64],  # (n_features,)
    broad: float,
    tabulated: bool,
) -> float:
    """Return the energy of a row, without the mixture."""
    d = row.shape[0]
    flat = np.exp(broad)
    total = 0.0
    for t in range(dimple.shape[0]):
        near, far = 0.0, 0.0
        for j in range(d):
            square = (row[j] - dimple[t, j]) ** 2
            near += square * dimple[t, d + j]
            far += square
        narrow = heights[t] - 0.5 * near
        wide = 0.5 * (d * broad - far * flat)
        gap = abs(narrow - wide)
        value = max(narrow, wide)
        if tabulated and gap < TOP:
            place = gap * (N_LINES / TOP)
            k = int(place)
            value += LINES[k] + (place - k) * (LINES[k + 1] - LINES[k])
        elif not tabulated and gap < 40.0:
            value += np.log1p(np.exp(-gap))
        total -= coefficients[t] * value
    return total


@jit
def _log_sum(logs: NDArray[np.float64]) -> float:
    """Return the log of a sum."""
    top, total = logs.max(), 0.0
    for log in logs:
        total += np.exp(log - top)
    return top + np.log(total)


@jit
def _mixture_log(
    row: NDArray[np.float64],  # (d,)
    tops: NDArray[np.float64],  # (n_components,): log densities at the means, times the shares
    means: NDArray[np.float64],  # (n_components, d)
    roots: NDArray[np.float64],  # (n_components, d, d)
    joint: NDArray[np.float64],  # (n_components,), overwritten
) -> float:
    """Return the log density of a row in a mixture of Gaussians."""
    d = row.shape[0]
    for k in range(tops.shape[0]):
        square = 0.0
        for j in range(d):
            entry = 0.0
            for i in range(d):
                entry += (row[i] - means[k, i]) * roots[k, i, j]
            square += entry * entry
        joint[k] = tops[k] - 0.5 * square
    return _log_sum(joint)


@jit
def metropolis(
    rows: NDArray[np.float64],  # (n, d), moved in place
    pulls: NDArray[np.float64],  # (n,): energies without the mixture, filled in place
    dimple: NDArray[np.float64],  # (n_features, 2 d): means, precisions
    heights: NDArray[np.float64],  # (n_features,)
    coefficients: NDArray[np.float64],  # (n_features,)
    broad: float,
    share: float,  # of the features in the energy
    tops: NDArray[np.float64],  # (n_components,): as in _mixture_log
    means: NDArray[np.float64],
    roots: NDArray[np.float64],
    steps: NDArray[np.float64],  # (n, n_steps, d)
    levels: NDArray[np.float64],  # (n, n_steps): minus exponential variates
) -> int:
    """Move chains of the Metropolis algorithm; return the number of moves accepted."""
    n, d = rows.shape
    accepted = 0
    trial, joint = np.empty(d), np.empty(tops.shape[0])
    for i in range(n):
        pull = _dimple_energy(rows[i], dimple, heights, coefficients, broad, True)
        log = _mixture_log(rows[i], tops, means, roots, joint)
        for k in range(steps.shape[1]):
            for j in range(d):
                trial[j] = rows[i, j] + steps[i, k, j]
            there = _dimple_energy(trial, dimple, heights, coefficients, broad, True)
            log_there = _mixture_log(trial, tops, means, roots, joint)
            if levels[i, k] < log_there - log - share * (there - pull):
                rows[i, :] = trial
                pull, log = there, log_there
                accepted += 1
        pulls[i] = _dimple_energy(rows[i], dimple, heights, coefficients, broad, False)
    return accepted


@jit
def _log_cosh(field: float) -> float:
    """Return log 2 cosh."""
    size = abs(field)
    return size + np.log1p(np.exp(-2 * size))


@jit
def gibbs(
    signs: NDArray[np.float64],  # (n, d) of -1 and 1, changed in place
    pulls: NDArray[np.float64],  # (n,): energies, filled in place
    units: NDArray[np.float64],  # (d, n_features): weights
    biases: NDArray[np.float64],  # (n_features,)
    coefficients: NDArray[np.float64],  # (n_features,)
    tops: NDArray[np.float64],  # (n_components,): of the mixture, where its fields are not felt
    mixture: NDArray[np.float64],  # (n_components, d): its fields
    share: float,  # of the features in the energy
    uniforms: NDArray[np.float64],  # (n, n_sweeps, d)
) -> None:
    """Make sweeps of Gibbs sampling over units, one site after the other."""
    n, d = signs.shape
    n_features = coefficients.shape[0]
    fields, logs = np.empty(n_features), np.empty(n_features)
    after, logs_after = np.empty(n_features), np.empty(n_features)
    joint, joint_after = np.empty(tops.shape[0]), np.empty(tops.shape[0])
    for i in range(n):
        for c in range(tops.shape[0]):
            joint[c] = tops[c]
            for j in range(d):
                joint[c] += signs[i, j] * mixture[c, j]
        log = _log_sum(joint)
        for t in range(n_features):
            fields[t] = biases[t]
            for j in range(d):
                fields[t] += signs[i, j] * units[j, t]
            logs[t] = _log_cosh(fields[t])
        for k in range(uniforms.shape[1]):
            for j in range(d):
                gain = 0.0  # of a flip, in log probability
                for t in range(n_features):
                    after[t] = fields[t] - 2 * signs[i, j] * units[j, t]
                    logs_after[t] = _log_cosh(after[t])
                    gain += coefficients[t] * (logs_after[t] - logs[t])
                for c in range(tops.shape[0]):
                    joint_after[c] = joint[c] - 2 * signs[i, j] * mixture[c, j]
                log_after = _log_sum(joint_after)
                gain = share * gain + log_after - log
                if uniforms[i, k, j] * (1 + np.exp(-gain)) < 1:
                    signs[i, j] = -signs[i, j]
                    joint, joint_after = joint_after, joint
                    log = log_after
                    fields, after = after, fields
                    logs, logs_after = logs_after, logs
        total = 0.0
        for t in range(n_features):
            total -= coefficients[t] * (logs[t] - np.log(2.0))
        pulls[i] = total


@jit
def trees(
    rows: NDArray[np.float64],  # (n, d)
    columns: NDArray[np.intp],  # (n_features, n_splits)
    thresholds: NDArray[np.float64],  # (n_features, n_splits)
    leaves: NDArray[np.float64],  # (n_features, n_splits + 1)
    out: NDArray[np.float64],  # (n, n_features), filled in place
) -> None:
    """Fill in the leaf values that rows reach in full binary trees."""
    n_splits = columns.shape[1]
    for i in range(rows.shape[0]):
        for t in range(columns.shape[0]):
            place = 0
            while place < n_splits:
                right = rows[i, columns[t, place]] > thresholds[t, place]
                place = 2 * place + 1 + (1 if right else 0)
            out[i, t] = leaves[t, place - n_splits]
