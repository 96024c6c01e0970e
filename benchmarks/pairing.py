"""Paired rounds of CPU time: timings are noisy, so only ratios within a round are used."""

import json
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np

__all__ = ["Paired", "paired_rounds", "write_results"]


@dataclass(frozen=True)
class Paired:
    """Steps per CPU second of both methods (best round) and the median ratio of the rounds."""

    base_per_second: float
    ours_per_second: float
    ratio: float
    lowest: float
    highest: float


def paired_rounds(base: Callable[[], int], ours: Callable[[], int], *, rounds: int = 5) -> Paired:
    """Run both in turn; each returns the number of units of work it did."""
    speeds = []
    for _ in range(rounds):
        pair = []
        for run in (base, ours):
            start = time.process_time()
            work = run()
            pair.append(work / (time.process_time() - start))
        speeds.append(pair)
    ratios = sorted(b / a for a, b in speeds)
    best = np.max(speeds, axis=0)
    return Paired(float(best[0]), float(best[1]), median(ratios), ratios[0], ratios[-1])


def write_results(name: str, rows: list[dict[str, object]]) -> Path:
    """Store the results of this run next to the scripts."""
    path = Path(__file__).parent / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    versions = {"python": platform.python_version()}
    versions |= {name: version(name) for name in ("numpy", "numba", "scikit-learn", "scipy")}
    path.write_text(json.dumps({"versions": versions, "rows": rows}, indent=1) + "\n")
    return path
