"""Table 1: KL(data || estimate) of P(k), the number of ones, from 100,000 pseudo-samples."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from herder import (
    BoltzmannMachine,
    MomentHerder,
    MomentHerding,
    count_distribution,
    gibbs,
    kl_divergence,
)
from papers.claims import Row
from papers.welling2009_herding import data

#: Added to every cell of an estimate; the divergence of empty cells depends on it.
FLOOR = 1e-10

N_SAMPLES = 100_000
N_SCANS = 10

#: Penalties of pseudo-likelihood, since the paper gives none; "cv" is cross-validation.
PENALTIES: dict[str, float | str] = {"PL": 1e-5, "PL.1e-3": 1e-3, "PL.cv": "cv"}

#: Further runs of the Gibbs sampler, to estimate the Monte Carlo error.
N_RUNS = 4


def run(quick: bool, pictures: Path) -> list[Row]:
    """Measure every cell, with herding without restarts as in the paper and with restarts."""
    if quick:
        return _quick()
    pixels, _ = data.digits()
    tables = {
        "bowling": data.bowling(),
        "abalone": data.abalone(),
        "digits": pixels,
        "news": data.news(),
    }
    rows: list[Row] = []
    for name, table in tables.items():
        rows += _cells(name, table)
    rows.append(Row("digits.ones", float(pixels.mean())))
    return [*rows, *_news(tables["news"])]


def _cells(name: str, X: NDArray[np.uint8]) -> list[Row]:
    triples, pairs = _herd(X, 3), _herd(X, 2)
    scans = [_scanned(X, k) for k in range(N_SCANS)]
    spread = f"{min(scans):.1e} to {max(scans):.1e} over {N_SCANS} random scan orders."
    signed = _herd(X, 2, encoding="+-1")
    rows = [
        Row(f"{name}.H.XXX", _kl(X, triples.samples), note=_describe(X, triples)),
        Row(f"{name}.H.XX", _kl(X, pairs.samples), note=f"{_describe(X, pairs)} {spread}"),
        Row(f"{name}.H.XX.+-1", _kl(X, signed.samples), note=_describe(X, signed)),
        Row(f"{name}.MARG", kl_divergence(_shares(X), data.independent(X), floor=FLOOR)),
    ]
    for order, label in ((3, "H.XXX"), (2, "H.XX")):
        found = _herd(X, order, restarts="auto")
        note = (
            f"Restarts: {found.diagnostics.restarts} of {N_SAMPLES} steps. {_describe(X, found)}"
        )
        rows.append(Row(f"{name}.{label}.restarts", _kl(X, found.samples), note=note))
    return [*rows, *_pseudo_likelihood(name, X)]


def _pseudo_likelihood(name: str, X: NDArray[np.uint8]) -> list[Row]:
    """Learn a Boltzmann machine; use the second half of 200,000 sweeps of Gibbs."""
    rows = []
    for label, alpha in PENALTIES.items():
        machine = BoltzmannMachine(alpha=alpha, random_state=data.SEED).fit(X)
        runs = [_sample(machine, N_SAMPLES, seed) for seed in range(N_RUNS + 1)]
        first, *others = (_kl(X, samples) for samples in runs)
        mean = runs[0].sum(axis=1).mean()
        note = (
            f"Penalty {machine.alpha_:.0e}; {min(others):.1e} to {max(others):.1e} in {N_RUNS} "
            f"other runs of Gibbs; {mean:.2f} ones per row, data {X.sum(axis=1).mean():.2f}."
        )
        rows.append(Row(f"{name}.{label}", first, note=note))
    return rows


def _sample(machine: BoltzmannMachine, n_samples: int, seed: int) -> NDArray[np.int8]:
    random = np.random.default_rng([data.SEED, seed])
    return gibbs(machine.model_, n_samples, burn_in=n_samples, random_state=random).samples


def _news(X: NDArray[np.uint8]) -> list[Row]:
    """Measure why News is not reproduced: the proportion of empty documents."""
    rows = [Row("news.ones", float(X.mean())), Row("news.empty.data", _empty(X))]
    for encoding in ("01", "+-1"):
        found = _herd(X, 2, encoding=encoding)
        kept = found.samples[found.samples.any(axis=1)]
        rows.append(
            Row(f"news.empty.{encoding}", _empty(found.samples), note=_where(X, found.samples))
        )
        rows.append(Row(f"news.nonempty.{encoding}", _kl(X, kept)))
    return rows


def _quick() -> list[Row]:
    pixels = data.neighbours()
    alone = kl_divergence(_shares(pixels), data.independent(pixels), floor=FLOOR)
    rows = [Row("quick.MARG", alone)]
    for order, label in ((3, "H.XXX"), (2, "H.XX")):
        kl = _kl(pixels, _herd(pixels, order, n_samples=3000).samples)
        rows.append(Row(f"quick.{label}", kl, limit=alone))
    varies = pixels.min(axis=0) < pixels.max(axis=0)  # constant pixels are kept
    samples = np.tile(pixels[0], (3000, 1))
    samples[:, varies] = _sample(BoltzmannMachine().fit(pixels[:, varies]), 3000, 0)
    rows.append(Row("quick.PL", _kl(pixels, samples), limit=alone))
    return rows


def _herd(
    X: NDArray[np.uint8],
    order: int,
    *,
    encoding: str = "01",
    restarts: str = "none",
    scan: NDArray[np.intp] | None = None,
    n_samples: int = N_SAMPLES,
) -> MomentHerding:
    herder = MomentHerder(order, encoding=encoding, restarts=restarts, scan=scan)
    return herder.fit(X).herd(n_samples)


def _scanned(X: NDArray[np.uint8], k: int) -> float:
    scan = np.random.default_rng([data.SEED, k]).permutation(X.shape[1])
    return _kl(X, _herd(X, 2, scan=scan).samples)


def _shares(X: NDArray[np.integer]) -> NDArray[np.float64]:
    return count_distribution(X)


def _kl(X: NDArray[np.uint8], samples: NDArray[np.integer]) -> float:
    return kl_divergence(_shares(X), _shares(samples), floor=FLOOR)


def _empty(X: NDArray[np.integer]) -> float:
    return float(1 - X.any(axis=1).mean())


def _where(X: NDArray[np.uint8], samples: NDArray[np.integer]) -> str:
    """Describe where P(k) differs, and after which states an empty one occurs."""
    truth, share, k = _shares(X), _shares(samples), samples.sum(axis=1)
    parts = [
        f"{low} to {high}: {share[low : high + 1].sum():.3f} ({truth[low : high + 1].sum():.3f})"
        for low, high in ((1, 2), (3, 5), (6, 10), (11, 20), (21, 100))
    ]
    after = k[1:] == 0
    few, many = after[k[:-1] <= 2].mean(), after[k[:-1] >= 8].mean()
    return (
        f"P(k), data in brackets: {', '.join(parts)}. Empty after a state with k <= 2: {few:.2f}, "
        f"with k >= 8: {many:.2f}."
    )


def _describe(X: NDArray[np.uint8], found: MomentHerding) -> str:
    """Describe the PCT violations, and the divergence due to values of k that never occurred."""
    truth, share = _shares(X), _shares(found.samples)
    unseen = (truth > 0) & (share == 0)
    text = (
        f"PCT violations: {found.diagnostics.violations} of {N_SAMPLES} steps; "
        f"moment error {found.diagnostics.moment_error:.0e}."
    )
    if unseen.any():
        cost = float(np.sum(truth[unseen] * np.log(truth[unseen] / FLOOR)))
        text += (
            f" Of the KL, {cost:.1e} is due to values of k that never occurred ({unseen.sum()})."
        )
    return text
