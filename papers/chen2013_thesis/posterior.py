"""Draws from the posterior of logistic regression, many chains in one matrix product.

With rows ``a_n`` times their label +-1 and the prior N(0, v), the energy of weights ``w`` is
``sum_n log(1 + exp(-<a_n, w>)) + |w|^2 / 2v``. Two samplers, both exact in the limit:

- `Logistic.metropolis` draws D: Metropolis-Hastings whose Gaussian proposal has the covariance
  of the Laplace approximation times 2.38^2 / d;
- `Logistic.hamiltonian` draws the reference: a few leapfrog steps of random size, in the metric
  of D, so that two moves in a row are all but independent.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from papers.chen2013_thesis import data

Floats = NDArray[np.float64]

#: Factors 1 + exp(-|z|) are at most 2: a product of this many stays below 2^1024.
PRODUCT = 1000

#: The best step of a random walk on a normal distribution in d dimensions is this over sqrt(d).
WALK = 2.38

#: Leapfrog steps of a move, and their mean size: 1.4 of the quarter turn of a standard normal
#: (pi / 2), with three moves of four accepted.
LEAPS, LEAP = 4, 0.35


@dataclass(frozen=True)
class Sizes:
    """How much to draw: D has ``chains * kept`` draws; ``burn_in`` counts steps of a chain."""

    chains: int
    kept: int
    thinning: int
    burn_in: int
    reference: int


FULL = Sizes(chains=250, kept=400, thinning=100, burn_in=2000, reference=2_500_000)
QUICK = Sizes(chains=100, kept=20, thinning=20, burn_in=100, reference=20_000)


@dataclass(frozen=True)
class Logistic:
    """Posterior of the weights, with its mode and a root of its Laplace covariance."""

    signed: Floats
    variance: float
    mode: Floats
    root: Floats

    @classmethod
    def fit(cls, X: Floats, y: NDArray[np.uint8], variance: float) -> "Logistic":
        """Find mode and curvature by Newton steps, halved where they overshoot."""
        signed = X * np.where(y, 1.0, -1.0)[:, None]
        weights = np.zeros(X.shape[1])
        while True:
            miss = expit(-(signed @ weights))
            curvature = (signed.T * (miss * (1 - miss))) @ signed
            curvature += np.eye(len(weights)) / variance
            step = np.linalg.solve(curvature, miss @ signed - weights / variance)
            before = energy(signed @ weights[:, None], weights[None], variance)
            for _ in range(50):
                moved = weights + step
                if energy(signed @ moved[:, None], moved[None], variance) <= before:
                    break
                step = step / 2
            weights = weights + step
            if np.abs(step).max() < 1e-9:
                return cls(signed, variance, weights, lower_root(np.linalg.inv(curvature)))

    def metropolis(
        self, sizes: Sizes, random: np.random.Generator
    ) -> Iterator[tuple[Floats, float]]:
        """Yield the weights of all chains every ``thinning`` steps, and the share accepted."""
        d = len(self.mode)
        reach = WALK / np.sqrt(d) * self.root.T
        weights = self.mode + random.standard_normal((sizes.chains, d)) @ self.root.T
        cost = energy(self.signed @ weights.T, weights, self.variance)
        for sweep in range(-(-sizes.burn_in // sizes.thinning) + sizes.kept):
            accepted = 0.0
            for _ in range(sizes.thinning):
                moved = weights + random.standard_normal(weights.shape) @ reach
                price = energy(self.signed @ moved.T, moved, self.variance)
                taken = random.exponential(size=len(cost)) > price - cost
                weights = np.where(taken[:, None], moved, weights)
                cost = np.where(taken, price, cost)
                accepted += taken.mean() / sizes.thinning
            if sweep * sizes.thinning >= sizes.burn_in:
                yield weights, accepted

    def hamiltonian(
        self, start: Floats, metric: Floats, n_draws: int, random: np.random.Generator
    ) -> Iterator[tuple[Floats, float]]:
        """Yield the weights of all chains after each move, and the share accepted."""
        root = lower_root(metric)
        scaled = self.signed @ root
        weights, margins = start, self.signed @ start.T
        cost = energy(margins, weights, self.variance)
        for _ in range(-(-n_draws // len(start))):
            momentum = random.standard_normal(weights.shape)
            total = cost + (momentum**2).sum(axis=1) / 2
            step = LEAP * random.uniform(0.8, 1.2, (len(start), 1))
            moved, bounds = weights, margins
            momentum = momentum - step / 2 * self._slope(moved, bounds, root, scaled)
            for leap in range(1, LEAPS + 1):
                moved = moved + (step * momentum) @ root.T
                bounds = self.signed @ moved.T
                share = step if leap < LEAPS else step / 2
                momentum = momentum - share * self._slope(moved, bounds, root, scaled)
            price = energy(bounds, moved, self.variance)
            risen = price + (momentum**2).sum(axis=1) / 2 - total
            taken = random.exponential(size=len(cost)) > risen
            weights = np.where(taken[:, None], moved, weights)
            margins = np.where(taken, bounds, margins)
            cost = np.where(taken, price, cost)
            yield weights, float(taken.mean())

    def _slope(self, weights: Floats, margins: Floats, root: Floats, scaled: Floats) -> Floats:
        return weights @ root / self.variance - expit(-margins).T @ scaled


def energy(margins: Floats, weights: Floats, variance: float) -> Floats:
    """Negative log posterior of each column of ``margins`` (rows by chains).

    log(1 + exp(-z)) = max(-z, 0) + log(1 + exp(-|z|)), and the logarithms of many factors are
    that of their product: one exponential per margin is all it costs.
    """
    size = np.abs(margins)
    linear = (size.sum(axis=0) - margins.sum(axis=0)) / 2
    np.negative(size, out=size)
    np.exp(size, out=size)
    size += 1
    logs = np.zeros(margins.shape[1])
    for start in range(0, len(size), PRODUCT):
        logs += np.log(np.multiply.reduce(size[start : start + PRODUCT], axis=0))
    return linear + logs + (weights**2).sum(axis=1) / (2 * variance)


def lower_root(matrix: NDArray[np.floating]) -> Floats:
    """Cholesky factor."""
    return np.asarray(np.linalg.cholesky(matrix), np.float64)


def expit(z: Floats) -> Floats:
    """Logistic function, without overflow."""
    return 0.5 + 0.5 * np.tanh(z / 2)


@cache
def draw(quick: bool) -> tuple[Floats, float]:
    """Return D, chain by chain, and the share accepted."""
    return _kept("draws", quick, _draw)


@cache
def reference(quick: bool) -> tuple[Floats, float]:
    """Return mean probabilities on the test rows over the larger set, and the share accepted."""
    return _kept("reference", quick, _reference)


def _kept(
    name: str, quick: bool, make: Callable[[bool], tuple[Floats, float]]
) -> tuple[Floats, float]:
    """Make it, or read what an earlier run made with these very files.

    Kept in the folder that HERDER_CACHE names, else in the temporary folder; the name holds a
    digest of this file and of data.py, so that a changed sampler never meets old draws.
    """
    if quick:
        return make(quick)
    sources = (Path(__file__), Path(data.__file__))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    folder = Path(os.environ.get("HERDER_CACHE") or Path(tempfile.gettempdir(), "herder-papers"))
    path = folder / f"chen2013_thesis-{name}-{digest}.npz"
    if not path.exists():
        values, accepted = make(quick)
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(path, values=values, accepted=accepted)
    with np.load(path) as kept:
        return kept["values"], float(kept["accepted"])


def _posterior(quick: bool) -> Logistic:
    task = data.task(quick)
    return Logistic.fit(task.X, task.y, data.PRIOR_VARIANCE)


def _draw(quick: bool) -> tuple[Floats, float]:
    random = np.random.default_rng([data.SEED, 1])
    kept = list(_posterior(quick).metropolis(QUICK if quick else FULL, random))
    draws = np.concatenate(np.stack([weights for weights, _ in kept], axis=1))
    return draws, float(np.mean([rate for _, rate in kept]))


def _reference(quick: bool) -> tuple[Floats, float]:
    """Start where the chains of D end."""
    sizes, rows = QUICK if quick else FULL, data.task(quick).X_test
    draws, random = draw(quick)[0], np.random.default_rng([data.SEED, 2])
    start = draws[sizes.kept - 1 :: sizes.kept]
    moves = _posterior(quick).hamiltonian(start, np.cov(draws.T), sizes.reference, random)
    total, rates = np.zeros(len(rows)), []
    for weights, rate in moves:
        total += expit(rows @ weights.T).mean(axis=1)
        rates.append(rate)
    return total / len(rates), float(np.mean(rates))
