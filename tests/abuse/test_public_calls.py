"""Hostile calls of every public name: each is answered or refused by name, and changes nothing."""

import inspect
from collections import Counter

import numpy as np
import pytest

pytest.importorskip("resource")

import herder
from tests.abuse.calls import CALLS, EXEMPT
from tests.abuse.generator import (
    ANSWERED,
    MUTATED,
    NOT_FINITE,
    attempt,
    cases,
    is_refusal,
)
from tests.abuse.hostile import ARRAYS, PLAIN
from tests.abuse.running import REFUSED, run_cases, tally

MAKER = "tests.abuse.generator:make"


def check(n_cases: int, seed: int) -> None:
    found = run_cases(MAKER, cases(n_cases, seed), seconds=60, megabytes=2000)
    print(f"\n{n_cases} hostile calls, seed {seed}: {tally(found)}")
    wrong = [one for one in found if one.outcome not in (ANSWERED, REFUSED)]
    assert wrong == [], "\n".join(map(str, wrong[:20]))


def test_a_sample_of_hostile_calls():
    check(1000, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_hostile_calls(seed):
    check(5000, 100 + seed)


def test_every_public_name_is_called():
    """By its own name, or as a method of a class that is; classes of results by their methods."""
    called = {part for name in CALLS for part in (name, name.split(",")[0], name.split(".")[0])}
    assert set(vars(herder)["__all__"]) - called - EXEMPT == set()
    from herder import datasets, metrics, plots, testing

    for module in (datasets, metrics, plots, testing):
        names = {n for n in module.__all__ if inspect.isfunction(getattr(module, n))}
        assert {n for n in names if inspect.signature(getattr(module, n)).parameters} <= {
            *called,
            "draw",
        }


def test_cases_are_the_same_for_a_seed_and_use_all_kinds_of_values():
    first = cases(2000, 7)
    assert first == cases(2000, 7)
    used = Counter(value for _, case in first for value in case.values())
    assert len(used) > 0.9 * len([*PLAIN, *ARRAYS])
    assert {len(case) for _, case in first} == {1, 2}


@pytest.mark.parametrize(
    ("call", "case"),
    [
        ("count_bounds", {"moments": "'a'"}),
        ("count_estimate", {"moments": "object"}),
        ("exact_samples", {"model": "frame"}),
        ("MomentHerder.sample", {"where": "'a'"}),
        ("GaussianMixture.sample", {"random_state": "'a'"}),
        ("save", {"path": "None"}),
        ("load", {"path": "b'a'"}),
        ("Moments.save", {"path": "None"}),
        ("Position.load", {"path": "b'a'"}),
        ("MomentHerder.fit", {"X": "twice the name"}),
        ("AROW.fit", {"X": "as Dataset"}),
        ("AROW.predict", {"X": "as LazyFrame"}),
        ("BoltzmannMachine.fit", {"X": "as LazyFrame"}),
        ("thin", {"X": "as LazyFrame"}),
        ("PassiveAggressive.decision_function", {"X": "csr beyond"}),
        ("gibbs", {"n_sweeps": "10**30"}),
    ],
)
def test_what_is_refused_by_name(call, case):
    assert attempt((call, case)) == REFUSED


def test_outcomes_are_told_apart(monkeypatch):
    """A call that changes its input, one that answers NaN, and one that fails inside NumPy."""

    def spoil(X):
        X[0] = 1.0

    for function, outcome in (
        (spoil, MUTATED),
        (lambda X: np.nan, NOT_FINITE),
        (lambda X: X.sum(), ANSWERED),
    ):
        call = herder_call(function)
        monkeypatch.setitem(CALLS, "probe", lambda call=call: call(np.zeros((4, 2))))
        assert attempt(("probe", {"X": "as float64"})) == outcome
    call = herder_call(lambda X: np.linalg.inv(X))
    monkeypatch.setitem(CALLS, "probe", lambda: call(np.zeros((2, 2))))
    with pytest.raises(np.linalg.LinAlgError):
        attempt(("probe", {"X": "as float64"}))
    call = herder_call(lambda X: np.log(X))
    with pytest.raises(RuntimeError, match="RuntimeWarning"):
        attempt(("probe", {"X": "as float64"}))


def herder_call(function):
    from tests.abuse.calls import Call

    return lambda X: Call(function, {"X": X})


@pytest.mark.parametrize(
    ("fail", "kind"),
    [
        (lambda: [][0], IndexError),
        (lambda: {}["a"], KeyError),
        (lambda: np.asarray([[1.0], [2.0, 3.0]]), ValueError),
        (lambda: np.zeros(2) @ np.zeros(3), ValueError),
        (lambda: object().nothing, AttributeError),  # pyright: ignore
    ],
)
def test_errors_of_others_are_no_refusals(fail, kind):
    with pytest.raises(kind) as caught:
        fail()
    assert not is_refusal(caught.value)


def test_our_errors_are_refusals():
    with pytest.raises(herder.ParameterError) as caught:
        herder.thin([[1.0]], -1)
    assert is_refusal(caught.value)
