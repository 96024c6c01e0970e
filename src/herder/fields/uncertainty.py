r"""How far to trust a quantity that the moments do not determine.

Herded states match the moments, but a quantity such as P(k ones) depends on more than
the moments. Three numbers measure its uncertainty:

- the *moment error* of the run: what is left of the fit itself, of order 1/T;
- the *spread* of the quantity over herds that match the same moments in other ways: other
  encodings (another geometry), scan orders, start weights, and the two halves of the run;
- the *bounds* that hold for every distribution with these moments (see
  `herder.fields.bounds`): nothing outside them is possible, and nothing inside them is
  excluded by the moments alone.

The spread is not a confidence interval. It measures how much the free choices of the
algorithm matter; the bounds measure what the data leave open.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._deprecated import renamed_names
from herder._errors import ParameterError, ParameterTypeError
from herder._validation import check_function, flag, of_kind, positive_int, real_array
from herder.core.summary import Summarised, Summary, listed
from herder.fields.bounds import Bounds, count_bounds, entry_table
from herder.fields.live import HerdSettings, MomentHerd
from herder.metrics import count_distribution
from herder.models.moments import Moments
from herder.models.plain_text import shown

__all__ = ["Estimate", "count_estimate", "estimate_expectation"]

__getattr__ = renamed_names(
    __name__, {"estimate": "herder.fields.uncertainty.estimate_expectation"}
)


@dataclass(frozen=True)
class Estimate(Summarised):
    """A derived quantity with what is known about its uncertainty.

    Parameters
    ----------
    value : ndarray
        Average of the quantity over the states of the default herd.
    lowest, highest : ndarray
        Extremes over all variants.
    variants : dict of str to ndarray
        The value of each variant: encodings, scan orders, starts, the two halves of the run.
    moment_error : float
        Largest moment error of the default herd.
    bounds : Bounds or None
        Sharp bounds implied by the moments, where they can be computed.
    what : str
        What the entries are, such as ``"P(more than k ones)"``.
    """

    value: NDArray[np.float64]
    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    variants: dict[str, NDArray[np.float64]]
    moment_error: float
    bounds: Bounds | None = None
    what: str = "value"

    def summary(self) -> Summary:
        """Return each entry with its spread over variants and its bounds."""
        columns = {"value": self.value, "lowest": self.lowest, "highest": self.highest}
        if self.bounds is not None:
            columns |= {"lower bound": self.bounds.lower, "upper bound": self.bounds.upper}
        title = f"{self.what}, with its spread over {len(self.variants)} variants"
        error = f"moment error {self.moment_error:.1e}"
        return Summary(f"{title}; {error}", [entry_table(columns)])


def estimate_expectation(
    moments: Moments,
    function: Callable[[NDArray[np.integer]], Any],
    n_steps: int = 100_000,
    *,
    bounds: Bounds | None = None,
) -> Estimate:
    """Estimate the mean of any function of the state, with its spread over variants.

    Parameters
    ----------
    moments : Moments
        What is known.
    function : callable
        Takes states as codes of shape (n, n_variables), returns the average of the quantity
        over them: a number or an array.
    n_steps : int, default 100_000
        States of each variant.
    bounds : Bounds, optional
        To be shown with the estimate, such as those of `expectation_bounds`.

    Examples
    --------
    >>> moments = Moments.from_data([[0, 1], [1, 1], [0, 0], [1, 1]])
    >>> result = estimate_expectation(moments, lambda codes: (codes.sum(axis=1) == 2).mean(), 100)
    >>> float(result.value)
    0.5
    """
    of_kind(moments, "moments", Moments, "Moments")
    n_steps = positive_int(n_steps, "n_steps")
    check_function(function, "function")
    if bounds is not None:
        of_kind(bounds, "bounds", Bounds, "Bounds or None")

    def average(states: NDArray[np.integer]) -> NDArray[np.float64]:
        found = real_array(function(states), "function", "return a number or an array of them")
        if not np.isfinite(found).all():
            raise ParameterError("function", "return finite numbers", got="NaN or infinity")
        return found

    variants: dict[str, NDArray[np.float64]] = {}
    error = 0.0
    for name, settings in _variants(moments):
        live = MomentHerd(moments, **settings)
        states = live.advance(n_steps)
        variants[name] = average(states)
        if name == "default":
            error, half = float(live.trace.error[-1]), n_steps // 2
            if half:
                variants["first half"] = average(states[:half])
                variants["second half"] = average(states[half:])
    shapes = {value.shape for value in variants.values()}
    if len(shapes) > 1:
        raise ParameterError("function", "return arrays of one shape", got=f"{sorted(shapes)}")
    stacked = np.stack(list(variants.values()))
    return Estimate(
        variants["default"], stacked.min(axis=0), stacked.max(axis=0), variants, error, bounds
    )


def count_estimate(
    moments: Moments, n_steps: int = 100_000, *, tail: bool = False, bounds: bool = True
) -> Estimate:
    """Estimate P(k of the binary columns are one), k = 0 ... D, or P(more than k) with ``tail``.

    Parameters
    ----------
    moments : Moments
        Of two-valued columns; the second label of each counts as a one, which the summary names
        unless it is 1.
    n_steps : int, default 100_000
        States of each variant.
    tail : bool, default False
        Whether to return the probability of more than k ones.
    bounds : bool, default True
        Whether to compute the bounds, which contradictory moments do not have.
    """
    of_kind(moments, "moments", Moments, "Moments")
    if not isinstance(tail, bool):
        got = f"{tail!r}: entry k is for more than k"
        raise ParameterTypeError("tail", "be True or False", got=got)
    if not moments.is_binary:
        raise ParameterError("moments", "be of binary columns for a count of ones")
    width = moments.n_variables

    def counts(codes: NDArray[np.integer]) -> NDArray[np.float64]:
        found = count_distribution(codes, width)
        return 1.0 - np.minimum(np.cumsum(found), 1.0) if tail else found

    found = count_bounds(moments, tail=tail) if flag(bounds, "bounds") else None
    result = estimate_expectation(moments, counts, n_steps, bounds=found)
    what = "P(more than k ones)" if tail else "P(k ones)"
    labels = [f"{v.name} = {shown(v.values[1])}" for v in moments.variables if not v.is_binary]
    return replace(result, what=f"{what}, a one being {listed(labels)}" if labels else what)


def _variants(moments: Moments) -> Iterator[tuple[str, HerdSettings]]:
    """Yield names and settings of herds that match the same moments in other ways."""
    width = moments.n_variables
    yield "default", {}
    if moments.is_binary:
        yield "encoding +-1", {"encoding": "+-1"}
    if 2 in moments.n_values:
        yield "encoding 01", {"encoding": "01"}
    start = np.zeros(len(moments.counts), dtype=np.int64)
    yield "other start", {"start_weights": start}
    if width > 1:
        yield "scan reversed", {"scan": np.arange(width)[::-1]}
    if width > 2:
        # a fixed shuffle: multiply by a step that shares no factor with the width
        step = next(s for s in range(width // 2 + 1, 2 * width) if np.gcd(s, width) == 1)
        yield "scan shuffled", {"scan": np.arange(width) * step % width}
