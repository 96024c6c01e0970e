r"""Swendsen-Wang by SciPy's connected components, and the exact energy of a torus.

On an :math:`L \times L` torus of unit couplings at inverse temperature K, Kaufman's partition
function is :math:`Z = \tfrac12 (2 \sinh 2K)^{L^2/2} \sum_{k=1}^4 Z_k` with

.. math:: Z_{1,2} = \prod_{r=0}^{L-1} 2 {\cosh \atop \sinh} \tfrac{L}{2} \gamma_{2r+1}, \quad
          Z_{3,4} = \prod_{r=0}^{L-1} 2 {\cosh \atop \sinh} \tfrac{L}{2} \gamma_{2r}, \quad
          \cosh \gamma_l = \cosh 2K \coth 2K - \cos(\pi l / L),

where :math:`\gamma_0 = 2K + \log \tanh K` keeps its sign. The energy is the derivative of
:math:`-\log Z` (Kaufman, Physical Review 76, 1949).
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from herder import PairwiseModel

__all__ = ["ComponentSampler", "mean_and_error", "torus_energy"]


class ComponentSampler:
    """The algorithm as it is written with NumPy and SciPy, for spins without a field.

    Edges are in row order, so that the graph of the bonds is made as CSR at once: its columns are
    the second ends of the bonds, and its row pointers a running count of them.
    """

    def __init__(self, model: PairwiseModel, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.near, self.far = np.ascontiguousarray(model.edges.T)
        self.far32 = self.far.astype(np.int32)
        self.chances = -np.expm1(-2 * model.edge_weights).astype(np.float32)
        self.first_edges = np.searchsorted(self.near, np.arange(model.n_sites + 1))
        self.spins = self.rng.integers(0, 2, model.n_sites, dtype=np.int8)
        self.counts = np.zeros(model.n_sites, dtype=np.int64)
        self.n_sites, self.n_sweeps = model.n_sites, 0

    def sweep(self) -> None:
        """Draw bonds between equal neighbours, and a spin for each cluster."""
        bonds = self.rng.random(len(self.chances), dtype=np.float32) < self.chances
        bonds &= self.spins[self.near] == self.spins[self.far]
        ends = np.zeros(len(bonds) + 1, dtype=np.int32)
        np.cumsum(bonds, out=ends[1:])
        columns = self.far32[bonds]
        parts = (np.ones(len(columns)), columns, ends[self.first_edges])
        graph = sparse.csr_array(parts, shape=(self.n_sites, self.n_sites))
        n_clusters, labels = connected_components(graph, directed=False)
        self.spins = self.rng.integers(0, 2, n_clusters, dtype=np.int8)[labels]
        self.counts += self.spins
        self.n_sweeps += 1

    def energies(self, n_sweeps: int) -> NDArray[np.float64]:
        """Give the energy of a site, in units of the coupling, after each of some sweeps."""
        found = np.empty(n_sweeps)
        for t in range(n_sweeps):
            self.sweep()
            unequal = self.spins[self.near] != self.spins[self.far]
            found[t] = (2 * unequal.sum() - len(unequal)) / self.n_sites
        return found


def torus_energy(side: int, temperature: float) -> float:
    """Give the mean energy of a site of a square torus with unit couplings, exactly."""
    inverse, step = 1 / temperature, 1e-5
    above, below = (_log_partition(side, inverse + sign * step) for sign in (1, -1))
    return float(below - above) / (2 * step * side**2)


def _log_partition(side: int, inverse: float) -> float:
    double = 2 * inverse
    levels = np.cosh(double) / np.tanh(double) - np.cos(np.pi * np.arange(2 * side) / side)
    gamma = np.arccosh(np.maximum(levels, 1.0))
    gamma[0] = double + np.log(np.tanh(inverse))
    logs, signs = [], []
    for angles in (gamma[1::2], gamma[::2]):
        half = side / 2 * angles
        logs.append(np.logaddexp(half, -half).sum())  # log of 2 cosh
        sizes = np.abs(half)
        with np.errstate(divide="ignore"):  # at the critical point one factor is 0
            logs.append((sizes + np.log(-np.expm1(-2 * sizes))).sum())
        signs += [1.0, float(np.sign(half).prod())]
    top = max(logs)
    total = float(np.sum(signs * np.exp(np.array(logs) - top)))
    return top + np.log(total / 2) + side**2 / 2 * np.log(2 * np.sinh(double))


def mean_and_error(values: NDArray[np.float64], n_batches: int = 20) -> tuple[float, float]:
    """Give the mean of a chain and its standard error by batch means."""
    size = len(values) // n_batches
    means = values[: size * n_batches].reshape(n_batches, size).mean(axis=1)
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(n_batches))
