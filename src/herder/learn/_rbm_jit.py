"""Compiled loops of restricted Boltzmann machines. They trust their arguments.

Literals would turn single precision into double: all numbers come in one array of the right dtype,
made by `numbers`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit_relaxed

#: SplitMix64: a counter in steps of GAMMA, mixed by two products.
GAMMA = np.uint64(0x9E3779B97F4A7C15)
FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
HALF_WORD = np.uint64(32)

#: Beyond this exponent a probability is 0 or 1 to 4e-18.
LIMIT = 40.0


def numbers(low: float, gap: float, dtype: Any) -> NDArray[Any]:
    """Return the constants of the loops: low, gap, and those of the exponential and of uniforms.

    exp(y) = T(y / 2^n)^(2^n), with T the Taylor polynomial of degree 5 and n = 10, which makes
    probabilities right to 1e-12; in single precision n = 6, to 1e-5.
    """
    n = 6 if np.dtype(dtype) == np.float32 else 10
    series = [1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5]
    return np.array([low, gap, *series, LIMIT, 2.0**-n, 2.0**-32], dtype)


@jit_relaxed
def chances(
    fields: NDArray[np.floating],  # (n, n_sites), turned into probabilities
    const: NDArray[np.floating],
) -> None:
    """Turn fields into probabilities of the upper state, 1 / (1 + exp(-gap field))."""
    gap, limit, share = const[1], const[7], const[8]
    one, half, third, fourth, fifth = const[2], const[3], const[4], const[5], const[6]
    doublings = 6 if fields.itemsize == 4 else 10
    for i in range(fields.shape[0]):
        row = fields[i]
        for j in range(row.shape[0]):
            y = min(max(-gap * row[j], -limit), limit) * share
            row[j] = one + y * (
                one + half * y * (one + third * y * (one + fourth * y * (one + fifth * y)))
            )
        for _ in range(doublings):
            for j in range(row.shape[0]):
                row[j] = row[j] * row[j]
        for j in range(row.shape[0]):
            row[j] = one / (one + row[j])


@jit_relaxed
def draw(
    probabilities: NDArray[np.floating],  # (n, n_sites + 1)
    counter: NDArray[np.uint64],  # (1,), moved on
    const: NDArray[np.floating],
    states: NDArray[np.floating],  # (n, n_sites + 1), filled, the last column with ones
) -> None:
    """Fill random states of sites; both arrays may be the same."""
    low, gap, one, half, unit = const[0], const[1], const[2], const[3], const[9]
    width = states.shape[1]
    for i in range(states.shape[0]):
        start = counter[0]
        for j in range(width):
            x = start + np.uint64(j + 1) * GAMMA
            x = (x ^ (x >> SHIFTS[0])) * FACTORS[0]
            x = (x ^ (x >> SHIFTS[1])) * FACTORS[1]
            bits = np.int32((x ^ (x >> SHIFTS[2])) >> HALF_WORD)  # from -2^31 to 2^31 - 1
            states[i, j] = low + gap * (half + unit * bits < probabilities[i, j])
        states[i, width - 1] = one
        counter[0] = start + np.uint64(width) * GAMMA


@jit_relaxed
def _weigh(
    means: NDArray[np.floating],  # (n, n_sites + 1), probabilities that are turned into means
    const: NDArray[np.floating],
    divisor: int,
) -> None:
    """Turn probabilities into expected states over a divisor, beside them the constant."""
    low, gap = const[0], const[1]
    weight = const[2] / means.dtype.type(divisor)
    for i in range(means.shape[0]):
        for j in range(means.shape[1]):
            means[i, j] = weight * (low + gap * means[i, j])
        means[i, means.shape[1] - 1] = weight


@jit_relaxed
def moments(
    visible: NDArray[np.floating],  # (n_rows + n_chains, n_visible + 1), chains are filled
    means: NDArray[np.floating],  # (n_rows + n_chains, n_hidden + 1), filled
    hidden: NDArray[np.floating],  # (n_chains, n_hidden + 1), where chains start, updated
    table: NDArray[np.floating],  # (n_visible + 1, n_hidden + 1), for the rows
    chain_table: NDArray[np.floating],  # the same, for the chains
    counter: NDArray[np.uint64],  # (1,), moved on
    n_steps: int,
    persistent: bool,
    const: NDArray[np.floating],
) -> None:
    """Run the chains; ``visible.T @ means`` is then the difference of the mean moments."""
    n_chains = hidden.shape[0]
    n_rows = visible.shape[0] - n_chains
    chains, of_rows, of_chains = visible[n_rows:], means[:n_rows], means[n_rows:]
    np.dot(visible[:n_rows], table, of_rows)
    chances(of_rows, const)
    if not persistent:
        draw(of_rows, counter, const, hidden)
    for step in range(n_steps):
        if step > 0:
            draw(of_chains, counter, const, hidden)
        np.dot(hidden, chain_table.T, chains)
        chances(chains, const)
        draw(chains, counter, const, chains)
        np.dot(chains, chain_table, of_chains)
        chances(of_chains, const)
    if persistent:
        draw(of_chains, counter, const, hidden)
    _weigh(of_rows, const, n_rows)
    _weigh(of_chains, const, -n_chains)
