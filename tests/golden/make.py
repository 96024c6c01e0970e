"""Pin trajectories: ``python -m tests.golden.make`` writes them anew.

A change of a pinned trajectory is a breaking change: list it under *Trajectories* in the
changelog.
"""

import hashlib
import json
from pathlib import Path

import numpy as np

from herder import MomentHerder, datasets

FILE = Path(__file__).with_name("moment.json")


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
        for settings in ({}, {"order": 3, "restarts": "none"}, {"encoding": "indicator"}):
            herder = MomentHerder().set_params(**settings).fit(rows)
            samples = herder.herd(200).samples.astype(np.int16)
            key = f"{name} {settings}"
            found[key] = {
                "sha256": hashlib.sha256(samples.tobytes()).hexdigest(),
                "first": ["".join(map(str, row)) for row in samples[:5].tolist()],
            }
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(trajectories(), indent=1) + "\n")
