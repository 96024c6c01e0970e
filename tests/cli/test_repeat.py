"""The command that a report prints under "To repeat it" makes the same files again."""

import html
import re
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from herder.cli import app
from tests.cli.conftest import binary_rows, write_csv


def run(words):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files whose names must be quoted."""
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).normal(size=(60, 3)).round(3)
    table = [[*row, "ab"[i % 2]] for i, row in enumerate(rows.tolist())]
    write_csv(tmp_path / "my draws.csv", ("x", "y z", "w", "kind"), table)
    write_csv(tmp_path / "it's.csv", list("vwxyz"), binary_rows().tolist())
    write_csv(tmp_path / "edges.csv", ("source", "target", "weight"), [[0, 1, 0.5], [1, 2, 1]])
    return tmp_path


@pytest.mark.parametrize(
    "typed",
    [
        "thin 'my draws.csv' -n 5 -o few.csv --standardise --no-mmd --drop kind --drop w",
        "thin 'my draws.csv' -n 6 -o few.csv --no-standardize --label-column kind --mmd "
        "--no-refine --indices picks.npz --kernel laplace --bandwidth 1.5 --columns x,'y z' "
        "--max-memory 1G",
        "synth \"it's.csv\" -n 40 -o 'a b.csv' --where v=1 --where w=0 --count-above 2 --order 3",
        "sample edges.csv -n 20 -o states.npz --states=-1,1 --evidence 0=-1 --chains 2 "
        "--tempering 1,2 --marginals sites.csv --random-state 3",
        "sample ising:4x4 -n 20 -o states.npz --method herded-gibbs --order checkerboard",
        'learn field "it\'s.csv" -o m.safetensors --alpha 0.01 --drop v --drop w --skip-gaps '
        '--test "it\'s.csv"',
        "learn conditional 'my draws.csv' -o m.safetensors --label kind --drop w --hidden 5 "
        "--multi-class one-vs-rest --epochs 2 --random-state 3 --test 'my draws.csv'",
        "learn boosted 'my draws.csv' -o m.safetensors --drop kind --features dimple --rounds 3 "
        "--early-stopping --contamination 0.2 --random-state 3 --test 'my draws.csv'",
    ],
)
def test_the_command_of_a_report_makes_the_same_files(folder, typed):
    before = {path.name for path in folder.iterdir()}
    run([*shlex.split(typed), "--report", "the page.html"])
    made = {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in before}
    assert len(made) >= 2
    page = made["the page.html"].decode()
    (command,) = re.findall(r"<pre>(herder .*?)</pre>", page, re.DOTALL)
    for name in made:
        (folder / name).unlink()
    name, *words = shlex.split(html.unescape(command))
    assert name == "herder"
    run(words)
    for name, content in made.items():
        assert (folder / name).read_bytes() == content, name
