r"""Local models of an image, which do not know of each other, and herding of both.

Colours say how probable it is that a superpixel i belongs to the foreground, :math:`p_i`, and
borders how probable it is that two neighbours differ, :math:`q_{ij}`. No distribution need have
all of these marginals. Herding finds the averages nearest to them ([chen2014]_, section 3.5.3):
they minimise

.. math:: \sum_i a_i \, \bigl[ (\pi_i - p_i)^2 + (1 - \pi_i - (1 - p_i))^2 \bigr]
          + \lambda \sum_{ij} l_{ij} (\pi_{ij} - q_{ij})^2,

where :math:`\pi_i` is how often i is foreground and :math:`\pi_{ij}` how often i and j differ.
The thesis has one rate for all superpixels and :math:`\lambda` for all pairs; here rates also
grow with the area a of a superpixel and the length l of a border, relative to their means.

Superpixels that the trimap marks keep their label. Its border with one of them is then one more
statement about a superpixel, :math:`\pi_i = q_{ij}` or :math:`1 - q_{ij}`. Two targets of one
feature make the same herd as their mean with the sum of their rates, which is what is herded.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from herder.apps.segment.boundaries import boundary_cues, boundary_probabilities
from herder.apps.segment.colours import colour_evidence
from herder.apps.segment.inputs import FOREGROUND, UNKNOWN
from herder.apps.segment.superpixels import borders_of, means_of, superpixels
from herder.fields.marginals import herd_marginals
from herder.models.marginals import PatchTables

__all__ = ["LocalModel", "herd_local", "local_model"]

#: Share of the mean evidence of a superpixel that its log odds have, as neighbouring pixels are no
#: independent witnesses, and lambda: medians of what random halves of GrabCut choose, where
#: errors hardly differ for lambda from 1 to 8 (benchmarks/segment.py).
TRUST, WEIGHT = 0.1, 2.0

N_STEPS = 100

#: Rates are at least this share of the largest.
LEAST_RATE = 1e-3


class LocalModel(NamedTuple):
    """What is known of superpixels and of pairs that meet.

    Parameters
    ----------
    labels : ndarray of shape (height, width)
        Superpixel of each pixel.
    areas : ndarray of shape (n,)
        Pixels of a superpixel.
    evidence : ndarray of shape (n,)
        Mean log ratio of the densities of foreground and background; infinite if it is marked.
    pairs : ndarray of shape (n_pairs, 2)
        Superpixels that meet.
    lengths : ndarray of shape (n_pairs,)
        How long their borders are.
    differ : ndarray of shape (n_pairs,)
        Probability that they belong to different objects.
    """

    labels: NDArray[np.intp]
    areas: NDArray[np.intp]
    evidence: NDArray[np.float64]
    pairs: NDArray[np.intp]
    lengths: NDArray[np.intp]
    differ: NDArray[np.float64]

    def chances(self, trust: float) -> NDArray[np.float64]:
        """Return the probability that each superpixel is foreground."""
        return expit(trust * self.evidence)


def local_model(lab: NDArray[np.float64], trimap: NDArray[np.uint8]) -> LocalModel:
    """Return the local models of an image (CIELAB) and a trimap of `as_trimap`."""
    kinds = np.where(trimap < UNKNOWN, 0, trimap)
    labels = superpixels(lab, kinds)
    borders = borders_of(labels)
    differ = boundary_probabilities(boundary_cues(lab, labels, borders))
    evidence = np.where(kinds == FOREGROUND, np.inf, -np.inf)
    evidence = np.where(kinds == UNKNOWN, colour_evidence(lab, trimap), evidence)
    mean = means_of(evidence, labels)[:, 0]
    areas = np.bincount(labels.ravel())
    return LocalModel(labels, areas, mean, borders.pairs, borders.lengths, differ)


def herd_local(
    model: LocalModel,
    *,
    trust: float = TRUST,
    weight: float = WEIGHT,
    n_steps: int = N_STEPS,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how often each superpixel is foreground, and how often those that meet differ.

    Parameters
    ----------
    model : LocalModel
        What is herded.
    trust, weight
        See `TRUST`; ``weight`` is lambda.
    n_steps : int
        Number of steps.
    """
    chances, differ = model.chances(trust), model.differ
    free = np.isfinite(model.evidence)
    area = model.areas / model.areas.mean()
    length = weight * model.lengths / max(model.lengths.mean(), 1.0)
    rates, moments = area.copy(), area * chances
    for one, other in (model.pairs.T, model.pairs.T[::-1]):
        met = free[one] & ~free[other]
        same = np.where(chances[other] > 0, 1 - differ, differ)
        # half of it: the two cells of a superpixel are two features, a pair has one
        np.add.at(rates, one[met], length[met] / 2)
        np.add.at(moments, one[met], (length * same)[met] / 2)
    place = np.cumsum(free) - 1
    inner = free[model.pairs].all(axis=1)
    target = (moments / rates)[free]
    own = PatchTables(np.arange(free.sum())[:, None], np.column_stack([1 - target, target]))
    patches, weights = {"superpixels": own}, {"superpixels": rates[free]}
    if inner.any():
        pairs = PatchTables(place[model.pairs[inner]], differ[inner], "differ")
        patches, weights = patches | {"pairs": pairs}, weights | {"pairs": length[inner]}
    least = LEAST_RATE * max(rate.max() for rate in weights.values())
    weights = {key: np.maximum(rate, least) for key, rate in weights.items()}
    found = herd_marginals(patches, n_steps, rates=weights)
    reached = chances.copy()
    reached[free] = found.marginals[:, 1]
    apart = np.abs(np.diff(reached[model.pairs], axis=1))[:, 0]  # with a known one
    if inner.any():
        table = found.tables["pairs"]
        apart[inner] = table[:, 0, 1] + table[:, 1, 0]
    return reached, apart
