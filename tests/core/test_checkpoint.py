from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from herder.core import (
    EnumeratedSystem,
    MiniBatches,
    NeuronSystem,
    Step,
    herd,
    load_checkpoint,
    save_checkpoint,
)
from herder.core.state import ModelFileError, read_file, write_file
from tests.naming import refuses

ROWS = np.array([[0, 0], [3, 1], [1, 2]])


class LocalSearch:
    """Array states, and a maximiser that starts from the last: all a checkpoint must keep."""

    def maximise(self, weights, previous):
        state = np.zeros(3, dtype=np.int8) if previous is None else previous.copy()
        for i in range(3):
            state[i] = weights[i] + weights[(i + 1) % 3] * state[(i + 1) % 3] > 0
        return state

    def residual(self, weights, state, t):
        return np.array([1, 2, t % 3]) - 3 * state


OUTSIDE = EnumeratedSystem(ROWS.astype(float), [4.0, 0.5])


@pytest.mark.parametrize(
    ("system", "weights", "options"),
    [
        (EnumeratedSystem(ROWS, counts=[2, 3, 5]), [1, -1], {}),
        (EnumeratedSystem(ROWS, probabilities=[0.2, 0.3, 0.5]), [0.1, 0.0], {"rates": 0.3}),
        (OUTSIDE, [0.0, 0.0], {"max_norm": 4.0}),
        (NeuronSystem(Fraction(2, 7)), np.array([Fraction(1, 9)], dtype=object), {}),
        (LocalSearch(), [0, 0, 0], {}),
        (
            MiniBatches(
                EnumeratedSystem(ROWS, 2 * ROWS.sum(0), total=6), ROWS, batch_size=2, total=6
            ),
            [0, 0],
            {},
        ),
    ],
    ids=["integers", "floats", "rescaled", "fractions", "arrays", "batches"],
)
def test_resume_through_a_file(tmp_path, system, weights, options):
    whole = list(islice(herd(system, weights, **options), 90))
    path = tmp_path / "herd.safetensors"
    save_checkpoint(path, whole[39])
    kept = load_checkpoint(path)
    assert kept.weights.dtype == whole[39].weights.dtype
    assert type(kept.state) is type(whole[39].state)
    rest = herd(system, kept.weights, state=kept.state, t=kept.t, scale=kept.scale, **options)
    for a, b in zip(whole[40:], rest, strict=False):
        assert (a.t, a.tipi, a.scale) == (b.t, b.tipi, b.scale)
        assert np.array_equal(a.state, b.state)
        assert (a.weights == b.weights).all()


def test_more_arrays_and_meta_are_kept(tmp_path):
    step = Step(7, 3, np.array([[1, 2], [3, 4]]), np.zeros((2, 2), int), 0)
    path = tmp_path / "c"
    save_checkpoint(path, step, arrays={"sum": np.array([0.5])}, meta={"order": 2, "names": ["a"]})
    kept = load_checkpoint(path)
    assert kept.weights.tolist() == [[1, 2], [3, 4]]
    assert (kept.state, kept.t, kept.scale) == (3, 7, 1.0)
    assert kept.arrays["sum"].tolist() == [0.5]
    assert kept.meta == {"order": 2, "names": ["a"]}
    save_checkpoint(path, kept, meta={})
    assert load_checkpoint(path).t == 7


def test_fractions_of_any_size_come_back(tmp_path):
    weights = np.array([[Fraction(-(10**40), 3), 2**100]], dtype=object)
    save_checkpoint(tmp_path / "c", Step(1, 0, weights, weights, 0))
    kept = load_checkpoint(tmp_path / "c").weights
    assert kept.shape == (1, 2)
    assert (kept == weights).all()


@pytest.mark.parametrize("state", ["x", (1, 2), None, np.array(["x"])])
def test_states_that_are_not_numbers_are_refused(tmp_path, state):
    with refuses("state", TypeError):
        save_checkpoint(tmp_path / "c", Step(1, state, np.zeros(1), np.zeros(1), 0.0))
    assert not (tmp_path / "c").exists()


def text(words):
    return {"weights": np.frombuffer(words.encode(), np.uint8)}


@pytest.mark.parametrize(
    ("arrays", "header"),
    [
        (text("1e30000000"), {}),  # it would take minutes to write out
        (text("1/0"), {}),
        (text("0.5"), {}),
        (text("1 2"), {}),
        (text("nan"), {}),
        ({"weights": np.zeros(1)}, {}),
        ({"state": np.zeros(2, int)}, {}),
        ({"state": np.array(0)}, {}),
        ({"state": np.zeros(1)}, {}),
        ({}, {"exact": "x"}),
        ({}, {"scalar_state": 2}),
        ({}, {"t": -1}),
        ({}, {"scale": "x"}),
        ({}, {"weights_shape": [3]}),
        ({}, {"weights_shape": "x"}),
    ],
)
def test_steps_that_make_no_sense_are_refused(tmp_path, arrays, header):
    path = tmp_path / "c"
    save_checkpoint(path, Step(1, 0, np.array([Fraction(1, 3)]), np.zeros(1), 0))
    own, facts, _ = read_file(path)
    write_file(path, own | arrays, facts | header)
    with pytest.raises(ModelFileError, match="must hold a whole Checkpoint"):
        load_checkpoint(path)


def test_truncated_files_are_refused(tmp_path):
    path = tmp_path / "c"
    save_checkpoint(path, Step(1, 0, np.zeros(100), np.zeros(100), 0.0))
    whole = path.read_bytes()
    for length in (0, 5, 60, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="must be a whole safetensors file"):
            load_checkpoint(path)


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "c"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="must be a whole safetensors file"):
        load_checkpoint(path)
    write_file(path, {"weights": np.zeros(2)}, {"format": "another"})
    with pytest.raises(ModelFileError, match="must be a model file of herder, got another"):
        load_checkpoint(path)
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "missing")
