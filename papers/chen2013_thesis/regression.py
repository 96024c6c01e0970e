"""Section 3.3.5.1: the regression in floating point, learnt in one phase or in two.

`herder.ParametricHerder` rounds what it has learnt. Here the tanh and the prototypes stay as they
are, and a herd goes on with them while nothing is learnt, to measure the squared errors.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from herder.fields.hidden_engine import HiddenHerd
from herder.fields.hidden_system import RBMFeatures
from herder.fields.parametric import BATCH, BURN_IN, RATE, Completion, Regression
from herder.models.bernoulli import fit_bernoulli_mixture
from papers.chen2013_thesis.codes import N_HIDDEN
from papers.chen2013_thesis.hidden import Bits, Floats, images

N_PROTOTYPES, N_LEARNT = 20, 2000
N_QUICK_PROTOTYPES, N_QUICK_LEARNT = 4, 100


@dataclass(eq=False)
class Learning:
    """A regression, and the herd along which it is learnt."""

    rows: Completion
    learner: Regression
    weights: Floats
    visible: NDArray[np.int64]
    hidden: NDArray[np.int64]

    def go_on(self, n_steps: int, *, top: float = RATE) -> Floats:
        """Let the prototypes drive the herd, and learn unless ``top`` is zero.

        Returns the squared errors (equation 3.23).
        """
        model, errors = RBMFeatures(), np.empty(n_steps)
        for step in range(n_steps):
            self.visible, self.hidden = model.climb(self.weights, self.visible, self.hidden)
            rate = top * min(1.0, 2.0 - 2.0 * step / n_steps)
            target = self.rows.asked(self.weights, step)
            asked, errors[step] = self.learner.learn(self.weights, target, rate)
            self.weights = self.weights + asked - model.features(self.visible, self.hidden)
        return errors


def begin(codes: Bits, n_prototypes: int, n_hidden: int, n_steps: int) -> Learning:
    """Learn along the weights of a herd that the rows drive: phase 1."""
    rows = Completion(codes)
    mixture = fit_bernoulli_mixture(codes, n_prototypes)
    learner = Regression(2.0 * mixture.means - 1.0, mixture.shares)
    herd = HiddenHerd(rows.signs, n_hidden, batch_size=BATCH)
    herd.run(BURN_IN)
    for step in range(n_steps):
        weights = herd.weights / herd.scale
        herd.run(1)
        rate = RATE * min(1.0, 2.0 - 2.0 * step / n_steps)
        learner.learn(weights, herd.herd.sums / herd.scale, rate)
    visible = herd.herd.visible[:-1].astype(np.int64)
    hidden = herd.herd.answer[:-1].astype(np.int64)
    return Learning(rows, learner, herd.weights / herd.scale, visible, hidden)


@cache
def learnt(quick: bool, phases: int) -> Learning:
    """Learn digit 8 in one phase, or in two with half of the steps each."""
    n_prototypes, n_steps = (
        (N_QUICK_PROTOTYPES, N_QUICK_LEARNT) if quick else (N_PROTOTYPES, N_LEARNT)
    )
    codes, n_hidden = images("8", quick).train, 20 if quick else N_HIDDEN
    found = begin(codes, n_prototypes, n_hidden, n_steps // phases)
    if phases == 2:
        found.go_on(n_steps // 2)
    return found
