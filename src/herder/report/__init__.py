"""One self-contained HTML page from a summary: numbers, tables and pictures, no links out.

The page is one file. Pictures are drawn by `herder.plots` and embedded, the style is inline,
nothing is fetched.
"""

import base64
import io
from html import escape
from importlib.resources import files
from os import PathLike

from herder.core.files import whole_file
from herder.core.summary import Picture, Section, Summary, Text, block_html
from herder.plots import draw

__all__ = ["page_html", "save_page"]


def page_html(summary: Summary, *, command: str = "") -> str:
    """Return a page that shows a summary with its sections and pictures.

    Parameters
    ----------
    summary : Summary
        What a result reports.
    command : str
        What to type to get the same result, if it came from the command line.

    Examples
    --------
    >>> from herder.core.summary import Fact, Facts
    >>> "<h1>Two rows</h1>" in page_html(Summary("Two rows", [Facts([Fact("rows", 2)])]))
    True
    """
    style = files("herder.report").joinpath("page.css").read_text(encoding="utf-8")
    title = escape(summary.title)
    first = "".join(block_html(block, _image) for block in summary.blocks)
    body = "".join(map(_section, [*summary.sections, _repeat(command)]))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{title}</h1>\n<section>\n{first}</section>\n{body}</main>\n</body>\n</html>\n"
    )


def save_page(summary: Summary, path: str | PathLike[str], *, command: str = "") -> None:
    """Write the page of a summary to a file, whole or not at all.

    Parameters
    ----------
    summary : Summary
        What a result reports.
    path : path
        Where the page goes.
    command : str
        What to type to get the same result.
    """
    text = page_html(summary, command=command)
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")


def _section(section: Section) -> str:
    blocks = "".join(block_html(block, _image) for block in section.blocks)
    return f"<section>\n<h2>{escape(section.title)}</h2>\n{blocks}</section>\n"


def _repeat(command: str) -> Section:
    import herder

    same = "The same input, options, version and machine give the same result"
    text = f"Made by herder {herder.__version__}. {same}, with any number of threads."
    return Section("To repeat it", [Text(text), *([Text(command, "code")] if command else [])])


def _image(picture: Picture) -> str:
    """Return the address of a picture as SVG; the same picture has the same bytes."""
    import matplotlib

    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "herder"}):
        draw(picture).savefig(stream, format="svg", metadata={"Date": None}, dpi=150)
    return "data:image/svg+xml;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
