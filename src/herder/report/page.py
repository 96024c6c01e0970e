"""A page of sections, each made of blocks: text, facts, tables and pictures.

The page is one file. Pictures are embedded, the style is inline, nothing is fetched. Any part
of the library adds its own section with `Page.add`.
"""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

from herder.core.files import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Block", "Facts", "Page", "Picture", "Table", "Text"]


@dataclass(frozen=True)
class Text:
    """A paragraph; ``kind`` is "plain", "good", "warning" or "code"."""

    text: str
    kind: str = "plain"


@dataclass(frozen=True)
class Facts:
    """Numbers with their meaning: rows of (what, value, what it says)."""

    rows: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Table:
    """A table; cells that are numbers in text form are set to the right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure, what it shows in words (for those who cannot see it), and its caption."""

    figure: "Figure"
    description: str
    caption: str = ""

    def uri(self) -> str:
        """Give the figure as an SVG data address; the same figure gives the same bytes."""
        import matplotlib

        stream = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "herder"}):
            self.figure.savefig(stream, format="svg", metadata={"Date": None}, dpi=150)
        return "data:image/svg+xml;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


Block: TypeAlias = Text | Facts | Table | Picture


@dataclass
class Page:
    """A page that is built section by section.

    Parameters
    ----------
    title : str
        Its heading.
    lead : str
        What the page is about, in a sentence or two.

    Examples
    --------
    >>> page = Page("Rows", "Two of them.")
    >>> page.add("Numbers", Facts([("rows", "2", "")]))
    >>> "<h2>Numbers</h2>" in page.html()
    True
    """

    title: str
    lead: str = ""
    sections: list[tuple[str, tuple[Block, ...]]] = field(default_factory=list)

    def add(self, title: str, *blocks: Block) -> None:
        """Add a section at the end."""
        self.sections.append((title, blocks))

    def html(self) -> str:
        """Give the whole page."""
        environment = _environment()
        return environment.get_template("page.html").render(
            page=self, kind=lambda block: type(block).__name__, is_number=_is_number
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page, whole or not at all."""
        text = self.html()
        with whole_file(path) as part:
            part.write_text(text, encoding="utf-8")


def _environment() -> Any:
    try:
        import jinja2
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "pages need jinja2, which is not installed: pip install 'herder[report]'"
        ) from None
    return jinja2.Environment(
        loader=jinja2.PackageLoader("herder.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "").rstrip("%"))
    except ValueError:
        return False
    return True
