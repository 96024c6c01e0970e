"""Names of version 0.1.0 that have better ones now."""

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import herder
from tests.naming import refuses

NAMES = [
    ("herder", "Losses", "ColumnErrors"),
    ("herder.kernel", "Losses", "ColumnErrors"),
    ("herder", "diagnose", "check_scan_orders"),
    ("herder", "estimate", "estimate_expectation"),
    ("herder", "merge", "merge_classifiers"),
    ("herder.samplers", "diagnose", "check_scan_orders"),
    ("herder.samplers.diagnose", "diagnose", "check_scan_orders"),
    ("herder.samplers.diagnose", "ScanReport", "ScanReport"),
    ("herder.samplers.diagnose", "OrderReport", "OrderReport"),
    ("herder.online", "merge", "merge_classifiers"),
    ("herder.online.merging", "merge", "merge_classifiers"),
    ("herder.fields.uncertainty", "estimate", "estimate_expectation"),
]


@pytest.mark.parametrize(("module", "old", "new"), NAMES)
def test_old_names_are_the_new_ones_with_a_warning(module, old, new):
    home = import_module(module)
    home.__dict__.pop(old, None)  # a submodule of that name, once it was imported
    with pytest.warns(
        DeprecationWarning, match=f"{module}.{old} is deprecated: use {new}"
    ) as seen:
        found = getattr(home, old)
    assert found.__name__ == new
    assert seen[0].filename == __file__
    assert old not in getattr(home, "__all__", ())


def test_new_names_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in herder._HOME:
            getattr(herder, name)


def test_every_of_a_sampler_is_thinning_or_no_keeping():
    model = herder.PairwiseModel.grid((3, 3), 0.2)
    every: Any  # no option that type checkers know
    for every, new in [({"every": 3}, {"thinning": 3}), ({"every": 0}, {"keep": False})]:
        with pytest.warns(DeprecationWarning, match="every .* thinning") as seen:
            found = herder.gibbs(model, 12, **every)
        assert seen[0].filename == __file__
        np.testing.assert_array_equal(found.samples, herder.gibbs(model, 12, **new).samples)
    every = {"every": -1}
    with pytest.warns(match="every"), refuses("every"):
        herder.gibbs(model, 12, **every)


def test_shares_of_thin_is_allocation_and_loss_is_column_errors():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.warns(DeprecationWarning, match="shares .* allocation") as seen:
        found = herder.thin(X, 6, y=np.arange(30) % 3, shares="equal")
    assert seen[0].filename == __file__
    new = herder.thin(X, 6, y=np.arange(30) % 3, allocation="equal")
    np.testing.assert_array_equal(found, new)
    with pytest.warns(DeprecationWarning, match=r"Thinning\.loss .* column_errors") as seen:
        errors = found.loss()
    assert seen[0].filename == __file__
    assert str(errors) == str(new.column_errors())


def test_old_attributes():
    rows = np.random.default_rng(0).integers(0, 2, size=(40, 3))
    rows[:, 2] = rows[:, 0]
    herded = herder.MomentHerder().fit(rows)
    herded.sample(10)
    fitted = herder.BoltzmannMachine().fit(rows).diagnostics_
    for owner, old, new in [
        (herded.diagnostics_, "twins", "duplicate_share"),
        (fitted, "twins", "duplicate_columns"),
        (herded.moments_.variables[0], "is_switch", "is_binary"),
    ]:
        with pytest.warns(DeprecationWarning, match=rf"{type(owner).__name__}\.{old} .* {new}"):
            assert getattr(owner, old) == getattr(owner, new)
