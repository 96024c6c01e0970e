r"""Boosted fields: an energy that is a sum of features, and Markov chains of it.

.. math:: P(s) \propto e^{-E(s)}, \qquad E(s) = E_0(s) + \sum_t \alpha_t \phi_t(s),

where :math:`E_0` is that of independent sites for signs, and :math:`|s|^2 / 2`, a standard
Gaussian, for numbers. Chains are

- exact: Gibbs sampling for signs, the Metropolis algorithm for numbers, with steps of mixed
  widths, half of them together with the difference of two rows [terbraak2006]_;
- of blocks, for units and dimples: hidden variables given the row, all at once, and the reverse.
  They take :math:`\log \cosh \alpha u` for :math:`\alpha \log \cosh u`, and the sum of powers of
  two densities for the power of their sum (equations 13 and 17 of [welling2003]_), so that they
  sample from another field than E; at :math:`\alpha = 1` they are exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from herder.learn import _boosting_jit as _jit
from herder.learn.boosted_features import DimpleFeatures, FeatureFamily, RBMFeatures

__all__ = ["BoostedModel"]

Floats = NDArray[np.float64]

#: Widths of Metropolis steps, in standard deviations of the data.
NARROWEST, WIDEST = 0.05, 2.0

#: Share of the steps that also jump by the difference of two given rows, from mode to mode.
JUMPS = 0.5

#: Numbers that are held at a time.
BLOCK = 2**22


@dataclass(frozen=True, eq=False)
class BoostedModel:
    """An energy as a sum of features, over signs or numbers.

    Parameters
    ----------
    family : FeatureFamily
        The kind of features.
    parameters : ndarray of shape (n_features, n_parameters)
        A row for each feature.
    coefficients : ndarray of shape (n_features,)
        Their weights in the energy.
    fields : ndarray of shape (n_columns,) or None
        For signs, the fields of independent sites in the energy; None for numbers.
    """

    family: FeatureFamily
    parameters: Floats
    coefficients: Floats
    fields: Floats | None

    @property
    def signs(self) -> bool:
        """Whether rows are of -1 and 1; otherwise of numbers."""
        return self.fields is not None

    def added(self, parameters: Floats, coefficient: float) -> Self:
        """Return the model with one feature more."""
        table = self.parameters if len(self.parameters) else np.empty((0, len(parameters)))
        return replace(
            self,
            parameters=np.vstack([table, parameters]),
            coefficients=np.append(self.coefficients, coefficient),
        )

    def first(self, n_features: int) -> Self:
        """Return the model with its first features only."""
        return replace(
            self,
            parameters=self.parameters[:n_features],
            coefficients=self.coefficients[:n_features],
        )

    def base_energy(self, rows: Floats) -> Floats:
        """Return the energy without features."""
        return (rows**2).sum(axis=1) / 2 if self.fields is None else -rows @ self.fields

    def base_log_partition(self, width: int) -> float:
        """Return log Z of the model without features."""
        if self.fields is None:
            return width / 2 * float(np.log(2 * np.pi))
        return float(np.logaddexp(self.fields, -self.fields).sum())

    def values(self, feature: Floats, rows: Floats) -> Floats:
        """Return the values of one feature."""
        return self.family.values(feature[None], rows)[:, 0]

    def staged(self, rows: Floats) -> Iterator[Floats]:
        """Yield the energy without features, and after each of them."""
        total = self.base_energy(rows)
        yield total
        for feature, coefficient in zip(self.parameters, self.coefficients, strict=True):
            total = total + coefficient * self.values(feature, rows)
            yield total

    def pulls(self, rows: Floats) -> Floats:
        """Return the energy of the features."""
        if not len(self.coefficients):
            return np.zeros(len(rows))
        size = max(1, BLOCK // max(len(self.coefficients), rows.shape[1]))
        parts = [rows[low : low + size] for low in range(0, len(rows), size)]
        values = self.family.values
        return np.concatenate(
            [values(self.parameters, part) @ self.coefficients for part in parts]
        )

    def energy(self, rows: Floats) -> Floats:
        """Return the energy of rows."""
        return self.base_energy(rows) + self.pulls(rows)

    def draw_base(self, n_rows: int, width: int, rng: np.random.Generator) -> Floats:
        """Draw rows of the model without features."""
        if self.fields is None:
            return rng.standard_normal((n_rows, width))
        return np.where(rng.random((n_rows, width)) < expit(2 * self.fields), 1.0, -1.0)

    def advance(
        self,
        rows: Floats,
        n_steps: int,
        rng: np.random.Generator,
        *,
        chain: str = "exact",
        share: float = 1.0,
        archive: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Return where chains are after some steps, and the energies of their features.

        Parameters
        ----------
        rows : ndarray of shape (n_chains, n_columns)
            Where they start.
        n_steps : int
            Steps; of Gibbs sampling, sweeps.
        rng : Generator
            Draws the steps.
        chain : {"exact", "block"}
            Which chains; those of blocks are approximate.
        share : float
            Of the energy of the features, for exact chains.
        archive : ndarray of shape (n_rows, n_columns), optional
            For numbers, rows whose differences are tried as steps: where chains start by default.
        """
        rows = rows.copy()
        if not len(self.coefficients):
            return self.draw_base(len(rows), rows.shape[1], rng), np.zeros(len(rows))
        if chain == "block":
            return self._blocks(rows, n_steps, rng)
        if self.fields is not None:
            return self._gibbs(rows, n_steps, rng, share, self.fields)
        return self._metropolis(rows, n_steps, rng, share, rows if archive is None else archive)

    def _blocks(
        self, rows: Floats, n_steps: int, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Move chains of hidden variables and rows in turn."""
        units = isinstance(self.family, RBMFeatures)
        for _ in range(n_steps):
            rows = _move_units(self, rows, rng) if units else _move_dimples(self, rows, rng)
        return rows, self.pulls(rows)

    def _gibbs(
        self, rows: Floats, n_steps: int, rng: np.random.Generator, share: float, fields: Floats
    ) -> tuple[Floats, Floats]:
        if isinstance(self.family, RBMFeatures):
            pulls, units = np.empty(len(rows)), np.ascontiguousarray(self.parameters[:, :-1].T)
            uniforms = rng.random((len(rows), n_steps, rows.shape[1]))
            biases = self.parameters[:, -1].copy()
            _jit.gibbs(rows, pulls, units, biases, self.coefficients, fields, share, uniforms)
            return rows, pulls
        pulls = self.pulls(rows)
        for _ in range(n_steps):
            for j in range(rows.shape[1]):
                other = rows.copy()
                other[:, j] *= -1
                there = self.pulls(other)
                gains = share * (pulls - there) - 2 * fields[j] * rows[:, j]
                flips = rng.random(len(rows)) < expit(gains)
                rows[flips], pulls[flips] = other[flips], there[flips]
        return rows, pulls

    def _metropolis(
        self,
        rows: Floats,
        n_steps: int,
        rng: np.random.Generator,
        share: float,
        archive: Floats,
    ) -> tuple[Floats, Floats]:
        n, width = rows.shape
        sizes = np.exp(rng.uniform(np.log(NARROWEST), np.log(WIDEST), (n, n_steps, 1)))
        steps = rng.standard_normal((n, n_steps, width)) * (sizes / np.sqrt(width))
        ends, starts = rng.integers(len(archive), size=(2, n, n_steps))
        jumps = rng.random((n, n_steps, 1)) < JUMPS
        steps += np.where(jumps, archive[ends] - archive[starts], 0.0)
        levels = -rng.standard_exponential((n, n_steps))
        if isinstance(self.family, DimpleFeatures):
            pulls = np.empty(n)
            table = np.hstack([self.parameters[:, :width], np.exp(self.parameters[:, width:])])
            heights = self.parameters[:, width:].sum(axis=1) / 2
            broad = -2 * np.log(self.family.broad_width)
            given = table, heights, self.coefficients, broad, share
            _jit.metropolis(rows, pulls, *given, steps, levels)
            return rows, pulls
        pulls, base = self.pulls(rows), self.base_energy(rows)
        for k in range(n_steps):
            trial = rows + steps[:, k]
            there, base_there = self.pulls(trial), self.base_energy(trial)
            moved = levels[:, k] < base - base_there + share * (pulls - there)
            rows[moved] = trial[moved]
            pulls, base = np.where(moved, there, pulls), np.where(moved, base_there, base)
        return rows, pulls


def _move_units(model: BoostedModel, rows: Floats, rng: np.random.Generator) -> Floats:
    """Draw hidden signs given rows, and rows given them (equation 14)."""
    scale = (2 * model.coefficients).astype(np.float32)
    units = model.parameters.astype(np.float32)
    fields = (rows.astype(np.float32) @ units[:, :-1].T + units[:, -1]) * scale
    on = rng.random(fields.shape, np.float32) < expit(fields)
    hidden = np.where(on, scale, -scale)
    fields = 0.0 if model.fields is None else 2 * model.fields.astype(np.float32)
    up = rng.random(rows.shape, np.float32) < expit(hidden @ units[:, :-1] + fields)
    return np.where(up, 1.0, -1.0)


def _move_dimples(model: BoostedModel, rows: Floats, rng: np.random.Generator) -> Floats:
    """Draw the narrow or the broad Gaussian of each dimple, and rows given them."""
    family: Any = model.family
    width, alpha = rows.shape[1], model.coefficients
    means, logs = model.parameters[:, :width], model.parameters[:, width:]
    broad = -2 * np.log(family.broad_width)
    squares = (rows[:, None, :] - means) ** 2
    narrow = logs.sum(axis=1) / 2 - (squares * np.exp(logs)).sum(axis=2) / 2
    wide = width * broad / 2 - squares.sum(axis=2) * np.exp(broad) / 2
    chosen = rng.random(narrow.shape) < expit(alpha * (narrow - wide))
    precisions = alpha[:, None] * np.where(chosen[:, :, None], np.exp(logs), np.exp(broad))
    total = 1 + precisions.sum(axis=1)
    centre = (precisions * means).sum(axis=1) / total
    return centre + rng.standard_normal(rows.shape) / np.sqrt(total)
