"""One self-contained HTML page from a summary: numbers, tables and pictures, no links out.

The page is one file. Pictures are drawn by `herder.plots` and embedded, the style is inline,
nothing is fetched.
"""

import base64
import io
import time
from html import escape
from importlib.resources import files
from os import PathLike
from typing import Any

from herder.core.files import whole_file
from herder.core.summary import Picture, Section, Summary, Text, block_html
from herder.plots import draw

__all__ = ["page_html", "save_page"]


def page_html(summary: Summary, *, command: str = "", source: str = "") -> str:
    """Return a page that shows a summary with its sections and pictures.

    Parameters
    ----------
    summary : Summary
        What a result reports.
    command : str
        What to type to get the same result, if it came from the command line.
    source : str
        Files that the result was made from; they stand with the date below the title.

    Examples
    --------
    >>> from herder.core.summary import Fact, Facts
    >>> "<h1>Two rows</h1>" in page_html(Summary("Two rows", [Facts([Fact("rows", 2)])]))
    True
    """
    style = files("herder.report").joinpath("page.css").read_text(encoding="utf-8")
    title, head = escape(summary.title), escape(", ".join(filter(None, [summary.title, source])))
    lead = escape(", ".join(filter(None, [source, time.strftime("%d %B %Y").lstrip("0")])))
    first = "".join(block_html(block, _image) for block in summary.blocks)
    body = "".join(map(_section, [*summary.sections, _repeat(command)]))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{head}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{title}</h1>\n<p class="lead">{lead}</p>\n<section>\n{first}</section>\n'
        f"{body}</main>\n</body>\n</html>\n"
    )


def save_page(
    summary: Summary, path: str | PathLike[str], *, command: str = "", source: str = ""
) -> None:
    """Write the page of a summary to a file, whole or not at all.

    Parameters
    ----------
    summary : Summary
        What a result reports.
    path : path
        Where the page goes.
    command : str
        What to type to get the same result.
    source : str
        Files that the result was made from.
    """
    text = page_html(summary, command=command, source=source)
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
    """Return a picture to look at and to save; on narrow screens its panels are stacked."""
    figure, alt = draw(picture), escape(picture.description)
    name = f"{picture.name}.svg"
    image = f'<img src="{_address(figure)}" alt="{alt}">'
    stacked = _stacked(figure)
    if stacked:
        narrow = f'<source media="(max-width: 600px)" srcset="{stacked}">'
        image = f"<picture>{narrow}{image}</picture>"
    # the address of the image is long: it is not repeated, but taken when it is asked for
    take = "this.href=this.parentNode.querySelector('img').src"
    return f'{image}<a class="save" href="" download="{name}" onclick="{take}">Save as SVG</a>'


def _stacked(figure: Any) -> str:
    """Return the address of a figure with its panels below each other; empty if they are."""
    panels = [ax for ax in figure.axes if ax.get_subplotspec() is not None]
    rows, columns = panels[0].get_gridspec().get_geometry() if panels else (0, 1)
    if columns == 1:
        return ""
    (width, height), before = figure.get_size_inches(), [ax.get_subplotspec() for ax in panels]
    try:
        figure.set_size_inches(width / columns, height * columns)
        places = figure.add_gridspec(rows * columns, 1)
        for place, ax in enumerate(panels):
            ax.set_subplotspec(places[place])
        return _address(figure)
    finally:  # the figure may be the caller's
        figure.set_size_inches(width, height)
        for ax, place in zip(panels, before, strict=True):
            ax.set_subplotspec(place)


def _address(figure: Any) -> str:
    """Return a figure as the address of an SVG; the same figure has the same bytes."""
    import matplotlib

    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "herder"}):
        figure.savefig(stream, format="svg", metadata={"Date": None}, dpi=150)
    return "data:image/svg+xml;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
