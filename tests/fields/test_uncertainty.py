"""Estimates of quantities that moments do not determine: what is refused."""

import numpy as np
import pytest

from herder import Moments, estimate_expectation
from tests.naming import refuses

MOMENTS = Moments.from_data([[0, 1], [1, 1], [0, 0], [1, 0]])


@pytest.mark.parametrize("value", [np.nan, [0.5, np.inf]])
def test_functions_must_return_finite_numbers(value):
    with refuses("function"):
        estimate_expectation(MOMENTS, lambda codes: value, 10)
