"""The loop, the numbers it runs on, and what can be said about a run."""

from herder.core.averages import RunningAverage
from herder.core.dynamics import HerdingSystem, Step, herd
from herder.core.enumerated import EnumeratedSystem, MiniBatches, NeuronSystem
from herder.core.units import (
    FIXED_POINT,
    Number,
    Units,
    common_total,
    from_units,
    inner,
    norm,
    round_to_units,
    to_units,
)

__all__ = [
    "FIXED_POINT",
    "EnumeratedSystem",
    "HerdingSystem",
    "MiniBatches",
    "NeuronSystem",
    "Number",
    "RunningAverage",
    "Step",
    "Units",
    "common_total",
    "from_units",
    "herd",
    "inner",
    "norm",
    "round_to_units",
    "to_units",
]
