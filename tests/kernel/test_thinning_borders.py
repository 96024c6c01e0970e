"""`thin` at its borders: degenerate samples, wrong arguments, long runs."""

import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from herder import mmd, thin
from tests.kernel.plain import KINDS, sample


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("path", ["numpy", "compiled"])
def test_degenerate_samples(name, path, request):
    if path == "compiled":
        request.getfixturevalue("compiled")
    one = thin([[3.0, 4.0]], 1, kernel=name)
    assert one.indices.tolist() == [0]
    assert one.mmd == one.mmd_random == 0
    constant = thin(np.ones((8, 2)), 3, kernel=name)
    assert len(set(constant)) == 3
    assert constant.mmd < 1e-7
    constant.summary()
    column = thin(np.column_stack([np.full(30, 7.0), sample(30, 1)]), 4, kernel=name)
    assert column.indices.tolist() == thin(sample(30, 1), 4, kernel=name).indices.tolist()
    twice = np.repeat(sample(10, 2), 3, axis=0)
    chosen = thin(twice, 10, kernel=name)
    assert len(set(chosen)) == 10
    assert chosen.mmd < chosen.mmd_random


def test_float32_rows_are_chosen_alike(compiled):
    X = np.round(sample(100, 2) * 64) / 64  # the same numbers in both
    small, large = thin(X.astype(np.float32), 10), thin(X, 10)
    assert small.indices.tolist() == large.indices.tolist()
    assert small.mmd == pytest.approx(large.mmd, rel=1e-9)
    assert small.mmd == pytest.approx(mmd(X, X[small.indices]), rel=1e-6)


@pytest.mark.parametrize("path", ["numpy", "compiled"])
def test_an_offset_changes_nothing(path, request):
    if path == "compiled":
        request.getfixturevalue("compiled")
    X = np.round(sample(100, 2) * 64) / 64  # exact also after the offset
    near, far = thin(X, 10), thin(X + 2.0**24, 10)
    assert far.indices.tolist() == near.indices.tolist()
    assert far.mmd == pytest.approx(near.mmd, rel=1e-4)


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"n_select": 0}, ValueError, "n_select must be a positive integer, got 0"),
        ({"n_select": 2.5}, TypeError, "n_select must be a positive integer, got 2.5"),
        ({"n_select": 31}, ValueError, "n_select must be at most the 30 rows, got 31; unique=Fa"),
        ({"n_select": 30, "exclude": [0]}, ValueError, "the 29 rows that are not excluded, got"),
        ({"weights": "equal"}, ValueError, "weights must be one of 'uniform', 'simplex', 'opti"),
        (
            {"weights": "simplex", "unique": False},
            ValueError,
            "unique must be True when weights is 'simplex', got False",
        ),
        ({"refine": -1}, ValueError, "refine must be a positive integer, got -1"),
        ({"include": [30]}, ValueError, "include must hold row numbers from 0 to 29, got 30"),
        ({"include": [0, 1, 2, 3]}, ValueError, "include must hold at most n_select rows, 3, got"),
        ({"exclude": [1], "include": [1]}, ValueError, "exclude must not hold rows of include"),
        ({"sample_weight": [1.0]}, ValueError, "sample_weight must have one value per row"),
        ({"sample_weight": np.zeros(30)}, ValueError, "sample_weight must give some row a wei"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be a positive integer, got 0"),
        ({"shares": "equal"}, ValueError, "y must be given when shares is 'equal', got None"),
        (
            {"shares": "equal", "approximate": "chunks"},
            ValueError,
            "y must be given when shares is 'equal', got None",
        ),
        (
            {"kernel": "stein", "score": np.zeros((30, 2)), "kernel_mean": np.zeros(30)},
            ValueError,
            "kernel_mean must be None when kernel is 'stein'",
        ),
    ],
)
def test_wrong_arguments_are_told(options, kind, text):
    options = {"n_select": 3, **options}
    with pytest.raises(kind, match=text):
        thin(sample(30, 2), **options)


def test_wrong_samples_are_told():
    X = sample(30, 2)
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"X must have finite values .* NaN .* first in row 4"):
        thin(X, 3)
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "name": ["x", "y", "z"]})
    with pytest.raises(ValueError, match=r"columns of numbers only, got .* in 'name'; drop them"):
        thin(frame, 2)
    with pytest.raises(ValueError, match="X must have at least one row"):
        thin(np.zeros((0, 2)), 1)
    with pytest.raises(ValueError, match="y must be given to thin for rows to have classes"):
        _ = thin(sample(30, 2), 3).by_class


def test_a_long_run_says_so_first(caplog, monkeypatch):
    monkeypatch.setattr("herder.kernel.thinning.LONG_SECONDS", 1e-9)
    thin(sample(50, 2), 3)
    assert "approximate='chunks' or 'subsample' is faster" in caplog.text
    assert "MB beside the data" in caplog.text


CTRL_C = """
import numpy as np
from herder import thin
X = np.random.default_rng(0).normal(size=(200_000, 5))
thin(X[:3500], 5)
thin(X, 5, n_jobs={jobs}, progress=lambda share, note: print(share, flush=True))
print("finished")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_is_heard(jobs):
    """Two hundred thousand rows take a minute; a keyboard interrupt ends it at once."""
    code = CTRL_C.format(jobs=jobs)
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert "finished" not in out
    assert err.rstrip().endswith("KeyboardInterrupt")
