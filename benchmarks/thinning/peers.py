"""Published packages that thin a sample, each under one form: sample and size in, rows out.

The packages come with the extra ``bench`` and are imported by name when a worker starts, so
that the checkers need none of them. Each maker returns the call to be timed; what a package
needs once for any number of calls stands outside of it.
"""

import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.thinning.cases import Floats, Sample

__all__ = ["PEERS", "Choice", "Chosen", "Maker", "Rows"]

Rows = NDArray[np.intp]


class Choice(NamedTuple):
    """Rows that a method chose, and their weights where it gives any."""

    indices: Rows
    weights: Floats | None = None


class Chosen(Protocol):
    """What a call must give: a `Choice` or a result of the library."""

    @property
    def indices(self) -> Rows: ...

    @property
    def weights(self) -> Floats | None: ...


#: Sample and size in; a call that chooses rows out.
Maker = Callable[[Sample, int], Callable[[], Chosen]]


def chosen(indices: object) -> Choice:
    return Choice(np.asarray(indices).astype(np.intp))


def full_gram(sample: Sample, rows: Rows) -> Floats:
    """Gram matrix of some rows, made in place: kernel thinning wants it whole."""
    points = sample.X[rows] / sample.bandwidth
    half = np.einsum("nd,nd->n", points, points) / 2
    exponent = points @ points.T
    exponent -= half[:, None]
    exponent -= half
    return np.exp(np.minimum(exponent, 0.0, out=exponent), out=exponent)


def halving_rows(n_rows: int, n_select: int) -> tuple[Rows, int]:
    """Evenly spaced rows that halvings bring down to ``n_select``, and how many halvings."""
    halvings = int(math.log2(n_rows / n_select))
    return np.linspace(n_rows - 1, 0, n_select << halvings, dtype=np.intp)[::-1], halvings


def kernel_thinning(sample: Sample, n_select: int) -> Callable[[], Choice]:
    """Split and swap on as many evenly spaced rows as halving allows (6,400 of 10,000)."""
    kt = import_module("goodpoints.kt")

    def run() -> Choice:
        rows, halvings = halving_rows(len(sample.X), n_select)
        gram = full_gram(sample, rows)
        return chosen(rows[kt.thin_K(gram, gram, halvings, seed=0, unique=True)])

    return run


def kernel_thinning_all(sample: Sample, n_select: int) -> Callable[[], Choice]:
    """Split the evenly spaced rows, then swap against all of them: the best use of the package."""
    kt = import_module("goodpoints.kt")

    def run() -> Choice:
        rows, halvings = halving_rows(len(sample.X), n_select)
        gram = full_gram(sample, np.arange(len(sample.X)))
        coresets = kt.split_K(np.ascontiguousarray(gram[np.ix_(rows, rows)]), halvings, seed=0)
        return chosen(kt.swap_K(gram, rows[coresets], unique=True))

    return run


def compress(oversampling: int) -> Maker:
    """Compress++; it returns as many rows as the root of the largest power of four in n."""

    def maker(sample: Sample, n_select: int) -> Callable[[], Choice]:
        module = import_module("goodpoints.compress")
        points = np.ascontiguousarray(sample.X)
        if n_select != math.isqrt(module.largest_power_of_four(len(points))):
            raise ValueError(f"n_select must be the size that Compress++ gives, got {n_select}")
        scale = np.array([2 * sample.bandwidth**2])

        def run() -> Choice:
            return chosen(
                module.compresspp_kt(points, b"gaussian", k_params=scale, g=oversampling, seed=0)
            )

        return run

    return maker


def goodpoints_herding(sample: Sample, n_select: int) -> Callable[[], Choice]:
    """Kernel herding of goodpoints: a row of the Gram matrix at a time."""
    herding = import_module("goodpoints.herding").herding
    scale = 2 * sample.bandwidth**2

    def kernel(point: Floats, points: Floats) -> Floats:
        return np.exp(-((points - point) ** 2).sum(axis=1) / scale)

    def run() -> Choice:
        # Its size is n / 2^m rounded down; the margin keeps rounding from losing a row.
        halvings = math.log2(len(sample.X) / (n_select + 0.5))
        return chosen(herding(sample.X, halvings, kernel, unique=True))

    return run


def coreax_herding(block_size: int | None = None, refinements: int = 0) -> Maker:
    """Kernel herding of coreax in float32, compiled as a whole, with exchanges if asked for."""

    def reduce(solver: Any, data: Any) -> Any:
        if refinements:
            return solver.reduce_iterative(data, num_iterations=1 + refinements)[0]
        return solver.reduce(data)[0]

    @cache
    def compiled() -> Callable[[Any, Any], Any]:
        return import_module("equinox").filter_jit(reduce)

    def maker(sample: Sample, n_select: int) -> Callable[[], Choice]:
        coreax, kernels = import_module("coreax"), import_module("coreax.kernels")
        jnp = import_module("jax.numpy")
        # The length scale is compiled in: points in units of it need one compilation for all.
        data = coreax.Data(jnp.asarray(sample.X / sample.bandwidth, dtype=np.float32))
        solver = import_module("coreax.solvers").KernelHerding(
            coreset_size=n_select,
            kernel=kernels.SquaredExponentialKernel(length_scale=1.0),
            block_size=block_size,
        )
        return lambda: chosen(compiled()(solver, data).unweighted_indices)

    return maker


def twinning(sample: Sample, n_select: int) -> Callable[[], Choice]:
    """Data twinning at the splitting ratio that gives ``n_select`` rows."""
    twin = import_module("twinning").twin
    points = np.ascontiguousarray(sample.X)
    return lambda: chosen(twin(points, math.ceil(len(points) / n_select), u1=0))


def stein_thinning(sample: Sample, n_select: int) -> Callable[[], Choice]:
    """Stein thinning with the exact score; it follows the density, not the sample."""
    thin = import_module("stein_thinning.thinning").thin
    return lambda: chosen(thin(sample.X, sample.score, n_select))


def apricot(sample: Sample, n_select: int) -> Callable[[], Choice]:
    """Facility location of apricot: rows that are near to all others."""
    import_module("numba").set_num_threads(1)
    module = import_module("apricot")

    def run() -> Choice:
        selection = module.FacilityLocationSelection(
            n_select, metric="euclidean", optimizer="lazy"
        )
        return chosen(selection.fit(sample.X).ranking)

    return run


PEERS: dict[str, Maker] = {
    "goodpoints KT": kernel_thinning,
    "goodpoints KT, swap on all": kernel_thinning_all,
    "goodpoints herding": goodpoints_herding,
    "Compress++ g=0": compress(0),
    "Compress++ g=4": compress(4),
    "coreax herding": coreax_herding(),
    "coreax herding, blocks": coreax_herding(500),
    "coreax herding, refined": coreax_herding(500, refinements=10),
    "twinning": twinning,
    "stein-thinning": stein_thinning,
    "apricot": apricot,
}
