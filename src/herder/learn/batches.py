"""Rows of a call of `partial_fit` as batches of a stream, and the report on the stream."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from herder.core.blas import one_blas_thread
from herder.learn.fit import FitReport
from herder.learn.online import Stream
from herder.learn.rows import find_twins

__all__ = ["learn_batches", "report_stream"]

#: Rows of one step of `partial_fit`.
STREAM_BATCH = 20

#: Smaller shares of the rows are rounding of their sums.
ROUNDING = 1e-9


def learn_batches(stream: Stream, codes: NDArray[np.uint8], counts: NDArray[np.float64]) -> None:
    """Learn 0/1 rows, each of some weight, in the order given."""
    with one_blas_thread():
        for at in range(0, len(codes), STREAM_BATCH):
            stream.learn(codes[at : at + STREAM_BATCH], counts[at : at + STREAM_BATCH])


def report_stream(stream: Stream, alpha: float, names: Sequence[str]) -> FitReport:
    """Sum up what was learnt; ``alpha`` is the weight in the rows' own states."""
    report = stream.report(alpha, names)
    if not stream.n_seen:
        return report
    means, both = stream.ones / stream.n_seen, stream.pairs / stream.n_seen
    return replace(report, twins=find_twins(means, both, names, least=ROUNDING))
