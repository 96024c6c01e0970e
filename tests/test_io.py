"""Every class that can be saved comes back and goes on the same; what is broken is refused."""

import itertools
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError

import herder.online
from herder import (
    NHERD,
    RBM,
    BoltzmannMachine,
    BoostedClassifier,
    BoostedField,
    ConditionalHerder,
    DiscriminativeRBM,
    EnumeratedSystem,
    GaussianMixture,
    HiddenHerder,
    KernelHerder,
    Matern32,
    MomentHerder,
    Moments,
    PairwiseModel,
    ParametricHerder,
    PottsModel,
    RBMModel,
    gibbs,
    herd,
    herd_density,
    herded_gibbs,
    kernel_herd,
    merge_classifiers,
    swendsen_wang,
)
from herder.core import Checkpoint
from herder.core.state import ModelFileError, read_file, write_file
from herder.io import HOMES, load, read_model, save
from tests.naming import refuses

rng = np.random.default_rng(4)
X = rng.normal(size=(120, 6)) * (rng.random((120, 6)) < 0.7)
TWO = np.where(X[:, 0] + 0.3 * rng.normal(size=120) > 0, "spam", "ham")
FOUR = np.argmax(X[:, :4] + 0.2 * rng.normal(size=(120, 4)), axis=1)
BITS = (rng.random((300, 5)) < 0.2 + 0.5 * rng.random((300, 1))).astype(np.int64)


class Case(NamedTuple):
    """Something to save: how it is made, what it answers, and what it is after it has gone on."""

    make: Callable[[], Any]
    answers: Callable[[Any], dict[str, Any]]
    go_on: Callable[[Any], Any]


CASES: dict[str, Case] = {}

META = {"note": [1, "\u00e4"]}


# Online classifiers

CLASSIFIERS = [name for name, home in HOMES.items() if home.startswith("herder.online.")]
CLASSIFIER_PARAMS = [
    (name, params)
    for name in CLASSIFIERS
    for params in (
        [{}]
        if name == "VotedPerceptron"
        else [{}, {"average": True, "fit_intercept": False}, {"multi_class": "one-vs-rest"}]
    )
]
CLASSIFIER_PARAMS += [
    (name, {"covariance": "full", **more})
    for name in ("NHERD", "AROW", "ConfidenceWeighted", "SecondOrderPerceptron")
    for more in ({}, {"average": True, "multi_class": "one-vs-rest"})
]
CLASSIFIER_PARAMS += [
    ("NHERD", {"covariance": "full", "kernel": "rbf", "budget": 30}),
    ("AROW", {"covariance": "full", "kernel": "poly", "degree": 2, "average": True}),
    ("VotedPerceptron", {"budget": 5}),
    ("NHERD", {"forget": 0.01, "class_weight": {"ham": 2.5, "1": 3.0}}),
    ("NHERD", {"class_weight": {1: 2.5}}),
    ("PassiveAggressive", {"form": "PA-II", "C": np.float64(0.5), "max_iter": np.int64(2)}),
]


def add_classifier(name, params, labels, is_sparse):
    rows, y = (csr_matrix(X) if is_sparse else X), {"two": TWO, "four": FOUR}[labels]

    def answers(model):
        found = {"predict": model.predict(X), "scores": model.decision_function(X)}
        if hasattr(model, "predict_proba"):
            found["odds"] = model.predict_proba(X)
        counts = ("n_iter_", "n_seen_", "n_updates_", "n_features_in_", "progressive_error_")
        found |= {name: getattr(model, name) for name in counts}
        return found | {"classes": model.classes_, "params": model.get_params()}

    words = "-".join([name, *map(str, params.values()), labels, "sparse" if is_sparse else "rows"])
    CASES[words] = Case(
        lambda: getattr(herder.online, name)(**params).partial_fit(
            rows[:80], y[:80], classes=np.unique(y)
        ),
        answers,
        lambda model: model.partial_fit(rows[80:], y[80:]),
    )


for name, params in CLASSIFIER_PARAMS:
    for labels in ("two", "four"):
        for is_sparse in (False, True):
            add_classifier(name, params, labels, is_sparse)


# Boltzmann machines

MACHINES = {
    "pl": {},
    "pl-node": {"method": "pl-node", "penalty": "l1", "alpha": np.float64(0.01)},
    "cv": {"alpha": "cv", "alphas": [0.1, 0.01, 0.001], "cv": 3},
    "ml": {"method": "ml", "penalty": None, "states": (0, 1)},
    "cd": {"method": "cd", "n_epochs": np.int64(3)},
    "pcd": {"method": "pcd", "n_epochs": 3, "binarize": 0.5},
}


def answers_of_machine(machine):
    left_out = ("model_", "diagnostics_", "_stream", "_sums")
    found = {name: value for name, value in vars(machine).items() if name not in left_out}
    low, high = machine.states_
    energies = machine.model_.energy(low + (high - low) * BITS[:20])
    return found | {"energies": energies, "report": str(machine.diagnostics_)}


def add_machine(key, params, low):
    if low == -1 and "states" in params:
        params = {**params, "states": (-1, 1)}
    rows = BITS if low == 0 else 2 * BITS - 1
    is_stream = key in ("pl", "stream")
    CASES[f"machine-{key}{low}"] = Case(
        lambda: getattr(BoltzmannMachine(**params), "partial_fit" if key == "stream" else "fit")(
            rows[:150]
        ),
        answers_of_machine,
        lambda machine: machine.partial_fit(rows[150:]) if is_stream else machine,
    )


for key, params in {**MACHINES, "stream": {}}.items():
    for low in (0, -1):
        add_machine(key, params, low)
CASES["machine-weightless"] = Case(
    lambda: BoltzmannMachine().partial_fit(BITS[:20], sample_weight=np.zeros(20)),
    answers_of_machine,
    lambda machine: machine.partial_fit(BITS),
)


# Hidden units


def answers_of_rbm(machine):
    rows = BITS[:20] if machine.model_.states == (0, 1) else 2 * BITS[:20] - 1
    names = ("components_", "intercept_hidden_", "intercept_visible_", "history_")
    found = {name: getattr(machine, name) for name in names}
    return found | {"scores": machine.score_samples(rows), "samples": machine.sample(5)}


for low in (0, -1):
    CASES[f"rbm{low}"] = Case(
        lambda rows=BITS if low == 0 else 2 * BITS - 1: RBM(3, n_epochs=2).fit(rows.astype(float)),
        answers_of_rbm,
        lambda machine: machine,
    )
CASES["discriminative"] = Case(
    lambda: DiscriminativeRBM(3, max_iter=2, warm_start=True).fit(X, TWO),
    lambda machine: {
        "log_proba": machine.predict_log_proba(X),
        "classes": machine.classes_,
        "history": machine.history_,
        "components": machine.components_,
        "params": machine.get_params(),
    },
    lambda machine: machine.fit(X, TWO),
)
for kind in ("joint", "one-vs-rest"):
    CASES[f"conditional-{kind}"] = Case(
        lambda k=kind: ConditionalHerder(3, max_iter=2, multi_class=k, warm_start=True).fit(
            X, TWO
        ),
        lambda model: {
            "proba": model.predict_proba(X),
            "classes": model.classes_,
            "history": model.history_,
            "updates": model.n_updates_,
            "params": model.get_params(),
        },
        lambda model: model.fit(X, TWO),
    )


def answers_of_boosted(field):
    rows = X if field.n_features_in_ == 6 else BITS
    names = ("coefficients_", "parameters_", "ess_", "gains_", "constant_", "n_features_in_")
    return {name: getattr(field, name) for name in names} | {
        "scores": field.score_samples(rows),
        "outliers": field.predict(rows),
        "samples": field.sample(5),
        "params": str(field.get_params()["n_rounds"]),
    }


def boost_on(field):
    rows = X if field.n_features_in_ == 6 else BITS
    return field.set_params(n_rounds=field.n_rounds_ + 2).fit(rows)


def boosted(features, rows):
    """A field whose log Z is known, and saved."""
    field = BoostedField(features, n_rounds=2, warm_start=True).fit(rows)
    field.score_samples(rows)
    return field


for features, rows in (("rbm", BITS), ("tree", BITS), ("dimple", X), ("tree", X)):
    CASES[f"boosted-{features}{rows.shape[1]}"] = Case(
        lambda features=features, rows=rows: boosted(features, rows),
        answers_of_boosted,
        boost_on,
    )
for key, labels in {"two": TWO, "four": FOUR}.items():
    CASES[f"boosted-{key}"] = Case(
        lambda labels=labels: BoostedClassifier(BoostedField("tree", n_rounds=2)).fit(X, labels),
        lambda model: {
            "proba": model.predict_proba(X),
            "classes": model.classes_,
            "coef": model.coef_,
            "field": str(model.field),
        },
        lambda model: model,
    )
CASES["rbm-herding"] = Case(
    lambda: RBM(3, method="herding", n_epochs=2).fit(BITS.astype(float)),
    lambda machine: answers_of_rbm(machine) | {"rates": machine.rates_},
    lambda machine: machine,
)
for key, parameters in {"": {}, "-batches": {"batch_size": 4}, "-rows": {"start": "rows"}}.items():
    CASES[f"hidden{key}"] = Case(
        lambda given=parameters: HiddenHerder(3, n_steps=20, **given).fit(BITS),
        lambda herder: {
            "samples": herder.sample(30),
            "rates": herder.sample(30, drive="rates"),
            "features": herder.transform(BITS),
            "averages": herder.hidden_averages_,
            "counts": (herder.n_restarts_, herder.n_violations_),
            "weights": herder.weights_,
        },
        lambda herder: herder,
    )
CASES["parametric"] = Case(
    lambda: ParametricHerder(2, n_hidden=3, n_steps=5, n_tuning_steps=5).fit(2 * BITS - 1),
    lambda herder: {"samples": herder.sample(30), "history": herder.history_},
    lambda herder: herder,
)
CASES["rbm-model"] = Case(
    lambda: RBMModel([[1.0, -1 / 3], [0.5, 0.0]], [0.1, 0.2], states=(-1, 1)),
    lambda model: {"F": model.free_energy([[1, -1]]), "W": model.couplings, "s": model.states},
    lambda model: model,
)


# Random fields

NAMES = ["rain", "wind", "\u00e4 b", "4"]
FIELDS = {
    "dense": PairwiseModel.random(6, random_state=1),
    "sparse": PairwiseModel.random(9, graph="grid", states=(0, 1), random_state=2),
    "named": PairwiseModel(np.ones((4, 4)) - np.eye(4), offset=-1 / 3, names=NAMES),
    "empty": PairwiseModel.random(3, graph="empty", random_state=3),
    "potts": PottsModel.random(5, 4, random_state=4),
    "potts-grid": PottsModel.grid((3, 2), 3, 0.7, [0.1, 0.2, 1 / 3], periodic=True),
}


def answers_of_field(model: Any):
    draws = np.random.default_rng(5).integers(0, model.n_states, size=(20, model.n_sites))
    own = "fields" if hasattr(model, "fields") else "biases"
    return {
        "couplings": model.couplings.toarray() if model.is_sparse else model.couplings,
        "is_sparse": model.is_sparse,
        "local": getattr(model, own),
        "energy": model.energy(np.array(model.states)[draws]),
        "facts": [model.names, model.offset, model.states],
    }


for key, field in FIELDS.items():
    CASES[f"field-{key}"] = Case(lambda field=field: field, answers_of_field, lambda model: model)


# Runs

GRID, POTTS = FIELDS["sparse"], FIELDS["potts-grid"]
RUNS = {
    "gibbs": lambda n, **run: gibbs(GRID, n, n_chains=2, pairs="edges", functions=np.sum, **run),
    "gibbs-tempered": lambda n, **run: gibbs(GRID, n, temperatures=(1.0, 1.5, 2.0), **run),
    "gibbs-potts": lambda n, **run: gibbs(POTTS, n, evidence={0: 1}, **run),
    "herded": lambda n, **run: herded_gibbs(GRID, n, **run),
    "herded-potts": lambda n, **run: herded_gibbs(POTTS, n, pairs="all", **run),
    "clusters": lambda n, **run: swendsen_wang(POTTS, n, **run),
}
RUNS["gibbs"] = lambda n, **run: gibbs(
    GRID, n, n_chains=2, pairs="edges", functions={"on": lambda rows: rows.sum(axis=1)}, **run
)


def answers_of_position(position):
    arrays, header = position.to_state()
    return {**arrays, "header": header}


for key, run in RUNS.items():
    CASES[f"run-{key}"] = Case(
        lambda run=run: run(33).position,
        answers_of_position,
        lambda position, run=run: run(40, resume=position).position,
    )

SYSTEM = EnumeratedSystem([[0, 0], [1, 0], [0, 1]], counts=[5, 3, 2])


def check_on(place: Checkpoint) -> Checkpoint:
    steps = herd(SYSTEM, place.weights, state=place.state, t=place.t, scale=place.scale)
    step = [next(steps) for _ in range(9)][-1]
    return Checkpoint(step.weights, step.state, step.t, step.scale, place.arrays, place.meta)


CASES["checkpoint"] = Case(
    lambda: check_on(Checkpoint(np.array([0, 0]), 0, 0, 1.0, {"sum": np.ones(2)}, META)),
    answers_of_position,
    check_on,
)
for restarts in ("rows", "visited"):
    herder_of_rows = MomentHerder(restarts=restarts).fit(BITS[:40])
    CASES[f"position-{restarts}"] = Case(
        lambda own=herder_of_rows: own.herd(50).position,
        answers_of_position,
        lambda position, own=herder_of_rows: own.herd(50, resume=position).position,
    )


# Moment herders

LEVELS = pd.CategoricalDtype(["s", "m", "l", "xl"], ordered=True)
FRAME = pd.DataFrame(
    {
        "size": pd.Series(list("smlssmmlxs")).replace("x", "xl").astype(LEVELS),
        "on": [True, False] * 5,
        "n": pd.array([1, 2, None, 1, 2, 2, 1, None, 1, 2], dtype="Int64"),
        "word": list("aabbababab"),
        "length": np.linspace(0, 1, 10),
    }
)
DAYS = np.array(["2024-01-01", "2024-05-07", "2024-01-01", "2025-01-01"], "M8[D]")
TABLES = {
    "bits": (BITS[:60], {}),
    "signs": (
        BITS[:60],
        {"encoding": "+-1", "rates": np.linspace(1, 2, 15), "scan": [4, 3, 2, 1, 0], "burn_in": 7},
    ),
    "cliques": (BITS[:60], {"cliques": [[0, 1, 2], (3,), [3, 4]], "restarts": "visited"}),
    "sparse": (csr_matrix(BITS[:60]), {"restarts": "none", "max_sweeps": 3}),
    "mapping": ({"colour": ["red", "blue", "red", None], "day": DAYS}, {"missing": "category"}),
    "labels": (np.array([["a", 1], ["b", 2], [b"c", 2.5]], dtype=object), {"order": 1}),
    "pandas": (FRAME, {"missing": "category", "bins": {"length": 3}}),
    "numbered": (FRAME[["on", "word"]].set_axis([3, "b"], axis="columns"), {}),
    "polars": (
        pl.DataFrame(
            {"a": [1, 2, 2], "b": ["x", None, "y"], "c": ["u", "v", "u"], "d": [0.5, 0.25, 0.5]},
            schema_overrides={"a": pl.Int16, "c": pl.Enum(["u", "v", "w"])},
        ),
        {"missing": "category"},
    ),
}


def as_plain(table):
    """Return a table in a form that can be compared: its type, its dtypes, its values."""
    if hasattr(table, "toarray"):
        return ["sparse", str(table.dtype), table.toarray().tolist()]
    if isinstance(table, np.ndarray):
        return [str(table.dtype), table.tolist()]
    columns = table if isinstance(table, dict) else {name: table[name] for name in table.columns}
    plain = [[name, str(c.dtype), [str(v) for v in c]] for name, c in columns.items()]
    return [type(table).__name__, *plain]


def answers_of_herder(own):
    part = own.herd(20)
    return {
        "table": as_plain(own.sample(40)),
        "rows": [str(row) for row in itertools.islice(own.stream(), 5)],
        "rest": own.herd(20, resume=part.position).samples,
        "report": str(own.diagnostics_),
        "counts": own.moments_.counts,
        "width": own.n_features_in_,
        "names": getattr(own, "feature_names_in_", None),
        "params": own.get_params(),
    }


for key, (table, params) in TABLES.items():
    CASES[f"herder-{key}"] = Case(
        lambda table=table, params=params: MomentHerder(**params).fit(table),
        answers_of_herder,
        lambda own: own,
    )
TWICE = {
    "variable_a": ["a", "a", "b"],
    "variable_b": ["a", "a", "b"],
    "count": [60, 130, 30],
    "total": [100, 200, 100],
}
CASES["herder-published"] = Case(
    lambda: MomentHerder(contradictions="nearest").fit_moments(
        Moments.from_counts(TWICE, contradictions="allow")
    ),
    answers_of_herder,
    lambda own: own,
)


# Kernel herding

KERNEL_PARAMS = {
    "median": {},
    "energy": {"kernel": "energy", "standardise": True},
    "gaussian": {"kernel": "gaussian", "standardise": False},
    "lengths": {"bandwidth": np.linspace(0.5, 1.5, 6), "weights": "simplex"},
    "own": {"kernel": Matern32(np.linspace(0.5, 1.5, 6)), "refine": False},
}
for key, params in KERNEL_PARAMS.items():
    CASES[f"kernel-{key}"] = Case(
        lambda params=params: KernelHerder(12, **params).fit(X),
        lambda own: {
            "features": own.transform(X[:7]),
            "names": own.get_feature_names_out(),
            **{name: getattr(own, name) for name in ("indices_", "samples_", "weights_", "mmd_")},
            "params": repr(own.get_params()["n_select"]),
        },
        lambda own: own,
    )
CASES["picks"] = Case(
    lambda: kernel_herd(X, 15),
    lambda picks: {"indices": picks.indices, "scores": picks.scores},
    lambda picks: kernel_herd(X, 15, resume=picks),
)
MIXTURE = GaussianMixture([[-3.0, 0.0], [3.0, 1.0]], 1.0, [0.6, 0.4])
for key, bandwidth in {"one": None, "lengths": [0.5, 1.5]}.items():
    CASES[f"density-{key}"] = Case(
        lambda bandwidth=bandwidth: herd_density(MIXTURE, 6, bandwidth=bandwidth, auxiliary=50),
        lambda found: {"points": found.points, "errors": found.errors, "values": found.values},
        lambda found: herd_density(MIXTURE, 4, resume=found),
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Give a function that gives the file of a case, which is written once."""
    folder = tmp_path_factory.mktemp("saved")

    def path_of(key):
        path = folder / f"{key}.safetensors"
        if not path.exists():
            save(CASES[key].make(), path, meta=META)
        return path

    return path_of


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_equal(second[name], value, err_msg=name)
        assert type(second[name]) is type(value) or isinstance(value, np.generic), name
        if isinstance(value, np.ndarray):
            assert second[name].dtype == value.dtype, name


def test_every_class_has_a_case():
    assert {type(case.make()).__name__ for case in CASES.values()} == set(HOMES)


@pytest.mark.parametrize("key", CASES)
def test_it_comes_back_and_goes_on_the_same(tmp_path, key):
    make, answers, go_on = CASES[key]
    model = make()
    save(model, tmp_path / "a", meta=META)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back, meta = read_model(tmp_path / "a")
    assert meta == META
    assert type(back) is type(model)
    assert_same(answers(model), answers(back))
    save(back, tmp_path / "again", meta=meta)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "a").read_bytes()
    assert_same(answers(go_on(model)), answers(go_on(back)))


#: One of each kind of state.
KINDS = [
    "NHERD-two-rows",
    "NHERD-full-rbf-30-four-rows",
    "VotedPerceptron-5-four-sparse",
    "machine-stream0",
    "machine-cv0",
    "field-dense",
    "field-sparse",
    "field-potts",
    "run-gibbs",
    "run-gibbs-tempered",
    "run-herded",
    "run-herded-potts",
    "run-clusters",
    "checkpoint",
    "position-visited",
    "herder-bits",
    "herder-pandas",
    "kernel-energy",
    "picks",
    "density-one",
    "boosted-rbm5",
    "boosted-four",
]


@pytest.mark.parametrize("key", KINDS)
def test_a_flipped_bit_is_refused(saved, tmp_path, key):
    raw = saved(key).read_bytes()
    noise = np.random.default_rng(6)
    for place in noise.integers(0, len(raw), size=25).tolist():
        changed = bytearray(raw)
        changed[place] ^= 1 << int(noise.integers(8))
        (tmp_path / "a").write_bytes(changed)
        with pytest.raises(ModelFileError):
            load(tmp_path / "a")


@pytest.mark.parametrize("key", KINDS)
def test_a_state_without_one_of_its_parts_is_refused(saved, tmp_path, key):
    """Refused when it is read, or when a run goes on from it; never an error of another kind."""
    arrays, header, _ = read_file(saved(key))
    envelope = ("format", "format_version", "herder", "class", "meta")
    optional = ("total", "sum.on", "sums.means", "arrays.sum", "weights_shape", "rows", "unique")
    for part in [*arrays, *header]:
        if part in envelope or part.endswith(optional):
            continue
        less = {name: value for name, value in arrays.items() if name != part}
        write_file(tmp_path / "a", less, {k: v for k, v in header.items() if k != part})
        with pytest.raises(ValueError, match=r".") as caught:
            CASES[key].go_on(load(tmp_path / "a"))
        assert isinstance(caught.value, ModelFileError) or "resume must" in str(caught.value)


class Other(NHERD):
    pass


class OtherField(PairwiseModel):
    pass


@pytest.mark.parametrize("model", [Other(), OtherField([[0.0]]), None, 3, NHERD])
def test_other_things_are_not_saved(tmp_path, model):
    with refuses("model", TypeError):
        save(model, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "model",
    [
        NHERD(),
        BoltzmannMachine(),
        BoostedField(),
        BoostedClassifier(),
        KernelHerder(),
        MomentHerder(),
    ],
)
def test_what_is_not_fitted_is_not_saved(tmp_path, model):
    with pytest.raises(NotFittedError):
        save(model, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def strange_classes():
    model = NHERD().fit(X, TWO)
    model.classes_ = np.array([b"a", b"b"])
    return model


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NHERD(random_state=np.random.default_rng(0)).fit(X, TWO), "random_state must be"),
        (
            lambda: NHERD(covariance="full", kernel=lambda A, B: A @ B.T).fit(X, TWO),
            "kernel must be a number, a text or None",
        ),
        (strange_classes, "classes must be numbers or texts"),
        (lambda: KernelHerder(2, kernel=lambda A, B: A @ B.T).fit(X), "kernel must be one of"),
        (
            lambda: MomentHerder().fit({"a": [Fraction(1, 2), Fraction(1, 3)]}),
            "X must hold numbers",
        ),
        (
            lambda: MomentHerder().fit(pd.DataFrame({"a": pd.period_range("2024", periods=2)})),
            "X ",
        ),
        (
            lambda: BoltzmannMachine(random_state=np.random.default_rng(0)).fit(BITS),
            "random_state must be",
        ),
    ],
)
def test_what_cannot_be_written_as_text_is_not_saved(tmp_path, make, message):
    model = make()
    with pytest.raises(TypeError, match=message):
        save(model, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "classes", [np.array([1, 2], np.int8), np.array([0.0, 2.0]), np.array(["a", "b"], object)]
)
def test_classes_keep_their_type(tmp_path, classes):
    save(NHERD().fit(X, classes[(X[:, 0] > 0).astype(int)]), tmp_path / "a")
    back = load(tmp_path / "a")
    assert back.classes_.tolist() == classes.tolist()
    assert back.classes_.dtype == classes.dtype


def test_new_classes_still_come(tmp_path):
    model = NHERD(new_classes="add").partial_fit(X[:50], TWO[:50])
    save(model, tmp_path / "a")
    back = load(tmp_path / "a").partial_fit(X[50:], np.full(70, "eggs"))
    assert back.classes_.tolist() == ["eggs", "ham", "spam"]


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_a_model_that_knows_one_class_comes_back(tmp_path, kernel):
    options = {} if kernel is None else {"covariance": "full", "kernel": kernel}
    model = NHERD(new_classes="add", **options).partial_fit(X[:5], np.full(5, "ham"))
    save(model, tmp_path / "a")
    back = load(tmp_path / "a")
    for one in (model, back):
        one.partial_fit(X, TWO)
    assert np.array_equal(model.decision_function(X), back.decision_function(X))


@pytest.mark.parametrize("make", [lambda X: NHERD().fit(X, TWO[:50]), BoltzmannMachine().fit])
def test_names_of_features_come_along(tmp_path, make):
    frame = pd.DataFrame(BITS[:50], columns=list("abcde"))
    save(make(frame), tmp_path / "a")
    back = load(tmp_path / "a")
    assert back.feature_names_in_.tolist() == list("abcde")
    if isinstance(back, BoltzmannMachine):
        assert back.model_.names == tuple("abcde")


def test_parameters_within_parameters_come_back(tmp_path):
    nested = {"a": {"b": (1, [2.5, None])}, 3: ({"c": True},)}
    model = NHERD().fit(X, TWO).set_params(class_weight=nested)
    save(model, tmp_path / "a")
    assert load(tmp_path / "a").class_weight == nested


def test_facts_beside_a_model_stay_with_it(tmp_path):
    rows, labels = np.eye(4), [0, 1, 0, 1]
    facts = {"input": {"normalise": True}}
    save(NHERD().fit(rows, labels), tmp_path / "a", meta=facts)
    model = load(tmp_path / "a").partial_fit(rows, labels)
    save(merge_classifiers([model, model]), tmp_path / "b")
    assert read_model(tmp_path / "b")[1] == facts
    with refuses("models"):
        merge_classifiers([model, NHERD().fit(rows, labels)])
    save(model.fit(rows, labels), tmp_path / "c")
    assert read_model(tmp_path / "c")[1] == {}


@pytest.mark.parametrize("key", ["field-dense", "machine-pl0"])
def test_facts_are_no_part_of_other_models(saved, tmp_path, key):
    model, meta = read_model(saved(key))
    assert meta
    save(model, tmp_path / "a")
    assert read_model(tmp_path / "a")[1] == {}
