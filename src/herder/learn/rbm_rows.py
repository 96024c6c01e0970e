"""Rows of a restricted Boltzmann machine: what they may hold, and their scores."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.core.blas import one_blas_thread
from herder.models.rbm import RBMModel

__all__ = ["alphabet", "dense", "flip_gains", "parts", "row_free_energy", "spot_check", "upper"]

#: Numbers that are held at a time when rows are scored.
BLOCK = 2**22

#: Rows of which each epoch checks one column.
SPOT_ROWS = 250


def upper(rows: Any, threshold: float) -> Any:
    """Return 1 where rows are above a threshold, else 0."""
    if hasattr(rows, "indptr") and threshold < 0:
        rows = rows.toarray()  # its zeros are above
    return (rows > threshold).astype(rows.dtype)


def dense(rows: Any) -> NDArray[Any]:
    """Return rows as an array."""
    return rows.toarray() if hasattr(rows, "indptr") else rows


def parts(rows: Any, width: int = 1) -> Iterator[NDArray[Any]]:
    """Yield blocks of rows as arrays, of about BLOCK numbers for each of ``width`` sites."""
    size = max(1, BLOCK // max(width, rows.shape[1]))
    for first in range(0, rows.shape[0], size):
        yield dense(rows[first : first + size]).astype(np.float64)


def alphabet(
    rows: Any, known: tuple[int, int] | None = None, *, probabilities: bool = True
) -> tuple[int, int]:
    """Return the states that rows hold: -1 and 1, or 0 and 1 with all between."""
    least = 0.0 if rows.shape[0] == 0 else float(rows.min())
    wanted = known or ((-1, 1) if least < 0 else (0, 1))
    for part in parts(rows):
        between = wanted == (0, 1) and probabilities
        fine = (part >= 0) & (part <= 1) if between else (part == wanted[0]) | (part == 1)
        if not fine.all():
            accepted = "0 and 1, -1 and 1, or probabilities from 0 to 1"
            if known is not None:
                accepted = "numbers from 0 to 1" if between else f"{known[0]} and 1"
            got = f"{part[~fine][0]:g}; binarize= sets a threshold for numbers"
            raise ParameterError("X", f"hold {accepted}", got=got)
    return wanted


def row_free_energy(model: RBMModel, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return free energies of rows that may hold probabilities."""
    low, high = model.states
    with one_blas_thread():
        fields = rows @ model.couplings + model.hidden_biases
        own = rows @ model.visible_biases
    return -own - _log_sums(low, high, fields)


def flip_gains(model: RBMModel, rows: NDArray[np.float64], column: Any) -> NDArray[np.float64]:
    """Return log P(entry given the rest of its row) for one column, or one column of each row."""
    low, high = model.states
    where = np.arange(len(rows)), column
    value = rows[where]
    with one_blas_thread():
        fields = rows @ model.couplings + model.hidden_biases
    step = (low + high - 2 * value)[:, None] * model.couplings[column]
    after, change = fields + step, (low + high - 2 * value) * model.visible_biases[column]
    gains = _log_sums(low, high, after) - _log_sums(low, high, fields)
    return -np.logaddexp(0.0, gains + change)


def _log_sums(low: int, high: int, fields: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum over sites of log(e^(low field) + e^(high field)), faster than logaddexp."""
    sizes = np.abs(fields)
    total = (low + high) / 2 * fields.sum(axis=1) + (high - low) / 2 * sizes.sum(axis=1)
    sizes *= low - high
    np.exp(sizes, out=sizes)
    sizes += 1  # at most 2, so that products of 1,000 are finite
    products = np.multiply.reduceat(sizes, np.arange(0, sizes.shape[1], 1000), axis=1)
    return total + np.log(products).sum(axis=1)


def spot_check(model: RBMModel, rows: Any, epoch: int) -> float:
    """Estimate the log pseudo-likelihood of a row by one column of each of some rows."""
    some = rows[:: max(1, rows.shape[0] // SPOT_ROWS)][:SPOT_ROWS]
    values = dense(some).astype(np.float64)
    columns = (np.arange(len(values)) + epoch) % model.n_visible
    return float(flip_gains(model, values, columns).mean() * model.n_visible)
