"""Damaged files of state: refused, or the same; never a crash, a hang or a foreign exception.

`make test` runs a seeded sample of the cases, `make slow` all of them.
"""

import json
import random
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("resource")

from herder import NHERD
from herder.cli import app
from herder.core.state import read_file
from herder.io import HOMES, save
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


def other_file(path, dtype):
    """Write a safetensors file as language models have them."""
    array = {"dtype": dtype, "shape": [1, 2], "data_offsets": [0, 4 if dtype == "BF16" else 2]}
    header = json.dumps({"a": array, "__metadata__": {"format": "pt"}}).encode()
    data = bytes(array["data_offsets"][1])
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


VERBS = {
    "predict": ["predict", "m.safetensors", "t.csv"],
    "explain": ["predict", "m.safetensors", "--explain"],
    "learn": [
        "learn",
        "t.csv",
        "--text",
        "a",
        "--continue",
        "m.safetensors",
        "-o",
        "o.safetensors",
    ],
    "sample": ["sample", "m.safetensors", "-n", "3", "-o", "s.csv"],
}


OTHERS = [(verb, kind) for verb in VERBS for kind in ("BF16", "F8_E4M3", "hash bits")]


@pytest.mark.parametrize(
    ("verb", "kind"), [*OTHERS, *((verb, "loop") for verb in ("predict", "explain", "learn"))]
)
def test_verbs_refuse_a_model_in_one_line(tmp_path, monkeypatch, verb, kind):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("label,a\nx,one\ny,two\nx,one\n")
    if kind == "loop":
        Path("m.safetensors").symlink_to("m.safetensors")
    elif kind == "hash bits":
        columns = {"label": "label", "numbers": [], "text": ["a"], "hash_bits": 10**11}
        model = NHERD().fit(np.eye(16), np.resize(["x", "y"], 16))
        save(model, "m.safetensors", meta={"input": {"columns": columns}})
    else:
        other_file(Path("m.safetensors"), kind)
    done = CliRunner().invoke(app, VERBS[verb])
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.splitlines()
    assert "m.safetensors" in line


def test_damage_is_seen(folder):
    """What is not damaged is the same, and a case that must be refused is."""
    attempt = damage.make(str(folder))
    assert {attempt(["forge", key, "extra"]) for key in damage.THINGS} == {SAME}
    assert attempt(["forge", "nherd", "value", "mean", 5, "all"]) == damage.ACCEPTED
    assert attempt(["cut", "nherd", 100]) == damage.REFUSED
