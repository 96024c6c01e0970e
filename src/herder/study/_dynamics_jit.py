"""Compiled maps of the weights over a table of states. They trust their arguments."""

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit


@jit
def herd(
    table: NDArray[np.float64],  # (n_states, n_features), C-contiguous
    target: NDArray[np.float64],  # (n_features,)
    tie_tol: float,
    weights: NDArray[np.float64],  # (n_features,), updated in place
    points: NDArray[np.float64],  # (n_steps, n_features), filled in place
) -> None:
    """Fill ``points`` with the weights after each step of herding."""
    n_states, n_features = table.shape
    scores = np.empty(n_states)
    for t in range(points.shape[0]):
        top, largest = -np.inf, 0.0
        for i in range(n_states):
            score = 0.0
            for k in range(n_features):
                score += table[i, k] * weights[k]
            scores[i] = score
            top = max(top, score)
            largest = max(largest, abs(score))
        least = top - tie_tol * largest
        best = 0
        while scores[best] < least:
            best += 1
        for k in range(n_features):
            weights[k] += target[k] - table[best, k]
            points[t, k] = weights[k]


@jit
def itineraries(
    table: NDArray[np.float64],  # (n_states, n_features), C-contiguous
    target: NDArray[np.float64],  # (n_features,)
    tie_tol: float,
    starts: NDArray[np.float64],  # (n_starts, n_features), updated in place
    states: NDArray[np.integer],  # (n_steps, n_starts), filled in place
) -> None:
    """Fill ``states`` with the states that each start emits."""
    n_states, n_features = table.shape
    scores = np.empty(n_states)
    for n in range(starts.shape[0]):
        for t in range(states.shape[0]):
            top, largest = -np.inf, 0.0
            for i in range(n_states):
                score = 0.0
                for k in range(n_features):
                    score += table[i, k] * starts[n, k]
                scores[i] = score
                top = max(top, score)
                largest = max(largest, abs(score))
            least = top - tie_tol * largest
            best = 0
            while scores[best] < least:
                best += 1
            states[t, n] = best
            for k in range(n_features):
                starts[n, k] += target[k] - table[best, k]


@jit
def temper(
    table: NDArray[np.float64],  # (n_states, n_features), C-contiguous
    target: NDArray[np.float64],  # (n_features,)
    temperature: float,
    weights: NDArray[np.float64],  # (n_features,), updated in place
    points: NDArray[np.float64],  # (n_steps, n_features), filled in place
) -> None:
    """Fill ``points`` with the weights after each gradient step at a temperature."""
    n_states, n_features = table.shape
    shares = np.empty(n_states)
    for t in range(points.shape[0]):
        top = -np.inf
        for i in range(n_states):
            score = 0.0
            for k in range(n_features):
                score += table[i, k] * weights[k]
            shares[i] = score
            top = max(top, score)
        total = 0.0
        for i in range(n_states):
            shares[i] = np.exp((shares[i] - top) / temperature)
            total += shares[i]
        for k in range(n_features):
            mean = 0.0
            for i in range(n_states):
                mean += shares[i] * table[i, k]
            weights[k] += target[k] - mean / total
            points[t, k] = weights[k]


@jit
def around(
    table: NDArray[np.float64],  # (n_states, n_features), C-contiguous
    target: NDArray[np.float64],  # (n_features,)
    temperature: float,
    n_steps: int,
    weights: NDArray[np.float64],  # (n_features,), updated in place
    slope: NDArray[np.float64],  # (n_features, n_features), filled in place
) -> None:
    """Take some gradient steps and fill ``slope`` with the derivative of all of them."""
    n_states, n_features = table.shape
    shares, mean = np.empty(n_states), np.empty(n_features)
    step, product = np.empty((n_features, n_features)), np.empty((n_features, n_features))
    for k in range(n_features):
        for m in range(n_features):
            slope[k, m] = 1.0 if k == m else 0.0
    for _ in range(n_steps):
        top = -np.inf
        for i in range(n_states):
            score = 0.0
            for k in range(n_features):
                score += table[i, k] * weights[k]
            shares[i] = score
            top = max(top, score)
        total = 0.0
        for i in range(n_states):
            shares[i] = np.exp((shares[i] - top) / temperature)
            total += shares[i]
        for k in range(n_features):
            mean[k] = 0.0
            for i in range(n_states):
                mean[k] += shares[i] * table[i, k] / total
        for k in range(n_features):
            for m in range(n_features):
                covariance = 0.0
                for i in range(n_states):
                    covariance += (
                        shares[i] / total * (table[i, k] - mean[k]) * (table[i, m] - mean[m])
                    )
                step[k, m] = (1.0 if k == m else 0.0) - covariance / temperature
        for k in range(n_features):
            for m in range(n_features):
                product[k, m] = 0.0
                for j in range(n_features):
                    product[k, m] += step[k, j] * slope[j, m]
        for k in range(n_features):
            weights[k] += target[k] - mean[k]
            for m in range(n_features):
                slope[k, m] = product[k, m]
