"""Deterministic sampling and learning by herding.

Public names are loaded when first used, so that ``import herder`` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from herder.core.averages import RunningAverage
    from herder.core.dynamics import HerdingSystem, Step, herd
    from herder.core.enumerated import EnumeratedSystem
    from herder.fields.moment import MomentHerder, MomentHerding, moment_herd
    from herder.metrics import count_distribution, kl_divergence, total_variation
    from herder.models.moments import Moments

    __version__: str

__all__ = [
    "EnumeratedSystem",
    "HerdingSystem",
    "MomentHerder",
    "MomentHerding",
    "Moments",
    "RunningAverage",
    "Step",
    "count_distribution",
    "herd",
    "kl_divergence",
    "moment_herd",
    "total_variation",
]

_HOME = {
    "EnumeratedSystem": "herder.core.enumerated",
    "HerdingSystem": "herder.core.dynamics",
    "MomentHerder": "herder.fields.moment",
    "MomentHerding": "herder.fields.moment",
    "Moments": "herder.models.moments",
    "RunningAverage": "herder.core.averages",
    "Step": "herder.core.dynamics",
    "count_distribution": "herder.metrics",
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
