r"""A toy family: herd states so that each comes as often as its count says.

.. math:: s_t = \arg\max_s w_s, \qquad w \leftarrow w + c - N e_{s_t}, \qquad N = \sum_s c_s.

It follows the recipe "how to add a family" of ARCHITECTURE.md; no part of it is short of one.
"""

from dataclasses import dataclass
from itertools import islice
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from herder._errors import ParameterError
from herder._validation import check_fitted, non_negative_int, positive_int
from herder.core.dynamics import herd
from herder.core.enumerated import EnumeratedSystem
from herder.core.plain import Arrays, Header, plain_estimator, read_array, read_estimator
from herder.core.state import State
from herder.core.summary import Fact, Facts, Picture, Section, Summarised, Summary, counted

__all__ = ["ToyHerder", "ToyHerding", "toy_herd"]


@dataclass(frozen=True, eq=False)
class ToyHerding(Summarised):
    """States in the order in which they were emitted, and the weights to go on from.

    Parameters
    ----------
    counts : ndarray of int of shape (n_states,)
        The target.
    states : ndarray of intp of shape (n_steps,)
        The states of this call.
    weights : ndarray of int of shape (n_states,)
        After the last step, in units of 1 / ``counts.sum()``.
    """

    counts: NDArray[np.int64]
    states: NDArray[np.intp]
    weights: NDArray[np.int64]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Share of each state."""
        return np.bincount(self.states, minlength=len(self.counts)) / len(self.states)

    @property
    def error(self) -> float:
        """Largest error of a share."""
        return float(np.abs(self.shares - self.counts / self.counts.sum()).max())

    def summary(self) -> Summary:
        """Return how near the shares are to the target."""
        facts = [Fact("largest error", self.error, ".1e", "of the share of a state")]
        picture = Picture("shares", self, "Share of each state, and its target.")
        n, k = len(self.states), len(self.counts)
        title = f"{counted(n, 'step')} over {counted(k, 'state')}"
        return Summary(title, [Facts(facts)], [Section("Shares", [picture])])


def toy_herd(counts: ArrayLike, n_steps: int, *, resume: ToyHerding | None = None) -> ToyHerding:
    """Herd states by their counts.

    Parameters
    ----------
    counts : array-like of int of shape (n_states,)
        How often each state was seen.
    n_steps : int
        Number of states to emit.
    resume : ToyHerding, optional
        Go on from an earlier result: n then m steps equal n + m steps.
    """
    target = np.atleast_1d(counts)
    system = EnumeratedSystem(np.eye(len(target), dtype=np.int64), counts=target)
    n_steps = positive_int(n_steps, "n_steps")
    if resume is not None and not np.array_equal(resume.counts, target):
        raise ParameterError("resume", "come from the same counts", resume.counts.tolist())
    start = system.target if resume is None else resume.weights
    steps = list(islice(herd(system, start), n_steps))
    states = np.array([step.state for step in steps], dtype=np.intp)
    return ToyHerding(target, states, np.asarray(steps[-1].weights))


class ToyHerder(BaseEstimator):
    """Scikit-learn face of `toy_herd`.

    Parameters
    ----------
    burn_in : int, default 0
        First states to leave out.
    """

    def __init__(self, burn_in: int = 0) -> None:
        self.burn_in = burn_in

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Take the counts."""
        self.counts_ = toy_herd(X, 1).counts
        return self

    def sample(self, n_samples: int = 1) -> NDArray[np.intp]:
        """Return states, always from the start."""
        check_fitted(self, "counts_")
        burn_in = non_negative_int(self.burn_in, "burn_in")
        n_samples = positive_int(n_samples, "n_samples")
        return toy_herd(self.counts_, burn_in + n_samples).states[burn_in:]

    def to_state(self) -> State:
        """Return the counts, and the parameters as JSON can hold them."""
        check_fitted(self, "counts_")
        return {"counts_": self.counts_}, plain_estimator(self)

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Make an estimator of what `to_state` returned."""
        counts = read_array(arrays, "counts_", (None,), np.int64, low=0)
        model = read_estimator(cls, header, len(counts))
        model.counts_ = counts
        return model
