"""Kernel means: ours against the best that NumPy does in float32, one thread each.

NumPy's way is a matrix product of rows with two more columns, which gives the exponent at
once, and an exponential in place. It is tried over the full square and over the triangle, in
several block shapes, and by differences where there is one column; the fastest form of each
width is the base. Work is counted in unordered pairs, whichever way they were visited.
"""

import itertools
import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.pairing import paired_rounds
from benchmarks.thinning.cases import draw_sample, kernel_mean_64
from herder import Gaussian, kernel_mean

__all__ = ["MeanSpeed", "ThreadSpeed", "mean_speed", "thread_speed"]

Singles = NDArray[np.float32]
Exponents = Callable[[slice, slice], Singles]

#: Rows and columns of a block, from one that fits the first cache to one that fits the last.
BLOCKS = ((64, 512), (128, 1024), (256, 1024), (256, 4096))


class MeanSpeed(NamedTuple):
    """Unordered pairs per CPU second of both, and the largest relative error of both."""

    width: int
    n_rows: int
    numpy_form: str
    numpy_per_second: float
    ours_per_second: float
    ratio: float
    lowest: float
    highest: float
    numpy_error: float
    ours_error: float


class ThreadSpeed(NamedTuple):
    """Wall-clock seconds with one thread over those with two, and whether the bits agree."""

    width: int
    n_rows: int
    ratio: float
    lowest: float
    highest: float
    same_bits: bool


def by_product(points: Singles) -> Exponents:
    """Exponents -|a - b|^2 / 2 of a block by one matrix product."""
    half = -np.einsum("nd,nd->n", points, points) / 2
    ones = np.ones_like(half)
    left = np.column_stack([points, half, ones])
    right = np.ascontiguousarray(np.column_stack([points, ones, half]).T)
    return lambda rows, columns: left[rows] @ right[:, columns]


def by_difference(points: Singles) -> Exponents:
    """The same for one column, without a product."""
    values = points[:, 0] * np.float32(np.sqrt(0.5))

    def exponents(rows: slice, columns: slice) -> Singles:
        block = values[rows, None] - values[columns]
        block *= block
        return np.negative(block, out=block)

    return exponents


def square_mean(exponents: Exponents, n_rows: int, block: tuple[int, int]) -> NDArray[np.float64]:
    """Kernel mean over all ordered pairs."""
    ones, total = np.ones(n_rows, np.float32), np.zeros(n_rows)
    for start in range(0, n_rows, block[0]):
        rows = slice(start, start + block[0])
        for left in range(0, n_rows, block[1]):
            columns = slice(left, left + block[1])
            values = exponents(rows, columns)
            np.exp(values, out=values)
            total[rows] += values @ ones[columns]
    return total / n_rows


def triangle_mean(
    exponents: Exponents, n_rows: int, block: tuple[int, int]
) -> NDArray[np.float64]:
    """Kernel mean over unordered pairs; each block counts for its rows and its columns."""
    ones, total = np.ones(n_rows, np.float32), np.zeros(n_rows)
    for start in range(0, n_rows, block[0]):
        stop = min(start + block[0], n_rows)
        rows = slice(start, stop)
        values = exponents(rows, rows)
        total[rows] += np.exp(values, out=values) @ ones[rows]
        for left in range(stop, n_rows, block[1]):
            columns = slice(left, min(left + block[1], n_rows))
            values = exponents(rows, columns)
            np.exp(values, out=values)
            total[rows] += values @ ones[columns]
            total[columns] += ones[rows] @ values
    return total / n_rows


def numpy_forms(points: Singles) -> dict[str, Callable[[], NDArray[np.float64]]]:
    ways = {"product": by_product(points)}
    if points.shape[1] == 1:
        ways["differences"] = by_difference(points)
    shapes = {"triangle": triangle_mean, "square": square_mean}
    return {
        f"{way}, {shape}, {block[0]} x {block[1]}": lambda w=way, s=shape, b=block: shapes[s](
            ways[w], len(points), b
        )
        for way, shape, block in itertools.product(ways, shapes, BLOCKS)
    }


def cpu_of(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def mean_speed(width: int, n_rows: int, rounds: int) -> MeanSpeed:
    sample = draw_sample(n_rows, width)
    points, pairs = sample.scaled.astype(np.float32), n_rows * (n_rows + 1) // 2
    forms = numpy_forms(points)
    seconds = {name: min(cpu_of(call) for _ in range(2)) for name, call in forms.items()}
    form = min(seconds, key=seconds.__getitem__)
    found: dict[str, NDArray[np.float64]] = {}

    def base() -> int:
        found["base"] = forms[form]()
        return pairs

    def ours() -> int:
        found["ours"] = kernel_mean(
            sample.X, kernel=Gaussian(sample.bandwidth), precision="single", n_jobs=1
        )
        return pairs

    ours()  # compilation is not part of it
    speed = paired_rounds(base, ours, rounds=rounds)
    exact = kernel_mean_64(sample.scaled, threads=1)
    errors = {name: float(np.abs(mean / exact - 1).max()) for name, mean in found.items()}
    return MeanSpeed(
        width,
        n_rows,
        form,
        speed.base_per_second,
        speed.ours_per_second,
        speed.ratio,
        speed.lowest,
        speed.highest,
        errors["base"],
        errors["ours"],
    )


def thread_speed(width: int, n_rows: int, rounds: int) -> ThreadSpeed:
    sample = draw_sample(n_rows, width)

    def run(jobs: int) -> tuple[float, NDArray[np.float64]]:
        start = time.perf_counter()
        mean = kernel_mean(
            sample.X, kernel=Gaussian(sample.bandwidth), precision="single", n_jobs=jobs
        )
        return time.perf_counter() - start, mean

    _, first = run(1)  # compilation is not part of it
    ratios, same = [], True
    for _ in range(rounds):
        (one, mean_one), (two, mean_two) = run(1), run(2)
        ratios.append(one / two)
        same &= np.array_equal(first, mean_one) and np.array_equal(first, mean_two)
    return ThreadSpeed(width, n_rows, median(ratios), min(ratios), max(ratios), same)
