"""Noisy labels: pairs of digits, classified by five online learners.

Each learner makes five passes over two thirds of the rows of two digits, whose labels are flipped
with the given probability; its C is chosen from `RATES` by three-fold cross-validation on these
noisy labels. It is tested on the other third, with correct labels.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder import AROW, NHERD, PassiveAggressive, Perceptron
from herder.core.summary import Picture, Section, Summary, Table, Text, lowest_marked
from herder.online.classifier import OnlineClassifier
from herder.plots import plot_calibration, plot_progressive, plot_update

__all__ = ["job"]

COMPARED = ("job", "measured", "herder", "alternative")

#: Levels of label noise.
NOISES = (0.0, 0.1, 0.3)

#: Values of C to choose from.
RATES = (0.001, 0.01, 0.1, 1.0, 10.0)

#: A task is made of every fourth pair of digits.
STRIDE = 4

#: Rows of the stream for the progressive error, and rows per call.
N_STREAM, N_CHUNK = 6000, 100

LEARNERS: dict[str, Callable[[float], OnlineClassifier]] = {
    "NHERD": lambda C: NHERD(C),
    "AROW": lambda C: AROW(C),
    "passive-aggressive, PA-I": lambda C: PassiveAggressive(C),
    "passive-aggressive, PA-II": lambda C: PassiveAggressive(C, form="PA-II"),
    "perceptron": lambda _: Perceptron(),
}

#: Learners with a covariance; the others are the baselines.
OURS = ("NHERD", "AROW")


class Task(NamedTuple):
    """Training rows with noisy labels, and test rows with correct ones."""

    rows: NDArray[np.float64]
    labels: NDArray[np.bool_]
    test_rows: NDArray[np.float64]
    test_labels: NDArray[np.bool_]


def job() -> Summary:
    """Learn pairs of digits from noisy labels by five learners."""
    pixels, digit = _digits()
    pairs = list(combinations(range(10), 2))[::STRIDE]
    errors = {
        name: [100 * mean_error(make, pixels, digit, pairs, noise) for noise in NOISES]
        for name, make in LEARNERS.items()
    }
    table = Table(
        ("test error, %", *(f"{noise:.0%} noise" for noise in NOISES)),
        [(name, *row) for name, row in errors.items()],
        ("", *[".1f"] * len(NOISES)),
        f"Mean over {len(pairs)} pairs of digits",
    )
    section = Section(
        "Noisy labels",
        [
            Text(
                f"{len(pairs)} pairs of handwritten digits are classified after training with "
                "label noise. NHERD and AROW maintain a covariance of the weights and move less "
                "along features that they have seen often. The baselines scale all features "
                "alike. C was chosen for each by cross-validation on the noisy labels; test "
                "labels are correct."
            ),
            table,
            Table(
                ("test error, %", *(f"C = {C:g}" for C in RATES)),
                _by_rate(pixels, digit, pairs, NOISES[-1]),
                ("", *[".1f"] * len(RATES)),
                f"The same by C, {NOISES[-1]:.0%} label noise: learners with a covariance are "
                "less sensitive to C",
            ),
            _stream(pixels, digit),
            Picture(
                "update",
                plot_update(),
                "Weight vectors before and after one row, and the ellipses of five learners.",
                "One update with the row (1, 2). Left: NHERD moves every weight vector by one "
                "affine map. Right: the same mean, and five covariances after the update.",
            ),
            _calibration(pixels, digit),
        ],
    )
    rows = []
    for k, noise in enumerate(NOISES):
        ours, theirs = (
            {name.removeprefix("passive-aggressive, "): errors[name][k] for name in names}
            for names in (OURS, [name for name in LEARNERS if name not in OURS])
        )
        cells = lowest_marked(ours, theirs, ".1f")
        rows.append((f"learn with {noise:.0%} label noise", "test error, %", *cells))
    return Summary("Noisy labels", [Table(COMPARED, rows)], [section])


def _digits() -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    from sklearn.datasets import load_digits

    digits: Any = load_digits()
    lengths = np.linalg.norm(digits.data, axis=1, keepdims=True)
    return digits.data / lengths, digits.target


def mean_error(
    make: Callable[[float], OnlineClassifier],
    pixels: NDArray[np.float64],
    digit: NDArray[np.intp],
    pairs: list[tuple[int, int]],
    noise: float,
) -> float:
    """Mean test error over pairs of digits, C chosen on the noisy labels of each."""
    errors = []
    for pair in pairs:
        task = make_task(pixels, digit, pair, noise)
        C = choose_rate(make, task)
        found = make(C).fit(task.rows, task.labels).predict(task.test_rows)
        errors.append(np.mean(found != task.test_labels))
    return float(np.mean(errors))


def _by_rate(
    pixels: NDArray[np.float64],
    digit: NDArray[np.intp],
    pairs: list[tuple[int, int]],
    noise: float,
) -> list[tuple[object, ...]]:
    """Return the mean test error of each learner that has a C, for each C, in per cent."""
    lines = []
    for name, make in LEARNERS.items():
        if name == "perceptron":
            continue
        errors = np.zeros(len(RATES))
        for pair in pairs:
            task = make_task(pixels, digit, pair, noise)
            for c, C in enumerate(RATES):
                found = make(C).fit(task.rows, task.labels).predict(task.test_rows)
                errors[c] += np.mean(found != task.test_labels) / len(pairs)
        lines.append((name, *(100 * errors).tolist()))
    return lines


def make_task(
    pixels: NDArray[np.float64], digit: NDArray[np.intp], pair: tuple[int, int], noise: float
) -> Task:
    """Rows of two digits, two thirds of them with labels flipped at random."""
    rng = np.random.default_rng([*pair])
    rows = rng.permutation(np.flatnonzero(np.isin(digit, pair)))
    labels = digit[rows] == pair[1]
    n = 2 * len(rows) // 3
    noisy = labels[:n] ^ (rng.random(n) < noise)
    return Task(pixels[rows[:n]], noisy, pixels[rows[n:]], labels[n:])


def choose_rate(make: Callable[[float], OnlineClassifier], task: Task) -> float:
    """Choose C by cross-validation."""
    if isinstance(make(RATES[0]), Perceptron):
        return RATES[0]
    fold = np.arange(len(task.labels)) % 3
    errors = np.zeros(len(RATES))
    for c, C in enumerate(RATES):
        for k in range(3):
            model = make(C).fit(task.rows[fold != k], task.labels[fold != k])
            errors[c] += np.mean(model.predict(task.rows[fold == k]) != task.labels[fold == k])
    return RATES[int(errors.argmin())]


def _stream(pixels: NDArray[np.float64], digit: NDArray[np.intp]) -> Picture:
    """Draw the progressive error on a long stream of all digits, odd against even."""
    rng = np.random.default_rng(0)
    noise = NOISES[-1]
    rows = rng.integers(len(pixels), size=N_STREAM)
    labels = (digit[rows] % 2 == 1) ^ (rng.random(N_STREAM) < noise)
    models = {name.removeprefix("passive-aggressive, "): LEARNERS[name](0.1) for name in LEARNERS}
    histories: dict[str, list[tuple[float, float]]] = {name: [] for name in models}
    for low in range(0, N_STREAM, N_CHUNK):
        here = slice(low, low + N_CHUNK)
        for name, model in models.items():
            model.partial_fit(pixels[rows[here]], labels[here], classes=[False, True])
            histories[name].append((model.n_seen_, model.progressive_error_))
    return Picture(
        "progressive",
        plot_progressive(histories, noise=noise),
        "Progressive error of five learners against the number of rows.",
        f"Odd against even digits, {noise:.0%} label noise, C = 0.1: the proportion of rows that "
        "were misclassified before they were learnt. The dashed line is the error of a classifier "
        "that always predicts the correct label.",
    )


def _calibration(pixels: NDArray[np.float64], digit: NDArray[np.intp]) -> Picture:
    """Draw the calibration of the probabilities on held-out rows."""
    rng = np.random.default_rng(1)
    labels = (digit % 2 == 1) ^ (rng.random(len(digit)) < NOISES[1])
    order = rng.permutation(len(digit))
    half, rest = np.array_split(order, 2)
    model = NHERD().fit(pixels[half], labels[half])
    return Picture(
        "calibration",
        plot_calibration({"NHERD": model.predict_proba(pixels[rest])[:, 1]}, labels[rest]),
        "Observed proportion of odd digits against the predicted probability, with its histogram.",
        f"Calibration of the probability that a digit is odd, {NOISES[1]:.0%} label noise, on "
        "held-out rows. Perfect calibration is the diagonal.",
    )


if __name__ == "__main__":
    print(job())
