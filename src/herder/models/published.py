r"""Moments as a plain table that a person can read and type.

One row per count::

    variable_a, value_a, variable_b, value_b, count, total
    smokes, 1, coughs, 1, 31, 200

means that of 200 rows 31 have ``smokes = 1`` and ``coughs = 1``. Triples add
``variable_c, value_c``, and so on. The order of the columns is free, and spaces do not
matter.

- A row with a = b, or with b left blank, is a single.
- Values may be left out for 0/1 columns: the count is then that of all ones, and the other
  cells follow from the singles (and pairs, for a triple) by inclusion and exclusion, in
  probabilities when the totals differ. Otherwise cells that are not listed are zero when
  the listed ones add up to the total, and a single one left out is the rest.
- Labels that read as numbers are numbers; in single quotes they are text, as are labels
  with spaces around them. ``(missing)`` is the label of a missing value. Other labels come
  back as text.
- ``[18, 25)`` is a bin: numbers from 18 up to, not including, 25, or dates such as
  ``[2020-01-01, 2020-02-01)``. Values come back spread evenly over it, with the decimals that
  its ends have. In a column of bins a single number is a bin by itself. What lies beyond the first
  and the last bin of a column is counted in them.
- A row with nothing but ``variable_a`` (and ``value_a``) names a column (and one of its
  labels) ahead of its counts. It is needed only where columns or labels have an order
  other than that of first mention or that of sorting.
- A row with ``(rows)`` in place of a name says in its ``count`` how many rows follow. If there
  are more or fewer, the table is refused: it was cut short. `save` writes it into csv files (the
  others cannot be read if they are cut short); in a table typed by hand it may be left out.
- A row with ``(rounded)`` in place of a name says in its ``count`` what all counts were rounded to
  multiples of. Differences that this explains are then no contradictions.
- The same count may be listed again, also in another order of the columns or over another
  total (60 of 300 and 100 of 500).

Two reports may be put into one table. Where they state a cell differently they contradict
each other, which is refused unless contradictions are allowed; then

- the cell is the mean of the stated probabilities, all with equal weight: to herd a feature
  towards two targets at equal rates is to herd it towards their mean (`herder.models.stated`);
- the total of its clique is the largest one that is stated, and counts need not be whole;
- rows with one total are one report: what it leaves out is zero, or the rest, by the rule
  above. Reports with equal totals cannot be distinguished, and should list the same cells;
- `Moments.contradictions` lists it, with both statements. A file that is saved has the means.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations, product
from os import SEEK_END, PathLike
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import listed, plain_array, positive_number, real_array
from herder.data import open_table, write_table
from herder.data.columns import named_columns, table_columns
from herder.data.source import TableSource, as_path, require_room, silent
from herder.data.variables import Bins, Variable, alphabet, file_bins
from herder.models.consistency import ROUNDING
from herder.models.counting import binary_tables
from herder.models.layout import all_cliques
from herder.models.moments import Moments
from herder.models.plain_table import moments_of_rows, tables_of_ones
from herder.models.plain_text import ROUNDED, ROWS, label_text, name_text, states

__all__ = ["count_table", "load", "open_input", "read_counts", "save"]


def read_counts(
    counts: object, *, total: float | None = None, names: Sequence[str] | None = None
) -> Moments:
    """Take a symmetric matrix of joint counts, or the columns or rows of a plain table.

    Parameters
    ----------
    counts : array-like of shape (D, D), frame, mapping of columns or list of mappings
        See `herder.Moments.from_counts`.
    total : float, optional
        Number of rows behind the counts, where the table has none; 1 for probabilities.
    names : list of str, optional
        Names of the columns of a matrix, or the order of those of a plain table.

    Examples
    --------
    >>> rows = [{"variable_a": "rain", "count": 30}, {"variable_a": "wind", "count": 50}]
    >>> read_counts(rows, total=100).counts
    array([70., 30., 50., 50.])
    """
    total = None if total is None else positive_number(total, "total")
    names = None if names is None else listed(names, "names", "texts")
    if isinstance(counts, Sequence) and counts and all(isinstance(r, Mapping) for r in counts):
        keys = list(dict.fromkeys(str(key) for row in counts for key in row))
        columns = {key: [row.get(key) for row in counts] for key in keys}
        return moments_of_rows(columns, total=total, names=names)
    named = named_columns(counts)
    if named is None:
        return _of_matrix(counts, total, names)
    found = [name.strip().lower() for name in named[0]]
    if not isinstance(counts, Mapping) and not {"variable_a", "count"} & set(found):
        if not named[1]:
            raise ParameterError("counts", "have columns", got="none")
        matrix = np.column_stack([plain_array(column, "counts") for column in named[1]])
        return _of_matrix(matrix, total, names or named[0])
    columns = {
        name: plain_array(column, "counts").astype(object).tolist()
        for name, column in zip(named[0], named[1], strict=True)
    }
    return moments_of_rows(columns, total=total, names=names)


def open_input(path: str | PathLike[str], max_memory: int | None = None) -> Moments | TableSource:
    """Open a table file; if it is a plain table of counts, read it."""
    source = open_table(path, max_memory=max_memory)
    found = {name.strip().lower() for name in source.names}
    lacking = {"variable_a", "count"} - found
    if not lacking:
        return _read(source, max_memory)
    if len(found & {"variable_a", "variable_b", "count", "total"}) == 3:
        rule = f"{path} must have a column {lacking.pop()!r} to be a file of counts"
        raise ValueError(f"{rule}, got {', '.join(source.names)}")
    return source


def count_table(
    source: TableSource,
    order: int,
    *,
    missing: str,
    bins: Bins,
    max_memory: int,
    cliques: Any = None,
    progress: Callable[[float, str], None] = silent,
) -> Moments:
    """Count a table file in chunks; the parameters are those of `Moments.from_chunks`."""
    options: Any = {"missing": missing, "max_memory": max_memory}
    try:
        chosen = file_bins(source, bins, order=order, **options)
        chunks = source.within(max_memory, "counting", progress)
        return Moments.from_chunks(chunks, order, cliques=cliques, bins=chosen, **options)
    except ParameterError:
        if isinstance(missing, str) and missing == "error":
            _refuse_gaps(source)
        raise


def _refuse_gaps(source: TableSource) -> None:
    """Refuse a file with missing values, by column and place."""
    counts: dict[str, int] = {}
    places: dict[str, Any] = {}
    for block in source.blocks():
        for column in table_columns(block.columns, None) if len(block) else ():
            if None not in column.labels:
                continue
            gaps = np.flatnonzero(column.index == column.labels.index(None))
            counts[column.name] = counts.get(column.name, 0) + len(gaps)
            places.setdefault(column.name, block.places[gaps[0]])
    if counts:
        name, n = next(iter(counts.items()))
        others = f", {sum(counts.values()) - n:,} in other columns" if len(counts) > 1 else ""
        found = f"{n:,} in column {name!r}, first in {source.unit} {places[name]}{others}"
        remedy = "pass missing='category' to make them a category"
        raise ParameterError("X", "not contain NaN or missing values", got=f"{found}; {remedy}")


def load(path: str | PathLike[str], max_memory: int | None = None) -> Moments:
    """Read a plain table from a csv, npz or parquet file."""
    return _read(open_table(path, max_memory=max_memory), max_memory)


def _read(table: TableSource, max_memory: int | None) -> Moments:
    path = table.path
    require_room(table.n_rows * table.row_bytes, max_memory, f"the rows of {path}")
    blocks = list(table.blocks())
    columns: dict[str, list[Any]] = {
        name: [item for block in blocks for item in block.columns[name].tolist()]
        for name in table.names
    }
    places = np.concatenate([block.places for block in blocks])
    if any(states(name, ROWS) for name in columns.get("variable_a", ())):
        _require_line_end(path)
    return moments_of_rows(
        columns, title=str(path), where=lambda row: f"{table.unit} {places[row]} of {path}"
    )


def _require_line_end(path: Path) -> None:
    """Refuse a csv file whose last number may have lost digits, the number of rows being right."""
    if path.suffix.lower() == ".csv":
        with open(path, "rb") as stream:
            stream.seek(-1, SEEK_END)
            if stream.read(1) not in b"\r\n":
                raise ValueError(
                    f"{path} must end with a line end, got none: the file was cut short, or "
                    f"changed without its row {ROWS}, which may be deleted"
                )


def save(moments: Moments, path: str | PathLike[str]) -> None:
    """Write a plain table, without values if all columns are 0/1 and nothing is lost by it."""
    compact = _is_compact(moments)
    fields = [list(_texts(variable, compact)) for variable in moments.variables]
    kinds = ("variable",) if compact else ("variable", "value")
    letters = ascii_lowercase[: moments.order]
    names = [*(f"{kind}_{letter}" for letter in letters for kind in kinds), "count", "total"]
    rows: list[list[str]] = []
    for clique in moments.cliques:
        for cell in product(*(fields[i] for i in clique)):
            twice = 2 if len(cell) == 1 and moments.order > 1 else 1  # a single: a = b
            rows.append([text for texts in cell for text in texts] * twice)
    # rows above the counts, with what they have in place of a count
    above: list[tuple[list[str], Any]] = []
    if moments.rounding:
        above += [([ROUNDED], _whole(np.array([moments.rounding])).tolist()[0])]
    if not _is_plain(moments):
        above += [(texts, "") for field in fields for texts in field]
    is_csv = as_path(path).suffix.lower() == ".csv"
    if is_csv:
        above.insert(0, ([ROWS], len(above) + len(rows)))
    offsets = moments.layout.offsets
    counts = _whole(moments.counts[offsets[1:] - 1] if compact else moments.counts)
    totals = _whole(np.repeat(moments.totals, 1 if compact else np.diff(offsets)))
    if above:
        counts = _objects([*(count for _, count in above), *counts.tolist()])
        totals = _objects([*[""] * len(above), *totals.tolist()])
        if not is_csv:  # whose columns are of one kind
            counts, totals = (_objects([*map(str, column)]) for column in (counts, totals))
    width = len(names) - 2
    padded = [row + [""] * (width - len(row)) for row in (*(texts for texts, _ in above), *rows)]
    columns = [_objects(column) for column in zip(*padded, strict=True)]
    write_table(path, names, [dict(zip(names, [*columns, counts, totals], strict=True))])


def _of_matrix(counts: object, total: float | None, names: Sequence[str] | None) -> Moments:
    matrix = real_array(counts, "counts", "be a matrix of numbers or a plain table")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ParameterError("counts", "be a square matrix", got=f"shape {matrix.shape}")
    width = len(matrix)
    labels = [f"x{j}" for j in range(width)] if names is None else [str(n) for n in names]
    if len(set(labels)) != width or len(labels) != width:
        raise ParameterError("names", f"be {width} different names", labels)
    if total is None:
        raise ParameterError("total", "be given with a matrix of counts (1 for probabilities)")
    outside = ~((matrix >= 0) & (matrix <= total))
    if outside.any():
        a, b = np.argwhere(outside)[0]
        rule = f"be finite and lie between 0 and the total {total:g}"
        raise ParameterError("counts", rule, got=f"{matrix[a, b]:g} for {labels[a]}, {labels[b]}")
    gap = np.abs(matrix - matrix.T)
    if gap.max() > ROUNDING * total:
        a, b = np.unravel_index(int(np.argmax(gap)), gap.shape)
        both = f"{matrix[a, b]:g} and {matrix[b, a]:g} for {labels[a]}, {labels[b]}"
        raise ParameterError("counts", "be symmetric", got=both)
    order = min(2, width)
    flat = binary_tables(float(total), matrix.diagonal(), matrix, np.empty((0, 0, 0)), order)
    cliques = all_cliques(width, order)
    variables = tuple(Variable(name, (0, 1), "int64") for name in labels)
    return Moments(variables, cliques, flat, np.full(len(cliques), float(total)))


def _is_compact(moments: Moments) -> bool:
    """Return whether the counts of ones determine all others, bit for bit."""
    if not all(variable.is_binary for variable in moments.variables):
        return False
    at = moments.layout.offsets[1:] - 1
    known = zip(moments.counts[at].tolist(), moments.totals.tolist(), strict=True)
    ones = dict(zip(moments.cliques, known, strict=True))
    cells: list[NDArray[np.float64]] = []
    for size in range(1, moments.order + 1):
        cliques = [clique for clique in moments.cliques if len(clique) == size]
        parts = (part for c in cliques for part in combinations(c, size - 1) if part)
        if not all(part in ones for part in parts):
            return False
        cells.append(tables_of_ones(cliques, ones).ravel())
    return np.array_equal(np.concatenate(cells), moments.counts)


def _is_plain(moments: Moments) -> bool:
    """Return whether first mention and sorting restore the order of the columns and labels."""
    mentioned = dict.fromkeys(i for clique in moments.cliques for i in clique)
    if list(mentioned) != list(range(moments.n_variables)):
        return False
    for variable in moments.variables:
        labels = {label for label in variable.values if label is not None}
        missing = (None,) if None in variable.values else ()
        if (*alphabet(labels), *missing) != variable.values:
            return False
    return True


def _texts(variable: Variable, compact: bool) -> Iterable[list[str]]:
    """Yield how a column is written: its name, beside each of its labels unless compact."""
    name = name_text(variable.name)
    if compact:
        yield [name]
    else:
        yield from ([name, label_text(label)] for label in variable.values)


def _objects(texts: Sequence[Hashable]) -> NDArray[Any]:
    column = np.empty(len(texts), dtype=object)
    column[:] = texts
    return column


def _whole(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Return integers where all are, so that a file reads 31 and not 31.0."""
    whole = bool((numbers == np.rint(numbers)).all()) and np.abs(numbers).max() < 2**53
    return numbers.astype(np.int64) if whole else numbers
