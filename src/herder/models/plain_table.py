"""From the rows of a plain table of counts to full contingency tables."""

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import combinations, groupby, pairwise, product
from string import ascii_lowercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.data.intervals import Interval, as_bins
from herder.data.variables import Variable, alphabet
from herder.models.consistency import MAX_LISTED, ROUNDING, Contradiction, clique_title
from herder.models.counting import exclude
from herder.models.moments import Moments
from herder.models.plain_text import ROUNDED, ROWS, is_blank, read_label, read_name, states
from herder.models.stated import Statement, in_words, mean_count, spread

__all__ = ["moments_of_rows", "tables_of_ones"]

Clique = tuple[int, ...]

#: The value of a 0/1 column that a row does not give; it counts as 1.
LEFT_OUT: Any = object()


@dataclass(slots=True)
class _Column:
    """What the rows state about the values of one column."""

    index: int
    labels: set[Hashable] = field(default_factory=set)
    declared: dict[Hashable, None] = field(default_factory=dict)
    blank: int | None = None  # the first row without its value


@dataclass(slots=True)
class _Entry:
    """What the rows state about one clique: some of its cells, by one total or several."""

    totals: dict[float, int] = field(default_factory=dict)  # with the first row
    cells: dict[tuple[Any, ...], list[Statement]] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """What the table will sum to: the largest total, so that it needs no common one."""
        return max(self.totals)

    @property
    def row(self) -> int:
        return min(self.totals.values())

    def count(self, values: tuple[Any, ...]) -> float:
        return mean_count(self.cells[values], self.total)


@dataclass(slots=True)
class _Reader:
    """What the rows so far state, by column and by clique."""

    where: Callable[[int], str]
    rounding: float = 0.0
    columns: dict[str, _Column] = field(default_factory=dict)
    entries: dict[Clique, _Entry] = field(default_factory=dict)

    def column(self, name: Any) -> _Column:
        found = read_name(name)
        if found not in self.columns:
            self.columns[found] = _Column(len(self.columns))
        return self.columns[found]

    def error(self, rule: str, got: str, row: int, remedy: str = "") -> ValueError:
        return ValueError(f"{rule}, got {got} in {self.where(row)}{remedy}")

    def names(self, clique: Clique) -> tuple[str, ...]:
        known = list(self.columns)
        return tuple(known[i] for i in clique)

    def number(self, text: Any, name: str, row: int) -> float:
        try:
            number = float(text)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            shown = "a blank" if is_blank(text) else repr(text)
            raise self.error(f"{name} must be a number", shown, row)
        return number

    def cell(self, given: list[tuple[Any, Any]], row: int) -> dict[int, Any]:
        """Return the value of each variable in a row, in the row's order."""
        cell: dict[int, Any] = {}
        for name, value in given:
            index = self.column(name).index
            label = LEFT_OUT if is_blank(value) else read_label(value)
            before = cell.get(index, LEFT_OUT)
            if before is not LEFT_OUT and label is not LEFT_OUT and before != label:
                got = f"{read_name(name)} = {before!r} and {label!r}"
                raise self.error("a column must have one value in a row", got, row)
            cell[index] = before if label is LEFT_OUT else label
        for name, _ in given:
            column = self.column(name)
            if cell[column.index] is not LEFT_OUT:
                column.labels.add(cell[column.index])
            elif column.blank is None:
                column.blank = row
        return cell

    def state(self, cell: dict[int, Any], count: float, total: float, row: int) -> None:
        """Keep the count of a cell, unless the same was stated before."""
        clique = tuple(sorted(cell))
        values = tuple(1 if cell[i] is LEFT_OUT else cell[i] for i in clique)
        entry = self.entries.setdefault(clique, _Entry())
        entry.totals.setdefault(total, row)
        stated = entry.cells.setdefault(values, [])
        if all((before.count, before.total) != (count, total) for before in stated):
            stated.append(Statement(count, total, row))


def moments_of_rows(
    columns: Mapping[str, Sequence[Any]],
    *,
    total: float | None = None,
    names: Sequence[str] | None = None,
    title: str = "counts",
    where: Callable[[int], str] = lambda row: f"row {row + 1}",
) -> Moments:
    """Make moments from the columns ``variable_a, value_a, ..., count, total``.

    Errors call the table ``title`` and a row ``where(row)``.
    """
    fields, letters = _known_columns(columns, title, total)
    reader = _Reader(where)
    for name in names or ():
        reader.column(name)
    n_named = len(reader.columns)
    nothing = [None] * len(fields["count"])
    pairs = [(fields[f"variable_{x}"], fields.get(f"value_{x}", nothing)) for x in letters]
    totals = fields.get("total", nothing)
    _require_rows(reader, fields)
    for row, (count, of) in enumerate(zip(fields["count"], totals, strict=True)):
        if states(fields["variable_a"][row], ROWS):
            continue
        if states(fields["variable_a"][row], ROUNDED):
            reader.rounding = reader.number(count, "count", row)
            if not reader.rounding > 0:
                raise reader.error("count must be positive", f"{reader.rounding:g}", row)
            continue
        given = [(who[row], what[row]) for who, what in pairs if not is_blank(who[row])]
        if not given:
            raise reader.error("variable_a must be given", "a blank", row)
        if len(given) == 1 and is_blank(count) and is_blank(of):
            ((name, value),) = given
            column = reader.column(name)
            if not is_blank(value):
                column.declared.setdefault(read_label(value))
            continue
        cell = reader.cell(given, row)
        number = reader.number(count, "count", row)
        known = total if is_blank(of) else reader.number(of, "total", row)
        if known is None:
            remedy = ": fill it in or pass total="
            raise reader.error("total must be given", "a blank", row, remedy)
        if not known > 0:
            raise reader.error("total must be positive", f"{known:g}", row)
        if not 0 <= number <= known:
            rule = f"count must lie between 0 and its total {known:g}"
            raise reader.error(rule, f"{number:g}", row)
        reader.state(cell, number, known, row)
    if names is not None and len(reader.columns) > n_named:
        extra = list(reader.columns)[n_named:]
        raise ValueError(f"names must name all columns, got none for {extra}")
    if not reader.entries:
        raise ValueError(f"{title} must hold at least one count, got none")
    return _complete(reader, tuple(_variable(reader, name) for name in reader.columns))


def _known_columns(
    columns: Mapping[str, Sequence[Any]], title: str, total: float | None
) -> tuple[dict[str, Sequence[Any]], str]:
    """Return the columns by their plain names, and the letters that these end in."""
    fields: dict[str, Sequence[Any]] = {}
    for name, column in columns.items():
        known = name.strip().lower()
        if not re.fullmatch(r"(variable|value)_[a-z]|count|total", known):
            wanted = "variable_a, value_a, variable_b, value_b, count, total"
            rule = f"{title} must have the columns {wanted} (values may be left out)"
            raise ValueError(f"{rule}, got {name!r}")
        if known in fields:
            raise ValueError(f"{title} must have each column once, got {known!r} twice")
        fields[known] = column
    used = [ascii_lowercase.index(name[-1]) for name in fields if name[-2] == "_"]
    letters = ascii_lowercase[: max(used, default=0) + 1]
    wanted = ["count"] if total is not None else ["count", "total"]
    for name in [f"variable_{letter}" for letter in letters] + wanted:
        if name not in fields:
            hint = " (or pass total=)" if name == "total" else ""
            rule = f"{title} must have a column {name!r}{hint}"
            raise ValueError(f"{rule}, got {', '.join(columns)}")
    return fields, letters


def _require_rows(reader: _Reader, fields: Mapping[str, Sequence[Any]]) -> None:
    """Refuse a table with more or fewer rows than it says; up to the next such row, if any."""
    names = fields["variable_a"]
    said = [row for row, name in enumerate(names) if states(name, ROWS)]
    for row, after in pairwise([*said, len(names)]):
        number, found = reader.number(fields["count"][row], "count", row), after - row - 1
        if number != found:
            raise ValueError(
                f"{reader.where(row)} must be followed by {number:g} rows, as its count says, got "
                f"{found}: the table was cut short, or changed without its row {ROWS}, which may "
                "be deleted"
            )


def _variable(reader: _Reader, name: str) -> Variable:
    column = reader.columns[name]
    seen, declared = column.labels, column.declared
    values: list[Any] = [*declared, *alphabet(seen - declared.keys() - {None})]
    if not values and (column.blank is not None or not seen):
        values = [0, 1]
    if None in seen and None not in declared:
        values.append(None)
    labels = [value for value in values if value is not None]
    if any(isinstance(label, Interval) for label in labels):
        return _binned(name, alphabet(set(labels)), None in values)
    if column.blank is not None and not {0, 1} >= set(labels):
        shown = ", ".join(repr(value) for value in values)
        remedy = f": only a 0/1 column may leave it out, and this one has {shown}"
        raise reader.error(f"value of {name!r} must be given", "a blank", column.blank, remedy)
    dtype = "object"
    if labels and all(isinstance(v, int | float) and not isinstance(v, bool) for v in labels):
        whole = all(isinstance(value, int) for value in labels) and None not in values
        dtype = "int64" if whole else "float64"
    return Variable(name, tuple(values), dtype)


def _binned(name: str, labels: Sequence[Any], missing: bool) -> Variable:
    """Return a column of bins; they have the order of numbers, whatever that in the file is."""
    bins = as_bins(labels, name)
    scale = next(label.scale for label in bins if isinstance(label, Interval))
    whole = scale == 0 and all(isinstance(label, Interval | int) for label in bins)
    dtype = "int64" if whole else "float64"
    if isinstance(scale, str):
        dtype = f"datetime64[{scale}]"
    elif whole and missing:
        dtype = "object"  # integers and None
    return Variable.binned(name, bins, dtype, missing=missing)


def _complete(reader: _Reader, variables: tuple[Variable, ...]) -> Moments:
    """Fill in the cells that were not listed."""
    cliques = tuple(sorted(reader.entries, key=lambda clique: (len(clique), clique)))
    code = [
        _codes(variable, column)
        for variable, column in zip(variables, reader.columns.values(), strict=True)
    ]
    tables: dict[Clique, NDArray[np.float64]] = {}
    ones: dict[Clique, tuple[float, float]] = {}
    for size, group in groupby(cliques, key=len):
        all_on, pending = (1,) * size, []
        for clique in group:
            entry = reader.entries[clique]
            is_binary = all(variables[i].is_binary for i in clique)
            if size > 1 and is_binary and list(entry.cells) == [all_on]:
                ones[clique] = (entry.count(all_on), entry.total)
                if _has_parts(reader, clique, ones):
                    pending.append(clique)
                else:
                    tables[clique] = np.zeros([2] * size)
                    tables[clique][all_on] = entry.total
            else:
                tables[clique] = _listed(reader, clique, [code[i] for i in clique])
                if is_binary:
                    ones[clique] = (float(tables[clique][all_on]), entry.total)
        tables.update(zip(pending, tables_of_ones(pending, ones), strict=True))
    counts = np.concatenate([tables[clique].ravel() for clique in cliques])
    totals = np.array([reader.entries[clique].total for clique in cliques])
    conflicts = _conflicts(reader, cliques)
    return Moments(variables, cliques, counts, totals, False, conflicts, reader.rounding)


def _codes(variable: Variable, column: _Column) -> dict[Hashable, int]:
    """Return the code of each label as it was read: bins may have been written otherwise."""
    labels = variable.values
    if variable.edges is not None:
        read = alphabet((column.labels | column.declared.keys()) - {None})
        labels = (*read, None) if None in labels else read
    return {label: code for code, label in enumerate(labels)}


def _conflicts(reader: _Reader, cliques: Sequence[Clique]) -> tuple[Contradiction, ...]:
    """Return for each clique the cell on which statements differ most; the worst cliques first."""
    found: list[Contradiction] = []
    for clique in cliques:
        cells = reader.entries[clique].cells
        # rounding must not decide which of two as bad is shown
        values = max(cells, key=lambda values: round(spread(cells[values]), 9))
        size = spread(cells[values])
        least = min(statement.total for statement in cells[values])
        if size > reader.rounding / least:
            columns = reader.names(clique)
            event = ", ".join(f"{n}={value}" for n, value in zip(columns, values, strict=True))
            stated = in_words(event, cells[values], reader.where)
            message = f"{clique_title(columns)} is stated {stated}"
            found.append(Contradiction("stated", columns, size, message))
    return tuple(sorted(found, key=lambda c: -round(c.size, 9))[:MAX_LISTED])


def _has_parts(reader: _Reader, clique: Clique, ones: Mapping[Clique, Any]) -> bool:
    """Return whether all smaller counts are there; raise an error if one is needed and missing."""
    parts = (part for size in range(1, len(clique)) for part in combinations(clique, size))
    lacking = next((part for part in parts if part not in ones), None)
    if lacking is None:
        return True
    entry, names = reader.entries[clique], reader.names(lacking)
    (values,) = entry.cells
    if entry.count(values) == entry.total:
        return False
    columns = ", ".join(names * 2 if len(names) == 1 else names)
    others = [name for name in reader.columns if name not in names]
    near = [match for name in names for match in get_close_matches(name, others, 1, 0.75)]
    hint = f" (or is {near[0]!r} meant?)" if near else ""
    raise ValueError(
        f"{clique_title(reader.names(clique))} must come with the count of {', '.join(names)} "
        f"alone or with the counts of all its values, got neither ({reader.where(entry.row)}): "
        f"add a row for {columns}{hint}"
    )


def tables_of_ones(
    cliques: Sequence[Clique], ones: Mapping[Clique, tuple[float, float]]
) -> NDArray[np.float64]:
    """Return full tables of 0/1 cliques of one size from counts of ones and their totals."""
    if not cliques:
        return np.empty((0,))
    width = len(cliques[0])
    counts = np.empty((len(cliques), 2**width))
    total = np.array([ones[clique][1] for clique in cliques])
    counts[:, 0] = total
    for mask in range(1, 2**width):
        axes = [axis for axis in range(width) if mask >> (width - 1 - axis) & 1]
        part = np.array([ones[tuple([clique[a] for a in axes])] for clique in cliques])
        # a count over the same total is taken as it is, so that integers stay integers
        scale = np.where(part[:, 1] == total, 1.0, total / part[:, 1])
        counts[:, mask] = part[:, 0] * scale
    return exclude(counts).reshape(len(cliques), *[2] * width)


def _listed(
    reader: _Reader, clique: Clique, codes: Sequence[Mapping[Hashable, int]]
) -> NDArray[np.float64]:
    """Return the table of a clique whose cells are listed; ``codes`` are those of its columns."""
    entry = reader.entries[clique]
    table = np.full([len(code) for code in codes], np.nan)
    _add_left_out(entry, table.size)
    for values in entry.cells:
        table[tuple(code[v] for code, v in zip(codes, values, strict=True))] = entry.count(values)
    absent = np.isnan(table)
    n_absent, known = int(absent.sum()), float(np.nansum(table))
    # where reports differ, the means of what they list need not add up any better than they do
    slack = ROUNDING + sum(spread(stated) for stated in entry.cells.values())
    slack += (len(entry.cells) + 1) * reader.rounding / 2 / entry.total
    if n_absent == 1:
        table[absent] = entry.total - known if known < entry.total or not reader.rounding else 0.0
    elif n_absent and abs(known - entry.total) <= slack * entry.total:
        table[absent] = 0.0
    elif n_absent:
        first = list(product(*codes))[int(np.argmax(absent))]
        raise ValueError(
            f"the counts of {clique_title(reader.names(clique))} must add up to their total "
            f"{entry.total:g} when cells are left out, got {known:g} ({reader.where(entry.row)}): "
            f"add the {n_absent} missing cells, such as {', '.join(repr(v) for v in first)}"
        )
    return table


def _add_left_out(entry: _Entry, n_cells: int) -> None:
    """State what follows, for one total, about cells that are listed only for another one."""
    for total, row in entry.totals.items() if len(entry.totals) > 1 else ():
        stated = {
            values: [statement for statement in statements if statement.total == total]
            for values, statements in entry.cells.items()
        }
        listed = [mean_count(statements, total) for statements in stated.values() if statements]
        rest = total - sum(listed)
        if len(listed) + 1 < n_cells and abs(rest) > ROUNDING * total:
            continue
        count = rest if len(listed) + 1 == n_cells else 0.0
        for values, statements in stated.items():
            if not statements:
                entry.cells[values].append(Statement(count, total, row, left_out=True))
