"""Damaged files of state: refused, or the same; never a crash, a hang or a foreign exception.

`make test` runs a seeded sample of the cases, `make slow` all of them.
"""

import random
from itertools import islice

import pytest

pytest.importorskip("resource")

from herder.core.state import read_file
from herder.io import HOMES
from tests.abuse import damage
from tests.abuse.running import BAD, SAME, run_cases, tally

#: Of each kind of damage, so many cases are in the sample.
N_SAMPLE = {"flip": 700, "cut": 300, "old": 500, "forge": 900}

#: CPU seconds of a case: some compile a loop for other dtypes.
SECONDS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("state")
    damage.write_all(place)
    return place


def cases_of(kind, folder):
    """Return all cases of one kind of damage."""
    found = []
    if kind == "old":  # without a digest many load, and are used: one flip of each byte will do
        for key, path in damage.OLD.items():
            found += islice(damage.flips(f"old/{key}", path.read_bytes()), 0, None, 2)
        return found
    for key in damage.THINGS:
        path = folder / f"{key}.safetensors"
        if kind == "forge":
            found += damage.forgeries(key, *read_file(path)[:2])
        else:
            found += (damage.flips if kind == "flip" else damage.cuts)(key, path.read_bytes())
    return found


def run(cases, folder):
    found = run_cases("tests.abuse.damage:make", cases, given=[str(folder)], seconds=SECONDS)
    print(f"{len(cases):,} damaged files of state: {tally(found)}")
    wrong = [one for one in found if one.outcome in BAD]
    assert not wrong, f"{len(wrong)} of {len(cases)}: {wrong[:5]}"
    return found


def test_every_class_is_damaged(folder):
    names = {read_file(path)[1]["class"] for path in folder.iterdir()}
    assert names == set(HOMES)


def test_a_sample_of_the_damage(folder):
    draw = random.Random(1)
    cases = [c for kind, n in N_SAMPLE.items() for c in draw.sample(cases_of(kind, folder), n)]
    found = run(cases, folder)
    cut = [one for one in found if one.case[0] == "cut"]
    assert not [one for one in cut if one.outcome == SAME]


@pytest.mark.slow
@pytest.mark.parametrize("kind", N_SAMPLE)
def test_all_damage(folder, kind):
    run(cases_of(kind, folder), folder)


def test_damage_is_seen(folder):
    """What is not damaged is the same, and a case that must be refused is."""
    attempt = damage.make(str(folder))
    assert attempt(["forge", "nherd", "extra"]) == SAME
    assert attempt(["forge", "nherd", "value", "mean", 5, "all"]) == damage.ACCEPTED
    assert attempt(["cut", "nherd", 100]) == damage.REFUSED
