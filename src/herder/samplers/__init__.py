"""Samplers of discrete models: Gibbs, herded Gibbs, Swendsen-Wang."""

from herder._deprecated import renamed_names
from herder.samplers.annealing import LogPartition, log_partition
from herder.samplers.clusters import swendsen_wang
from herder.samplers.endless import stream
from herder.samplers.gibbs import gibbs
from herder.samplers.herded import herded_gibbs
from herder.samplers.orders import scan_order
from herder.samplers.run import RunOptions
from herder.samplers.sampling import Sampling, SamplingPosition
from herder.samplers.scan_check import OrderReport, ScanReport, check_scan_orders

__getattr__ = renamed_names(__name__, {"diagnose": "herder.samplers.scan_check.check_scan_orders"})

__all__ = [
    "LogPartition",
    "OrderReport",
    "RunOptions",
    "Sampling",
    "SamplingPosition",
    "ScanReport",
    "check_scan_orders",
    "gibbs",
    "herded_gibbs",
    "log_partition",
    "scan_order",
    "stream",
    "swendsen_wang",
]
