"""Every public name as a call with valid arguments, in which the hostile ones take their place.

A call is a function of keywords and its valid arguments, which are made anew for each case. A
method's call makes its object first if the method changes it; else all cases share one.
"""

import atexit
import copy
import inspect
import itertools
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import herder
from herder import core, datasets, fields, metrics, plots, samplers, study, testing
from herder.apps import go
from herder.apps.segment import segment
from herder.data import open_table
from herder.models import Variable, decode, encode
from herder.models.consistency import find_contradictions

__all__ = ["CALLS", "EXEMPT", "Call", "folder"]


class Call(NamedTuple):
    """A function of keywords, and what it is validly called with."""

    function: Callable[..., Any]
    arguments: dict[str, Any]


#: Names that are not called: errors, protocols, and results, which only a function of ours makes.
EXEMPT = {
    *("FeatureFamily", "HerdingSystem", "ModelFileError", "ParameterError", "Step"),
    *("Bounds", "ColumnErrors", "DensityHerding", "Estimate", "Exact", "FitCheck", "FitReport"),
    *("BeliefPropagation", "MarginalHerding"),
    *("KernelHerding", "LogPartition", "MomentDiagnostics", "MomentHerding", "Position"),
    *("Sampling", "ScanReport", "Thinning"),
}

LINEAR = ("AROW", "NHERD", "SecondOrderPerceptron", "ConfidenceWeighted", "PassiveAggressive")
ONLINE = (*LINEAR, "Perceptron", "VotedPerceptron")
KERNELS = ("Energy", "Gaussian", "InverseMultiquadric", "Laplace", "Matern32", "Matern52", "Stein")


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def points() -> Any:
    return _rng().normal(size=(20, 3))


def spins() -> Any:
    return (_rng().random((30, 4)) < 0.5).astype(np.int64)


def labels() -> Any:
    return np.arange(20) % 2


def weights() -> Any:
    return np.arange(1.0, 21.0)


def mixture() -> Any:
    return herder.GaussianMixture([[0.0, 0.0], [3.0, 1.0]], [np.eye(2), np.eye(2)])


def moments() -> Any:
    return herder.Moments.from_data(spins())


def model() -> Any:
    return herder.PairwiseModel.random(4)


def potts() -> Any:
    return herder.PottsModel.random(4)


def system() -> Any:
    return herder.EnumeratedSystem([[0, 0], [1, 0], [1, 1]], counts=[5, 3, 2])


def mean_of(states: Any) -> Any:
    return np.asarray(states).mean(axis=-1)


@cache
def shared(name: str) -> Any:
    """Return an object that its methods do not change."""
    made: dict[str, Callable[[], Any]] = {
        **{kind: partial(learnt, kind) for kind in ONLINE},
        "AROW full": lambda: herder.AROW(covariance="full").fit(points(), labels()),
        "AROW kernel": lambda: herder.AROW(kernel="rbf", covariance="full").fit(
            points(), labels()
        ),
        "AROW many": lambda: herder.AROW().fit(points(), np.arange(20) % 3),
        "machine": lambda: herder.BoltzmannMachine().fit(spins()),
        "rbm": lambda: herder.RBM(3, n_epochs=2).fit(spins()),
        "rbm model": lambda: herder.RBMModel(np.ones((3, 2))),
        "discriminative": lambda: herder.DiscriminativeRBM(3, max_iter=2).fit(points(), labels()),
        "herder": lambda: herder.MomentHerder().fit(spins()),
        "hidden": lambda: herder.HiddenHerder(3, n_steps=20).fit(spins()),
        "conditional": lambda: herder.ConditionalHerder(2, max_iter=2).fit(points(), labels()),
        "boosted": lambda: herder.BoostedField(n_rounds=2).fit(points()),
        "boosted plane": lambda: herder.BoostedField(n_rounds=2).fit(points()[:, :2]),
        "boosted bits": lambda: herder.BoostedField(n_rounds=2).fit(spins()),
        "boosted classes": lambda: herder.BoostedClassifier(herder.BoostedField(n_rounds=2)).fit(
            points(), labels()
        ),
        "plane": lambda: herder.AROW().fit(points()[:, :2], labels()),
        "parametric": lambda: herder.ParametricHerder(
            2, n_hidden=3, n_steps=5, n_tuning_steps=5
        ).fit(spins()),
        "thinning": lambda: herder.thin(points(), 5),
        "thinning of draws": lambda: herder.thin(points().reshape(2, 10, 3), 5),
        "sampling": lambda: herder.gibbs(model(), 20),
        "potts sampling": lambda: herder.herded_gibbs(potts(), 20),
        "kernel herder": lambda: herder.KernelHerder(4).fit(points()),
        "density": lambda: herder.herd_density(mixture(), 3),
        "herding": lambda: herder.kernel_herd(points(), 4),
        "moment herding": lambda: herder.moment_herd(moments(), 50),
        "exact": lambda: model().exact(),
        "check": lambda: shared("machine").check(spins(), n_samples=100),
        "scan": lambda: herder.check_scan_orders(model(), n_pieces=2, n_sweeps=50),
        "mixture": mixture,
        "batches": lambda: herder.MiniBatches(system(), [[0, 0], [1, 1]], batch_size=1, total=20),
        "average": lambda: herder.RunningAverage(lambda s: s).update(1),
        "errors": lambda: shared("thinning").column_errors(),
        "kernel mean": lambda: herder.KernelMean(lambda x: x[:, 0]),
        "moments": moments,
        "synthesis": lambda: shared("herder").synthesise(40),
        "model": model,
        "potts": potts,
        "system": system,
    }
    return made[name]()


def learnt(kind: str) -> Any:
    return getattr(herder, kind)(max_iter=1).fit(points(), labels())


def made(synthesis: Any) -> Any:
    list(synthesis.chunks())
    return synthesis.summary()


def taken(iterator: Any) -> Any:
    return list(itertools.islice(iterator, 5))


def _defaults(function: Any) -> dict[str, Any]:
    return {
        name: None if one.default is one.empty else one.default
        for name, one in inspect.signature(function).parameters.items()
        if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL) and name != "self"
    }


def plain(function: Any, /, *, end: Any = None, **given: Any) -> Any:
    """Return what makes the call of a function; ``given`` are made anew if they are callables."""

    def make() -> Call:
        known = _defaults(function)
        values = {name: _fresh(value) for name, value in given.items()}
        left_out = {
            name
            for name, one in inspect.signature(function).parameters.items()
            if one.default is one.empty
        } - set(values)
        arguments = {k: v for k, v in (known | values).items() if k not in left_out}
        return Call(function if end is None else lambda **kw: end(function(**kw)), arguments)

    return make


def method(name: str, method_name: str, /, *, fresh: bool = False, **given: Any) -> Any:
    """Return what makes the call of a method of a shared object, or of a copy of it."""

    def make() -> Call:
        one = copy.deepcopy(shared(name)) if fresh else shared(name)
        return plain(getattr(one, method_name), **given)()

    return make


def fitted(cls: str, method_name: str = "fit", /, **given: Any) -> Any:
    """Return what makes the call of a class and then of the method that validates for it."""

    def make() -> Call:
        kind = getattr(herder, cls)
        params = _defaults(kind) | {
            k: v() if callable(v) else v for k, v in given.items() if k in _defaults(kind)
        }
        rest = {k: _fresh(v) for k, v in given.items() if k not in params}

        def call(**kw: Any) -> Any:
            one = kind(**{k: v for k, v in kw.items() if k in params})
            return getattr(one, method_name)(**{k: v for k, v in kw.items() if k not in params})

        return Call(call, params | rest)

    return make


class Same(NamedTuple):
    """A callable that is itself the argument."""

    value: Any


def _fresh(value: Any) -> Any:
    if isinstance(value, Same):
        return value.value
    return value() if callable(value) else value


@cache
def folder() -> Path:
    """Return a folder that is removed when the process ends."""
    made = tempfile.TemporaryDirectory()
    atexit.register(made.cleanup)
    return Path(made.name)


def in_folder(
    function: Any, /, *, suffix: str = ".bin", write: Any = None, **given: Any
) -> Callable[[], Call]:
    """Return what makes the call of a function with the path of a file."""

    def make() -> Call:
        path = folder() / f"it{suffix}"
        if write is not None:
            write(path)
        return Call(function, {"path": path} | {k: _fresh(v) for k, v in given.items()})

    return make


#: A table that `MomentHerder.fit_source` reads.
TABLE = Path(__file__).parents[1] / "golden" / "files_0_1_0" / "moments-weights.csv"

RUN: dict[str, Any] = {
    **{"n_chains": 1, "burn_in": 0, "thinning": 1, "keep": True, "start": lambda: [1, -1, 1, -1]},
    **{"pairs": "all", "functions": Same(mean_of), "resume": None, "n_jobs": 1, "progress": None},
}
POTTS_RUN = RUN | {"start": lambda: [0, 1, 2, 0]}
EDGES: dict[str, Any] = {"edges": lambda: [[0, 1], [1, 2]], "weights": lambda: [0.5, -1.0]}


def picture() -> tuple[np.ndarray, np.ndarray]:
    """An image of a square and its trimap."""
    image = np.full((24, 24, 3), 40, np.uint8)
    image[6:18, 6:18] = 200
    trimap = np.full((24, 24), 128, np.uint8)
    trimap[:3], trimap[10:14, 10:14] = 0, 255
    return image, trimap


def segmented() -> Any:
    return segment(*picture())


def _calls() -> dict[str, Callable[[], Call]]:
    X, y, w, S = points, labels, weights, spins
    calls: dict[str, Any] = {
        # the loop
        "herd": plain(
            herder.herd,
            end=taken,
            system=system,
            weights=lambda: [0, 0],
            rates=lambda: [1, 1],
            state=0,
        ),
        "herd, floats": plain(
            herder.herd,
            end=taken,
            system=lambda: herder.EnumeratedSystem([[0, 0], [1, 0], [1, 1]], [0.5, 0.2]),
            weights=lambda: [0.1, 0.2],
            rates=lambda: [1.0, 0.5],
            max_norm=100.0,
        ),
        "EnumeratedSystem": plain(
            herder.EnumeratedSystem,
            features=lambda: [[0, 0], [1, 0], [1, 1]],
            target=lambda: [0.5, 0.2],
        ),
        "EnumeratedSystem, counts": plain(
            herder.EnumeratedSystem,
            features=lambda: [[0, 0], [1, 0], [1, 1]],
            counts=lambda: [5, 3, 2],
        ),
        "EnumeratedSystem, probabilities": plain(
            herder.EnumeratedSystem,
            features=lambda: [[0, 0], [1, 0], [1, 1]],
            probabilities=lambda: [0.5, 0.3, 0.2],
        ),
        "EnumeratedSystem.scores": method("system", "scores", weights=lambda: np.array([1, 2])),
        "EnumeratedSystem.tipi": method("system", "tipi", weights=lambda: [1, 2]),
        "MiniBatches": plain(
            herder.MiniBatches,
            system=system,
            rows=lambda: [[0, 0], [1, 1], [1, 0]],
            batch_size=2,
            total=30,
            end=lambda one: taken(herder.herd(one, [0, 0])),
        ),
        "MiniBatches.target": method("batches", "target", t=1),
        "NeuronSystem": plain(
            herder.NeuronSystem, rate=0.3, end=lambda one: taken(herder.herd(one, one.start()))
        ),
        "ContrastiveSystem": plain(
            herder.ContrastiveSystem,
            system=system,
            rows=lambda: [0, 1, 1],
            end=lambda one: taken(herder.herd(one, [-1, 3])),
        ),
        "RunningAverage": plain(
            herder.RunningAverage,
            function=Same(lambda s: [s == 0]),
            end=lambda one: one.update(0).update(1).value,
        ),
        "RunningAverage.update": lambda: plain(
            herder.RunningAverage(lambda s: s).update,
            state=lambda: np.array([1.0, 2.0]),
            end=lambda one: one.value,
        )(),
        "RunningAverage.merge": method(
            "average",
            "merge",
            other=lambda: herder.RunningAverage(lambda s: s).update(2),
            end=lambda one: one.value,
        ),
        "moment_error": plain(
            core.moment_error,
            start=lambda: [0.0, 0.0],
            weights=lambda: [1.0, 2.0],
            t=5,
            rates=lambda: [1.0, 2.0],
        ),
        "fit_rate": plain(
            core.fit_rate, t=lambda: [1, 2, 4, 8], error=lambda: [1.0, 0.5, 0.3, 0.1]
        ),
        "growth": plain(
            core.growth, t=lambda: [1, 2, 4, 8], weight_norm=lambda: [1.0, 1.5, 1.3, 1.1]
        ),
        "pct_violations": plain(
            core.pct_violations, steps=lambda: taken(herder.herd(system(), [0, 0]))
        ),
        "weight_norms": plain(
            core.weight_norms, steps=lambda: taken(herder.herd(system(), [0, 0]))
        ),
        "explain_growth": plain(
            core.explain_growth,
            found=lambda: core.growth([1, 2, 4, 8], [1.0, 2.0, 4.0, 8.0]),
            weights=lambda: [1.0, 2.0],
            target=lambda: [0.5, 0.2],
            features=lambda: [0, 1],
            exact=lambda: [1, 1],
            known=lambda: [1, 0],
        ),
        "common_total": plain(core.common_total, totals=lambda: [2, 3, 4]),
        "to_units": plain(core.to_units, probabilities=lambda: [0.5, 0.25], total=4),
        "from_units": plain(core.from_units, units=lambda: np.array([2, 1]), total=4),
        "round_to_units": plain(core.round_to_units, values=lambda: [0.3, 0.7]),
        "norm": plain(core.norm, weights=lambda: np.array([1, 2])),
        "check_system": plain(
            testing.check_system,
            system=system,
            weights=lambda: [0, 0],
            exact=True,
            n_steps=10,
            rates=lambda: [1, 1],
        ),
        # thinning
        "thin": plain(herder.thin, X=X, n_select=4),
        "thin, weighted": plain(herder.thin, X=X, n_select=4, sample_weight=w, weights="simplex"),
        "thin, labels": plain(herder.thin, X=X, n_select=4, y=y, allocation=lambda: {0: 2, 1: 2}),
        "thin, optimal": plain(
            herder.thin, X=X, n_select=4, weights="optimal", bandwidth=lambda: [1.0, 2.0, 3.0]
        ),
        "thin, stein": plain(
            herder.thin, X=X, n_select=4, kernel="stein", score=lambda: -points()
        ),
        "thin, chosen": plain(
            herder.thin,
            X=X,
            n_select=4,
            include=lambda: [1],
            exclude=lambda: [2, 3],
            log_weight=lambda: np.zeros(20),
            refine=False,
        ),
        "thin, target": plain(herder.thin, X=X, n_select=4, kernel_mean=lambda: np.full(20, 0.5)),
        "thin, approximate": plain(herder.thin, X=X, n_select=4, approximate="chunks"),
        "Chunks": plain(
            herder.Chunks, n_chunks=2, end=lambda one: herder.thin(points(), 4, approximate=one)
        ),
        "Subsample": plain(
            herder.Subsample,
            n_candidates=10,
            end=lambda one: herder.thin(points(), 4, kernel="gaussian", approximate=one),
        ),
        "RandomFeatures": plain(
            herder.RandomFeatures,
            n_features=8,
            n_candidates=10,
            end=lambda one: herder.thin(points(), 4, kernel="gaussian", approximate=one),
        ),
        "Thinning.summary": method("thinning", "summary"),
        "Thinning.take": method("thinning", "take", table=X),
        "Thinning.column_errors": method("thinning", "column_errors"),
        "Thinning.locate": method("thinning of draws", "locate"),
        "Thinning.herded_path": method("thinning", "herded_path"),
        "ColumnErrors.worst": method("errors", "worst", n=1),
        "ColumnErrors.table": method("errors", "table", n=1),
        "KernelHerder.fit": fitted(
            "KernelHerder", n_select=lambda: 4, X=X, y=None, sample_weight=None
        ),
        "KernelHerder.transform": method("kernel herder", "transform", X=X),
        "KernelHerder.get_feature_names_out": method("kernel herder", "get_feature_names_out"),
        "kernel_herd": plain(herder.kernel_herd, X=X, n_select=4),
        "kernel_herd, weighted": plain(
            herder.kernel_herd, X=X, n_select=4, sample_weight=w, n_jobs=1
        ),
        "kernel_herd, target": plain(
            herder.kernel_herd, X=X, n_select=4, kernel_mean=lambda: np.full(20, 0.5)
        ),
        "kernel_herd, resumed": plain(
            herder.kernel_herd, X=X, n_select=4, resume=lambda: shared("herding")
        ),
        "kernel_mean": plain(herder.kernel_mean, X=X, at=lambda: points()[:4], sample_weight=w),
        "mmd": plain(
            herder.mmd, X=X, Y=lambda: points()[:7], x_weight=w, y_weight=lambda: np.ones(7)
        ),
        "mmd, stein": plain(herder.mmd, X=X, kernel="stein", score=lambda: -points()),
        "median_bandwidth": plain(herder.median_bandwidth, X=X),
        "herd_density": plain(herder.herd_density, target=mixture, n_select=3),
        "herd_density, places": plain(
            herder.herd_density,
            target=mixture,
            n_select=3,
            bandwidth=lambda: [1.0, 2.0],
            auxiliary=lambda: [[0.0, 0.0], [1.0, 1.0]],
        ),
        "herd_density, function": plain(
            herder.herd_density,
            target=lambda: herder.KernelMean(
                lambda x: np.exp(-(x**2).sum(axis=1)), bounds=[[-2, 2], [-2, 2]]
            ),
            n_select=2,
            bandwidth=1.0,
        ),
        "herd_density, resumed": plain(
            herder.herd_density, target=mixture, n_select=3, resume=lambda: shared("density")
        ),
        "KernelMean": plain(
            herder.KernelMean,
            function=Same(lambda x: np.exp(-(x**2).sum(axis=1))),
            gradient=Same(lambda x: -2 * x * np.exp(-(x**2).sum(axis=1))[:, None]),
            squared_norm=0.5,
            bounds=lambda: [[-2.0, 2.0], [-1.0, 1.0]],
            end=lambda one: herder.herd_density(one, 2, bandwidth=1.0),
        ),
        "KernelMean.mean": method("kernel mean", "mean", points=X),
        "GaussianMixture": plain(
            herder.GaussianMixture,
            means=lambda: [[0.0, 0.0], [3.0, 1.0]],
            covariances=lambda: [np.eye(2), np.eye(2)],
            weights=lambda: [0.5, 0.5],
        ),
        "GaussianMixture.from_sklearn": plain(
            herder.GaussianMixture.from_sklearn, model=_sklearn_mixture
        ),
        **{
            f"GaussianMixture.{name}": method("mixture", name, points=lambda: points()[:, :2])
            for name in ("density", "log_density", "score")
        },
        **{
            f"GaussianMixture.{name}": method(
                "mixture", name, points=lambda: points()[:, :2], bandwidth=1.0
            )
            for name in ("kernel_mean", "kernel_mean_gradient")
        },
        **{
            f"GaussianMixture.{name}": method("mixture", name, bandwidth=1.0)
            for name in ("kernel_bumps", "kernel_norm")
        },
        "GaussianMixture.moment": method("mixture", "moment", order=2),
        "GaussianMixture.quasi_sample": method("mixture", "quasi_sample", n_samples=5),
        "GaussianMixture.sample": method("mixture", "sample", n_samples=5),
        **{
            kind: plain(
                getattr(herder, kind),
                bandwidth=1.0,
                end=lambda one, wide=kind == "Stein": one(
                    *[np.hstack([points(), points()]) if wide else points()] * 2
                ),
            )
            for kind in KERNELS
        },
        **{
            f"{kind}, on rows": lambda kind=kind: Call(
                lambda A, B: getattr(herder, kind)()(A, B), {"A": points(), "B": points()}
            )
            for kind in KERNELS
            if kind != "Stein"
        },
        # online learners
        **{
            f"{kind}.fit": fitted(kind, max_iter=lambda: 1, X=X, y=y, sample_weight=w)
            for kind in ONLINE
        },
        **{
            f"{kind}.partial_fit": method(
                kind, "partial_fit", fresh=True, X=X, y=y, sample_weight=w
            )
            for kind in ONLINE
        },
        **{
            f"{kind}.partial_fit, first": fitted(
                kind, "partial_fit", X=X, y=y, classes=lambda: [0, 1], sample_weight=None
            )
            for kind in ("AROW", "VotedPerceptron")
        },
        "AROW.fit, kernel": fitted(
            "AROW",
            max_iter=lambda: 1,
            kernel=lambda: "rbf",
            covariance=lambda: "full",
            budget=lambda: 10,
            X=X,
            y=y,
            sample_weight=w,
        ),
        "AROW.fit, full": fitted(
            "AROW", max_iter=lambda: 1, covariance=lambda: "full", X=X, y=y, sample_weight=w
        ),
        "AROW.fit, many": fitted(
            "AROW",
            max_iter=lambda: 1,
            X=X,
            y=lambda: np.arange(20) % 3,
            sample_weight=w,
            class_weight=lambda: "balanced",
        ),
        "AROW.fit, early": fitted(
            "AROW",
            max_iter=lambda: 2,
            early_stopping=lambda: True,
            average=lambda: True,
            forget=lambda: 0.1,
            X=X,
            y=y,
            sample_weight=w,
        ),
        **{
            f"{kind}.{name}": method(kind, name, X=X)
            for kind in (*ONLINE, "AROW full", "AROW kernel", "AROW many")
            for name in ("predict", "predict_proba", "decision_function", "decision_variance")
            if hasattr(getattr(herder, kind.split()[0]), name)
        },
        **{
            f"{kind}.score": method(kind, "score", X=X, y=y)
            for kind in ("AROW", "VotedPerceptron")
        },
        "AROW.summary": method("AROW", "summary"),
        "AROW.memory": method("AROW", "memory", n_features=3, n_classes=2),
        "AROW.widen": method("AROW", "widen", fresh=True, n_features=5),
        "merge_classifiers": plain(
            herder.merge_classifiers, models=lambda: [shared("AROW"), shared("AROW")]
        ),
        "hash_features": plain(herder.hash_features, rows=lambda: ["a b", "c"], n_features=64),
        "hash_features, records": plain(
            herder.hash_features, rows=lambda: [{"a": 1.0, "b": "x"}, {"c": 2}], n_features=64
        ),
        "hash_features, tokens": plain(
            herder.hash_features, rows=lambda: [["a", "b"], ["c"]], n_features=64
        ),
        "for_river": plain(
            herder.for_river, estimator=lambda: herder.NHERD(), classes=lambda: [0, 1]
        ),
        **{f"river.{name}": partial(_river, name) for name in RIVER},
        # moments
        "Moments.from_data": plain(
            herder.Moments.from_data,
            X=S,
            sample_weight=lambda: np.ones(30),
            cliques=lambda: [[0, 1], [2]],
        ),
        "Moments.from_codes": plain(
            herder.Moments.from_codes,
            codes=lambda: encode(spins()),
            sample_weight=lambda: np.ones(30),
        ),
        "Moments.from_chunks": plain(
            herder.Moments.from_chunks, chunks=lambda: [spins(), spins()]
        ),
        "Moments.from_counts": plain(
            herder.Moments.from_counts,
            counts=lambda: [[5, 2, 1], [2, 6, 3], [1, 3, 4]],
            total=10,
            names=lambda: ["a", "b", "c"],
        ),
        "Moments.from_counts, table": plain(
            herder.Moments.from_counts,
            counts=lambda: {
                "variable_a": ["a", "b", "a"],
                "variable_b": ["a", "b", "b"],
                "count": [5, 6, 2],
                "total": [10, 10, 10],
            },
        ),
        "Moments.merge": plain(lambda parts: moments().merge(parts), parts=moments),
        "Moments.given": method("moments", "given", where=lambda: {"x0": 1}),
        "Moments.index_of": method("moments", "index_of", clique=lambda: [0, 1]),
        "Moments.table": method("moments", "table", clique=lambda: [0, 1]),
        "Moments.probabilities": method("moments", "probabilities"),
        "Moments.contradictions": method("moments", "contradictions"),
        "Moments.small_cells": method("moments", "small_cells", min_count=lambda: 3),
        "Moments.merge_small": method("moments", "merge_small", min_count=lambda: 1),
        "Moments.rounded": method("moments", "rounded", base=lambda: 2),
        "Moments.save": in_folder(lambda path: moments().save(path), suffix=".csv"),
        "Moments.load": in_folder(
            herder.Moments.load,
            suffix=".csv",
            write=lambda path: moments().save(path),
            contradictions="error",
        ),
        "find_contradictions": plain(find_contradictions, moments=moments),
        "Variable": plain(Variable, name="a", values=lambda: (0, 1)),
        "encode": plain(encode, X=S),
        "decode": plain(decode, rows=S, variables=lambda: moments().variables),
        "moment_herd": plain(
            herder.moment_herd,
            moments=moments,
            n_steps=20,
            encoding="auto",
            restarts="auto",
            rows=S,
            scan=lambda: [0, 1, 2, 3],
            rates=None,
            start_weights=None,
            max_sweeps=0,
        ),
        "moment_herd, resumed": plain(
            herder.moment_herd,
            moments=moments,
            n_steps=20,
            resume=lambda: shared("moment herding"),
        ),
        "MomentHerd": plain(fields.MomentHerd, moments=moments),
        "PatchTables": plain(
            herder.PatchTables, sites=lambda: [[0, 1], [1, 2]], tables=lambda: np.ones((2, 2, 2))
        ),
        "PatchTables, differ": plain(
            herder.PatchTables, sites=lambda: [[0, 1]], tables=lambda: [0.2], match="differ"
        ),
        "herd_marginals": plain(
            herder.herd_marginals,
            marginals=lambda: {("a", "b"): [[1, 2], [3, 4]], "a": [0.5, 0.5]},
            n_steps=20,
            rates=lambda: {"a": 2.0},
            maximiser="cut",
            progress=None,
        ),
        "herd_marginals, patches": plain(
            herder.herd_marginals,
            marginals=lambda: {
                "pairs": herder.PatchTables([[0, 1], [1, 2]], [0.1, 0.7], "differ")
            },
            n_steps=20,
            rates=lambda: {"pairs": [1.0, 3.0]},
        ),
        "MomentHerder.fit": fitted("MomentHerder", X=S, y=None, sample_weight=lambda: np.ones(30)),
        "MomentHerder.fit, sample": lambda: _then(
            fitted("MomentHerder", X=S)(), lambda one: one.sample(10)
        ),
        "MomentHerder.fit, bins": fitted("MomentHerder", bins=lambda: 3, X=X),
        "MomentHerder.fit_moments": fitted("MomentHerder", "fit_moments", moments=moments),
        "MomentHerder.fit_source": fitted(
            "MomentHerder", "fit_source", source=lambda: open_table(TABLE), max_memory=2**24
        ),
        "MomentHerder.sample": method("herder", "sample", n_samples=10, where=lambda: {"x0": 1}),
        "MomentHerder.herd": method("herder", "herd", n_samples=10),
        "MomentHerder.average": method("herder", "average", function=Same(mean_of), n_samples=10),
        "MomentHerder.start": method("herder", "start"),
        "MomentHerder.stream": method("herder", "stream", end=taken),
        "MomentHerder.synthesise": method(
            "herder", "synthesise", n_samples=20, where=lambda: {"x0": 1}, count_above=1, end=made
        ),
        "MomentHerder.synthesise, counted": method(
            "herder", "synthesise", n_samples=20, count_cells=True, end=made
        ),
        "Moments": lambda: _then(
            Call(
                herder.Moments,
                {
                    name: getattr(moments(), name)
                    for name in (
                        "variables",
                        "cliques",
                        "counts",
                        "totals",
                        "from_rows",
                        "conflicts",
                    )
                },
            ),
            lambda one: herder.moment_herd(one, 5),
        ),
        "MomentDiagnostics.summary": plain(lambda: shared("moment herding").diagnostics.summary()),
        "Position.load": in_folder(
            herder.Position.load, write=lambda path: shared("moment herding").position.save(path)
        ),
        "Position.save": in_folder(lambda path: shared("moment herding").position.save(path)),
        "count_bounds": plain(herder.count_bounds, moments=moments),
        "expectation_bounds": plain(
            herder.expectation_bounds, moments=moments, function=Same(mean_of)
        ),
        "count_estimate": plain(herder.count_estimate, moments=moments, n_steps=50),
        "estimate_expectation": plain(
            herder.estimate_expectation, moments=moments, function=Same(np.mean), n_steps=50
        ),
        # models
        "PairwiseModel": plain(
            herder.PairwiseModel,
            couplings=lambda: np.zeros((3, 3)),
            biases=lambda: [0.0, 1.0, 2.0],
            names=lambda: ["a", "b", "c"],
        ),
        "PairwiseModel.from_edges": plain(
            herder.PairwiseModel.from_edges, n_sites=3, biases=lambda: [0.0, 1.0, 2.0], **EDGES
        ),
        "PairwiseModel.from_dimod": plain(
            herder.PairwiseModel.from_dimod, quadratic=lambda: model().to_dimod()
        ),
        "PairwiseModel.from_networkx": plain(
            herder.PairwiseModel.from_networkx, graph=lambda: model().to_networkx()
        ),
        "PairwiseModel.grid": plain(herder.PairwiseModel.grid, shape=lambda: (2, 3)),
        "PairwiseModel.random": plain(herder.PairwiseModel.random, n_sites=4),
        "PottsModel": plain(
            herder.PottsModel,
            couplings=lambda: np.zeros((3, 3)),
            fields=lambda: np.zeros((3, 3)),
            names=lambda: ["a", "b", "c"],
        ),
        "PottsModel.grid": plain(herder.PottsModel.grid, shape=lambda: (2, 3)),
        "PottsModel.random": plain(herder.PottsModel.random, n_sites=4),
        **{
            f"{kind}.{name}": method(kind, name, **given)
            for kind, x in (("model", [1, -1, 1, 1]), ("potts", [0, 1, 2, 0]))
            for name, given in {
                **{"at_temperature": {"temperature": 2.0}, "exact": {}},
                **{
                    one: {"x": lambda x=x: [x, x]}
                    for one in ("codes", "conditional", "energy", "log_prob")
                },
                **{one: {"evidence": lambda: {0: 1}} for one in ("given", "read_evidence")},
            }.items()
        },
        "PairwiseModel.to_states": method("model", "to_states", states=lambda: (0, 1)),
        "PairwiseModel.summary": method("model", "summary"),
        "PairwiseModel.to_dimod": method("model", "to_dimod"),
        "PairwiseModel.to_networkx": method("model", "to_networkx"),
        "Exact.log_prob": method("exact", "log_prob", model=model, x=lambda: [[1, -1, 1, 1]]),
        "exact_samples": plain(herder.exact_samples, model=model, n_samples=3),
        # samplers
        "gibbs": plain(herder.gibbs, model=model, n_sweeps=8, **RUN),
        "gibbs, potts": plain(
            herder.gibbs, model=potts, n_sweeps=8, evidence=lambda: {0: 1}, **POTTS_RUN
        ),
        "gibbs, tempered": plain(
            herder.gibbs, model=model, n_sweeps=8, temperatures=lambda: [1.0, 2.0]
        ),
        "gibbs, resumed": plain(
            herder.gibbs, model=model, n_sweeps=8, resume=lambda: shared("sampling")
        ),
        "herded_gibbs": plain(
            herder.herded_gibbs, model=model, n_sweeps=8, evidence=lambda: {0: 1}, **RUN
        ),
        "herded_gibbs, potts": plain(
            herder.herded_gibbs, model=potts, n_sweeps=8, order=lambda: [0, 1, 2, 3], **POTTS_RUN
        ),
        "swendsen_wang": plain(
            herder.swendsen_wang, model=model, n_sweeps=8, evidence=lambda: {0: 1}, **RUN
        ),
        "stream": plain(
            samplers.stream, model=model, start=lambda: [1, 1, 1, 1], random_state=0, end=taken
        ),
        "scan_order": plain(samplers.scan_order, model=model, order="sequential"),
        "SamplingPosition.load": in_folder(
            samplers.SamplingPosition.load,
            write=lambda path: shared("sampling").position.save(path),
        ),
        "SamplingPosition.save": in_folder(lambda path: shared("sampling").position.save(path)),
        "Sampling.summary": method("sampling", "summary", shape=lambda: (2, 2)),
        "Sampling.table": method("sampling", "table"),
        "Sampling.to_arviz": method("sampling", "to_arviz"),
        "log_partition": plain(
            herder.log_partition, model=model, method="ais", n_chains=3, n_temperatures=5
        ),
        "log_partition, exact": plain(herder.log_partition, model=potts),
        "loopy_bp": plain(herder.loopy_bp, model=model, max_iter=20, damping=0.1, tol=1e-6),
        "loopy_bp, Potts": plain(herder.loopy_bp, model=potts),
        "check_scan_orders": plain(herder.check_scan_orders, model=model, n_pieces=1, n_sweeps=10),
        # learning
        "BoltzmannMachine.fit": fitted(
            "BoltzmannMachine", max_iter=lambda: 20, X=S, y=None, sample_weight=lambda: np.ones(30)
        ),
        **{
            f"BoltzmannMachine.fit, {how}": fitted(
                "BoltzmannMachine",
                method=lambda how=how: how,
                max_iter=lambda: 50,
                alpha=lambda: 0.1,
                n_epochs=lambda: 2,
                n_particles=lambda: 5,
                X=S,
                sample_weight=None,
            )
            for how in ("ml", "cd", "pcd")
        },
        "BoltzmannMachine.fit, cv": fitted(
            "BoltzmannMachine",
            alpha=lambda: "cv",
            alphas=lambda: [0.1, 1.0],
            cv=lambda: 2,
            max_iter=lambda: 5,
            X=S,
        ),
        "BoltzmannMachine.partial_fit": method(
            "machine", "partial_fit", fresh=True, X=S, sample_weight=lambda: np.ones(30)
        ),
        **{
            f"BoltzmannMachine.{name}": method("machine", name, X=S)
            for name in ("conditional", "impute", "pseudo_likelihood", "score", "score_samples")
        },
        "BoltzmannMachine.check": method(
            "machine", "check", X=S, n_samples=50, sample_weight=lambda: np.ones(30)
        ),
        "BoltzmannMachine.sample": method("machine", "sample", n_samples=3),
        **{
            f"RBM.fit, {how}": fitted(
                "RBM",
                n_hidden=lambda: 3,
                method=lambda how=how: how,
                n_epochs=lambda: 2,
                batch_size=lambda: 5,
                X=S,
                y=None,
            )
            for how in ("cd", "pcd", "herding")
        },
        "RBM.partial_fit": method("rbm", "partial_fit", fresh=True, X=S),
        **{
            f"RBM.{name}": method("rbm", name, X=S)
            for name in ("transform", "free_energy", "score_samples", "score", "conditional")
        },
        "RBM.sample": method("rbm", "sample", n_samples=3),
        "DiscriminativeRBM.fit": fitted(
            "DiscriminativeRBM",
            n_hidden=lambda: 3,
            max_iter=lambda: 2,
            batch_size=lambda: 5,
            X=X,
            y=labels,
        ),
        "ConditionalHerder.fit": fitted(
            "ConditionalHerder",
            n_hidden=lambda: 3,
            max_iter=lambda: 2,
            batch_size=lambda: 5,
            X=X,
            y=labels,
        ),
        "ConditionalHerder.partial_fit": method(
            "conditional", "partial_fit", fresh=True, X=X, y=labels, classes=None
        ),
        **{
            f"ConditionalHerder.{name}": method("conditional", name, X=X)
            for name in ("predict", "predict_proba")
        },
        **{
            f"BoostedField.fit, {how}": fitted(
                "BoostedField",
                features=lambda how=how: how,
                n_rounds=lambda: 2,
                X=S if how == "rbm" else X,
                y=None,
            )
            for how in ("rbm", "dimple", "tree")
        },
        **{
            f"BoostedField.{name}, {kind}": method(kind, name, X=S if "bits" in kind else X)
            for name in ("energy", "score_samples", "score", "decision_function", "predict")
            for kind in ("boosted", "boosted bits")
        },
        "BoostedField.staged_energy": method("boosted", "staged_energy", X=X, end=list),
        **{
            f"BoostedField.sample, {kind}": method(kind, "sample", n_samples=3)
            for kind in ("boosted", "boosted bits")
        },
        "BoostedClassifier.fit": fitted(
            "BoostedClassifier",
            field=lambda: herder.BoostedField(n_rounds=2),
            X=X,
            y=labels,
        ),
        **{
            f"BoostedClassifier.{name}": method("boosted classes", name, X=X)
            for name in ("predict", "predict_proba", "decision_function")
        },
        **{
            name: plain(
                getattr(herder, name),
                end=lambda family: (
                    herder.BoostedField(family, n_rounds=1).fit(spins()).energy(S())
                ),
            )
            for name in ("RBMFeatures", "DimpleFeatures", "TreeFeatures")
        },
        **{
            f"DiscriminativeRBM.{name}": method("discriminative", name, X=X)
            for name in ("predict", "predict_proba", "predict_log_proba")
        },
        **{
            f"{name}.fit": fitted(name, n_hidden=lambda: 3, n_steps=lambda: 9, X=S, y=None)
            for name in ("HiddenHerder", "ParametricHerder")
        },
        "HiddenHerder.transform": method("hidden", "transform", X=S),
        **{
            f"HiddenHerder.sample, {how}": method(
                "hidden", "sample", n_samples=3, drive=lambda how=how: how
            )
            for how in ("rows", "rates")
        },
        "ParametricHerder.sample": method("parametric", "sample", n_samples=3),
        "ParametricHerder.errors": method("parametric", "errors", X=S, n_steps=3),
        "RBMModel": plain(
            herder.RBMModel,
            couplings=lambda: np.zeros((3, 2)),
            visible_biases=lambda: np.zeros(3),
            hidden_biases=lambda: np.zeros(2),
            states=lambda: (0, 1),
        ),
        "RBMModel.free_energy": method(
            "rbm model", "free_energy", visible=lambda: np.ones((2, 3))
        ),
        "RBMModel.energy": method(
            "rbm model",
            "energy",
            visible=lambda: np.ones((2, 3)),
            hidden=lambda: np.ones((2, 2)),
        ),
        "FitCheck.show": method("check", "show", part=lambda: shared("check").means),
        # files
        "save": in_folder(herder.save, model=lambda: shared("AROW"), meta=lambda: {"a": 1}),
        "load": in_folder(herder.load, write=lambda path: herder.save(shared("AROW"), path)),
        # metrics, data sets, plots
        "count_distribution": plain(metrics.count_distribution, X=S),
        "kl_divergence": plain(
            metrics.kl_divergence, p=lambda: [0.5, 0.5], q=lambda: [0.25, 0.75]
        ),
        "total_variation": plain(
            metrics.total_variation, p=lambda: [0.5, 0.5], q=lambda: [0.25, 0.75]
        ),
        "load_digits_binary": plain(datasets.load_digits_binary),
        "load_breast_cancer_binary": plain(datasets.load_breast_cancer_binary),
        "make_banana": plain(datasets.make_banana, n_rows=5),
        "make_lithuanian": plain(datasets.make_lithuanian, n_rows=5),
        "plot_convergence": plain(
            plots.plot_convergence, errors=lambda: {"a": ([1, 2, 4], [1.0, 0.5, 0.2])}, end=drawn
        ),
        "plot_scan_report": plain(
            plots.plot_scan_report, report=lambda: shared("scan"), end=drawn
        ),
        "plot_tipi": plain(
            plots.plot_tipi,
            system=system,
            steps=lambda: taken(herder.herd(system(), [0, 0])),
            start=lambda: [0.0, 0.0],
            labels=lambda: ["a", "b", "c"],
            end=drawn,
        ),
        "plot_images": plain(plots.plot_images, rows=lambda: np.eye(4), end=drawn),
        "plot_training": plain(
            plots.plot_training, model=lambda: shared("conditional"), end=drawn
        ),
        "plot_boundary": plain(
            plots.plot_boundary,
            classifier=lambda: shared("plane"),
            X=lambda: points()[:, :2],
            y=labels,
            end=drawn,
        ),
        "plot_filters": plain(plots.plot_filters, machine=lambda: shared("rbm"), end=drawn),
        "plot_couplings": plain(plots.plot_couplings, model=model, truth=model, end=drawn),
        "plot_energies": plain(
            plots.plot_energies, energies=lambda: {"a": [1.0, 2.0, 1.5]}, exact=1.2, end=drawn
        ),
        "plot_sampling": plain(
            plots.plot_sampling,
            sampling=lambda: shared("sampling"),
            exact=lambda: shared("exact"),
            shape=lambda: (2, 2),
            end=drawn,
        ),
        "plot_state": plain(
            plots.plot_state,
            shape=lambda: (2, 2),
            x=lambda: [[0, 1, 1, 0]],
            titles=lambda: ["a"],
            end=drawn,
        ),
        "plot_agreement": plain(plots.plot_agreement, target=moments, reached=moments, end=drawn),
        "plot_count_distribution": plain(
            plots.plot_count_distribution,
            distributions=lambda: {"a": [0.2, 0.5, 0.3]},
            bars="a",
            end=drawn,
        ),
        "plot_marginal_distance": plain(
            plots.plot_marginal_distance,
            result=lambda: herder.herd_marginals({("a", "b"): [[1, 2], [3, 4]]}, 20),
            end=drawn,
        ),
        "plot_segmentation": plain(plots.plot_segmentation, result=segmented, end=drawn),
        "plot_territory": plain(
            plots.plot_territory, found=lambda: go.territory(np.zeros((19, 19))), end=drawn
        ),
        "plot_neuron": plain(plots.plot_neuron, rate=0.6, n=5, w0=0.1, end=drawn),
        **{
            f"plot_{name}": plain(
                getattr(plots, f"plot_{name}"),
                result=lambda: study.attractor(*study.four_states(), n_steps=100),
                end=drawn,
            )
            for name in ("attractor", "cones", "tipi_surface")
        },
        "plot_bifurcation": plain(
            plots.plot_bifurcation,
            result=lambda: study.bifurcation(*study.four_states(), [0.5, 0.6]),
            end=drawn,
        ),
        "plot_mixing": plain(
            plots.plot_mixing, result=lambda: study.compare_mixing(model(), 300), end=drawn
        ),
        "plot_words": plain(
            plots.plot_words, result=lambda: study.split_words(*study.four_states(), 4), end=drawn
        ),
        "plot_moment_error": plain(
            plots.plot_moment_error,
            trace=lambda: shared("moment herding").diagnostics.trace,
            end=drawn,
        ),
        "plot_weight_norm": plain(
            plots.plot_weight_norm,
            trace=lambda: shared("moment herding").diagnostics.trace,
            end=drawn,
        ),
        "plot_calibration": plain(
            plots.plot_calibration,
            probabilities=lambda: {"a": np.linspace(0, 1, 20)},
            outcomes=y,
            end=drawn,
        ),
        "plot_progressive": plain(
            plots.plot_progressive,
            histories=lambda: {"a": [(1, 0.5), (2, 0.3)]},
            noise=0.1,
            end=drawn,
        ),
        "plot_update": plain(
            plots.plot_update,
            learners=lambda: {"a": herder.NHERD(covariance="full", fit_intercept=False)},
            end=drawn,
        ),
        "plot_weights": plain(
            plots.plot_weights,
            model=lambda: shared("AROW"),
            names=lambda: ["a", "b", "c"],
            end=drawn,
        ),
        "plot_density": plain(
            plots.plot_density,
            density=Same(lambda x: np.exp(-(x**2).sum(axis=1))),
            points=lambda: points()[:, :2],
            end=drawn,
        ),
        "plot_marginals": plain(
            plots.plot_marginals,
            X=X,
            picks=lambda: [1, 2],
            weights=lambda: [0.5, 0.5],
            sample_weight=w,
            names=lambda: ["a", "b", "c"],
            columns=lambda: [0, 1],
            end=drawn,
        ),
        "plot_picks": plain(
            plots.plot_picks,
            X=X,
            picks=lambda: [1, 2],
            weights=lambda: [0.5, 0.5],
            sample_weight=w,
            names=lambda: ["a", "b", "c"],
            end=drawn,
        ),
        "plot_mmd_path": plain(
            plots.plot_mmd_path,
            sizes=lambda: [1, 2, 3],
            mmd=lambda: [0.5, 0.2, 0.1],
            random=lambda: [0.6, 0.4, 0.3],
            final=lambda: (3, 0.1),
            end=drawn,
        ),
        "plot_boosted_rounds": plain(
            plots.plot_boosted_rounds, field=lambda: shared("boosted plane"), end=drawn
        ),
        "plot_boosted_density": plain(
            plots.plot_boosted_density,
            field=lambda: shared("boosted plane"),
            X=lambda: points()[:, :2],
            n_rounds=lambda: [1, 2],
            dimples=True,
            end=drawn,
        ),
        # applications, and the dynamics
        "segment": plain(segment, image=lambda: picture()[0], trimap=lambda: picture()[1]),
        "go.territory": plain(
            go.territory, board=lambda: np.zeros((19, 19)), move=lambda: 20, komi=lambda: 6.5
        ),
        "study.neuron": plain(study.neuron, rate=0.6, n=20, w0=0.1),
        "study.autocorrelation": plain(
            study.autocorrelation, states=lambda: np.arange(20) % 3, max_lag=3
        ),
        "study.bifurcation": plain(
            study.bifurcation,
            features=lambda: study.four_states()[0],
            moments=lambda: study.four_states()[1],
            temperatures=lambda: [0.5, 0.6],
        ),
        "study.attractor": plain(
            study.attractor,
            features=lambda: study.four_states()[0],
            moments=lambda: study.four_states()[1],
            n_steps=100,
        ),
        "make_spirals": plain(datasets.make_spirals, n_rows=5),
    }
    return calls


def drawn(figure: Any) -> Any:
    return figure


def _then(call: Call, end: Callable[[Any], Any]) -> Call:
    return Call(lambda **kw: end(call.function(**kw)), call.arguments)


def _sklearn_mixture() -> Any:
    from sklearn.mixture import GaussianMixture

    return GaussianMixture(2, random_state=0).fit(points())


def _table(a: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(a, columns=["a", "b", "c"])


RIVER = {
    "learn_one": {"x": lambda: {"a": 1.0, "b": 2.0}, "y": True, "w": 1.0},
    "predict_one": {"x": lambda: {"a": 1.0, "b": 2.0}},
    "predict_proba_one": {"x": lambda: {"a": 1.0, "b": 2.0}},
    "learn_many": {"X": lambda: _table(points()), "y": lambda: _table(points())["a"] > 0},
    "predict_many": {"X": lambda: _table(points())},
    "predict_proba_many": {"X": lambda: _table(points())},
}


def _river(name: str) -> Call:
    one = herder.for_river(herder.NHERD())
    one.learn_one({"a": 1.0, "b": -1.0}, True)
    one.learn_one({"a": -1.0, "b": 1.0}, False)
    return Call(getattr(one, name), {k: _fresh(v) for k, v in RIVER[name].items()})


CALLS = _calls()
