import math
import os

import numpy as np

from herder._numba import jit


@jit
def divide(a: float, b: float) -> float:
    """Divide."""
    return a / b


@jit
def total(values: np.ndarray) -> float:
    """Sum from left to right."""
    result = 0.0
    for value in values:
        result += value
    return result


def test_the_options_are_those_we_promise():
    # Without the compiler (make slow) there is nothing to ask.
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        assert not hasattr(divide, "targetoptions")
        return
    options = divide.targetoptions  # pyright: ignore[reportFunctionMemberAccess]
    assert options["nopython"]
    assert options["nogil"]
    assert options["error_model"] == "numpy"
    assert not options.get("fastmath", False)


def test_arithmetic_is_numpys():
    with np.errstate(divide="ignore"):
        assert divide(np.float64(1.0), np.float64(0.0)) == math.inf


def test_sums_are_not_reordered():
    # A reordered sum would lose other bits: from the left, 1 is swallowed twice.
    assert total(np.array([1e16, 1.0, 1.0, -1e16])) == 0.0
