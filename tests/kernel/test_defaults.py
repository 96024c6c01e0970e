"""The defaults of thinning: the same in all its faces, and safe for columns of any scale."""

import inspect
import json
import math
from pathlib import Path

import numpy as np
import pytest

from herder import KernelHerder, kernel_herd, kernel_mean, mmd, thin
from herder.cli.thin import thin as verb
from herder.kernel.bandwidth import resolve_kernel
from tests.kernel.plain import default_lengths, gram, sample, squared_mmd

FACES = (thin, KernelHerder, kernel_herd, kernel_mean, mmd)


def test_all_faces_have_the_same_defaults():
    names = ("kernel", "bandwidth", "standardise")
    found = [
        [inspect.signature(face).parameters[name].default for name in names] for face in FACES
    ]
    assert found == [["energy", "median", True]] * len(FACES)
    assert inspect.signature(resolve_kernel).parameters["standardise"].default is True
    options = inspect.signature(verb).parameters
    typed = [options[name].default for name in ("kernel", "bandwidth", "no_standardise")]
    assert typed == ["energy", "median", False]


def test_all_faces_speak_of_the_same_kernel():
    X = sample(80, 3) * [1.0, 50.0, 0.02]
    K = gram("energy", X, X, default_lengths(X), X.mean(axis=0))
    chosen = thin(X, 9)
    expected = np.sqrt(squared_mmd(K, chosen.indices))
    fitted = KernelHerder(n_select=9).fit(X)
    assert fitted.indices_.tolist() == chosen.indices.tolist()
    for found in (chosen.mmd, fitted.mmd_, mmd(X, X[chosen]), mmd(X[chosen], X)):
        assert found == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(kernel_mean(X), K.mean(axis=1), rtol=1e-10)
    np.testing.assert_allclose(fitted.transform(X), K[:, chosen.indices], rtol=1e-9, atol=1e-12)
    assert kernel_herd(X, 1).indices[0] == K.mean(axis=1).argmax()


@pytest.mark.parametrize("path", ["numpy", "compiled"])
@pytest.mark.parametrize("kernel", ["energy", "gaussian"])
def test_the_scale_of_a_column_does_not_matter(kernel, path, request):
    if path == "compiled":
        request.getfixturevalue("compiled")
    X = sample(150, 3)
    plain, herd = thin(X, 12, kernel=kernel), kernel_herd(X, 30, kernel=kernel)
    for factor in (1e-3, 0.1, 30.0, 1e3):
        scaled = X * [1.0, factor, 1.0]
        chosen = thin(scaled, 12, kernel=kernel)
        assert chosen.indices.tolist() == plain.indices.tolist()
        assert chosen.mmd == pytest.approx(plain.mmd, rel=1e-6)
        assert kernel_herd(scaled, 30, kernel=kernel).indices.tolist() == herd.indices.tolist()
    assert thin(X * [1.0, 1e3, 1.0], 12, kernel=kernel, standardise=False).indices.tolist() != (
        plain.indices.tolist()
    )


def test_kernels_that_are_objects_are_used_on_the_columns_as_they_are():
    X = sample(60, 2) * [1.0, 20.0]
    linear = mmd(X, X[:20], kernel=lambda A, B: A @ B.T)
    assert linear == pytest.approx(np.linalg.norm(X.mean(axis=0) - X[:20].mean(axis=0)))


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (lambda z: np.abs(z), True),  # half-normal
        (lambda z: np.exp(z), True),
        (lambda z: 1 / (1 + np.exp(-2 * z)), True),
        (lambda z: 1 - np.abs(z) / 10, True),  # piles up below 1, all above 0
        (lambda z: z, False),
        (lambda z: 5 + z, False),  # positive, but far from a border
        (lambda z: np.exp(0.2 * z), False),
        (lambda z: -np.abs(z), False),  # no border that we know
    ],
)
def test_stein_kernels_are_told_of_borders(column, told, caplog):
    z = np.random.default_rng(0).normal(size=(1000, 2))
    X = np.column_stack([z[:, 0], column(z[:, 1])])
    thin(X, 5, kernel="stein", score=-X)
    assert ("columns with a border at 0 or 1 (x1) mislead the Stein kernel" in caplog.text) == told
    caplog.clear()
    thin(X, 5)
    assert not caplog.text


def test_borders_are_where_the_stein_kernel_errs():
    """Half-normal rows: with scores of the positive scale sd is far off, of the logarithm not."""
    x = np.abs(np.random.default_rng(1).normal(size=(1500, 1)))
    log = np.log(x)
    errors = []
    for rows, score in ((x, -x), (log, 1 - x**2)):
        chosen = thin(rows, 40, kernel="stein", score=score).indices
        errors.append(abs(x[chosen].std() / x.std() - 1))
    assert errors[0] > 3 * errors[1]


ROOT = Path(__file__).parents[2]


def test_the_table_of_the_page_is_that_of_the_measurement():
    rows = json.loads((ROOT / "benchmarks/results/defaults.json").read_text())["rows"]
    text = (ROOT / "docs/thinning.md").read_text()
    start = text.index("| | mean | sd |")
    header, _, *lines = text[start : text.index("\n\n", start)].splitlines()
    names = [cell.strip() for cell in header.strip("|").split("|")][1:-2]
    assert len(lines) == 9
    for line in lines:
        label, *cells = (cell.strip(" *") for cell in line.strip("|").split("|"))
        method = label.replace("`", "").replace(" (default)", "")
        raw = method.endswith(", columns as they are")
        method = method.removesuffix(", columns as they are")
        kernel, *mode = method.split(", ")
        if kernel != "every k-th row" and not raw:
            method = ", ".join([kernel, "standardised", *mode])
        found = [[row[name] for name in names] for row in rows if row.get("method") == method]
        assert len(found) == 14  # six samples of two sizes, two of one
        logs = [sum(map(math.log, column)) / 14 for column in zip(*found, strict=True)]
        expected = [*map(math.exp, logs), math.exp(sum(logs) / len(logs)), np.max(found)]
        np.testing.assert_allclose([float(cell) for cell in cells], expected, atol=0.0051)
    others = {row["factor"]: row["others"] for row in rows if row.get("kernel") == "energy"}
    for factor in (1, 10, 100):
        assert f"{others[factor]:.2f}" in text
