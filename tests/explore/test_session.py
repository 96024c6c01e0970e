"""Commands of the page and the frames that answer them."""

import json
from itertools import islice
from typing import Any

import numpy as np
import pytest

from herder import thin
from herder.core import EnumeratedSystem, herd
from herder.explore import points as points_scene
from herder.explore import system as system_scene
from herder.explore.session import MOST_BYTES, Session
from herder.kernel import mmd
from tests.explore.frames import FOUR, SYSTEM, ask, command, unpack


@pytest.fixture
def session() -> Session:
    return Session()


def test_a_frame_has_the_number_of_its_command(session):
    assert unpack(session.answer(command("neuron", "start", 7, rate="5/8")))["id"] == 7


def test_weights_walk_as_those_of_the_loop(session):
    ask(session, "system", "start", **SYSTEM)
    parts = [ask(session, "system", "advance", n=n) for n in (1, 150, 49)]
    system = EnumeratedSystem(FOUR, SYSTEM["target"][0])
    steps = list(islice(herd(system, np.zeros(2)), 200))
    points = np.concatenate([part["points"] for part in parts])
    states = np.concatenate([part["states"] for part in parts])
    np.testing.assert_allclose(points, [step.weights for step in steps], atol=1e-6)
    assert states.tolist() == [step.state for step in steps]
    assert [part["t"] for part in parts] == [1, 151, 200]


def test_the_error_is_that_of_the_mean(session):
    ask(session, "system", "start", **SYSTEM)
    frame = ask(session, "system", "advance", n=1000)
    means = np.cumsum(np.array(FOUR)[frame["states"]], axis=0)
    times = frame["times"].astype(int)
    errors = np.linalg.norm(means[times - 1] / times[:, None] - SYSTEM["target"][0], axis=1)
    np.testing.assert_allclose(frame["herded"], errors, atol=1e-12)
    assert times[0] == 1
    assert frame["herded"][-1] < 0.01 < frame["random"][-1]


@pytest.mark.parametrize(
    ("temperature", "period"), [(0.6, 1), (0.3, 2), (0.13, 4), (0.11, 8), (0.104, 16), (0.05, 0)]
)
def test_the_period_doubles_as_the_system_cools(session, temperature, period):
    frame = ask(session, "system", "start", **{**SYSTEM, "temperature": temperature})
    assert frame["period"] == period
    assert len(frame["cycle"]) == period
    points = ask(session, "system", "advance", n=20_000)["points"]
    apart = np.linalg.norm(points[-1] - frame["cycle"], axis=1) if period else np.ones(1)
    assert (apart.min() < 1e-4) == bool(period)


def test_a_change_keeps_the_weights_and_a_restart_does_not(session):
    ask(session, "system", "start", **SYSTEM)
    last = ask(session, "system", "advance", n=500)["points"][-1]
    ask(session, "system", "start", keep=True, **{**SYSTEM, "temperature": 100.0})
    first = ask(session, "system", "advance", n=1)["points"][0]
    assert np.linalg.norm(first - last) < 1
    ask(session, "system", "start", **SYSTEM)
    (first,) = ask(session, "system", "advance", n=1)["points"]
    np.testing.assert_allclose(first, SYSTEM["target"][0] - np.array(FOUR)[0], atol=1e-6)


def test_a_run_ends(session, monkeypatch):
    monkeypatch.setattr(system_scene, "RUN_STEPS", 120)
    ask(session, "system", "start", **SYSTEM)
    assert [ask(session, "system", "advance", n=100).get("t") for _ in range(2)] == [100, 120]
    assert ask(session, "system", "advance", n=1)["error"] == "n must end the run after 120 steps"


def test_herded_points_are_those_of_thin_and_closer_than_random_ones(session):
    rows = np.random.default_rng(5).normal(size=(400, 3)).round(3)
    text = "a,b,c\n" + "\n".join(",".join(map(str, row)) for row in rows.tolist())
    first = ask(session, "points", "start", source="csv", text=text, name="draws.csv")
    assert (first["names"], first["n_rows"], first["n_columns"]) == (["a", "b"], 400, 3)
    np.testing.assert_allclose(first["rows"], rows[:, :2], atol=1e-6)
    frame = ask(session, "points", "advance", n=50)
    assert frame["herded"].tolist() == thin(rows, 200, refine=False).indices[:50].tolist()
    for name in ("herded", "random"):
        far = mmd(rows[frame[name]], rows)
        assert frame[f"{name}_mmd"][-1] == pytest.approx(far, rel=1e-6)
    assert frame["herded_mmd"][-1] < 0.7 * frame["random_mmd"][-1]


def test_points_end_with_the_sample(session):
    limit = ask(session, "points", "start", source="drawn", dabs=[[0.2, 0.3], [0.8, 0.1]])["limit"]
    counts = [ask(session, "points", "advance", n=150)["t"] for _ in range(3)]
    assert counts == [150, limit, limit]


def test_long_tables_are_spread_evenly(session, monkeypatch):
    monkeypatch.setattr(points_scene, "MOST_ROWS", 11)
    text = "a\n" + "\n".join(map(str, range(101)))
    frame = ask(session, "points", "start", source="csv", text=text, name="long.csv")
    assert frame["n_rows"] == 101
    assert frame["rows"][:, 0].tolist() == list(range(0, 101, 10))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "bad.csv must hold a table, got an empty file"),
        ("a,b\n1,2\n3\n", "line 3 of bad.csv must have 2 fields, as the header has, got 1"),
        ("a,b\n1,2\n1,2\n", "rows must differ, got equal rows"),
        ("a\n1\n", "rows must be two or more, got 1"),
        (
            "a,b\n1,\n2,3\n",
            "bad.csv must have finite values of ordinary size, got NaN in 1 row of column 'b', "
            "first in line 2. Drop these rows from the file, fill them in",
        ),
        ("\0\1", "bad.csv must be text, got a NUL in line 1"),
    ],
)
def test_a_bad_csv_is_explained(session, text, message):
    frame = ask(session, "points", "start", source="csv", text=text, name="bad.csv")
    assert frame == {"id": 1, "error": message}


def test_uploads_are_bounded(session):
    text = "1\n" * (points_scene.MOST_UPLOAD // 2 + 1)
    frame = ask(session, "points", "start", source="csv", text=text, name="large.csv")
    assert frame["error"] == "text must have at most 4,000,000 characters, got 4000002"
    frame = unpack(session.answer(" " * (MOST_BYTES + 1)))
    assert frame["error"].startswith("message must have at most")
    text = ",".join("abc") * 60 + "\n" + "1," * 120 + "1\n"
    frame = ask(session, "points", "start", source="csv", text=text, name="wide.csv")
    assert "error" in frame


def test_the_golden_neuron(session):
    first = ask(session, "neuron", "start", rate="golden")
    assert first["rate"] == pytest.approx((np.sqrt(5) - 1) / 2)
    assert first["period"] == 0
    frame = ask(session, "neuron", "advance", n=1000)
    assert "".join(map(str, frame["states"][:13])) == "1011010110110"
    assert frame["words"].tolist() == list(range(2, 18))
    expected = np.cumsum(frame["states"]) - first["rate"] * np.arange(1, 1001)
    np.testing.assert_allclose(frame["errors"], expected, atol=1e-6)


def test_a_rational_neuron_in_the_middle(session):
    assert ask(session, "neuron", "start", rate="5/8", centred=True)["period"] == 8
    frame = ask(session, "neuron", "advance", n=400)
    assert np.abs(frame["errors"]).max() <= 0.5
    assert (frame["states"][8:] == frame["states"][:-8]).all()


@pytest.mark.parametrize("rate", ["2", "x", "1/0", "-1", "nan", "1e-3", "1/2/3", ""])
def test_a_bad_rate_is_explained(session, rate):
    found = ask(session, "neuron", "start", rate=rate)["error"]
    assert found.startswith("rate must be a number from 0 to 1 such as 5/8 or 0.618")


def test_fields_start_alike_and_cool(session):
    first = ask(session, "field", "start", temperature=5.0)
    assert first["spins"].shape == (3, 64 * 64)
    assert (first["spins"] == first["spins"][0]).all()
    hot = ask(session, "field", "advance", n=64)
    kept = ask(session, "field", "start", temperature=1.0, keep=True)
    assert (kept["spins"] == hot["spins"]).all()
    cold = ask(session, "field", "advance", n=64)
    assert (cold["energy"] < hot["energy"]).all()
    assert (hot["energy"] > -0.8).all()
    spins = cold["spins"].reshape(3, 64, 64) * 2.0 - 1
    np.testing.assert_allclose(cold["magnetisation"], spins.mean(axis=(1, 2)))
    bonds = spins * (np.roll(spins, 1, axis=1) + np.roll(spins, 1, axis=2))
    np.testing.assert_allclose(cold["energy"], -bonds.mean(axis=(1, 2)))
    assert cold["t"] == 64


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"states": [[0, 0]] * 13}, "states must be 1 to 12 points, got 13"),
        ({"states": [[0, 0, 0]]}, "states must be points of the plane, got shape (1, 3)"),
        ({"states": 3}, "states must be 1 to 12 points, got int"),
        ({"states": [[0, 1], [1]]}, "states must"),
        ({"states": [[0, 1e9], [1, 1]]}, "states must be from -1000 to 1000"),
        ({"target": [[9, 9]]}, "moments must be a mean of the rows of features"),
        ({"temperature": -1}, "temperature must be from 0 to 1000, got -1.0"),
        ({"temperature": None}, "temperature must be a number, got None"),
    ],
)
def test_bad_settings_are_refused_by_name(session, change, message):
    found = ask(session, "system", "start", **{**SYSTEM, **change})
    assert found["error"].startswith(message)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("[", "Expecting value"),
        ("[]", "settings must be a mapping"),
        ("{}", "id must be given"),
        (command("system", "advance", n=1), "do must be 'start' first"),
        (command("system", "stop"), "do must be one of 'start', 'advance'"),
        (command("sytem", "start"), "scene must be one of 'system', 'points'"),
        (json.dumps({"id": 1, "scene": "field", "do": "start", "settings": 3}), "settings must"),
        ("[" * 100_000, ""),
    ],
)
def test_bad_commands_are_refused(session, given, message):
    assert unpack(session.answer(given))["error"].startswith(message)


@pytest.mark.parametrize("n", [0, -1, 1.5, 20_001, "1", None, 10**30])
def test_steps_of_a_frame_are_bounded(session, n: Any):
    ask(session, "system", "start", **SYSTEM)
    assert ask(session, "system", "advance", n=n)["error"].startswith("n must be")


def test_a_refused_start_leaves_the_scene(session):
    ask(session, "system", "start", **SYSTEM)
    assert "error" in ask(session, "system", "start", **{**SYSTEM, "temperature": -1})
    assert ask(session, "system", "advance", n=3)["t"] == 3
