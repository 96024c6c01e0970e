r"""Features of a state, one per clique or per cell of a clique, and their targets.

In any state each clique :math:`\alpha` touches exactly one feature,

.. math:: \phi(x) = \sum_\alpha c_\alpha(x_\alpha)\, e_{\iota_\alpha(x_\alpha)},

with a coefficient :math:`c` of -1, 0 or 1:

===============  ====================================================================
``"indicator"``  one feature per cell of the clique's table (default)
``"01"``         one feature per clique, the product of its 0/1 codes
``"+-1"``        one feature per clique, the product of its codes taken as -1 and +1
===============  ====================================================================

A product determines the whole table of its clique only together with the products of all
smaller sets of its columns. Where some of these are not cliques, or contradict it, the clique
is matched cell by cell, whatever the encoding.

The encodings carry the same information, but herding is not invariant to the choice:
it changes the geometry in which the moment error is small. Targets are integers in
units of 1/N (see `herder.core.units`), so that weights are integers as well.

A 0/1 table is determined by the counts of all-ones of its columns and of all smaller sets of
them, or as well by the sums of products of its codes taken as -1 and +1,

.. math:: n(x) = \sum_{\beta \supseteq 1(x)} (-1)^{|\beta| - |1(x)|} n_\beta
               = 2^{-m} \sum_\beta \hat n_\beta \prod_{i \in \beta} (2 x_i - 1) ,

where :math:`\beta` runs over the sets of its m columns and :math:`n_\emptyset` is the total.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._deprecated import warn_renamed
from herder._errors import ParameterError
from herder._validation import one_of
from herder.core.units import FIXED_POINT, Units
from herder.models.layout import CliqueLayout
from herder.models.moments import Moments

__all__ = ["CliqueFeatures", "ProductTables", "as_encoding"]

#: Counts may contradict each other, but a cell of more rows than this times all rows is no count.
LARGEST_SHARE = 2**20

ENCODINGS = ("indicator", "01", "+-1")

#: Shares that differ by less than this are equal but for rounding.
MARGIN_TOLERANCE = 1e-9

#: Counts up to this total are herded as they are: N^2 < 2^53, so float64 holds t * n exactly.
MAX_TOTAL = 2**26


@dataclass(frozen=True, eq=False)
class CliqueFeatures:
    """Feature map of cliques, with targets in units of ``1 / units.total``.

    Parameters
    ----------
    layout : CliqueLayout
        Cells of the cliques.
    feature : ndarray of intp of shape (n_cells,)
        Feature that a cell touches.
    coefficient : ndarray of int64 of shape (n_cells,)
        With which coefficient.
    target : ndarray of int64 of shape (n_features,)
        Moments of the features, times ``units.total``.
    product : ndarray of bool of shape (n_features,)
        Whether the feature is a 0/1 product, which starts from weight zero.
    units : Units
        The total, and whether the moments are exact in it.
    encoding : str
        The encoding of the binary cliques.
    closed : ndarray of bool of shape (n_cliques,)
        Whether a clique is binary and all smaller sets of its columns are cliques that agree
        with it, so that one number each determines its table.

    Attributes
    ----------
    n_features, n_variables : int
        Numbers of features and of variables.
    """

    layout: CliqueLayout
    feature: NDArray[np.intp]
    coefficient: NDArray[np.int64]
    target: NDArray[np.int64]
    product: NDArray[np.bool_]
    units: Units
    encoding: str
    closed: NDArray[np.bool_]
    n_features: int = field(init=False)
    n_variables: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_features", len(self.target))
        object.__setattr__(self, "n_variables", len(self.layout.n_values))

    @classmethod
    def of(cls, moments: Moments, encoding: str = "indicator") -> "CliqueFeatures":
        """Return features of the moments' cliques, by default all cells of their tables."""
        encoding = as_encoding(encoding)
        layout = moments.layout
        padded = np.where(layout.members >= 0, layout.n_values[layout.members], 2)
        binary = (padded == 2).all(axis=1)
        if encoding == "+-1" and not binary.all():
            worst = moments.cliques[int(np.argmin(binary))]
            rule = "be 'indicator' or '01' unless every column has two values"
            found = f"'+-1' and the columns {[moments.names[i] for i in worst]}"
            raise ParameterError("encoding", rule, got=found)
        # a product determines its table only together with the products of all its parts
        closed = binary & _has_parts(moments)
        binary = closed & (encoding != "indicator")
        n_cells = np.diff(layout.offsets)
        clique = np.repeat(np.arange(len(n_cells)), n_cells)
        local = np.arange(layout.offsets[-1]) - layout.offsets[clique]
        n_features = np.where(binary, 1, n_cells)
        first = np.concatenate([[0], np.cumsum(n_features)])
        feature = first[clique] + np.where(binary[clique], 0, local)
        coefficient = np.ones(len(feature), dtype=np.int64)
        product = np.zeros(first[-1], dtype=bool)
        if encoding == "+-1":
            zeros = np.sum(layout.members >= 0, axis=1)[clique] - np.bitwise_count(local)
            coefficient = np.where(binary[clique] & (zeros % 2 == 1), -1, 1)
        elif encoding == "01":
            coefficient = np.where(binary[clique] & (local + 1 < n_cells[clique]), 0, 1)
            product = np.repeat(binary, n_features)
        target, units = _in_units(moments, feature, coefficient, int(first[-1]))
        if encoding == "indicator" and not units.exact:
            # the parts of a table must agree after rounding, too: round one number per clique
            ones = target[layout.offsets[1:] - 1]
            ProductTables.of(layout, closed).fill(target, ones, units.total)
        return cls(layout, feature, coefficient, target, product, units, encoding, closed)

    def start_weights(self) -> NDArray[np.int64]:
        """Return the default start: the target, but zero for 0/1 products.

        Otherwise the state of all ones would come first.
        """
        return np.where(self.product, 0, self.target)

    def features(self, state: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return phi(state)."""
        cells = self.layout.cells(state)
        phi = np.zeros(self.n_features, dtype=np.int64)
        phi[self.feature[cells]] = self.coefficient[cells]
        return phi

    @cached_property
    def tables(self) -> "ProductTables":
        """How one number per clique makes the tables of the closed cliques."""
        return ProductTables.of(self.layout, self.closed)

    def cell_errors(self, errors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the error of every cell of every table from the errors of the features."""
        cells = errors[self.feature]
        if self.encoding != "indicator":
            last = self.layout.offsets[1:] - 1
            self.tables.fill(cells, cells[last], 0.0, signed=self.encoding == "+-1")
        return cells

    def site_scores(
        self, weights: NDArray[np.int64], state: NDArray[np.integer], site: int
    ) -> NDArray[np.int64]:
        """Return the score of each value of one variable, the others as in ``state``."""
        cliques = self.site_cliques[site]
        members = self.layout.members[cliques]
        others = (members >= 0) & (members != site)
        padded = np.where(others, state.astype(np.intp)[members], 0)
        base = self.layout.offsets[cliques] + (self.layout.strides[cliques] * padded).sum(axis=1)
        own = (self.layout.strides[cliques] * (members == site)).sum(axis=1)
        cells = base + own * np.arange(self.layout.n_values[site])[:, None]
        return (weights[self.feature[cells]] * self.coefficient[cells]).sum(axis=1)

    @cached_property
    def site_cliques(self) -> list[NDArray[np.intp]]:
        """Cliques that hold each variable, in ascending order."""
        clique, slot = np.nonzero(self.layout.members >= 0)
        variable = self.layout.members[clique, slot]
        rank = np.argsort(variable, kind="stable")
        edges = np.searchsorted(variable[rank], np.arange(self.n_variables + 1))
        return [clique[rank[a:b]] for a, b in pairwise(edges)]


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


def as_encoding(encoding: str) -> str:
    """Return the encoding if it is one; "auto" is an old name of the default."""
    if isinstance(encoding, str) and encoding == "auto":
        warn_renamed('encoding="auto"', 'encoding="indicator"', depth=2)
        return "indicator"
    one_of(encoding, "encoding", ENCODINGS)
    return encoding


def _has_parts(moments: Moments) -> NDArray[np.bool_]:
    """Return whether all smaller sets of columns in each clique are cliques that agree with it."""
    agree = moments.from_rows or not (moments.rounding or moments.contradictions())
    if moments.is_complete and agree:
        return np.ones(len(moments.cliques), dtype=bool)
    closed: set[tuple[int, ...]] = set()
    for clique in moments.cliques:  # short ones come first
        parts = combinations(clique, len(clique) - 1)
        if len(clique) == 1 or (
            all(part in closed for part in parts) and (agree or _agrees(moments, clique))
        ):
            closed.add(clique)
    return np.array([clique in closed for clique in moments.cliques])


def _agrees(moments: Moments, clique: tuple[int, ...]) -> bool:
    """Return whether the margins of a clique's table are the tables of its parts."""
    table = moments.table(clique)
    for axis in range(len(clique)):
        part = moments.table(clique[:axis] + clique[axis + 1 :])
        gap = table.sum(axis=axis) / table.sum() - part / part.sum()
        if np.abs(gap).max() > MARGIN_TOLERANCE:
            return False
    return True


def _in_units(
    moments: Moments, feature: NDArray[np.intp], coefficient: NDArray[np.int64], n_features: int
) -> tuple[NDArray[np.int64], Units]:
    if (np.abs(moments.probabilities()) > LARGEST_SHARE).any():
        raise ParameterError("moments", "have counts that go with their totals", got="larger ones")
    total = moments.common_total
    if total is not None and total <= MAX_TOTAL:
        sums = np.bincount(feature, weights=coefficient * moments.counts, minlength=n_features)
        return sums.astype(np.int64), Units(total, True)
    share = coefficient * moments.probabilities()
    sums = np.bincount(feature, weights=share, minlength=n_features) * FIXED_POINT
    return np.rint(sums).astype(np.int64), Units(FIXED_POINT, False)
