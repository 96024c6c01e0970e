import json
import os
import struct
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError

import herder.online
from herder import NHERD, MomentHerder, merge_classifiers
from herder.core.state import load_arrays, save_arrays
from herder.io import FORMAT_VERSION, load, read_model, save
from herder.io._online import CLASSES
from herder.io._plain import plain_params, read_params

rng = np.random.default_rng(4)
X = rng.normal(size=(120, 6)) * (rng.random((120, 6)) < 0.7)
TWO = np.where(X[:, 0] + 0.3 * rng.normal(size=120) > 0, "spam", "ham")
FOUR = np.argmax(X[:, :4] + 0.2 * rng.normal(size=(120, 4)), axis=1)

MODELS = [
    (name, params)
    for name in CLASSES
    for params in (
        [{}]
        if name == "VotedPerceptron"
        else [{}, {"average": True, "fit_intercept": False}, {"multi_class": "one-vs-rest"}]
    )
]
MODELS += [
    (name, {"covariance": "full", **more})
    for name in ("NHERD", "AROW", "ConfidenceWeighted", "SecondOrderPerceptron")
    for more in ({}, {"average": True, "multi_class": "one-vs-rest"})
]
MODELS += [
    ("NHERD", {"covariance": "full", "kernel": "rbf", "budget": 30}),
    ("AROW", {"covariance": "full", "kernel": "poly", "degree": 2, "average": True}),
    ("VotedPerceptron", {"budget": 5}),
    ("NHERD", {"forget": 0.01, "class_weight": {"ham": 2.0, 1: 3.0}}),
    ("PassiveAggressive", {"form": "PA-II", "C": np.float64(0.5), "max_iter": np.int64(2)}),
]


def made(name, params):
    return getattr(herder.online, name)(**params)


def state(model):
    found = {"predict": model.predict(X), "scores": model.decision_function(X)}
    if hasattr(model, "predict_proba"):
        found["odds"] = model.predict_proba(X)
    counts = ("n_iter_", "n_seen_", "n_updates_", "n_features_in_", "progressive_error_")
    return found | {name: np.array(getattr(model, name)) for name in counts}


def assert_same(first, second):
    left, right = state(first), state(second)
    assert left.keys() == right.keys()
    for name, value in left.items():
        assert np.array_equal(value, right[name]), name
    assert first.get_params().keys() == second.get_params().keys()
    assert {k: v for k, v in first.get_params().items() if v == v} == second.get_params()
    assert first.classes_.dtype == second.classes_.dtype


@pytest.mark.parametrize("y", [TWO, FOUR], ids=["two", "four"])
@pytest.mark.parametrize(("name", "params"), MODELS)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_model_comes_back_and_goes_on_the_same(tmp_path, name, params, y, sparse):
    rows = csr_matrix(X) if sparse else X
    if "class_weight" in params:
        label = y.tolist()[0]
        params = {**params, "class_weight": {label: 2.5}}
    model = made(name, params).partial_fit(rows[:80], y[:80], classes=np.unique(y))
    save(model, tmp_path / "m.safetensors", meta={"note": [1, "ä"]})
    back, meta = read_model(tmp_path / "m.safetensors")
    assert meta == {"note": [1, "ä"]}
    assert type(back) is type(model)
    assert_same(model, back)
    for one in (model, back):
        one.partial_fit(rows[80:], y[80:])
    assert_same(model, back)


@pytest.mark.parametrize(
    "classes", [np.array([1, 2], np.int8), np.array([0.0, 2.0]), np.array(["a", "b"], object)]
)
def test_classes_keep_their_type(tmp_path, classes):
    y = classes[(X[:, 0] > 0).astype(int)]
    save(herder.online.NHERD().fit(X, y), tmp_path / "m")
    back = load(tmp_path / "m")
    assert back.classes_.tolist() == classes.tolist()
    assert back.classes_.dtype == classes.dtype


def test_new_classes_still_come(tmp_path):
    model = herder.online.NHERD(new_classes="add").partial_fit(X[:50], TWO[:50])
    save(model, tmp_path / "m")
    back = load(tmp_path / "m").partial_fit(X[50:], np.full(70, "eggs"))
    assert back.classes_.tolist() == ["eggs", "ham", "spam"]


def test_names_of_features_come_along(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcdef"))
    save(herder.online.AROW().fit(frame, TWO), tmp_path / "m")
    back = load(tmp_path / "m")
    assert back.feature_names_in_.tolist() == list("abcdef")
    assert len(back.predict(frame)) == 120


def test_others_can_read_the_file(tmp_path):
    old = os.umask(0o027)
    try:
        save(herder.online.NHERD().fit(X, TWO), tmp_path / "m")
    finally:
        os.umask(old)
    assert (tmp_path / "m").stat().st_mode & 0o777 == 0o640


class Other(herder.online.NHERD):
    pass


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MomentHerder(), "model must be one of AROW, ConfidenceWeighted, .*, got MomentHerder"),
        (Other(), "model must be one of AROW, .* to be saved, got Other"),
        (None, "to be saved, got NoneType"),
    ],
)
def test_other_things_are_not_saved(tmp_path, model, message):
    with pytest.raises(TypeError, match=message):
        save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_as_text_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        save(herder.online.NHERD(), tmp_path / "m")
    model = herder.online.NHERD(random_state=np.random.default_rng(0)).fit(X, TWO)
    with pytest.raises(TypeError, match=r"random_state must be a number, .* got Generator"):
        save(model, tmp_path / "m")
    kernel = herder.online.NHERD(covariance="full", kernel=lambda A, B: A @ B.T).fit(X, TWO)
    with pytest.raises(TypeError, match="kernel must be a number, a text or None to be saved"):
        save(kernel, tmp_path / "m")
    strange = herder.online.NHERD().fit(X, TWO)
    strange.classes_ = np.array([b"a", b"b"])
    with pytest.raises(TypeError, match="classes must be numbers or texts to be saved"):
        save(strange, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    save(herder.online.NHERD().fit(X, TWO), path)
    return path


def test_a_file_cut_anywhere_is_refused(saved, tmp_path):
    raw = saved.read_bytes()
    for size in [*range(0, len(raw), 97), len(raw) - 1]:
        (tmp_path / "m").write_bytes(raw[:size])
        with pytest.raises(ValueError, match="must be a whole safetensors file"):
            load(tmp_path / "m")


def test_a_file_with_a_changed_byte_is_refused_or_read_as_numbers(saved, tmp_path):
    """Nothing but ValueError, whatever the bytes say."""
    raw = bytearray(saved.read_bytes())
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    noise = np.random.default_rng(5)
    for place in noise.integers(0, start, size=600).tolist():
        changed = raw.copy()
        changed[place] = int(noise.integers(32, 127))
        (tmp_path / "m").write_bytes(changed)
        try:
            load(tmp_path / "m")
        except ValueError:
            continue


def rewritten(saved, path, *, header=None, arrays=None):
    own, meta = load_arrays(saved)
    meta |= header or {}
    own |= arrays or {}
    save_arrays(path, {k: v for k, v in own.items() if v is not None}, meta)
    return path


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({"format": "other"}, {}, "must be a model file of herder, got another safetensors file"),
        (
            {"format_version": FORMAT_VERSION + 1, "herder": "9.9"},
            {},
            "or before, got 2 from herder 9.9: a newer herder reads it",
        ),
        ({"format_version": "x"}, {}, "must be a model file of herder, got format 'x'"),
        ({"format_version": -5}, {}, "must be a model file of herder, got format -5"),
        ({"format_version": True}, {}, "must be a model file of herder, got format True"),
        ({"meta": [["a", 1]]}, {}, "got: meta = "),
        ({"class": "Unknown"}, {}, "a model of the unknown class 'Unknown'"),
        ({"class": "os"}, {}, "a model of the unknown class 'os'"),
        ({"class": "PassiveAggressive"}, {}, "unexpected keyword argument"),
        ({"params": {"C": -1.0}}, {}, "C must be a positive number, got -1.0"),
        ({"params": {"made_up": 1}}, {}, "made_up"),
        ({"classes": {"dtype": "<U4", "values": ["b", "a"]}}, {}, "classes that are not in order"),
        ({"classes": {"dtype": "V8", "values": ["b", "a"]}}, {}, "must be a whole model file"),
        ({"classes": None}, {}, "must be a whole model file of herder"),
        ({"counts": {}}, {}, "got: no 'n_iter_'"),
        ({"feature_names": ["a"]}, {}, "1 names of features"),
        ({"feature_names": [["a"]] * 6}, {}, "names of features that are not texts"),
        ({"feature_names": [1, 2, 3, 4, 5, 6]}, {}, "names of features that are not texts"),
        ({"feature_names": "abcdef"}, {}, "names of features that are not texts"),
        ({}, {"mean": None}, "got: no 'mean'"),
        ({}, {"mean": np.zeros((1, 9))}, r"mean of shape \(1, 9\) for 6 features and 2 classes"),
        ({}, {"mean": np.zeros((2, 7))}, r"mean of shape \(2, 7\)"),
        ({}, {"mean": np.zeros((1, 7), np.float32)}, "mean of shape .* and float32"),
        ({}, {"mean": np.full((1, 7), np.nan)}, "mean with values that are not finite"),
        ({}, {"variance": np.zeros((1, 7))}, "variance with values that are not positive"),
        ({}, {"seen": np.zeros(2, np.int64)}, r"seen of shape \(2,\)"),
    ],
)
def test_what_is_not_a_whole_model_is_refused(saved, tmp_path, header, arrays, message):
    path = rewritten(saved, tmp_path / "m", header=header, arrays=arrays)
    with pytest.raises(ValueError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    "arrays",
    [
        {"coef": np.zeros(3)},
        {"ends": np.full((1, 2), 7, np.int64)},
        {"counts": np.array([3, 1, 0])},
        {"gamma": np.array([np.nan])},
        {"supports": np.zeros((2, 2))},
    ],
)
def test_kernel_models_of_wrong_shape_are_refused(tmp_path, arrays):
    model = herder.online.NHERD(covariance="full", kernel="rbf").fit(X[:1].repeat(2, 0), [0, 1])
    save(model, tmp_path / "k")
    assert load(tmp_path / "k").n_updates_ == model.n_updates_
    with pytest.raises(ValueError, match="must be a whole model file of herder"):
        load(rewritten(tmp_path / "k", tmp_path / "m", arrays=arrays))


@pytest.mark.parametrize("arrays", [{"0.base": np.zeros(2)}, {"0.data": np.array([np.inf])}])
def test_voters_of_wrong_shape_are_refused(tmp_path, arrays):
    rows: Any = csr_matrix(np.array([[1.0, 0.0], [0.0, 0.0]]))
    save(
        herder.online.VotedPerceptron(max_iter=1, shuffle=False).fit(rows, [1, 0]), tmp_path / "k"
    )
    with pytest.raises(ValueError, match="must be a whole model file of herder"):
        load(rewritten(tmp_path / "k", tmp_path / "m", arrays=arrays))


def test_files_that_are_not_ours(tmp_path):
    with pytest.raises(FileNotFoundError, match="path must name a file that exists"):
        load(tmp_path / "none")
    for content in (b"", b"PK\x03\x04", b"\x80\x04\x95", json.dumps({"a": 1}).encode() * 99):
        (tmp_path / "m").write_bytes(content)
        with pytest.raises(ValueError, match="must be a whole safetensors file"):
            load(tmp_path / "m")


def write_header(path, text):
    """A safetensors file with that text in the place of our header."""
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(1)}, path, metadata={"meta": text})


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"format_version": ' + "9" * 5000 + "}", "{", "", "nul"],
)
def test_headers_that_no_one_can_read(tmp_path, text):
    write_header(tmp_path / "m", text)
    with pytest.raises(ValueError, match="must be a whole safetensors file, got: ") as caught:
        load(tmp_path / "m")
    assert str(caught.value).startswith(str(tmp_path / "m"))


def test_parameters_nested_beyond_all_measure(saved, tmp_path):
    _, header = load_arrays(saved)
    deep = '{"list": [' * 900 + "1" + "]}" * 900
    text = json.dumps({**header, "params": {"class_weight": "deep"}}).replace('"deep"', deep)
    write_header(tmp_path / "m", text)
    with pytest.raises(ValueError, match=f"{tmp_path / 'm'} must be a whole"):
        load(tmp_path / "m")


def test_nothing_is_made_for_shapes_that_do_not_agree(saved, tmp_path):
    """Squares of these lengths are beyond any memory."""
    n = 3_000_000
    wide = {"mean": np.zeros((1, n + 1)), "root": np.zeros((1, 1, 1))}
    _, meta = load_arrays(saved)
    params = {**meta["params"], "covariance": "full"}
    counts = {**meta["counts"], "n_features_in_": n}
    header = {"params": params, "counts": counts}
    with pytest.raises(ValueError, match=r"root of shape \(1, 1, 1\) for 3000001 weights"):
        load(rewritten(saved, tmp_path / "m", header=header, arrays=wide))
    many = {"classes": {"dtype": "<i8", "values": list(range(100_000))}, "counts": counts}
    with pytest.raises(ValueError, match="for 3000000 features and 100000 classes"):
        load(rewritten(saved, tmp_path / "m", header=many, arrays={"mean": wide["mean"]}))
    model = herder.online.NHERD(covariance="full", kernel="rbf").fit(X[:1].repeat(2, 0), [0, 1])
    save(model, tmp_path / "k")
    with pytest.raises(ValueError, match="drift of shape"):
        load(rewritten(tmp_path / "k", tmp_path / "m", arrays={"coef": np.zeros(n)}))


def test_parameters_within_parameters_come_back():
    nested = {"a": {"b": (1, [2.5, None])}, 3: ({"c": True},)}
    model = NHERD(class_weight=nested)
    assert read_params(plain_params(model))["class_weight"] == nested


def test_a_full_disk_is_an_error_of_the_system_and_leaves_nothing(saved, tmp_path, monkeypatch):
    from safetensors import SafetensorError

    def full(*_, **__):
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("safetensors.numpy.save_file", full)
    with pytest.raises(OSError, match="could not be written: I/O error: No space left"):
        save(load(saved), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_loading_says_nothing(saved):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(saved)


def test_facts_beside_a_model_stay_with_it(tmp_path):
    rows, labels = np.eye(4), [0, 1, 0, 1]
    facts = {"input": {"normalise": True}}
    save(NHERD().fit(rows, labels), tmp_path / "a.safetensors", meta=facts)
    model = load(tmp_path / "a.safetensors").partial_fit(rows, labels)
    save(merge_classifiers([model, model]), tmp_path / "b.safetensors")
    assert read_model(tmp_path / "b.safetensors")[1] == facts
    with pytest.raises(ValueError, match="of one way to read rows"):
        merge_classifiers([model, NHERD().fit(rows, labels)])
    save(model.fit(rows, labels), tmp_path / "c.safetensors")
    assert read_model(tmp_path / "c.safetensors")[1] == {}
