"""One self-contained HTML page from a summary: numbers, tables and pictures, no links out."""

from herder.report.html import page_html, save_page
from herder.report.page import Facts, Page, Picture, Table, Text
from herder.report.synthesis import Synthesis, synthesis_page

__all__ = [
    "Facts",
    "Page",
    "Picture",
    "Synthesis",
    "Table",
    "Text",
    "page_html",
    "save_page",
    "synthesis_page",
]
