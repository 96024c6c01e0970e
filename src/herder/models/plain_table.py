"""From the rows of a plain table of counts to full contingency tables."""

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import combinations, product
from string import ascii_lowercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.data.variables import Variable, alphabet
from herder.models.consistency import MAX_LISTED, Contradiction
from herder.models.counting import exclude
from herder.models.moments import Moments
from herder.models.plain_text import is_blank, read_label, read_name
from herder.models.stated import Statement, in_words, mean_count, spread

__all__ = ["Source", "moments_of_rows", "tables_of_ones"]

Clique = tuple[int, ...]

#: Counts whose sum is this close to the total, relative to it, add up to it.
ROUNDING = 1e-9


class _LeftOut:
    """The value of a 0/1 column that a row does not give; it stands for 1."""


LEFT_OUT = _LeftOut()


@dataclass(frozen=True, slots=True)
class Source:
    """How errors call a table and its rows."""

    title: str = "counts"
    where: Callable[[int], str] = lambda row: f"row {row + 1}"


@dataclass(slots=True)
class _Entry:
    """What the rows say about one clique: some of its cells, by one total or several."""

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
    """What the rows so far have said."""

    source: Source
    position: dict[str, int]
    labels: list[dict[Hashable, int]]  # in order of first mention, with the row
    declared: list[list[Hashable]]
    left_out: dict[int, int] = field(default_factory=dict)
    entries: dict[Clique, _Entry] = field(default_factory=dict)

    def variable(self, name: Any) -> int:
        index = self.position.setdefault(read_name(name), len(self.position))
        if index == len(self.labels):
            self.labels.append({})
            self.declared.append([])
        return index

    def where(self, row: int) -> str:
        return self.source.where(row)


def moments_of_rows(
    columns: Mapping[str, Sequence[Any]],
    *,
    total: float | None = None,
    names: Sequence[str] | None = None,
    source: Source | None = None,
) -> Moments:
    """Make moments from the columns ``variable_a, value_a, ..., count, total``."""
    source = source or Source()
    fields, letters = _known_columns(columns, source, total)
    reader = _Reader(source, {}, [], [])
    for name in names or ():
        reader.variable(name)
    n_named = len(reader.position)
    nothing = [None] * len(fields["count"])
    pairs = [
        (fields[f"variable_{letter}"], fields.get(f"value_{letter}", nothing))
        for letter in letters
    ]
    totals = fields.get("total", nothing)
    for row, (count, of) in enumerate(zip(fields["count"], totals, strict=True)):
        given = [(who[row], what[row]) for who, what in pairs if not is_blank(who[row])]
        if not given:
            raise ValueError(f"variable_a must be given, got a blank in {source.where(row)}")
        if len(given) == 1 and is_blank(count) and is_blank(of):
            _declare(reader, *given[0])
            continue
        cell = _cell(reader, given, row)
        number = _number(count, "count", source, row)
        known = _number(of, "total", source, row) if not is_blank(of) else total
        if known is None:
            raise ValueError(
                f"total must be given, got a blank in {source.where(row)}: fill it in or pass "
                "total="
            )
        if not known > 0:
            raise ValueError(f"total must be positive, got {known:g} in {source.where(row)}")
        if not 0 <= number <= known:
            rule = f"count must lie between 0 and its total {known:g}"
            raise ValueError(f"{rule}, got {number:g} in {source.where(row)}")
        _note(reader, cell, number, known, row)
    if names is not None and len(reader.position) > n_named:
        extra = list(reader.position)[n_named:]
        raise ValueError(f"names must name all columns, got none for {extra}")
    if not reader.entries:
        raise ValueError(f"{source.title} must hold at least one count, got none")
    variables = tuple(_variable(reader, name, i) for name, i in reader.position.items())
    return _complete(reader, variables)


def _known_columns(
    columns: Mapping[str, Sequence[Any]], source: Source, total: float | None
) -> tuple[dict[str, Sequence[Any]], str]:
    fields: dict[str, Sequence[Any]] = {}
    for name, column in columns.items():
        known = name.strip().lower()
        if not re.fullmatch(r"(variable|value)_[a-z]|count|total", known):
            raise ValueError(
                f"{source.title} must have the columns variable_a, value_a, variable_b, "
                f"value_b, count, total (values may be left out), got {name!r}"
            )
        if known in fields:
            raise ValueError(f"{source.title} must have each column once, got {known!r} twice")
        fields[known] = column
    used = [ascii_lowercase.index(name[-1]) for name in fields if name[-2] == "_"]
    letters = ascii_lowercase[: max(used, default=0) + 1]
    wanted = ["count", *(["total"] if total is None else [])]
    for name in [f"variable_{letter}" for letter in letters] + wanted:
        if name not in fields:
            hint = " (or pass total=)" if name == "total" else ""
            raise ValueError(
                f"{source.title} must have a column {name!r}{hint}, got {', '.join(columns)}"
            )
    return fields, letters


def _number(text: Any, name: str, source: Source, row: int) -> float:
    try:
        number = float(text)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        shown = "a blank" if is_blank(text) else repr(text)
        raise ValueError(f"{name} must be a number, got {shown} in {source.where(row)}")
    return number


def _declare(reader: _Reader, name: Any, value: Any) -> None:
    index = reader.variable(name)
    if not is_blank(value):
        label = read_label(value)
        if label not in reader.declared[index]:
            reader.declared[index].append(label)


def _cell(reader: _Reader, given: list[tuple[Any, Any]], row: int) -> dict[int, Any]:
    """Return the value of each variable in a row, in the row's order."""
    cell: dict[int, Any] = {}
    for name, value in given:
        index = reader.variable(name)
        label = LEFT_OUT if is_blank(value) else read_label(value)
        before = cell.get(index, LEFT_OUT)
        if before is not LEFT_OUT and label is not LEFT_OUT and before != label:
            raise ValueError(
                f"a column must have one value in a row, got {read_name(name)} = {before!r} and "
                f"{label!r} in {reader.where(row)}"
            )
        cell[index] = before if label is LEFT_OUT else label
    for index, label in cell.items():
        if label is LEFT_OUT:
            reader.left_out.setdefault(index, row)
        else:
            reader.labels[index].setdefault(label, row)
    return cell


def _note(reader: _Reader, cell: dict[int, Any], count: float, total: float, row: int) -> None:
    clique = tuple(sorted(cell))
    values = tuple(1 if cell[i] is LEFT_OUT else cell[i] for i in clique)
    entry = reader.entries.setdefault(clique, _Entry())
    entry.totals.setdefault(total, row)
    told = entry.cells.setdefault(values, [])
    if all((before.count, before.total) != (count, total) for before in told):
        told.append(Statement(count, total, row))


def _title(reader: _Reader, clique: Clique) -> str:
    names = list(reader.position)
    kind = {1: "the single", 2: "the pair", 3: "the triple"}.get(len(clique), "the clique")
    return f"{kind} {', '.join(names[i] for i in clique)}"


def _variable(reader: _Reader, name: str, index: int) -> Variable:
    seen = set(reader.labels[index])
    declared = reader.declared[index]
    rest = seen - set(declared) - {None}
    values: list[Hashable] = [*declared, *alphabet(rest)]
    if not values and (index in reader.left_out or not seen):
        values = [0, 1]
    if None in seen and None not in declared:
        values.append(None)
    if index in reader.left_out and not {0, 1} >= set(values) - {None}:
        raise ValueError(
            f"value of {name!r} must be given, got a blank in "
            f"{reader.where(reader.left_out[index])}: only a 0/1 column may leave it out, and "
            f"this one has {', '.join(repr(value) for value in values)}"
        )
    labels = [value for value in values if value is not None]
    dtype = "object"
    if labels and all(isinstance(v, int | float) and not isinstance(v, bool) for v in labels):
        whole = all(isinstance(value, int) for value in labels) and None not in values
        dtype = "int64" if whole else "float64"
    return Variable(name, tuple(values), dtype)


def _complete(reader: _Reader, variables: tuple[Variable, ...]) -> Moments:
    """Fill in the cells that were not listed."""
    cliques = tuple(sorted(reader.entries, key=lambda clique: (len(clique), clique)))
    code = [{value: c for c, value in enumerate(v.values)} for v in variables]
    switch = [variable.is_binary for variable in variables]
    tables: dict[Clique, NDArray[np.float64]] = {}
    ones: dict[Clique, tuple[float, float]] = {}
    pending: list[Clique] = []
    for position, clique in enumerate(cliques):
        entry = reader.entries[clique]
        all_on = (1,) * len(clique)
        is_switches = all(switch[i] for i in clique)
        if len(clique) > 1 and is_switches and list(entry.cells) == [all_on]:
            ones[clique] = (entry.count(all_on), entry.total)
            if _has_parts(reader, clique, ones):
                pending.append(clique)
            else:
                tables[clique] = np.zeros([2] * len(clique))
                tables[clique][all_on] = entry.total
        else:
            tables[clique] = _listed(reader, clique, variables, code)
            if is_switches:
                ones[clique] = (float(tables[clique][all_on]), entry.total)
        if position + 1 == len(cliques) or len(cliques[position + 1]) > len(clique):
            cells = tables_of_ones(pending, ones)
            tables.update(zip(pending, cells, strict=True))
            pending = []
    counts = np.concatenate([tables[clique].ravel() for clique in cliques])
    totals = np.array([reader.entries[clique].total for clique in cliques])
    return Moments(variables, cliques, counts, totals, conflicts=_conflicts(reader, cliques))


def _conflicts(reader: _Reader, cliques: Sequence[Clique]) -> tuple[Contradiction, ...]:
    """Return for each clique the cell on which statements differ most; the worst cliques first."""
    names = list(reader.position)
    found: list[Contradiction] = []
    for clique in cliques:
        cells = reader.entries[clique].cells
        # rounding must not decide which of two as bad is shown
        values = max(cells, key=lambda values: round(spread(cells[values]), 9))
        size = spread(cells[values])
        if size > 0:
            columns = tuple(names[i] for i in clique)
            event = ", ".join(f"{n}={value}" for n, value in zip(columns, values, strict=True))
            told = in_words(event, cells[values], reader.where)
            message = f"{_title(reader, clique)} is stated {told}"
            found.append(Contradiction("stated", columns, size, message))
    return tuple(sorted(found, key=lambda c: -round(c.size, 9))[:MAX_LISTED])


def _has_parts(reader: _Reader, clique: Clique, ones: Mapping[Clique, Any]) -> bool:
    """Whether all smaller counts are there; False if none is needed, an error otherwise."""
    for size in range(1, len(clique)):
        for part in combinations(clique, size):
            if part in ones:
                continue
            entry = reader.entries[clique]
            (values,) = entry.cells
            if entry.count(values) == entry.total:
                return False
            names = [list(reader.position)[i] for i in part]
            columns = ", ".join(names * 2 if size == 1 else names)
            others = [name for name in reader.position if name not in names]
            near = [match for name in names for match in get_close_matches(name, others, 1, 0.75)]
            hint = f" (or is {near[0]!r} meant?)" if near else ""
            raise ValueError(
                f"{_title(reader, clique)} must come with the count of {', '.join(names)} alone "
                f"or with the counts of all its values, got neither ({reader.where(entry.row)}): "
                f"add a row for {columns}{hint}"
            )
    return True


def tables_of_ones(
    cliques: Sequence[Clique], ones: Mapping[Clique, tuple[float, float]]
) -> NDArray[np.float64]:
    """Full tables of 0/1 cliques of one size from counts of ones and their totals."""
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
    reader: _Reader,
    clique: Clique,
    variables: Sequence[Variable],
    code: Sequence[Mapping[Hashable, int]],
) -> NDArray[np.float64]:
    entry = reader.entries[clique]
    table = np.full([variables[i].n_values for i in clique], np.nan)
    _add_left_out(entry, table.size)
    for values in entry.cells:
        place = tuple(code[i][value] for i, value in zip(clique, values, strict=True))
        table[place] = entry.count(values)
    absent = np.isnan(table)
    n_absent, known = int(absent.sum()), float(np.nansum(table))
    # where reports differ, the means of what they list need not add up any better than they do
    slack = ROUNDING + sum(spread(told) for told in entry.cells.values())
    if n_absent == 1:
        table[absent] = entry.total - known
    elif n_absent and abs(known - entry.total) <= slack * entry.total:
        table[absent] = 0.0
    elif n_absent:
        cells = list(product(*(variables[i].values for i in clique)))
        first = cells[int(np.argmax(absent))]
        raise ValueError(
            f"the counts of {_title(reader, clique)} must add up to their total "
            f"{entry.total:g} when cells are left out, got {known:g} "
            f"({reader.where(entry.row)}): add the {n_absent} cells that are missing, such as "
            f"{', '.join(repr(value) for value in first)}"
        )
    return table


def _add_left_out(entry: _Entry, n_cells: int) -> None:
    """State what follows, for one total, about cells that are listed only for another one."""
    for total, row in entry.totals.items() if len(entry.totals) > 1 else ():
        told = {
            values: [statement for statement in statements if statement.total == total]
            for values, statements in entry.cells.items()
        }
        listed = [mean_count(statements, total) for statements in told.values() if statements]
        rest = total - sum(listed)
        if len(listed) + 1 < n_cells and abs(rest) > ROUNDING * total:
            continue
        count = rest if len(listed) + 1 == n_cells else 0.0
        for values, statements in told.items():
            if not statements:
                entry.cells[values].append(Statement(count, total, row, left_out=True))
