import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from herder.core.state import load_arrays, save_arrays
from herder.io import load, read_model, save
from herder.learn.boltzmann import BoltzmannMachine

rng = np.random.default_rng(8)
X = (rng.random((300, 5)) < 0.2 + 0.5 * rng.random((300, 1))).astype(np.int64)

PARAMS = [
    {},
    {"method": "pl-node", "penalty": "l1", "alpha": np.float64(0.01)},
    {"alpha": "cv", "alphas": [0.1, 0.01, 0.001], "cv": 3},
    {"method": "ml", "penalty": None, "states": (0, 1)},
    {"method": "cd", "n_epochs": np.int64(3)},
    {"method": "pcd", "n_epochs": 3, "binarize": 0.5},
]


def assert_same(first, second):
    skipped = ("model_", "diagnostics_", "_stream", "_sums")
    left = {name: value for name, value in vars(first).items() if name not in skipped}
    right = {name: value for name, value in vars(second).items() if name not in skipped}
    assert left.keys() == right.keys()
    for name, value in left.items():
        np.testing.assert_equal(right[name], value, err_msg=name)
    assert str(first.diagnostics_) == str(second.diagnostics_)
    assert first.model_.names == second.model_.names
    rows = first.states_[0] + (first.states_[1] - first.states_[0]) * X[:20]
    np.testing.assert_array_equal(first.model_.energy(rows), second.model_.energy(rows))


@pytest.mark.parametrize("low", [0, -1])
@pytest.mark.parametrize("params", PARAMS)
def test_a_machine_comes_back(tmp_path, params, low):
    if low == -1 and "states" in params:
        params = {**params, "states": (-1, 1)}
    machine = BoltzmannMachine(**params).fit(X if low == 0 else 2 * X - 1)
    save(machine, tmp_path / "m.safetensors", meta={"note": 1})
    back, meta = read_model(tmp_path / "m.safetensors")
    assert meta == {"note": 1}
    assert_same(machine, back)
    save(back, tmp_path / "again.safetensors", meta=meta)
    assert (tmp_path / "again.safetensors").read_bytes() == (
        tmp_path / "m.safetensors"
    ).read_bytes()


@pytest.mark.parametrize("begins", ["fit", "partial_fit"])
def test_a_stream_goes_on_bit_for_bit(tmp_path, begins):
    machine = getattr(BoltzmannMachine(), begins)(X[:150])
    save(machine, tmp_path / "m")
    back = load(tmp_path / "m")
    for one in (machine, back):
        one.partial_fit(X[150:])
    assert_same(machine, back)
    assert machine.n_iter_ > 1


def test_a_stream_of_rows_without_weight_comes_back(tmp_path):
    machine = BoltzmannMachine().partial_fit(X[:20], sample_weight=np.zeros(20))
    save(machine, tmp_path / "m")
    back = load(tmp_path / "m")
    for one in (machine, back):
        one.partial_fit(X)
    assert_same(machine, back)


def test_facts_of_a_file_do_not_outlive_a_fit(tmp_path):
    save(BoltzmannMachine().fit(X), tmp_path / "m", meta={"rows": "of yesterday"})
    machine, meta = read_model(tmp_path / "m")
    assert meta == {"rows": "of yesterday"}
    save(machine.fit(X[:200]), tmp_path / "m")
    assert read_model(tmp_path / "m")[1] == {}


def test_names_come_along(tmp_path):
    import pandas as pd

    machine = BoltzmannMachine().fit(pd.DataFrame(X, columns=list("abcde")))
    save(machine, tmp_path / "m")
    back = load(tmp_path / "m")
    assert back.feature_names_in_.tolist() == list("abcde")
    assert back.model_.names == tuple("abcde")


def test_what_cannot_be_written_as_text_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        save(BoltzmannMachine(), tmp_path / "m")
    machine = BoltzmannMachine(random_state=np.random.default_rng(0)).fit(X)
    with pytest.raises(TypeError, match=r"random_state must be a number, .* got Generator"):
        save(machine, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("machine") / "m"
    save(BoltzmannMachine().fit(X[:100]).partial_fit(X[100:]), path)
    return path


def report(**changed):
    facts = {"method": "pl", "n_rows": 9.0, "n_distinct": 3, "n_parameters": 15, "n_couplings": 10}
    facts |= {"converged": True, "n_iter": 3, "gradient_norm": 0.1, "penalty": "l2", "alpha": 0.1}
    return {"report": {**facts, **changed}}


def test_a_report_needs_only_what_every_fit_has(saved, tmp_path):
    own, meta = load_arrays(saved)
    save_arrays(tmp_path / "m", own, meta | report(constant=["a"], alpha=1))
    back = load(tmp_path / "m").diagnostics_
    assert back.constant == ("a",)
    assert (back.alpha, type(back.alpha)) == (1.0, float)


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({"params": {"made_up": 1}}, {}, "made_up"),
        ({"feature_names": ["a"]}, {}, "1 names of features"),
        ({"states": [0, 2]}, {}, r"states must be \(0, 1\) or \(-1, 1\)"),
        ({"numbers": {}}, {}, "no 'n_iter_'"),
        ({"numbers": {"n_iter_": "x"}}, {}, "n_iter_ = 'x'"),
        ({"numbers": {"n_iter_": True}}, {}, "n_iter_ = True"),
        ({"numbers": {"n_iter_": -1}}, {}, "n_iter_ = -1"),
        ({"feature_names": [1, 2, 3, 4, 5]}, {}, "names of features that are not texts"),
        ({"feature_names": [["a"]] * 5}, {}, "names of features that are not texts"),
        ({"states": "01"}, {}, r"states must be \(0, 1\) or \(-1, 1\), got '01'"),
        ({"report": None}, {}, "None in the place of a FitReport"),
        (report(constant="abc"), {}, "constant = 'abc'"),
        (report(constant=[1]), {}, r"constant = \[1\]"),
        (report(n_rows="9"), {}, "n_rows = '9'"),
        (report(n_rows=float("nan")), {}, "a report of nan rows"),
        (report(alpha=-1.0), {}, "a report of 9.0 rows, alpha -1.0"),
        (report(converged=1), {}, "converged = 1"),
        (report(n_distinct=2.5), {}, "n_distinct = 2.5"),
        (report(made_up=1), {}, "a FitReport with 'made_up'"),
        ({"report": {"constant": []}}, {}, "must be a whole model file"),
        ({"stream": {}}, {}, "no 'alpha'"),
        ({"stream": 3}, {}, "must be a whole model file"),
        ({"total": None}, {}, "total = None"),
        ({"total": float("nan")}, {}, "total = nan"),
        ({"total": -1.0}, {}, "total = -1.0"),
        ({}, {"couplings": None}, "no 'couplings'"),
        ({}, {"couplings": np.zeros((4, 4))}, r"couplings of shape \(4, 4\)"),
        ({}, {"couplings": np.ones((5, 5))}, "couplings must have a zero diagonal"),
        ({}, {"biases": np.full(5, np.nan)}, "biases with values that are not finite"),
        ({}, {"biases": np.zeros(())}, "must be a whole model file"),
        ({}, {"biases": np.zeros(3_000_000)}, r"couplings of shape \(5, 5\)"),
        ({}, {"stream.ones": np.zeros(4)}, r"ones of shape \(4,\)"),
        ({}, {"stream.operator.vectors": None}, "no 'operator.vectors'"),
        ({}, {"sums.means": np.full(5, -7.0)}, "sums.means with values that are not shares"),
        ({}, {"sums.pairs": np.full((5, 5), 2.0)}, "sums.pairs with values that are not shares"),
        ({}, {"cv_scores_": np.zeros((3, 2))}, "no 'alphas_'"),
        ({}, {"alphas_": np.ones(3)}, "no 'cv_scores_'"),
        ({}, {"alphas_": np.ones(3), "cv_scores_": np.zeros(3)}, r"cv_scores_ of shape \(3,\)"),
        ({}, {"alphas_": np.ones(3), "cv_scores_": np.zeros((2, 2))}, r"cv_scores_ of shape \(2,"),
        ({}, {"alphas_": np.ones((3, 1)), "cv_scores_": np.zeros((3, 2))}, "alphas_ of shape"),
        ({}, {"node_couplings_": np.zeros((5, 5))}, "no 'node_biases_'"),
        ({}, {"node_couplings_": np.zeros(5), "node_biases_": np.zeros(5)}, "node_couplings_ of"),
        ({}, {"sums.pairs": np.zeros(5)}, r"sums.pairs of shape \(5,\)"),
    ],
)
def test_what_is_not_a_whole_machine_is_refused(saved, tmp_path, header, arrays, message):
    own, meta = load_arrays(saved)
    meta |= header
    own |= arrays
    save_arrays(tmp_path / "m", {k: v for k, v in own.items() if v is not None}, meta)
    with pytest.raises(ValueError, match=message) as caught:
        load(tmp_path / "m")
    assert str(caught.value).startswith(str(tmp_path / "m"))
