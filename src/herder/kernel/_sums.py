r"""Sums of kernel values over all pairs, compiled, in bounded memory.

.. math:: \sigma_i = \sum_j p_j f(|x_i - x_j|^2)

Every unordered pair is visited once and counts for both rows. Where it loses no digits,
:math:`|a - b|^2 = |a|^2 + |b|^2 - 2 a \cdot b` saves work: in the loops of the Gaussian kernel,
and by a matrix product where columns are many. Else differences are taken column by column.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.core.blas import one_blas_thread
from herder.core.lanes import LANES, Progress, WorkUnit, run_lanes
from herder.kernel import _pairs_jit as _jit

__all__ = ["SHAPES", "cross_sums", "pair_sums", "stein_sums"]

#: Compiled functions of the squared distance.
SHAPES = {
    "gaussian": _jit.GAUSSIAN,
    "matern32": _jit.MATERN32,
    "matern52": _jit.MATERN52,
    "laplace": _jit.LAPLACE,
    "inverse-multiquadric": _jit.INVERSE_MULTIQUADRIC,
    "energy": _jit.DISTANCE,
}

#: Shapes that do not take a root of the squared distance: near zero a root would magnify the
#: digits that a product loses. From how many columns on a matrix product is the fastest way.
PRODUCT_COLUMNS = {_jit.GAUSSIAN: 32, _jit.INVERSE_MULTIQUADRIC: 9}
#: Largest squared norm for products in single and double precision: beyond it kernel values
#: would be wrong by more than about 1e-6 (single) or 1e-13 (double).
PRODUCT_NORMS = {np.dtype(np.float32): 8.0, np.dtype(np.float64): 256.0}

#: Rows and columns of a product's tile: it fits the second cache.
TILE_ROWS, TILE_COLUMNS = 128, 512
#: Columns of one unit of work, between which progress is reported and Ctrl-C noticed.
UNIT = 8192


def pair_sums(
    points: NDArray[Any],
    weights: NDArray[np.float64],
    shape: int,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return the sums of weighted kernel values of every row to all *other* rows.

    Parameters
    ----------
    points : array of shape (d, n)
        Coordinates divided by the bandwidth, float32 or float64, near the origin.
    weights : array of shape (n,)
        Weights of the rows.
    shape : int
        A value of `SHAPES`.
    n_jobs : int, optional
        Threads; the result is the same for any number.
    progress : callable, optional
        Called with the share done.
    """
    n = points.shape[1]
    padded = _pad(points)
    mass = np.zeros(padded.shape[1], points.dtype)
    mass[:n] = weights
    sums = np.zeros((LANES, len(mass)))
    norms = _norms(padded)
    by_product = shape in PRODUCT_COLUMNS and norms.max() <= PRODUCT_NORMS[points.dtype]
    if by_product and len(points) >= PRODUCT_COLUMNS[shape]:

        def multiply(lane: int, unit: WorkUnit) -> None:
            start, stop = unit
            rows = np.ascontiguousarray(padded[:, start:stop].T)
            edges = [start, *range(stop, len(mass), TILE_COLUMNS), len(mass)]
            for low, high in pairwise(edges):
                if low < high:
                    inner = rows @ padded[:, low:high]
                    _jit.gram_tile_sums(inner, norms, mass, shape, start, low, sums[lane])

        # Threads of the linear algebra within our own would only wait for one another.
        with one_blas_thread():
            _run_in_turn(multiply, _spans(len(mass), TILE_ROWS), n_jobs, progress)
        # The tiles on the diagonal hold k(x, x) too, which is one for both shapes.
        return sums.sum(axis=0)[:n] - mass[:n].astype(np.float64)
    coordinates, halves, function = padded, norms, shape
    if by_product and shape == _jit.GAUSSIAN:
        coordinates, halves, function = *_for_powers(padded, norms), _jit.POWER

    def work(lane: int, unit: WorkUnit) -> None:
        _jit.lane_sums(coordinates, halves, mass, function, lane, LANES, *unit, sums[lane])

    units = _spans(len(mass), UNIT)
    run_lanes(work, LANES, units, n_jobs=n_jobs, progress=progress, note="kernel mean")
    total = sums.sum(axis=0)
    _jit.block_sums(padded, mass, shape, total)
    return total[:n]


def _for_powers(points: NDArray[Any], norms: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return coordinates and half norms such that the Gaussian kernel is a power of two."""
    log2e = np.log2(np.e)
    scaled = points * points.dtype.type(np.sqrt(log2e))
    return scaled, (-0.5 * log2e * norms.astype(np.float64)).astype(points.dtype)


def cross_sums(
    points: NDArray[Any],
    others: NDArray[Any],
    weights: NDArray[np.float64],
    shape: int,
    *,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return the sums of weighted kernel values of columns of ``points`` to all ``others``."""
    n = points.shape[1]
    padded = _pad(points)
    sums = np.zeros(padded.shape[1])
    # add_tile reads four weights for the rows, which count for nothing here.
    mass = np.zeros(max(4, len(weights)), points.dtype)
    mass[: len(weights)] = weights
    norms, other_norms = _norms(padded), _norms(others)
    farthest = max(norms.max(), other_norms.max())
    if shape == _jit.GAUSSIAN and farthest <= PRODUCT_NORMS[points.dtype]:
        padded, norms = _for_powers(padded, norms)
        others, other_norms = _for_powers(others, other_norms)
        shape = _jit.POWER

    def work(lane: int, span: WorkUnit) -> None:
        _jit.cross_sums(padded, norms, others, other_norms, mass, shape, *span, sums)

    _run_in_turn(work, _spans(padded.shape[1], 256), n_jobs, None)
    return sums[:n]


def stein_sums(
    points: NDArray[np.float64],
    scores: NDArray[np.float64],
    weights: NDArray[np.float64],
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return the sums of weighted values of the Stein kernel of every row to all others."""
    from herder.kernel import _stein_jit as _stein

    n = points.shape[1]
    sums = np.zeros((LANES, n))

    def work(lane: int, unit: WorkUnit) -> None:
        _stein.lane_sums(points, scores, weights, lane, LANES, *unit, sums[lane])

    units = _spans(n, UNIT)
    run_lanes(work, LANES, units, n_jobs=n_jobs, progress=progress, note="kernel mean")
    return sums.sum(axis=0)


def _run_in_turn(
    work: Callable[[int, WorkUnit], None],
    units: list[WorkUnit],
    n_jobs: int | None,
    progress: Progress | None,
) -> None:
    """Run each unit in one lane; lanes take them in turn, as the first ones are the longest."""

    def lane_work(lane: int, turn: WorkUnit) -> None:
        place = turn[0] * LANES + lane
        if place < len(units):
            work(lane, units[place])

    turns = [(turn, turn + 1) for turn in range(-(-len(units) // LANES))]
    run_lanes(lane_work, LANES, turns, n_jobs=n_jobs, progress=progress, note="kernel mean")


def _spans(stop: int, step: int) -> list[WorkUnit]:
    return [(low, min(low + step, stop)) for low in range(0, stop, step)]


def _pad(points: NDArray[Any]) -> NDArray[Any]:
    """Add rows up to a multiple of four; they get no weight."""
    return np.pad(points, ((0, 0), (0, -points.shape[1] % 4)))


def _norms(points: NDArray[Any]) -> NDArray[Any]:
    total = np.zeros(points.shape[1])
    for coordinate in points:
        total += np.square(coordinate, dtype=np.float64)
    return total.astype(points.dtype)
