"""Files whose digest is right and whose content makes no sense: nothing but ModelFileError."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from scipy.sparse import csr_matrix

from herder import (
    NHERD,
    BoltzmannMachine,
    BoostedClassifier,
    BoostedField,
    GaussianMixture,
    KernelHerder,
    MomentHerder,
    PairwiseModel,
    ParameterError,
    PottsModel,
    VotedPerceptron,
    gibbs,
    herd_density,
    herded_gibbs,
    kernel_herd,
    swendsen_wang,
)
from herder.core.state import ModelFileError, read_file, write_file
from herder.io import load, save
from herder.samplers.sampling import ChainPosition
from tests.naming import refuses

rng = np.random.default_rng(4)
X = rng.normal(size=(60, 6))
LABELS = np.where(X[:, 0] > 0, "spam", "ham")
BITS = (rng.random((300, 5)) < 0.2 + 0.5 * rng.random((300, 1))).astype(np.int64)
ONE_ROW = X[:1].repeat(2, 0)
MIXTURE = GaussianMixture([[-3.0, 0.0], [3.0, 1.0]], 1.0, [0.6, 0.4])


def report(**changed):
    facts = {"method": "pl", "n_rows": 9.0, "n_distinct": 3, "n_parameters": 15, "n_couplings": 10}
    facts |= {"converged": True, "n_iter": 3, "gradient_norm": 0.1, "penalty": "l2", "alpha": 0.1}
    return {"report": {**facts, **changed}}


def facts(**changed):
    return {"model": {"offset": 0.0, "names": None, "states": [0, 1], **changed}}


MODELS = {
    "boosted": lambda: BoostedField("tree", n_rounds=2).fit(X),
    "boosted classes": lambda: BoostedClassifier(BoostedField("tree", n_rounds=1)).fit(X, LABELS),
    "nherd": lambda: NHERD().fit(X, LABELS),
    "kernel": lambda: NHERD(covariance="full", kernel="rbf").fit(ONE_ROW, [0, 1]),
    "voted": lambda: VotedPerceptron(max_iter=1, shuffle=False).fit(
        csr_matrix(np.array([[1.0, 0.0], [0.0, 0.0]])), [1, 0]
    ),
    "machine": lambda: BoltzmannMachine().fit(BITS[:100]).partial_fit(BITS[100:]),
    "dense": lambda: PairwiseModel.random(6, random_state=1),
    "sparse": lambda: PairwiseModel.random(9, graph="grid", states=(0, 1), random_state=2),
    "potts": lambda: PottsModel.random(5, 4, random_state=4),
    "herder": lambda: MomentHerder().fit({"a": [0, 1, 1, 0], "b": ["x", "y", "z", "x"]}),
    "thinned": lambda: KernelHerder(5).fit(X),
    "picks": lambda: kernel_herd(X, 5),
    "density": lambda: herd_density(MIXTURE, 4, auxiliary=20),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    for key, make in MODELS.items():
        save(make(), folder / key)
    return folder


def rewritten(old, path, header, arrays):
    own, meta, _ = read_file(old)
    own |= arrays
    left = {k: v for k, v in (meta | header).items() if v is not ...}
    write_file(path, {k: v for k, v in own.items() if v is not None}, left)
    return path


NHERD_CASES = [
    ({"class": "Unknown"}, {}, "got a 'Unknown'"),
    ({"class": "os"}, {}, "got a 'os'"),
    ({"class": "PassiveAggressive"}, {}, "unexpected keyword argument"),
    ({"params": {"C": -1.0}}, {}, "C must be"),
    ({"params": {"made_up": 1}}, {}, "made_up"),
    ({"params": 3}, {}, "whole NHERD"),
    ({"classes": {"dtype": "<U4", "values": ["b", "a"]}}, {}, "classes that are not in order"),
    ({"classes": {"dtype": "V8", "values": ["b", "a"]}}, {}, "whole NHERD"),
    ({"classes": None}, {}, "whole NHERD"),
    ({"classes": {"dtype": None, "values": ["a", "b"]}}, {}, "values of dtype None"),
    ({"classes": {"dtype": "O", "values": [{"x": 1}]}}, {}, "not numbers or texts"),
    ({"classes": {"dtype": "<U1", "values": "ab"}}, {}, "not numbers or texts"),
    ({"classes": {"dtype": "<U1", "values": []}}, {}, "classes that are not in order"),
    ({}, {"seen": np.array([2**63 - 1])}, "seen from 9223372036854775807"),
    ({"counts": {}}, {}, "no 'n_features_in_'"),
    ({"counts": {"n_features_in_": 6}}, {}, "no 'n_iter_'"),
    ({"counts": {"n_features_in_": 2.5}}, {}, "n_features_in_ = 2.5"),
    ({"counts": {"n_features_in_": 10**30}}, {}, "n_features_in_ = "),
    ({"feature_names": ["a"]}, {}, "1 names of features"),
    ({"feature_names": [["a"]] * 6}, {}, "names of features that are not texts"),
    ({"feature_names": [1, 2, 3, 4, 5, 6]}, {}, "names of features that are not texts"),
    ({"feature_names": "abcdef"}, {}, "names of features that are not texts"),
    ({}, {"mean": None}, "no 'mean'"),
    ({}, {"mean": np.zeros((1, 9))}, r"mean of shape \(1, 9\)"),
    ({}, {"mean": np.zeros((2, 7))}, r"mean of shape \(2, 7\)"),
    ({}, {"mean": np.zeros((1, 7), np.float32)}, "mean of shape .* and float32"),
    ({}, {"mean": np.full((1, 7), np.nan)}, "mean with values that are not finite"),
    ({}, {"variance": np.zeros((1, 7))}, "variance from 0.0 to 0.0"),
    ({}, {"seen": np.zeros(2, np.int64)}, r"seen of shape \(2,\)"),
    ({}, {"seen": np.array([-1])}, "seen from -1"),
]
KERNEL_CASES = [
    ({}, {"coef": np.zeros(3)}, "drift of shape"),
    ({}, {"coef": np.zeros(3_000_000)}, "drift of shape"),
    ({}, {"ends": np.full((1, 2), 7, np.int64)}, "ends from 7"),
    ({}, {"counts": np.array([3, 1, 0])}, "1 supports of 3 blocks"),
    ({}, {"gamma": np.array([np.nan])}, "gamma"),
    ({}, {"scales": np.array([0.0, 1.0])}, "scales"),
    ({}, {"factor": np.zeros(1)}, "a factor with zeros on its diagonal"),
    ({}, {"supports": np.zeros((2, 2))}, "rows of shape"),
    ({}, {"supports": np.full((1, 6), np.nan)}, "rows with values"),
]
VOTED_CASES = [
    ({}, {"0.base": np.zeros(2)}, "base of shape"),
    ({}, {"0.data": np.array([np.inf])}, "data with values"),
    ({}, {"0.indices": np.array([7], np.int32)}, "whole VotedPerceptron"),
    ({}, {"0.indptr": np.array([0, 9], np.int32)}, "whole VotedPerceptron"),
    ({}, {"0.indptr": np.array([0, -1], np.int32)}, "whole VotedPerceptron"),
    ({}, {"0.shape": np.array([2**40, 2**40])}, "whole VotedPerceptron"),
    ({}, {"0.shape": np.array([2, 9])}, "rows of shape"),
]
MACHINE_CASES = [
    ({"params": {"made_up": 1}}, {}, "made_up"),
    ({"feature_names": ["a"]}, {}, "1 names of features"),
    ({"feature_names": [1, 2, 3, 4, 5]}, {}, "names of features that are not texts"),
    ({"states": [0, 2]}, {}, "states must be"),
    ({"states": "01"}, {}, "states must be"),
    ({"numbers": {}}, {}, "no 'n_iter_'"),
    ({"numbers": {"n_iter_": "x"}}, {}, "n_iter_ = 'x'"),
    ({"numbers": {"n_iter_": True}}, {}, "n_iter_ = True"),
    ({"numbers": {"n_iter_": -1}}, {}, "n_iter_ = -1"),
    ({"report": None}, {}, "None in the place of a FitReport"),
    (report(constant="abc"), {}, "constant = 'abc'"),
    (report(constant=[1]), {}, r"constant = \[1\]"),
    (report(n_rows="9"), {}, "n_rows = '9'"),
    (report(n_rows=float("nan")), {}, "a report of nan rows"),
    (report(alpha=-1.0), {}, "a report of 9.0 rows, alpha -1.0"),
    (report(converged=1), {}, "converged = 1"),
    (report(n_distinct=2.5), {}, "n_distinct = 2.5"),
    (report(made_up=1), {}, "a FitReport with 'made_up'"),
    ({"report": {"constant": []}}, {}, "whole BoltzmannMachine"),
    ({"stream": {}}, {}, "no 'alpha'"),
    ({"stream": None, "total": ...}, {}, "neither sums nor a stream"),
    ({"stream": 3}, {}, "whole BoltzmannMachine"),
    ({"total": None}, {}, "total = None"),
    ({"total": float("nan")}, {}, "total = nan"),
    ({"total": -1.0}, {}, "total = -1.0"),
    ({}, {"couplings": None}, "no 'couplings'"),
    ({}, {"couplings": np.zeros((4, 4))}, r"couplings of shape \(4, 4\)"),
    ({}, {"couplings": np.ones((5, 5))}, "couplings must"),
    ({}, {"biases": np.full(5, np.nan)}, "biases with values that are not finite"),
    ({}, {"biases": np.zeros(())}, "whole BoltzmannMachine"),
    ({}, {"biases": np.zeros(3_000_000)}, r"couplings of shape \(5, 5\)"),
    ({}, {"stream.ones": np.zeros(4)}, r"ones of shape \(4,\)"),
    ({}, {"stream.operator.vectors": None}, "no 'operator.vectors'"),
    ({}, {"sums.means": np.full(5, -7.0)}, "sums.means from -7.0"),
    ({}, {"sums.pairs": np.full((5, 5), 2.0)}, "sums.pairs from 2.0"),
    ({}, {"sums.pairs": np.zeros(5)}, r"sums.pairs of shape \(5,\)"),
    ({}, {"cv_scores_": np.zeros((3, 2))}, "no 'alphas_'"),
    ({}, {"alphas_": np.ones(3)}, "no 'cv_scores_'"),
    ({}, {"alphas_": np.ones(3), "cv_scores_": np.zeros(3)}, r"cv_scores_ of shape \(3,\)"),
    ({}, {"alphas_": np.ones(3), "cv_scores_": np.zeros((2, 2))}, r"cv_scores_ of shape \(2,"),
    ({}, {"alphas_": np.ones((3, 1)), "cv_scores_": np.zeros((3, 2))}, "alphas_ of shape"),
    ({}, {"node_couplings_": np.zeros((5, 5))}, "no 'node_biases_'"),
    ({}, {"node_couplings_": np.zeros(5), "node_biases_": np.zeros(5)}, "node_couplings_ of"),
]
DENSE_CASES = [
    ({"class": "NHERD"}, {}, "no 'counts'"),
    ({"class": "PottsModel"}, {}, "no 'fields'"),
    ({"model": None}, {}, "whole PairwiseModel"),
    ({"model": {}}, {}, "no 'states'"),
    (facts(states=[0, 2]), {}, r"states must be \(0, 1\) or \(-1, 1\)"),
    (facts(states="01"), {}, "states must be"),
    (facts(states=[[0], [1]]), {}, "states must be"),
    (facts(states=None), {}, "states must be"),
    (facts(offset="x"), {}, "offset must be"),
    (facts(offset=float("nan")), {}, "offset must be"),
    (facts(names=["a"]), {}, "names must be 6 different texts"),
    (facts(names="abcdef"), {}, "names that are not texts"),
    (facts(names=[1, 2, 3, 4, 5, 6]), {}, "names that are not texts"),
    ({}, {"couplings": np.ones((6, 6))}, "couplings must"),
    ({}, {"couplings": np.triu(np.ones((6, 6)), 1)}, "couplings must be symmetric"),
    ({}, {"couplings": np.zeros((5, 5))}, "biases must be one number for each of 5"),
    ({}, {"couplings": np.zeros((6, 6), np.int64)}, "couplings of shape .* int64"),
    ({}, {"couplings": None}, "no 'edge_weights'"),
    ({}, {"biases": np.full(6, np.inf)}, "biases with values that are not finite"),
    ({}, {"biases": np.zeros((6, 1))}, "biases of shape"),
]
SPARSE_CASES = [
    ({}, {"edges": np.array([[0, 9]] * 12)}, "edges must name sites from 0 to 8"),
    ({}, {"edges": np.array([[0, 1]] * 12)}, "edges must be given once each"),
    ({}, {"edges": np.zeros((12, 2))}, "edges must be pairs of site numbers"),
    ({}, {"edges": None}, "no 'edges'"),
    ({}, {"edge_weights": np.zeros(3)}, "whole PairwiseModel"),
    ({}, {"edge_weights": None}, "no 'edge_weights'"),
]
POTTS_CASES = [
    ({"class": "PairwiseModel"}, {}, "no 'biases'"),
    ({}, {"fields": np.zeros((5, 1))}, "fields must have a row for each of 5 sites"),
    ({}, {"fields": np.zeros((5, 200))}, "fields must have a row for each of 5"),
    ({}, {"fields": np.zeros(5)}, "fields of shape"),
]
COLUMN = {"name": "b", "values": ["x", "y", "z"], "dtype": "str", "edges": None}


def columns(**changed):
    """Return a header in which the second column is another."""
    first = {"name": "a", "values": [0, 1], "dtype": "int64", "edges": None}
    both = [first, {**COLUMN, **changed}]
    return {"moments": {"variables": both, "from_rows": True, "conflicts": []}}


FORM = {"kind": "mapping", "names": ["a", "b"], "dtype": None, "schema": None, "labels": None}
HERDER_CASES = [
    (columns(name="a"), {}, "cliques of columns"),
    (columns(name=3), {}, "a column 3"),
    (columns(values=["x", "y", "x"]), {}, "not all of them different"),
    (columns(values=["x", "y"]), {}, "counts of shape"),
    (columns(values=[["x"], "y", "z"]), {}, "the label"),
    (columns(values=[{"module": "os"}, "y", "z"]), {}, "no 'module'"),
    (columns(dtype="V8"), {}, "a column 'b' of 'V8'"),
    (columns(dtype="no such"), {}, "whole MomentHerder"),
    (columns(dtype="<U400000000"), {}, "a column 'b' of '<U400000000'"),
    (columns(dtype="int64"), {}, "invalid literal for int"),
    (columns(edges=[1.0]), {}, "1 edges of 'b'"),
    (columns(edges=[1.0, 1.0]), {}, "edges of 'b' that are not in order"),
    (columns(edges=[1.0, float("inf")]), {}, "edges of 'b' that are not in order"),
    ({"form": {**FORM, "kind": "array", "dtype": "int64"}}, {}, "invalid literal for int"),
    ({"form": {**FORM, "kind": "array", "dtype": "V8"}}, {}, "values of dtype 'V8'"),
    ({"form": {**FORM, "kind": "sparse", "dtype": None}}, {}, "values of dtype None"),
    ({"form": {**FORM, "kind": "os"}}, {}, "a table of the form 'os'|whole MomentHerder"),
    ({"form": {**FORM, "names": ["a"]}}, {}, "1 names of 2 columns"),
    (
        {"form": {**FORM, "kind": "polars", "schema": {"a": "read_csv", "b": "String"}}},
        {},
        "X must",
    ),
    ({"params": {"encoding": "no such"}}, {}, "encoding must be"),
    ({}, {"moments.members": np.array([[0, -1], [1, -1], [0, 7]])}, "members from -1 to 7"),
    ({}, {"moments.members": np.array([[0, -1], [1, -1], [1, 0]])}, "cliques that are not sets"),
    ({}, {"moments.members": np.array([[0, -1], [0, -1], [0, 1]])}, "cliques that are not sets"),
    ({}, {"moments.counts": np.zeros(5)}, "counts of shape"),
    ({}, {"moments.totals": np.array([4.0, 4.0, -4.0])}, "totals from"),
    ({}, {"moments.totals": np.array([4.0, 4.0, 0.0])}, "totals from"),
    ({}, {"moments.totals": np.array([4.0, 4.0, 1e-300])}, "counts from 0.0 to"),
    ({}, {"moments.counts": np.full(11, 1e308)}, r"counts from 1e\+308"),
    ({}, {"rows": np.array([[0, 9]], np.int8)}, "rows must hold codes"),
    ({}, {"rows": np.zeros((1, 3), np.int8)}, "rows must be codes"),
    ({}, {"index.hashes": np.zeros(2)}, "hashes of shape"),
    ({}, {"index.hashes": np.array([2, 1], np.uint64)}, "not in order"),
    ({"index": {"duplicate_share": 0.5, "one_in": 3, "binary": False}}, {}, "one_in = 3"),
    (
        {"index": {"duplicate_share": "x", "one_in": 1, "binary": False}},
        {},
        "duplicate_share = 'x'",
    ),
    (
        {"index": {"duplicate_share": 0.5, "pair_share": 0.6, "one_in": 1, "binary": False}},
        {},
        "pair_share = 0.6",
    ),
    ({}, {"index.unique": np.zeros(99, np.uint8)}, "unique of shape"),
    ({}, {"index.unique": np.full(4, 2, np.uint8)}, "unique from|unique of shape"),
]
KERNEL = {"name": "gaussian", "bandwidth": 1.0}
THINNED_CASES = [
    ({"kernel": {**KERNEL, "name": "os"}}, {}, "no 'os'"),
    ({"kernel": {**KERNEL, "bandwidth": -1.0}}, {}, "bandwidth must be"),
    ({"kernel": {**KERNEL, "bandwidth": [1.0]}}, {}, "bandwidth must be"),
    ({"kernel": {**KERNEL, "made_up": 1}}, {}, "made_up"),
    ({"kernel": {"name": "energy", "bandwidth": 1.0, "centre": [0.0]}}, {}, "centre of shape"),
    ({"mmd": None}, {}, "mmd = None"),
    ({}, {"indices_": np.array([0, 1, 2, 3, -1])}, "indices_ from -1"),
    ({}, {"weights_": np.zeros(4)}, "weights_ of shape"),
    ({}, {"samples_": np.full((5, 6), np.nan)}, "samples_ with values"),
]
PICKS_CASES = [
    ({}, {"indices": np.array([60])}, "indices from 60 to 60"),
    ({}, {"scores": np.array([np.inf])}, "scores with values"),
]
DENSITY_CASES = [
    ({}, {"points": np.zeros((0, 2)), "means": np.zeros(0), "sums": np.zeros(0)}, "no points"),
    ({"squared_norm": "x"}, {}, "squared_norm = 'x'"),
    ({}, {"means": np.zeros(3)}, "means of shape"),
    ({}, {"auxiliary": np.zeros((20, 3))}, "auxiliary of shape"),
    ({}, {"auxiliary_sums": np.zeros(19)}, "auxiliary_sums of shape"),
]
BOOSTED_CASES = [
    ({"family": "unknown"}, {}, "whole BoostedField"),
    ({"setting": {"max_depth": 10**11}}, {}, "max_depth must be"),
    ({"setting": {"made_up": 1}}, {}, "made_up"),
    ({"setting": {"max_depth": 2}}, {}, r"parameters of shape \(2, 22\)"),
    ({"states": [0, 2]}, {}, r"states \(0, 2\)"),
    ({"states": [0, 1]}, {}, r"scale of shape \(6, 6\)"),
    ({"seed": -1}, {}, "seed = -1"),
    ({"threshold": float("nan")}, {}, "threshold = nan"),
    ({}, {"coefficients": np.array([1.0, -1.0])}, "coefficients from -1.0"),
    ({}, {"coefficients": np.ones(3)}, r"parameters of shape"),
    ({}, {"centre": np.zeros(7)}, "of shape"),
    ({}, {"scale": np.ones((6, 6))}, "scale without an inverse"),
    ({}, {"starts": np.zeros((0, 6))}, "0 rows to start from"),
    ({}, {"starts": np.zeros((3, 5))}, "starts of shape"),
    ({}, {"base.logs": np.array([-1.0])}, "do not sum to 1"),
    ({}, {"base.means": np.zeros((1, 5))}, "means of shape"),
    ({}, {"base.roots": np.zeros((1, 6, 6))}, "roots without an inverse"),
    ({"log_partition": {"value": 1.0}}, {}, "error"),
    ({}, {"ess": np.ones(3)}, "ess of shape"),
    ({"feature_names": ["a"]}, {}, "1 names of features"),
]
BOOSTED_CLASSES_CASES = [
    ({"fields": []}, {}, "0 fields of 0 widths for 2 classes"),
    ({"fields": None}, {}, "whole BoostedClassifier"),
    ({"classes": {"dtype": "<U1", "values": ["a", "b", "c"]}}, {}, "for 3 classes"),
    ({}, {"scale": np.zeros(2)}, "scale from 0.0"),
    ({}, {"coef": np.ones((2, 2))}, "coef of shape"),
    ({}, {"0.centre": np.zeros(7)}, "of shape"),
]
CASES = {
    "boosted": BOOSTED_CASES,
    "boosted classes": BOOSTED_CLASSES_CASES,
    "herder": HERDER_CASES,
    "thinned": THINNED_CASES,
    "picks": PICKS_CASES,
    "density": DENSITY_CASES,
    "nherd": NHERD_CASES,
    "kernel": KERNEL_CASES,
    "voted": VOTED_CASES,
    "machine": MACHINE_CASES,
    "dense": DENSE_CASES,
    "sparse": SPARSE_CASES,
    "potts": POTTS_CASES,
}


@pytest.mark.parametrize(
    ("key", "header", "arrays", "message"),
    [(key, *case) for key, cases in CASES.items() for case in cases],
)
def test_what_makes_no_sense_is_refused(saved, tmp_path, key, header, arrays, message):
    path = rewritten(saved / key, tmp_path / "m", header, arrays)
    with pytest.raises(ModelFileError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))


GRID = MODELS["sparse"]()
POTTS = PottsModel.grid((3, 2), 3, 0.7)
RUNS: dict[str, Any] = {
    "table": lambda n, **run: gibbs(GRID, n, pairs="edges", **run),
    "tempered": lambda n, **run: gibbs(GRID, n, temperatures=(1.0, 1.5), **run),
    "herded": lambda n, **run: herded_gibbs(GRID, n, **run),
    "contexts": lambda n, **run: herded_gibbs(POTTS, n, **run),
    "clusters": lambda n, **run: swendsen_wang(POTTS, n, **run),
}


def hashed(first, chances=None):
    """Return contexts of herded Gibbs with these keys."""
    if chances is None:
        chances = np.tile([2**52, 0, 0], (len(first), 1))
    second = np.arange(len(first), dtype=np.uint64)
    weights = np.zeros((len(first), 3), np.int64)
    return {"at/first": first, "at/second": second, "at/weights": weights, "at/chances": chances}


def test_contexts_that_make_sense_are_taken(tmp_path):
    save(RUNS["contexts"](20).position, tmp_path / "a")
    keys = hashed(np.random.default_rng(1).integers(2**64, size=500, dtype=np.uint64))
    changed = {f"0/{name}": value for name, value in keys.items()}
    path = rewritten(tmp_path / "a", tmp_path / "b", {}, changed)
    assert RUNS["contexts"](5, resume=load(path)).diagnostics["n_weights"][0] > 1000


@pytest.mark.parametrize(
    ("key", "arrays"),
    [
        ("table", {"at/x": np.full(10, 2, np.uint8)}),
        ("table", {"at/x": np.zeros(9, np.uint8)}),
        ("table", {"at/x": np.zeros(10, np.int64)}),
        ("table", {"counted/batches": np.zeros((32, 9, 1), np.int64)}),
        ("table", {"counted/batches": np.full((32, 9, 1), -1, np.int32)}),
        ("table", {"counted/counts": np.array([1000, 1])}),
        ("table", {"counted/counts": np.array([20, 3])}),
        ("table", {"counted/counts": np.array([0, 1])}),
        ("table", {"counted/counts": np.array([20, 2])}),
        ("table", {"counted/counts": np.array([19, 1])}),
        ("table", {"counted/batches": np.ones((32, 9, 1), np.int32)}),
        ("table", {"counted/pairs": np.full((12, 2, 2), 20)}),
        ("table", {"counted/pairs": np.zeros((3, 2, 2), np.int64)}),
        ("table", {"counted/edges": np.zeros((3, 2), np.int64)}),
        ("tempered", {"at/who": np.array([0, 2])}),
        ("tempered", {"at/who": np.array([-1, 0])}),
        ("tempered", {"at/who": np.array([1, 1])}),
        ("tempered", {"at/x": np.full((2, 9), 2, np.uint8)}),
        ("tempered", {"at/f": np.zeros((2, 8))}),
        ("tempered", {"at/f": np.full((2, 9), np.nan)}),
        ("tempered", {"at/swaps": np.zeros((2, 2), np.int64)}),
        ("tempered", {"at/t": np.array([-1])}),
        ("tempered", {"at/t": np.array([2**63 - 1])}),
        ("herded", {"at/weights": np.zeros((9, 8), np.int64)}),
        ("herded", {"at/weights": np.full((9, 16), 2**62)}),
        ("contexts", {"at/x": np.full(6, 3, np.uint8)}),
        ("contexts", {"at/second": np.zeros(1, np.uint64)}),
        ("contexts", {"at/weights": np.zeros((1, 3), np.int64)}),
        ("contexts", hashed(np.zeros(500, np.uint64))),
        ("contexts", hashed(np.arange(500, dtype=np.uint64) << np.uint64(12))),
        ("contexts", hashed(np.arange(500, dtype=np.uint64), chances=np.zeros((500, 3), int))),
        ("contexts", {"counted/batches": np.ones((32, 6, 3), np.int32)}),
        ("clusters", {"at/x": np.full(6, 3, np.uint8)}),
        ("clusters", {"at/counts": np.array([1, -1])}),
    ],
)
def test_a_run_does_not_go_on_from_what_makes_no_sense(tmp_path, key, arrays):
    save(RUNS[key](20).position, tmp_path / "a")
    assert RUNS[key](5, resume=load(tmp_path / "a")).n_sweeps == 25
    changed = {f"0/{name}": value for name, value in arrays.items()}
    path = rewritten(tmp_path / "a", tmp_path / "b", {}, changed)
    with pytest.raises(ParameterError, match="resume must"):
        RUNS[key](5, resume=load(path))


def pcg(state: Any = 5, inc=7, has_uint32=0, uinteger=0):
    parts = {"has_uint32": has_uint32, "uinteger": uinteger}
    return [{"bit_generator": "PCG64", "state": {"state": state, "inc": inc}, **parts}]


@pytest.mark.parametrize(
    "states",
    [
        *([], [{}], [{"bit_generator": "MT19937"}], [3], None, pcg() * 2),
        *(pcg(state=-1), pcg(state=2**128), pcg(state=0.5), pcg(state=True)),
        *(pcg(inc=8), pcg(inc=2**128 + 1), pcg(has_uint32=2), pcg(uinteger=2**32)),
    ],
)
def test_random_generators_that_make_no_sense(tmp_path, states):
    save(RUNS["table"](20).position, tmp_path / "a")
    path = rewritten(tmp_path / "a", tmp_path / "b", {"generators": [states]}, {})
    with pytest.raises(ValueError, match="must"):
        RUNS["table"](5, resume=load(path))


@pytest.mark.parametrize(
    "arrays",
    [
        {"weights": np.zeros(3, np.int64)},
        {"state": np.full(5, 2, np.int16)},
        {"state": np.zeros(4, np.int16)},
        {"state": np.zeros(5)},
        {"visited": np.full((1, 5), -1, np.int16)},
        {"visited": np.zeros((1000, 5), np.int16)},
        {"visited": np.zeros((), np.int16)},
        {"weights": np.full(15, 2**53 + 1)},
        {"weights": np.full(15, -(2**63))},
    ],
)
def test_a_moment_herd_does_not_go_on_from_what_makes_no_sense(tmp_path, arrays):
    own = MomentHerder(restarts="visited").fit(BITS)
    save(own.herd(20).position, tmp_path / "a")
    path = rewritten(tmp_path / "a", tmp_path / "b", {}, arrays)
    with pytest.raises(ParameterError, match="resume must"):
        own.herd(5, resume=load(path))


@pytest.mark.parametrize(
    "changed",
    [{"t": -1}, {"t": 2**63}, {"t": "x"}, {"weights": [0.5] * 15}, {"state": None}],
)
def test_positions_made_by_hand_are_checked(changed):
    own = MomentHerder(restarts="visited").fit(BITS)
    with refuses("resume"):
        own.herd(5, resume=replace(own.herd(20).position, **changed))


LISTS: Any = {"x": [0] * 10}


@pytest.mark.parametrize(
    "chains",
    [None, 3, (None,), (ChainPosition({}, (), {}),), (ChainPosition(LISTS, (), {}),)],
)
def test_chains_made_by_hand_are_checked(chains):
    first = RUNS["table"](20).position
    with refuses("resume"):
        RUNS["table"](5, resume=replace(first, chains=chains))


def test_chains_of_different_lengths_do_not_go_on():
    def run(n, **more):
        return gibbs(GRID, n, n_chains=2, **more).position

    one, other = run(20), run(30)
    with refuses("resume", match="chains of different lengths"):
        run(5, resume=replace(one, chains=(one.chains[0], other.chains[1])))


@pytest.mark.parametrize("total", [np.zeros(()), np.zeros(3, np.float32), np.zeros((1, 9))])
def test_sums_of_functions_that_make_no_sense(tmp_path, total):
    def run(n, **more):
        return gibbs(GRID, n, functions={"own": lambda rows: rows[:, :3]}, **more)

    save(run(20).position, tmp_path / "a")
    path = rewritten(tmp_path / "a", tmp_path / "b", {}, {"0/counted/sum.own": total})
    with pytest.raises(ParameterError, match=r"(functions|resume) must"):
        run(5, resume=load(path))


@pytest.mark.parametrize("scores", [[0.5] * 59, np.full(60, np.nan), np.zeros(60, int), None])
def test_scores_made_by_hand_are_checked(scores):
    with refuses("resume"):
        kernel_herd(X, 2, resume=replace(kernel_herd(X, 5), scores=scores))


@pytest.mark.parametrize("part", ["points", "means", "sums", "auxiliary", "auxiliary_sums"])
@pytest.mark.parametrize("value", [np.zeros(0), np.full((4, 2), np.nan), [None]])
def test_densities_made_by_hand_are_checked(part, value):
    first = herd_density(MIXTURE, 4, auxiliary=20)
    with refuses("resume"):
        herd_density(MIXTURE, 2, resume=replace(first, **{part: value}))


@pytest.mark.parametrize("scan", [0, [[0, 1, 2, 3, 4]], [0, [1]], "01234", [0.5] * 5])
def test_an_order_that_is_none_is_refused(saved, scan):
    with pytest.raises(ParameterError, match="scan must"):
        MomentHerder(scan=scan).fit(BITS).sample(3)


@pytest.mark.parametrize("rates", ["x", [[1.0], 2.0], [None] * 15, np.nan])
def test_rates_that_are_none_are_refused(rates):
    with pytest.raises(ParameterError, match="rates must"):
        MomentHerder(rates=rates).fit(BITS).sample(3)


def test_a_limit_on_sweeps_may_be_any_number():
    most, none = (MomentHerder(max_sweeps=n).fit(BITS).sample(9) for n in (2**62, 0))
    assert np.array_equal(most, none)


def test_texts_are_as_wide_as_the_longest(saved, tmp_path):
    """A dtype of 1.6 GB a text must not be made."""
    wide = {"classes": {"dtype": "<U400000000", "values": ["ham", "spam"]}}
    back = load(rewritten(saved / "nherd", tmp_path / "m", wide, {}))
    assert back.classes_.dtype == np.dtype("<U4")
    form = {"form": {**FORM, "kind": "array", "dtype": "<U400000000"}}
    back = load(rewritten(saved / "herder", tmp_path / "m", form, {}))
    assert back.sample(3).dtype == np.dtype("<U1")


def test_a_report_needs_only_what_every_fit_has(saved, tmp_path):
    changed = report(constant=["a"], alpha=1)
    back = load(rewritten(saved / "machine", tmp_path / "m", changed, {})).diagnostics_
    assert back.constant == ("a",)
    assert (back.alpha, type(back.alpha)) == (1.0, float)


def test_parameters_nested_beyond_all_measure(saved, tmp_path):
    _, header, _ = read_file(saved / "nherd")
    deep = '{"list": [' * 900 + "1" + "]}" * 900
    header |= {"format_version": 1, "params": {"class_weight": "deep"}}
    text = json.dumps(header).replace('"deep"', deep)
    save_file({"a": np.zeros(1)}, tmp_path / "m", metadata={"meta": text})
    with pytest.raises(ModelFileError, match=f"{tmp_path / 'm'} must "):
        load(tmp_path / "m")


def test_nothing_is_made_for_shapes_that_do_not_agree(saved, tmp_path):
    """Squares of these lengths are beyond any memory."""
    n = 3_000_000
    _, header, _ = read_file(saved / "nherd")
    wide = {"mean": np.zeros((1, n + 1)), "root": np.zeros((1, 1, 1))}
    params = {**header["params"], "covariance": "full"}
    counts = {"counts": {**header["counts"], "n_features_in_": n}}
    with pytest.raises(ModelFileError, match=r"root of shape \(1, 1, 1\)"):
        load(rewritten(saved / "nherd", tmp_path / "m", {**counts, "params": params}, wide))
    many = {"classes": {"dtype": "<i8", "values": list(range(100_000))}, **counts}
    with pytest.raises(ModelFileError, match="mean of shape"):
        load(rewritten(saved / "nherd", tmp_path / "m", many, {"mean": wide["mean"]}))


def test_a_billion_empty_groups_of_columns_are_refused_at_once(tmp_path):
    save(MomentHerder().fit(BITS), tmp_path / "a")
    arrays, header, _ = read_file(tmp_path / "a")
    name = next(name for name in arrays if name.endswith("members"))
    write_file(tmp_path / "a", arrays | {name: np.zeros((10**9, 0), np.int64)}, header)
    with pytest.raises(ModelFileError):
        load(tmp_path / "a")
