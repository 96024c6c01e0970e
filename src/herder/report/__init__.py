"""One self-contained HTML page from a summary: numbers, tables and pictures, no links out."""

from herder.report.html import page_html, save_page

__all__ = ["page_html", "save_page"]
