"""Every public name has a docstring and a page, and every result describes itself."""

import inspect
import re
from pathlib import Path

import pytest

import herder
from herder.core.summary import Summary

NAMES: list[str] = vars(herder)["__all__"]

PAGES = Path(__file__).parents[1] / "docs" / "api"

#: Results that are not what a public function returns, but what a method does, or an attribute.
OF_METHODS = {"ColumnErrors", "Exact", "FitCheck", "FitReport", "MomentDiagnostics"}


def results() -> set[str]:
    """Names of the classes of ours that public functions return, and of those of methods."""
    found = set(OF_METHODS)
    for name in NAMES:
        value = getattr(herder, name)
        if inspect.isfunction(value):
            kind = inspect.signature(value).return_annotation
            if inspect.isclass(kind) and kind.__module__.startswith("herder."):
                found.add(kind.__name__)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_a_docstring(name):
    text = getattr(herder, name).__doc__
    assert text
    first = text.strip().splitlines()[0]
    assert first.endswith((".", ":"))
    assert not re.match("Gives?\\b", first)


def test_every_public_name_is_on_a_page():
    lines = [
        line.strip() for page in PAGES.glob("*.md") for line in page.read_text("utf-8").split("\n")
    ]
    assert set(NAMES) - set(lines) == set()


def test_results_are_public():
    assert {"Thinning", "Sampling", "LogPartition", "DensityHerding"} < results()
    assert results() - set(NAMES) == set()


def test_every_result_has_a_summary():
    silent = set()
    for name in results():
        method = getattr(getattr(herder, name), "summary", None)
        if method is None or inspect.signature(method).return_annotation not in (
            Summary,
            "Summary",
        ):
            silent.add(name)
    assert silent == set()
