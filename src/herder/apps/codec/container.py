"""The file of a compressed set of images, and the two functions that make and read it.

=======  ==================================================================
bytes    meaning
=======  ==================================================================
4        ``HERD``
1        version of the format
4        CRC-32 of all bytes that follow
4        CRC-32 of the pixels
1        model
varints  number of images, height, width, bytes of the notes
...      notes: names and forms of files (`files.py`)
...      words of the range coder, 4 bytes each: parameters, then pixels
=======  ==================================================================

A file that was cut or altered fails the first sum before anything is made from it; the second one
guards against a reader that decodes differently. What the header claims is held against limits
and against the length of the file, as no pixel costs less than 2^-20 bytes.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import of_kind, one_of, plain_array
from herder.apps.codec.chain import Chain
from herder.apps.codec.coder import Coder, Decoder, Encoder, Predictor, broken, code_images
from herder.apps.codec.herding import code_herding
from herder.apps.codec.mixture import code_mixture
from herder.core.lanes import Progress
from herder.core.summary import Summarised, Summary, Table, Text, counted

__all__ = ["MODELS", "Archive", "decode", "encode", "pack", "read_head", "unpack"]

MAGIC = b"HERD\x01"

#: Pixels of a set: an hour of work, and a gigabyte.
MAX_PIXELS = 2**28

#: Images of a set, and pixels of one of them.
MAX_IMAGES = MAX_SIZE = 2**24

#: Pixels for each byte of a file that are believed.
PIXELS_PER_BYTE = 2**20

Build = Callable[[Coder, tuple[int, int, int], NDArray[np.uint8] | None], Predictor]


def _chain(
    coder: Coder, shape: tuple[int, int, int], images: NDArray[np.uint8] | None
) -> Predictor:
    return Chain(shape[1:])


def _combined(
    coder: Coder, shape: tuple[int, int, int], images: NDArray[np.uint8] | None
) -> Predictor:
    return Chain(shape[1:], code_mixture(coder, shape, images, images_per_component=1000))


#: Models by name, in the order of their numbers in a file: how their parameters are coded.
MODELS: dict[str, Build] = {
    "chain": _chain,
    "combined": _combined,
    "mixture": code_mixture,
    "herding": code_herding,
}

#: What "auto" tries, from this number of images on: parameters do not pay for fewer, and a mixture
#: or a codebook alone was larger on every set of benchmarks/codec.py.
TRIED, MIN_IMAGES = ("chain", "combined"), 100


@dataclass(frozen=True, eq=False)
class Archive(Summarised):
    """A set of images, and how it was coded.

    Parameters
    ----------
    images : ndarray of shape (n, height, width)
        Zeros and ones.
    notes : bytes
        What a file holds beside the pixels.
    data : bytes
        The file.
    model : str
        The model of the file.
    sizes : dict of str to int
        Bytes of the file under each model that was tried, without the notes.
    """

    images: NDArray[np.uint8]
    notes: bytes
    data: bytes
    model: str
    sizes: dict[str, int]

    def summary(self) -> Summary:
        """Return the size of the file beside that of other formats."""
        n, height, width = self.images.shape
        packed = np.packbits(self.images).tobytes()
        others = {"zlib": len(zlib.compress(packed, 9)), "raw pixels": len(packed)}
        png = _png_size(self.images)
        sizes = {f"herder, {name}": size for name, size in self.sizes.items()}
        sizes |= ({} if png is None else {"PNG, all in one": png}) | others
        rows = [(name, size, 8 * size / max(n, 1)) for name, size in sizes.items()]
        header = ("format", "bytes", "bits per image")
        text = f"Names and headers of files take {len(self.notes):,} bytes more."
        return Summary(
            f"{counted(n, 'image')} of {width} x {height} pixels, {self.model}",
            [Table(header, rows, ("", ",d", ",.2f")), *([Text(text)] if self.notes else [])],
        )


class Head(NamedTuple):
    """What a file says before its pixels."""

    model: str
    shape: tuple[int, int, int]
    notes: bytes
    pixel_sum: bytes
    payload: bytes


def encode(images: ArrayLike, model: str = "auto") -> bytes:
    """Compress a set of binary images without loss.

    Parameters
    ----------
    images : array-like of shape (n, height, width)
        Zeros and ones.
    model : {"auto", "chain", "combined", "mixture", "herding"}
        How pixels are predicted; "auto" takes the smaller file of the first two.

    Examples
    --------
    >>> import numpy as np
    >>> from herder.apps.codec import decode, encode
    >>> images = np.eye(16, dtype=np.uint8)[None].repeat(100, axis=0)
    >>> data = encode(images, model="chain")
    >>> len(data), bool((decode(data) == images).all())
    (26, True)
    """
    return pack(images, model).data


def decode(data: bytes) -> NDArray[np.uint8]:
    """Return the images (n, height, width) of a file that `encode` made, as zeros and ones.

    Parameters
    ----------
    data : bytes
        The whole file.
    """
    return unpack(data).images


def pack(
    images: ArrayLike, model: str = "auto", *, notes: bytes = b"", progress: Progress | None = None
) -> Archive:
    """Compress images together with notes; ``progress(share, note)`` is called on the way."""
    pixels = _checked(images)
    one_of(model, "model", ("auto", *MODELS))
    names = [model]
    if model == "auto":
        names = list(TRIED) if len(pixels) >= MIN_IMAGES else ["chain"]
    files = {name: _write(pixels, name, notes, progress) for name in names}
    best = min(names, key=lambda name: len(files[name]))
    sizes = {name: len(data) - len(notes) for name, data in files.items()}
    return Archive(pixels, notes, files[best], best, sizes)


def unpack(data: bytes, *, progress: Progress | None = None) -> Archive:
    """Read a file that `pack` made."""
    head = read_head(data)
    n, height, width = head.shape
    pixels = np.empty(head.shape, dtype=np.uint8)
    if n:
        coder = Decoder(head.payload)
        predictor = MODELS[head.model](coder, head.shape, None)
        flat = code_images(predictor, coder, n, height * width, None, progress)
        pixels = flat.reshape(head.shape)
    if _pixel_sum(pixels) != head.pixel_sum:
        raise broken("its pixels fail their checksum")
    sizes = {head.model: len(data) - len(head.notes)}
    return Archive(pixels, head.notes, bytes(data), head.model, sizes)


def read_head(data: bytes) -> Head:
    """Read a file as far as its pixels, which are not decoded yet."""
    data = bytes(of_kind(data, "data", (bytes, bytearray, memoryview), "bytes"))
    if data[:4] != MAGIC[:4]:
        raise broken("the first bytes are not HERD")
    if data[4:5] != MAGIC[4:]:
        raise broken("it is of another version" if len(data) > 4 else "it is truncated")
    if len(data) < 18 or zlib.crc32(data[9:]).to_bytes(4, "little") != data[5:9]:
        raise broken("its checksum is wrong: it was truncated or altered")
    (n, height, width, n_notes), rest = _read_varints(data[14:], 4)
    notes, payload = rest[:n_notes], rest[n_notes:]
    number = data[13]
    if (
        number >= len(MODELS)
        or n > MAX_IMAGES
        or n * height * width > min(MAX_PIXELS, PIXELS_PER_BYTE * len(payload))
        or not bool(n) <= height * width <= MAX_SIZE
        or len(notes) < n_notes
        or len(payload) % 4
    ):
        raise broken(f"its header claims {n:,} images of {height:,} x {width:,} pixels")
    return Head(list(MODELS)[number], (n, height, width), notes, data[9:13], payload)


def _write(pixels: NDArray[np.uint8], name: str, notes: bytes, progress: Progress | None) -> bytes:
    n, height, width = pixels.shape
    payload = b""
    if n:
        coder, flat = Encoder(), pixels.reshape(n, -1)
        predictor = MODELS[name](coder, pixels.shape, flat)
        code_images(predictor, coder, n, height * width, flat, progress)
        payload = coder.payload()
    number = list(MODELS).index(name)
    sizes = b"".join(map(_varint, (n, height, width, len(notes))))
    rest = _pixel_sum(pixels) + bytes([number]) + sizes + notes + payload
    return MAGIC + zlib.crc32(rest).to_bytes(4, "little") + rest


def _checked(images: ArrayLike) -> NDArray[np.uint8]:
    """Return images as zeros and ones, or refuse them."""
    array = plain_array(images, "images", "be of one size")
    if array.ndim != 3 or (array.size == 0 and len(array)):
        rule = "be an array of images by rows by columns"
        raise ParameterError("images", rule, got=f"shape {array.shape}")
    if array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise ParameterError("images", "hold zeros and ones only", got="other values")
    if array.size > MAX_PIXELS or len(array) > MAX_IMAGES or array[:1].size > MAX_SIZE:
        rule = f"have at most {MAX_PIXELS:,} pixels, {MAX_SIZE:,} in an image or images"
        raise ParameterError("images", rule, got=f"shape {array.shape}")
    return array.astype(np.uint8)


def _png_size(pixels: NDArray[np.uint8]) -> int | None:
    """Return the bytes of one PNG with all images below each other; None without Pillow."""
    try:
        from PIL import Image
    except ImportError:
        return None
    if not pixels.size or len(pixels) * pixels.shape[1] > MAX_SIZE:
        return None
    stream = BytesIO()
    tall = Image.fromarray(pixels.reshape(-1, pixels.shape[2]) * np.uint8(255))
    tall.convert("1").save(stream, "PNG", optimize=True)
    return len(stream.getvalue())


def _pixel_sum(pixels: NDArray[np.uint8]) -> bytes:
    return zlib.crc32(np.packbits(pixels).tobytes()).to_bytes(4, "little")


def _varint(number: int) -> bytes:
    """Return a whole number in bytes of seven bits, the last of which is below 128."""
    low, high = number & 127, number >> 7
    return bytes([low | 128]) + _varint(high) if high else bytes([low])


def _read_varints(data: bytes, count: int) -> tuple[list[int], bytes]:
    """Return numbers, each below 2^35, and the bytes after them."""
    numbers = []
    for _ in range(count):
        size = next((k + 1 for k, byte in enumerate(data[:5]) if byte < 128), 0)
        if not size:
            raise broken("its header is not whole")
        numbers.append(sum((byte & 127) << 7 * k for k, byte in enumerate(data[:size])))
        data = data[size:]
    return numbers, data
