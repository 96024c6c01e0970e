"""Section 5's protocol: settings are chosen in one random run, then tested.

A fifth of the training rows, drawn once, is held out. Every learner passes over the other rows
once per epoch; C (or the corresponding parameter) and the number of epochs with the fewest errors
on the held-out rows are chosen. Labels of the held-out rows are as noisy as the training labels.
Where several settings tie, the middle one of the tied C is chosen, and of its tied epochs the
middle one: the first would be the edge of the grid. The test is on a fixed test set, or by
ten-fold cross-validation. All learners see the same noise, the same rows and the same orders.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from papers.crammer2010_nherd import data
from papers.crammer2010_nherd.learners import LEARNERS

Labels = NDArray[np.int64]
Passes = list[tuple[csr_matrix, Labels]]
Grids = dict[str, tuple[float, ...]]

#: Name of a learner, its parameter, its epochs.
Setting = tuple[str, float, int]

NOISES = (0.0, 0.1, 0.3)
N_EPOCHS, N_FOLDS = 20, 10
HELD_OUT = 0.2

#: For the comparison without tuning: values of C, and the library's default number of epochs.
FIXED_C = (0.01, 0.1, 1.0, 10.0)
FIXED_EPOCHS = 5
FIXED_LEARNERS = ("NHERD_P", "AROW_P")

#: Grey values of 0 to 255, and seven powers of ten for C that are not adapted to that scale.
RAW_SCALE, RAW_NOISE = 255.0, 0.3
RAW_GRID = tuple(10.0**k for k in range(-4, 3))
RAW_LEARNERS = ("NHERD_P", "PA-II")

QUICK_EPOCHS = 4
QUICK_GRID = (0.01, 0.1, 1.0)
N_PROCESSES = 2


@dataclass(frozen=True)
class Outcome:
    """Test error of a learner, with its parameter and number of epochs."""

    error: float
    parameter: float
    epochs: int


@dataclass(frozen=True)
class Trial:
    """All learners on one task at one noise level; ``raw`` for digits at the highest only."""

    task: data.Name
    noise: float
    tuned: dict[str, Outcome]
    fixed: dict[tuple[str, float], float]
    raw: dict[str, Outcome]


@cache
def trials(quick: bool) -> tuple[Trial, ...]:
    """Run every task at every noise level, in two processes."""
    jobs = [(name, noise) for name in data.names(quick) for noise in NOISES]
    if quick:
        return tuple(run_task(name, noise, quick=True) for name, noise in jobs)
    parallel = Parallel(n_jobs=N_PROCESSES, verbose=1)
    found: Any = parallel(delayed(run_task)(name, noise) for name, noise in jobs)
    return tuple(found)


def run_task(name: data.Name, noise: float, *, quick: bool = False) -> Trial:
    """Choose settings on held-out rows, then test, for every learner."""
    task = data.build(name)
    seed = [data.SEED, round(1000 * noise), *str(name).encode()]
    labels = data.flip(task.y, noise, np.random.default_rng([*seed, 0]))
    n_epochs = QUICK_EPOCHS if quick else N_EPOCHS
    grids: Grids = {key: learner.grid for key, learner in LEARNERS.items()}
    if quick:
        grids = {key: grid if len(grid) == 1 else QUICK_GRID for key, grid in grids.items()}
        grids["CW"] = LEARNERS["CW"].grid[::3]
    few = min(FIXED_EPOCHS, n_epochs)
    settings = {(key, value): (key, value, few) for key in FIXED_LEARNERS for value in FIXED_C}
    random = np.random.default_rng([*seed, 1])
    chosen = _choose_all(task, labels, grids, n_epochs, random)
    errors = _test(task, labels, {*settings.values(), *chosen.values()}, random)
    raw: dict[str, Outcome] = {}
    if task.X_test is not None and noise == RAW_NOISE and not quick:
        grey = data.Task(task.X * RAW_SCALE, task.y, task.X_test * RAW_SCALE, task.y_test)
        random = np.random.default_rng([*seed, 1])
        kept = _choose_all(grey, labels, dict.fromkeys(RAW_LEARNERS, RAW_GRID), n_epochs, random)
        raw = _outcomes(kept, _test(grey, labels, set(kept.values()), random))
    fixed = {key: errors[setting] for key, setting in settings.items()}
    return Trial(name, noise, _outcomes(chosen, errors), fixed, raw)


def _outcomes(chosen: dict[str, Setting], errors: dict[Setting, float]) -> dict[str, Outcome]:
    return {key: Outcome(errors[setting], *setting[1:]) for key, setting in chosen.items()}


def _choose_all(
    task: data.Task, labels: Labels, grids: Grids, n_epochs: int, random: np.random.Generator
) -> dict[str, Setting]:
    """Return the best setting of every learner on held-out rows."""
    order = random.permutation(len(labels))
    n_held = round(HELD_OUT * len(labels))
    held, kept = order[:n_held], order[n_held:]
    passes = _passes(task.X, labels, kept, n_epochs, random)
    test = csr_matrix(task.X[held]), labels[held]
    classes = np.unique(task.y)
    chosen = {}
    for key, grid in grids.items():
        errors = [_errors(key, value, passes, test, classes) for value in grid]
        place, epochs = choose(np.array(errors))
        chosen[key] = (key, grid[place], epochs)
    return chosen


def _passes(
    X: csr_matrix, y: Labels, rows: NDArray[np.intp], n_epochs: int, random: np.random.Generator
) -> Passes:
    """Return the rows in a new random order for every epoch."""
    orders = [random.permutation(rows) for _ in range(n_epochs)]
    return [(csr_matrix(X[order]), y[order]) for order in orders]


def _errors(
    key: str, value: float, passes: Passes, test: tuple[csr_matrix, Labels], classes: Labels
) -> list[float]:
    """Proportion of wrong predictions after every pass."""
    model = LEARNERS[key].make(value)
    errors = []
    for X, y in passes:
        model.partial_fit(X, y, classes=classes)
        errors.append(float(np.mean(_predict(model, test[0]) != test[1])))
    return errors


def _predict(model: Any, X: csr_matrix) -> Labels:
    """Predict classes 0, 1, ... from the weights, without validating the same rows every time."""
    scores = X @ model.coef_.T + model.intercept_
    return scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(np.int64)


def choose(errors: NDArray[np.float64]) -> tuple[int, int]:
    """Return the grid index and the number of epochs with the least error, middle of ties."""
    best, epoch = np.nonzero(errors == errors.min())
    tied = np.unique(best)
    middle = tied[len(tied) // 2]
    epochs = epoch[best == middle]
    return int(middle), int(epochs[len(epochs) // 2]) + 1


def _test(
    task: data.Task, labels: Labels, settings: set[Setting], random: np.random.Generator
) -> dict[Setting, float]:
    """Train with each setting and return errors on true labels: on the test set, or by folds."""
    n_epochs = max(epochs for _, _, epochs in settings)
    classes = np.unique(task.y)
    wrong, total = dict.fromkeys(settings, 0), 0
    for rows, X, y in _folds(task, random):
        passes = _passes(task.X, labels, rows, n_epochs, random)
        for key, value, epochs in settings:
            model = LEARNERS[key].make(value)
            for X_pass, y_pass in passes[:epochs]:
                model.partial_fit(X_pass, y_pass, classes=classes)
            wrong[key, value, epochs] += int(np.sum(model.predict(X) != y))
        total += len(y)
    return {setting: count / total for setting, count in wrong.items()}


def _folds(
    task: data.Task, random: np.random.Generator
) -> Iterator[tuple[NDArray[np.intp], csr_matrix, Labels]]:
    """Yield the training rows, and the test rows with their true labels."""
    if task.X_test is not None and task.y_test is not None:
        yield np.arange(len(task.y)), task.X_test, task.y_test
        return
    order = random.permutation(len(task.y))
    for fold in np.array_split(order, N_FOLDS):
        yield np.setdiff1d(order, fold), csr_matrix(task.X[fold]), task.y[fold]
