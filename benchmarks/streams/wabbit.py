"""Vowpal Wabbit: examples parsed beforehand, and its own driver over a file of text.

An example belongs to the workspace that parsed it, but any workspace of the same options learns
from it to the same weights; so each run has a fresh one, and none parses twice.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.streams.cases import Stream

__all__ = ["FORMS", "Wabbit"]

#: The default rule (adaptive, normalised), and plain gradient descent.
FORMS = {"VW": "--loss_function hinge", "VW, --sgd": "--loss_function hinge --sgd"}


class Wabbit:
    """One form of Vowpal Wabbit on one stream, of two classes, sparse."""

    def __init__(self, stream: Stream, options: str) -> None:
        self.stream = stream
        self.module: Any = import_module("vowpalwabbit")
        # Columns are hashes already: 2^bits slots of the table hold all of them.
        bits = max((stream.X.shape[1] - 1).bit_length(), 1)
        self.options = f"{options} -b {bits} --quiet"
        self.parser = self.module.Workspace(self.options)
        self.examples = [
            self.example(self.parser, pairs, label)
            for pairs, label in zip(pairs_of(stream.X), stream.y, strict=True)
        ]

    def example(self, workspace: Any, pairs: list[tuple[int, float]], label: int) -> Any:
        example = self.module.Example(workspace, {"a": pairs})
        example.set_label_string("1" if label else "-1")
        example.setup_example()
        return example

    def learn(self) -> Any:
        """Learn the parsed examples one by one, in a fresh workspace."""
        workspace = self.module.Workspace(self.options)
        learn = workspace.learn
        for example in self.examples:
            learn(example)
        return workspace

    def error(self) -> float:
        """Share of the rows held out that come out on the wrong side of 0."""
        workspace, wrong = self.learn(), 0
        for pairs, label in zip(pairs_of(self.stream.X_test), self.stream.y_test, strict=True):
            example = self.example(workspace, pairs, int(label))
            wrong += (workspace.predict(example) > 0) != bool(label)
            workspace.finish_example(example)
        return wrong / len(self.stream.y_test)

    def driver(self, folder: Path) -> Callable[[], Any]:
        """Write the rows as text, and give a run of Vowpal Wabbit's own driver over the file."""
        path = folder / "rows.vw"
        with path.open("w") as file:
            for pairs, label in zip(pairs_of(self.stream.X), self.stream.y, strict=True):
                features = " ".join(f"{name}:{value:.9g}" for name, value in pairs)
                file.write(f"{1 if label else -1} |a {features}\n")

        def run() -> Any:
            workspace = self.module.Workspace(f"{self.options} -d {path}")
            workspace.finish()
            return workspace

        return run


def pairs_of(X: Any) -> list[list[tuple[int, float]]]:
    """Rows as lists of (column, value)."""
    pairs = []
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        columns, values = X.indices[start:stop].tolist(), X.data[start:stop].tolist()
        pairs.append(list(zip(columns, values, strict=True)))
    return pairs
