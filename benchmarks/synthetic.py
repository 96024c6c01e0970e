"""Train on synthetic rows, test on real ones: moment herding, a Gaussian copula and CART.

Each of five tables is split into training rows (two thirds) and test rows, three times. Every
method sees the training rows only and makes as many rows; two classifiers are trained on them,
and on the training rows themselves, and tested on the test rows. The copula is that of
`copulas`, with the marginals of the training rows. CART is the method of synthpop: column by
column, a tree predicts it from the columns before, and its value is that of a random training row
of the same leaf (at least five rows).

Copies are rows that equal a training row, as they are and with every number as a decile; beside
"real rows" it is the share of the test rows.

Run with ``python benchmarks/synthetic.py``. Abalone, Spambase and Pendigits are read from the
folder named by HERDER_DATA; without it only scikit-learn's tables are used, and the output says
so. Nothing is tuned, of any method.
"""

import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.pairing import write_results
from herder import MomentHerder, datasets

N_SPLITS = 3

#: Rows of a leaf, as in synthpop.
LEAF = 5

#: Columns of Spambase: those that are least often zero.
N_SPAM = 15

LABEL = "label"

#: A pandas frame; pyright knows too many types for what its methods return.
Rows = Any

Synthesiser = Callable[[Rows, int], Rows]


def tables() -> dict[str, Rows]:
    """Tables of numbers and categories, with a 0/1 label in the last column."""
    cancer: Any = load_breast_cancer(as_frame=True)
    diabetes: Any = load_diabetes(as_frame=True)
    found = {
        "breast cancer": cancer.data.iloc[:, :10].assign(**{LABEL: cancer.target}),
        "diabetes": diabetes.data.assign(
            **{LABEL: (diabetes.target > diabetes.target.median()).astype(int)}
        ),
    }
    if "HERDER_DATA" not in os.environ:
        return found
    folder = Path(os.environ["HERDER_DATA"])
    shells = datasets.abalone()
    abalone: Rows = pd.DataFrame(shells.X, columns=list(shells.names))
    sex, rings = abalone.columns[0], abalone.columns[-1]
    abalone[sex] = abalone[sex].map({1: "M", 2: "F", 3: "I"})
    abalone[LABEL] = (abalone.pop(rings) > 9).astype(int)
    spam = datasets.load_spambase()
    common = np.sort(np.argsort((spam.X == 0).mean(axis=0), kind="stable")[:N_SPAM])
    words = pd.DataFrame(spam.X[:, common], columns=[spam.names[j] for j in common])
    with np.load(folder / "pendigits.npz") as pens:
        strokes = pd.DataFrame(np.concatenate([pens["X_train"], pens["X_test"]]).astype(int))
        odd = np.concatenate([pens["y_train"], pens["y_test"]]) % 2
    strokes.columns = [f"{axis}{k}" for k in range(1, 9) for axis in "xy"]
    return {
        "Abalone": abalone,
        "Spambase": words.assign(**{LABEL: np.asarray(spam.y).astype(int)}),
        "Pendigits": strokes.assign(**{LABEL: odd.astype(int)}),
        **found,
    }


def by_herding(order: int) -> Synthesiser:
    """Moment herding of pairs or triples, with the defaults of the library."""
    return lambda rows, seed: MomentHerder(order).fit(rows).sample(len(rows))


def by_copula(rows: Rows, seed: int) -> Rows:
    """Gaussian copula of the columns, each spread uniformly over the shares of its values."""
    univariate = import_module("copulas.univariate")
    multivariate = import_module("copulas.multivariate")
    random, spread, tops = np.random.default_rng(seed), {}, {}
    for name in rows:
        shares = rows[name].value_counts(normalize=True).sort_index()
        tops[name] = shares.cumsum()
        top, width = (rows[name].map(part).astype(float) for part in (tops[name], shares))
        spread[name] = top - width * random.random(len(rows))
    uniform = univariate.UniformUnivariate
    model = multivariate.GaussianMultivariate(distribution=uniform, random_state=seed)
    model.fit(pd.DataFrame(spread))
    made = model.sample(len(rows))
    for name in rows:
        place = np.searchsorted(tops[name].to_numpy()[:-1], made[name])
        made[name] = tops[name].index.to_numpy()[place]
    return made[list(rows)]


def by_trees(rows: Rows, seed: int) -> Rows:
    """CART, column by column."""
    random = np.random.default_rng(seed)
    inputs = encoded(rows).to_numpy()
    donors = random.integers(len(rows), size=len(rows))
    made, known = rows.iloc[donors, :1].reset_index(drop=True), inputs[donors, :1]
    for j, name in enumerate(rows.columns[1:], start=1):
        kind = DecisionTreeClassifier if is_category(rows[name]) else DecisionTreeRegressor
        tree = kind(min_samples_leaf=LEAF, random_state=seed)
        tree.fit(inputs[:, :j], rows[name])
        here, there = tree.apply(inputs[:, :j]), tree.apply(known)
        order = np.argsort(here, kind="stable")
        first = np.searchsorted(here[order], there, side="left")
        last = np.searchsorted(here[order], there, side="right")
        donors = order[first + (random.random(len(there)) * (last - first)).astype(int)]
        made[name] = rows[name].to_numpy()[donors]
        known = np.column_stack([known, inputs[donors, j]])
    return made


REAL = "real rows"

METHODS: dict[str, Synthesiser] = {
    REAL: lambda rows, seed: rows,
    "herder, order 2": by_herding(2),
    "herder, order 3": by_herding(3),
    "Gaussian copula": by_copula,
    "CART": by_trees,
}

MODELS = {"boosting": "gradient boosting", "logistic": "logistic regression"}

#: Further measurements, what the page calls them, and their format.
MEANS = (
    ("boosting", "AUC, gradient boosting", ".3f"),
    ("logistic", "AUC, logistic regression", ".3f"),
    ("marginal", "error of single columns", ".3f"),
    ("correlation", "error of correlations", ".3f"),
    ("copied", "rows that equal a training row", ".1%"),
    ("copied_deciles", "the same with numbers as deciles", ".1%"),
    ("seconds", "CPU seconds", ".1f"),
)


def is_category(column: Any) -> bool:
    return column.name == LABEL or not pd.api.types.is_numeric_dtype(column)


def encoded(rows: Rows) -> Rows:
    """Numbers as they are, categories as numbers in alphabetical order."""
    return rows.apply(
        lambda column: column.astype("category").cat.codes if is_category(column) else column
    ).astype(float)


def auc(train: Rows, test: Rows) -> dict[str, float]:
    """AUC on real rows of two classifiers with their defaults, trained on other rows."""
    X, X_test = (pd.get_dummies(rows.drop(columns=LABEL)).astype(float) for rows in (train, test))
    X = X.reindex(columns=X_test.columns, fill_value=0.0)
    y = train[LABEL].astype(int)
    models = {
        "boosting": HistGradientBoostingClassifier(random_state=0),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    }
    return {
        name: float(roc_auc_score(test[LABEL], model.fit(X, y).predict_proba(X_test)[:, 1]))
        for name, model in models.items()
    }


def marginal_error(rows: Rows, made: Rows) -> float:
    """Mean over columns of the largest difference of distribution functions, or of shares."""
    errors = []
    for name in rows:
        if is_category(rows[name]):
            shares = (part[name].value_counts(normalize=True) for part in (rows, made))
            first, second = shares
            errors.append(first.sub(second, fill_value=0.0).abs().sum() / 2)
        else:
            both = np.sort(np.concatenate([rows[name], made[name]]))
            reached = [
                np.searchsorted(np.sort(part[name]), both, side="right") / len(part)
                for part in (rows, made)
            ]
            errors.append(np.abs(reached[0] - reached[1]).max())
    return float(np.mean(errors))


def correlation_error(rows: Rows, made: Rows) -> float:
    """Mean over pairs of columns of the absolute difference of correlations."""
    first, second = (np.corrcoef(encoded(part).to_numpy().T) for part in (rows, made))
    return float(np.abs(first - second)[np.triu_indices(len(first), 1)].mean())


def binned(rows: Rows, made: Rows) -> Rows:
    """Numbers as deciles of the training rows."""
    deciles = np.linspace(0, 1, 11)[1:-1]
    return made.apply(
        lambda column: (
            column
            if is_category(column)
            else pd.Series(np.searchsorted(np.quantile(rows[column.name], deciles), column))
        )
    )


def copy_share(rows: Rows, made: Rows) -> float:
    """Share of the rows made that equal a training row in every column."""
    known = set(rows.itertuples(index=False, name=None))
    return float(np.mean([row in known for row in made.itertuples(index=False, name=None)]))


def _fresh(rows: Rows) -> Rows:
    return rows.reset_index(drop=True)


def measure(name: str, table: Rows) -> list[dict[str, Any]]:
    """Mean over the splits of every measurement, for every method."""
    found: dict[str, list[dict[str, float]]] = {method: [] for method in METHODS}
    for split in range(N_SPLITS):
        train, test = map(_fresh, train_test_split(table, test_size=1 / 3, random_state=split))
        for method, make in METHODS.items():
            began = time.process_time()
            made = make(train, split)
            seconds = time.process_time() - began
            new = test if made is train else made  # real rows: how often two of them agree
            found[method].append(
                {
                    **auc(made, test),
                    "marginal": marginal_error(train, made),
                    "correlation": correlation_error(train, made),
                    "copied": copy_share(train, new),
                    "copied_deciles": copy_share(binned(train, train), binned(train, new)),
                    "seconds": seconds,
                }
            )
    return [
        {
            "data": name,
            "rows": len(table),
            "columns": table.shape[1],
            "method": method,
            **{key: float(np.mean([run[key] for run in runs])) for key in runs[0]},
            "boosting_sd": float(np.std([run["boosting"] for run in runs], ddof=1)),
        }
        for method, runs in found.items()
    ]


def page(rows: list[dict[str, Any]]) -> str:
    """Return the tables of docs/moments.md, the best AUC of synthetic rows in bold."""
    names = [*dict.fromkeys(row["data"] for row in rows)]
    cells = {(row["data"], row["method"]): row for row in rows}
    lines = []
    for model in ("boosting", "logistic"):
        lines += _heads(f"AUC, {MODELS[model]}")
        for name in names:
            found = {method: f"{cells[name, method][model]:.3f}" for method in METHODS}
            best = max(value for method, value in found.items() if method != REAL)
            marked = [
                f"**{value}**" if value == best and method != REAL else value
                for method, value in found.items()
            ]
            lines.append(f"| {name} | {' | '.join(marked)} |")
        lines.append("")
    lines += _heads("mean over the tables")
    for key, what, form in MEANS:
        means = [np.mean([cells[name, method][key] for name in names]) for method in METHODS]
        lines.append(f"| {what} | {' | '.join(format(mean, form) for mean in means)} |")
    return "\n".join(lines)


def _heads(first: str) -> list[str]:
    return [f"| {first} | {' | '.join(METHODS)} |", "|---" * (len(METHODS) + 1) + "|"]


def main() -> None:
    """Measure, print and store."""
    if "HERDER_DATA" not in os.environ:
        print("HERDER_DATA is not set: scikit-learn's tables only.")
    METHODS["herder, order 3"](tables()["diabetes"].head(50), 0)  # compile before timing
    rows = []
    for name, table in tables().items():
        print(f"{name}: {len(table):,} rows, {table.shape[1]} columns", flush=True)
        rows += measure(name, table)
    print(f"\n{page(rows)}")
    if "HERDER_DATA" in os.environ:
        print(f"\nWritten: {write_results('synthetic', rows)}")


if __name__ == "__main__":
    main()
