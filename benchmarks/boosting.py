"""Boosted random fields compared: digits, spirals, densities of tables, anomalies.

``python benchmarks/boosting.py`` needs HERDER_DATA, the folder of the papers' sets; the flows are
flowjax's, from the extra ``bench``, and are left out without it. The spirals are an example of
[welling2003]_. Bars were written down before the runs; verdicts are computed from the numbers of
the same run. ``--only SCENE`` runs one of choose, usps, spirals, tables, anomalies; ``--keep``
stores the results as they come, those of other scenes as they were. ``--repeats N`` makes at most
N splits or draws, and ``--minutes N`` begins nothing new in a scene after that time; what is
printed says how many there were. All of it takes about an hour of CPU time.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":  # before NumPy is imported
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn import datasets as sklearn_sets
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KernelDensity, KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.pairing import write_results
from herder import RBM, BoostedField, datasets
from herder.learn.boosted_classifier import MOST_STEPS, STRENGTH
from herder.learn.boosted_features import RBMFeatures

ROOT = Path(__file__).resolve().parents[1]
bundled: Any = sklearn_sets  # without its types
Result = dict[str, Any]
Floats = NDArray[np.float64]

#: Training images of each class, splits, and rounds of USPS 2 against 3. The bars are for 100.
N_IMAGES, N_SPLITS, N_ROUNDS, N_JUDGED = 600, 5, 200, 100

#: Steps of ascent and their rates among which `choose` chooses for weighted boosting, and what it
#: found. Boosting without weights has the same, so that only the weights differ.
SETTINGS = [(n_ascent, rate) for n_ascent in (5, 10) for rate in (6.0, 12.0, 24.0)]
CHOSEN = (10, 12.0)

#: Bars of USPS: test and training error of weighted boosting in per cent, rounds to 1 % training
#: error relative to those without weights, CPU seconds of a round of one class.
TEST_BAR, TEST_GOAL, TRAIN_BAR, ROUNDS_BAR, CPU_BAR = 1.3, 0.9, 0.2, 0.5, 0.03

#: Spirals: draws of the data, on the first third of which settings are chosen; rows, fresh rows,
#: rounds.
N_DRAWS, N_ROWS, N_FRESH, N_DIMPLES = 10, 600, 2000, 400

#: Settings among which the first draws choose.
SPIRAL_SETTINGS: list[dict[str, Any]] = [
    {},
    {"penalty": 0},
    {"max_components": 0},
    {"max_components": 0, "penalty": 0},
    {"weighted": True},
    {"weighted": True, "penalty": 0},
]

#: Numbers of components of mixtures that cross-validation and BIC choose from.
CV_COMPONENTS = (4, 6, 8, 10, 12, 16, 20, 30)
MOST_COMPONENTS = 20

#: Rows of a table at most, the share of them that trains, and splits.
MOST_ROWS, TRAIN_SHARE, N_TABLE_SPLITS = 2000, 0.7, 5

#: Normal rows that train at most, rows that test at most of each kind, and seeds.
MOST_NORMAL, MOST_TESTED, N_SEEDS = 500, 1000, 5


def verdict(what: str, value: float, bar: float, *, least: bool = False) -> Result:
    """Print and return whether a value is at most a bar, or at least."""
    met = bool(value >= bar if least else value <= bar)
    side = "at least" if least else "at most"
    print(f"  {what}: {value:.3g}, to be {side} {bar:g}: {'met' if met else 'MISSED'}", flush=True)
    return {"bar": what, "value": float(value), "target": bar, "met": met}


def interval(differences: Any) -> tuple[float, float, float]:
    """Return a mean and its 95 % interval; of one value it is unbounded."""
    values = np.asarray(differences, float)
    if len(values) < 2:
        return float(values.mean()), -np.inf, np.inf
    half = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(values.mean() - half), float(values.mean() + half)


class Timed(NamedTuple):
    """What a call returned, and its CPU seconds."""

    found: Any
    cpu: float


def timed(run: Callable[[], Any]) -> Timed:
    """Call without warnings of convergence."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run()
    return Timed(found, time.process_time() - start)


class Images(NamedTuple):
    """Training and test images with their labels."""

    train: NDArray[Any]
    labels: NDArray[Any]
    test: NDArray[Any]
    wanted: NDArray[Any]


def twos_and_threes(split: int) -> Images:
    """Return the images of a split, as 0 and 1; labels are 0 for a two and 1 for a three."""
    found = datasets.usps()
    digits = np.asarray(found.y)
    pixels = (np.asarray(found.X) > 50).astype(np.float64)
    train, test = [], []
    for digit in (2, 3):
        order = np.random.default_rng([split, digit]).permutation(np.flatnonzero(digits == digit))
        train.append(pixels[order[:N_IMAGES]])
        test.append(pixels[order[N_IMAGES:]])
    parts = [
        (np.vstack(rows), np.repeat([0, 1], [len(own) for own in rows])) for rows in (train, test)
    ]
    return Images(*parts[0], *parts[1])


class Course(NamedTuple):
    """Errors in per cent after each round, the last log loss, CPU seconds of a round."""

    train: Floats
    test: Floats
    loss: float
    cpu: float


def regress(train: Floats, labels: Any, test: Floats) -> tuple[Any, Floats, Floats]:
    """Return the regression of BoostedClassifier on energies, and both sets standardised."""
    centre, spread = train.mean(axis=0), train.std(axis=0)
    given, new = (train - centre) / spread, (test - centre) / spread
    model = LogisticRegression(C=STRENGTH, max_iter=MOST_STEPS).fit(given, labels)
    return model, given, new


def wrong(model: Any, rows: Any, labels: Any) -> float:
    """Return the error in per cent."""
    return 100 * float(np.mean(model.predict(rows) != labels))


def course(
    images: Images, setting: tuple[int, float], weighted: bool, rounds: int, *, first: int = 0
) -> Course:
    """Fit a field to each class, and regress on their energies after rounds from the first on."""
    n_ascent, rate = setting
    family, stages, cpu = RBMFeatures(n_ascent=n_ascent, rate=rate), [], 0.0
    paper: dict[str, Any] = {"max_components": 0, "chain": "block", "penalty": 0}  # for both
    for label in (0, 1):
        field = BoostedField(family, n_rounds=rounds, weighted=weighted, **paper)
        own = images.train[images.labels == label]
        fitted, spent = timed(lambda field=field, own=own: field.fit(own))
        cpu += spent / fitted.n_rounds_ / 2
        both = [np.array(list(fitted.staged_energy(rows))) for rows in (images.train, images.test)]
        missing = rounds - fitted.n_rounds_  # a field that ended keeps its last energies
        stages.append([np.vstack([part, np.repeat(part[-1:], missing, axis=0)]) for part in both])
    errors, loss = np.full((2, rounds), np.nan), 0.0
    for k in range(first, rounds):
        train, test = (np.column_stack([stages[c][i][k] for c in (0, 1)]) for i in (0, 1))
        model, given, new = regress(train, images.labels, test)
        errors[:, k] = wrong(model, given, images.labels), wrong(model, new, images.wanted)
        if k == rounds - 1:
            loss = float(log_loss(images.wanted, model.predict_proba(new)))
    return Course(errors[0], errors[1], loss, cpu)


def choose(repeats: int) -> Iterator[Result]:
    """Compare settings by repeated cross-validation on the training images of the first split."""
    images, folds = twos_and_threes(0), []
    for seed in range(min(repeats, 4)):
        cuts = StratifiedKFold(3, shuffle=True, random_state=seed)
        folds += cuts.split(images.train, images.labels)
    for n_ascent, rate in SETTINGS:
        runs = []
        for teach, judge in folds:
            part = images.train[teach], images.labels[teach]
            other = images.train[judge], images.labels[judge]
            given = Images(*part, *other), (n_ascent, rate), True, N_JUDGED
            runs.append(course(*given, first=N_JUDGED - 1))
        row: Result = {"n_ascent": n_ascent, "rate": rate}
        row["error"] = float(np.mean([run.test[-1] for run in runs]))
        row["log_loss"] = float(np.mean([run.loss for run in runs]))
        print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        yield row


def chosen(rows: list[Result]) -> Iterator[Result]:
    """Print the setting of the lowest error, and of equal ones the lowest log loss."""
    best = min(rows, key=lambda row: (row["error"], row["log_loss"]))
    found = best["n_ascent"], best["rate"]
    told = "as in CHOSEN" if found == CHOSEN else f"CHOSEN is {CHOSEN}"
    print(f"USPS 2 against 3, weighted: {found[0]} steps at rate {found[1]:g}, {told}")
    yield {"chosen": list(found)}


def rivals(images: Images) -> Iterator[tuple[str, float, float]]:
    """Yield classifiers of images with training and test errors."""
    for name, model in (
        ("logistic regression, pixels", LogisticRegression(max_iter=MOST_STEPS)),
        ("nearest neighbour", KNeighborsClassifier(1)),
    ):
        model.fit(images.train, images.labels)
        given = wrong(model, images.train, images.labels)
        yield name, given, wrong(model, images.test, images.wanted)
    for n_hidden in (50, 100, 200):
        parts = [images.train[images.labels == label].astype(np.float32) for label in (0, 1)]
        models = [RBM(n_hidden).fit(part).model_ for part in parts]
        train, test = (
            np.column_stack([model.free_energy(rows.astype(np.float32)) for model in models])
            for rows in (images.train, images.test)
        )
        model, given, new = regress(train.astype(float), images.labels, test.astype(float))
        name = f"RBM, {n_hidden} hidden"
        yield name, wrong(model, given, images.labels), wrong(model, new, images.wanted)


def usps(repeats: int) -> Iterator[Result]:
    """Measure errors on USPS 2 against 3, weighted boosting and not, and other classifiers."""
    course(twos_and_threes(0), CHOSEN, True, 2)  # compiles
    for split in range(min(N_SPLITS, repeats)):
        images = twos_and_threes(split)
        for weighted in (True, False):
            run = course(images, CHOSEN, weighted, N_ROUNDS)
            name = "weighted" if weighted else "unweighted"
            row: Result = {"split": split, "method": name, "cpu": run.cpu}
            row["reached"] = _first(run.train, 1.0)
            yield row
            for k in (50, N_JUDGED, N_ROUNDS):
                pair = {"train": run.train[k - 1], "test": run.test[k - 1]}
                yield {"split": split, "method": f"{name}, {k} rounds"} | pair
        for name, given, new in rivals(images):
            yield {"split": split, "method": name, "train": given, "test": new}


def _first(errors: Floats, level: float) -> int:
    """Return the first round at which errors are at most that; one more than all if none is."""
    below = np.flatnonzero(errors <= level)
    return int(below[0]) + 1 if len(below) else len(errors) + 1


def usps_bars(rows: list[Result]) -> Iterator[Result]:
    """Print mean errors, and compare those of weighted boosting with the bars."""
    n_splits = len({row["split"] for row in rows})
    print(f"USPS 2 against 3, {n_splits} splits, errors in %: training, test, deviation of test")
    for name in dict.fromkeys(row["method"] for row in rows if "test" in row):
        train, test = _column(rows, name, "train"), _column(rows, name, "test")
        spread = test.std(ddof=1) if len(test) > 1 else np.nan
        print(f"  {name:30s} {train.mean():6.2f} {test.mean():6.2f} {spread:6.2f}")
    for name in ("weighted", "unweighted"):
        rounds, cpu = _column(rows, name, "reached"), np.median(_column(rows, name, "cpu"))
        print(f"  {name}: 1 % training error in rounds {rounds}, {cpu:.4f} CPU s a round")
    ours = f"weighted, {N_JUDGED} rounds"
    test, train = (_column(rows, ours, key).mean() for key in ("test", "train"))
    ratio = (
        _column(rows, "weighted", "reached").mean() / _column(rows, "unweighted", "reached").mean()
    )
    yield verdict("test error of weighted boosting", test, TEST_BAR)
    yield verdict("test error, goal", test, TEST_GOAL)
    yield verdict("training error of weighted boosting", train, TRAIN_BAR)
    yield verdict("rounds to 1 % training error, of those unweighted", ratio, ROUNDS_BAR)
    cpu = float(np.median(_column(rows, "weighted", "cpu")))
    yield verdict("CPU seconds of a round of a class", cpu, CPU_BAR)


def _column(rows: list[Result], method: str, key: str) -> Floats:
    """Return the values of a method, in the order of the rows."""
    return np.array([row[key] for row in rows if row.get("method") == method and key in row])


def standardised(rows: Floats, new: Floats) -> tuple[Floats, Floats, float]:
    """Return both in standard deviations of the first, and what this adds to log densities."""
    centre, scale = rows.mean(axis=0), rows.std(axis=0)
    return (rows - centre) / scale, (new - centre) / scale, -float(np.log(scale).sum())


def kernel_density(rows: Floats, new: Floats, seed: int) -> float:
    """Return the mean log density of new rows; the bandwidth is chosen by cross-validation."""
    given, other, units = standardised(rows, new)
    order = np.random.default_rng(seed).permutation(len(given))
    search = GridSearchCV(KernelDensity(), {"bandwidth": np.geomspace(0.03, 1.5, 20)}, cv=5)
    model: Any = search.fit(given[order]).best_estimator_
    return float(model.score_samples(other).mean()) + units


def mixture(n_components: int, rows: Floats, new: Floats, seed: int) -> float:
    """Return the mean log density of new rows in a mixture of Gaussians."""
    given, other, units = standardised(rows, new)
    return float(GaussianMixture(n_components, random_state=seed).fit(given).score(other)) + units


def mixture_cv(rows: Floats, new: Floats, seed: int) -> float:
    """Return the same, with the number of components chosen by cross-validation."""
    order = np.random.default_rng(seed).permutation(len(rows))
    parts = np.array_split(order, 5)
    scores = {}
    for n_components in CV_COMPONENTS:
        pairs = [(rows[np.setdiff1d(order, part)], rows[part]) for part in parts]
        scores[n_components] = np.mean([mixture(n_components, *pair, seed) for pair in pairs])
    return mixture(max(scores, key=lambda n: scores[n]), rows, new, seed)


def mixture_bic(rows: Floats, new: Floats, seed: int) -> float:
    """Return the same, with the number of components of the least BIC."""
    given, other, units = standardised(rows, new)
    most = min(MOST_COMPONENTS, len(given) // 5)
    models = [GaussianMixture(n, random_state=seed).fit(given) for n in range(1, most + 1)]
    best = min(models, key=lambda model: model.bic(given))
    return float(best.score(other)) + units


#: What boosted fields are compared with on spirals.
MIXTURES: dict[str, Callable[[Floats, Floats, int], float]] = {
    "kernel density": kernel_density,
    "mixture of 30": lambda rows, new, seed: mixture(30, rows, new, seed),
    "mixture, cross-validated": mixture_cv,
}


def spirals(repeats: int) -> Iterator[Result]:
    """Choose a setting, then measure log densities of fresh rows of the two spirals."""
    n_draws, means = min(N_DRAWS, repeats), []
    for setting in SPIRAL_SETTINGS:
        scores = []
        for seed in range(max(1, n_draws // 3)):
            rows = datasets.make_spirals(N_ROWS, random_state=seed).X
            order = np.random.default_rng([seed, 2]).permutation(N_ROWS)
            judge, teach = rows[order[: N_ROWS // 5]], rows[order[N_ROWS // 5 :]]
            field = BoostedField(n_rounds=N_DIMPLES, **setting)
            scores.append(field.fit(teach).score(judge))
        means.append(float(np.mean(scores)))
        row: Result = {"setting": setting, "validation": scores}
        print(f"Spirals, {row}", flush=True)
        yield row
    best = SPIRAL_SETTINGS[int(np.argmax(means))]
    for seed in range(n_draws):
        rows = datasets.make_spirals(N_ROWS, random_state=seed).X
        fresh = datasets.make_spirals(N_FRESH, random_state=1000 + seed).X
        field = BoostedField(n_rounds=N_DIMPLES, **best)
        cpu = timed(lambda field=field, rows=rows: field.fit(rows)).cpu
        row = {"draw": seed, "cpu": cpu, "rounds": field.n_rounds_, "boosted": field.score(fresh)}
        for name, run in MIXTURES.items():
            given = rows, fresh, seed
            row[name] = timed(lambda run=run, given=given: run(*given)).found
        print(f"Spirals, {row}", flush=True)
        yield row


def spirals_bars(rows: list[Result]) -> Iterator[Result]:
    """Print means and paired differences of log densities, and compare them with the bars."""
    choices = [row for row in rows if "validation" in row]
    found = [row for row in rows if "draw" in row]
    n_choosing = len(choices[0]["validation"])
    print(f"Spirals, {N_DIMPLES} rounds; settings chosen on a fifth of the training rows of the")
    print(f"first {n_choosing} draws: log density, what differs from the defaults")
    for row in choices:
        print(f"  {np.mean(row['validation']):.4f} {row['setting'] or 'nothing'}")
    if len(found) < 2:
        print("  fewer than two draws were made: no verdict")
        return
    print(f"Log densities of {N_FRESH} fresh rows, {len(found)} draws, with the best setting:")
    for name in ("boosted", *MIXTURES):
        print(f"  {name:28s} {np.mean([row[name] for row in found]):.4f}")
    for name in MIXTURES:
        mean, low, high = interval([row["boosted"] - row[name] for row in found])
        print(f"  boosted minus {name}: {mean:+.4f}, 95 % interval {low:+.4f} to {high:+.4f}")
        goal = ", goal" if name == "mixture, cross-validated" else ""
        what = f"upper end of the interval of the difference to {name}{goal}"
        yield verdict(what, high, 0.0, least=True) | {"mean": mean, "low": low}


def _load(name: str) -> Floats:
    """Return rows of a bundled table."""
    return np.asarray(getattr(bundled, f"load_{name}")().data, float)


def tables() -> Iterator[tuple[str, Floats, bool]]:
    """Yield tables of numbers, and whether the defaults were developed with them."""
    cancer, wine = _load("breast_cancer"), _load("wine")
    yield "iris", _load("iris"), True
    yield "abalone", datasets.abalone().X[:, 1:8].astype(float), True
    yield "wine, 0 to 7", wine[:, :8], True
    yield "wine, 8 to 12", wine[:, 8:13], False
    yield "Pendigits, 0 to 7", datasets.pendigits().X[:, :8].astype(float), False
    yield "Spambase, runs of capitals", np.log(datasets.load_spambase().X[:, 54:57]), False
    yield "digits, sums of lines", _load("digits").reshape(-1, 8, 8).sum(axis=2), False
    yield "breast cancer, 0 to 9", cancer[:, :10], True
    yield "breast cancer, 10 to 19", cancer[:, 10:20], False
    yield "diabetes", _load("diabetes")[:, [0, 2, 3, 4, 5, 6, 8, 9]], True


def flow(rows: Floats, new: Floats, seed: int) -> float:
    """Return the mean log density of new rows in a masked autoregressive flow with splines.

    Four layers of 50 units, splines of 8 knots between -5 and 5, batches of 100, rate 0.002, at
    most 100 epochs; a tenth of the rows stops the training when nothing is gained for 10.
    """
    jax, flows = import_module("jax"), import_module("flowjax.flows")
    splines, train = import_module("flowjax.bijections"), import_module("flowjax.train")
    normal = import_module("flowjax.distributions").Normal
    given, other, units = standardised(rows, new)
    draw, learn = jax.random.split(jax.random.key(seed))
    model: Any = flows.masked_autoregressive_flow(
        draw,
        base_dist=normal(np.zeros(given.shape[1], np.float32)),
        transformer=splines.RationalQuadraticSpline(knots=8, interval=5),
        flow_layers=4,
    )
    how: dict[str, Any] = {"max_epochs": 100, "max_patience": 10, "batch_size": 100}
    model, _ = train.fit_to_data(
        learn, model, given.astype(np.float32), learning_rate=2e-3, show_progress=False, **how
    )
    return float(np.asarray(model.log_prob(other.astype(np.float32)), float).mean()) + units


def boosted(rows: Floats, new: Floats, seed: int) -> float:
    """Return the mean log density of new rows in a boosted field with the defaults."""
    return BoostedField(random_state=seed).fit(rows).score(new)


#: What boosted fields are compared with on tables.
DENSITIES: dict[str, Callable[[Floats, Floats, int], float]] = {
    "boosted": boosted,
    "kernel density": kernel_density,
    "mixture, BIC": mixture_bic,
    "flow": flow,
}


def densities(repeats: int) -> Iterator[Result]:
    """Measure log densities of held-out rows of tables."""
    methods = dict(DENSITIES)
    if find_spec("flowjax") is None:
        print("flowjax is not installed: no flows")
        del methods["flow"]
    BoostedField(n_rounds=2).fit(_load("iris"))  # compiles
    for seed in range(min(N_TABLE_SPLITS, repeats)):
        for name, whole, known in tables():
            order = np.random.default_rng([seed, 3]).permutation(len(whole))[:MOST_ROWS]
            cut = round(TRAIN_SHARE * len(order))
            given = whole[order[:cut]], whole[order[cut:]], seed
            row: Result = {"table": name, "split": seed, "development": known}
            row["columns"] = whole.shape[1]
            for method, run in methods.items():
                found = timed(lambda run=run, given=given: run(*given))
                row[method], row[f"{method}, cpu"] = found.found, found.cpu
            print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            yield row


def densities_told(rows: list[Result]) -> Iterator[Result]:
    """Print mean log densities, and paired differences to boosted fields."""
    methods = [method for method in DENSITIES if method in rows[0]]
    print(f"Log density of held-out rows (CPU s): {', '.join(methods)}; * used in development")
    differences: dict[str, dict[str, tuple[float, float, float]]] = {}
    for name in dict.fromkeys(row["table"] for row in rows):
        own = [row for row in rows if row["table"] == name]
        cells = [
            f"{np.mean([row[key] for row in own]):8.3f} "
            f"({np.mean([row[f'{key}, cpu'] for row in own]):.1f})"
            for key in methods
        ]
        mark = "*" if own[0]["development"] else ""
        print(f"  {name + mark:28s} {len(own)} splits {' '.join(cells)}")
        differences[name] = {
            key: interval([row["boosted"] - row[key] for row in own]) for key in methods[1:]
        }
    for other in methods[1:]:
        means = {name: own[other] for name, own in differences.items()}
        result: Result = {"against": other}
        result["higher"] = [name for name, (mean, _, _) in means.items() if mean > 0]
        result["surely higher"] = [name for name, (_, low, _) in means.items() if low > 0]
        result["lower"] = [name for name, (mean, _, _) in means.items() if mean < 0]
        result["surely lower"] = [name for name, (_, _, high) in means.items() if high < 0]
        print(f"  boosted against {other} (surely: the 95 % interval does not hold 0):")
        for key in list(result)[1:]:
            print(f"    {key}: {', '.join(result[key]) or 'none'}")
        yield result


class Problem(NamedTuple):
    """Rows of one class, which train and test, and others."""

    name: str
    normal: NDArray[Any]
    other: NDArray[Any]


def problems() -> Iterator[Problem]:
    """Yield classes whose rows are normal, and other rows."""
    rows, labels = bundled.load_breast_cancer(return_X_y=True)
    yield Problem("breast cancer, benign", rows[labels == 1], rows[labels == 0])
    rows, labels = bundled.load_wine(return_X_y=True)
    yield Problem("wine, class 0", rows[labels == 0], rows[labels != 0])
    rows, labels = bundled.load_digits(return_X_y=True)
    rows = (rows >= 8).astype(float)
    yield Problem("digits, 8, 0/1", rows[labels == 8], rows[labels != 8])
    spam = datasets.load_spambase()
    rows, labels = spam.X[:, :10].astype(float), np.asarray(spam.y)
    yield Problem("Spambase, ham, 10 columns", rows[labels == 0], rows[labels == 1])
    pen = datasets.pendigits()
    rows, labels = pen.X[:, :10].astype(float), np.asarray(pen.y)
    yield Problem("Pendigits, 8, 10 columns", rows[labels == 8], rows[labels != 8])
    table = datasets.abalone().X.astype(float)
    rows, rings = table[:, 1:8], table[:, 8]
    yield Problem("abalone, to 8 rings against > 20", rows[rings <= 8], rows[rings > 20])


def detectors(seed: int) -> dict[str, Any]:
    """Return what finds anomalies; all have their defaults."""
    return {
        "boosted": BoostedField(random_state=seed),
        "boosted, trees": BoostedField("tree", random_state=seed),
        "isolation forest": IsolationForest(random_state=seed),
        "one-class SVM": make_pipeline(StandardScaler(), OneClassSVM()),
    }


def anomalies(repeats: int) -> Iterator[Result]:
    """Measure areas under the ROC curve of detectors that are trained on one class."""
    BoostedField(n_rounds=2).fit(_load("iris"))  # compiles
    for seed in range(min(N_SEEDS, repeats)):
        for name, normal, other in problems():
            rng = np.random.default_rng([seed, 4])
            order = rng.permutation(len(normal))
            cut = min(MOST_NORMAL, len(order) // 2)
            rows, test = normal[order[:cut]], normal[order[cut : cut + MOST_TESTED]]
            strange = other[rng.permutation(len(other))[:MOST_TESTED]]
            truth = np.repeat([0, 1], [len(test), len(strange)])
            row: Result = {"problem": name, "seed": seed}
            for key, model in detectors(seed).items():
                fitted, cpu = timed(lambda model=model, rows=rows: model.fit(rows))
                score = -fitted.decision_function(np.vstack([test, strange]))
                row[key], row[f"{key}, cpu"] = float(roc_auc_score(truth, score)), cpu
            print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            yield row


def anomalies_told(rows: list[Result]) -> Iterator[Result]:
    """Print mean areas, and yield the mean over all problems."""
    names = list(detectors(0))
    print(f"Anomalies, area under the ROC curve (CPU s): {', '.join(names)}")
    means = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        own = [row for row in rows if row["problem"] == problem]
        means.append([float(np.mean([row[key] for row in own])) for key in names])
        cpu = [np.mean([row[f"{key}, cpu"] for row in own]) for key in names]
        cells = [f"{area:.3f} ({spent:.1f})" for area, spent in zip(means[-1], cpu, strict=True)]
        print(f"  {problem:34s} {len(own)} seeds {' '.join(cells)}")
    total = dict(zip(names, np.mean(means, axis=0).tolist(), strict=True))
    print(f"  mean of problems: {', '.join(f'{key} {area:.3f}' for key, area in total.items())}")
    yield {"mean": total}


class Scene(NamedTuple):
    """What measures, at most a number of repeats, and what prints and judges what was measured."""

    measure: Callable[[int], Iterator[Result]]
    tell: Callable[[list[Result]], Iterator[Result]]


SCENES = {
    "choose": Scene(choose, chosen),
    "usps": Scene(usps, usps_bars),
    "spirals": Scene(spirals, spirals_bars),
    "tables": Scene(densities, densities_told),
    "anomalies": Scene(anomalies, anomalies_told),
}


def keep(scene: str, rows: list[Result]) -> None:
    """Store the rows of a scene; those of others stay."""
    stored = ROOT / "benchmarks/results/boosting.json"
    before = json.loads(stored.read_text(encoding="utf-8"))["rows"] if stored.exists() else []
    found = [row for row in before if row["scene"] != scene]
    found += [{"scene": scene, **row} for row in rows]
    names = list(SCENES)
    write_results("boosting", sorted(found, key=lambda row: names.index(str(row["scene"]))))


def page(rows: list[Result]) -> str:
    """Return the tables of docs/boosting.md from stored results, the best numbers in bold."""
    split = [row for row in rows if row["scene"] == "usps" and "train" in row]
    lines = ["| USPS, 2 against 3 | training error, % | test error, % |", "|---|---|---|"]
    for method in dict.fromkeys(row["method"] for row in split):
        train, test = (float(np.mean(_column(split, method, key))) for key in ("train", "test"))
        lines.append(f"| {method} | {train:.2f} | {test:.2f} |")
    own = [row for row in rows if row["scene"] == "spirals" and "draw" in row]
    names = ["boosted", *MIXTURES]
    means = (f"{np.mean([row[name] for row in own]):.3f}" for name in names)
    lines += ["", f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    lines.append(f"| two arcs, {N_DIMPLES} rounds | {' | '.join(means)} |")
    own = [row for row in rows if row["scene"] == "tables" and "table" in row]
    lines += ["", *_compared(own, "table", list(DENSITIES), ".2f")]
    own = [row for row in rows if row["scene"] == "anomalies" and "problem" in row]
    lines += ["", *_compared(own, "problem", list(detectors(0)), ".3f")]
    return "\n".join(lines) + "\n"


def _compared(rows: list[Result], key: str, methods: list[str], form: str) -> Iterator[str]:
    """Yield the lines of a table of means, with the CPU seconds."""
    yield f"| | {' | '.join(methods)} |"
    yield "|---" * (len(methods) + 1) + "|"
    for name in dict.fromkeys(row[key] for row in rows):
        own = [row for row in rows if row[key] == name]
        means = [f"{np.mean([row[method] for row in own]):{form}}" for method in methods]
        spent = [np.mean([row[f"{method}, cpu"] for row in own]) for method in methods]
        best = max(means, key=float)
        cells = [
            f"{f'**{mean}**' if mean == best else mean} ({cpu:.1f})"
            for mean, cpu in zip(means, spent, strict=True)
        ]
        mark = "*" if own[0].get("development") else ""
        yield f"| {name}{mark} | {' | '.join(cells)} |"


def main(arguments: list[str]) -> None:
    """Run the scenes."""
    given = dict(pairwise(arguments))
    repeats, minutes = int(given.get("--repeats", "10")), float(given.get("--minutes", "inf"))
    for name in [given["--only"]] if "--only" in given else SCENES:
        rows: list[Result] = []
        start = time.monotonic()
        for row in SCENES[name].measure(repeats):
            rows.append(row)
            if "--keep" in arguments:
                keep(name, rows)
            if time.monotonic() - start > 60 * minutes:
                print(f"{name}: stopped after {minutes:g} minutes")
                break
        rows += list(SCENES[name].tell(rows))
        if "--keep" in arguments:
            keep(name, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
