"""Parallel work whose result does not depend on the number of threads.

A sum over pairs is split into a fixed number of parts (lanes), each with its own accumulator. One
thread runs all units of work of a lane in order, and the lanes are merged in order.
"""

import os
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import TypeAlias

from herder._validation import positive_int

__all__ = ["LANES", "Progress", "WorkUnit", "count_threads", "run_lanes"]

#: Threads beyond this many find no work; each lane costs one accumulator of n numbers.
LANES = 16

#: Called with the share done, between 0 and 1, and a note on what is being done.
Progress: TypeAlias = Callable[[float, str], None]

#: A unit of work, from one number to another.
WorkUnit: TypeAlias = tuple[int, int]


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads: ``n_jobs``, or all cores this process may use."""
    if n_jobs is not None:
        return positive_int(n_jobs, "n_jobs")
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_lanes(
    work: Callable[[int, WorkUnit], None],
    lanes: int,
    units: Sequence[WorkUnit],
    *,
    n_jobs: int | None,
    progress: Progress | None = None,
    note: str = "",
) -> None:
    """Call ``work(lane, unit)`` for all lanes and units, the units of a lane in order."""
    threads = min(count_threads(n_jobs), lanes)
    done, total = 0, lanes * len(units)
    if threads == 1:
        for lane in range(lanes):
            for unit in units:
                work(lane, unit)
                done += 1
                if progress is not None:
                    progress(done / total, note)
        return

    # Ctrl-C may come between any two steps of the caller's thread, which must hold no lock then
    # that the others wait for: a SimpleQueue takes none in Python code, unlike futures and events.
    waiting: SimpleQueue[int | None] = SimpleQueue()
    results: SimpleQueue[BaseException | None] = SimpleQueue()
    stopped = False
    for lane in (*range(lanes), *[None] * threads):
        waiting.put(lane)

    def run() -> None:
        try:
            while (lane := waiting.get()) is not None:
                for unit in units:
                    if stopped:
                        return
                    work(lane, unit)
                    results.put(None)
        except BaseException as error:  # the caller's thread raises it
            results.put(error)

    workers = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
    try:
        for thread in workers:
            thread.start()
        while done < total:
            try:
                error = results.get(timeout=0.1)
            except Empty:
                continue
            if error is not None:
                raise error
            done += 1
            if progress is not None:
                progress(done / total, note)
    finally:
        stopped = True
        for thread in workers:
            if thread.ident is not None:
                thread.join()
