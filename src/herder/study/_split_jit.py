"""The compiled cutting of polygons by cones. It trusts its arguments."""

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit

#: Corners of one polygon: each cut adds one at most.
CORNERS = 1024


@jit
def _clip(
    polygon: NDArray[np.float64],  # (CORNERS, 2)
    n: int,
    normal_x: float,
    normal_y: float,
    out: NDArray[np.float64],  # (CORNERS, 2), filled in place
) -> int:
    """Cut off what is on the negative side of a line through 0; return the number of corners."""
    m = 0
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        here = polygon[i, 0] * normal_x + polygon[i, 1] * normal_y
        there = polygon[j, 0] * normal_x + polygon[j, 1] * normal_y
        if here >= 0.0:
            out[m, 0], out[m, 1] = polygon[i, 0], polygon[i, 1]
            m += 1
        if (here > 0.0 and there < 0.0) or (here < 0.0 and there > 0.0):
            part = here / (here - there)
            out[m, 0] = polygon[i, 0] + part * (polygon[j, 0] - polygon[i, 0])
            out[m, 1] = polygon[i, 1] + part * (polygon[j, 1] - polygon[i, 1])
            m += 1
    return m


@jit
def split(
    table: NDArray[np.float64],  # (n_states, 2)
    target: NDArray[np.float64],  # (2,)
    corners: NDArray[np.float64],  # (n_corners, 2), polygon after polygon
    ends: NDArray[np.intp],  # (n_polygons,), where the corners of each end
    least: float,
    pieces: NDArray[np.float64],  # (room, 2), filled in place
    stops: NDArray[np.intp],  # (room,), filled in place
) -> int:
    """Fill ``pieces`` with what each cone has of each polygon, moved; -1 if there is no room."""
    n_states = table.shape[0]
    a, b = np.empty((CORNERS, 2)), np.empty((CORNERS, 2))
    n_pieces, used, first = 0, 0, 0
    for p in range(ends.shape[0]):
        size = ends[p] - first
        for s in range(n_states):
            for i in range(size):
                a[i, 0], a[i, 1] = corners[first + i, 0], corners[first + i, 1]
            n = size
            for other in range(n_states):
                if other != s and n > 2:
                    across = table[s, 0] - table[other, 0]
                    up = table[s, 1] - table[other, 1]
                    n = _clip(a, n, across, up, b)
                    a, b = b, a
            area = 0.0
            for i in range(1, n - 1):
                area += (a[i, 0] - a[0, 0]) * (a[i + 1, 1] - a[0, 1])
                area -= (a[i + 1, 0] - a[0, 0]) * (a[i, 1] - a[0, 1])
            if n > 2 and area > 2.0 * least:
                if n_pieces == stops.shape[0] or used + n > pieces.shape[0]:
                    return -1
                for i in range(n):
                    pieces[used + i, 0] = a[i, 0] + target[0] - table[s, 0]
                    pieces[used + i, 1] = a[i, 1] + target[1] - table[s, 1]
                used += n
                stops[n_pieces] = used
                n_pieces += 1
        first = ends[p]
    return n_pieces
