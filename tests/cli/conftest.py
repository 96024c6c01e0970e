import csv
from pathlib import Path

import numpy as np
import pytest

from herder.data import write_table
from tests.cli import samples

NAMES = ("rain", "wind", "cold", "dark", "late")


def write_csv(path: Path, names, rows) -> Path:
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(names)
        writer.writerows(rows)
    return path


def binary_rows() -> np.ndarray:
    rng = np.random.default_rng(1)
    cause = rng.random((200, 1))
    return (rng.random((200, len(NAMES))) < 0.2 + 0.5 * cause).astype(np.int64)


@pytest.fixture(scope="session")
def binary_csv(tmp_path_factory) -> Path:
    """200 rows of five dependent 0/1 columns."""
    return write_csv(tmp_path_factory.mktemp("tables") / "days.csv", NAMES, binary_rows().tolist())


@pytest.fixture(scope="session")
def people_csv(tmp_path_factory) -> Path:
    """120 rows with text, whole numbers, a gap here and there, and a measurement."""
    rng = np.random.default_rng(2)
    rows = [
        (
            ["north", "south", "east"][int(rng.integers(3))],
            int(rng.integers(1, 4)),
            "" if i % 10 == 0 else ["no", "yes"][int(rng.integers(2))],
            round(float(rng.normal(40, 9)), 4),
        )
        for i in range(120)
    ]
    path = tmp_path_factory.mktemp("tables") / "people.csv"
    return write_csv(path, ("region", "size", "answer", "age"), rows)


@pytest.fixture(scope="session")
def contradictory_csv(tmp_path_factory) -> Path:
    """Counts that no table can have: a and b together more often than a."""
    singles = [("a", "a", 40, 100), ("b", "b", 60, 100), ("c", "c", 50, 100)]
    pairs = [("a", "b", 45, 100), ("a", "c", 20, 100), ("b", "c", 30, 100)]
    path = tmp_path_factory.mktemp("tables") / "wrong.csv"
    return write_csv(path, ("variable_a", "variable_b", "count", "total"), singles + pairs)


@pytest.fixture(scope="session")
def plants(tmp_path_factory) -> Path:
    """240 rows of numbers, text, a gap and a weight."""
    path = tmp_path_factory.mktemp("tables") / "plants.csv"
    write_table(path, samples.NAMES, [samples.columns()])
    return path


@pytest.fixture(scope="session")
def draws(tmp_path_factory) -> Path:
    """3 chains of 80 draws of 2 parameters."""
    path = tmp_path_factory.mktemp("tables") / "draws.npy"
    np.save(path, np.random.default_rng(9).normal(size=(3, 80, 2)))
    return path
