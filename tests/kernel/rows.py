"""Rows to choose from, in plain NumPy."""

import numpy as np
from scipy.spatial.distance import cdist

from herder.kernel.candidates import Candidates


def gaussian(A, B):
    return np.exp(-cdist(A, B, "sqeuclidean") / 2)


def energy(A, B):
    origin = np.zeros((1, A.shape[1]))
    return cdist(A, origin) + cdist(origin, B) - cdist(A, B)


class Rows(Candidates):
    """Rows under a kernel, every value computed when asked for."""

    def __init__(self, values, kernel=gaussian):
        self.values = np.atleast_2d(np.asarray(values, float))
        self.kernel = kernel
        self.n_rows = len(self.values)
        self.diagonal = np.array([kernel(x[None], x[None])[0, 0] for x in self.values])

    def _mean(self, p, precision, progress):
        return np.array([self.column(j) @ p for j in range(self.n_rows)])

    def column(self, j):
        return self.kernel(self.values[j : j + 1], self.values)[0]

    def gram(self, rows, others=None):
        return self.kernel(self.values[rows], self.values[rows if others is None else others])


class GramRows(Rows):
    """Rows known by their Gram matrix alone."""

    def __init__(self, matrix):
        self.matrix = np.asarray(matrix, float)
        self.n_rows, self.diagonal = len(self.matrix), self.matrix.diagonal()

    def column(self, j):
        return self.matrix[j]

    def gram(self, rows, others=None):
        return self.matrix[np.ix_(rows, rows if others is None else others)]


def squared_mmd(rows, p, indices, weights):
    """All at once, from the full Gram matrix."""
    change = -np.asarray(p, float)
    change[indices] += weights
    return change @ rows.gram(np.arange(rows.n_rows)) @ change
