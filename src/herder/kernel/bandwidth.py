r"""Kernels by name, and their bandwidth: the median of all distances between two rows.

All :math:`n (n-1) / 2` distances are too many for large n, and a random sub-sample would make the
result a matter of chance. Rows :math:`\lfloor n \{i \varphi\} \rfloor` for the golden ratio
:math:`\varphi` lie evenly in the table without the danger of a fixed stride, which may fall into
step with the data (sorted chains, repeated designs).
"""

import logging
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import one_of
from herder.core.plain import Header, read_array
from herder.data.rows import read_rows
from herder.kernel.functions import KERNELS, Bandwidth, Energy, Kernel, centred

__all__ = [
    "MEDIAN_ROWS",
    "BandwidthLike",
    "KernelLike",
    "attach_scores",
    "even_rows",
    "median_bandwidth",
    "median_distance",
    "plain_kernel",
    "read_kernel",
    "resolve_kernel",
]

#: 2,000 rows give 2 million distances: the median is then within about one per cent of the
#: median of all of them, for a fraction of a second.
MEDIAN_ROWS = 2000

_GOLDEN = (5**0.5 - 1) / 2

#: Columns whose spreads differ by more than this are unlike enough to say so.
UNLIKE = 100.0

_log = logging.getLogger("herder")

#: A name of `KERNELS`, a kernel of `herder.kernel`, or the user's own function of two tables.
KernelLike: TypeAlias = "str | Kernel | Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]"

#: ``"median"``, one length, or one for each column.
BandwidthLike: TypeAlias = "str | float | ArrayLike"


def median_bandwidth(X: ArrayLike) -> float:
    """Median distance between two rows, from at most 2,000 rows spread evenly over the table.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The sample; anything `thin` takes.

    Returns
    -------
    float
        The bandwidth; one when all rows are equal, for then any will do.

    Examples
    --------
    >>> from herder import median_bandwidth
    >>> median_bandwidth([[0.0], [1.0], [3.0]])
    2.0
    """
    return median_distance(read_rows(X).values)


def median_distance(values: NDArray[Any], scale: float | NDArray[np.float64] = 1.0) -> float:
    """`median_bandwidth` of checked rows, their columns divided by ``scale``."""
    from scipy.spatial.distance import pdist

    if len(values) < 2:
        return 1.0
    rows = np.asarray(values[even_rows(len(values), MEDIAN_ROWS)], np.float64)
    distances = pdist((rows - rows.mean(axis=0)) / scale)
    median = float(np.median(distances))
    if median == 0:
        # More than half of the pairs are equal, as in counts with many zeros: the others decide.
        unequal = distances[distances > 0]
        median = float(np.median(unequal)) if len(unequal) else 1.0
    return median


def even_rows(n: int, most: int) -> NDArray[np.intp]:
    """At most ``most`` of n rows, in ascending order, spread evenly without a fixed stride."""
    if n <= most:
        return np.arange(n, dtype=np.intp)
    spread = (n * ((np.arange(most) * _GOLDEN) % 1.0)).astype(np.intp)
    return np.unique(spread)


def resolve_kernel(
    kernel: KernelLike,
    bandwidth: BandwidthLike,
    values: NDArray[Any],
    *,
    standardise: bool = False,
) -> Kernel:
    """Build the kernel that a call asks for, with its bandwidth from the rows where needed.

    An energy kernel without a centre gets the mean of the rows, so that all that is computed
    with it, of parts of the rows too, has the same one.

    Parameters
    ----------
    kernel : str or callable
        A name, or a kernel that is complete: then the bandwidth must be left alone.
    bandwidth : "median", float or array of shape (n_features,)
        The median distance of rows, or given lengths. The energy kernel has none by default.
    values : array of shape (n_samples, n_features)
        The rows.
    standardise : bool
        Measure every column in its standard deviation.
    """
    found = _resolve(kernel, bandwidth, values, standardise)
    if isinstance(found, Energy):
        return centred(found, values.mean(axis=0, dtype=np.float64))
    return found


def _resolve(
    kernel: KernelLike, bandwidth: BandwidthLike, values: NDArray[Any], standardise: bool
) -> Kernel:
    if not isinstance(kernel, str):
        return _complete(kernel, bandwidth, values, standardise)
    kind = KERNELS[one_of(kernel, "kernel", KERNELS)]
    spread = _spread(values) if standardise else 1.0
    if not standardise and np.ndim(bandwidth) == 0:
        _warn_of_scales(values)
    if isinstance(bandwidth, str):
        if bandwidth != "median":
            raise ParameterError(
                "bandwidth", "be 'median', a number, or one for each column", bandwidth
            )
        scale = 1.0 if kind is Energy else median_distance(values, spread)
    else:
        scale = _lengths(bandwidth, values.shape[1])
    lengths = np.asarray(scale * spread)
    return kind(float(lengths) if lengths.ndim == 0 else lengths)


def plain_kernel(kernel: Any) -> Header:
    """Return a kernel as JSON can hold it; one of the user's own is refused."""
    name = next((name for name, kind in KERNELS.items() if type(kernel) is kind), None)
    if name is None:
        kind = type(kernel).__name__
        raise ParameterTypeError("kernel", "be one of herder's own to be saved", got=kind)
    parts = {key: np.asarray(value).tolist() for key, value in vars(kernel).items()}
    return {"name": name, **parts}


def read_kernel(plain: Header, n_features: int) -> Kernel:
    """Make a kernel of what `plain_kernel` gave, for so many columns."""
    parts = dict(plain)
    kind: Any = KERNELS[parts.pop("name")]
    parts["bandwidth"] = _lengths(parts["bandwidth"], n_features)
    if parts.get("centre") is not None:
        parts["centre"] = read_array(
            {"centre": np.array(parts["centre"], np.float64)}, "centre", (n_features,)
        )
    return kind(**parts)


def attach_scores(values: NDArray[Any], score: Any) -> NDArray[np.float64]:
    """Rows ``[x, score(x)]`` for the Stein kernel."""
    if score is None:
        raise ParameterError(
            "score",
            "hold the gradient of the log density at every row when kernel is 'stein'",
            None,
        )
    given = np.asarray(score(values) if callable(score) else score)
    if given.dtype.kind not in "biuf":
        raise ParameterTypeError("score", "hold numbers", got=f"dtype {given.dtype}")
    if given.size == values.size and given.shape[-1] == values.shape[-1]:
        given = given.reshape(values.shape)
    if given.shape != values.shape:
        raise ParameterError("score", f"have the shape of X, {values.shape}", given.shape)
    if not np.isfinite(given).all():
        row = int(np.flatnonzero(~np.isfinite(given).all(axis=1))[0])
        raise ParameterError("score", "be finite", got=f"{given[row]} in row {row}")
    return np.concatenate([values, given], axis=1, dtype=np.float64)


def _complete(
    kernel: Any, bandwidth: BandwidthLike, values: NDArray[Any], standardise: bool
) -> Kernel:
    if isinstance(kernel, type):
        raise ParameterTypeError(
            "kernel",
            "be a kernel and not its class",
            got=f"{kernel.__name__}: call it, as in {kernel.__name__}(...)",
        )
    if not callable(kernel):
        names = ", ".join(repr(name) for name in KERNELS)
        raise ParameterTypeError("kernel", f"be one of {names}, or a callable", kernel)
    if not (isinstance(bandwidth, str) and bandwidth == "median") or standardise:
        raise ValueError(
            "bandwidth and standardise must be left alone when kernel is an object, which has "
            f"its own, got bandwidth={bandwidth!r}, standardise={standardise}"
        )
    if hasattr(kernel, "shape") and hasattr(kernel, "bandwidth"):
        _lengths(getattr(kernel, "bandwidth"), values.shape[1])  # noqa: B009
        centre = getattr(kernel, "centre", None)
        if centre is not None and np.shape(centre) != values.shape[1:]:
            raise ValueError(
                f"centre of the kernel must have the shape {values.shape[1:]}, "
                f"got {np.shape(centre)}"
            )
        return cast(Kernel, kernel)
    own = cast(Kernel, kernel)
    probe = np.asarray(values[:2], np.float64)
    gram = np.asarray(own(probe, probe))
    if gram.shape != (len(probe), len(probe)) or gram.dtype.kind not in "fiu":
        raise ParameterError(
            "kernel",
            "be a function of two tables of rows that returns their Gram matrix, of shape "
            f"{(len(probe), len(probe))} for two rows",
            got=f"shape {gram.shape}",
        )
    return own


def _lengths(bandwidth: Any, n_features: int) -> Bandwidth:
    lengths = np.asarray(bandwidth)
    if lengths.dtype.kind not in "iuf" or lengths.ndim > 1:
        raise ParameterTypeError(
            "bandwidth", "be 'median', a number, or one for each column", bandwidth
        )
    if lengths.ndim == 1 and len(lengths) != n_features:
        raise ParameterError(
            "bandwidth", f"be one number or {n_features}, one for each column", len(lengths)
        )
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise ParameterError("bandwidth", "be positive and finite", bandwidth)
    return float(lengths) if lengths.ndim == 0 else lengths.astype(np.float64)


def _warn_of_scales(values: NDArray[Any]) -> None:
    """One length for all columns hardly sees those of small numbers: say so."""
    some = np.asarray(values[even_rows(len(values), MEDIAN_ROWS)], np.float64)
    spread = some.std(axis=0)
    spread = spread[spread > 1e-12 * np.abs(some.mean(axis=0))]  # constant columns do not count
    if len(spread) > 1 and spread.max() > UNLIKE * spread.min():
        ratio = spread.max() / spread.min()
        _log.warning(
            "columns differ in spread by a factor of %.0e, and one bandwidth for all hardly sees "
            "the narrow ones; standardise=True measures each column in its own spread",
            ratio,
        )


def _spread(values: NDArray[Any]) -> NDArray[np.float64]:
    """Spread of each column; one for a constant column, which then weighs nothing."""
    spread = values.std(axis=0, dtype=np.float64)
    centre = np.abs(values.mean(axis=0, dtype=np.float64))
    # Rounding may leave a constant column a spread of the order of its last digit.
    return np.where(spread > 1e-12 * centre, spread, 1.0)
