"""One self-contained HTML page from results: numbers, tables and pictures, no links out."""

from herder.report.machine import MachineReport, machine_page
from herder.report.page import Facts, Page, Picture, Table, Text
from herder.report.sampling import SamplingReport, sampling_page
from herder.report.synthesis import Synthesis, synthesis_page
from herder.report.thinning import MmdPath, ThinningReport, mmd_path, thinning_page

__all__ = [
    "Facts",
    "MachineReport",
    "MmdPath",
    "Page",
    "Picture",
    "SamplingReport",
    "Synthesis",
    "Table",
    "Text",
    "ThinningReport",
    "machine_page",
    "mmd_path",
    "sampling_page",
    "synthesis_page",
    "thinning_page",
]
