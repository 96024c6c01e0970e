"""The library's own ways to thin, in the form of the peers, and the memory that they take."""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.thinning.cases import Sample, draw_sample
from benchmarks.thinning.peers import Choice, Maker
from herder import Thinning, kernel_herd, thin
from herder.kernel import Chunks, Gaussian, RandomFeatures, Subsample

__all__ = ["APPROXIMATIONS", "OURS", "Memory", "memory_growth"]


def thinner(**options: Any) -> Maker:
    """Thin with the given options and the kernel of the sample."""

    def maker(sample: Sample, n_select: int) -> Callable[[], Thinning]:
        return lambda: thin(sample.X, n_select, kernel=Gaussian(sample.bandwidth), **options)

    return maker


def herding(sample: Sample, n_select: int) -> Callable[[], Choice]:
    """Pure herding, where a row may be chosen again."""

    def run() -> Choice:
        return Choice(kernel_herd(sample.X, n_select, kernel=Gaussian(sample.bandwidth)).indices)

    return run


#: Named approximations for many rows, each as it comes and at other sizes.
APPROXIMATIONS: dict[str, Maker] = {
    f"herder, {approximate}": thinner(approximate=approximate)
    for approximate in (
        Chunks(4),
        Chunks(10),
        Chunks(40),
        Subsample(16_384),
        Subsample(8192),
        Subsample(2048),
        RandomFeatures(256),
    )
}

OURS: dict[str, Maker] = {
    "herder thin": thinner(),
    "herder thin, refine=False": thinner(refine=False),
    "herder thin, refine=10": thinner(refine=10),
    "herder kernel_herd": herding,
    "herder thin, simplex weights": thinner(weights="simplex"),
}


def status_megabytes(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise OSError(f"/proc/self/status must state {field}: memory is measured on Linux only")


class Memory(NamedTuple):
    """Megabytes at the peak above what the process held before, the data included there."""

    width: int
    n_rows: int
    n_select: int
    data_mb: float
    thin_mb: float
    mmd_mb: float


def peak_growth(call: Callable[[], object]) -> float:
    """Megabytes by which a call lifts the high-water mark."""
    # What the allocator kept of freed memory would hide as much of the growth.
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the mark falls to what is held now
    before = status_megabytes("VmHWM")
    call()
    return status_megabytes("VmHWM") - before


def memory_growth(width: int, n_rows: int, n_select: int) -> Memory:
    small, sample = draw_sample(20_000, width, seed=1), draw_sample(n_rows, width)
    # Compiled code and its cache are loaded once, whatever the data.
    _ = thin(small.X, n_select, kernel=Gaussian(small.bandwidth)).mmd
    found: list[Thinning] = []
    thin_mb = peak_growth(
        lambda: found.append(thin(sample.X, n_select, kernel=Gaussian(sample.bandwidth)))
    )
    mmd_mb = peak_growth(lambda: found[0].mmd)
    return Memory(width, n_rows, n_select, sample.X.nbytes / 2**20, thin_mb, mmd_mb)
