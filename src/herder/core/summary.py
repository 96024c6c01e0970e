"""What a result reports of itself: text, facts, tables, notices and pictures by name.

A result has a method ``summary`` that returns a `Summary`. It is rendered in one place for each
medium: as plain text by ``print``, as HTML in a notebook (here), in colours on a terminal
(`herder.cli`) and as a page with pictures (`herder.report`). Numbers stay numbers until they are
shown; each carries its own format, so that no number is formatted in two places.

The blocks of a summary are its short form, which all media show. Its sections are the details,
with pictures, which only a page shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal, TypeAlias

__all__ = [
    "Block",
    "Fact",
    "Facts",
    "Level",
    "Picture",
    "Section",
    "Summarised",
    "Summary",
    "Table",
    "Text",
    "counted",
    "listed",
    "lowest_marked",
    "show",
]

Level: TypeAlias = Literal["plain", "good", "warning", "code"]

#: Names of rows longer than this are cut in plain text.
NAME_WIDTH = 28


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph, or a notice if its level is "good" or "warning"."""

    text: str
    level: Level = "plain"


@dataclass(frozen=True, slots=True)
class Fact:
    """A value with its name, its format (as for `format`) and what it means."""

    label: str
    value: object
    spec: str = ""
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts, one a line."""

    rows: Sequence[Fact]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of values; ``specs`` are the formats of the columns."""

    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    specs: Sequence[str] = ()
    caption: str = ""

    def cells(self) -> list[list[str]]:
        """Return the rows as text."""
        specs = [*self.specs, *[""] * (len(self.header) - len(self.specs))]
        return [[show(v, spec) for v, spec in zip(row, specs, strict=True)] for row in self.rows]

    def numeric(self) -> list[bool]:
        """Return which columns hold numbers, or none here and there, and are set to the right."""
        return [
            any(_is_number(row[j]) for row in self.rows)
            and all(row[j] is None or _is_number(row[j]) for row in self.rows)
            for j in range(len(self.header))
        ]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a result, by the name that `herder.plots` registers it under.

    Parameters
    ----------
    name : str
        What is drawn.
    result : object
        Of what.
    description : str
        What the picture shows, for those who cannot see it.
    caption : str
        The text below it.
    options : mapping
        Further arguments of the function that draws it.
    """

    name: str
    result: object
    description: str
    caption: str = ""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


Block: TypeAlias = Text | Facts | Table | Picture


@dataclass(frozen=True, slots=True)
class Section:
    """Details under a heading."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a result reports.

    Parameters
    ----------
    title : str
        The first line.
    blocks : sequence of Text, Facts and Table
        The short form.
    sections : sequence of Section
        The details, for a page.

    Examples
    --------
    >>> print(Summary("Two rows", [Facts([Fact("mean", 0.123456, ".3f", "of column a")])]))
    Two rows
    mean  0.123  of column a
    """

    title: str
    blocks: Sequence[Block] = ()
    sections: Sequence[Section] = ()

    def __str__(self) -> str:
        return "\n".join([self.title, *(line for b in self.blocks for line in text_lines(b))])

    def html(self) -> str:
        """Return the short form as HTML, for a notebook."""
        parts = [block_html(block) for block in self.blocks]
        return f"<p><strong>{escape(self.title)}</strong></p>{''.join(parts)}"

    def _repr_html_(self) -> str:
        return self.html()


class Summarised:
    """Mixin of results whose text is that of their summary."""

    def summary(self) -> Summary:
        """Return what there is to report."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary().html()


def show(value: object, spec: str = "") -> str:
    """Return a value as text: numbers by ``spec``, else with three digits and commas.

    Examples
    --------
    >>> show(1234567), show(0.00123456), show(0.5, ".1%"), show(None), show(True)
    ('1,234,567', '0.00123', '50.0%', '-', 'yes')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return format(value, spec or ",")
    if _is_number(value):
        number = float(value)  # type: ignore[arg-type]
        if not spec and number.is_integer() and abs(number) < 1e6:
            return format(number, ",.0f")
        return format(number, spec or ".3g")
    return str(value)


def counted(n: int, what: str) -> str:
    """Return a number with its noun: ``1 row``, ``2,000 rows``."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def listed(names: Sequence[object], most: int = 12) -> str:
    """Return names joined by commas, the first ``most`` of them."""
    shown = ", ".join(str(name) for name in names[:most])
    return f"{shown}, ..." if len(names) > most else shown


def lowest_marked(
    ours: Mapping[str, float], theirs: Mapping[str, float], spec: str
) -> tuple[str, str]:
    """Return two cells of numbers with their names, the lowest as shown marked as the best.

    Examples
    --------
    >>> lowest_marked({"": 0.5}, {"random": 0.7, "spaced": 0.4}, ".2f")
    ('0.50', '0.70 (random), 0.40 (spaced, best)')
    """
    best = format(min([*ours.values(), *theirs.values()]), spec)

    def cell(name: str, value: float) -> str:
        text = format(value, spec)
        words = ", ".join(word for word in (name, "best" if text == best else "") if word)
        return f"{text} ({words})" if words else text

    first, second = (
        ", ".join(cell(name, value) for name, value in part.items()) for part in (ours, theirs)
    )
    return first, second


def text_lines(block: Block) -> list[str]:
    """Return a block as lines of plain text; a picture has none."""
    if isinstance(block, Text):
        return [f"Warning: {block.text}" if block.level == "warning" else block.text]
    if isinstance(block, Facts):
        rows = [[fact.label, show(fact.value, fact.spec), fact.meaning] for fact in block.rows]
        return _aligned(rows, [False] * 3)
    if isinstance(block, Table):
        cells = [[_cut(first), *others] for first, *others in block.cells()]
        lines = _aligned([list(block.header), *cells], block.numeric())
        return [block.caption, *lines] if block.caption else lines
    return []


def block_html(block: Block, figure: Callable[[Picture], str] | None = None) -> str:
    """Return a block as HTML; ``figure`` turns a picture into an image."""
    if isinstance(block, Text):
        tag = "pre" if block.level == "code" else f'p class="{block.level}"'
        return f"<{tag}>{escape(block.text)}</{tag.split()[0]}>\n"
    if isinstance(block, Facts):
        cells = "".join(
            f'<tr><td>{escape(fact.label)}</td><td class="value">'
            f'{escape(show(fact.value, fact.spec))}</td><td class="meaning">'
            f"{escape(fact.meaning)}</td></tr>\n"
            for fact in block.rows
        )
        return f'<div class="scroll"><table class="facts">\n{cells}</table></div>\n'
    if isinstance(block, Table):
        return _table_html(block)
    if figure is None:
        return ""
    caption = f"<figcaption>{escape(block.caption)}</figcaption>" if block.caption else ""
    return f"<figure>{figure(block)}{caption}</figure>\n"


def _table_html(table: Table) -> str:
    marks = [' class="number"' if number else "" for number in table.numeric()]
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""

    def row(tag: str, cells: Sequence[str]) -> str:
        inner = zip(marks, cells, strict=True)
        return f"<tr>{''.join(f'<{tag}{m}>{escape(cell)}</{tag}>' for m, cell in inner)}</tr>\n"

    body = "".join(row("td", cells) for cells in table.cells())
    head = row("th", list(table.header))
    return (
        f'<div class="scroll"><table>{caption}<thead>{head}</thead>\n<tbody>{body}</tbody>'
        "</table></div>\n"
    )


def _is_number(value: object) -> bool:
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number or (kind in ("i", "u", "f") and getattr(value, "ndim", 1) == 0)


def _cut(name: str) -> str:
    return name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 3]}..."


def _aligned(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Pad cells to columns; the last column is left as it is unless it is set to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for row in rows:
        cells = [
            f"{cell:>{width}}" if is_right else f"{cell:<{width}}"
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
