"""The algorithms of the tournament, the baselines, and their parameter grids."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from herder import AROW, NHERD, ConfidenceWeighted, PassiveAggressive, Perceptron

#: Eight powers of ten; 1/C is AROW's r.
C_GRID = tuple(10.0**k for k in range(-6, 2))

#: Confidences of the confidence-weighted learner.
CONFIDENCES = (0.51, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Learner:
    """A factory that takes a parameter, and the grid of parameters."""

    make: Callable[[float], Any]
    grid: tuple[float, ...]


def _perceptron(_: float) -> Perceptron:
    return Perceptron()


def _confidence_weighted(confidence: float) -> ConfidenceWeighted:
    return ConfidenceWeighted(confidence)


def _pa2(C: float) -> PassiveAggressive:
    return PassiveAggressive(C, form="PA-II")


#: The five algorithms of the paper's figure 4, then the baselines.
TOURNAMENT = {
    "NHERD_P": Learner(partial(NHERD, covariance="project"), C_GRID),
    "NHERD_E": Learner(partial(NHERD, covariance="exact"), C_GRID),
    "NHERD_D": Learner(partial(NHERD, covariance="drop"), C_GRID),
    "AROW_P": Learner(partial(AROW, covariance="project"), C_GRID),
    "AROW_D": Learner(partial(AROW, covariance="drop"), C_GRID),
}
LEARNERS = TOURNAMENT | {
    "PA-II": Learner(_pa2, C_GRID),
    "CW": Learner(_confidence_weighted, CONFIDENCES),
    "perceptron": Learner(_perceptron, (0.0,)),
}
