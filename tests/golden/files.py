"""Files of version 0.1.0, which every later version must read.

``python -m tests.golden.files`` wrote them with 0.1.0, and beside them what they answered. They
are not to be written anew: a later version would write another format.
"""

import json
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import herder.online
from herder import (
    BoltzmannMachine,
    EnumeratedSystem,
    MomentHerder,
    Moments,
    PairwiseModel,
    PottsModel,
    gibbs,
    herd,
    herded_gibbs,
    moment_herd,
    swendsen_wang,
)

FOLDER = Path(__file__).with_name("files_0_1_0")
ANSWERS = FOLDER / "answers.json"

ROWS = np.random.default_rng(11).normal(size=(60, 5))
NEW = np.random.default_rng(12).normal(size=(12, 5))
LABELS = {
    "two": np.where(ROWS[:, 0] + ROWS[:, 1] > 0, "spam", "ham"),
    "three": np.argmax(ROWS[:, :3], axis=1),
}
BITS = (np.random.default_rng(13).random((80, 4)) < [0.2, 0.4, 0.6, 0.7]).astype(int)
BITS[:, 1] |= BITS[:, 0]

CLASSIFIERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "nherd": ("NHERD", "three", {}),
    "nherd-full": ("NHERD", "two", {"covariance": "full", "average": True}),
    "nherd-kernel": ("NHERD", "three", {"covariance": "full", "kernel": "rbf", "budget": 20}),
    "arow": ("AROW", "two", {"class_weight": {"ham": 2.0}}),
    "cw": ("ConfidenceWeighted", "three", {"multi_class": "one-vs-rest"}),
    "pa": ("PassiveAggressive", "two", {"form": "PA-II", "C": 0.5}),
    "perceptron": ("Perceptron", "three", {"average": True}),
    "second-order": ("SecondOrderPerceptron", "two", {}),
    "voted": ("VotedPerceptron", "three", {"budget": 6}),
}

MACHINES: dict[str, dict[str, Any]] = {
    "pl": {"states": (-1, 1)},
    "pl-node": {"method": "pl-node", "alpha": 0.01},
    "pl-cv": {"alpha": "cv"},
    "cd": {"method": "cd", "random_state": 0},
    "ml": {"method": "ml"},
}


def grid() -> PairwiseModel:
    return PairwiseModel.random(9, graph="grid", coupling_sd=0.4, bias_sd=0.3)


def potts() -> PottsModel:
    ring = np.roll(np.eye(5), 1, axis=1)
    return PottsModel(0.7 * (ring + ring.T), np.linspace(-0.5, 0.5, 15).reshape(5, 3))


SAMPLERS = {
    "gibbs": lambda n, **run: gibbs(grid(), n, n_chains=2, pairs="edges", **run),
    "gibbs-tempered": lambda n, **run: gibbs(grid(), n, temperatures=(1.0, 1.5), **run),
    "gibbs-potts": lambda n, **run: gibbs(potts(), n, evidence={0: 1}, **run),
    "herded": lambda n, **run: herded_gibbs(grid(), n, **run),
    "herded-potts": lambda n, **run: herded_gibbs(potts(), n, **run),
    "clusters": lambda n, **run: swendsen_wang(grid(), n, **run),
}

STATES = [[0, 0], [1, 0], [0, 1]]
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
EXACT: Any = [HALF, THIRD, Fraction(1, 6)]
SYSTEMS: dict[str, tuple[EnumeratedSystem, list[Any]]] = {
    "int": (EnumeratedSystem(STATES, counts=[5, 3, 2]), [0, 0]),
    "float": (EnumeratedSystem(STATES, probabilities=[0.5, 0.3, 0.2]), [0.25, -0.5]),
    "exact": (EnumeratedSystem(STATES, probabilities=EXACT), [THIRD, -HALF]),
}
WORDS = {"colour": ["red", "green", "red", "blue"], "size": [1, 2, 2, 1]}


def classifier(key: str) -> Any:
    name, labels, params = CLASSIFIERS[key]
    return getattr(herder.online, name)(**params).fit(ROWS, LABELS[labels])


def answers_of_classifier(model: Any, key: str) -> dict[str, Any]:
    """Give scores as loaded, and after learning the new rows too."""
    labels = LABELS[CLASSIFIERS[key][1]][:12]
    before = model.decision_function(NEW).tolist()
    return {
        "before": before,
        "after": model.partial_fit(NEW, labels).decision_function(ROWS[:6]).tolist(),
        "meta": model.n_seen_,
    }


def machine(key: str) -> BoltzmannMachine:
    params = MACHINES.get(key, {})
    rows = 2 * BITS - 1 if params.get("states") == (-1, 1) else BITS
    if key == "stream":
        return BoltzmannMachine().partial_fit(rows)
    return BoltzmannMachine(**params).fit(rows)


def answers_of_machine(model: BoltzmannMachine, key: str) -> dict[str, Any]:
    rows = 2 * BITS - 1 if key == "pl" else BITS
    found = {
        "couplings": model.couplings_.tolist(),
        "likelihood": model.score_samples(rows[:5]).tolist(),
        "rows": model.diagnostics_.n_rows,
    }
    if key == "stream":
        found["after"] = model.partial_fit(rows[:20]).couplings_.tolist()
    return found


def answers_of_run(run: Any) -> dict[str, Any]:
    pairs = None if run.pair_marginals is None else run.pair_marginals.tolist()
    return {
        "samples": run.samples.tolist(),
        "marginals": run.marginals.tolist(),
        "pairs": pairs,
        "ess": run.ess.tolist(),
    }


def answers_of_checkpoint(found: Any, key: str) -> dict[str, Any]:
    steps = herd(SYSTEMS[key][0], found.weights, state=found.state, t=found.t, scale=found.scale)
    return {
        "states": [step.state for step in islice(steps, 12)],
        "extra": found.arrays["sums"].tolist(),
        "meta": found.meta,
    }


def answers_of_moments(moments: Moments) -> dict[str, Any]:
    return {
        "names": list(moments.names),
        "counts": moments.counts.tolist(),
        "herd": moment_herd(moments, 15, encoding="01").samples.tolist(),
    }


def tables() -> dict[str, Moments]:
    return {
        "binary": Moments.from_data(BITS, order=3),
        "words": Moments.from_data(WORDS),
        "weights": Moments.from_data(BITS, sample_weight=np.linspace(0.5, 1.5, 80)),
    }


def write() -> None:
    """Write every file and its answers."""
    from herder import save
    from herder.core.checkpoint import load_checkpoint, save_checkpoint

    FOLDER.mkdir(exist_ok=True)
    found: dict[str, Any] = {}
    for key in CLASSIFIERS:
        model = classifier(key)
        save(model, FOLDER / f"{key}.safetensors", meta={"note": [1, "\u00e4"]})
        found[key] = answers_of_classifier(model, key)
    for key in (*MACHINES, "stream"):
        model = machine(key)
        save(model, FOLDER / f"machine-{key}.safetensors")
        found[f"machine-{key}"] = answers_of_machine(model, key)
    for key, model in {"pairwise": grid(), "potts": potts()}.items():
        save(model, FOLDER / f"{key}.safetensors")
        found[key] = {"energy": model.energy(np.ones((1, model.n_sites), int)).tolist()}
    for key, sampler in SAMPLERS.items():
        first = sampler(20)
        first.position.save(FOLDER / f"position-{key}.safetensors")
        found[f"position-{key}"] = answers_of_run(sampler(15, resume=first.position))
    herding = MomentHerder(encoding="01").fit(BITS).herd(25)
    herding.position.save(FOLDER / "position-moments.safetensors")
    more = MomentHerder(encoding="01").fit(BITS).herd(15, resume=herding)
    found["position-moments"] = {"samples": more.samples.tolist()}
    for key, (system, weights) in SYSTEMS.items():
        step = next(islice(herd(system, weights), 6, None))
        path = FOLDER / f"checkpoint-{key}.safetensors"
        save_checkpoint(path, step, arrays={"sums": np.arange(3.0)}, meta={"note": "x"})
        found[f"checkpoint-{key}"] = answers_of_checkpoint(load_checkpoint(path), key)
    for key, moments in tables().items():
        for suffix in ("csv", "npz", "parquet"):
            moments.save(FOLDER / f"moments-{key}.{suffix}")
        found[f"moments-{key}"] = answers_of_moments(moments)
    ANSWERS.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    write()
