r"""The median heuristic: the middle of all distances between two rows.

All :math:`n (n-1) / 2` distances are too many for large n, and a random sub-sample would make the
result a matter of chance. Rows :math:`\lfloor n \{i \varphi\} \rfloor` for the golden ratio
:math:`\varphi` lie evenly in the table without the danger of a fixed stride, which may fall into
step with the data (sorted chains, repeated designs).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder.data.rows import read_rows

__all__ = ["MEDIAN_ROWS", "even_rows", "median_bandwidth", "median_distance"]

#: 2,000 rows give 2 million distances: the median is then within about one per cent of the
#: median of all of them, for a fraction of a second.
MEDIAN_ROWS = 2000

_GOLDEN = (5**0.5 - 1) / 2


def median_bandwidth(X: ArrayLike) -> float:
    """Median distance between two rows, from at most 2,000 rows spread evenly over the table.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The sample; anything `thin` takes.

    Returns
    -------
    float
        The bandwidth; one when all rows are equal, for then any will do.

    Examples
    --------
    >>> from herder import median_bandwidth
    >>> median_bandwidth([[0.0], [1.0], [3.0]])
    2.0
    """
    return median_distance(read_rows(X).values)


def median_distance(values: NDArray[Any], scale: float | NDArray[np.float64] = 1.0) -> float:
    """`median_bandwidth` of checked rows, their columns divided by ``scale``."""
    from scipy.spatial.distance import pdist

    if len(values) < 2:
        return 1.0
    rows = np.asarray(values[even_rows(len(values), MEDIAN_ROWS)], np.float64)
    distances = pdist((rows - rows.mean(axis=0)) / scale)
    median = float(np.median(distances))
    if median == 0:
        # More than half of the pairs are equal, as in counts with many zeros: the others decide.
        unequal = distances[distances > 0]
        median = float(np.median(unequal)) if len(unequal) else 1.0
    return median


def even_rows(n: int, most: int) -> NDArray[np.intp]:
    """At most ``most`` of n rows, in ascending order, spread evenly without a fixed stride."""
    if n <= most:
        return np.arange(n, dtype=np.intp)
    spread = (n * ((np.arange(most) * _GOLDEN) % 1.0)).astype(np.intp)
    return np.unique(spread)
