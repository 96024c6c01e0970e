"""Hidden units compared with scikit-learn: speed, and what the defaults learn.

``python benchmarks/hidden.py`` needs no extra packages. Steps of herding beside the products they
could take, and its features beside others. Then paired CPU times of an epoch at equal settings,
one thread, same dtype, and machines learnt with the defaults and other settings, none of them
tuned to a table: log probability of held-out rows (annealed importance sampling) and accuracy of
a logistic regression on the hidden units. If HERDER_DATA names the papers' data, USPS, MNIST and
News are among the tables, else there are bundled digits only. ``--keep`` stores the results.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import BernoulliRBM
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.pairing import paired_rounds, write_results
from herder import RBM, HiddenHerder, RBMModel, datasets, log_partition
from herder.fields.hidden_engine import HiddenHerd, rounded_means

#: Settings that are compared; the first are the defaults.
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "pcd": {"method": "pcd"},
    "herding": {"method": "herding"},
    "fast weights": {"method": "pcd", "fast_rate": 0.05, "learning_rate": 0.05},
    "rate 0.05": {"learning_rate": 0.05},
    "rate 0.2": {"learning_rate": 0.2},
    "batches of 50": {"batch_size": 50},
    "50 epochs": {"n_epochs": 50},
}

Table = tuple[str, NDArray[np.float32], NDArray[Any] | None]


def tables() -> Iterator[Table]:
    """Yield 0/1 rows with their labels."""
    digits = datasets.load_digits_binary()
    yield "digits", np.asarray(digits.X, np.float32), np.asarray(digits.y)
    folder = os.environ.get("HERDER_DATA")
    if folder:
        usps = np.load(Path(folder, "usps_11000.npz"))
        yield "USPS", (usps["X"].reshape(len(usps["X"]), -1) > 50).astype(np.float32), usps["y"]
        mnist = np.load(Path(folder, "mnist.npz"))
        pixels = mnist["X_test"].reshape(10_000, -1) > 127
        yield "MNIST", pixels.astype(np.float32), mnist["y_test"]
        yield "News", np.load(Path(folder, "newsgroups_w100.npz"))["X"].astype(np.float32), None


def epochs(machine: Any, rows: NDArray[Any]) -> Callable[[], int]:
    """Return a run of five epochs."""

    def run() -> int:
        machine.fit(rows)
        return 5

    return run


def speed(name: str, table: NDArray[np.float32]) -> Iterator[dict[str, object]]:
    """Time epochs of both at equal settings, and score what they have learnt."""
    for dtype in ("float32", "float64"):
        rows = table[:2000].astype(dtype)
        for n_hidden, batch in ((100, 10), (256, 10), (256, 100)):
            same: dict[str, Any] = {"learning_rate": 0.05, "batch_size": batch, "random_state": 0}
            theirs = BernoulliRBM(n_hidden, n_iter=5, **same)
            ours = RBM(n_hidden, n_epochs=5, method="pcd", **same)
            paired = paired_rounds(epochs(theirs, rows), epochs(ours, rows))
            model = RBMModel(
                theirs.components_.T, theirs.intercept_visible_, theirs.intercept_hidden_
            )
            other = RBM(n_hidden)
            other.n_features_in_ = rows.shape[1]
            other._keep(model)
            scores = [machine.pseudo_likelihood(rows[:200]) for machine in (ours, other)]
            print(
                f"{name}, {dtype}, {n_hidden} hidden, batches of {batch}: {paired.ratio:.2f} "
                f"times scikit-learn's epochs; log pseudo-likelihood {scores[0]:.2f}, theirs "
                f"{scores[1]:.2f}"
            )
            yield {
                "scene": "speed",
                "table": name,
                "dtype": dtype,
                "n_hidden": n_hidden,
                "batch": batch,
                "ratio": paired.ratio,
                "ours": scores[0],
                "theirs": scores[1],
            }


def learn(name: str, table: NDArray[np.float32], labels: Any) -> Iterator[dict[str, object]]:
    """Score settings on held-out rows."""
    order = np.random.default_rng(0).permutation(len(table))
    n_train = min(4000, int(0.7 * len(table)))
    train, test = order[:n_train], order[n_train : n_train + 1000]
    machines: dict[str, Any] = {key: RBM(100, **setting) for key, setting in SETTINGS.items()}
    machines["scikit-learn"] = BernoulliRBM(100, n_iter=20, random_state=0)
    for key, machine in machines.items():
        machine.fit(table[train])
        model = getattr(machine, "model_", None) or RBMModel(
            machine.components_.T, machine.intercept_visible_, machine.intercept_hidden_
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = log_partition(model, n_temperatures=2000)
        score = float((-model.free_energy(table[test]) - found.value).mean())
        accuracy = float("nan")
        if labels is not None:
            classifier = LogisticRegression(max_iter=300)
            classifier.fit(machine.transform(table[train]), labels[train])
            accuracy = float(classifier.score(machine.transform(table[test]), labels[test]))
        doubt = "" if found.reliable else " (not to be trusted)"
        print(
            f"{name}, {key}: log probability {score:.2f} ± {found.error:.2f}{doubt}, "
            f"accuracy {accuracy:.3f}"
        )
        yield {
            "scene": "settings",
            "table": name,
            "setting": key,
            "score": score,
            "error": found.error,
            "reliable": found.reliable,
            "accuracy": None if labels is None else accuracy,
        }


def herding(name: str, table: NDArray[np.float32]) -> Iterator[dict[str, object]]:
    """Time steps of herding 700 images with 100 hidden units, and the products they could take.

    The products are X W and X'Z in single precision, of which a step made by NumPy needs both.
    """
    signs = np.where(table[:700] > 0.5, 1, -1).astype(np.int8)
    herd = HiddenHerd(signs, 100, centre=rounded_means(signs))
    herd.run(1000)
    rows, hidden = signs.astype(np.float32), herd.herd.hidden[:-1].T.astype(np.float32)
    weights = herd.weights[:-1, :-1].T.astype(np.float32)

    def products() -> int:
        for _ in range(300):
            rows @ weights
            rows.T @ hidden
        return 300

    def steps() -> int:
        herd.run(300)
        return 300

    paired = paired_rounds(products, steps)
    violations = int(herd.counts[1])
    print(
        f"{name}, herding: {paired.ratio:.2f} steps in the time of two products "
        f"({paired.lowest:.2f} to {paired.highest:.2f}); {herd.t} steps, {violations} PCT "
        f"violations, moment error times steps {herd.moment_error * herd.t:.0f}"
    )
    yield {
        "scene": "herding",
        "table": name,
        "ratio": paired.ratio,
        "violations": violations,
        "restarts": int(herd.counts[0]),
        "steps": herd.t,
        "error": herd.moment_error,
    }


def features(name: str, table: NDArray[np.float32], labels: Any) -> Iterator[dict[str, object]]:
    """Score logistic regression on the features of herding, of RBMs and on the pixels."""
    order = np.random.default_rng(0).permutation(len(table))
    n_train = min(4000, int(0.7 * len(table)))
    train, test = order[:n_train], order[n_train : n_train + 1000]
    makers: dict[str, Any] = {"pixels": FunctionTransformer()}
    for n_hidden in (100, 400):
        makers[f"herding, {n_hidden}"] = HiddenHerder(n_hidden)
        makers[f"RBM, {n_hidden}"] = RBM(n_hidden)
    for key, maker in makers.items():
        classifier = make_pipeline(maker, LogisticRegression(max_iter=300))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            classifier.fit(table[train], labels[train])
        accuracy = float(classifier.score(table[test], labels[test]))
        print(f"{name}, features of {key}: accuracy {accuracy:.3f}")
        yield {"scene": "features", "table": name, "features": key, "accuracy": accuracy}


def main() -> None:
    rows: list[dict[str, object]] = []
    for name, table, labels in tables():
        if labels is not None:
            rows += herding(name, table)
            rows += features(name, table, labels)
        if name in ("digits", "USPS"):
            rows += speed(name, table)
        rows += learn(name, table, labels)
    if "--keep" in sys.argv[1:]:
        print(f"results stored in {write_results('hidden', rows).name}")


if __name__ == "__main__":
    main()
