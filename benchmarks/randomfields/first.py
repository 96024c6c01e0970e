"""First calls in a new process, with and without compiled code kept on disk."""

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

__all__ = ["first_calls"]

#: What is imported before the clock starts, and what is called twice.
CALLS = {
    "gibbs": "gibbs(model, 10)",
    "herded_gibbs": "herded_gibbs(model, 10)",
    "swendsen_wang": "swendsen_wang(model, 10)",
    "BoltzmannMachine": "BoltzmannMachine().fit(rows)",
}

SCRIPT = """
import json, time
import numpy as np
from herder import PairwiseModel, {name}
model = PairwiseModel.grid((3, 3), coupling=0.3)
rows = np.random.default_rng(0).integers(0, 2, (100, 4))
start = time.process_time()
{call}
first = time.process_time()
{call}
print(json.dumps([first - start, time.process_time() - first]))
"""


def call_twice(name: str, cache: str) -> tuple[float, float]:
    """CPU seconds of the first and the second call in a new process."""
    command = [sys.executable, "-c", SCRIPT.format(name=name, call=CALLS[name])]
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    first, second = json.loads(done.stdout)
    return first, second


def first_calls() -> list[dict[str, Any]]:
    """CPU seconds of first calls: nothing compiled yet, and compiled by an earlier process."""
    rows: list[dict[str, Any]] = []
    for name in CALLS:
        with tempfile.TemporaryDirectory() as folder:
            compiled, again = call_twice(name, folder)
            loaded, _ = call_twice(name, folder)
        rows.append(
            {
                "scene": "first call",
                "call": name,
                "compiled_cpu_s": compiled,
                "loaded_cpu_s": loaded,
                "second_call_cpu_s": again,
            }
        )
    return rows
