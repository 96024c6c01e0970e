"""river's stream of dicts: rows one by one, to its own learners and to ours."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks.streams.cases import Stream, dict_rows
from herder import AROW, NHERD, for_river

__all__ = ["RIVER_BASE", "RIVER_OURS", "learners", "river_error", "river_runs"]

RIVER_BASE = "river PAClassifier"
RIVER_OURS = "herder NHERD for river"

Rows = tuple[list[dict[str, float]], list[bool]]


def learners() -> dict[str, Callable[[], Any]]:
    """Give fresh learners by name."""
    linear: Any = import_module("river.linear_model")
    return {
        RIVER_BASE: linear.PAClassifier,
        "river LogisticRegression": linear.LogisticRegression,
        RIVER_OURS: lambda: for_river(NHERD()),
        "herder AROW for river": lambda: for_river(AROW()),
    }


def river_runs(rows: Rows) -> dict[str, dict[str, Callable[[], Any]]]:
    """Give runs by what is done with a row (learn it; predict, then learn it) and by learner."""

    def learn(make: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            learner = make()
            for x, y in zip(*rows, strict=True):
                learner.learn_one(x, y)
            return learner

        return run

    def test_then_train(make: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            learner = make()
            for x, y in zip(*rows, strict=True):
                learner.predict_one(x)
                learner.learn_one(x, y)
            return learner

        return run

    made = learners()
    return {
        "learn": {name: learn(make) for name, make in made.items()},
        "predict and learn": {name: test_then_train(make) for name, make in made.items()},
    }


def river_error(learner: Any, stream: Stream) -> float:
    """Share of the rows held out that a learner gets wrong."""
    held_out = Stream(stream.name, stream.X_test, stream.y_test, stream.X, stream.y)
    rows, labels = dict_rows(held_out, 2000)
    wrong = sum(learner.predict_one(x) is not y for x, y in zip(rows, labels, strict=True))
    return wrong / len(labels)
