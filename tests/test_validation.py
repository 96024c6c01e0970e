import numpy as np
import pytest

from herder._validation import non_negative_int, one_of, positive_int


@pytest.mark.parametrize("value", [1, 7, np.int8(3), np.uint64(9)])
def test_integers_come_back_as_int(value):
    for check in (positive_int, non_negative_int):
        number = check(value, "n_steps")
        assert type(number) is int
        assert number == value


def test_zero_is_non_negative_and_not_positive():
    assert non_negative_int(0, "burn_in") == 0
    with pytest.raises(ValueError, match=r"^n_steps must be a positive integer, got 0$"):
        positive_int(0, "n_steps")
    with pytest.raises(ValueError, match=r"^burn_in must be a non-negative integer, got -1$"):
        non_negative_int(-1, "burn_in")


@pytest.mark.parametrize("value", [1.0, "3", None, True, [2]])
def test_other_kinds_are_type_errors(value):
    with pytest.raises(TypeError, match=r"^n_steps must be a positive integer, got "):
        positive_int(value, "n_steps")


def test_one_of_names_the_options():
    assert one_of("fast", "mode", ("fast", "slow")) == "fast"
    with pytest.raises(ValueError, match=r"^mode must be one of 'fast', 'slow', got 'quick'$"):
        one_of("quick", "mode", ("fast", "slow"))
    with pytest.raises(ValueError, match=r"'slow', got 'slo'; did you mean slow\?$"):
        one_of("slo", "mode", ("fast", "slow"))
