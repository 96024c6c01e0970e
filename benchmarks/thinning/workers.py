"""One process per method: a crash, a thread pool or a heap of one does not touch another.

Workers wait on a pipe, so the methods of a round still run in turn, one at a time. CPU time is
that of all threads of the worker. The first call on a sample is kept apart: it may compile, and
memory that was given back while others ran has to be fetched again.
"""

import os
import statistics
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import NamedTuple, ParamSpec, Self, TypeVar

import numpy as np

from benchmarks.thinning.cases import Floats, Sample
from benchmarks.thinning.ours import APPROXIMATIONS, OURS
from benchmarks.thinning.peers import PEERS, Chosen, Rows
from herder import Thinning

__all__ = ["METHODS", "Run", "Worker", "isolated", "one_thread"]

METHODS = OURS | APPROXIMATIONS | PEERS

#: A call is repeated until this much CPU time is spent, so that the short ones are steady.
ENOUGH_SECONDS = 0.3

P = ParamSpec("P")
T = TypeVar("T")


class Run(NamedTuple):
    """What a method chose, and median CPU and wall-clock seconds of a warm call.

    ``first_cpu`` is that of the first call on the sample. What the library says of its own
    result, and the CPU seconds to find it out, are None for the peers; the approximations are
    not asked either, for it is the same routine and takes longer than they do.
    """

    indices: Rows
    weights: Floats | None
    cpu: float
    wall: float
    first_cpu: float
    own_mmd: float | None = None
    own_cpu: float | None = None
    own_random: float | None = None


def one_thread() -> None:
    """Tell the libraries of every process started from now on to use one thread."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    os.environ["JAX_PLATFORMS"] = "cpu"


def isolated(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args, **kwargs).result()


def timed(call: Callable[[], Chosen], *, ask: bool) -> Run:
    cpu, wall = [], []
    while True:
        start, start_wall = time.process_time(), time.perf_counter()
        result = call()
        cpu.append(time.process_time() - start)
        wall.append(time.perf_counter() - start_wall)
        if sum(cpu[1:]) >= ENOUGH_SECONDS:
            break
    seconds = statistics.median(cpu[1:]), statistics.median(wall[1:]), cpu[0]
    run = Run(np.asarray(result.indices), result.weights, *seconds)
    if not (ask and isinstance(result, Thinning)):
        return run
    start = time.process_time()
    own = result.mmd
    own_cpu = time.process_time() - start
    return run._replace(own_mmd=own, own_cpu=own_cpu, own_random=result.mmd_random)


def serve(pipe: Connection, name: str) -> None:
    """Answer each sample with a timed run, or with the traceback of what went wrong."""
    while (message := pipe.recv()) is not None:
        try:
            pipe.send(timed(METHODS[name](*message), ask=name in OURS))
        except Exception:
            pipe.send(traceback.format_exc())


class Worker:
    """A process that runs one method; a context manager, ended at its exit."""

    def __init__(self, name: str) -> None:
        self.name = name
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, name), daemon=True)
        self.process.start()
        theirs.close()

    def run(self, sample: Sample, n_select: int) -> Run:
        """Choose rows of a sample; a failure of the method is raised here."""
        self.pipe.send((sample, n_select))
        try:
            answer = self.pipe.recv()
        except EOFError:
            self.process.join()
            raise RuntimeError(f"{self.name} ended with code {self.process.exitcode}") from None
        if isinstance(answer, str):
            raise RuntimeError(f"{self.name} failed:\n{answer}")
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.is_alive():
            self.pipe.send(None)
        self.process.join()
