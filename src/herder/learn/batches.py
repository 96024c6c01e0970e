"""Rows of a call of `partial_fit`, cut into the batches of a stream."""

import numpy as np
from numpy.typing import NDArray

from herder.core.blas import one_blas_thread
from herder.learn.online import OnlineFit

__all__ = ["learn_batches"]

#: Rows of one step of `partial_fit`.
STREAM_BATCH = 20


def learn_batches(
    stream: OnlineFit, codes: NDArray[np.uint8], counts: NDArray[np.float64]
) -> None:
    """Learn 0/1 rows, each of some weight, in the order given."""
    with one_blas_thread():
        for at in range(0, len(codes), STREAM_BATCH):
            stream.learn(codes[at : at + STREAM_BATCH], counts[at : at + STREAM_BATCH])
