r"""Moments of a discrete table: the joint counts of small groups of columns.

For a clique :math:`\alpha` of columns the moment is its contingency table,

.. math:: n_\alpha(x_\alpha) = \sum_{rows} I[row_\alpha = x_\alpha],
          \qquad p_\alpha = n_\alpha / N_\alpha .

All singles and pairs (order 2) or triples (order 3) of a 0/1 table are what
[welling2009]_ herds; any list of cliques and any alphabets work the same way. Moments
are sums over rows, so parts of a table merge exactly, and published counts serve as
well as rows do. Counts are float64 that hold integers exactly below :math:`2^{53}`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._validation import one_of, positive_int
from herder.models.layout import CliqueLayout, all_cliques, as_cliques
from herder.models.variables import Codes, Variable, encode

__all__ = ["Moments"]

#: Rows counted at a time: a float32 sum of that many ones is exact.
BLOCK = 65_536


@dataclass(frozen=True)
class Moments:
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

    @classmethod
    def from_data(
        cls,
        X: object,
        order: int = 2,
        *,
        cliques: Iterable[Iterable[int | str]] | None = None,
        sample_weight: ArrayLike | None = None,
        missing: str = "error",
        bins: int | Mapping[str, int] | None = None,
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
        bins : int or mapping of column to int, optional
            Cut numeric columns with more distinct values into that many quantile bins.
        """
        return cls.from_codes(
            encode(X, missing=missing, bins=bins),
            order,
            cliques=cliques,
            sample_weight=sample_weight,
        )

    @classmethod
    def from_codes(
        cls,
        codes: Codes,
        order: int = 2,
        *,
        cliques: Iterable[Iterable[int | str]] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Count a table that is coded already (see `herder.models.variables.encode`)."""
        order = positive_int(order, "order")
        names = [variable.name for variable in codes.variables]
        if cliques is None:
            chosen = all_cliques(len(names), min(order, len(names)))
        else:
            chosen = as_cliques(cliques, names)
        weight = _row_weight(sample_weight, codes.rows.shape[0])
        n_values = [variable.n_values for variable in codes.variables]
        layout = CliqueLayout.of(n_values, chosen)
        whole = chosen == all_cliques(len(names), len(chosen[-1]))
        if whole and len(chosen[-1]) <= 3 and set(n_values) == {2}:
            counts, total = _count_binary(codes, len(chosen[-1]), weight)
        else:
            counts, total = _count_cells(codes, layout, weight)
        moments = cls(codes.variables, chosen, counts, np.full(len(chosen), total), True)
        moments.__dict__["layout"] = layout
        return moments

    @classmethod
    def from_chunks(cls, chunks: Iterable[object], order: int = 2, **options: Any) -> Self:
        """Count a table that comes in parts, one part in memory at a time.

        Alphabets may grow from part to part; bins are those of the first part.
        """
        whole: Self | None = None
        for chunk in chunks:
            if whole is None:
                whole = cls.from_data(chunk, order, **options)
                continue
            known = [v if v.edges is not None else None for v in whole.variables]
            codes = _encode_like(chunk, known, options.get("missing", "error"))
            part = cls.from_codes(codes, order, cliques=options.get("cliques"))
            whole = whole.merge(part)
        if whole is None:
            raise ValueError("chunks must hold at least one part, got none")
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
            Whether counts that no table can have are refused.
        """
        from herder.models import published  # it builds Moments, so it imports this file

        one_of(contradictions, "contradictions", ("error", "allow"))
        moments = published.read_counts(counts, total=total, names=names)
        if contradictions == "error":
            moments.require_consistent()
        return moments

    @classmethod
    def load(cls, path: str | PathLike[str], *, contradictions: str = "error") -> "Moments":
        """Read the plain table that `save` writes, or one typed by hand."""
        from herder.models import published

        one_of(contradictions, "contradictions", ("error", "allow"))
        moments = published.load(path)
        if contradictions == "error":
            moments.require_consistent()
        return moments

    def save(self, path: str | PathLike[str]) -> None:
        """Write a table that a person can read and type: csv, npz or parquet by suffix."""
        from herder.models import published

        published.save(self, path)

    def merge(self, *parts: "Moments") -> Self:
        """Add up moments of parts of a table; alphabets are united.

        Examples
        --------
        >>> a, b = Moments.from_data([[0, 1]]), Moments.from_data([[1, 1], [0, 1]])
        >>> a.merge(b).table((0,))
        array([2., 1.])
        """
        whole = self
        for part in parts:
            if part.names != whole.names:
                raise ValueError(
                    f"parts must have the columns {whole.names}, got {part.names}"
                )
            if part.cliques != whole.cliques:
                raise ValueError("parts must have the same cliques")
            united = tuple(
                _unite(a, b) for a, b in zip(whole.variables, part.variables, strict=True)
            )
            left, right = whole._over(united), part._over(united)
            whole = replace(
                left,
                counts=left.counts + right.counts,
                totals=left.totals + right.totals,
                from_rows=whole.from_rows and part.from_rows,
            )
        return whole

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(variable.name for variable in self.variables)

    @property
    def n_variables(self) -> int:
        """Number of columns."""
        return len(self.variables)

    @property
    def n_values(self) -> tuple[int, ...]:
        """Size of each column's alphabet."""
        return tuple(variable.n_values for variable in self.variables)

    @property
    def order(self) -> int:
        """Size of the largest clique."""
        return len(self.cliques[-1])

    @property
    def is_binary(self) -> bool:
        """Whether every column has two values."""
        return set(self.n_values) == {2}

    @cached_property
    def layout(self) -> CliqueLayout:
        """Where each table lies in ``counts``."""
        return CliqueLayout.of(self.n_values, self.cliques)

    @cached_property
    def is_complete(self) -> bool:
        """Whether the cliques are all sets of up to `order` columns."""
        return self.cliques == all_cliques(self.n_variables, self.order)

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
        """Position of a clique, given by columns in ascending order, or None."""
        (wanted,) = as_cliques([clique], self.names)
        return self._clique_index.get(wanted)

    def table(self, clique: Iterable[int | str]) -> NDArray[np.float64]:
        """Joint counts of a clique, one axis per column in ascending order."""
        index = self.index_of(clique)
        if index is None:
            raise KeyError(f"no clique {tuple(clique)}")
        start, stop = self.layout.offsets[index : index + 2]
        return self.counts[start:stop].reshape(self.layout.shape(index))

    def probabilities(self) -> NDArray[np.float64]:
        """All tables divided by their totals, flat as ``counts``."""
        return self.counts / np.repeat(self.totals, np.diff(self.layout.offsets))

    def contradictions(self) -> list[Any]:
        """What no table of rows could have, worst first (see `Contradiction`)."""
        from herder.models.consistency import find_contradictions

        return [] if self.from_rows else find_contradictions(self)

    def require_consistent(self) -> None:
        """Raise a ValueError that names the worst contradiction, if there is one."""
        found = self.contradictions()
        if found:
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            raise ValueError(
                f"moments must not contradict each other, got: {found[0]}{more}; ask for the "
                "nearest consistent moments to herd them all the same"
            )

    def _over(self, variables: tuple[Variable, ...]) -> Self:
        """Give the same counts over larger alphabets."""
        if variables == self.variables:
            return self
        maps = [
            np.array([new.values.index(label) for label in old.values], dtype=np.intp)
            for old, new in zip(self.variables, variables, strict=True)
        ]
        wide = replace(self, variables=variables)
        layout = CliqueLayout.of(wide.n_values, self.cliques)
        counts = np.zeros(layout.offsets[-1])
        for c, clique in enumerate(self.cliques):
            table = counts[layout.offsets[c] : layout.offsets[c + 1]].reshape(layout.shape(c))
            start, stop = self.layout.offsets[c : c + 2]
            table[np.ix_(*(maps[i] for i in clique))] = self.counts[start:stop].reshape(
                self.layout.shape(c)
            )
        return replace(wide, counts=counts)


def _unite(a: Variable, b: Variable) -> Variable:
    if a.values == b.values:
        return a
    if a.edges != b.edges:
        raise ValueError(f"parts must bin {a.name!r} alike, got edges {a.edges} and {b.edges}")
    labels = {label for label in (*a.values, *b.values) if label is not None}
    try:
        ordered: list[Any] = sorted(labels)  # type: ignore[type-var]
    except TypeError:
        ordered = sorted(labels, key=lambda label: (type(label).__name__, str(label)))
    if None in a.values or None in b.values:
        ordered.append(None)
    dtype = a.dtype if a.dtype == b.dtype else _common_dtype(a.dtype, b.dtype)
    return Variable(a.name, tuple(ordered), dtype)


def _common_dtype(a: str, b: str) -> str:
    if "object" in (a, b):
        return "object"
    return np.promote_types(a, b).name


def _encode_like(chunk: object, known: Sequence[Variable | None], missing: str) -> Codes:
    """Code a later part: bins as before, other alphabets its own."""
    from herder.models import variables as v

    columns, names = v._columns(chunk, None)
    if len(columns) != len(known):
        raise ValueError(f"every part must have {len(known)} columns, got {len(columns)}")
    coded = [
        v._encode_column(name, column, variable, missing, None)
        for name, column, variable in zip(names, columns, known, strict=True)
    ]
    out = tuple(variable for variable, _ in coded)
    rows = np.column_stack([codes for _, codes in coded]).astype(v.code_dtype(out))
    return Codes(out, rows)


def _row_weight(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=float)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight must have shape ({n_rows},), got {weight.shape}")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight must be finite and not negative")
    if weight.sum() == 0:
        raise ValueError("sample_weight must not be zero for every row")
    return weight


def _count_cells(
    codes: Codes, layout: CliqueLayout, weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], float]:
    """Count any cliques over any alphabets, block by block."""
    from herder.models import _moments_jit as _jit

    n_rows = codes.rows.shape[0]
    counts = np.zeros(layout.offsets[-1])
    for start in range(0, n_rows, BLOCK):
        block = slice(start, min(start + BLOCK, n_rows))
        columns = np.ascontiguousarray(codes.dense(block).T)
        row_weight = np.empty(0) if weight is None else weight[block]
        cell = np.empty(columns.shape[1], dtype=np.intp)
        _jit.count_cells(
            columns, layout.members, layout.strides, layout.offsets, row_weight, counts, cell
        )
    return counts, float(n_rows if weight is None else weight.sum())


def _count_binary(
    codes: Codes, order: int, weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], float]:
    """Count all singles, pairs and triples of 0/1 columns by matrix products."""
    n_rows, width = codes.rows.shape
    kind = np.float32 if weight is None else np.float64
    ones, total = np.zeros(width), 0.0
    pairs = np.zeros((width, width))
    triples = np.zeros((width, width, width) if order == 3 else (0, 0, 0))
    for start in range(0, n_rows, BLOCK):
        block = slice(start, min(start + BLOCK, n_rows))
        rows = codes.dense(block).astype(kind)
        scaled = rows if weight is None else rows * weight[block, None]
        total += float(len(rows) if weight is None else weight[block].sum())
        ones += scaled.sum(axis=0, dtype=np.float64)
        if order >= 2:
            pairs += scaled.T @ rows
        if order == 3:
            for i in range(width):
                on = rows[:, i] > 0
                triples[i] += scaled[on].T @ rows[on]
    return binary_tables(total, ones, pairs, triples, order), total


def binary_tables(
    total: float | NDArray[np.float64],
    ones: NDArray[np.float64],
    pairs: NDArray[np.float64],
    triples: NDArray[np.float64],
    order: int,
) -> NDArray[np.float64]:
    """Full tables of all cliques from the counts of all-ones, by inclusion and exclusion."""
    width = len(ones)
    parts = [np.column_stack([total - ones, ones]).ravel()]
    if order >= 2 and width >= 2:
        i, j = np.triu_indices(width, 1)
        parts.append(_pair_tables(total, ones[i], ones[j], pairs[i, j]).ravel())
    if order >= 3 and width >= 3:
        i, j, k = _triple_indices(width)
        high = triples[i, j, k]
        low = _pair_tables(total, ones[i], ones[j], pairs[i, j])
        upper = _pair_tables(ones[k], pairs[i, k], pairs[j, k], high)  # the slice x_k = 1
        parts.append(np.stack([low - upper, upper], axis=-1).ravel())
    return np.concatenate(parts)


def _pair_tables(
    total: float | NDArray[np.float64],
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    both: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Cells (00, 01, 10, 11) of many 2 x 2 tables: shape (n, 4)."""
    return np.stack([total - a - b + both, b - both, a - both, both], axis=-1)


def _triple_indices(width: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Indices i < j < k in lexicographic order."""
    i, j, k = np.array(
        [t for t in all_cliques(width, 3) if len(t) == 3], dtype=np.intp
    ).reshape(-1, 3).T
    return i, j, k
