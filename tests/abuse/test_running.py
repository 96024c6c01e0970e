"""The runner itself: each outcome is told from the others, and the cases after it still run."""

import ctypes
import time

import numpy as np
import pytest

pytest.importorskip("resource")

from tests.abuse import running
from tests.abuse.running import CRASH, FOREIGN, HANG, REFUSED, SAME, run_cases, tally


def make():
    def attempt(case):
        print("cases may print")
        if case == "refuse":
            return REFUSED
        if case == "raise":
            raise KeyError(case)
        if case == "segfault":
            ctypes.string_at(0)
        if case == "fill":
            np.ones(10**9)
        while case == "loop":
            pass
        if case == "wait":
            time.sleep(600)
        return SAME

    return attempt


CASES = {
    "works": SAME,
    "segfault": CRASH,
    "refuse": REFUSED,
    "loop": HANG,
    "raise": FOREIGN,
    "fill": FOREIGN,
    "wait": HANG,
    "again": SAME,
}


def test_outcomes(monkeypatch):
    monkeypatch.setattr(running, "PATIENCE", 4)
    found = run_cases("tests.abuse.test_running:make", list(CASES), seconds=1, megabytes=100)
    assert {one.case: one.outcome for one in found} == CASES
    assert "MemoryError" in next(one.note for one in found if one.case == "fill")
    bad = {"crash": 1, "hang": 2, "foreign": 2, "different": 0}
    assert tally(found) == {**bad, "same": 2, "refused": 1}


def broken():
    raise RuntimeError("nothing to run")


def test_a_maker_that_fails_is_an_error():
    with pytest.raises(RuntimeError, match="nothing to run"):
        run_cases("tests.abuse.test_running:broken", [1])
