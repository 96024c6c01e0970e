"""Herding of random fields: states that match the moments of a table."""

from herder.fields.diagnostics import MomentDiagnostics
from herder.fields.live import MomentHerd, Position, Trace
from herder.fields.moment import MomentHerder, MomentHerding, moment_herd
from herder.fields.synthesis import Synthesis

__all__ = [
    "MomentDiagnostics",
    "MomentHerd",
    "MomentHerder",
    "MomentHerding",
    "Position",
    "Synthesis",
    "Trace",
    "moment_herd",
]
