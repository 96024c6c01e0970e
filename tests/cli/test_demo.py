import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from herder.cli import app
from herder.cli.demo import JOBS, load_job

ROOT = Path(__file__).parents[2]


@pytest.fixture
def small(monkeypatch):
    sizes = {
        "thin": {"N_DRAWS": 2000, "N_RANDOM": 5},
        "moments": {"N_ROWS": 1000},
        "noise": {"STRIDE": 40, "RATES": (0.1,), "N_STREAM": 300},
        "classify": {"STRIDE": 8, "N_HIDDEN": 10, "N_FOLDS": 2},
        "fields": {"SWEEPS": (100, 200), "N_LEARN": 400, "N_HIDDEN": 2},
    }
    for name, values in sizes.items():
        for constant, value in values.items():
            monkeypatch.setattr(load_job(name), constant, value)


def test_demo_writes_a_page(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["demo"])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == f"{Path('demo', 'index.html')}: herder at work"
    assert sum("(independent columns)" in line for line in lines) == 2
    assert lines[2].split() == ["job", "measured", "herder", "alternative"]
    assert len(lines) == 3 + 10
    assert all("best)" in line for line in lines[3:])
    assert sum("(random)" in line for line in lines) == 2
    html = Path("demo", "index.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|<link|<script|url\(", html)
    titles = re.findall("<h2>(.*)</h2>", html)
    assert titles == [
        "A posterior in 100 draws",
        "A table from its pair counts",
        "The loop, step by step",
        "Noisy labels",
        "Classification with hidden units",
        "Sampling a random field",
        "Imputing missing pixels",
        "To repeat it",
    ]
    for line in lines[3:]:
        what = re.split("  +", line)[-1]
        assert what in html


def test_demo_makes_no_other_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["demo", "-o", "elsewhere/index.html"])
    assert done.exit_code == 2
    assert "--output must lie in a folder that exists" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_worst_pairs_come_first():
    from herder import Moments

    script = load_job("moments")
    a, b, c = [0, 1, 1, 0], [0, 1, 0, 1], [1, 1, 0, 1]
    wanted = Moments.from_data({"a": a, "b": b, "c": c})
    reached = Moments.from_data({"a": a, "b": b, "c": [0, 1, 0, 1]})
    first, second = script.worst_pairs(wanted, reached, 2)
    assert [row[0] for row in (first, second)] == ["a = 0, c = 0", "b = 0, c = 0"]
    assert first[1:] == (0.0, 0.25, 0.25)


def test_a_wheel_carries_the_scripts():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    targets = settings["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"]["force-include"] == {"examples/demo": "herder/_demo"}
    assert "examples" in targets["sdist"]["include"]
    assert {path.stem for path in (ROOT / "examples" / "demo").glob("*.py")} == set(JOBS)
