"""The random mixtures of sections 4.2.3.1 and 4.2.3.2, and the four test functions.

The thesis gives neither the mixtures nor the bandwidth of its Gaussian kernel: here means are
normal with standard deviation 1.5, each component has standard deviations from 0.2 to 0.6 along
random axes, and all components have equal weights.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from herder import GaussianMixture
from papers.chen2013_thesis import data

Floats = NDArray[np.float64]

#: Of the kernel in five dimensions: about the standard deviation of a coordinate.
BANDWIDTH = 1.5

NAMES = ("x", "x^2", "x^3", "sin |x|")


@cache
def mixture(n_components: int, d: int, number: int = 0) -> GaussianMixture:
    """Build a random mixture; it depends on SEED and the arguments only."""
    random = np.random.default_rng([data.SEED, n_components, d, *([number] if number else [])])
    means = 1.5 * random.standard_normal((n_components, d))
    axes = np.linalg.qr(random.standard_normal((n_components, d, d)))[0]
    lengths = random.uniform(0.2, 0.6, (n_components, d))
    return GaussianMixture(means, np.einsum("kij,kj,klj->kil", axes, lengths**2, axes))


def functions(points: Floats) -> tuple[Floats, ...]:
    """x, x^2 and x^3 in each dimension, and sin |x| as one column."""
    waves = np.sin(np.linalg.norm(points, axis=1))[:, None]
    return points, points**2, points**3, waves


@cache
def expectations(target: GaussianMixture, quick: bool) -> tuple[tuple[Floats, ...], float]:
    """Means of the four functions under the mixture, and the standard error of the last.

    Moments are exact. The mean of sin |x| is the average over components of scrambled Sobol
    points, mapped to each component; eight scrambles give its standard error.
    """
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    roots = np.linalg.cholesky(target.covariances)
    found = []
    for scramble in range(8):
        sobol = Sobol(target.n_features, rng=np.random.default_rng([data.SEED, 3, scramble]))
        normal = ndtri(sobol.random_base2(8 if quick else 14))
        waves = [
            np.sin(np.linalg.norm(mean + normal @ root.T, axis=1)).mean()
            for mean, root in zip(target.means, roots, strict=True)
        ]
        found.append(target.weights @ np.array(waves))
    exact = tuple(target.moment(order) for order in (1, 2, 3))
    spread = float(np.std(found, ddof=1) / np.sqrt(len(found)))
    return (*exact, np.array([np.mean(found)], np.float64)), spread


def distances(target: GaussianMixture, points: Floats, bandwidth: float) -> Floats:
    """E_T of equation 4.21 for the first T of the points, for all T."""
    n = len(points)
    pairs = np.empty(n)
    squares = np.square(points).sum(axis=1)
    for start in range(0, n, 1000):
        rows = slice(start, min(start + 1000, n))
        apart = squares[rows, None] + squares - 2 * points[rows] @ points.T
        gram = np.exp(-np.maximum(apart, 0) / (2 * bandwidth**2))
        pairs[rows] = np.tril(gram, start - 1).sum(axis=1)
    counts = np.arange(1, n + 1)
    within = np.cumsum(2 * pairs + 1) / counts**2
    between = np.cumsum(target.kernel_mean(points, bandwidth)) / counts
    return np.sqrt(np.maximum(target.kernel_norm(bandwidth) - 2 * between + within, 0))
