"""Every verb that reads a table refuses what is none in one line that names it."""

import io
import os

import numpy as np
import pytest
from typer.testing import CliRunner

from herder import PairwiseModel, save
from herder.cli import app
from herder.data import write_table
from herder.online import NHERD

VERBS = {
    "moments": "moments {}",
    "synth": "synth {} -o out.csv",
    "thin": "thin {} -n 2 -o out.csv",
    "scores": "thin good.npy -n 2 -o out.csv --kernel stein --scores {}",
    "learn": "learn {} -o out.safetensors",
    "test": "learn good.csv --test {} -o out.safetensors",
    "field": "learn field {} -o out.safetensors",
    "predict": "predict classifier.safetensors {} -o out.csv",
    "fill": "predict field.safetensors {} -o out.csv",
    "sample": "sample {} -n 3 -o out.csv",
    "biases": "sample edges.csv -n 3 -o out.csv --biases {}",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("hostile")
    np.save(place / "good.npy", np.random.default_rng(0).normal(size=(9, 2)))
    columns = {"a": np.arange(300), "label": np.arange(300) % 2}
    for suffix in ("csv", "npy", "npz", "parquet"):
        write_table(place / f"good.{suffix}", ["a", "label"], [columns])
        data = bytearray((place / f"good.{suffix}").read_bytes())
        (place / f"cut.{suffix}").write_bytes(data[: len(data) // 2 - 1])
        data[60] ^= 255
        (place / f"flip.{suffix}").write_bytes(data)
        (place / f"folder.{suffix}").mkdir()
        (place / f"zero.{suffix}").symlink_to("/dev/zero")
    (place / "utf.csv").write_bytes(b"a,label\n1,\xff\n")
    (place / "nul.csv").write_bytes(b"a,label\n1,\0\n")
    (place / "long.csv").write_bytes(b"a,label\n1,0,1\n2,1\n")
    (place / "twice.csv").write_bytes(b"a,a,label\n1,0,1\n2,1,0\n")
    (place / "huge.csv").write_bytes(b"a,label\n" + b"1" * 200_000 + b",0\n")
    (place / "odd.csv").write_bytes(b"variable_a,count,total\na,1,2\nb,x,1\n")
    (place / "edges.csv").write_text("source,target,weight\n0,1,0.5\n")
    head = io.BytesIO()
    fields = {"descr": "<f8", "fortran_order": False, "shape": (1, 10**9)}
    np.lib.format.write_array_header_1_0(head, fields)
    (place / "wide.npy").write_bytes(head.getvalue())
    save(NHERD().fit(np.eye(3), [0, 1, 1]), place / "classifier.safetensors")
    save(PairwiseModel.random(3), place / "field.safetensors")
    return place


def error_line(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 2, (words, done.output, done.exception)
    (line,) = done.stderr.splitlines()
    assert line.startswith("herder: ")
    return line


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_table(folder, monkeypatch, verb):
    monkeypatch.chdir(folder)
    names = [f"{kind}.{s}" for kind in ("cut", "flip", "folder", "zero") for s in SUFFIXES]
    others = [
        name for name in OTHERS if (verb, name) != ("thin", "odd.csv")
    ]  # text may be thinned
    for name in [*names, *others]:
        assert name in error_line(*VERBS[verb].format(name).split())


SUFFIXES = ["csv", "npy", "npz", "parquet"]
OTHERS = ["wide.npy", "utf.csv", "nul.csv", "long.csv", "twice.csv", "huge.csv", "odd.csv"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_small_limit_is_kept_before_anything_is_read(folder, monkeypatch, suffix):
    monkeypatch.chdir(folder)
    write_table(f"big.{suffix}", ["a", "b"], [{"a": np.arange(1e5), "b": np.arange(1e5)}])
    line = error_line("thin", f"big.{suffix}", "-n", 5, "-o", "out.csv", "--max-memory", "1M")
    assert "--max-memory must be at least 2M for" in line
    assert f"big.{suffix}" in line


@pytest.mark.parametrize(
    "words",
    [
        "synth good.csv -o out.csv -q --burn-in",
        "synth good.csv -o out.csv -q -n",
        "sample ising:3x3 -n 5 -o out.csv -q --burn-in",
        "sample ising:3x3 --marginals out.csv -q -n",
    ],
)
def test_counts_that_no_run_reaches(folder, monkeypatch, words):
    monkeypatch.chdir(folder)
    line = error_line(*words.split(), 10**21)
    assert line.startswith(("herder: --burn-in must be", "herder: --rows must be"))
    for verb in ("classifier", "field"):
        typed = ["learn", verb, "good.csv", "-o", "out.safetensors", "--epochs", str(10**21)]
        assert CliRunner().invoke(app, typed).exit_code == 2


def test_a_table_that_grows_between_two_passes(folder, monkeypatch):
    """A line that is added after the first look is not met in the middle of the second."""
    monkeypatch.chdir(folder)
    lines = [f"{k % 2},{k % 3 % 2}" for k in range(50)]
    path = folder / "grows.csv"
    path.write_text("\n".join(["a,b", *lines, ""]))
    from herder.fields import moment

    counted = moment.index_source

    def index(*args, **options):
        with open(path, "a") as stream:
            stream.write("x,y\n")
        os.utime(path, ns=(1, 1))
        return counted(*args, **options)

    monkeypatch.setattr(moment, "index_source", index)
    line = error_line("synth", "grows.csv", "-o", "out.csv")
    assert line == "herder: grows.csv must stay as it is while it is read, got a changed file"
    assert not (folder / "out.csv").exists()
