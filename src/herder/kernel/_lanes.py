"""Work in lanes: the result does not depend on how many threads share them.

A sum over pairs is split into a fixed number of lanes, each with its own accumulator; a lane is
run by one thread from its first unit to its last, and the lanes are merged in order.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeAlias

from herder._validation import positive_int

__all__ = ["LANES", "Progress", "Span", "count_threads", "run_lanes"]

#: Threads beyond this many find no work; each lane costs one accumulator of n numbers.
LANES = 16

#: Called with the share done, between 0 and 1, and a word on what is being done.
Progress: TypeAlias = Callable[[float, str], None]

#: A unit of work, from one number to another.
Span: TypeAlias = tuple[int, int]


def count_threads(n_jobs: int | None) -> int:
    """Threads to use: all cores this process may use, unless told."""
    if n_jobs is not None:
        return positive_int(n_jobs, "n_jobs")
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_lanes(
    work: Callable[[int, Span], None],
    lanes: int,
    units: Sequence[Span],
    *,
    n_jobs: int | None,
    progress: Progress | None = None,
    note: str = "",
) -> None:
    """Call ``work(lane, unit)`` for all, units in order within a lane."""
    done, total = 0, lanes * len(units)
    stopped = threading.Event()
    lock = threading.Lock()

    def run(lane: int) -> None:
        nonlocal done
        for unit in units:
            if stopped.is_set():
                return
            work(lane, unit)
            with lock:
                done += 1
            if threads == 1 and progress is not None:
                progress(done / total, note)

    threads = min(count_threads(n_jobs), lanes)
    if threads == 1:
        for lane in range(lanes):
            run(lane)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            waiting = {pool.submit(run, lane) for lane in range(lanes)}
            while waiting:
                # The caller's own thread reports, and hears Ctrl-C, while the others work.
                finished, waiting = wait(waiting, timeout=0.1)
                for future in finished:
                    future.result()
                if progress is not None:
                    progress(done / total, note)
        finally:
            stopped.set()
