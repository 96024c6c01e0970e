"""Formulas as MathML, which browsers draw themselves: the site needs no script from elsewhere."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

#: Commands that docutils does not know, in words that it knows.
SYNONYMS = {
    r"\\dots\b": r"\\ldots",
    r"\\Pr\b": r"\\operatorname{Pr}",
    r"\\Big(?=\()": r"\\Bigl",
    r"\\Big(?=\))": r"\\Bigr",
}

#: docutils takes all digits for the numerator: of ``\tfrac12 x`` it makes 12/x, without a word.
BARE_FRACTION = re.compile(r"frac\s*[0-9]")


def translate(node: nodes.Element, *, as_block: bool) -> str:
    """Give MathML, or a warning (which breaks the build) and the formula as it was typed."""
    formula = node.astext()
    if BARE_FRACTION.search(formula):
        logger.warning("fraction without braces: %s", formula, location=node)
    for pattern, known in SYNONYMS.items():
        formula = re.sub(pattern, known, formula)
    try:
        return tex2mathml(formula, as_block=as_block)
    except MathError as error:
        logger.warning("formula not understood: %s: %s", formula, error, location=node)
        return node.astext()


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(translate(node, as_block=False))
    raise nodes.SkipNode


def visit_display(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(translate(node, as_block=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True}
