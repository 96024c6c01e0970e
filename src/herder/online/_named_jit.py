"""Compiled halves of learning one row of named features. They trust their arguments.

The same sums and updates as in `_passes_jit`, for a row on its own: a call with few arguments is
what counts here. Between the two halves comes `_passes_jit.step`.
"""

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit_fused

# Places in rules.FORMS, and the rules' floor of variances.
NONE, _, EXACT, DROP, RIDGE = range(5)
FLOOR = 1e-280


@jit_fused
def look(
    table: NDArray[np.float64],  # (D, 2), means and variances
    places: NDArray[np.int32],
    values: NDArray[np.float64],
    stop: int,
) -> tuple[float, float]:
    """Return mu.x and x'Sx of the row in the first ``stop`` places and values."""
    m, v = 0.0, 0.0
    for k in range(stop):
        x, j = values[k], places[k]
        m += table[j, 0] * x
        v += table[j, 1] * x * x
    return m, v


@jit_fused
def move(
    table: NDArray[np.float64],  # (D, 2), updated
    places: NDArray[np.int32],
    values: NDArray[np.float64],
    stop: int,
    alpha: float,  # step, times the sign of the label
    gain: float,  # of precision
    v: float,
    rate: float,
    form: int,
) -> None:
    """Move means and narrow variances at the places of the row."""
    target = 1.0 if alpha > 0.0 else -1.0
    for k in range(stop):
        x, j = values[k], places[k]
        s = table[j, 1]
        sx = s * x
        spread = sx * x
        if form == RIDGE:
            table[j, 0] += gain * sx * (target - table[j, 0] * x) / (1.0 + gain * spread)
        else:
            table[j, 0] += alpha * sx
        if form == NONE:
            continue
        if form == EXACT:
            q = 1.0 + rate * spread
            s /= q * q
        elif form == DROP:
            # S - h (S x)^2 with h = 1 / (1 / gain + v), so that nothing cancels
            spared = 1.0 / gain
            s *= (spared + max(v - spread, 0.0)) / (spared + v)
        else:
            s /= 1.0 + gain * spread
        table[j, 1] = s if s > FLOOR else FLOOR
