"""Benchmarks: what they measure is what they say."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from benchmarks import synthetic


@pytest.fixture
def rows() -> synthetic.Rows:
    random = np.random.default_rng(0)
    x = random.normal(size=300).round(1)
    noisy = x + random.normal(size=300) > 0
    return pd.DataFrame({"x": x, "y": np.where(noisy, "a", "b"), synthetic.LABEL: x > 0})


def test_errors_of_single_columns(rows: synthetic.Rows) -> None:
    other = rows.assign(x=rows["x"] * 1.5, y="a")
    numbers: Any = ks_2samp(rows["x"], other["x"])[0]
    share = float((rows["y"] == "b").mean())
    assert synthetic.marginal_error(rows, other) == pytest.approx((numbers + share) / 3)
    assert synthetic.marginal_error(rows, rows) == 0


def test_copies_are_rows_that_agree_in_every_column(rows: synthetic.Rows) -> None:
    other = rows.head(4).assign(x=[*rows["x"][:2], 99.0, -99.0])
    assert synthetic.copy_share(rows, other) == 0.5
    tens = synthetic.binned(rows, other)["x"]
    assert tens[2:].tolist() == [9, 0]
    below = [int(np.sum(np.quantile(rows["x"], np.arange(1, 10) / 10) < x)) for x in rows["x"][:2]]
    assert tens[:2].tolist() == below


@pytest.mark.parametrize("method", ["herder, order 2", "CART"])
def test_synthetic_rows_keep_what_depends(rows: synthetic.Rows, method: str) -> None:
    made = synthetic.METHODS[method](rows, 0)
    assert list(made) == list(rows)
    assert len(made) == len(rows)
    assert synthetic.marginal_error(rows, made) < 0.1
    assert ((made["x"] > 0.5) == made[synthetic.LABEL])[abs(made["x"]) > 0.5].mean() > 0.95
    if method == "CART":
        assert set(made["x"]) <= set(rows["x"])
