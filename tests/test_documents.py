"""What the pages and docstrings must hold, which the build of the site would find much later."""

import json
import re
from pathlib import Path

from benchmarks.synthetic import page

ROOT = Path(__file__).parents[1]


def test_fractions_have_braces() -> None:
    # docutils reads \\tfrac12 x as 12/x; the build of the site refuses it as well
    files = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/api/*.md"), *ROOT.glob("src/**/*.py")]
    files += [*ROOT.glob("papers/**/*.py"), *ROOT.glob("examples/**/*.py")]
    assert len(files) > 100
    bare = {path.name: found for path in files if (found := _bare_fractions(path.read_text()))}
    assert bare == {}


def _bare_fractions(text: str) -> list[str]:
    return re.findall(r"\\[a-z]?frac\s*[0-9].*", text)


def test_a_fraction_without_braces_is_found() -> None:
    assert _bare_fractions(r"E = \tfrac12 x") == [r"\tfrac12 x"]
    assert _bare_fractions(r"E = \tfrac{1}{2} x") == []


def test_the_page_of_moments_has_the_stored_figures_of_synthetic_rows() -> None:
    stored = json.loads((ROOT / "benchmarks/results/synthetic.json").read_text())
    assert page(stored["rows"]) in (ROOT / "docs/moments.md").read_text()
