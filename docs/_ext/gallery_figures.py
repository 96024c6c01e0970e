"""Find the figures of a gallery script: whatever variables of a block hold a new Figure."""

from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save each figure once, and give the text that shows them."""
    shown = block_vars["example_globals"].setdefault("__figures_shown__", [])
    paths = []
    for value in list(block_vars["example_globals"].values()):
        if isinstance(value, Figure) and not any(value is figure for figure in shown):
            shown.append(value)
            path = next(block_vars["image_path_iterator"])
            value.savefig(path, dpi=120)
            paths.append(path)
    return figure_rst(paths, gallery_conf["src_dir"])
