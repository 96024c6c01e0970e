"""The first call in a new process, with and without compiled code kept on disk."""

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

__all__ = ["first_calls"]

#: One partial_fit on two rows, after all imports and scikit-learn's own first call.
SCRIPT = """
import json, time
import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from herder import NHERD
X, y = np.eye(2), np.array([0, 1])
if {sparse}:
    X = sparse.csr_matrix(X)
SGDClassifier().partial_fit(X, y, classes=y)
start = time.process_time()
NHERD().partial_fit(X, y, classes=y)
first = time.process_time()
NHERD().partial_fit(X, y, classes=y)
print(json.dumps([first - start, time.process_time() - first]))
"""


def call_twice(kind: str, cache: str | None) -> tuple[float, float]:
    """CPU seconds of the first and the second call in a new process."""
    environment = dict(os.environ)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    script = SCRIPT.format(sparse=kind == "sparse")
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    first, second = json.loads(done.stdout)
    return first, second


def first_calls() -> list[dict[str, Any]]:
    """CPU seconds of first calls: nothing compiled yet, and compiled by an earlier process."""
    rows: list[dict[str, Any]] = []
    for kind in ("sparse", "dense"):
        with tempfile.TemporaryDirectory() as folder:
            compiled, warm = call_twice(kind, folder)
            loaded, _ = call_twice(kind, folder)
        rows.append(
            {
                "scene": "first call",
                "rows": kind,
                "compiled_cpu_s": compiled,
                "loaded_cpu_s": loaded,
                "second_call_cpu_s": warm,
            }
        )
    return rows
