import json

import numpy as np
import pytest

from herder import MomentHerder, Moments, load
from herder.core.checkpoint import load_checkpoint
from herder.fields.live import Position
from herder.io import read_model
from herder.samplers.sampling import SamplingPosition
from tests.golden import files

EXPECTED = json.loads(files.ANSWERS.read_text())
MOMENTS = ("binary", "weights", "words")


def assert_same(found, expected):
    """Equal, and numbers equal but for the last bits, which may differ between machines."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, list) and all(isinstance(item, list | float) for item in value):
            assert np.allclose(found[name], value, rtol=1e-9, atol=1e-12, equal_nan=True), name
        else:
            assert json.loads(json.dumps(found[name])) == value, name


def path(key, suffix="safetensors"):
    return files.FOLDER / f"{key}.{suffix}"


def test_every_file_is_read_here():
    keys = {*files.CLASSIFIERS, *(f"machine-{key}" for key in (*files.MACHINES, "stream"))}
    keys |= {"pairwise", "potts", "position-moments"}
    keys |= {f"position-{key}" for key in files.SAMPLERS}
    keys |= {f"checkpoint-{key}" for key in files.SYSTEMS} | {f"moments-{key}" for key in MOMENTS}
    assert keys == set(EXPECTED)
    assert {file.stem for file in files.FOLDER.iterdir()} == {*keys, "answers"}


@pytest.mark.parametrize("key", files.CLASSIFIERS)
def test_classifier(key):
    model, meta = read_model(path(key))
    assert meta == {"note": [1, "\u00e4"]}
    with np.errstate(over="ignore"):  # without the compiler NumPy warns of what is then bounded
        answers = files.answers_of_classifier(model, key)
    assert_same(answers, EXPECTED[key])


@pytest.mark.parametrize("key", [*files.MACHINES, "stream"])
def test_machine(key):
    model = load(path(f"machine-{key}"))
    assert_same(files.answers_of_machine(model, key), EXPECTED[f"machine-{key}"])


@pytest.mark.parametrize("key", ["pairwise", "potts"])
def test_field(key):
    model = load(path(key))
    energy = model.energy(np.ones((1, model.n_sites), int))
    assert np.allclose(energy, EXPECTED[key]["energy"], rtol=1e-12)


@pytest.mark.parametrize("key", files.SAMPLERS)
def test_position_of_a_sampler(key):
    position = SamplingPosition.load(path(f"position-{key}"))
    run = files.SAMPLERS[key](15, resume=position)
    assert_same(files.answers_of_run(run), EXPECTED[f"position-{key}"])


def test_position_of_a_moment_herd():
    position = Position.load(path("position-moments"))
    more = MomentHerder(encoding="01").fit(files.BITS).herd(15, resume=position)
    assert more.samples.tolist() == EXPECTED["position-moments"]["samples"]


@pytest.mark.parametrize("key", files.SYSTEMS)
def test_checkpoint(key):
    found = load_checkpoint(path(f"checkpoint-{key}"))
    assert_same(files.answers_of_checkpoint(found, key), EXPECTED[f"checkpoint-{key}"])


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
@pytest.mark.parametrize("key", MOMENTS)
def test_moments(key, suffix):
    moments = Moments.load(path(f"moments-{key}", suffix))
    assert_same(files.answers_of_moments(moments), EXPECTED[f"moments-{key}"])
