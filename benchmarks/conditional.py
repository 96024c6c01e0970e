"""Conditional herding compared: speed, errors beside those of other classifiers, the moment law.

``python benchmarks/conditional.py`` needs no extra packages. With HERDER_DATA it has the papers'
sets as well. Targets on USPS, MNIST, Pendigits and 20 Newsgroups are those of table 3.1, which
``python -m papers chen2013_thesis --only table3_1`` measures. Classifiers are compared
with their defaults, all but the trees with standardised columns.
``--only SCENE`` runs one of speed, race, law, rivals, bars; ``--keep`` stores the results,
those of the other scenes as they were.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # before NumPy is imported
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as sklearn_sets
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.pairing import paired_rounds, write_results
from herder import ConditionalHerder, DiscriminativeRBM, datasets
from herder.fields.conditional import class_codes
from herder.fields.conditional_engine import ConditionalHerd
from herder.learn.conditional import RATES
from herder.learn.scaling import ColumnScaling

ROOT = Path(__file__).resolve().parents[1]
bundled: Any = sklearn_sets  # without its types
Result = dict[str, object]
Table = tuple[str, NDArray[Any], NDArray[Any]]

#: Rows of a table at most, of which a quarter test.
MOST_ROWS = 6000

#: Passes of conditional herding in a race: its default.
N_PASSES = 50

#: Splits of tables with fewer rows than this: 20, else 3.
FEW_ROWS = 3000

#: Errors in per cent that conditional herding must not exceed, joint procedure.
TARGETS = {
    ("usps", 100): 3.2,
    ("usps", 500): 2.8,
    ("mnist", 100): 2.3,
    ("mnist", 500): 2.1,
    ("pendigits", 100): 2.6,
    ("news", 500): 25.5,
}


def images() -> Iterator[Table]:
    """Yield images of digits with their labels, in random order."""
    found = [("digits", *bundled.load_digits(return_X_y=True))]
    if os.environ.get("HERDER_DATA"):
        found += [(name, table.X, table.y) for name, table in _pictures().items()]
    for name, rows, labels in found:
        order = np.random.default_rng(0).permutation(len(rows))
        yield name, rows[order].astype(np.float32), np.asarray(labels)[order]


def _pictures() -> dict[str, Any]:
    return {"USPS": datasets.usps(), "MNIST": datasets.mnist()}


def tables() -> Iterator[Table]:
    """Yield tables, then images; the defaults were chosen with other splits of them."""
    for name, load in (
        ("wine", bundled.load_wine),
        ("breast cancer", bundled.load_breast_cancer),
        ("iris", bundled.load_iris),
    ):
        yield name, *load(return_X_y=True)
    if os.environ.get("HERDER_DATA"):
        spam, abalone, news = datasets.load_spambase(), datasets.abalone(), datasets.newsgroups()
        yield "Spambase", spam.X, np.asarray(spam.y)
        yield "Abalone, age in four classes", abalone.X[:, 1:-1], _ages(abalone.X[:, -1])
        yield "News, 100 words", news.X.astype(np.float64), np.asarray(news.y)
        pen = datasets.pendigits()
        yield "Pendigits", pen.X.astype(np.float64), np.asarray(pen.y)
    yield from images()


def _ages(rings: NDArray[Any]) -> NDArray[Any]:
    return np.digitize(rings, [8, 10, 12])


def speed() -> Iterator[Result]:
    """Time updates of batches of 100 with 100 hidden units, beside the product X W alone."""
    for name, rows, labels in images():
        inputs = ColumnScaling.of(rows).apply(rows)
        places = labels.astype(np.intp)
        herd = ConditionalHerd(inputs.shape[1], 100, class_codes(10))
        rng = np.random.default_rng(0)
        herd.weights[:] = rng.standard_normal(herd.weights.size) / np.repeat(
            herd.sizes, herd.sizes
        )
        herd.rates[:] = RATES / herd.sizes
        weights = rng.standard_normal((inputs.shape[1], 100)).astype(np.float32)

        def product(inputs: Any = inputs, weights: Any = weights, n: int = 1500) -> int:
            for step in range(n):
                first = 100 * step % (len(inputs) - 100)
                inputs[first : first + 100] @ weights
            return n

        def updates(herd: Any = herd, inputs: Any = inputs, places: Any = places) -> int:
            herd.counts[1] = 0
            return herd.run(inputs, places, 1500, place=herd.n_steps, size=100, halving=50)

        updates()  # compiles
        paired = paired_rounds(product, updates, rounds=3)
        print(
            f"{name}: {paired.ratio:.2f} of the rate of X W ({paired.lowest:.2f} to "
            f"{paired.highest:.2f}; target 0.25 on USPS and MNIST), about "
            f"{paired.ours_per_second:,.0f} updates a second"
        )
        yield {"scene": "speed", "table": name, "ratio": paired.ratio}


def race() -> Iterator[Result]:
    """Time learning up to the test error at which an MLP of 100 hidden units ends, on average.

    Folds are the same for all; conditional herding makes passes one by one, and only they are
    timed. The MLP has its defaults, and standardised pixels or pixels between 0 and 1.
    """
    for name, rows, labels in images():
        if name == "MNIST":
            continue
        n_test, n_folds = len(rows) // 10, 6
        ours = np.zeros((2, N_PASSES))
        theirs = {"standardised": np.zeros(2), "between 0 and 1": np.zeros(2)}
        for fold in range(n_folds):
            test = np.arange(fold * n_test, (fold + 1) * n_test)
            train = np.setdiff1d(np.arange(len(rows)), test)
            parts = rows[train], labels[train], rows[test], labels[test]
            ours += np.array(_course(*parts)) / n_folds
            scaler, top = StandardScaler().fit(parts[0]), rows.max()
            scaled = {
                "standardised": (scaler.transform(parts[0]), scaler.transform(parts[2])),
                "between 0 and 1": (parts[0] / top, parts[2] / top),
            }
            for how, (given, new) in scaled.items():
                start = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of convergence
                    mlp = MLPClassifier(100, random_state=0).fit(given, parts[1])
                spent = time.process_time() - start
                theirs[how] += np.array([spent, np.mean(mlp.predict(new) != parts[3])]) / n_folds
        for how, (spent, error) in theirs.items():
            reached = np.flatnonzero(ours[1] <= error)
            ratio = float(spent / ours[0, reached[0]]) if len(reached) else None
            told = "not reached" if ratio is None else f"in {ratio:.1f} times less CPU"
            print(
                f"{name}, MLP with pixels {how}: error {100 * error:.2f} % after {spent:.1f} s; "
                f"{told} by conditional herding, which ends at {100 * ours[1, -1]:.2f} %"
            )
            result: Result = {"scene": "race", "table": name, "mlp": how, "ratio": ratio}
            yield result | {"error": float(error), "ours": float(ours[1, -1])}


def _course(
    rows: NDArray[Any], labels: NDArray[Any], new: NDArray[Any], wanted: NDArray[Any]
) -> tuple[list[float], list[float]]:
    """Return CPU seconds and the test error after each pass of conditional herding."""
    model = ConditionalHerder(max_iter=1, warm_start=True)
    spent, total, errors = [], 0.0, []
    for _ in range(N_PASSES):
        start = time.process_time()
        model.fit(rows, labels)
        total += time.process_time() - start
        spent.append(total)
        errors.append(float(np.mean(model.predict(new) != wanted)))
    return spent, errors


def law() -> Iterator[Result]:
    """Run with all rows and no entropy trick: both averages of equation 3.36 meet at rate 1/T."""
    X, y = bundled.load_digits(return_X_y=True)
    noisy = np.where(np.arange(len(y)) % 10 == 0, (y + 1) % 10, y)  # never without a mistake
    for name, rows, labels in (
        ("wine, two columns", bundled.load_wine().data[:, :2], bundled.load_wine().target),
        ("digits, a tenth with wrong labels", X, noisy),
    ):
        inputs = ColumnScaling.of(rows).apply(rows).astype(np.float64)
        n_hidden = 5 if name.startswith("wine") else 20
        n_classes = int(labels.max()) + 1
        codes = class_codes(n_classes)
        herd = ConditionalHerd(inputs.shape[1], n_hidden, codes, dtype=np.float64)
        herd.weights[:] = np.random.default_rng(0).standard_normal(herd.weights.size)
        start, times, gaps = herd.weights.copy(), [100, 1000, 10_000], []
        for steps in times:
            places = labels.astype(np.intp)
            herd.run(inputs, places, steps - herd.n_steps, place=0, size=len(inputs))
            gaps.append(float(np.abs(herd.weights - start).max() / steps))
        slopes = np.diff(np.log(gaps)) / np.diff(np.log(times))
        print(
            f"{name}: moments differ by {gaps[0]:.2g}, {gaps[1]:.2g}, {gaps[2]:.2g} after 100, "
            f"1,000 and 10,000 steps, slopes {slopes[0]:.2f} and {slopes[1]:.2f}; "
            f"{herd.n_violations} PCT violations"
        )
        yield {
            "scene": "law",
            "table": name,
            "gaps": gaps,
            "slopes": slopes.tolist(),
            "violations": herd.n_violations,
        }


def _rivals() -> dict[str, Callable[[], Any]]:
    return {
        "conditional herding": ConditionalHerder,
        "discriminative RBM": DiscriminativeRBM,
        "logistic regression": lambda: make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=1000)
        ),
        "SVC, RBF": lambda: make_pipeline(StandardScaler(), SVC()),
        "gradient boosting": lambda: HistGradientBoostingClassifier(random_state=0),
        "MLP": lambda: make_pipeline(StandardScaler(), MLPClassifier(random_state=0)),
    }


def rivals() -> Iterator[Result]:
    """Compare errors and CPU times of classifiers with their defaults."""
    for name, rows, labels in tables():
        n_splits = 20 if len(rows) < FEW_ROWS else 3
        order = np.random.default_rng(0).permutation(len(rows))[:MOST_ROWS]
        rows, labels = rows[order], labels[order]
        cuts = StratifiedShuffleSplit(n_splits, test_size=0.25, random_state=0)
        parts = list(cuts.split(rows, labels))
        line = []
        for key, make in _rivals().items():
            errors, start = [], time.process_time()
            for train, test in parts:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of convergence
                    model = make().fit(rows[train], labels[train])
                errors.append(100 * float(np.mean(model.predict(rows[test]) != labels[test])))
            cpu = (time.process_time() - start) / n_splits
            line.append(f"{key} {np.mean(errors):.2f} ({cpu:.1f} s)")
            yield {
                "scene": "rivals",
                "table": name,
                "classifier": key,
                "error": float(np.mean(errors)),
                "spread": float(np.std(errors)),
                "cpu": cpu,
            }
        print(f"{name}, {len(order):,} rows, error in % and CPU: {', '.join(line)}", flush=True)


def bars() -> Iterator[Result]:
    """Compare the stored errors of table 3.1 with targets."""
    stored = json.loads((ROOT / "papers/chen2013_thesis/results.json").read_text(encoding="utf-8"))
    errors = {row["id"]: row for row in stored["parts"]["table3_1"]}
    for (name, n_hidden), target in TARGETS.items():
        row = errors[f"{name}.joint.ch.{n_hidden}"]
        verdict = "met" if row["ours"] <= target else "missed"
        print(f"{name}, {n_hidden} hidden: {row['ours']:.2f} %, target {target}: {verdict}")
        result: Result = {"scene": "bars", "table": name, "n_hidden": n_hidden, "target": target}
        yield result | {"error": row["ours"]}


def page(rows: list[dict[str, Any]]) -> str:
    """Return the tables of docs/conditional.md from stored results, the lowest errors in bold."""
    found = [row for row in rows if row["scene"] == "rivals"]
    names = list(dict.fromkeys(row["classifier"] for row in found))
    lines = [f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for table in dict.fromkeys(row["table"] for row in found):
        own = {row["classifier"]: row for row in found if row["table"] == table}
        best = f"{min(row['error'] for row in own.values()):.1f}"
        cells = []
        for name in names:
            error, cpu = f"{own[name]['error']:.1f}", f"{own[name]['cpu']:.1f}"
            cells.append(f"{f'**{error}**' if error == best else error} ({cpu})")
        lines.append(f"| {table} | {' | '.join(cells)} |")
    speeds = {row["table"]: row["ratio"] for row in rows if row["scene"] == "speed"}
    races = {(row["table"], row["mlp"]): row for row in rows if row["scene"] == "race"}
    lines += [
        "",
        "| | pixels | error of the MLP | of conditional herding | the MLP's error in |",
        "|---|---|---|---|---|",
    ]
    for (table, pixels), row in races.items():
        ratio = "not reached" if row["ratio"] is None else f"{row['ratio']:.1f} times less CPU"
        errors = f"{100 * row['error']:.2f} | {100 * row['ours']:.2f}"
        lines.append(f"| {table} | {pixels} | {errors} | {ratio} |")
    rates = ", ".join(f"{ratio:.2f} ({table})" for table, ratio in speeds.items())
    lines += ["", f"Updates of batches of 100 rows, relative to X W alone: {rates}."]
    return "\n".join(lines) + "\n"


SCENES = {"speed": speed, "race": race, "law": law, "rivals": rivals, "bars": bars}


def main(arguments: list[str]) -> None:
    """Run the scenes."""
    only = arguments[arguments.index("--only") + 1] if "--only" in arguments else None
    rows = [row for name, scene in SCENES.items() if only in (None, name) for row in scene()]
    if "--keep" in arguments:
        stored = ROOT / "benchmarks/results/conditional.json"
        if only is not None and stored.exists():
            others = json.loads(stored.read_text(encoding="utf-8"))["rows"]
            rows = [row for row in others if row["scene"] != only] + rows
        print(f"Written: {write_results('conditional', rows)}")


if __name__ == "__main__":
    main(sys.argv[1:])
