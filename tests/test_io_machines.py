import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from herder._store import load_arrays, save_arrays
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
    skipped = ("_beside", "model_", "diagnostics_", "_stream", "_sums")
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
    save(back, tmp_path / "again.safetensors")
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


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({"params": {"made_up": 1}}, {}, "made_up"),
        ({"feature_names": ["a"]}, {}, "1 names of features"),
        ({"states": [0, 2]}, {}, r"states must be \(0, 1\) or \(-1, 1\)"),
        ({"numbers": {}}, {}, "no 'n_iter_'"),
        ({"numbers": {"n_iter_": "x"}}, {}, "n_iter_ = 'x'"),
        ({"report": None}, {}, "must be a whole model file"),
        ({"report": {"constant": []}}, {}, "must be a whole model file"),
        ({"stream": {}}, {}, "no 'alpha'"),
        ({"stream": 3}, {}, "must be a whole model file"),
        ({"total": None}, {}, "must be a whole model file"),
        ({}, {"couplings": None}, "no 'couplings'"),
        ({}, {"couplings": np.zeros((4, 4))}, r"couplings of shape \(4, 4\)"),
        ({}, {"couplings": np.ones((5, 5))}, "couplings must have a zero diagonal"),
        ({}, {"biases": np.full(5, np.nan)}, "biases with values that are not finite"),
        ({}, {"biases": np.zeros(())}, "must be a whole model file"),
        ({}, {"stream.ones": np.zeros(4)}, r"stream.ones of shape \(4,\)"),
        ({}, {"stream._vectors": None}, "no 'stream._vectors'"),
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
