"""`thin` at its borders: degenerate samples, wrong arguments, long runs."""

import signal
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from herder import mmd, thin
from tests.kernel.plain import KINDS, sample
from tests.naming import refuses


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
        ({"n_select": 0}, ValueError, "^n_select must"),
        ({"n_select": 2.5}, TypeError, "^n_select must"),
        ({"n_select": 31}, ValueError, "n_select must be at most the 30 rows, got 31; unique=Fa"),
        ({"n_select": 30, "exclude": [0]}, ValueError, "^n_select must"),
        ({"weights": "equal"}, ValueError, "^weights must"),
        (
            {"weights": "simplex", "unique": False},
            ValueError,
            "^unique must",
        ),
        ({"refine": -1}, ValueError, "^refine must"),
        ({"include": [30]}, ValueError, "^include must"),
        ({"include": [0, 1, 2, 3]}, ValueError, "^include must"),
        ({"exclude": [1], "include": [1]}, ValueError, "^exclude must"),
        ({"sample_weight": [1.0]}, ValueError, "^sample_weight must"),
        ({"sample_weight": np.zeros(30)}, ValueError, "^sample_weight must"),
        ({"n_jobs": 0}, ValueError, "^n_jobs must"),
        (
            {"allocation": "equal"},
            ValueError,
            "^y must",
        ),
        (
            {"allocation": "equal", "approximate": "chunks"},
            ValueError,
            "^y must",
        ),
        (
            {"kernel": "stein", "score": np.zeros((30, 2)), "kernel_mean": np.zeros(30)},
            ValueError,
            "^kernel_mean must",
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
    with refuses("X", match="X must have finite values .* NaN .* first in row 4"):
        thin(X, 3)
    frame = pd.DataFrame({"a": np.arange(30.0), "name": [f"row {i}" for i in range(30)]})
    with refuses("X", match="got 30 in 'name'; drop it"):
        thin(frame, 2)
    with refuses("X"):
        thin(np.zeros((0, 2)), 1)
    with refuses("y"):
        _ = thin(sample(30, 2), 3).by_class


def test_a_long_run_says_so_first(caplog, monkeypatch):
    monkeypatch.setattr("herder.kernel.thinning.LONG_SECONDS", 1e-9)
    thin(sample(50, 2), 3)
    assert "approximate='chunks' or approximate='subsample' is faster" in caplog.text
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
@pytest.mark.parametrize("jobs", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_ctrl_c_is_heard(jobs):
    """Two hundred thousand rows take a minute; a keyboard interrupt ends it at once."""
    code = CTRL_C.format(jobs=jobs)
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
        child.communicate()
    assert "finished" not in out
    assert err.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize("path", ["numpy", "compiled"])
@pytest.mark.parametrize("kernel", ["stein", "energy"])
def test_one_far_row_does_not_make_all_others_tie(kernel, path, request):
    """The tolerance of ties goes by a typical row: k(x, x) of a far one is huge."""
    if path == "compiled":
        request.getfixturevalue("compiled")
    X = sample(400, 2)
    far = X.copy()
    far[-1] = 1e6
    options: dict[str, Any] = {"kernel": kernel, "bandwidth": 1.0, "standardise": False}
    near = thin(X, 20, score=-X, **options) if kernel == "stein" else thin(X, 20, **options)
    scores: dict[str, Any] = {"score": -far} if kernel == "stein" else {}
    chosen = thin(far, 20, exclude=[399], **options, **scores)
    distance = mmd(X[:399], X[chosen.indices], kernel="energy")
    assert distance < 2 * mmd(X[:399], X[near.indices[near.indices < 399]], kernel="energy")
    assert chosen.indices.tolist() != list(range(20))


def test_wide_bandwidths_need_double_precision(compiled):
    X = sample(500, 2)
    chosen = thin(X, 20, kernel="gaussian", bandwidth=1e4)
    assert chosen.mmd < chosen.mmd_random / 20


def test_all_rows_are_all_rows():
    X = sample(50, 2)
    assert sorted(thin(X, 50)) == list(range(50))
    kept = thin(X, 47, include=[7, 3], exclude=[0, 1, 2])
    assert kept.indices[:2].tolist() == [7, 3]
    assert sorted(kept) == list(range(3, 50))


def test_more_chosen_rows_than_fit_a_gram_matrix(monkeypatch):
    """Distances and the path are computed in blocks of the chosen rows."""
    X = sample(60, 2)
    whole = thin(X, 40, unique=False, refine=False)
    blocks = thin(X, 40, unique=False, refine=False)
    path, distance = whole.path, whole.mmd
    monkeypatch.setattr("herder.kernel.result.BLOCK_VALUES", 100)
    np.testing.assert_allclose(blocks.path, path, rtol=1e-9)
    assert blocks.mmd == pytest.approx(distance, rel=1e-9)


def test_unlike_columns_and_few_effective_rows_are_told(caplog):
    X = sample(100, 2) / sample(100, 2).std(axis=0)
    thin(X * [1.0, 11.0], 5, standardise=False)
    assert "factor of 11, and with standardise=False the widest decide" in caplog.text
    caplog.clear()
    thin(X * [1.0, 9.0], 5, standardise=False)
    thin(X * [1.0, 1e5], 5)
    thin(X * [1.0, 1e5], 5, kernel="gaussian", bandwidth=2.0)
    thin(np.column_stack([X, np.ones(100)]), 5, standardise=False)
    assert not caplog.text
    thin(X, 20, log_weight=10 * X[:, 0])
    assert "weights='simplex'" in caplog.text


def test_refine_belongs_to_equal_weights():
    with refuses("refine"):
        thin(sample(30, 2), 5, weights="simplex", refine=False)


def test_distances_refuse_what_they_would_ignore():
    X = sample(30, 2)
    with refuses("score"):
        mmd(X, X, score=-X)
    with refuses("y_weight"):
        mmd(X, kernel="stein", score=-X, y_weight=np.ones(30))
