"""Argmax oracles over the states of a feature map."""

from herder.maximise.coordinate import ascend
from herder.maximise.exhaustive import best_state

__all__ = ["ascend", "best_state"]
