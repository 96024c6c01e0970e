"""The loop that both sides run: predict a pixel of a block of images, code it, learn it."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.apps.codec import fixed
from herder.core.lanes import Progress

__all__ = ["Coder", "Decoder", "Encoder", "Predictor", "broken", "code_images"]

#: Images of a block are coded side by side, so that one call serves them all. A block is at most
#: this share of the images before it, so that learning later costs little, and at most so large.
BLOCK_SHARE, MAX_BLOCK = 16, 16


class Predictor(Protocol):
    """A model that predicts images pixel by pixel."""

    def begin(self, n_block: int) -> None:
        """Begin a block of images."""
        ...

    def predict(self, pixel: int, before: NDArray[np.int32] | None) -> NDArray[np.int64]:
        """Learn the pixels before, return the probabilities of a 1 at these, in 2^-22."""
        ...

    def end(self, pixel: int, bits: NDArray[np.int32]) -> None:
        """Learn the last pixel of the block."""
        ...


class Encoder:
    """Writes bits under given probabilities (constriction's range coder)."""

    def __init__(self) -> None:
        self._model, queue = _constriction()
        self._coder = queue.RangeEncoder()

    def code(self, p: NDArray[np.int64], bits: NDArray[np.int32] | None) -> NDArray[np.int32]:
        """Write bits, the probability of a 1 being p / 2^22."""
        assert bits is not None
        self._coder.encode(bits, self._model, p / fixed.ONE)
        return bits

    def payload(self) -> bytes:
        """Return what was written."""
        return self._coder.get_compressed().astype("<u4").tobytes()


class Decoder:
    """Reads what `Encoder` wrote, given the same probabilities."""

    def __init__(self, payload: bytes) -> None:
        self._model, queue = _constriction()
        self._coder = queue.RangeDecoder(np.frombuffer(payload, "<u4").astype(np.uint32))

    def code(self, p: NDArray[np.int64], bits: object = None) -> NDArray[np.int32]:
        """Read bits, the probability of a 1 being p / 2^22."""
        try:
            return self._coder.decode(self._model, p / fixed.ONE)
        except AssertionError:  # of constriction, for words that no encoder writes
            raise broken("its payload cannot be decoded") from None


Coder = Encoder | Decoder


def code_images(
    model: Predictor,
    coder: Coder,
    n: int,
    n_pixels: int,
    images: NDArray[np.uint8] | None,
    progress: Progress | None = None,
) -> NDArray[np.uint8]:
    """Write images (n, n_pixels), or read them if they are None; return them."""
    result = np.empty((n, n_pixels), dtype=np.uint8)
    for begin, end in _blocks(n):
        rows = None if images is None else np.ascontiguousarray(images[begin:end].T, np.int32)
        block = np.empty((n_pixels, end - begin), dtype=np.uint8)
        model.begin(end - begin)
        bits = None
        for pixel in range(n_pixels):
            p = model.predict(pixel, bits)
            bits = coder.code(p, None if rows is None else rows[pixel])
            block[pixel] = bits
            if progress is not None and pixel % 1024 == 1023:
                progress((begin + (end - begin) * pixel / n_pixels) / n, "coding")
        assert bits is not None
        model.end(n_pixels - 1, bits)
        result[begin:end] = block.T
        if progress is not None:
            progress(end / n, "coding")
    return result


def broken(reason: str) -> ParameterError:
    """Return the error for a file that cannot be read."""
    return ParameterError("data", "be a whole file of herder compress", got=f"one where {reason}")


def _blocks(n: int) -> Iterator[tuple[int, int]]:
    begin = 0
    while begin < n:
        end = min(n, begin + min(max(begin // BLOCK_SHARE, 1), MAX_BLOCK))
        yield begin, end
        begin = end


def _constriction() -> tuple[Any, Any]:
    try:
        module: Any = import_module("constriction")
    except ImportError:
        raise ImportError("the codec needs constriction: pip install 'herder[codec]'") from None
    # p is a multiple of 2^-22: its product with 2^24, which constriction rounds, is exact
    return module.stream.model.Bernoulli(perfect=False), module.stream.queue
