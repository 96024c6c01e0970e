"""One self-contained HTML page from results: numbers, tables and pictures, no links out."""

from herder.report.page import Facts, Page, Picture, Table, Text
from herder.report.synthesis import Synthesis, synthesis_page

__all__ = ["Facts", "Page", "Picture", "Synthesis", "Table", "Text", "synthesis_page"]
