r"""The first energy of a boosted field: that of a mixture, fitted to the rows before all rounds.

.. math:: E_0(s) = -\log \sum_k \pi_k P_k(s),

with normalised components: independent columns for signs, Gaussians for numbers. Mixtures are
fitted by EM, and their number of components is that of the least BIC.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from herder.core.plain import Arrays, read_array
from herder.learn.boosted_frame import RowFrame
from herder.models.bernoulli import fit_bernoulli_mixture

__all__ = ["GaussianBase", "SignBase", "draw_components", "fit_gaussians", "fit_signs"]

Floats = NDArray[np.float64]

#: Rows of each sign that are added to each component, half of them of each sign.
PRIOR_ROWS = 2

#: A component of Gaussians needs this many rows for each of its free means and directions.
ROWS_PER_COLUMN = 2

#: Least variance of standardised columns within a component.
LEAST_VARIANCE = 1e-6


@dataclass(frozen=True, eq=False)
class SignBase:
    """A mixture of independent signs.

    Parameters
    ----------
    logs : ndarray of shape (n_components,)
        Log shares of the components.
    fields : ndarray of shape (n_components, n_columns)
        Fields of their signs.
    """

    logs: Floats
    fields: Floats

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.fields.shape[1]

    @property
    def heights(self) -> Floats:
        """Logs of the components where their fields are not felt."""
        return self.logs - np.logaddexp(self.fields, -self.fields).sum(axis=1)

    def joint(self, rows: Floats) -> Floats:
        """Return the log probability of each row together with each component."""
        return rows @ self.fields.T + self.heights

    def energy(self, rows: Floats) -> Floats:
        """Return minus the log probability of rows."""
        return -_log_sum(self.joint(rows))

    def draw(self, n_rows: int, rng: np.random.Generator) -> Floats:
        """Draw rows."""
        fields = self.fields[rng.choice(len(self.logs), size=n_rows, p=_shares(self.logs))]
        return np.where(rng.random(fields.shape) < expit(2 * fields), 1.0, -1.0)

    def to_arrays(self) -> Arrays:
        """Return the parameters by name."""
        return {"logs": self.logs, "fields": self.fields}

    @classmethod
    def from_arrays(cls, arrays: Arrays, width: int) -> Self:
        """Return the mixture that `to_arrays` described."""
        logs = _read_logs(arrays)
        return cls(logs, read_array(arrays, "fields", (len(logs), width)))


@dataclass(frozen=True, eq=False)
class GaussianBase:
    """A mixture of Gaussians.

    Parameters
    ----------
    logs : ndarray of shape (n_components,)
        Log shares of the components.
    means : ndarray of shape (n_components, n_columns)
        Their means.
    roots : ndarray of shape (n_components, n_columns, n_columns)
        What centred rows of a component are multiplied by, so that they get the unit covariance.
    """

    logs: Floats
    means: Floats
    roots: Floats

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.means.shape[1]

    @property
    def heights(self) -> Floats:
        """Log densities of the components at their means, times their shares."""
        volumes = np.linalg.slogdet(self.roots)[1]
        return self.logs + volumes - self.width / 2 * np.log(2 * np.pi)

    def joint(self, rows: Floats) -> Floats:
        """Return the log density of each row together with each component."""
        squares = [
            (((rows - mean) @ root) ** 2).sum(axis=1)
            for mean, root in zip(self.means, self.roots, strict=True)
        ]
        return self.heights - np.column_stack(squares) / 2

    def energy(self, rows: Floats) -> Floats:
        """Return minus the log density of rows."""
        return -_log_sum(self.joint(rows))

    def draw(self, n_rows: int, rng: np.random.Generator) -> Floats:
        """Draw rows."""
        chosen = rng.choice(len(self.logs), size=n_rows, p=_shares(self.logs))
        noise, inverse = rng.standard_normal((n_rows, self.width)), np.linalg.inv(self.roots)
        for k in range(len(self.logs)):
            own = chosen == k
            noise[own] = self.means[k] + noise[own] @ inverse[k]
        return noise

    def to_arrays(self) -> Arrays:
        """Return the parameters by name."""
        return {"logs": self.logs, "means": self.means, "roots": self.roots}

    @classmethod
    def from_arrays(cls, arrays: Arrays, width: int) -> Self:
        """Return the mixture that `to_arrays` described."""
        logs = _read_logs(arrays)
        roots = read_array(arrays, "roots", (len(logs), width, width))
        if not np.isfinite(np.linalg.slogdet(roots)[1]).all():
            raise ValueError("roots without an inverse")
        return cls(logs, read_array(arrays, "means", (len(logs), width)), roots)


def draw_components(
    base: SignBase | GaussianBase, rows: Floats, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw a component for each row, from their probabilities given the row."""
    joint = base.joint(rows)
    sums = np.exp(joint - joint.max(axis=1, keepdims=True)).cumsum(axis=1)
    return (sums < rng.random((len(rows), 1)) * sums[:, -1:]).sum(axis=1)


def fit_signs(rows: Floats, most: int) -> SignBase:
    """Fit a mixture of independent signs.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Signs.
    most : int
        Components at most; with none, all signs have the same probability.
    """
    n, width = rows.shape
    if not most:
        return SignBase(np.zeros(1), np.zeros((1, width)))
    bits = (rows + 1) / 2

    def fit(n_components: int) -> tuple[SignBase, float]:
        mixture = fit_bernoulli_mixture(bits, n_components)
        sizes = n * mixture.shares[:, None]
        means = (mixture.means * sizes + PRIOR_ROWS / 2) / (sizes + PRIOR_ROWS)
        found = SignBase(np.log(mixture.shares), np.arctanh(2 * means - 1))
        return found, _bic(found, rows, len(sizes) * (width + 1) - 1)

    return _least_bic(fit, min(most, n))


def fit_gaussians(rows: Floats, frame: RowFrame, most: int, seed: int) -> GaussianBase:
    """Fit a mixture of Gaussians, in standardised columns.

    Components need about two rows for each column. A component that has fewer rows than columns
    gets the covariance of all rows, and so does the only component if there are too few for one.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Whitened rows.
    frame : RowFrame
        What whitened them.
    most : int
        Components at most; with none, it is one Gaussian with the mean and covariance of the rows.
    seed : int
        Of the starts of EM.
    """
    n, width = rows.shape
    back = np.linalg.inv(frame.scale)
    back /= np.abs(back).max(axis=0)
    standard = back / np.sqrt((back**2).sum(axis=0))  # by which whitened rows are standardised
    points, most = rows @ standard, min(most, n // (ROWS_PER_COLUMN * (width + 1)))
    if most < 1:
        return GaussianBase(np.zeros(1), np.zeros((1, width)), np.eye(width)[None])

    def fit(n_components: int) -> tuple[GaussianBase, float]:
        found = _gaussian_mixture(points, n_components, seed)
        means = np.linalg.solve(standard.T, found.means_.T).T
        roots = standard @ found.precisions_cholesky_
        roots[n * found.weights_ < width + 1] = np.eye(width)
        base = GaussianBase(np.log(found.weights_), means, roots)
        size = n_components * (1 + width + width * (width + 1) // 2) - 1
        return base, _bic(base, rows, size)

    limit: Any = import_module("threadpoolctl").threadpool_limits
    with limit(1, "openmp"):  # k-means in several threads would not give the same bits twice
        return _least_bic(fit, most)


def _gaussian_mixture(points: Floats, n_components: int, seed: int) -> Any:
    """Fit by EM from k-means."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    state = seed % 2**32
    model = GaussianMixture(n_components, reg_covar=LEAST_VARIANCE, random_state=state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows, or slow EM
        return model.fit(points)


def _bic(base: SignBase | GaussianBase, rows: Floats, size: int) -> float:
    """Return the BIC of a mixture with so many free parameters."""
    return 2 * float(base.energy(rows).sum()) + size * float(np.log(len(rows)))


def _least_bic(fit: Callable[[int], tuple[Any, float]], most: int) -> Any:
    """Return the mixture of the least BIC, of equal ones that of the fewest components."""
    return min(map(fit, range(1, most + 1)), key=lambda found: found[1])[0]


def _log_sum(logs: Floats) -> Floats:
    """Return the log of the sum of each row of logs."""
    return logs[:, 0] if logs.shape[1] == 1 else np.asarray(logsumexp(logs, axis=1))


def _shares(logs: Floats) -> Floats:
    shares = np.exp(logs - logs.max())
    return shares / shares.sum()


def _read_logs(arrays: Arrays) -> Floats:
    """Return the log shares of a state, which must sum to 1."""
    logs = read_array(arrays, "logs", (None,))
    if not len(logs) or abs(float(np.exp(logs).sum()) - 1) > 1e-6:
        raise ValueError("shares of components that do not sum to 1")
    return logs
