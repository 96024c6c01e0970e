import json

import numpy as np
import pytest

from herder.core.state import load_arrays, save_arrays
from herder.io import FORMAT_VERSION, load, read_model, save
from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel

NAMES = ["rain", "wind", "ä b", "4"]

MODELS = {
    "dense": PairwiseModel.random(6, random_state=1),
    "sparse": PairwiseModel.random(9, graph="grid", states=(0, 1), random_state=2),
    "named": PairwiseModel(np.ones((4, 4)) - np.eye(4), offset=-1 / 3, names=NAMES),
    "empty": PairwiseModel.random(3, graph="empty", random_state=3),
    "potts": PottsModel.random(5, 4, random_state=4),
    "potts grid": PottsModel.grid((3, 2), 3, 0.7, [0.1, 0.2, 1 / 3], periodic=True),
}


def dense(model) -> np.ndarray:
    return model.couplings.toarray() if model.is_sparse else model.couplings


@pytest.mark.parametrize("key", MODELS)
def test_a_model_comes_back_bit_for_bit(tmp_path, key):
    model = MODELS[key]
    save(model, tmp_path / "m.safetensors", meta={"note": "ä"})
    back, meta = read_model(tmp_path / "m.safetensors")
    assert meta == {"note": "ä"}
    assert type(back) is type(model)
    assert back.is_sparse == model.is_sparse
    assert (back.names, back.offset, back.states) == (model.names, model.offset, model.states)
    np.testing.assert_array_equal(dense(back), dense(model))
    own = "fields" if isinstance(model, PottsModel) else "biases"
    np.testing.assert_array_equal(getattr(back, own), getattr(model, own))
    rng = np.random.default_rng(5)
    x = np.array(model.states)[rng.integers(0, model.n_states, size=(20, model.n_sites))]
    np.testing.assert_array_equal(back.energy(x), model.energy(x))
    save(back, tmp_path / "again.safetensors", meta=meta)
    files = [tmp_path / "m.safetensors", tmp_path / "again.safetensors"]
    assert files[0].read_bytes() == files[1].read_bytes()
    save(back, tmp_path / "again.safetensors")  # a field is as it is: facts are not part of it
    assert read_model(tmp_path / "again.safetensors")[1] == {}
    assert vars(back).keys() == vars(model).keys()


class Other(PairwiseModel):
    pass


def test_other_things_are_not_saved(tmp_path):
    with pytest.raises(TypeError, match=r"one of AROW, .*PairwiseModel, PottsModel.* got Other"):
        save(Other([[0.0]]), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fields")
    for key, model in MODELS.items():
        save(model, folder / key)
    return folder


def rewritten(old, path, *, header=None, arrays=None):
    own, meta = load_arrays(old)
    meta |= header or {}
    own |= arrays or {}
    save_arrays(path, {k: v for k, v in own.items() if v is not None}, meta)
    return path


def facts(**changed):
    return {"model": {"offset": 0.0, "names": None, "states": [0, 1], **changed}}


@pytest.mark.parametrize(
    ("key", "header", "arrays", "message"),
    [
        ("dense", {"format_version": FORMAT_VERSION + 1}, {}, "a newer herder reads it"),
        ("dense", {"class": "Ising"}, {}, "a model of the unknown class 'Ising'"),
        ("dense", {"class": "NHERD"}, {}, "got: no 'params'"),
        ("dense", {"class": "PottsModel"}, {}, "got: no 'fields'"),
        ("potts", {"class": "PairwiseModel"}, {}, "got: no 'biases'"),
        ("dense", {"model": None}, {}, "must be a whole model file of herder"),
        ("dense", {"model": {}}, {}, "got: no 'names'"),
        ("dense", facts(states=[0, 2]), {}, r"states must be \(0, 1\) or \(-1, 1\), got \(0, 2\)"),
        ("dense", facts(states="01"), {}, r"states must be \(0, 1\) or \(-1, 1\), got '01'"),
        ("dense", facts(states=[False, True]), {}, "states must be"),
        ("dense", facts(states=[[0], [1]]), {}, "states must be"),
        ("dense", facts(states=None), {}, "states must be"),
        ("dense", facts(offset="x"), {}, "offset must be a number"),
        ("dense", facts(offset=float("nan")), {}, "offset must be finite"),
        ("dense", facts(names=["a"]), {}, "names must be 6 different texts"),
        ("dense", facts(names="abcdef"), {}, "names that are not texts"),
        ("dense", facts(names=[1, 2, 3, 4, 5, 6]), {}, "names that are not texts"),
        ("dense", {}, {"couplings": np.ones((6, 6))}, "couplings must have a zero diagonal"),
        ("dense", {}, {"couplings": np.triu(np.ones((6, 6)), 1)}, "couplings must be symmetric"),
        ("dense", {}, {"couplings": np.zeros((5, 5))}, "biases must be one number for each of 5"),
        ("dense", {}, {"couplings": np.zeros((6, 6), np.int64)}, "couplings of shape .* int64"),
        ("dense", {}, {"couplings": None}, "got: no 'edges'"),
        ("dense", {}, {"biases": np.full(6, np.inf)}, "biases with values that are not finite"),
        ("dense", {}, {"biases": np.zeros((6, 1))}, "biases must be one number for each"),
        ("sparse", {}, {"edges": np.array([[0, 9]] * 12)}, "edges must name sites from 0 to 8"),
        ("sparse", {}, {"edges": np.array([[0, 1]] * 12)}, "edges must be given once each"),
        ("sparse", {}, {"edges": np.zeros((12, 2))}, "edges must be pairs of site numbers"),
        ("sparse", {}, {"edge_weights": np.zeros(3)}, "must be a whole model file of herder"),
        ("sparse", {}, {"edge_weights": None}, "got: no 'edge_weights'"),
        ("potts", {}, {"fields": np.zeros((5, 1))}, "fields must have a row for each of 5 sites"),
        ("potts", {}, {"fields": np.zeros((5, 200))}, "fields must have a row for each of 5"),
        ("potts", {}, {"fields": np.zeros(5)}, "fields must have a row for each of 5 sites"),
    ],
)
def test_what_is_not_a_whole_model_is_refused(saved, tmp_path, key, header, arrays, message):
    path = rewritten(saved / key, tmp_path / "m", header=header, arrays=arrays)
    with pytest.raises(ValueError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("key", ["dense", "sparse", "potts"])
def test_a_file_that_is_cut_or_changed(saved, tmp_path, key):
    """Nothing but ValueError, whatever the bytes say."""
    raw = (saved / key).read_bytes()
    for size in [*range(0, len(raw), 41), len(raw) - 1]:
        (tmp_path / "m").write_bytes(raw[:size])
        with pytest.raises(ValueError, match="must be a whole safetensors file"):
            load(tmp_path / "m")
    noise = np.random.default_rng(6)
    refused = 0
    for place in noise.integers(0, len(raw), size=400).tolist():
        changed = bytearray(raw)
        changed[place] = int(noise.integers(32, 127))
        (tmp_path / "m").write_bytes(changed)
        try:
            load(tmp_path / "m")
        except ValueError:
            refused += 1
    assert refused > 100


def test_the_header_is_plain_json(saved):
    _, header = load_arrays(saved / "named")
    assert header["class"] == "PairwiseModel"
    assert header["model"] == {"offset": -1 / 3, "names": NAMES, "states": [0, 1]}
    assert json.loads(json.dumps(header)) == header
