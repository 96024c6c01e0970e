r"""Boosted fields: an energy that is a sum of features, and Markov chains of it.

.. math:: P(s) \propto e^{-E(s)}, \qquad E(s) = E_0(s) + \sum_t \alpha_t \phi_t(s),

where :math:`E_0` is that of a mixture, of independent signs or of Gaussians. Chains are

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
from herder.learn.boosted_base import GaussianBase, SignBase, draw_components
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
    base : SignBase or GaussianBase
        The energy without features, for signs or for numbers.
    """

    family: FeatureFamily
    parameters: Floats
    coefficients: Floats
    base: SignBase | GaussianBase

    @property
    def signs(self) -> bool:
        """Whether rows are of -1 and 1; otherwise of numbers."""
        return isinstance(self.base, SignBase)

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

    def values(self, feature: Floats, rows: Floats) -> Floats:
        """Return the values of one feature."""
        return self.family.values(feature[None], rows)[:, 0]

    def staged(self, rows: Floats) -> Iterator[Floats]:
        """Yield the energy without features, and after each of them."""
        total = self.base.energy(rows)
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
        return self.base.energy(rows) + self.pulls(rows)

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
            return self.base.draw(len(rows), rng), np.zeros(len(rows))
        if chain == "block":
            return self._blocks(rows, n_steps, rng)
        if isinstance(self.base, SignBase):
            return self._gibbs(rows, n_steps, rng, share, self.base)
        archive = rows if archive is None else archive
        return self._metropolis(rows, n_steps, rng, share, self.base, archive)

    def _blocks(
        self, rows: Floats, n_steps: int, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Move chains of hidden variables and rows in turn."""
        for _ in range(n_steps):
            if isinstance(self.base, SignBase):
                rows = _move_units(self, self.base, rows, rng)
            else:
                rows = _move_dimples(self, self.base, rows, rng)
        return rows, self.pulls(rows)

    def _gibbs(
        self, rows: Floats, n_steps: int, rng: np.random.Generator, share: float, base: SignBase
    ) -> tuple[Floats, Floats]:
        if isinstance(self.family, RBMFeatures):
            pulls, units = np.empty(len(rows)), np.ascontiguousarray(self.parameters[:, :-1].T)
            uniforms = rng.random((len(rows), n_steps, rows.shape[1]))
            given = units, self.parameters[:, -1].copy(), self.coefficients
            _jit.gibbs(rows, pulls, *given, base.heights, base.fields, share, uniforms)
            return rows, pulls
        pulls, first = self.pulls(rows), base.energy(rows)
        for _ in range(n_steps):
            for j in range(rows.shape[1]):
                other = rows.copy()
                other[:, j] *= -1
                there, first_there = self.pulls(other), base.energy(other)
                gains = share * (pulls - there) + first - first_there
                flips = rng.random(len(rows)) < expit(gains)
                rows[flips], pulls[flips] = other[flips], there[flips]
                first[flips] = first_there[flips]
        return rows, pulls

    def _metropolis(
        self,
        rows: Floats,
        n_steps: int,
        rng: np.random.Generator,
        share: float,
        base: GaussianBase,
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
            mixture = base.heights, base.means, base.roots
            _jit.metropolis(rows, pulls, *given, *mixture, steps, levels)
            return rows, pulls
        pulls, first = self.pulls(rows), base.energy(rows)
        for k in range(n_steps):
            trial = rows + steps[:, k]
            there, first_there = self.pulls(trial), base.energy(trial)
            moved = levels[:, k] < first - first_there + share * (pulls - there)
            rows[moved] = trial[moved]
            pulls, first = np.where(moved, there, pulls), np.where(moved, first_there, first)
        return rows, pulls


def _move_units(
    model: BoostedModel, base: SignBase, rows: Floats, rng: np.random.Generator
) -> Floats:
    """Draw hidden signs and a component given rows, and rows given them (equation 14)."""
    scale = (2 * model.coefficients).astype(np.float32)
    units = model.parameters.astype(np.float32)
    fields = (rows.astype(np.float32) @ units[:, :-1].T + units[:, -1]) * scale
    on = rng.random(fields.shape, np.float32) < expit(fields)
    hidden = np.where(on, scale, -scale)
    fields = (2 * base.fields).astype(np.float32)[draw_components(base, rows, rng)]
    up = rng.random(rows.shape, np.float32) < expit(hidden @ units[:, :-1] + fields)
    return np.where(up, 1.0, -1.0)


def _move_dimples(
    model: BoostedModel, base: GaussianBase, rows: Floats, rng: np.random.Generator
) -> Floats:
    """Draw a Gaussian of each dimple and one of the mixture, and rows given all of them."""
    family: Any = model.family
    width, alpha = rows.shape[1], model.coefficients
    means, logs = model.parameters[:, :width], model.parameters[:, width:]
    broad = -2 * np.log(family.broad_width)
    squares = (rows[:, None, :] - means) ** 2
    narrow = logs.sum(axis=1) / 2 - (squares * np.exp(logs)).sum(axis=2) / 2
    wide = width * broad / 2 - squares.sum(axis=2) * np.exp(broad) / 2
    chosen = rng.random(narrow.shape) < expit(alpha * (narrow - wide))
    precisions = alpha[:, None] * np.where(chosen[:, :, None], np.exp(logs), np.exp(broad))
    pulls = (precisions * means).sum(axis=1)
    chosen = draw_components(base, rows, rng)
    tables = base.roots @ base.roots.swapaxes(1, 2)
    total = tables[chosen]
    total[:, range(width), range(width)] += precisions.sum(axis=1)
    pulls += (tables @ base.means[:, :, None])[chosen, :, 0]
    inverse = np.linalg.inv(np.linalg.cholesky(total))
    noise = (inverse @ pulls[:, :, None])[:, :, 0] + rng.standard_normal(rows.shape)
    return (noise[:, None, :] @ inverse)[:, 0]
