r"""Features of boosted fields: what can be added to an energy, and how it is fitted.

A feature is trained to be small at data (:math:`y = -1`) and large at negative examples
(:math:`y = +1`): with weights w of the rows it maximises
:math:`C = \sum_k w_k y_k \phi(s_k)`, under a bound on its size.

- A unit of a generalised restricted Boltzmann machine, for signs:
  :math:`\phi(s) = -\log\cosh(v^\top s + \beta)`, with a bound on the norm of :math:`[v, \beta]`. A
  few steps of gradient ascent from random directions are better than the maximum: features then
  differ from round to round.
- A dimple, for numbers: :math:`\phi(s) = -\log[N(s; \mu, \tau) + N(s; \mu, \tau_0)]`, a narrow
  Gaussian with a precision for each column and a broad one with the same mean. Its size is bounded
  by maximising :math:`C` over the standard deviation of :math:`\phi`. That is the gain of
  log-likelihood to second order; the deviation is that of all rows, so that a dimple around one
  row of the data gains little.
- A small decision tree, with values from -1 to 1, for signs and numbers.

[welling2003]_ has the first two, in equations 12, 15, 16, 18 and 19.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import one_of, positive_int, positive_number, share
from herder.learn import _boosting_jit as _jit

__all__ = [
    "FAMILIES",
    "DimpleFeatures",
    "FeatureFamily",
    "RBMFeatures",
    "TreeFeatures",
    "choose_family",
]

Floats = NDArray[np.float64]

#: Widest narrow Gaussian of a dimple, in standard deviations of the data.
WIDEST = 3.0

#: Largest setting of a family; the least one is its inverse.
LARGEST = 1e6

#: Trees are kept as full ones, so that their size doubles with each question.
DEEPEST = 16

#: Added to the variance of a feature, so that flat ones do not win.
FLAT = 1e-3


class FeatureFamily(Protocol):
    """A kind of features. Each feature is a vector of parameters.

    Rows come as signs -1 and 1, or as numbers with mean 0 and variance 1 in each column.
    """

    def fit(
        self, rows: Floats, signs: Floats, weights: Floats, rng: np.random.Generator
    ) -> Floats:
        """Return parameters of a feature that is small where signs are -1 and large where 1.

        Weights of each sign sum to 1. The size of the feature must be bounded.
        """
        ...

    def values(self, parameters: Floats, rows: Floats) -> Floats:
        """Return the values of features, one in each row of the parameters, in a column each."""
        ...


@dataclass(frozen=True)
class RBMFeatures:
    """Units of a generalised restricted Boltzmann machine, for rows of two states.

    Parameters
    ----------
    bound : float
        Largest norm of the weights of a unit together with its bias, times the root of their
        number: the largest field of a unit.
    n_ascent : int
        Steps of gradient ascent.
    rate : float
        Their size, times the number of weights.
    """

    bound: float = 1.6
    n_ascent: int = 10
    rate: float = 12.0

    def __post_init__(self) -> None:
        _keep(self, _moderate, "bound", "rate")
        _keep(self, positive_int, "n_ascent")

    def fit(
        self, rows: Floats, signs: Floats, weights: Floats, rng: np.random.Generator
    ) -> Floats:
        """Return weights and bias of a unit."""
        table = np.ones((len(rows), rows.shape[1] + 1), np.float32)
        table[:, :-1] = rows
        force = (-signs * weights).astype(np.float32)
        unit = rng.standard_normal(table.shape[1]).astype(np.float32)
        bound, rate = self.bound / np.sqrt(len(unit)), self.rate / len(unit)
        unit *= bound / np.linalg.norm(unit)
        for _ in range(self.n_ascent):
            unit += rate * ((force * np.tanh(table @ unit)) @ table)
            unit *= min(1.0, bound / float(np.linalg.norm(unit)))
        return unit.astype(np.float64)

    def values(self, parameters: Floats, rows: Floats) -> Floats:
        """Return -log cosh of the fields of units."""
        fields = np.abs(rows @ parameters[:, :-1].T + parameters[:, -1])
        return np.log(2.0) - fields - np.log1p(np.exp(-2 * fields))

    def n_parameters(self, width: int) -> int:
        """Return the number of parameters of a feature."""
        return width + 1


@dataclass(frozen=True)
class DimpleFeatures:
    """Pairs of a narrow and a broad Gaussian with one mean, for rows of numbers.

    Parameters
    ----------
    min_width : float
        Least standard deviation of the narrow Gaussian, in those of the data.
    broad_width : float
        Standard deviation of the broad one.
    n_starts : int
        Rows of the data from which the ascent starts; the best dimple is kept. The first widths
        are larger in more columns, so that they hold some rows.
    n_ascent : int
        Steps of the ascent, by L-BFGS.
    """

    min_width: float = 0.15
    broad_width: float = 3.0
    n_starts: int = 10
    n_ascent: int = 20

    def __post_init__(self) -> None:
        _keep(self, _moderate, "min_width", "broad_width")
        _keep(self, positive_int, "n_starts", "n_ascent")
        if self.min_width > 1:
            raise ParameterError("min_width", "be at most 1", self.min_width)

    def fit(
        self, rows: Floats, signs: Floats, weights: Floats, rng: np.random.Generator
    ) -> Floats:
        """Return means and log precisions of a dimple."""
        width = rows.shape[1]
        top, low = -2 * np.log(self.min_width), -2 * np.log(WIDEST)
        force, data = signs * weights, rows[signs < 0]
        best, least = np.empty(0), np.inf
        first_top = -2 * np.log(max(self.min_width, self.min_width ** (2 / width)))
        limits: Any = [(None, None)] * width + [(low, top)] * width
        options: Any = {"maxiter": self.n_ascent}
        for start in rng.integers(len(data), size=self.n_starts):
            first = np.concatenate([data[start], np.full(width, rng.uniform(low, first_top))])
            given = (rows, force, -2 * np.log(self.broad_width))
            found = minimize(
                _loss, first, given, method="L-BFGS-B", jac=True, bounds=limits, options=options
            )
            if found.fun < least:
                best, least = found.x, found.fun
        return best

    def values(self, parameters: Floats, rows: Floats) -> Floats:
        """Return minus the log of the sum of the two densities, without constants of 2 pi."""
        out = np.empty((len(rows), len(parameters)))
        _jit.dimples(rows, parameters, -2 * np.log(self.broad_width), out)
        return out

    def n_parameters(self, width: int) -> int:
        """Return the number of parameters of a feature."""
        return 2 * width


def _loss(dimple: Floats, rows: Floats, force: Floats, broad: float) -> tuple[float, Floats]:
    """Return minus C over the standard deviation of the feature, and its gradient."""
    values, slopes = np.empty(len(rows)), np.empty((len(rows), len(dimple)))
    _jit.dimple_slopes(rows, dimple, broad, values, slopes)
    gain, gain_slope = force @ values, force @ slopes
    variance = values.var() + FLAT
    variance_slope = 2 * (values - values.mean()) @ slopes / len(values)
    size = np.sqrt(variance)
    return -gain / size, -(gain_slope - gain * variance_slope / (2 * variance)) / size


@dataclass(frozen=True)
class TreeFeatures:
    """Decision trees, for rows of two states or of numbers.

    Parameters
    ----------
    max_depth : int
        Questions on the way to a leaf.
    min_share : float
        Least share of the rows in a leaf.
    """

    max_depth: int = 3
    min_share: float = 0.01

    def __post_init__(self) -> None:
        _keep(self, positive_int, "max_depth")
        _keep(self, share, "min_share")
        if self.max_depth > DEEPEST:
            raise ParameterError("max_depth", f"be at most {DEEPEST}", self.max_depth)

    def fit(
        self, rows: Floats, signs: Floats, weights: Floats, rng: np.random.Generator
    ) -> Floats:
        """Return columns, thresholds and leaf values of a tree, which is filled up to depth."""
        from sklearn.tree import DecisionTreeRegressor

        seed = int(rng.integers(2**31))
        tree: Any = DecisionTreeRegressor(
            max_depth=self.max_depth,
            min_samples_leaf=max(1, int(self.min_share * len(rows))),
            random_state=seed,
        )
        nodes = tree.fit(rows, signs, sample_weight=weights).tree_
        n_splits, n_leaves = 2**self.max_depth - 1, 2**self.max_depth
        columns, thresholds = np.zeros(n_splits), np.zeros(n_splits)
        leaves = np.zeros(n_leaves)
        at = {0: 0}  # places in the full tree, and nodes; below a leaf the node stays
        for place in range(n_splits + n_leaves):
            node = at[place]
            left, right = nodes.children_left[node], nodes.children_right[node]
            if place >= n_splits:
                leaves[place - n_splits] = nodes.value[node].ravel()[0]
                continue
            if left >= 0:
                columns[place], thresholds[place] = nodes.feature[node], nodes.threshold[node]
            at[2 * place + 1], at[2 * place + 2] = (left, right) if left >= 0 else (node, node)
        return np.concatenate([columns, thresholds, leaves])

    def values(self, parameters: Floats, rows: Floats) -> Floats:
        """Return the leaf values that rows reach."""
        n_splits = 2**self.max_depth - 1
        columns = parameters[:, :n_splits].astype(np.intp)
        thresholds, leaves = parameters[:, n_splits : 2 * n_splits], parameters[:, 2 * n_splits :]
        out = np.empty((len(rows), len(parameters)))
        _jit.trees(rows, columns % rows.shape[1], thresholds, leaves, out)
        return out

    def n_parameters(self, width: int) -> int:
        """Return the number of parameters of a feature."""
        return 3 * 2**self.max_depth - 2


def _keep(family: Any, check: Callable[[Any, str], Any], *names: str) -> None:
    """Replace settings of a family by what a check of them returns."""
    for name in names:
        object.__setattr__(family, name, check(getattr(family, name), name))


def _moderate(value: Any, name: str) -> float:
    """Return a number whose powers and inverse fit into single precision."""
    number = positive_number(value, name)
    if not 1 / LARGEST <= number <= LARGEST:
        raise ParameterError(name, f"be from {1 / LARGEST:g} to {LARGEST:g}", number)
    return number


#: Families by name.
FAMILIES = {"rbm": RBMFeatures, "dimple": DimpleFeatures, "tree": TreeFeatures}


def choose_family(features: Any, points: Floats) -> tuple[FeatureFamily, tuple[int, int] | None]:
    """Return the kind of features for some rows, and their states unless they are numbers.

    Parameters
    ----------
    features : str or FeatureFamily
        A name, "auto" or a family.
    points : ndarray of shape (n_rows, n_columns)
        The rows.
    """
    pairs = ((0, 1), (-1, 1))
    states = next((pair for pair in pairs if np.isin(points, pair).all()), None)
    family = features
    if isinstance(features, str):
        name = one_of(features, "features", ["auto", *FAMILIES])
        if name == "auto":
            name = "dimple" if states is None else "rbm"
        family = FAMILIES[name]()
    methods = [getattr(family, name, None) for name in ("fit", "values")]
    if isinstance(family, type) or not all(map(callable, methods)):
        rule = "be a name or an object with methods fit and values"
        raise ParameterTypeError("features", rule, got=type(features).__name__)
    if isinstance(family, RBMFeatures) and states is None:
        raise ParameterError("X", "be of 0 and 1, or of -1 and 1, for RBM features", got="numbers")
    return family, None if isinstance(family, DimpleFeatures) else states
