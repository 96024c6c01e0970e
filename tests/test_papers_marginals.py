"""The thesis' section on contradictory moments: its oracle, and the rates it measures."""

import numpy as np
import pytest
from scipy.optimize import minimize

from papers.chen2013_thesis import section3_5


@pytest.mark.parametrize("seed", range(4))
def test_the_oracle_is_the_projection(seed: int) -> None:
    rng = np.random.default_rng(seed)
    phi, target = rng.normal(size=(9, 3)), rng.normal(size=3) * 3

    def squares(shares: np.ndarray) -> float:
        return float(((shares @ phi - target) ** 2).sum())

    rules = {"type": "eq", "fun": lambda shares: shares.sum() - 1}
    start = np.full(9, 1 / 9)
    found = minimize(squares, start, bounds=[(0, 1)] * 9, constraints=rules, tol=1e-14)
    np.testing.assert_allclose(section3_5.nearest(phi, target), found.x @ phi, atol=1e-4)


def test_large_rates_average_all_sites() -> None:
    assert section3_5._large_lambda() < 0.01
