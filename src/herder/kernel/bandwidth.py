r"""Kernels by name, and their bandwidth: the median of all distances between two rows.

All :math:`n (n-1) / 2` distances are too many for large n, and a random sub-sample would make the
result random. Rows :math:`\lfloor n \{i \varphi\} \rfloor` for the golden ratio
:math:`\varphi` lie evenly in the table without the danger of a fixed stride, which may fall into
step with the data (sorted chains, repeated designs).
"""

import logging
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import flag, one_of, real_array
from herder.core.plain import Header, read_array
from herder.data.rows import read_rows
from herder.kernel.candidates import MEDIAN_ROWS, centred, even_rows
from herder.kernel.functions import KERNELS, Bandwidth, Energy, Kernel, as_lengths
from herder.kernel.targets import numbers_at_rows

__all__ = [
    "BandwidthLike",
    "KernelLike",
    "attach_scores",
    "median_bandwidth",
    "median_distance",
    "plain_kernel",
    "read_kernel",
    "resolve_kernel",
    "spreads",
]

#: Standard deviations are summed over blocks of so many values: 8 MB, for tables on disk too.
SPREAD_VALUES = 2**20

#: A warning is logged if columns are not standardised and two of their spreads differ by more than
#: this factor: under the energy kernel errors of the narrow ones are then larger by half, at 100
#: four times as large (`benchmarks/defaults.py`).
UNLIKE = 10.0

BANDWIDTH_RULE = "be 'median', a number, or one for each column"

_log = logging.getLogger("herder")

#: A name of `KERNELS`, a kernel of `herder.kernel`, or a custom function of two tables.
KernelLike: TypeAlias = "str | Kernel | Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]"

#: ``"median"``, one length, or one for each column.
BandwidthLike: TypeAlias = "str | float | ArrayLike"


def median_bandwidth(X: ArrayLike) -> float:
    """Return the median distance of two rows, from at most 2,000 rows spread over the table.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The sample, in any form that `thin` takes, of numbers only.

    Returns
    -------
    float
        The bandwidth; one if all rows are equal, as any will do then.

    Examples
    --------
    >>> from herder import median_bandwidth
    >>> median_bandwidth([[0.0], [1.0], [3.0]])
    2.0
    """
    return median_distance(read_rows(X).values)


def median_distance(values: NDArray[Any], scale: float | NDArray[np.float64] = 1.0) -> float:
    """Return the `median_bandwidth` of checked rows, their columns divided by ``scale``."""
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


def resolve_kernel(
    kernel: KernelLike,
    bandwidth: BandwidthLike,
    X: Any,
    *,
    standardise: bool = True,
) -> Kernel:
    """Build the kernel that a call asks for, with its bandwidth from the rows where needed.

    An energy kernel without a centre gets the mean of the rows, so that all that is computed
    with it, of parts of the rows too, has the same one.

    Parameters
    ----------
    kernel : str or callable
        A name, or a kernel object, which is used as it is: the bandwidth must be left out.
    bandwidth : "median", float or array of shape (n_features,)
        The median distance of rows, or given lengths. The energy kernel has none by default.
    X : Rows, or what `read_rows` takes
        The rows. Columns that indicate a category are measured as they are.
    standardise : bool, default True
        Measure every column in its standard deviation; given lengths are in these units.
    """
    standardise = flag(standardise, "standardise")
    rows = read_rows(X)
    values, indicators = rows.values, None
    if rows.labels:
        indicators = rows.is_indicator
        if np.ndim(bandwidth) == 1 and np.size(bandwidth) == len(rows.names):
            bandwidth = np.asarray(bandwidth)[rows.columns]
    if not isinstance(kernel, str):
        return centred(_complete(kernel, bandwidth, values), values)
    kind = KERNELS[one_of(kernel, "kernel", KERNELS)]
    spread = spreads(values, indicators) if standardise else 1.0
    if isinstance(bandwidth, str):
        if bandwidth != "median":
            raise ParameterError("bandwidth", BANDWIDTH_RULE, bandwidth)
        scale = 1.0 if kind is Energy else median_distance(values, spread)
    else:
        scale = _lengths(bandwidth, values.shape[1])
        if kind is Energy and np.ndim(scale) == 0:
            _log.warning(
                "one bandwidth only scales the energy kernel and does not change the choice; "
                "kernel='gaussian' has a bandwidth to choose"
            )
    if not standardise and np.ndim(scale) == 0:
        _warn_of_scales(values if indicators is None else values[:, ~indicators])
    if kind is Energy:
        return Energy(scale * spread, centre=values.mean(axis=0, dtype=np.float64))
    return kind(scale * spread)


def plain_kernel(kernel: Any) -> Header:
    """Return a built-in kernel as JSON can hold it; a custom one is refused."""
    names = [name for name, kind in KERNELS.items() if type(kernel) is kind]
    if not names:
        kind = type(kernel).__name__
        raise ParameterTypeError("kernel", "be one of the built-in kernels to be saved", got=kind)
    parts = {key: np.asarray(value).tolist() for key, value in vars(kernel).items()}
    return {"name": names[0], **parts}


def read_kernel(plain: Header, n_features: int) -> Kernel:
    """Make a kernel of what `plain_kernel` returned, for that number of columns."""
    parts = dict(plain)
    kind: Any = KERNELS[parts.pop("name")]
    parts["bandwidth"] = _lengths(parts["bandwidth"], n_features)
    if parts.get("centre") is not None:
        centre = {"centre": np.array(parts["centre"], np.float64)}
        parts["centre"] = read_array(centre, "centre", (n_features,))
    return kind(**parts)


def attach_scores(values: NDArray[Any], score: Any) -> NDArray[np.float64]:
    """Return rows ``[x, score(x)]`` for the Stein kernel."""
    if score is None:
        rule = "hold the gradient of the log density at every row if kernel is 'stein'"
        raise ParameterError("score", rule, None)
    given = real_array(score(values) if callable(score) else score, "score")
    if given.ndim == 0:
        raise ParameterError("score", f"have the shape {values.shape}", given.shape)
    if given.size == values.size and given.shape[-1] == values.shape[-1]:
        given = given.reshape(values.shape)
    scores = numbers_at_rows(given, "score", values.shape)
    if (np.abs(scores) > 1e150).any():  # squares are no floats
        raise ParameterError("score", "be numbers up to 1e150", np.abs(scores).max())
    return np.concatenate([values, scores], axis=1, dtype=np.float64)


def _complete(kernel: Any, bandwidth: BandwidthLike, values: NDArray[Any]) -> Kernel:
    if isinstance(kernel, type):
        got = f"{kernel.__name__}: call it, as in {kernel.__name__}(...)"
        raise ParameterTypeError("kernel", "be a kernel and not its class", got=got)
    if not callable(kernel):
        names = ", ".join(repr(name) for name in KERNELS)
        raise ParameterTypeError("kernel", f"be one of {names}, or a callable", kernel)
    if not (isinstance(bandwidth, str) and bandwidth == "median"):
        rule = "be left out when kernel is an object with its own"
        raise ParameterError("bandwidth", rule, bandwidth)
    own: Any = kernel
    if hasattr(own, "shape") and hasattr(own, "bandwidth"):
        _lengths(own.bandwidth, values.shape[1])
        centre = getattr(own, "centre", None)
        if centre is not None and np.shape(centre) != values.shape[1:]:
            rule = f"have a centre of shape {values.shape[1:]}"
            raise ParameterError("kernel", rule, np.shape(centre))
        return own
    probe = np.asarray(values[:2], np.float64)
    expected = (len(probe), len(probe))
    rule = f"return the Gram matrix of two tables of rows, here of shape {expected}"
    gram = real_array(own(probe, probe), "kernel", rule)
    if gram.shape != expected or not np.isfinite(gram).all():
        raise ParameterError("kernel", rule, got=f"shape {gram.shape}")
    return own


def _lengths(bandwidth: Any, n_features: int) -> Bandwidth:
    lengths = as_lengths(bandwidth)
    if isinstance(lengths, np.ndarray) and len(lengths) != n_features:
        rule = f"be one number or {n_features}, one for each column"
        raise ParameterError("bandwidth", rule, len(lengths))
    return lengths


def _warn_of_scales(values: NDArray[Any]) -> None:
    """Warn if one length for all columns would ignore those of small spread."""
    some = np.asarray(values[even_rows(len(values), MEDIAN_ROWS)], np.float64)
    spread = some.std(axis=0)
    spread = spread[spread > 1e-12 * np.abs(some.mean(axis=0))]  # constant columns do not count
    if len(spread) > 1 and spread.max() > UNLIKE * spread.min():
        _log.warning(
            "columns differ in spread by a factor of %.3g, and with standardise=False the widest "
            "decide which rows are chosen",
            spread.max() / spread.min(),
        )


def spreads(
    values: NDArray[Any], indicators: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Return the spread of each column; one for a constant column, which then has no effect."""
    n, d = values.shape
    centre, total = values.mean(axis=0, dtype=np.float64), np.zeros(d)
    step = max(1, SPREAD_VALUES // d)
    for low in range(0, n, step):
        total += np.square(values[low : low + step] - centre).sum(axis=0)
    spread = np.sqrt(total / n)
    # Rounding may leave a constant column a spread of the order of its last digit; lengths below
    # 1e-150 are no bandwidths.
    own = spread > np.maximum(1e-12 * np.abs(centre), 1e-140)
    return np.where(own if indicators is None else own & ~indicators, spread, 1.0)
