"""Kernel herding: representative rows of a sample, or points that follow a density.

The scikit-learn estimator, `herder.KernelHerder`, is in `herder.kernel.estimator`, so that
thinning a table does not import scikit-learn.
"""

from herder._deprecated import renamed_names
from herder.kernel.approximate import Chunks, RandomFeatures, Subsample
from herder.kernel.ascent import KernelMean
from herder.kernel.bandwidth import median_bandwidth
from herder.kernel.comparison import ColumnErrors
from herder.kernel.density import herd_density
from herder.kernel.density_herding import DensityHerding
from herder.kernel.functions import (
    Energy,
    Gaussian,
    InverseMultiquadric,
    Kernel,
    Laplace,
    Matern32,
    Matern52,
    Stein,
)
from herder.kernel.herding import KernelHerding, kernel_herd
from herder.kernel.mixture import GaussianMixture
from herder.kernel.mmd import kernel_mean, mmd
from herder.kernel.result import Thinning
from herder.kernel.thinning import thin

__getattr__ = renamed_names(__name__, {"Losses": "herder.kernel.comparison.ColumnErrors"})

__all__ = [
    "Chunks",
    "ColumnErrors",
    "DensityHerding",
    "Energy",
    "Gaussian",
    "GaussianMixture",
    "InverseMultiquadric",
    "Kernel",
    "KernelHerding",
    "KernelMean",
    "Laplace",
    "Matern32",
    "Matern52",
    "RandomFeatures",
    "Stein",
    "Subsample",
    "Thinning",
    "herd_density",
    "kernel_herd",
    "kernel_mean",
    "median_bandwidth",
    "mmd",
    "thin",
]
