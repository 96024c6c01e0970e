r"""Fit couplings and biases by pseudo-likelihood.

The pseudo-likelihood of a fully visible Boltzmann machine is that of each site given all others
[hyvarinen2006]_; we minimise, over symmetric W with a zero diagonal and over b,

.. math:: -\sum_n v_n \sum_i \log p(x_{ni} \mid x_{n, -i}) + \alpha \sum_{i \ne j} W_{ij}^2,
          \qquad p(x_i = 1 \mid x_{-i}) = \sigma\Big(b_i + \sum_j W_{ij} x_j\Big),

where :math:`v_n` are the shares of the rows. This is convex, and consistent: at infinitely many
rows of a Boltzmann machine its minimum is that machine. Node by node, each site has a logistic
regression of its own instead, and `symmetrise` averages W with its transpose.

Inside, columns are flipped so that at most half of a column is on, and centred: with
:math:`z = x - \bar x` and :math:`c = b + W \bar x` the fields are :math:`c + W z`. At W = 0 the
Hessian acts on symmetric V as :math:`D V C + C V D + 4 \alpha V`, where C is the covariance and D
the diagonal of the variances p (1 - p). With :math:`\delta^2 = 2 \alpha`, and D + δ and C + δ in
place of D and C, this is a Sylvester operator, which the eigenvectors of
:math:`(D + \delta)^{-1/2} (C + \delta) (D + \delta)^{-1/2}` invert. It is the
preconditioner of Newton steps, with D updated at each step. For node-wise regressions it is
:math:`d_i C + 2 \alpha` without row and column i, which the eigenvectors of C invert.
"""

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from herder.core.blas import one_blas_thread
from herder.data.states import blocks
from herder.learn.design import Design
from herder.learn.fit import Fit
from herder.learn.lasso import minimise_l1
from herder.learn.newton import minimise
from herder.learn.rows import DistinctRows

__all__ = [
    "Nodewise",
    "Start",
    "Symmetric",
    "fit_pl",
    "log_pseudo_likelihood",
    "solve_sylvester",
    "symmetrise",
]

#: Couplings and biases to start from.
Start: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]

#: Least eigenvalue, relative to the largest: those of equal columns are zero up to rounding.
LEAST_EIGENVALUE = 1e-9


class _PseudoLikelihood:
    """What the objectives of both kinds of couplings share.

    Parameters
    ----------
    design : Design
        The rows.
    alpha : float
        Weight of the squared couplings.
    """

    #: Regressions that a coupling is part of.
    sharing: int

    def __init__(self, design: Design, alpha: float) -> None:
        self.design, self.alpha = design, alpha
        # at independent sites the gradient is the covariance, for each regression
        coupled = design.covariance - np.diag(np.diag(design.covariance))
        self.scale = float(np.sqrt(self.sharing) * np.linalg.norm(coupled))

    def evaluate(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the loss, without a penalty, and the gradient."""
        losses, sums = self.design.losses(theta)
        return float(losses.sum()), self._add_penalty(sums, theta)

    def bend(self, direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply the Hessian by a direction."""
        return self._add_penalty(self.design.bend(direction), direction)

    def _add_penalty(
        self, sums: NDArray[np.float64], theta: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        inner = sums[:-1]
        if self.sharing == 2:
            inner += inner.T.copy()
        inner += 2 * self.sharing * self.alpha * theta[:-1]
        np.fill_diagonal(inner, 0.0)
        return sums


class Symmetric(_PseudoLikelihood):
    """The pseudo-likelihood of symmetric couplings.

    Gradients are in the couplings above the diagonal, mirrored, and in c.
    """

    sharing = 2

    def prepare(self) -> None:
        """Find the eigenvectors of the Sylvester operator."""
        self._variances = self.design.variances
        ridge = np.sqrt(2 * self.alpha)
        self._scale = 1 / np.sqrt(self._variances + ridge)
        inner = self.design.covariance + ridge * np.eye(len(self._scale))
        values, self._vectors = np.linalg.eigh(inner * np.outer(self._scale, self._scale))
        values = np.maximum(values, LEAST_EIGENVALUE * values[-1])
        self._sums = values[:, None] + values

    def precondition(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Invert the Sylvester operator."""
        inner = solve_sylvester(self._scale, self._sums, self._vectors, gradient[:-1])
        np.fill_diagonal(inner, 0.0)
        return np.vstack([inner, gradient[-1] / self._variances])

    def dot(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
        """Count each coupling once."""
        return float(np.vdot(a[:-1], b[:-1]) / 2 + a[-1] @ b[-1])

    def squares(self, gradient: NDArray[np.float64]) -> float:
        """Return the squared norm of a gradient in (W, b)."""
        halves = gradient.copy()
        halves[:-1] /= 2
        raw = self.design.raw(halves)
        raw[:-1] += raw[:-1].T.copy()
        np.fill_diagonal(raw[:-1], 0.0)
        return self.dot(raw, raw)


class Nodewise(_PseudoLikelihood):
    """One logistic regression a site; column i of the parameters is that of site i."""

    sharing = 1

    def __init__(self, design: Design, alpha: float) -> None:
        super().__init__(design, alpha)
        values, self._vectors = np.linalg.eigh(design.covariance)
        self._spectrum = np.maximum(values, LEAST_EIGENVALUE * values[-1])

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
        """Return one product a site."""
        return np.einsum("ij,ij->j", a, b)

    def squares(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the squared norms of the gradients in (W, b)."""
        raw = self.design.raw(gradient)
        np.fill_diagonal(raw[:-1], 0.0)
        return self.dot(raw, raw)


def fit_pl(
    sample: DistinctRows,
    *,
    nodewise: bool = False,
    alpha: float = 1e-3,
    penalty: str = "l2",
    start: Start | None = None,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> Fit:
    """Minimise the penalised pseudo-likelihood.

    Parameters
    ----------
    sample : DistinctRows
        Rows without constant columns.
    nodewise : bool
        Whether to fit one logistic regression a site, instead of symmetric couplings: line i of
        the couplings is then the regression of site i on the others.
    alpha : float
        Weight of the sum over i != j of the penalty; 0 for none.
    penalty : {"l2", "l1"}
        Squares of the couplings, or absolute values.
    start : (couplings, biases), optional
        Where to start; independent sites by default.
    max_iter : int
        Newton steps at most, or iterations of L-BFGS-B for "l1".
    tol : float
        Norm of the gradient, relative to that of independent sites, at which to stop.
    """
    design = Design.of(sample)
    kind = Nodewise if nodewise else Symmetric
    problem = kind(design, alpha if penalty == "l2" else 0.0)
    theta = design.start() if start is None else design.enter(*start)
    if penalty == "l1" and alpha > 0:
        weight = alpha * problem.sharing
        found = minimise_l1(problem, theta, weight=weight, tol=tol, max_iter=max_iter)
    else:
        found = minimise(problem, theta, scale=problem.scale, tol=tol, max_iter=max_iter)
    couplings, biases = design.leave(found.theta)
    if not nodewise:  # symmetric up to rounding
        couplings = (couplings + couplings.T) / 2
    sizes = np.abs(couplings) if penalty == "l1" else couplings**2
    return Fit(
        couplings,
        biases,
        n_iter=found.n_iter,
        converged=found.converged,
        gradient_norm=found.gradient_norm,
        objective=float(design.losses(found.theta)[0].sum() + alpha * sizes.sum()),
    )


def symmetrise(fit: Fit, sample: DistinctRows) -> Fit:
    """Average each coupling of node-wise regressions with its mirror image.

    Biases keep the field at the mean of the rows, which is the same for 0/1 and -1/+1 states.
    """
    couplings = (fit.couplings + fit.couplings.T) / 2
    biases = fit.biases + (fit.couplings - couplings) @ sample.means
    return replace(fit, couplings=couplings, biases=biases)


@one_blas_thread()
def log_pseudo_likelihood(
    couplings: NDArray[np.float64], biases: NDArray[np.float64], rows: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """Return the log pseudo-likelihood of 0/1 rows, summed over sites.

    Line i of the couplings belongs to site i; they need not be symmetric.
    """
    found = np.empty(len(rows))
    for part in blocks(rows):
        states = rows[part].astype(np.float64)
        fields = states @ couplings.T + biases
        # log p(x_i) is -log(1 + exp(-field)) for a site that is on, with the sign turned for off
        found[part] = -np.logaddexp(0.0, (1 - 2 * states) * fields).sum(axis=1)
    return found


def solve_sylvester(
    scale: NDArray[np.float64],
    sums: NDArray[np.float64],
    vectors: NDArray[np.float64],
    slope: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the couplings whose image under a Sylvester operator is ``slope``.

    Multiplied by ``scale`` from both sides the operator has the eigenvectors ``vectors``; the
    eigenvalues of its two factors add up to ``sums``.
    """
    both = np.outer(scale, scale)
    inner = vectors.T @ (slope * both) @ vectors / sums
    return vectors @ inner @ vectors.T * both
