"""The compiled herd of a restricted Boltzmann machine: rows, prototypes or rates drive it."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from herder.core.blas import one_blas_thread
from herder.core.mixing import splitmix64
from herder.core.plain import Arrays, Header, read_array, read_number
from herder.core.state import State
from herder.fields._hidden_jit import Herd, Rows, run

__all__ = ["BURN_IN", "HiddenHerd", "first_weights", "mixed_order", "rounded_means"]

#: Rows up to which the Gram matrix keeps the fields, as a multiple of the visible sites: a
#: hidden state that changes costs an addition for each row, instead of products of all.
GRAM_ROWS = 16

#: Rates are whole multiples of this.
RATE_UNIT = 2.0**-14

#: Arrays of a herd whose type grows when it must.
NUMBERS = ("weights", "fields", "pulls", "sums")

#: Steps of a herd without rows before its first sample.
BURN_IN = 100


def mixed_order(n: int) -> NDArray[np.intp]:
    """Return the numbers below n in a fixed order that looks random."""
    return np.argsort(splitmix64(np.arange(1, n + 1, dtype=np.uint64)), kind="stable")


def first_weights(n_hidden: int, n_visible: int, scale: int) -> NDArray[np.int64]:
    """Return weights between -scale and scale that differ for all hidden sites."""
    shape = (n_hidden + 1, n_visible + 1)
    places = np.arange(1, shape[0] * shape[1] + 1, dtype=np.uint64)
    high = (splitmix64(places) >> np.uint64(33)).astype(np.int64)
    table = (high.reshape(shape) * (2 * scale) >> 31) - scale
    table[-1, -1] = 0  # between the constants: it never moves
    return table


def rounded_means(signs: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the means of columns of -1 and 1, as -1, 0 or 1."""
    return np.rint(signs.mean(axis=0)).astype(np.int8)


class HiddenHerd:
    """Herding of visible and hidden sites of states -1 and 1, in integers.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_visible), int8
        States of rows, or prototypes in units of 1 / ``unit``.
    n_hidden : int
        Number of hidden sites.
    votes : ndarray of shape (n_rows,), int64, optional
        How often each row counts; once by default.
    unit : int
        The value that stands for 1.
    centre : ndarray of shape (n_visible,), int8, optional
        Subtracted from the states of each visible site in all features: -1, 0 or 1.
    batch_size : int, optional
        Rows of a step, in their order, and again from the first; all by default.
    from_rows : bool
        Whether each search starts at a row, instead of the last state.
    """

    def __init__(
        self,
        values: NDArray[np.int8],
        n_hidden: int,
        *,
        votes: NDArray[np.int64] | None = None,
        unit: int = 1,
        centre: NDArray[np.int8] | None = None,
        batch_size: int | None = None,
        from_rows: bool = False,
    ) -> None:
        n_rows, n_visible = values.shape
        self.centre = np.zeros(n_visible, np.int8) if centre is None else centre
        table = np.full((n_rows, n_visible + 1), unit, np.int8)
        table[:, :-1] = values - unit * self.centre
        levels = np.full((2, n_visible + 1), unit, np.int8)
        levels[:, :-1] = unit * (np.array([[-1], [1]]) - self.centre)
        equal = votes is None
        counts = np.ones(n_rows, np.int64) if votes is None else votes
        self.size = n_rows if batch_size is None else min(batch_size, n_rows)
        self.votes = self.size if equal else int(counts.sum())
        self.scale, self.from_rows = unit * self.votes, from_rows
        self.reach = int(np.abs(levels).astype(np.int64).max(axis=0).sum())
        wide = table.astype(np.float32)  # all sums are whole numbers below 2**24
        largest = int(np.abs(levels).max())
        gram = np.empty((0, 0), np.int16)
        norm = int((wide * wide).sum(axis=1).max(initial=0))  # bounds the Gram matrix
        if self.size == n_rows <= GRAM_ROWS * n_visible and norm < 2**15:
            largest = max(largest, norm)
            with one_blas_thread():
                gram = (wide @ wide.T).astype(np.int16)
        self.chunk = (2**15 - 1) // largest if equal else 1
        self.rows = Rows(table, np.ascontiguousarray(table.T), counts, levels, gram)
        weights = first_weights(n_hidden, n_visible, self.scale)
        self._begin(weights, table[0] if n_rows else levels[0])

    def _begin(self, weights: NDArray[np.int64], values: NDArray[np.int8]) -> None:
        """Start at weights and at the visible levels that are nearest to some values."""
        shape, n_rows = weights.shape, len(self.rows.values)
        low, high = self.rows.levels
        hidden = np.full((shape[0], n_rows), -1, np.int8)
        hidden[-1] = 1
        self.t, self.counts = 0, np.zeros(2, np.int64)
        n_pulls = len(self.rows.gram)
        narrow = np.int32 if self._limit(np.int32, shape) > np.abs(weights).max() else np.int64
        self.herd = Herd(
            weights.astype(narrow),
            hidden,
            np.zeros((shape[0], n_rows), narrow),
            np.zeros((shape[0], n_pulls), narrow),
            np.zeros(shape, narrow),
            np.zeros(shape, np.int64),
            np.zeros((shape[0], n_rows), np.int64),
            np.where(2 * values > low.astype(np.int64) + high, high, low),
            np.append(np.full(shape[0] - 1, -1, np.int8), np.int8(1)),
        )

    def _limit(self, kind: Any, shape: tuple[int, int]) -> int:
        """Return the largest weight with which no number of a step leaves its type."""
        step = 4 * self.scale  # the most that a weight moves
        if kind == np.int64:  # products of weights and sums are added up
            return 2**60 // (step * shape[0] * shape[1]) - step
        return (2**31 // self.reach if self.votes * self.reach * 4 < 2**31 else 0) - step

    def samples(self, n_samples: int) -> NDArray[np.int8]:
        """Return visible states after a burn-in."""
        return self.run(BURN_IN + n_samples)[0][BURN_IN:]

    def run(self, n_steps: int, *, fields: NDArray[np.int64] | None = None) -> tuple[Any, Any]:
        """Take steps; return visible and hidden states, and fill fields of the visible sites."""
        m, n = (size - 1 for size in self.herd.weights.shape)
        states, hidden = np.empty((n_steps, n), np.int8), np.empty((n_steps, m), np.int8)
        filled = np.empty((0, n), np.int64) if fields is None else fields
        done = 0
        while done < n_steps:
            kind = self.herd.weights.dtype.type
            limit = self._limit(kind, self.herd.weights.shape)
            steps = run(
                self.rows,
                self.herd,
                self.t,
                self.size,
                self.votes,
                self.from_rows,
                self.chunk,
                limit,
                states[done:],
                hidden[done:],
                filled[done:],
                self.counts,
            )
            done, self.t = done + steps, self.t + steps
            if np.abs(self.herd.weights).max() > limit:
                if kind == np.int64:
                    raise OverflowError("weights of the herd do not fit 64 bits")
                h = self.herd
                wide = {name: getattr(h, name).astype(np.int64) for name in NUMBERS}
                self.herd = h._replace(**wide)
        return states, hidden

    @property
    def weights(self) -> NDArray[np.int64]:
        """A copy of the weights."""
        return self.herd.weights.astype(np.int64)

    @property
    def rates(self) -> NDArray[np.float64]:
        """What the rows asked for, on average over the steps (equation 3.16)."""
        return self.herd.totals / (self.scale * max(self.t, 1))

    @property
    def hidden_averages(self) -> NDArray[np.float64]:
        """Share of the steps in which each hidden site of each row was 1."""
        sums = self.herd.hidden[:-1].astype(np.int64) * self.t - self.herd.times[:-1]
        return (sums.T / max(self.t, 1) + 1) / 2

    @property
    def moment_error(self) -> float:
        """Largest difference of a moment of rows and states: what weights moved, over t."""
        m, n = (size - 1 for size in self.herd.weights.shape)
        moved = self.herd.weights - first_weights(m, n, self.scale)
        return float(np.abs(moved).max() / (self.scale * max(self.t, 1)))

    @classmethod
    def of_rates(cls, rates: NDArray[np.float64], centre: NDArray[np.int8]) -> Self:
        """Return a herd whose target is fixed (equation 3.17).

        Parameters
        ----------
        rates : ndarray of shape (n_hidden + 1, n_visible + 1)
            Moments of products of a hidden and a visible site; the last of each is the constant.
        centre : ndarray of shape (n_visible,), int8
            What was subtracted from the visible sites.
        """
        m, n = (size - 1 for size in rates.shape)
        herd = cls(np.empty((0, n), np.int8), m, centre=centre)
        herd.scale = herd.votes = round(1 / RATE_UNIT)
        start = np.where(rates[-1] > 0, *herd.rows.levels[::-1])
        herd._begin(first_weights(m, n, herd.scale), start)
        herd.herd.sums[:] = np.rint(rates * herd.scale)
        return herd

    def to_state(self) -> State:
        """Return what the herd holds and where it stands."""
        h = self.herd
        arrays: Arrays = {
            "values": self.rows.values[:, :-1] + self.centre,
            "centre": self.centre,
            "weights": self.weights,
            "totals": h.totals,
            "times": h.times,
            "hidden": h.hidden,
            "visible": h.visible,
            "answer": h.answer,
            "counts": self.counts,
        }
        return arrays, {"t": self.t, "size": self.size, "from_rows": self.from_rows}

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Return the herd that `to_state` described."""
        signs = {"kind": np.int8, "low": -1, "high": 1}
        values = read_array(arrays, "values", (None, None), **signs)
        weights = read_array(arrays, "weights", (None, values.shape[1] + 1), np.int64)
        shape, (n_rows, n) = weights.shape, values.shape
        if not (n_rows and n and shape[0] > 1 and (values != 0).all()):
            raise ValueError("a herd without rows, sites or states")
        herd = cls(
            values,
            shape[0] - 1,
            centre=read_array(arrays, "centre", (n,), **signs),
            batch_size=read_number(header, "size", low=1),
            from_rows=read_number(header, "from_rows", bool),
        )
        if np.abs(weights).max() > herd._limit(np.int64, shape):
            raise ValueError("weights that are too large")
        herd._begin(weights, read_array(arrays, "visible", (n + 1,), np.int8))
        herd.t = read_number(header, "t", low=1)
        herd.counts = read_array(arrays, "counts", (2,), np.int64, low=0)
        h = herd.herd
        h.answer[:] = read_array(arrays, "answer", (shape[0],), **signs)
        h.hidden[:] = read_array(arrays, "hidden", (shape[0], n_rows), **signs)
        h.totals[:] = read_array(arrays, "totals", shape, np.int64)
        h.times[:] = read_array(arrays, "times", (shape[0], n_rows), np.int64)
        if not (h.answer.all() and h.hidden.all() and min(h.answer[-1], *h.hidden[-1]) == 1):
            raise ValueError("hidden states that are neither -1 nor 1")
        hidden, rows = h.hidden.astype(np.float64), herd.rows.values.astype(np.float64)
        with one_blas_thread():  # sums of whole numbers below 2**53
            h.sums[:] = hidden @ rows
            h.fields[:] = weights @ rows.T
            if len(herd.rows.gram):
                h.pulls[:] = hidden @ herd.rows.gram.astype(np.float64)
        return herd
