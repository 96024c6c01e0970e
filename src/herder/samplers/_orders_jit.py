"""Compiled colouring of graphs. It trusts its arguments: callers validate."""

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit


@jit
def fill_colours(
    indptr: NDArray[np.intp],  # (n_sites + 1,)
    indices: NDArray[np.intp],  # (n_neighbours,)
    colours: NDArray[np.intp],  # (n_sites,), -1; filled in place
) -> None:
    """Assign to each site the lowest colour that no neighbour before it has."""
    taken = np.full(colours.shape[0] + 1, -1, dtype=np.intp)  # the last site that saw a colour
    for site in range(colours.shape[0]):
        for e in range(indptr[site], indptr[site + 1]):
            if colours[indices[e]] >= 0:
                taken[colours[indices[e]]] = site
        colour = 0
        while taken[colour] == site:
            colour += 1
        colours[site] = colour
