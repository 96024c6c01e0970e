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
    from herder.fields.bounds import Bounds, count_bounds, expectation_bounds
    from herder.fields.diagnose import MomentDiagnostics
    from herder.fields.live import Position
    from herder.fields.moment import MomentHerder, MomentHerding, moment_herd
    from herder.fields.uncertainty import Estimate, count_estimate, estimate
    from herder.metrics import count_distribution, kl_divergence, total_variation
    from herder.models.moments import Moments

    __version__: str

__all__ = [
    "Bounds",
    "ContrastiveSystem",
    "EnumeratedSystem",
    "Estimate",
    "HerdingSystem",
    "MiniBatches",
    "MomentDiagnostics",
    "MomentHerder",
    "MomentHerding",
    "Moments",
    "NeuronSystem",
    "Position",
    "RunningAverage",
    "Step",
    "count_bounds",
    "count_distribution",
    "count_estimate",
    "estimate",
    "expectation_bounds",
    "herd",
    "kl_divergence",
    "moment_herd",
    "total_variation",
]

_HOME = {
    "Bounds": "herder.fields.bounds",
    "ContrastiveSystem": "herder.core.contrastive",
    "EnumeratedSystem": "herder.core.enumerated",
    "Estimate": "herder.fields.uncertainty",
    "HerdingSystem": "herder.core.dynamics",
    "MiniBatches": "herder.core.enumerated",
    "MomentDiagnostics": "herder.fields.diagnose",
    "MomentHerder": "herder.fields.moment",
    "MomentHerding": "herder.fields.moment",
    "Moments": "herder.models.moments",
    "NeuronSystem": "herder.core.enumerated",
    "Position": "herder.fields.live",
    "RunningAverage": "herder.core.averages",
    "Step": "herder.core.dynamics",
    "count_bounds": "herder.fields.bounds",
    "count_distribution": "herder.metrics",
    "count_estimate": "herder.fields.uncertainty",
    "estimate": "herder.fields.uncertainty",
    "expectation_bounds": "herder.fields.bounds",
    "herd": "herder.core.dynamics",
    "kl_divergence": "herder.metrics",
    "moment_herd": "herder.fields.moment",
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
