r"""Fit couplings and biases by pseudo-likelihood.

The pseudo-likelihood of a fully visible Boltzmann machine is that of each site given all others
[hyvarinen2006]_; we minimise, over symmetric W with a zero diagonal and over b,

.. math:: -\sum_n v_n \sum_i \log p(x_{ni} \mid x_{n, -i}) + \alpha \sum_{i \ne j} W_{ij}^2,
          \qquad p(x_i = 1 \mid x_{-i}) = \sigma\Big(b_i + \sum_j W_{ij} x_j\Big),

where :math:`v_n` are the shares of the rows. This is convex, and consistent: at infinitely many
rows of a Boltzmann machine its minimum is that machine. `fit_pl` does this; `fit_nodes` gives each
site a logistic regression of its own, and then averages W with its transpose.

Inside, columns are flipped so that at most half of a column is on, and centred: with
:math:`z = x - \bar x` and :math:`c = b + W \bar x` the fields are :math:`c + W z`. At W = 0 the
Hessian acts on symmetric V as :math:`D V C + C V D + 4 \alpha V`, where C is the covariance and D
the diagonal of the variances p (1 - p). With :math:`\delta^2 = 2 \alpha`, and D + δ and C + δ in
place of D and C, this is a Sylvester operator, which the eigenvectors of
:math:`(D + \delta)^{-1/2} (C + \delta) (D + \delta)^{-1/2}` invert. It is the
preconditioner of Newton steps, with D taken anew at each step. For `fit_nodes` it is
:math:`d_i C + 2 \alpha` without row and column i, which the eigenvectors of C invert.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from herder.learn import _pseudo_jit as _jit
from herder.learn.fit import Fit
from herder.learn.newton import Minimum, minimise
from herder.learn.rows import Sample, blocks

__all__ = ["Design", "fit_nodes", "fit_pl", "log_pseudo_likelihood"]

#: Columns that a pass over the rows handles at a time, so that their couplings stay in the cache.
WIDTH = 128

#: Eigenvalues below this share of the largest are as good as zero, as for equal columns.
LEAST_EIGENVALUE = 1e-9


@dataclass(frozen=True, eq=False)
class Design:
    """Rows in the form that passes need: flipped, centred, as lists.

    Parameters
    ----------
    rows : Rows
        Lists of the sites that are on.
    means : ndarray of shape (n,)
        Share of rows where a site is on, at most about one half.
    covariance : ndarray of shape (n, n)
        Of the flipped columns.
    signs : ndarray of shape (n,)
        -1 where a column is flipped.
    curvatures : list of ndarray
        Weighted variances at the latest gradient, by blocks of columns.
    """

    rows: _jit.Rows
    means: NDArray[np.float64]
    covariance: NDArray[np.float64]
    signs: NDArray[np.float64]
    curvatures: list[NDArray[np.float32]]

    @classmethod
    def of(cls, sample: Sample) -> "Design":
        """Make the lists."""
        flipped = sample.means > 0.5
        lists = sparse.csr_array(sample.rows ^ flipped)
        n_rows, n = sample.rows.shape
        means = np.asarray(lists.T @ sample.weights)
        shares = sparse.csr_array(
            (np.repeat(sample.weights, np.diff(lists.indptr)), lists.indices, lists.indptr),
            shape=lists.shape,
        )
        covariance = (lists.T.astype(np.float64) @ shares).toarray() - np.outer(means, means)
        return cls(
            _jit.Rows(lists.indptr, lists.indices, sample.weights),
            means,
            covariance,
            np.where(flipped, -1.0, 1.0),
            [np.empty((n_rows, min(WIDTH, n - i)), np.float32) for i in range(0, n, WIDTH)],
        )

    @property
    def variances(self) -> NDArray[np.float64]:
        """Mean of p (1 - p) for each site, at the latest gradient."""
        return np.concatenate([part.sum(axis=0, dtype=np.float64) for part in self.curvatures])

    def losses(
        self, theta: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the loss of each site and its gradient; ``theta`` is V with c as its last line."""
        n = len(self.means)
        couplings, base = theta[:-1], theta[-1] - self.means @ theta[:-1]
        sums = np.zeros((n + 2, n))
        for part, curvature in zip(self._parts(), self.curvatures, strict=True):
            found = np.zeros((n + 2, curvature.shape[1]))
            block = np.ascontiguousarray(couplings[:, part])
            _jit.residuals(self.rows, part.start, block, base[part], found, curvature)
            sums[:, part] = found
        return sums[-1], self._centre(sums[:-1])

    def bend(self, direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply the Hessian at the latest gradient by a direction."""
        n = len(self.means)
        couplings, base = direction[:-1], direction[-1] - self.means @ direction[:-1]
        sums = np.empty((n + 1, n))
        for part, curvature in zip(self._parts(), self.curvatures, strict=True):
            found = np.zeros((n + 1, curvature.shape[1]))
            block = np.ascontiguousarray(couplings[:, part])
            _jit.bends(self.rows, block, base[part], curvature, found)
            sums[:, part] = found
        return self._centre(sums)

    def start(self) -> NDArray[np.float64]:
        """Give independent sites: no couplings, and log odds."""
        theta = np.zeros((len(self.means) + 1, len(self.means)))
        theta[-1] = np.log(self.means) - np.log1p(-self.means)
        return theta

    def enter(
        self, couplings: NDArray[np.float64], biases: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Turn couplings and biases of 0/1 states into parameters."""
        means = np.where(self.signs < 0, 1 - self.means, self.means)
        fields = biases + couplings @ means
        return np.vstack([couplings * np.outer(self.signs, self.signs), fields * self.signs])

    def leave(self, theta: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Turn parameters into couplings, not necessarily symmetric, and biases of 0/1 states.

        Line i of the couplings belongs to the conditional distribution of site i.
        """
        means = np.where(self.signs < 0, 1 - self.means, self.means)
        couplings = theta[:-1].T * np.outer(self.signs, self.signs)
        return couplings, theta[-1] * self.signs - couplings @ means

    def raw(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn a gradient in (V, c) into one in (W, b) of 0/1 states as they came."""
        means = np.where(self.signs < 0, 1 - self.means, self.means)
        biases = gradient[-1] * self.signs
        couplings = gradient[:-1] * np.outer(self.signs, self.signs) + np.outer(means, biases)
        return np.vstack([couplings, biases])

    def _parts(self) -> list[slice]:
        n = len(self.means)
        return [slice(start, min(start + WIDTH, n)) for start in range(0, n, WIDTH)]

    def _centre(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        sums[:-1] -= np.outer(self.means, sums[-1])
        return sums


class Symmetric:
    """The pseudo-likelihood of symmetric couplings."""

    def __init__(self, design: Design, alpha: float) -> None:
        self.design = design
        self.alpha = alpha
        # at independent sites the gradient is twice the covariance, each pair counted once
        self.scale = float(np.sqrt(2) * np.linalg.norm(_off_diagonal(design.covariance)))

    def gradient(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the gradient in the couplings above the diagonal, mirrored, and in c."""
        return self._fold(self.design.losses(theta)[1], theta)

    def bend(self, direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply the Hessian by a direction."""
        return self._fold(self.design.bend(direction), direction)

    def prepare(self) -> None:
        """Find the eigenvectors of the Sylvester operator."""
        self._variances = self.design.variances
        ridge = np.sqrt(2 * self.alpha)
        self._scale = 1 / np.sqrt(self._variances + ridge)
        inner = self.design.covariance + ridge * np.eye(len(self._scale))
        values, self._vectors = np.linalg.eigh(inner * np.outer(self._scale, self._scale))
        values = np.maximum(values, LEAST_EIGENVALUE * values[-1])
        self._values = values[:, None] + values

    def precondition(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Invert the Sylvester operator."""
        vectors, scale = self._vectors, np.outer(self._scale, self._scale)
        out = np.empty_like(gradient)
        inner = vectors.T @ (gradient[:-1] * scale) @ vectors / self._values
        out[:-1] = vectors @ inner @ vectors.T * scale
        out[-1] = gradient[-1] / self._variances
        np.fill_diagonal(out[:-1], 0.0)
        return out

    def dot(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
        """Count each coupling once."""
        return float(np.vdot(a[:-1], b[:-1]) / 2 + a[-1] @ b[-1])

    def squares(self, gradient: NDArray[np.float64]) -> float:
        """Give the squared norm of a gradient in (W, b)."""
        halves = gradient.copy()
        halves[:-1] /= 2
        raw = self.design.raw(halves)
        raw[:-1] += raw[:-1].T.copy()
        np.fill_diagonal(raw[:-1], 0.0)
        return self.dot(raw, raw)

    def _fold(self, sums: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        inner = sums[:-1]
        inner += inner.T.copy()
        inner += 4 * self.alpha * theta[:-1]
        np.fill_diagonal(inner, 0.0)
        return sums


class Nodewise:
    """One logistic regression a site; column i of the parameters is that of site i."""

    def __init__(self, design: Design, alpha: float) -> None:
        self.design = design
        self.alpha = alpha
        values, self._vectors = np.linalg.eigh(design.covariance)
        self._spectrum = np.maximum(values, LEAST_EIGENVALUE * values[-1])
        self.scale = float(np.linalg.norm(_off_diagonal(design.covariance)))

    def gradient(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the gradients of all regressions."""
        return self._add(self.design.losses(theta)[1], theta)

    def bend(self, direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply each Hessian by its direction."""
        return self._add(self.design.bend(direction), direction)

    def prepare(self) -> None:
        """Scale the spectrum of the covariance by the variances of the sites."""
        self._variances = self.design.variances
        self._inverse = 1 / (np.outer(self._spectrum, self._variances) + 2 * self.alpha)
        # column i: what the inverse makes of site i itself, to be taken out again
        self._own = self._vectors @ (self._vectors.T * self._inverse)

    def precondition(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Invert d_i C + 2 alpha without line and column i."""
        inner = self._vectors @ ((self._vectors.T @ gradient[:-1]) * self._inverse)
        inner -= self._own * (np.diag(inner) / np.diag(self._own))
        np.fill_diagonal(inner, 0.0)
        return np.vstack([inner, gradient[-1] / self._variances])

    def dot(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give one product a site."""
        return np.einsum("ij,ij->j", a, b)

    def squares(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the squared norms of the gradients in (W, b)."""
        raw = self.design.raw(gradient)
        np.fill_diagonal(raw[:-1], 0.0)
        return self.dot(raw, raw)

    def _add(self, sums: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        inner = sums[:-1]
        inner += 2 * self.alpha * theta[:-1]
        np.fill_diagonal(inner, 0.0)
        return sums


def fit_pl(
    sample: Sample,
    *,
    alpha: float = 1e-3,
    start: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
) -> Fit:
    """Minimise the penalised pseudo-likelihood over symmetric couplings.

    Parameters
    ----------
    sample : Sample
        Rows without constant columns.
    alpha : float
        Weight of the squared couplings, each counted twice.
    start : (couplings, biases), optional
        Where to start; independent sites by default.
    max_iter : int
        Newton steps at most.
    tol : float
        Norm of the gradient, relative to that of independent sites, at which to stop.
    """
    design = Design.of(sample)
    problem = Symmetric(design, alpha)
    theta = design.start() if start is None else design.enter(*start)
    found = minimise(problem, theta, scale=problem.scale, tol=tol, max_iter=max_iter)
    return _to_fit(design, found, alpha)


def fit_nodes(
    sample: Sample,
    *,
    alpha: float = 1e-3,
    start: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
) -> Fit:
    """Fit one logistic regression a site; the parameters are those of `fit_pl`.

    Line i of the couplings is the regression of site i on the others: they are not symmetric yet.
    """
    design = Design.of(sample)
    problem = Nodewise(design, alpha)
    theta = design.start() if start is None else design.enter(*start)
    found = minimise(problem, theta, scale=problem.scale, tol=tol, max_iter=max_iter)
    return _to_fit(design, found, alpha)


def log_pseudo_likelihood(
    couplings: NDArray[np.float64], biases: NDArray[np.float64], rows: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """Give the log pseudo-likelihood of 0/1 rows, summed over sites."""
    found = np.empty(len(rows))
    for part in blocks(rows):
        states = rows[part].astype(np.float64)
        fields = states @ couplings + biases
        # log p(x_i) is -log(1 + exp(-field)) for a site that is on, with the sign turned for off
        found[part] = -np.logaddexp(0.0, (1 - 2 * states) * fields).sum(axis=1)
    return found


def _off_diagonal(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    return matrix - np.diag(np.diag(matrix))


def _to_fit(design: Design, found: Minimum, alpha: float) -> Fit:
    couplings, biases = design.leave(found.theta)
    loss = design.losses(found.theta)[0].sum() + alpha * np.sum(couplings**2)
    return Fit(
        couplings,
        biases,
        n_iter=found.n_iter,
        converged=found.converged,
        gradient_norm=found.gradient_norm,
        objective=float(loss),
    )
