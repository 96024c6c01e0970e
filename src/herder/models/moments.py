r"""Moments of a discrete table: the joint counts of small groups of columns.

For a clique :math:`\alpha` of columns the moment is its contingency table,

.. math:: n_\alpha(x_\alpha) = \sum_{rows} I[row_\alpha = x_\alpha],
          \qquad p_\alpha = n_\alpha / N_\alpha .

All singles and pairs (order 2) or triples (order 3) of a 0/1 table are what
[welling2009]_ herds; any list of cliques and any alphabets work the same way. Moments
are sums over rows, so parts of a table merge exactly, and published counts serve as
well as rows do. Counts are float64 that hold integers exactly below :math:`2^{53}`.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from os import PathLike
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import iterated, listed, of_kind, one_of, positive_int, row_weights
from herder.core.summary import Summarised, Summary
from herder.data.variables import Bins, Codes, Variable, encode
from herder.models.conditional import conditional_tables
from herder.models.counting import count_binary, count_cells
from herder.models.disclosure import merge_small, numbering, rounded, small_cells
from herder.models.layout import (
    CliqueLayout,
    NoCliqueError,
    all_cliques,
    as_cliques,
    check_tables,
    n_cliques,
    require_room,
)
from herder.models.merging import add, growing
from herder.models.summary import moments_summary

if TYPE_CHECKING:
    from herder.models.consistency import Contradiction

__all__ = ["Moments"]


@dataclass(frozen=True, eq=False)
class Moments(Summarised):
    """Contingency tables of cliques of columns.

    Parameters
    ----------
    variables : tuple of Variable
        The columns: names, labels, dtypes.
    cliques : tuple of tuples of int
        The groups of columns whose joint counts are known.
    counts : ndarray of float64
        Their tables, flat, one after the other (see `table`).
    totals : ndarray of float64 of shape (n_cliques,)
        What each table sums to.
    from_rows : bool
        Whether the counts come from rows, so that they are consistent by construction.
    conflicts : tuple of Contradiction
        What a published table stated twice, and differently; ``counts`` hold the means. They
        are about that table, so files and the moments that `given` and `merge` make do not
        have them.
    rounding : float
        What the counts were rounded to multiples of (see `rounded`); 0 if they were not.
    numbering : tuple of str
        Binned columns of whole numbers that are all different, as those that number rows are.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    n_variables : int
        Number of columns.
    n_values : tuple of int
        Size of each column's alphabet.
    order : int
        Size of the largest clique.
    is_complete : bool
        Whether the cliques are all sets of up to ``order`` columns.

    Examples
    --------
    >>> moments = Moments.from_data([[0, 1], [1, 1], [0, 0], [1, 1]])
    >>> moments.table((0, 1))
    array([[1., 1.],
           [0., 2.]])
    """

    variables: tuple[Variable, ...]
    cliques: tuple[tuple[int, ...], ...]
    counts: NDArray[np.float64]
    totals: NDArray[np.float64]
    from_rows: bool = False
    conflicts: "tuple[Contradiction, ...]" = ()
    rounding: float = 0.0
    numbering: tuple[str, ...] = ()
    names: tuple[str, ...] = field(init=False)
    n_variables: int = field(init=False)
    n_values: tuple[int, ...] = field(init=False)
    order: int = field(init=False)
    is_complete: bool = field(init=False)

    def __post_init__(self) -> None:
        self.__dict__.update(check_tables(self))
        width, order = len(self.variables), len(self.cliques[-1])
        self.__dict__.update(
            names=tuple(variable.name for variable in self.variables),
            n_variables=width,
            n_values=tuple(variable.n_values for variable in self.variables),
            order=order,
            is_complete=len(self.cliques) == n_cliques(width, order),
        )

    @classmethod
    def from_data(
        cls,
        X: object,
        order: int = 2,
        *,
        cliques: Iterable[Iterable[int | str]] | None = None,
        sample_weight: ArrayLike | None = None,
        missing: str = "error",
        bins: Bins = "auto",
    ) -> Self:
        """Count a table.

        Parameters
        ----------
        X : array, sparse matrix, pandas or polars frame, or mapping of columns
            Rows of 0/1 or categorical values.
        order : int, default 2
            Count all groups of up to this many columns.
        cliques : list of lists of columns, optional
            Count these groups instead, by position or name.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts; not negative.
        missing : {"error", "category"}, default "error"
            Whether missing values are refused or are a category of their own.
        bins : "auto", int, mapping of column to int, or None, default "auto"
            How columns of numbers and dates are binned (see `MomentHerder`).
        """
        codes = encode(X, missing=missing, bins=bins, order=order)
        return cls.from_codes(codes, order, cliques=cliques, sample_weight=sample_weight)

    @classmethod
    def from_codes(
        cls,
        codes: Codes,
        order: int = 2,
        *,
        cliques: Iterable[Iterable[int | str]] | None = None,
        sample_weight: ArrayLike | None = None,
        max_memory: int | None = None,
    ) -> Self:
        """Count a table that is coded already (see `herder.data.variables.encode`)."""
        of_kind(codes, "codes", Codes, "codes of herder.models.encode")
        order = positive_int(order, "order")
        if max_memory is not None:
            require_room(codes.variables, order, positive_int(max_memory, "max_memory"))
        names = [variable.name for variable in codes.variables]
        width = len(names)
        complete = cliques is None
        chosen = all_cliques(width, min(order, width)) if complete else as_cliques(cliques, names)
        n_rows = codes.rows.shape[0]
        weight = None if sample_weight is None else row_weights(sample_weight, n_rows)
        if weight is not None and not weight.any():
            raise ParameterError("sample_weight", "be positive for some row", got="zeros only")
        n_values = [variable.n_values for variable in codes.variables]
        layout = CliqueLayout.of(n_values, chosen)
        largest = len(chosen[-1])
        if set(n_values) == {2} and largest <= 3 and len(chosen) == n_cliques(width, largest):
            counts, total = count_binary(codes, largest, weight)
        else:
            counts, total = count_cells(codes, layout, weight)
        totals = np.full(len(chosen), total)
        found = numbering(codes) if codes.numbers else ()
        moments = cls(codes.variables, chosen, counts, totals, True, numbering=found)
        moments.__dict__["layout"] = layout
        if weight is None:
            moments.__dict__["common_total"] = n_rows
        return moments

    @classmethod
    def from_chunks(
        cls,
        chunks: Iterable[object],
        order: int = 2,
        *,
        cliques: Iterable[Iterable[int | str]] | None = None,
        missing: str = "error",
        bins: Bins = "auto",
        max_memory: int | None = None,
    ) -> Self:
        """Count a table that comes in parts, one part in memory at a time.

        Alphabets may grow from part to part; bins are those of the first part.

        Parameters
        ----------
        chunks : iterable of tables
            Parts of one table, each in any form that `from_data` takes.
        order, cliques, missing, bins
            As in `from_data`.
        max_memory : int, optional
            Refuse tables of counts that would need more bytes.

        Examples
        --------
        >>> Moments.from_chunks([{"a": [0, 1]}, {"a": [2, 2, 0]}], 1).counts
        array([2., 1., 2.])
        """
        chosen = None
        if cliques is not None:
            given = listed(cliques, "cliques", "lists of columns")
            chosen = [listed(clique, "cliques", "lists of columns") for clique in given]
        whole: Self | None = None
        for chunk in iterated(chunks, "chunks", "tables"):
            if whole is None:
                codes = encode(chunk, missing=missing, bins=bins, order=order)
                whole = cls.from_codes(codes, order, cliques=chosen, max_memory=max_memory)
                continue
            known = [growing(variable, missing) for variable in whole.variables]
            codes = encode(chunk, variables=known, missing=missing)
            whole = whole.merge(cls.from_codes(codes, order, cliques=chosen))
        if whole is None:
            raise ParameterError("chunks", "hold at least one part", got="none")
        return whole

    @classmethod
    def from_counts(
        cls,
        counts: object,
        *,
        total: float | None = None,
        names: Sequence[str] | None = None,
        contradictions: str = "error",
    ) -> "Moments":
        """Take published counts: a symmetric pair matrix, or the plain table of `save`.

        Parameters
        ----------
        counts : array-like of shape (D, D), frame or mapping of columns
            A matrix of joint counts of 0/1 columns with the single counts on its diagonal,
            or columns ``variable_a, value_a, variable_b, value_b, count, total`` (and
            ``variable_c, value_c`` for triples). Values may be left out for 0/1 columns; a
            row with a = b is a single.
        total : float, optional
            Number of rows behind a matrix of counts; 1 for probabilities.
        names : list of str, optional
            Names of the columns of a matrix.
        contradictions : {"error", "allow"}, default "error"
            Whether counts that no table can have are refused. If they are allowed, a cell of a
            plain table that is stated more than once, as in two reports, is
            the mean of its probabilities (see `herder.models.published`).
        """
        from herder.models import published  # it builds Moments, so it imports this file

        moments = published.read_counts(counts, total=total, names=names)
        return moments._accepted(contradictions)

    @classmethod
    def load(cls, path: str | PathLike[str], *, contradictions: str = "error") -> "Moments":
        """Read the plain table that `save` writes, or one typed by hand.

        Parameters
        ----------
        path : path
            A csv, npz or parquet file.
        contradictions : {"error", "allow"}, default "error"
            As in `from_counts`.
        """
        from herder.models import published

        return published.load(path)._accepted(contradictions)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a table that a person can read and type: csv, npz or parquet by suffix."""
        from herder.models import published

        published.save(self, path)

    def given(self, where: Mapping[str, Hashable]) -> Self:
        """Return the moments among the rows in which some columns have known values.

        Every clique that holds all columns of ``where`` and more yields the conditional table
        of its other columns, so moments of order q and m conditions leave order q - m.
        Columns of which no table is left are dropped.

        Parameters
        ----------
        where : mapping of column name to label
            The conditions.

        Examples
        --------
        >>> moments = Moments.from_data([[0, 1], [1, 1], [0, 0], [1, 1]])
        >>> moments.given({"x1": 1}).table(("x0",))
        array([1., 2.])
        """
        variables, tables = conditional_tables(self, where)
        return replace(
            self,
            variables=variables,
            cliques=tuple(tables),
            counts=np.concatenate([table.ravel() for table in tables.values()]),
            totals=np.array([table.sum() for table in tables.values()]),
            conflicts=(),
        )

    def merge(self, *parts: "Moments") -> Self:
        """Add up moments of parts of a table; alphabets are united.

        Examples
        --------
        >>> a, b = Moments.from_data([[0, 1]]), Moments.from_data([[1, 1], [0, 1]])
        >>> a.merge(b).table((0,))
        array([2., 1.])
        """
        for part in parts:
            of_kind(part, "parts", Moments, "Moments")
        return reduce(add, parts, self)

    small_cells, merge_small, rounded = small_cells, merge_small, rounded

    def __repr__(self) -> str:
        """Return what is counted, not every count."""
        total = self.common_total
        rows = "counts of tables with other totals" if total is None else f"{total} rows"
        tables = f"{len(self.cliques)} tables up to order {self.order}"
        return f"Moments({self.n_variables} columns, {tables}, {rows})"

    def summary(self) -> Summary:
        """Return what is counted, and whether the counts contradict each other."""
        return moments_summary(self)

    @property
    def is_binary(self) -> bool:
        """Whether every column has two values."""
        return set(self.n_values) == {2}

    @cached_property
    def layout(self) -> CliqueLayout:
        """Where each table lies in ``counts``."""
        return CliqueLayout.of(self.n_values, self.cliques, len(self.counts))

    @cached_property
    def common_total(self) -> int | None:
        """The one whole number that all tables sum to, or None when there is none."""
        total = float(self.totals[0])
        whole = total == round(total) and bool((self.totals == total).all())
        counted = whole and bool((self.counts == np.rint(self.counts)).all())
        return int(total) if counted else None

    @cached_property
    def _clique_index(self) -> dict[tuple[int, ...], int]:
        return {clique: c for c, clique in enumerate(self.cliques)}

    def index_of(self, clique: Iterable[int | str]) -> int | None:
        """Return the position of a clique, given by its columns, or None."""
        (wanted,) = as_cliques([clique], self.names)
        return self._clique_index.get(wanted)

    def table(self, clique: Iterable[int | str]) -> NDArray[np.float64]:
        """Return the joint counts of a clique, one axis per column in ascending order."""
        index = self.index_of(clique)
        if index is None:
            raise NoCliqueError("clique", "be counted", got=f"no clique {tuple(clique)}")
        start, stop = self.layout.offsets[index : index + 2]
        return self.counts[start:stop].reshape(self.layout.shape(index))

    def probabilities(self) -> NDArray[np.float64]:
        """Return all tables divided by their totals, flat as ``counts``."""
        return self.counts / np.repeat(self.totals, np.diff(self.layout.offsets))

    def contradictions(self) -> "list[Contradiction]":
        """List what no table of rows could have, worst first (see `Contradiction`)."""
        return [] if self.from_rows else list(self._contradictions)

    @cached_property
    def _contradictions(self) -> "list[Contradiction]":
        from herder.models.consistency import find_contradictions

        return find_contradictions(self)

    def _accepted(self, contradictions: str) -> Self:
        if one_of(contradictions, "contradictions", ("error", "allow")) == "error":
            self.require_consistent()
        return self

    def require_consistent(self) -> None:
        """Raise a ValueError that names the worst contradiction, if there is one."""
        from herder.models.consistency import refuse_contradictions

        refuse_contradictions(self)
