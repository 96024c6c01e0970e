import json

import pytest

from tests.golden.make import FILE, trajectories


@pytest.fixture(scope="module")
def found():
    return trajectories()


@pytest.mark.parametrize("key", list(json.loads(FILE.read_text())))
def test_trajectory_is_as_it_was(key, found):
    assert found[key] == json.loads(FILE.read_text())[key]


def test_every_trajectory_is_pinned(found):
    assert set(found) == set(json.loads(FILE.read_text()))
