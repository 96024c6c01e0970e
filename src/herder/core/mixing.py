"""Fixed numbers that look random, the same on every machine."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["splitmix64"]


def splitmix64(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix each entry: every bit of the input changes half of the output."""
    x = x * np.uint64(0x9E3779B97F4A7C15)  # modulo 2^64, as are the other products
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
