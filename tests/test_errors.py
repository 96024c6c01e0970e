"""Errors about parameters: their text, their parts, and that they travel."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

import herder
from herder._errors import ParameterError, ParameterTypeError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ParameterError("n", "be at most 5", 7), "n must be at most 5, got 7"),
        (ParameterError("n", "be given", None), "n must be given, got None"),
        (ParameterError("n", "be 'a'", "b"), "n must be 'a', got 'b'"),
        (ParameterError("n", "be left out"), "n must be left out"),
        (
            ParameterError("n", "be a row", got="none: add one"),
            "n must be a row, got none: add one",
        ),
        (ParameterError("n", "be a row", (), got="none"), "n must be a row, got none"),
        (ParameterError("n", "be small", np.float64(0.5)), "n must be small, got 0.5"),
        (ParameterError("n", "be small", Fraction(1, 2)), "n must be small, got 1/2"),
        (ParameterTypeError("n", "be a number", "b"), "n must be a number, got 'b'"),
    ],
)
def test_the_text_names_parameter_rule_and_value(error, text):
    assert str(error) == text


def test_another_name_may_be_set():
    error = ParameterError("max_memory", "be larger", 7)
    error.name = "--max-memory"
    assert str(error) == "--max-memory must be larger, got 7"


@pytest.mark.parametrize("kind", [ParameterError, ParameterTypeError])
@pytest.mark.parametrize("parts", [{}, {"value": None}, {"value": [7]}, {"got": "none: add one"}])
@pytest.mark.parametrize(
    "travel", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
def test_errors_are_copied_and_pickled(kind, parts, travel):
    error = kind("n", "be more", **parts)
    there = travel(error)
    assert type(there) is kind
    assert vars(there) == vars(error)
    assert str(there) == str(error)
    assert there.args == error.args


def test_a_wrong_kind_is_a_type_error_and_a_value_error():
    with pytest.raises(TypeError) as caught:
        herder.thin([[0.0], [1.0]], "two")  # type: ignore[arg-type]
    assert isinstance(caught.value, herder.ParameterError)
    assert (caught.value.name, caught.value.value) == ("n_select", "two")
    assert not issubclass(herder.ParameterError, TypeError)


def test_functions_and_estimators_raise_it():
    with pytest.raises(herder.ParameterError) as caught:
        herder.NHERD(C=-1.0).fit([[0.0], [1.0]], [0, 1])
    assert (caught.value.name, caught.value.value) == ("C", -1.0)
