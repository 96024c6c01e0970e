import importlib.metadata
import subprocess
import sys

import pytest

import herder
from tests.stub import STUB, stub_text

HEAVY = ("sklearn", "numba", "scipy", "matplotlib", "pyarrow", "pandas", "polars")


def loaded_after(code: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter holds after ``code``."""
    tail = "\nimport sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code + tail], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("code", ["import herder", "from herder import kl_divergence"])
def test_import_is_light(code):
    loaded = loaded_after(code)
    assert "herder" in loaded
    assert not loaded.intersection(HEAVY)


def test_help_is_light():
    code = "from typer.testing import CliRunner; from herder.cli import app\n"
    code += "assert CliRunner().invoke(app, ['synth', '--help']).exit_code == 0"
    loaded = loaded_after(code)
    assert "typer" in loaded
    assert not loaded.intersection(HEAVY)


@pytest.mark.parametrize(
    "call",
    [
        "thin(X, 20).summary()",
        "thin(X, 20, kernel='energy').mmd_random",
        "thin(X, 20, kernel='stein', score=-X).mmd",
        "thin(X, 20, weights='simplex').mmd",
        "thin(X, 20, y=np.arange(len(X)) % 2).mmd",
        "thin(X, 20, approximate='chunks').mmd",
        "kernel_herd(X, 20), kernel_mean(X), mmd(X, X[:50])",
    ],
)
def test_small_samples_are_thinned_without_compiler_and_scikit_learn(call):
    code = "import numpy as np; from herder import kernel_herd, kernel_mean, mmd, thin\n"
    code += "X = np.random.default_rng(0).normal(size=(3000, 2))\n"
    loaded = loaded_after(code + call)
    assert not loaded.intersection({"numba", "llvmlite", "sklearn", "matplotlib", "pandas"})


def test_the_probe_sees_a_heavy_import():
    assert "scipy" in loaded_after("import herder, scipy")


def test_every_public_name_that_has_a_home_loads():
    homes, exported = herder._HOME, vars(herder)["__all__"]
    assert sorted(homes) == sorted(exported)
    assert set(exported) <= set(dir(herder))
    for name, home in homes.items():
        assert getattr(herder, name).__module__ == home


def test_type_checkers_see_the_same_names():
    assert STUB.read_text(encoding="utf-8") == stub_text()


def test_version_and_unknown_names():
    assert herder.__version__ == importlib.metadata.version("herder")
    with pytest.raises(AttributeError, match="module 'herder' has no attribute 'nonsense'"):
        getattr(herder, "nonsense")  # noqa: B009
