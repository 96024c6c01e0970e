"""The loop, the numbers it runs on, and diagnostics of a run."""

from herder.core.averages import RunningAverage
from herder.core.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from herder.core.contrastive import ContrastiveSystem
from herder.core.diagnostics import (
    Diagnosis,
    Growth,
    Rate,
    Violations,
    explain_growth,
    fit_rate,
    growth,
    moment_error,
    pct_violations,
    weight_norms,
)
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
    "Checkpoint",
    "ContrastiveSystem",
    "Diagnosis",
    "EnumeratedSystem",
    "Growth",
    "HerdingSystem",
    "MiniBatches",
    "NeuronSystem",
    "Number",
    "Rate",
    "RunningAverage",
    "Step",
    "Units",
    "Violations",
    "common_total",
    "explain_growth",
    "fit_rate",
    "from_units",
    "growth",
    "herd",
    "inner",
    "load_checkpoint",
    "moment_error",
    "norm",
    "pct_violations",
    "round_to_units",
    "save_checkpoint",
    "to_units",
    "weight_norms",
]
