r"""Whole tables of 0/1 columns from one number per clique, all parts of a clique included.

A 0/1 table is determined by the counts of all-ones of its columns and of all smaller sets of
them, or as well by the sums of products of its codes taken as -1 and +1,

.. math:: n(x) = \sum_{\beta \supseteq 1(x)} (-1)^{|\beta| - |1(x)|} n_\beta
               = 2^{-m} \sum_\beta \hat n_\beta \prod_{i \in \beta} (2 x_i - 1) ,

where :math:`\beta` runs over the sets of its m columns and :math:`n_\emptyset` is the total.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.models.layout import CliqueLayout

__all__ = ["ProductTables"]


@dataclass(frozen=True, slots=True, eq=False)
class ProductTables:
    """Which numbers make the table of each clique.

    Parameters
    ----------
    groups : list of pairs of ndarrays
        For cliques of each size their flat cells, (n, 2 ** size), and as many positions of the
        cliques of their parts; the empty part has position -1. Bits are columns, the first one
        the highest.
    """

    groups: list[tuple[NDArray[np.intp], NDArray[np.intp]]]

    @classmethod
    def of(cls, layout: CliqueLayout, chosen: NDArray[np.bool_]) -> "ProductTables":
        """Look up the parts of the chosen cliques of two values, which are chosen themselves."""
        width = len(layout.n_values)
        sizes = np.where(chosen, (layout.members >= 0).sum(axis=1), 0)
        keys, cliques, groups = np.zeros(0, np.intp), np.zeros(0, np.intp), []
        for size in range(1, int(sizes.max(initial=0)) + 1):
            at = np.flatnonzero(sizes == size)
            parts = [np.full(len(at), -1)]
            for column in layout.members[at, :size].T:
                # a part without this column, and the one with it: the clique of their key
                if len(parts) == 2 ** (size - 1):
                    own = (parts[-1] + 1) * width + column
                    order = np.argsort(np.concatenate([keys, own]))
                    keys = np.concatenate([keys, own])[order]
                    cliques = np.concatenate([cliques, at])[order]
                wanted = [np.searchsorted(keys, (part + 1) * width + column) for part in parts]
                both = zip(parts, wanted, strict=True)
                parts = [found for part, there in both for found in (part, cliques[there])]
            cells = layout.offsets[at][:, None] + np.arange(2**size)
            groups.append((cells, np.stack(parts, axis=1)))
        return cls(groups)

    def fill(
        self, cells: NDArray[Any], values: NDArray[Any], total: Any, *, signed: bool = False
    ) -> None:
        """Write the tables into a flat array of all cells.

        Parameters
        ----------
        cells : ndarray of shape (n_cells,)
            Filled in place, where there are such cliques.
        values : ndarray of shape (n_cliques,)
            For each clique the number of all-ones, or of the product of -1 and +1.
        total : number
            What each table sums to.
        signed : bool, default False
            Whether the values are of products of -1 and +1.
        """
        known = np.append(values, np.asarray(total, dtype=values.dtype))
        for places, parts in self.groups:
            size = places.shape[1].bit_length() - 1
            table = known[parts].reshape(-1, *[2] * size)
            for axis in range(1, size + 1):
                low, high = np.moveaxis(table, axis, 0)
                if signed:
                    low[...], high[...] = (low - high) / 2, (low + high) / 2
                else:
                    low -= high
            cells[places] = table.reshape(places.shape)
