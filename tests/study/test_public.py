"""Every name of `herder.study` has a docstring and a page, and every result describes itself."""

import inspect
from pathlib import Path

import pytest

from herder import study
from herder.core.summary import Summary

PAGE = Path(__file__).parents[2] / "docs" / "api" / "study.md"


@pytest.mark.parametrize("name", study.__all__)
def test_a_name_has_a_docstring_and_a_place(name):
    first = inspect.getdoc(getattr(study, name))
    assert first
    assert first.splitlines()[0].endswith(".")
    assert f"study.{name}" in PAGE.read_text("utf-8").split()


@pytest.mark.parametrize("name", [n for n in study.__all__ if inspect.isfunction(vars(study)[n])])
def test_a_function_has_an_example_and_its_parameters(name):
    function = getattr(study, name)
    text = inspect.getdoc(function) or ""
    assert ">>> " in text
    assert all(f"{given}" in text for given in inspect.signature(function).parameters)


def test_results_have_a_summary():
    kinds = [study.Attractor, study.Bifurcation, study.Mixing, study.Words]
    for kind in kinds:
        assert inspect.signature(kind.summary).return_annotation is Summary
