"""Compiled loops of restricted Boltzmann machines. They trust their arguments."""

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit_relaxed


@jit_relaxed
def _sigmoid(x: float) -> float:
    """Return 1 / (1 + exp(-x)) to 1e-12, by products only, so that loops use vector instructions.

    exp(y) = T(y / 64)^64 with T the Taylor polynomial of degree 13, for |y| up to 40: beyond it
    the result is 0 or 1 to 4e-18.
    """
    y = min(max(-x, -40.0), 40.0) * 0.015625
    t = 1.0 + y * (1 / 13)
    t = 1.0 + y * (1 / 12) * t
    t = 1.0 + y * (1 / 11) * t
    t = 1.0 + y * (1 / 10) * t
    t = 1.0 + y * (1 / 9) * t
    t = 1.0 + y * (1 / 8) * t
    t = 1.0 + y * (1 / 7) * t
    t = 1.0 + y * (1 / 6) * t
    t = 1.0 + y * (1 / 5) * t
    t = 1.0 + y * (1 / 4) * t
    t = 1.0 + y * (1 / 3) * t
    t = 1.0 + y * (1 / 2) * t
    t = 1.0 + y * t
    t = t * t
    t = t * t
    t = t * t
    t = t * t
    t = t * t
    t = t * t
    return 1.0 / (1.0 + t)


@jit_relaxed
def expect(
    fields: NDArray[np.floating],  # (n, n_sites + 1), the last column unused
    low: float,
    gap: float,
    means: NDArray[np.floating],  # (n, n_sites + 1), filled, the last column with ones
) -> None:
    """Fill the expected states of sites in the given fields."""
    last = fields.shape[1] - 1
    for i in range(fields.shape[0]):
        for j in range(last):
            means[i, j] = low + gap * _sigmoid(gap * fields[i, j])
        means[i, last] = 1.0


@jit_relaxed
def draw(
    fields: NDArray[np.floating],  # (n, n_sites + 1), the last column unused
    low: float,
    gap: float,
    uniforms: NDArray[np.floating],  # (n, n_sites), in [0, 1)
    states: NDArray[np.floating],  # (n, n_sites + 1), filled, the last column with ones
) -> None:
    """Fill random states of sites in the given fields."""
    last = fields.shape[1] - 1
    for i in range(fields.shape[0]):
        for j in range(last):
            states[i, j] = low + gap * (uniforms[i, j] < _sigmoid(gap * fields[i, j]))
        states[i, last] = 1.0


@jit_relaxed
def move(
    parameters: NDArray[np.floating],  # (n_visible + 1, n_hidden + 1), updated in place
    speed: NDArray[np.floating],  # the same, updated in place
    data: NDArray[np.floating],  # sums of moments over rows
    model: NDArray[np.floating],  # sums of moments over chains
    n_rows: int,
    n_chains: int,
    rate: float,
    momentum: float,
    l2: float,
) -> None:
    """Take a step with momentum along the difference of moments; only couplings decay."""
    up, down = rate / n_rows, rate / n_chains
    n_visible, n_hidden = parameters.shape[0] - 1, parameters.shape[1] - 1
    for i in range(n_visible + 1):
        for j in range(n_hidden + 1):
            speed[i, j] = momentum * speed[i, j] + up * data[i, j] - down * model[i, j]
    if l2 > 0.0:
        for i in range(n_visible):
            for j in range(n_hidden):
                speed[i, j] -= rate * l2 * parameters[i, j]
    for i in range(n_visible + 1):
        for j in range(n_hidden + 1):
            parameters[i, j] += speed[i, j]
