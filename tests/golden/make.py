"""Pin trajectories: ``python -m tests.golden.make`` writes them anew.

A change of a pinned trajectory is a breaking change: list it under *Trajectories* in the
changelog.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from herder import (
    MomentHerder,
    PairwiseModel,
    PottsModel,
    datasets,
    herded_gibbs,
    kernel_herd,
    thin,
)

FILE = Path(__file__).with_name("moment.json")
KERNEL_FILE = Path(__file__).with_name("kernel.json")
FIELD_FILE = Path(__file__).with_name("field.json")

KERNELS = ("gaussian", "matern32", "matern52", "laplace", "inverse-multiquadric", "energy")


def tables():
    """Three fixed tables: sparse counts, images, mixed alphabets."""
    grid = np.indices((3, 4, 2, 5)).reshape(4, -1).T
    return {
        "cancer": np.asarray(datasets.load_breast_cancer_binary().X),
        "digits": np.asarray(datasets.load_digits_binary().X)[:300, 8:40],
        "grid": grid[grid.sum(axis=1) % 3 != 1],
    }


def trajectories():
    """Digest of the first 200 states, and the first five as they are."""
    found = {}
    for name, rows in tables().items():
        triples: dict[str, Any] = {"order": 3, "restarts": "none"}
        for settings in ({}, triples, {"encoding": "01"}, triples | {"encoding": "01"}):
            herder = MomentHerder().set_params(**settings).fit(rows)
            found[f"{name} {settings}"] = _pinned_states(herder.herd(200).samples)
        if set(np.unique(rows)) == {0, 1}:
            herder = MomentHerder(encoding="+-1").fit(rows)
            found[f"{name} +-1"] = _pinned_states(herder.herd(200).samples)
    return found


def _pinned_states(samples):
    return {
        "sha256": hashlib.sha256(samples.astype(np.int16).tobytes()).hexdigest(),
        "first": ["".join(map(str, row)) for row in samples[:5].tolist()],
    }


def samples():
    """Three fixed samples: a spiral of even density, a symmetric grid, binary rows."""
    t = np.arange(1, 401)
    spiral = np.sqrt(t)[:, None] * np.column_stack([np.cos(2.4 * t), np.sin(2.4 * t)])
    grid = np.indices((7, 7, 5)).reshape(3, -1).T.astype(np.float64)
    cancer = np.asarray(datasets.load_breast_cancer_binary().X, dtype=np.float64)
    return {"spiral": spiral, "grid": grid, "cancer": cancer}


def choices():
    """Digest of 200 picks of herding and of 40 rows by thinning, and the first ten of each."""
    found = {}
    for name, X in samples().items():
        for kernel in KERNELS:
            raw: dict[str, Any] = {"kernel": kernel, "standardise": False}
            found[f"{name} {kernel} kernel_herd"] = _pinned(kernel_herd(X, 200, **raw).indices)
            for refine in (False, 3):
                chosen = thin(X, 40, refine=refine, **raw)
                found[f"{name} {kernel} thin refine={refine}"] = _pinned(chosen.indices)
        found[f"{name} kernel_herd"] = _pinned(kernel_herd(X, 200).indices)
        found[f"{name} thin"] = _pinned(thin(X, 40).indices)
    return found


def fields():
    """Four fixed models: a grid, many neighbours, a loop with a field, three states."""
    i, j = np.indices((16, 16))
    waves = np.where(i == j, 0.0, np.cos(1 + i + j + 3 * i * j) / 8)
    grid = PairwiseModel.grid((5, 6), 0.4, np.sin(np.arange(30.0)).reshape(5, 6) / 4)
    loop = PairwiseModel.grid((7,), -0.6, 0.2, periodic=True, states=(0, 1))
    gains = np.sin(np.arange(36.0)).reshape(12, 3) / 2
    return {
        "grid": grid,
        "complete": PairwiseModel(waves, np.sin(np.arange(16.0)) / 3, (0, 1)),
        "loop": loop,
        "potts": PottsModel.grid((3, 4), 3, 0.7, gains),
    }


def sweeps():
    """Digest of the first 200 states of herded Gibbs, and the first five as they are."""
    found = {}
    for name, model in fields().items():
        every: list[dict[str, Any]] = [
            {"initial": "centre"},
            {"initial": "spread", "order": "checkerboard"},
            {"initial": "spread", "evidence": {2: model.states[1]}, "n_chains": 2},
        ]
        for settings in every:
            run = herded_gibbs(model, 200, **settings)
            codes = np.searchsorted(model.states, run.samples)
            found[f"{name} {settings}"] = _pinned_states(codes)
    return found


def _pinned(indices):
    return {
        "sha256": hashlib.sha256(indices.astype("<i4").tobytes()).hexdigest(),
        "first": indices[:10].tolist(),
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(trajectories(), indent=1) + "\n")
    KERNEL_FILE.write_text(json.dumps(choices(), indent=1) + "\n")
    FIELD_FILE.write_text(json.dumps(sweeps(), indent=1) + "\n")
