import itertools
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from herder import NHERD
from herder.cli import app
from herder.data import open_table
from herder.io import save
from herder.learn.boltzmann import BoltzmannMachine
from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel

W = np.array([[0.0, 2.0, -1.0], [2.0, 0.0, 0.5], [-1.0, 0.5, 0.0]])
B = np.array([-0.5, 0.2, 0.1])
NAMES = ("rain", "wind", "cold")
TABLE = "id,cold,rain,wind\na,1,,\nb,,1,\nc,0,0,1\nd,,,\n"


def chances(states: tuple[int, int], known: dict[int, int]) -> np.ndarray:
    """Probability of the upper state of each site given some, by brute force."""
    x = np.array(list(itertools.product(states, repeat=3)))
    x = x[[all(row[site] == value for site, value in known.items()) for row in x]]
    p = np.exp(np.einsum("si,ij,sj->s", x, W, x) / 2 + x @ B)
    return (p / p.sum()) @ (x == states[1])


@pytest.fixture
def model(tmp_path) -> Path:
    save(PairwiseModel(W, B, names=NAMES), tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


@pytest.fixture
def table(tmp_path) -> Path:
    (tmp_path / "t.csv").write_text(TABLE, encoding="utf-8")
    return tmp_path / "t.csv"


def invoke(*words: object):
    return CliRunner().invoke(app, ["predict", *(str(word) for word in words)])


def columns(path: Path) -> dict[str, np.ndarray]:
    (chunk,) = open_table(path).chunks()
    return chunk


def error_line(*words: object) -> str:
    result = invoke(*words)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    return line


KNOWN = [{2: 1}, {0: 1}, {2: 0, 0: 0, 1: 1}, {}]


def test_gaps_are_filled_with_the_more_probable_value(model, table, tmp_path):
    result = invoke(model, table, "-o", tmp_path / "o.csv")
    assert result.exit_code == 0, result.output
    found = columns(tmp_path / "o.csv")
    assert list(found) == ["id", "cold", "rain", "wind"]
    assert found["id"].tolist() == ["a", "b", "c", "d"]
    exact = np.array([chances((0, 1), known) for known in KNOWN])
    filled = np.column_stack([found[name] for name in NAMES])
    np.testing.assert_array_equal(filled, (exact > 0.5).astype(int))
    first, second = result.stdout.splitlines()
    assert first == f"{tmp_path / 'o.csv'}: 4 rows, filled 7 gaps among 12 cells"
    sure = np.maximum(exact, 1 - exact)
    expected = (sure.sum() - 5) / 7  # five cells are known
    assert float(second.rpartition(": ")[2]) == pytest.approx(expected, abs=1e-4)


def test_probabilities_are_those_of_all_states(model, table, tmp_path):
    result = invoke(model, table, "-o", tmp_path / "o.npz", "--probabilities", "-q")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    found = columns(tmp_path / "o.npz")
    exact = np.array([chances((0, 1), known) for known in KNOWN])
    np.testing.assert_allclose(np.column_stack([found[name] for name in NAMES]), exact)


def test_answers_go_to_the_standard_output(model, table):
    result = invoke(model, table)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "id,cold,rain,wind"
    assert result.stdout.splitlines()[3] == "c,0,0,1"
    assert "4 rows, filled 7 gaps among 12 cells" in result.stderr


def test_words_for_gaps(model, table, tmp_path):
    words = "id,cold,rain,wind\na,1,NA,n/a\nb,?,1,null\nc,0,0,1\nd,nan,NONE, Na \n"
    (tmp_path / "w.csv").write_text(words, encoding="utf-8")
    plain, worded = invoke(model, table), invoke(model, tmp_path / "w.csv")
    assert worded.exit_code == 0, worded.output
    assert worded.stdout == plain.stdout
    assert "filled 7 gaps among 12 cells" in worded.stderr


def test_an_error_further_down_prints_no_answers(model, tmp_path):
    text = "rain,wind,cold\n" + "1,,0\n" * 30_000 + "1,maybe,0\n"
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    result = invoke(model, tmp_path / "t.csv")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.rstrip().endswith(
        "must hold 0 or 1, got 'maybe' in line 30,002: gaps are empty cells, NA, N/A, NaN, null, "
        "None and ?"
    )


def test_other_states_and_a_machine(tmp_path):
    rng = np.random.default_rng(0)
    X = 2 * (rng.random((200, 3)) < 0.2 + 0.6 * rng.random((200, 1))).astype(int) - 1
    machine = BoltzmannMachine().fit(X)
    save(machine, tmp_path / "m.safetensors")
    (tmp_path / "t.csv").write_text("x0,x1,x2\n1,-1,\n,1,1\n", encoding="utf-8")
    result = invoke(tmp_path / "m.safetensors", tmp_path / "t.csv", "-o", tmp_path / "o.csv")
    assert result.exit_code == 0, result.output
    found = np.column_stack(list(columns(tmp_path / "o.csv").values()))
    both = 1 / (
        1
        + np.exp(
            -2 * (np.array([[1, -1, 0], [0, 1, 1]]) @ machine.couplings_) - 2 * machine.biases_
        )
    )
    assert found.tolist() == [
        [1, -1, 1 if both[0, 2] > 0.5 else -1],
        [1 if both[1, 0] > 0.5 else -1, 1, 1],
    ]


def test_couplings_are_listed(model, table, tmp_path):
    result = invoke(model, "--explain", "--top", 2)
    assert result.exit_code == 0
    title, *rest = result.stdout.splitlines()
    assert title == "PairwiseModel, 3 sites, 3 couplings"
    assert [line.split(None, 1) for line in rest] == [
        ["coupling", "sites"],
        ["2", "rain, wind"],
        ["-1", "rain, cold"],
        ["bias", "site"],
        ["-0.5", "rain"],
        ["0.2", "wind"],
    ]
    result = invoke(model, table, "--explain", "-o", tmp_path / "o.csv")
    assert "filled 7 gaps" in result.stdout
    assert "rain, wind" in result.stdout
    assert (tmp_path / "o.csv").exists()


def test_what_a_field_does_not_take(model, table, tmp_path):
    line = error_line(model, table, "--label", "id")
    assert "--label must be left out for a random field, got 'id'" in line
    assert "--skip-broken must be left out" in error_line(model, table, "--skip-broken")
    assert "--by must be left out" in error_line(model, "--explain", "--by", "confidence")
    (tmp_path / "b.csv").write_text("rain,wind\n1,0\n", encoding="utf-8")
    assert "must have a column 'cold', as the random field" in error_line(
        model, tmp_path / "b.csv"
    )
    (tmp_path / "c.csv").write_text("rain,wind,cold\n1,0,\n1,0,-1\n", encoding="utf-8")
    line = error_line(model, tmp_path / "c.csv", "-o", tmp_path / "o.csv")
    assert line.endswith("must hold 0 or 1, got -1 in line 3")
    assert not (tmp_path / "o.csv").exists()
    save(PottsModel.grid(3), tmp_path / "p.safetensors")
    line = error_line(tmp_path / "p.safetensors", table)
    assert "got the PottsModel of" in line
    assert "herder sample --evidence" in line
    save(NHERD().fit(np.eye(2), [0, 1]), tmp_path / "n.safetensors")
    line = error_line(tmp_path / "n.safetensors", table, "--probabilities")
    assert "--probabilities must be left out for NHERD" in line
