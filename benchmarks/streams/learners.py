"""The learners of the benchmark: a name each, and a function that gives a fresh one."""

from collections.abc import Callable
from typing import Any, Protocol

from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.linear_model import SGDClassifier

from benchmarks.streams.cases import Stream
from herder import (
    AROW,
    NHERD,
    ConfidenceWeighted,
    PassiveAggressive,
    Perceptron,
    SecondOrderPerceptron,
)

__all__ = ["BASE", "NHERD_NAME", "OURS", "PEERS", "Maker", "error_of", "one_pass"]


class Learner(Protocol):
    """What scikit-learn's learners and ours have in common."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any: ...

    def predict(self, X: Any) -> Any: ...


Maker = Callable[[], Learner]

BASE = "scikit-learn SGD, PA-II"
NHERD_NAME = "herder NHERD, project"

PA_2: dict[str, Any] = {
    "penalty": None,
    "learning_rate": "pa2",
    "eta0": 1.0,
    "shuffle": False,
}

PEERS: dict[str, Maker] = {
    BASE: lambda: SGDClassifier(**PA_2),
    "scikit-learn SGD, hinge": lambda: SGDClassifier(shuffle=False),
    "scikit-learn Perceptron": lambda: SklearnPerceptron(shuffle=False),
}

OURS: dict[str, Maker] = {
    NHERD_NAME: NHERD,
    "herder NHERD, exact": lambda: NHERD(covariance="exact"),
    "herder NHERD, drop": lambda: NHERD(covariance="drop"),
    "herder AROW, project": AROW,
    "herder CW, stdev": ConfidenceWeighted,
    "herder second-order perceptron": SecondOrderPerceptron,
    "herder PA-II": lambda: PassiveAggressive(form="PA-II"),
    "herder Perceptron": Perceptron,
}


def one_pass(make: Maker, stream: Stream) -> Callable[[], Learner]:
    """Give a run: a fresh learner sees every row once, in order, validation included."""
    X, y, classes = stream.X, stream.y, stream.classes

    def run() -> Learner:
        learner = make()
        learner.partial_fit(X, y, classes=classes)
        return learner

    return run


def error_of(make: Maker, stream: Stream) -> float:
    """Share of the rows held out that a learner gets wrong after one pass."""
    learner = one_pass(make, stream)()
    return float((learner.predict(stream.X_test) != stream.y_test).mean())
