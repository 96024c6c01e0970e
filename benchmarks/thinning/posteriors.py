"""Posteriors of real data, drawn by adaptive Metropolis, and what their users average.

Each posterior is a log density, vectorised over chains, on unconstrained parameters; draws are
reported on the natural scale, where columns have different units, as users have them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn import datasets

Draws = NDArray[np.float64]

#: Rubin's eight schools: effects of coaching and their standard errors.
SCHOOLS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])

#: Pelts of the Hudson Bay Company in thousands, 1900 to 1920: hares, then lynxes.
HARES = [30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1, 40.3, 57, 76.6, 52.3]
HARES += [19.5, 11.2, 7.6, 14.6, 16.2, 24.7]
LYNXES = [4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7]
LYNXES += [15.8, 9.7, 10.1, 8.6]

#: Chains, draws kept of each, and steps from one to the next.
N_CHAINS, N_KEPT, STRIDE = 200, 50, 20


@dataclass(frozen=True)
class Posterior:
    """A log density of unconstrained parameters, their natural scale, and predictions."""

    start: Draws
    log_density: Callable[[Draws], Draws]  # (chains, d) -> (chains,)
    natural: Callable[[Draws], Draws]
    predict: Callable[[Draws], Draws]  # natural draws (n, d) -> (n, quantities)


def draw(posterior: Posterior, seed: int = 0) -> Draws:
    """Return N_CHAINS x N_KEPT draws on the natural scale, chain after chain."""
    rng = np.random.default_rng(seed)
    d = len(posterior.start)
    x = posterior.start + 0.01 * rng.normal(size=(N_CHAINS, d))
    log_p = posterior.log_density(x)
    root, scale = 0.05 * np.eye(d), 2.4 / d**0.5
    history: list[Draws] = []
    kept = np.empty((N_KEPT, N_CHAINS, d))
    n_warm = N_KEPT * STRIDE
    for t in range(n_warm + N_KEPT * STRIDE):
        proposal = x + scale * rng.normal(size=x.shape) @ root.T
        log_q = posterior.log_density(proposal)
        accept = np.log(rng.random(N_CHAINS)) < log_q - log_p
        x = np.where(accept[:, None], proposal, x)
        log_p = np.where(accept, log_q, log_p)
        if t < n_warm:
            history.append(x)
            scale *= np.exp((accept.mean() - 0.25) / (t + 10) ** 0.6)
            if t % 100 == 99:  # the covariance of the later half
                recent = np.concatenate(history[len(history) // 2 :])
                root = np.linalg.cholesky(np.cov(recent.T) + 1e-9 * np.eye(d))
        elif (t - n_warm) % STRIDE == STRIDE - 1:
            kept[(t - n_warm) // STRIDE] = x
    return posterior.natural(np.swapaxes(kept, 0, 1).reshape(-1, d))


def eight_schools() -> Posterior:
    """The hierarchical model of eight schools: mean, spread (a funnel) and eight effects."""
    effects, errors = SCHOOLS

    def natural(z: Draws) -> Draws:
        tau = np.exp(z[:, 1])
        return np.column_stack([z[:, 0], tau, z[:, :1] + tau[:, None] * z[:, 2:]])

    def log_density(z: Draws) -> Draws:  # effects as deviations from their mean, in units of tau
        x = natural(z)
        prior = -0.5 * np.square(x[:, 0] / 5) - np.log1p(np.square(x[:, 1] / 5)) + z[:, 1]
        fit = -0.5 * np.square((effects - x[:, 2:]) / errors).sum(axis=1)
        return prior + fit - 0.5 * np.square(z[:, 2:]).sum(axis=1)

    def predict(x: Draws) -> Draws:
        best = x[:, 2:].max(axis=1)
        return np.column_stack([best, best > 15, x[:, 2:] > 0]).astype(np.float64)

    return Posterior(np.r_[5.0, 1.0, np.zeros(8)], log_density, natural, predict)


def logistic_regression() -> Posterior:
    """Breast cancer from its ten mean measurements, coefficients in the units of the data."""
    bundled: Any = datasets
    data, y = bundled.load_breast_cancer(return_X_y=True)
    spread = data[:, :10].std(axis=0)
    rows = (data[:, :10] - data[:, :10].mean(axis=0)) / spread
    train, test = rows[::2], rows[1::40]

    def log_density(z: Draws) -> Draws:
        margin = (z[:, :1] + z[:, 1:] @ train.T) * np.where(y[::2], 1, -1)
        return -np.logaddexp(0, -margin).sum(axis=1) - 0.5 * np.square(z / 2).sum(axis=1)

    def natural(z: Draws) -> Draws:
        return np.column_stack([z[:, 0], z[:, 1:] / spread])

    def predict(x: Draws) -> Draws:
        return expit(x[:, :1] + (x[:, 1:] * spread) @ test.T)

    return Posterior(np.zeros(11), log_density, natural, predict)


def robust_regression() -> Posterior:
    """Progress of diabetes by a Student-t regression on ten columns, with its scale and shape."""
    bundled: Any = datasets
    rows, y = bundled.load_diabetes(return_X_y=True, scaled=False)
    spread = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / spread

    def log_density(z: Draws) -> Draws:
        from scipy.special import gammaln

        sigma, nu = np.exp(z[:, :1]), 1 + np.exp(z[:, 1:2])
        residual = (y - z[:, 2:3] - z[:, 3:] @ rows.T) / sigma
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu) - z[:, :1]
        fit = (constant - (nu + 1) / 2 * np.log1p(residual**2 / nu)).sum(axis=1)
        prior = -0.5 * np.square(z[:, 3:] / 50).sum(axis=1) - 0.5 * np.square((z[:, 1] - 2) / 1)
        return fit + prior

    def natural(z: Draws) -> Draws:
        return np.column_stack([np.exp(z[:, 0]), 1 + np.exp(z[:, 1]), z[:, 2], z[:, 3:] / spread])

    def predict(x: Draws) -> Draws:
        return np.exp((x[:, 2:3] + (x[:, 3:] * spread) @ rows[::40].T) / 100)

    return Posterior(np.r_[4.0, 2.0, y.mean(), np.zeros(10)], log_density, natural, predict)


def lynx_and_hare() -> Posterior:
    """Rates, first populations and noise of the Lotka-Volterra equations."""
    seen = np.log(np.column_stack([HARES, LYNXES]))

    def paths(z: Draws) -> Draws:
        """Return the populations of 21 years, by Runge-Kutta steps of a tenth of a year."""
        a, b, c, d = np.exp(z[:, :4].T)

        def slope(u: Draws) -> Draws:
            hare, lynx = np.exp(np.minimum(u.T, 50))
            return np.column_stack([a - b * lynx, -c + d * hare])

        u, years, h = z[:, 4:6], [z[:, 4:6]], 1 / 10
        for step in range(200):
            k1 = slope(u)
            k2 = slope(u + h / 2 * k1)
            k3 = slope(u + h / 2 * k2)
            u = np.clip(u + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(u + h * k3)), -50, 50)
            if step % 10 == 9:
                years.append(u)
        return np.stack(years, axis=1)

    def log_density(z: Draws) -> Draws:
        sigma = np.exp(z[:, None, 6:8])
        fit = (-0.5 * np.square((seen - paths(z)) / sigma) - np.log(sigma)).sum(axis=(1, 2))
        centre = np.array([0, np.log(0.05), 0, np.log(0.05), np.log(10), np.log(10), -1, -1])
        spread = np.array([0.5, 0.5, 0.5, 0.5, 1, 1, 1, 1])
        return fit - 0.5 * np.square((z - centre) / spread).sum(axis=1)

    def predict(x: Draws) -> Draws:
        return np.exp(paths(np.log(x)))[:, ::5].reshape(len(x), -1)

    start = np.log([0.55, 0.028, 0.80, 0.024, 33, 5.9, 0.25, 0.25])
    return Posterior(start, log_density, np.exp, predict)


POSTERIORS = {
    "eight schools": eight_schools,
    "logistic regression": logistic_regression,
    "Student-t regression": robust_regression,
    "lynx and hare": lynx_and_hare,
}
