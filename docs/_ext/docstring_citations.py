"""Let docstrings cite as ``[welling2009]_``, a key of refs.bib.

In a terminal that reads well, and numpydoc knows the form; but it is a citation of
reStructuredText, which wants the reference in the same docstring. So each key that refs.bib has
becomes a citation of sphinxcontrib-bibtex before numpydoc sees it, and the reference is
written once, in refs.bib. A key that refs.bib lacks is left alone: Sphinx then warns, and a
warning breaks the build.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

CITATION = re.compile(r"\[([a-z]+\d{4}[a-z]?)\]_")


@cache
def known_keys(path: Path) -> frozenset[str]:
    return frozenset(
        re.findall(r"^@\w+\{([^,]+),", path.read_text(encoding="utf-8"), re.MULTILINE)
    )


def cite(app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    keys = known_keys(Path(app.confdir) / "refs.bib")

    def link(match: re.Match[str]) -> str:
        key = match[1]
        return f":cite:t:`{key}`" if key in keys else match[0]

    lines[:] = [CITATION.sub(link, line) for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", cite, priority=100)  # numpydoc comes at 500
    return {"parallel_read_safe": True}
