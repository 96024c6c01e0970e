"""Tables that the tests of ``herder thin`` share."""

import numpy as np

N = 240
NAMES = ("length", "width", "count", "kind", "note", "mass")

#: The columns that are not to be compared.
DROPPED = ("--drop", "kind,note,mass")


def columns() -> dict[str, np.ndarray]:
    """Two measurements, a count, a label, a remark with a gap, and a weight."""
    rng = np.random.default_rng(8)
    kind = rng.integers(0, 3, size=N)
    note = np.array([f"n{i}" for i in range(N)], dtype=object)
    note[17] = None
    return {
        "length": rng.normal(size=N) + kind,
        "width": 3 * rng.normal(size=N),
        "count": rng.integers(0, 5, size=N),
        "kind": np.array(["a", "b", "c"], dtype=object)[kind],
        "note": note,
        "mass": rng.random(N) + 0.1,
    }


def numbers() -> np.ndarray:
    """Give what rows are compared by."""
    table = columns()
    return np.column_stack([table["length"], table["width"], table["count"]]).astype(float)
