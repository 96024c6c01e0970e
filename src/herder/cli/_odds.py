"""How often more than K columns are 1, and how far to trust it, in a few lines of text."""

import numpy as np
from numpy.typing import NDArray

from herder.models.moments import Moments

__all__ = ["more_than", "tail_lines"]

#: Rows of each variant that the spread of a probability is taken over, at most.
SPREAD_STEPS = 50_000


def more_than(k: int, width: int) -> str:
    """Name the event."""
    return f"P(more than {k} of {width} columns are 1)"


def tail_lines(
    k: int,
    moments: Moments,
    shares: NDArray[np.float64],  # P(k) of the rows made
    table_shares: NDArray[np.float64] | None,  # P(k) of the table, if there is one
    n_rows: int,
    moment_error: float,
) -> list[str]:
    """Give the probability, its moment error, its spread over variants and its bounds."""
    from herder.fields.bounds import count_bounds
    from herder.fields.uncertainty import count_estimate

    share = float(shares[k + 1 :].sum())
    lines = [
        f"{more_than(k, moments.n_variables)} = {share:.4f}, where matched moments are off by "
        f"at most {moment_error:.1e}"
    ]
    if table_shares is not None:
        lines.append(f"  in the table it is {float(table_shares[k + 1 :].sum()):.4f}")
    steps = min(max(n_rows, 1000), SPREAD_STEPS)
    spread = count_estimate(moments, steps, tail=True, bounds=False)
    lines.append(
        "  other encodings, scan orders and starts that match the same counts give "
        f"{min(float(spread.lowest[k]), share):.4f} to {max(float(spread.highest[k]), share):.4f}"
    )
    try:
        bounds = count_bounds(moments, tail=True)
    except ValueError as error:  # contradictory counts leave no range at all
        return [*lines, f"  no range can be given: {error}"]
    low, high = float(bounds.lower[k]), float(bounds.upper[k])
    kind = "exactly what the counts allow" if bounds.sharp else "from sums of the counts"
    return [*lines, f"  the counts alone leave it between {low:.4f} and {high:.4f} ({kind})"]
