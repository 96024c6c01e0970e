import importlib.metadata
import json
import subprocess
import sys

import pytest

import herder
from tests.stub import STUB, stub_text

HEAVY = {"sklearn", "numba", "scipy", "matplotlib", "pyarrow", "pandas", "polars", "starlette"}
COMPILER = {"sklearn", "numba", "llvmlite", "matplotlib", "pandas"}

#: Run one after the other in a fresh interpreter: none of these may have been loaded until then.
STAGES = {
    "import herder": HEAVY,
    "from herder import kl_divergence": HEAVY,
    "from typer.testing import CliRunner; from herder.cli import app\n"
    "assert CliRunner().invoke(app, ['synth', '--help']).exit_code == 0": HEAVY,
    "import numpy as np; from herder import kernel_herd, kernel_mean, mmd, thin\n"
    "X = np.random.default_rng(0).normal(size=(3000, 2))": HEAVY,
    "thin(X, 20).summary()": COMPILER,
    "X = X[:400]; thin(X, 20, kernel='energy').mmd_random": COMPILER,
    "thin(X, 20, kernel='stein', score=-X).mmd": COMPILER,
    "thin(X, 20, weights='simplex').mmd": COMPILER,
    "thin(X, 20, y=np.arange(len(X)) % 2).mmd": COMPILER,
    "thin(X, 20, approximate='chunks').mmd": COMPILER,
    "kernel_herd(X, 20), kernel_mean(X), mmd(X, X[:50])": COMPILER,
}
PROBE = "import sklearn"

SCRIPT = """
import json, sys
scope, loaded = {}, []
for code in json.loads(sys.argv[1]):
    exec(code, scope)
    loaded.append(sorted({name.partition(".")[0] for name in sys.modules}))
print(json.dumps(loaded))
"""


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """Return the top-level modules that a fresh interpreter holds after each stage."""
    stages = [*STAGES, PROBE]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(stages)],
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(stages, map(set, json.loads(done.stdout)), strict=True))


@pytest.mark.parametrize("stage", STAGES)
def test_imports_are_light_and_small_samples_need_no_compiler(loaded, stage):
    assert "herder" in loaded[stage]
    assert not loaded[stage] & STAGES[stage]


def test_the_probe_sees_a_heavy_import(loaded):
    assert "sklearn" in loaded[PROBE]


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
