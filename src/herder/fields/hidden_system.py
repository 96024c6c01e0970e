r"""Herding of fields with hidden sites: what the rows ask for moves with the weights.

With visible sites x, hidden sites z, and rows :math:`x_1, \dots, x_D`,

.. math:: z_i = \arg\max_z \langle w, \phi(x_i, z) \rangle, \qquad
          s_t = \arg\max_{x, z} \langle w, \phi(x, z) \rangle, \qquad
          w \leftarrow w + \frac{1}{D} \sum_i \phi(x_i, z_i) - \phi(s_t),

equations 3.9 to 3.11 of [chen2014]_. The PCT inequality holds when the score of :math:`s_t` is at
least the mean score of the completed rows: a search that starts at the best of them ensures it.
Then the moments of rows and states meet at rate 1/T (proposition 3.2): the visible parts of the
states are samples, and the hidden states of a row over time are its features.

Averages over time of what the rows ask for are the *rates* (equation 3.16). Herding with them as
a fixed target needs the rows no more (equation 3.17).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import one_of, positive_int

__all__ = ["HiddenModel", "HiddenState", "HiddenSystem", "RBMFeatures", "batch", "rows_of_a_step"]


class HiddenState(NamedTuple):
    """A visible and a hidden state, and the step that found them."""

    visible: NDArray[Any]
    hidden: NDArray[Any]
    step: int


class HiddenModel(Protocol):
    """Features of visible and hidden states, and how their score is maximised."""

    def features(self, visible: Any, hidden: Any) -> NDArray[np.int64]:
        """Return the features of a state, in the shape of the weights."""
        ...

    def complete(self, weights: NDArray[Any], visible: Any) -> Any:
        """Return the best hidden state of a visible one."""
        ...

    def climb(self, weights: NDArray[Any], visible: Any, hidden: Any) -> tuple[Any, Any]:
        """Return a visible and a hidden state of at least the score of those given."""
        ...


class RBMFeatures:
    """The features of a restricted Boltzmann machine: products of sites of states -1 and 1.

    Both sides end in a constant 1, for the biases. The weights have a row for each hidden site.

    Parameters
    ----------
    centre : array-like of shape (n_visible,), default 0
        Subtracted from the visible sites. A site that is nearly always in one state pulls all
        hidden sites the same way, unless this state is its centre.
    """

    def __init__(self, centre: ArrayLike = 0) -> None:
        self.centre = np.asarray(centre, np.int64)

    def features(self, visible: NDArray[Any], hidden: NDArray[Any]) -> NDArray[np.int64]:
        """Return all products of a hidden and a visible site."""
        return np.outer(np.append(hidden, 1), self._values(visible)).astype(np.int64)

    def complete(self, weights: NDArray[Any], visible: NDArray[Any]) -> NDArray[Any]:
        """Return 1 where the field is positive, else -1."""
        return np.where(weights[:-1] @ self._values(visible) > 0, 1, -1)

    def climb(
        self, weights: NDArray[Any], visible: NDArray[Any], hidden: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Maximise over hidden and visible sites in turn until nothing changes; ties stay."""
        while True:
            field = weights[:-1] @ self._values(visible)
            best = np.where(field == 0, hidden, np.sign(field)).astype(np.int64)
            field = np.append(best, 1) @ weights[:, :-1]
            seen = np.where(field == 0, visible, np.sign(field)).astype(np.int64)
            if (seen == visible).all():
                return seen, best
            visible, hidden = seen, best

    def _values(self, visible: NDArray[Any]) -> NDArray[Any]:
        return np.append(visible - self.centre, 1)


class HiddenSystem:
    """A system for `herder.core.herd`: any model with hidden sites, driven by rows.

    Parameters
    ----------
    model : HiddenModel
        The features and their maximiser.
    rows : sequence
        Visible states.
    batch_size : int, optional
        Rows of a step, in their order and again from the first; all by default.
    start : {"state", "rows"}, default "state"
        Where a search starts: at the last state, and at the best row only when it falls short
        of the PCT inequality; or always at the best row.

    Notes
    -----
    With int64 weights the residual is a sum over rows instead of a mean, so that it stays an
    integer: weights are in units of 1 / (rows of a step).
    """

    def __init__(
        self,
        model: HiddenModel,
        rows: Sequence[Any] | NDArray[Any],
        *,
        batch_size: int | None = None,
        start: str = "state",
    ) -> None:
        self.model, self.rows = model, rows
        self.start = one_of(start, "start", ("state", "rows"))
        if not len(rows):
            raise ParameterError("rows", "hold at least one row", got="none")
        self.size = rows_of_a_step(batch_size, len(rows))

    def batch(self, step: int) -> Sequence[Any] | NDArray[Any]:
        """Return the rows of a step."""
        return self.rows[batch(step, self.size, len(self.rows))]

    def maximise(self, weights: NDArray[Any], previous: HiddenState | None) -> HiddenState:
        """Climb from the last state, or from the best row of the step."""
        step = 0 if previous is None else previous.step + 1
        if previous is None:
            previous = HiddenState(self.rows[0], self.model.complete(weights, self.rows[0]), 0)
        completed = [(row, self.model.complete(weights, row)) for row in self.batch(step)]
        scores = [self._score(weights, *pair) for pair in completed]
        if self.start == "state":
            found = self.model.climb(weights, previous.visible, previous.hidden)
            if self._score(weights, *found) * self.size >= sum(scores):
                return HiddenState(*found, step)
        best = completed[int(np.argmax(scores))]
        return HiddenState(*self.model.climb(weights, *best), step)

    def residual(self, weights: NDArray[Any], state: HiddenState, t: int) -> NDArray[Any]:
        """Return features of the completed rows of a step, minus those of the state."""
        asked: Any = sum(
            self.model.features(row, self.model.complete(weights, row)) for row in self.batch(t)
        )
        found = self.model.features(state.visible, state.hidden)
        if weights.dtype == np.int64:
            return np.asarray(asked - self.size * found)
        return asked / self.size - found

    def _score(self, weights: NDArray[Any], visible: Any, hidden: Any) -> Any:
        return np.vdot(weights, self.model.features(visible, hidden))


def batch(step: int, size: int, n_rows: int) -> slice:
    """Return which rows a step takes: in their order, each pass ends with the last row."""
    first = min(step % -(-n_rows // size) * size, n_rows - size)
    return slice(first, first + size)


def rows_of_a_step(size: int | None, n_rows: int) -> int:
    """Return the size of a batch, checked: all rows by default."""
    return n_rows if size is None else min(positive_int(size, "batch_size"), n_rows)
