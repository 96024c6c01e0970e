from importlib import import_module

import pytest

# `herder.kernel.mmd` as an attribute is the function of that name
candidates, mmd = import_module("herder.kernel.candidates"), import_module("herder.kernel.mmd")


@pytest.fixture
def compiled(monkeypatch):
    """Compiled loops for samples of any size."""
    monkeypatch.setattr(candidates, "SMALL_ROWS", 3)
    monkeypatch.setattr(mmd, "SMALL_ROWS", 3)


@pytest.fixture
def double(monkeypatch, compiled):
    """Compiled loops that choose in double precision."""
    monkeypatch.setattr(candidates, "SINGLE_REACH", 0.0)
