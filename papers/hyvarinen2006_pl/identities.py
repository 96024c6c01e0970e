"""Sections 3 and 5: the gradient at the truth, and contrastive divergence as pseudo-likelihood.

All expectations are sums over the 32 states, so that only rounding errors remain.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from herder import BoltzmannMachine, PairwiseModel
from papers.claims import Row
from papers.hyvarinen2006_pl import data

Floats = NDArray[np.float64]
Update = tuple[Floats, Floats]

N_MACHINES, N_QUICK_MACHINES, N_ROWS = 20, 3, 4000

#: Of the parameters: so small that every pair of states occurs, and all estimates are finite.
VARIANCE = 0.1


def run(quick: bool, pictures: Path) -> list[Row]:
    """Measure the identities on random machines, at the parameters of other machines."""
    truth, couplings, biases, rest, drawn = [], [], [], [], []
    for k in range(N_QUICK_MACHINES if quick else N_MACHINES):
        task, other = data.machine(VARIANCE, 5, k), data.machine(VARIANCE, 6, k)
        truth.append(_largest(gradient(task.model, task.share)))
        rows = task.rows(N_ROWS)
        share = _shares(rows)
        ours = expected_update(other.model, share)
        theirs = gradient(other.model, share)
        couplings.append(_largest((ours[0] - 2 / data.N_SITES * theirs[0],)))
        biases.append(_largest((ours[1] - 1 / data.N_SITES * theirs[1],)))
        fitted = BoltzmannMachine(penalty=None, states=(-1, 1), tol=1e-9).fit(rows)
        rest.append(_largest(expected_update(fitted.model_, share)))
        sampled = BoltzmannMachine("cd", penalty=None, states=(-1, 1)).fit(rows)
        apart = data.distance(sampled.couplings_, sampled.biases_, fitted.model_)
        off = data.distance(fitted.couplings_, fitted.biases_, task.model)
        drawn.append(apart / off)
    prefix = "quick." if quick else ""
    note = f"Largest over {len(truth)} machines."
    return [
        Row(f"{prefix}truth", max(truth), note=note),
        Row(f"{prefix}couplings", max(couplings), note=note),
        Row(f"{prefix}biases", max(biases), note=note),
        Row(f"{prefix}rest", max(rest), note=note),
        Row(
            f"{prefix}drawn",
            float(np.median(drawn)),
            note=f"{min(drawn):.2f} to {max(drawn):.2f}.",
        ),
    ]


def gradient(model: PairwiseModel, share: Floats) -> Update:
    """Equations 9, 13 and 20, in expectation over states with these shares."""
    means = 2 * model.conditional(data.STATES) - 1
    one_sided = (share[:, None] * (data.STATES - means)).T @ data.STATES
    np.fill_diagonal(one_sided, 0)
    return (one_sided + one_sided.T) / 2, share @ (data.STATES - means)


def expected_update(model: PairwiseModel, share: Floats) -> Update:
    """Equation 24 by brute force: each site is resampled in turn, both values weighted."""
    upper = model.conditional(data.STATES)
    before, after = _moments(share), (np.zeros((data.N_SITES,) * 2), np.zeros(data.N_SITES))
    for site in range(data.N_SITES):
        for value, chance in ((1, upper[:, site]), (-1, 1 - upper[:, site])):
            states = data.STATES.copy()
            states[:, site] = value
            for total, part in zip(after, _moments(share * chance, states), strict=True):
                total += part / data.N_SITES
    return before[0] - after[0], before[1] - after[1]


def _moments(share: Floats, states: NDArray[np.int64] = data.STATES) -> Update:
    pairs = (share[:, None] * states).T @ states
    np.fill_diagonal(pairs, 0)
    return pairs, share @ states


def _shares(rows: NDArray[np.int64]) -> Floats:
    codes = (rows > 0) @ (1 << np.arange(data.N_SITES))
    return np.bincount(codes, minlength=len(data.STATES)) / len(rows)


def _largest(parts: Update | tuple[Floats]) -> float:
    return max(float(np.abs(part).max()) for part in parts)
