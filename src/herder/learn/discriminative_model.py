r"""Discriminative restricted Boltzmann machines: classes given inputs, through hidden units.

For an input x, a class y and hidden units z of 0 and 1, the model is

.. math:: p(y, z \mid x) \propto
          \exp(x^\top W z + B_y^\top z + \theta^\top z + \alpha_y).

The sum over z is exact, and so are the probabilities of the classes [larochelle2008]_:

.. math:: \log p(y \mid x) = \alpha_y
          + \sum_j \log\bigl(1 + e^{x^\top W_j + \theta_j + B_{yj}}\bigr) + \text{const}.

Learning minimises the mean of :math:`-\log p(y \mid x)` plus l2 / 2 times the sum of squares of W
and B. It is that of section 3.4.3.2 of [chen2014]_, where these machines are the baseline of
conditional herding: three line searches of conjugate gradients on each mini-batch, initial
weights of variance 1e-4, early stopping on held-out rows. There it is their error that decides;
here it is their loss, as the error of few rows is too coarse.
"""

from itertools import accumulate
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from herder._errors import ParameterError

__all__ = [
    "DiscriminativeModel",
    "conditional_loss",
    "line_search",
    "log_probabilities",
    "row_blocks",
]

#: Standard deviation of the initial weights.
FIRST_SD = 0.01

#: Line searches on one mini-batch.
N_SEARCHES = 3

#: Searches end where no slope is larger: the initial weights, where slopes are small, are no end.
LEAST_SLOPE = 1e-8

#: Fields above this do not go through the exponential, which float32 can hold up to 88.
LIMIT = 80.0

#: Numbers in one block of fields: 64 MB in double precision.
BLOCK = 2**23


class DiscriminativeModel(NamedTuple):
    """Weights of the model: W, theta, B and alpha."""

    couplings: NDArray[Any]  # (n_features, n_hidden)
    hidden_biases: NDArray[Any]  # (n_hidden,)
    class_couplings: NDArray[Any]  # (n_classes, n_hidden)
    class_biases: NDArray[Any]  # (n_classes,)

    @classmethod
    def draw(
        cls, n_features: int, n_hidden: int, n_classes: int, rng: np.random.Generator
    ) -> Self:
        """Return initial weights in single precision: Gaussian couplings, no biases."""
        couplings = rng.normal(0.0, FIRST_SD, (n_features + n_classes, n_hidden))
        parts = (
            couplings[:n_features],
            np.zeros(n_hidden),
            couplings[n_features:],
            np.zeros(n_classes),
        )
        return cls(*(part.astype(np.float32) for part in parts))

    def vector(self) -> NDArray[np.float64]:
        """Return all weights in one vector."""
        return np.concatenate([part.ravel() for part in self]).astype(np.float64)

    def read(self, vector: NDArray[Any]) -> Self:
        """Return a vector as a model of these shapes, without a copy."""
        ends = zip(self, accumulate(part.size for part in self), strict=True)
        return type(self)(*(vector[end - p.size : end].reshape(p.shape) for p, end in ends))


def log_probabilities(model: DiscriminativeModel, inputs: Any) -> NDArray[np.float64]:
    """Return log p(y | x) of each row and class, computed in the dtype of the model."""
    return np.concatenate([_logs(model, inputs[rows])[0] for rows in row_blocks(model, inputs)])


def conditional_loss(
    model: DiscriminativeModel, inputs: Any, places: NDArray[np.intp], l2: float
) -> tuple[float, NDArray[np.float64]]:
    """Return the objective and its gradient, for the places of the rows' classes."""
    n_rows = len(places)
    gradient = np.zeros(sum(part.size for part in model), model.couplings.dtype)
    slopes, total = model.read(gradient), 0.0
    for rows in row_blocks(model, inputs):
        part, own = inputs[rows], places[rows]
        logs, sums = _logs(model, part)
        here = np.arange(len(own)), own
        total -= float(logs[here].sum())
        residuals = np.exp(logs)
        residuals[here] -= 1
        residuals = (residuals / n_rows).astype(sums.dtype)
        chances = np.divide(-1, sums, out=sums)
        chances += 1  # that hidden units are 1
        weighted = np.einsum("nkh,nk->nh", chances, residuals)
        slopes.couplings[:] += part.T @ weighted
        slopes.hidden_biases[:] += weighted.sum(axis=0)
        slopes.class_couplings[:] += np.einsum("nkh,nk->kh", chances, residuals)
        slopes.class_biases[:] += residuals.sum(axis=0)
    value = total / n_rows
    for slope, weights in zip(slopes[::2], model[::2], strict=True):
        slope += l2 * weights
        value += l2 / 2 * float(np.vdot(weights, weights))
    return value, gradient.astype(np.float64)


def _logs(model: DiscriminativeModel, inputs: Any) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return log p(y | x), and 1 + exp(field) for each row, class and hidden unit."""
    shared = inputs @ model.couplings + model.hidden_biases
    sums = shared[:, None, :] + model.class_couplings
    scores = model.class_biases.astype(np.float64)
    if sums.max() > LIMIT:
        scores = scores + np.maximum(sums - LIMIT, 0).sum(axis=2)
        np.minimum(sums, LIMIT, out=sums)
    np.exp(sums, out=sums)
    sums += 1
    scores = scores + np.log(sums).sum(axis=2, dtype=np.float64)
    scores -= scores.max(axis=1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)), sums


def row_blocks(model: DiscriminativeModel, rows: Any) -> list[slice]:
    """Return slices of rows whose fields fit into one block."""
    stride = max(1, BLOCK // max(len(model.couplings), model.class_couplings.size))
    return [slice(low, low + stride) for low in range(0, rows.shape[0], stride)]


def line_search(
    model: DiscriminativeModel, inputs: Any, places: NDArray[np.intp], l2: float
) -> tuple[float, DiscriminativeModel]:
    """Return the loss of a mini-batch, and the model after line searches on it."""
    values: list[float] = []

    def objective(vector: NDArray[np.float64], rows: Any) -> tuple[float, NDArray[np.float64]]:
        trial = model.read(vector.astype(rows.dtype))
        value, gradient = conditional_loss(trial, rows, places, l2)
        values.append(value)
        return value, gradient

    given: Any = {
        "jac": True,
        "method": "CG",
        "options": {"maxiter": N_SEARCHES, "gtol": LEAST_SLOPE},
    }
    weights = model.vector()
    for dtype in (np.float32, np.float64):  # double if single precision finds no descent
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            rows = inputs.astype(dtype, copy=False)
            found = optimize.minimize(objective, weights, (rows,), **given)
        if found.nit:
            break
    weights = found.x.astype(np.float32)
    if not np.isfinite(weights).all():
        raise ParameterError("l2", "be smaller for finite weights", l2)
    return values[0], model.read(weights)
