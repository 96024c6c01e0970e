"""Deterministic sampling and learning by herding.

Public names are loaded when first used, so that ``import herder`` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from herder.core.averages import RunningAverage
    from herder.core.contrastive import ContrastiveSystem
    from herder.core.dynamics import HerdingSystem, Step, herd
    from herder.core.enumerated import EnumeratedSystem, MiniBatches, NeuronSystem
    from herder.data.hashing import hash_features
    from herder.fields.bounds import Bounds, count_bounds, expectation_bounds
    from herder.fields.diagnose import MomentDiagnostics
    from herder.fields.live import Position
    from herder.fields.moment import MomentHerder, MomentHerding, moment_herd
    from herder.fields.uncertainty import Estimate, count_estimate, estimate
    from herder.io import load, save
    from herder.kernel.approximate import Chunks, RandomFeatures, Subsample
    from herder.kernel.ascent import KernelMean
    from herder.kernel.bandwidth import median_bandwidth
    from herder.kernel.density import DensityHerding, herd_density
    from herder.kernel.estimator import KernelHerder
    from herder.kernel.functions import (
        Energy,
        Gaussian,
        InverseMultiquadric,
        Laplace,
        Matern32,
        Matern52,
        Stein,
    )
    from herder.kernel.herding import KernelHerding, kernel_herd
    from herder.kernel.losses import Losses
    from herder.kernel.mixture import GaussianMixture
    from herder.kernel.mmd import kernel_mean, mmd
    from herder.kernel.result import Thinning
    from herder.kernel.thinning import thin
    from herder.learn.boltzmann import BoltzmannMachine
    from herder.learn.check import FitCheck
    from herder.learn.fit import FitReport
    from herder.metrics import count_distribution, kl_divergence, total_variation
    from herder.models.exact import Exact, exact_samples
    from herder.models.moments import Moments
    from herder.models.pairwise import PairwiseModel
    from herder.models.potts import PottsModel
    from herder.online.aggressive import PassiveAggressive
    from herder.online.confidence import ConfidenceWeighted
    from herder.online.gaussian import AROW, NHERD, SecondOrderPerceptron
    from herder.online.merging import merge
    from herder.online.perceptron import Perceptron
    from herder.online.river import for_river
    from herder.online.voted import VotedPerceptron
    from herder.samplers.annealing import LogPartition, log_partition
    from herder.samplers.clusters import swendsen_wang
    from herder.samplers.diagnose import ScanReport, diagnose
    from herder.samplers.gibbs import gibbs
    from herder.samplers.herded import herded_gibbs
    from herder.samplers.sampling import Sampling

    __version__: str

__all__ = [
    "AROW",
    "NHERD",
    "BoltzmannMachine",
    "Bounds",
    "Chunks",
    "ConfidenceWeighted",
    "ContrastiveSystem",
    "DensityHerding",
    "Energy",
    "EnumeratedSystem",
    "Estimate",
    "Exact",
    "FitCheck",
    "FitReport",
    "Gaussian",
    "GaussianMixture",
    "HerdingSystem",
    "InverseMultiquadric",
    "KernelHerder",
    "KernelHerding",
    "KernelMean",
    "Laplace",
    "LogPartition",
    "Losses",
    "Matern32",
    "Matern52",
    "MiniBatches",
    "MomentDiagnostics",
    "MomentHerder",
    "MomentHerding",
    "Moments",
    "NeuronSystem",
    "PairwiseModel",
    "PassiveAggressive",
    "Perceptron",
    "Position",
    "PottsModel",
    "RandomFeatures",
    "RunningAverage",
    "Sampling",
    "ScanReport",
    "SecondOrderPerceptron",
    "Stein",
    "Step",
    "Subsample",
    "Thinning",
    "VotedPerceptron",
    "count_bounds",
    "count_distribution",
    "count_estimate",
    "diagnose",
    "estimate",
    "exact_samples",
    "expectation_bounds",
    "for_river",
    "gibbs",
    "hash_features",
    "herd",
    "herd_density",
    "herded_gibbs",
    "kernel_herd",
    "kernel_mean",
    "kl_divergence",
    "load",
    "log_partition",
    "median_bandwidth",
    "merge",
    "mmd",
    "moment_herd",
    "save",
    "swendsen_wang",
    "thin",
    "total_variation",
]

_HOME = {
    "AROW": "herder.online.gaussian",
    "BoltzmannMachine": "herder.learn.boltzmann",
    "Bounds": "herder.fields.bounds",
    "Chunks": "herder.kernel.approximate",
    "ConfidenceWeighted": "herder.online.confidence",
    "ContrastiveSystem": "herder.core.contrastive",
    "DensityHerding": "herder.kernel.density",
    "Energy": "herder.kernel.functions",
    "EnumeratedSystem": "herder.core.enumerated",
    "Estimate": "herder.fields.uncertainty",
    "Exact": "herder.models.exact",
    "FitCheck": "herder.learn.check",
    "FitReport": "herder.learn.fit",
    "Gaussian": "herder.kernel.functions",
    "GaussianMixture": "herder.kernel.mixture",
    "HerdingSystem": "herder.core.dynamics",
    "InverseMultiquadric": "herder.kernel.functions",
    "KernelHerder": "herder.kernel.estimator",
    "KernelHerding": "herder.kernel.herding",
    "KernelMean": "herder.kernel.ascent",
    "Laplace": "herder.kernel.functions",
    "LogPartition": "herder.samplers.annealing",
    "Losses": "herder.kernel.losses",
    "Matern32": "herder.kernel.functions",
    "Matern52": "herder.kernel.functions",
    "MiniBatches": "herder.core.enumerated",
    "MomentDiagnostics": "herder.fields.diagnose",
    "MomentHerder": "herder.fields.moment",
    "MomentHerding": "herder.fields.moment",
    "Moments": "herder.models.moments",
    "NHERD": "herder.online.gaussian",
    "NeuronSystem": "herder.core.enumerated",
    "PairwiseModel": "herder.models.pairwise",
    "PassiveAggressive": "herder.online.aggressive",
    "Perceptron": "herder.online.perceptron",
    "Position": "herder.fields.live",
    "PottsModel": "herder.models.potts",
    "RandomFeatures": "herder.kernel.approximate",
    "RunningAverage": "herder.core.averages",
    "Sampling": "herder.samplers.sampling",
    "ScanReport": "herder.samplers.diagnose",
    "SecondOrderPerceptron": "herder.online.gaussian",
    "Stein": "herder.kernel.functions",
    "Step": "herder.core.dynamics",
    "Subsample": "herder.kernel.approximate",
    "Thinning": "herder.kernel.result",
    "VotedPerceptron": "herder.online.voted",
    "count_bounds": "herder.fields.bounds",
    "count_distribution": "herder.metrics",
    "count_estimate": "herder.fields.uncertainty",
    "diagnose": "herder.samplers.diagnose",
    "estimate": "herder.fields.uncertainty",
    "exact_samples": "herder.models.exact",
    "expectation_bounds": "herder.fields.bounds",
    "for_river": "herder.online.river",
    "gibbs": "herder.samplers.gibbs",
    "hash_features": "herder.data.hashing",
    "herd": "herder.core.dynamics",
    "herd_density": "herder.kernel.density",
    "herded_gibbs": "herder.samplers.herded",
    "kernel_herd": "herder.kernel.herding",
    "kernel_mean": "herder.kernel.mmd",
    "kl_divergence": "herder.metrics",
    "load": "herder.io",
    "log_partition": "herder.samplers.annealing",
    "median_bandwidth": "herder.kernel.bandwidth",
    "merge": "herder.online.merging",
    "mmd": "herder.kernel.mmd",
    "moment_herd": "herder.fields.moment",
    "save": "herder.io",
    "swendsen_wang": "herder.samplers.clusters",
    "thin": "herder.kernel.thinning",
    "total_variation": "herder.metrics",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("herder")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'herder' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
