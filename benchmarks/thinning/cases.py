r"""Data of the thinning benchmark and the yardstick that every method is held against.

The data are mixtures of 100 Gaussians with random means and covariances. The yardstick is the
maximum mean discrepancy in plain NumPy and float64, with nothing of the library in it:

.. math:: \mathrm{MMD}^2 = \tfrac1{n^2} \sum_{ij} k(x_i, x_j)
          - 2 \sum_s w_s \bar k(x_s) + \sum_{st} w_s w_t k(x_s, x_t).
"""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sample", "draw_sample", "kernel_mean_64"]

Floats = NDArray[np.float64]

#: Rows and columns of a block: its 2 MB stay in the cache of one core.
BLOCK_ROWS, BLOCK_COLUMNS = 256, 1024


def half_squares(points: Floats) -> Floats:
    return np.einsum("nd,nd->n", points, points) / 2


def gram_64(left: Floats, right: Floats) -> Floats:
    """Gaussian Gram matrix of points already divided by the bandwidth."""
    exponent = left @ right.T
    exponent -= half_squares(left)[:, None]
    exponent -= half_squares(right)
    return np.exp(np.minimum(exponent, 0.0, out=exponent), out=exponent)


def kernel_mean_64(points: Floats, threads: int = 2) -> Floats:
    """Kernel mean at every row: upper triangle in blocks, parts merged in fixed order."""
    n_rows = len(points)

    def part(first: int) -> Floats:
        total = np.zeros(n_rows)
        for start in range(first * BLOCK_ROWS, n_rows, threads * BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, n_rows)
            rows = points[start:stop]
            total[start:stop] += gram_64(rows, rows).sum(axis=1)
            for left in range(stop, n_rows, BLOCK_COLUMNS):
                right = min(left + BLOCK_COLUMNS, n_rows)
                block = gram_64(rows, points[left:right])
                total[start:stop] += block.sum(axis=1)
                total[left:right] += block.sum(axis=0)
        return total

    with ThreadPoolExecutor(threads) as pool:
        return np.sum(list(pool.map(part, range(threads))), axis=0) / n_rows


@dataclass(frozen=True)
class Sample:
    """Rows to thin, the score of their density at each, and the bandwidth for all methods."""

    X: Floats
    score: Floats
    bandwidth: float

    @cached_property
    def scaled(self) -> Floats:
        # The kernel sees differences only; points about the origin lose fewer digits to it.
        return (self.X - self.X.mean(axis=0)) / self.bandwidth

    @cached_property
    def kernel_mean(self) -> Floats:
        return kernel_mean_64(self.scaled)

    def mmd(self, indices: NDArray[np.intp], weights: Floats | None = None) -> float:
        """MMD of weighted rows to the whole sample; equal weights by default."""
        w = np.full(len(indices), 1 / len(indices)) if weights is None else weights
        chosen = self.scaled[indices]
        cross = w @ self.kernel_mean[indices]
        square = self.kernel_mean.mean() - 2 * cross + w @ gram_64(chosen, chosen) @ w
        return math.sqrt(max(square, 0.0))

    def mmd_random(self, n_select: int) -> float:
        """Root of the expected squared MMD of a random subset without replacement."""
        n_rows = len(self.X)
        spread = 1 - self.kernel_mean.mean()
        return math.sqrt(spread / n_select * (n_rows - n_select) / (n_rows - 1))


def draw_sample(n_rows: int, width: int = 5, *, seed: int = 0, components: int = 100) -> Sample:
    """Draw a mixture of Gaussians; the bandwidth is the median distance of 2,000 of its rows."""
    rng = np.random.default_rng(seed)
    means = 3 * rng.normal(size=(components, width))
    factors = 0.35 * rng.normal(size=(components, width, width)) + 0.5 * np.eye(width)
    shares = rng.dirichlet(np.full(components, 2.0))
    origin = rng.choice(components, size=n_rows, p=shares)
    X = means[origin] + np.einsum("nij,nj->ni", factors[origin], rng.normal(size=(n_rows, width)))
    few = X[rng.choice(n_rows, min(n_rows, 2000), replace=False)]
    return Sample(X, mixture_score(X, means, factors, shares), median_distance(few))


def mixture_score(X: Floats, means: Floats, factors: Floats, shares: Floats) -> Floats:
    """Gradient of the log density at each row, in blocks of rows."""
    covariances = factors @ factors.transpose(0, 2, 1)
    precisions = np.linalg.inv(covariances)
    log_front = np.log(shares) - np.linalg.slogdet(covariances)[1] / 2
    score = np.empty_like(X)
    for start in range(0, len(X), 1000):
        away = X[start : start + 1000] - means[:, None]
        pull = away @ precisions
        log_part = log_front[:, None] - (away * pull).sum(axis=-1) / 2
        part = np.exp(log_part - log_part.max(axis=0))
        part /= part.sum(axis=0)
        score[start : start + 1000] = -(part[..., None] * pull).sum(axis=0)
    return score


def median_distance(points: Floats) -> float:
    squares = 2 * half_squares(points)
    distances = np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0)
    return float(np.sqrt(np.median(distances[np.triu_indices(len(points), 1)])))
