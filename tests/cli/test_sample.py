import csv
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from herder.cli import app
from herder.data import open_table
from herder.io import save
from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel
from herder.samplers.gibbs import gibbs

EDGES = "source,target,weight\nrain,wind,0.8\nwind,cold,-0.5\nrain,dark,0.3\n"
BIASES = "site,bias\nwind,0.2\nrain,-0.4\nlate,1.1\n"


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def invoke(*words: object):
    return CliRunner().invoke(app, ["sample", *(str(word) for word in words)])


def done(*words: object) -> list[str]:
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout.splitlines()


def columns(path: Path) -> dict[str, np.ndarray]:
    source = open_table(path)
    parts = list(source.chunks())
    return {name: np.concatenate([part[name] for part in parts]) for name in source.names}


def rows_of(path: Path) -> np.ndarray:
    return np.column_stack(list(columns(path).values()))


def all_states(n: int, states: tuple[int, ...]) -> np.ndarray:
    return np.array(list(itertools.product(states, repeat=n)))


def summed(W: np.ndarray, b: np.ndarray, states: tuple[int, int]) -> np.ndarray:
    """Marginals of the upper state by brute force."""
    x = all_states(len(b), states)
    p = np.exp(np.einsum("si,ij,sj->s", x, W, x) / 2 + x @ b)
    return (p / p.sum()) @ (x == states[1])


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("models") / "small.safetensors"
    save(PairwiseModel.random(4, random_state=3, states=(0, 1)), path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".npz", ".parquet"])
def test_states_are_those_of_the_library(small, tmp_path, suffix):
    out = tmp_path / f"rows{suffix}"
    lines = done(small, "-n", 30, "-o", out, "--random-state", 5, "--burn-in", 7)
    model = PairwiseModel.random(4, random_state=3, states=(0, 1))
    np.testing.assert_array_equal(
        rows_of(out), gibbs(model, 30, burn_in=7, random_state=5).samples
    )
    assert list(columns(out)) == ["x0", "x1", "x2", "x3"]
    assert lines[0] == f"{out}: 30 states of 4 sites by Gibbs sampling"
    assert " ".join(lines[2].split()) == "chains 1 of 30 sweeps each, after 7 of burn-in"


def test_chains_share_the_states_and_thinning_leaves_some_out(small, tmp_path):
    out = tmp_path / "rows.npy"
    done(small, "-n", 11, "-o", out, "--chains", 4, "--thinning", 3)
    model = PairwiseModel.random(4, random_state=3, states=(0, 1))
    chains = gibbs(model, 9, n_chains=4, thinning=3, random_state=0).chains
    expected = np.concatenate([chains[0], chains[1], chains[2], chains[3][:2]])
    np.testing.assert_array_equal(np.load(out), expected)


def test_marginals_of_an_edge_list_are_right(tmp_path):
    """Five standard errors of independent draws, widened to the effective number of draws."""
    edges, biases = written(tmp_path / "e.csv", EDGES), written(tmp_path / "b.csv", BIASES)
    table = tmp_path / "m.csv"
    done(edges, "--biases", biases, "--states=-1,1", "-n", 20_000, "--marginals", table)
    found = columns(table)
    assert list(found) == ["site", "probability", "error", "r_hat", "ess"]
    assert found["site"].tolist() == ["wind", "rain", "late", "cold", "dark"]
    W = np.zeros((5, 5))
    for i, j, weight in ((1, 0, 0.8), (0, 3, -0.5), (1, 4, 0.3)):
        W[i, j] = W[j, i] = weight
    exact = summed(W, np.array([0.2, -0.4, 1.1, 0.0, 0.0]), (-1, 1))
    tolerance = 5 * np.sqrt(exact * (1 - exact) / 5_000)
    assert (np.abs(found["probability"] - exact) < tolerance).all()
    assert (found["error"] < 0.02).all()
    assert (found["ess"] > 1_000).all()


def test_an_edge_list_of_numbers_is_in_order(tmp_path):
    text = "target,source,weight,note\n10,2,1,a\n2,3,-1,b\n"
    edges = written(tmp_path / "e.csv", text)
    done(edges, "-n", 5, "-o", tmp_path / "o.npz", "--evidence", "10=1", "--evidence", "2=1")
    found = columns(tmp_path / "o.npz")
    assert list(found) == ["2", "3", "10"]
    assert (found["10"] == 1).all()
    assert (found["2"] == 1).all()


def test_labels_that_are_numbers_are_names_not_counts(tmp_path):
    """Site "1" is the first of three: held at 0 it says 0, and its neighbour is as summed."""
    edges = written(tmp_path / "e.csv", "source,target,weight\n1,2,0.9\n2,3,-0.6\n")
    biases = written(tmp_path / "b.csv", "site,bias\n3,0.7\n1,-0.2\n")
    words = (edges, "--biases", biases, "-n", 20_000, "--evidence", "1=0")
    lines = done(*words, "--marginals", tmp_path / "m.csv", "-o", tmp_path / "o.csv")
    assert f"Warning: {tmp_path / 'o.csv'} has numbers alone in its row of names" in lines[-2]
    found = columns(tmp_path / "m.csv")
    assert found["site"].tolist() == [1, 2, 3]
    assert found["probability"][0] == 0
    x = np.array(list(itertools.product((0, 1), repeat=2)))
    p = np.exp(-0.6 * x[:, 0] * x[:, 1] + 0.7 * x[:, 1])
    exact = (p / p.sum()) @ x
    tolerance = 5 * np.sqrt(0.25 / 5_000)
    np.testing.assert_allclose(found["probability"][1:], exact, atol=tolerance)
    with open(tmp_path / "o.csv", encoding="utf-8") as stream:
        assert next(csv.reader(stream)) == ["1", "2", "3"]


def test_a_site_with_a_bias_and_no_edge_is_told(tmp_path):
    edges, biases = written(tmp_path / "e.csv", EDGES), written(tmp_path / "b.csv", BIASES)
    words = ("-n", 50, "-o", tmp_path / "a.npy")
    assert "Warning: 1 site of b.csv has no edge: late" in done(edges, "--biases", biases, *words)
    written(biases, "site,bias\nrain,1\nwind,2\n")
    assert not any("no edge" in line for line in done(edges, "--biases", biases, *words))


def test_what_was_not_to_be_trusted_is_told_again(tmp_path):
    path = tmp_path / "m.safetensors"
    model = PairwiseModel.random(3, random_state=1)
    save(model, path, meta={"trust": False, "verdict": "Do not trust it: pairs are off."})
    lines = done(path, "-n", 2_000, "-o", tmp_path / "a.npy")
    assert "Warning: when m.safetensors was learnt: Do not trust it: pairs are off." in lines
    save(model, path, meta={"trust": True, "verdict": "Trust it."})
    assert not any("was learnt" in line for line in done(path, "-n", 9, "-o", tmp_path / "a.npy"))


def test_temperature_and_evidence(tmp_path):
    """A field of three sites at temperature 2 with one held: halved couplings, summed by hand."""
    W = np.array([[0.0, 1.2, 0.0], [1.2, 0.0, -0.8], [0.0, -0.8, 0.0]])
    b = np.array([0.3, -0.2, 0.5])
    save(PairwiseModel(W, b, names=["a=b", "c", "d"]), tmp_path / "m.safetensors")
    words = ("-n", 20_000, "--temperature", 2, "--evidence", "a=b=1")
    done(tmp_path / "m.safetensors", *words, "--marginals", tmp_path / "t.npz")
    x = np.array([state for state in all_states(3, (0, 1)) if state[0] == 1])
    p = np.exp((np.einsum("si,ij,sj->s", x, W, x) / 2 + x @ b) / 2)
    exact = (p / p.sum()) @ x
    found = columns(tmp_path / "t.npz")
    assert found["probability"][0] == 1
    np.testing.assert_allclose(found["probability"], exact, atol=5 * np.sqrt(0.25 / 5_000))


def test_words_make_grids(tmp_path):
    lines = done("ising:3x4:periodic", "-n", 40, "-o", tmp_path / "a.npy")
    assert "40 states of 12 sites" in lines[0]
    model = PairwiseModel.grid((3, 4), periodic=True)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), gibbs(model, 40).samples)
    done("potts:2x5:4", "-n", 40, "-o", tmp_path / "b.npy", "--temperature", 3)
    potts = PottsModel.grid((2, 5), 4, temperature=3)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), gibbs(potts, 40).samples)
    done("Potts:7:3:periodic", "-n", 40, "--marginals", tmp_path / "t.csv")
    found = columns(tmp_path / "t.csv")
    assert "probability_2" in found
    total = sum(found[f"probability_{state}"] for state in range(3))
    np.testing.assert_allclose(total, 1)


def test_tempering_says_how_often_it_exchanged(small, tmp_path):
    lines = done(small, "-n", 200, "-o", tmp_path / "a.csv", "--tempering", "1,2,4")
    (rates,) = [line for line in lines if line.startswith("swaps accepted")]
    assert len(re.findall(r"\d+%", rates)) == 2


def test_herded_gibbs_says_where_nothing_is_proven(small, tmp_path):
    words = ("-n", 100, "-o", tmp_path / "a.npy", "--method", "herded-gibbs")
    assert any("has no guarantee on this graph" in line for line in done("ising:3x3", *words))
    first = np.load(tmp_path / "a.npy")
    done("ising:3x3", *words)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), first)
    # complete graphs have a theorem
    assert not any("no guarantee" in line for line in done(small, *words))


def test_swendsen_wang_runs(tmp_path):
    words = ("-n", 50, "-o", tmp_path / "a.npy", "--method", "swendsen-wang")
    done("ising:6x6", *words, "--temperature", 2.3)
    assert np.load(tmp_path / "a.npy").shape == (50, 36)


def test_chains_that_do_not_agree_are_told(tmp_path):
    lines = done("ising:12x12", "-n", 40, "--chains", 4, "-o", tmp_path / "a.npy")
    assert sum("above 1.01 at" in line and "chains do not agree" in line for line in lines) == 1
    helps = "options that may help: --burn-in, a larger -n, --method swendsen-wang"
    assert lines[-1] == helps
    W = -5 * (np.ones((6, 6)) - np.eye(6))
    save(PairwiseModel(W, states=(-1, 1)), tmp_path / "m.safetensors")
    lines = done(tmp_path / "m.safetensors", "-n", 40, "--chains", 4, "-o", tmp_path / "a.npy")
    assert lines[-1].endswith("a larger -n, --tempering 1,1.5,2.2,3.3")
    words = ("-n", 40, "--chains", 4, "--method", "swendsen-wang", "-o", tmp_path / "a.npy")
    lines = done("ising:12x12", *words)
    (told,) = [line for line in lines if "chains do not agree" in line]
    assert told.endswith("take more sweeps or a burn-in")
    assert not any("swendsen" in line.lower() for line in lines[1:])


def test_one_chain_and_several(small, tmp_path):
    words = (small, "-n", 20_000, "-o", tmp_path / "a.npy")
    lines = done(*words)
    assert sum("one chain cannot show" in line for line in lines) == 1
    assert not any(re.search(r"\w=\w|\w_\w", line) for line in lines[1:])  # words of Python
    assert lines[-1] == "options that may help: --chains 4"
    # four chains of a small model agree: nothing is left to say
    lines = done(*words, "--chains", 4)
    assert [line.partition(" ")[0] for line in lines] == [
        f"{tmp_path / 'a.npy'}:",
        "model",
        "chains",
        "R-hat",
        "effective",
        "standard",
    ]


def test_few_draws_are_told(small, tmp_path):
    lines = done(small, "-n", 20, "--burn-in", 100, "-o", tmp_path / "a.npy")
    assert any("effective draws at" in line for line in lines)


def test_sites_that_never_change_are_told(tmp_path):
    save(PairwiseModel(np.zeros((2, 2)), [50.0, 0.0]), tmp_path / "m.safetensors")
    lines = done(tmp_path / "m.safetensors", "-n", 3000, "-o", tmp_path / "a.npy")
    assert sum("only one state at" in line for line in lines) == 1
    held = done(
        tmp_path / "m.safetensors", "-n", 3000, "--evidence", "0=1", "-o", tmp_path / "a.npy"
    )
    assert not any("only one state at" in line for line in held)


def test_quiet_and_threads(small, tmp_path):
    words = (small, "-n", 30, "--chains", 3)
    assert done(*words, "-o", tmp_path / "a.npy", "-q", "--threads", 1) == []
    done(*words, "-o", tmp_path / "b.npy", "--threads", 3)
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


def test_a_page_and_marginals_go_along(tmp_path):
    page, table, out = tmp_path / "p.html", tmp_path / "m.parquet", tmp_path / "a.csv"
    lines = done("ising:4x4", "-n", 300, "-o", out, "--marginals", table, "--report", page)
    assert lines[0].startswith(f"{out}, {table}, {page}: 300 states of 16 sites")
    html = page.read_text(encoding="utf-8")
    assert "<h1>300 states of 16 sites by Gibbs sampling</h1>" in html
    assert f"herder sample ising:4x4 --rows 300 --output {out}" in html
    with open(out, encoding="utf-8") as stream:
        assert len(list(csv.reader(stream))) == 301
