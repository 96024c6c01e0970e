"""Two published reports that differ, typed into one file."""

import numpy as np
import pytest
from typer.testing import CliRunner

from herder.cli import app
from herder.data import open_table

BOTH = """variable_a,variable_b,count,total
coughs,coughs,120,300
fever,fever,90,300
coughs,fever,60,300
coughs,coughs,210,500
smokes,smokes,150,500
coughs,smokes,90,500
"""


@pytest.fixture
def both_csv(tmp_path):
    path = tmp_path / "both.csv"
    path.write_text(BOTH)
    return path


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_synth_refuses_them_and_names_lines_and_remedy(both_csv, tmp_path):
    out = tmp_path / "rows.csv"
    done = run("synth", both_csv, "-n", 100, "-o", out)
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert f"P(coughs=1) = 0.4 (120 of 300 in line 2 of {both_csv})" in line
    assert f"0.42 (210 of 500 in line 5 of {both_csv})" in line
    assert line.count("--contradictions nearest") == 1
    assert not out.exists()


def test_synth_goes_to_the_mean_on_request(both_csv, tmp_path):
    out = tmp_path / "rows.csv"
    done = run("synth", both_csv, "-n", 2000, "-o", out, "--contradictions", "nearest")
    assert done.exit_code == 0, done.output
    assert "contradictions: 1, the worst: the single coughs is stated twice" in done.stdout
    rows = np.concatenate([chunk["coughs"] for chunk in open_table(out).chunks()])
    assert rows.mean() == pytest.approx((0.4 + 0.42) / 2, abs=0.005)


def test_moments_lists_the_conflict_and_writes_the_means(both_csv, tmp_path):
    out = tmp_path / "means.csv"
    done = run("moments", both_csv, "-o", out)
    assert done.exit_code == 0, done.output
    assert "contradictions: 1, the worst first" in done.stdout
    assert "coughs,coughs,205,500" in out.read_text()
