"""Combinations of parameters, shared out between `make test` and `make slow`."""

from collections.abc import Collection
from itertools import product
from typing import Any

import pytest


def shared_out(*axes: Collection[Any]) -> list[Any]:
    """All combinations of one value from each of the axes, most of them slow.

    `make test` has those whose numbers along the axes sum to a multiple of the shortest axis'
    length: any two values of two axes meet there if there are three axes, and each value has its
    turn if there are two.
    """
    share = min(map(len, axes))
    return [
        pytest.param(*values, marks=[pytest.mark.slow] if sum(numbers) % share else [])
        for numbers, values in zip(
            product(*(range(len(axis)) for axis in axes)), product(*axes), strict=True
        )
    ]
