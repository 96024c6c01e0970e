import json

import pytest

from tests.golden.make import FIELD_FILE, FILE, KERNEL_FILE, choices, sweeps, trajectories


@pytest.fixture(scope="module")
def found():
    return trajectories()


@pytest.mark.parametrize("key", list(json.loads(FILE.read_text())))
def test_trajectory_is_as_it_was(key, found):
    assert found[key] == json.loads(FILE.read_text())[key]


def test_every_trajectory_is_pinned(found):
    assert set(found) == set(json.loads(FILE.read_text()))


@pytest.fixture(scope="module")
def chosen():
    return choices()


@pytest.mark.parametrize("key", list(json.loads(KERNEL_FILE.read_text())))
def test_choice_is_as_it_was(key, chosen):
    assert chosen[key] == json.loads(KERNEL_FILE.read_text())[key]


def test_every_choice_is_pinned(chosen):
    assert set(chosen) == set(json.loads(KERNEL_FILE.read_text()))


@pytest.fixture(scope="module")
def swept():
    return sweeps()


@pytest.mark.parametrize("key", list(json.loads(FIELD_FILE.read_text())))
def test_sweep_is_as_it_was(key, swept):
    assert swept[key] == json.loads(FIELD_FILE.read_text())[key]


def test_every_sweep_is_pinned(swept):
    assert set(swept) == set(json.loads(FIELD_FILE.read_text()))
