"""Deterministic sampling and learning by herding.

Public names are loaded when first used, so that ``import herder`` stays light. The table below
is the only list of them; ``__init__.pyi``, for type checkers, is made from it by
``python tests/stub.py``.
"""

from importlib import import_module

from herder._deprecated import renamed_names

_NAMES = {
    "_errors": "ParameterError",
    "core.averages": "RunningAverage",
    "core.contrastive": "ContrastiveSystem",
    "core.dynamics": "HerdingSystem Step herd",
    "core.enumerated": "EnumeratedSystem MiniBatches NeuronSystem",
    "core.state": "ModelFileError",
    "data.hashing": "hash_features",
    "fields.bounds": "Bounds count_bounds expectation_bounds",
    "fields.diagnostics": "MomentDiagnostics",
    "fields.herding": "MomentHerding moment_herd",
    "fields.hidden": "HiddenHerder",
    "fields.marginals": "MarginalHerding herd_marginals",
    "fields.moment": "MomentHerder",
    "fields.parametric": "ParametricHerder",
    "fields.position": "Position",
    "fields.uncertainty": "Estimate count_estimate estimate_expectation",
    "io": "load save",
    "kernel.approximate": "Chunks RandomFeatures Subsample",
    "kernel.ascent": "KernelMean",
    "kernel.bandwidth": "median_bandwidth",
    "kernel.comparison": "ColumnErrors",
    "kernel.density": "herd_density",
    "kernel.density_herding": "DensityHerding",
    "kernel.estimator": "KernelHerder",
    "kernel.functions": "Energy Gaussian InverseMultiquadric Laplace Matern32 Matern52 Stein",
    "kernel.herding": "KernelHerding kernel_herd",
    "kernel.mixture": "GaussianMixture",
    "kernel.mmd": "kernel_mean mmd",
    "kernel.result": "Thinning",
    "kernel.thinning": "thin",
    "learn.boltzmann": "BoltzmannMachine",
    "learn.boosted_classifier": "BoostedClassifier",
    "learn.boosted_features": "DimpleFeatures FeatureFamily RBMFeatures TreeFeatures",
    "learn.boosting": "BoostedField",
    "learn.comparison": "FitCheck",
    "learn.conditional": "ConditionalHerder",
    "learn.discriminative": "DiscriminativeRBM",
    "learn.fit": "FitReport",
    "learn.rbm": "RBM",
    "metrics": "count_distribution kl_divergence total_variation",
    "models.exact": "Exact exact_samples",
    "models.marginals": "PatchTables",
    "models.moments": "Moments",
    "models.pairwise": "PairwiseModel",
    "models.potts": "PottsModel",
    "models.rbm": "RBMModel",
    "online.aggressive": "PassiveAggressive",
    "online.confidence": "ConfidenceWeighted",
    "online.gaussian": "AROW NHERD SecondOrderPerceptron",
    "online.merging": "merge_classifiers",
    "online.perceptron": "Perceptron",
    "online.river": "for_river",
    "online.voted": "VotedPerceptron",
    "samplers.annealing": "LogPartition log_partition",
    "samplers.belief": "BeliefPropagation loopy_bp",
    "samplers.clusters": "swendsen_wang",
    "samplers.gibbs": "gibbs",
    "samplers.herded": "herded_gibbs",
    "samplers.sampling": "Sampling",
    "samplers.scan_check": "ScanReport check_scan_orders",
}

_HOME = {name: f"herder.{module}" for module, names in _NAMES.items() for name in names.split()}

_old_name = renamed_names(
    "herder",
    {
        "Losses": "herder.kernel.comparison.ColumnErrors",
        "diagnose": "herder.samplers.scan_check.check_scan_orders",
        "estimate": "herder.fields.uncertainty.estimate_expectation",
        "merge": "herder.online.merging.merge_classifiers",
    },
    depth=2,
)

__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("herder")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        return _old_name(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
