"""Damaged table files: read or refused, never a crash, a hang or a foreign exception.

`make test` runs a seeded sample of the cases, `make slow` all of them.
"""

import random

import pytest

pytest.importorskip("resource")

from tests.abuse import tables
from tests.abuse.running import CRASH, FOREIGN, HANG, REFUSED, SAME, run_cases, tally

#: Of each kind of damage, so many cases are in the sample.
N_SAMPLE = {"flip": 700, "cut": 300, "forge": 300}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tables")
    tables.write_all(place)
    return place


def cases_of(kind, folder):
    """Return all cases of one kind of damage."""
    if kind == "forge":
        return list(tables.forgeries())
    damage = tables.flips if kind == "flip" else tables.cuts
    return [
        case
        for key, found in tables.KINDS.items()
        for case in damage(key, (folder / f"{key}{found.suffix}").read_bytes())
    ]


def run(cases, folder):
    found = run_cases("tests.abuse.tables:make", cases, given=[str(folder)], megabytes=1024)
    print(f"{len(cases):,} damaged tables: {tally(found)}")
    bad = [one for one in found if one.outcome in (CRASH, HANG, FOREIGN)]
    assert not bad, f"{len(bad)} of {len(cases)}: {bad[:5]}"
    loaded = [one for one in found if one.case[0] == "cut" and one.outcome != REFUSED]
    assert not [one for one in loaded if one.case[1].startswith("counts")], loaded[:5]
    return found


def test_a_sample_of_the_damage(folder):
    draw = random.Random(1)
    cases = [c for kind, n in N_SAMPLE.items() for c in draw.sample(cases_of(kind, folder), n)]
    run(cases, folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", N_SAMPLE)
def test_all_damage(folder, kind):
    run(cases_of(kind, folder), folder)


def test_damage_is_seen(folder):
    """What is not damaged is the same, another digit is another table, and a cut is refused."""
    attempt = tables.make(str(folder))
    data = (folder / "csv-numbers.csv").read_bytes()
    assert attempt(["flip", "csv-numbers", 0, 0]) == SAME
    assert attempt(["flip", "csv-numbers", data.index(b"\n") + 1, 1]) == tables.ACCEPTED
    assert attempt(["cut", "npy", 100]) == REFUSED
