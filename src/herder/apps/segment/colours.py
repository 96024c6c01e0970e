r"""How well colours tell the foreground from the background: a mixture of Gaussians for each.

The evidence of a pixel of colour x (CIELAB) is :math:`\log p(x \mid \text{foreground}) - \log
p(x \mid \text{background})`, of densities fitted to the pixels that the trimap marks.
"""

import warnings

import numpy as np
from numpy.typing import NDArray

from herder.apps.segment.inputs import BACKGROUND, FAR, FOREGROUND
from herder.core.blas import one_blas_thread

__all__ = ["colour_evidence"]

#: Gaussians in a mixture, pixels that it is fitted to, and the least variance of a colour: that
#: of noise which can just be seen.
N_COMPONENTS, N_PIXELS, LEAST_VARIANCE = 5, 1000, 1.0

#: Evidence of one pixel at most: colours far from all that is marked decide nothing.
MOST_EVIDENCE = 10.0

MAX_ITER = 20


@one_blas_thread()
def colour_evidence(lab: NDArray[np.float64], trimap: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the log ratio of the two densities at each pixel.

    Parameters
    ----------
    lab : ndarray of shape (height, width, 3)
        Colours.
    trimap : ndarray of shape (height, width)
        Greys of `as_trimap`.
    """
    behind = BACKGROUND if (trimap == BACKGROUND).any() else FAR
    ahead, rest = (_log_density(lab[trimap == grey], lab) for grey in (FOREGROUND, behind))
    return np.clip(ahead - rest, -MOST_EVIDENCE, MOST_EVIDENCE)


def _log_density(marked: NDArray[np.float64], lab: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log density of all pixels under a mixture fitted to some, spread evenly."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    some = marked[np.linspace(0, len(marked) - 1, N_PIXELS).astype(np.intp)]
    mixture = GaussianMixture(
        min(N_COMPONENTS, len(np.unique(some, axis=0))),
        init_params="k-means++",
        reg_covar=LEAST_VARIANCE,
        max_iter=MAX_ITER,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a rough density will do
        mixture.fit(some)
    return mixture.score_samples(lab.reshape(-1, 3)).reshape(lab.shape[:2])
