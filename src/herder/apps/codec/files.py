"""Folders and files of binary images, in and out.

A raw PBM comes back byte for byte, its header kept as it was. A PNG comes back with the same
pixels, black and white, not the same bytes. An array (.npy) comes back with its shape and dtype.
"""

import json
import os
import re
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import finite_number
from herder.apps.codec.coder import broken
from herder.apps.codec.container import MAX_SIZE

__all__ = ["FORMATS", "ArrayForm", "FilesForm", "read_form", "read_images", "write_images"]

#: Files of one image each; an array holds a whole set.
FORMATS = (".pbm", ".png")

#: A header of a raw PBM: white space and comments, and one white space before the pixels.
HEADER = re.compile(rb"P4(?:\s|#[^\n]*\n)+(\d{1,9})(?:\s|#[^\n]*\n)+(\d{1,9})\s")

#: Bytes of a header; of all notes as text, enough for the names of half a million files. Forged
#: ones may take 25 times as much in memory.
MAX_HEADER, MAX_NOTES = 4096, 2**24


@dataclass(frozen=True)
class ArrayForm:
    """How an array was stored before it was compressed."""

    dtype: str = "|u1"
    ndim: int = 3

    folder = False
    suffix = ".npy"

    def fits(self, shape: tuple[int, int, int]) -> bool:
        """Return whether images of this shape may have been such an array."""
        if not re.fullmatch("[<>|=]?[biuf][0-9]{1,2}", self.dtype) or type(self.ndim) is not int:
            return False
        np.dtype(self.dtype)  # a TypeError if there is none of this size
        return self.ndim == 3 or (self.ndim == 2 and shape[0] == 1)


@dataclass(frozen=True)
class FilesForm:
    """How files of one image each were stored: names; PBM headers by number, if unusual."""

    folder: bool
    names: list[str]
    headers: dict[str, str]

    @property
    def suffix(self) -> str:
        """The ending of the only file."""
        return Path(self.names[0]).suffix.lower()

    def fits(self, shape: tuple[int, int, int]) -> bool:
        """Return whether images of this shape may have been such files."""
        headers = [one.encode("latin-1") for one in self.headers.values()]
        found = [HEADER.fullmatch(one) for one in headers if len(one) <= MAX_HEADER]
        return (
            isinstance(self.folder, bool)
            and isinstance(self.names, list)
            and len(self.names) == len(set(self.names)) == shape[0]
            and (self.folder or shape[0] == 1)
            and all(map(_is_plain_name, self.names))
            and len(found) == len(headers)
            and all(one and (int(one[2]), int(one[1])) == shape[1:] for one in found)
        )


Form = ArrayForm | FilesForm


def read_images(path: Path, threshold: float | None = None) -> tuple[NDArray[Any], bytes]:
    """Read a folder of .pbm and .png files, one of them, or an array .npy of images.

    Returns images (n, height, width) of 0/1, and notes for `read_form`.
    """
    if threshold is not None:
        threshold = finite_number(threshold, "threshold")
    if not path.exists():
        raise ParameterError("images", "exist", str(path))
    if path.suffix.lower() == ".npy" and path.is_file():
        return _read_array(path, threshold)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    images, headers = [], {}
    for file in files:
        if file.suffix.lower() not in FORMATS or not file.is_file():
            rule = "be a folder of .pbm and .png files only, such a file, or .npy"
            raise ParameterError("images", rule, str(file))
        if not _is_plain_name(file.name):
            raise ParameterError("images", "have names without a backslash", str(file))
        pbm = file.suffix.lower() == ".pbm"
        image, header = _read_pbm(file) if pbm else (_read_png(file, threshold), "")
        if images and image.shape != images[0].shape:
            sizes = f"{str(file)!r} of {_size(image)}, the first is of {_size(images[0])}"
            raise ParameterError("images", "be of one size", got=sizes)
        if pbm and header != _plain_header(image):
            headers[str(len(images))] = header
        images.append(image)
    form = FilesForm(path.is_dir(), [file.name for file in files], headers)
    pixels = np.array(images) if images else np.zeros((0, 0, 0), dtype=bool)
    return pixels, _pack_form(form)


def write_images(images: NDArray[np.uint8], form: Form, path: Path) -> None:
    """Write images as they were read: files into the folder ``path``, or the file ``path``."""
    if isinstance(form, ArrayForm):
        with path.open("wb") as stream:
            np.save(stream, images.reshape(images.shape[3 - form.ndim :]).astype(form.dtype))
        return
    for k, (name, image) in enumerate(zip(form.names, images, strict=True)):
        # not over another one: some systems take "A.pbm" and "a.pbm" for the same
        with (path / name).open("xb") if form.folder else path.open("wb") as stream:
            if Path(name).suffix.lower() == ".pbm":
                header = form.headers.get(str(k), _plain_header(image)).encode("latin-1")
                stream.write(header + np.packbits(image, axis=1).tobytes())
            else:
                _pillow().fromarray(image * np.uint8(255)).convert("1").save(stream, "PNG")


def read_form(notes: bytes, shape: tuple[int, int, int]) -> Form:
    """Return how images of this shape were stored, checked as if a stranger had written it."""
    if not notes:  # made in Python
        return ArrayForm()
    try:
        stream = zlib.decompressobj()
        found = json.loads(stream.decompress(notes, MAX_NOTES))
        form = FilesForm(**found) if "names" in found else ArrayForm(**found)
        if found and stream.eof and form.fits(shape):
            return form
    except (zlib.error, ValueError, TypeError, AttributeError, RecursionError):
        pass
    raise broken("its names or headers of files are invalid")


def _pack_form(form: Form) -> bytes:
    text = json.dumps(asdict(form)).encode("ascii")
    if len(text) > MAX_NOTES:
        rule = f"have names and headers of at most {MAX_NOTES:,} bytes"
        raise ParameterError("images", rule, got=f"{len(text):,}")
    return zlib.compress(text, 9)


def _is_plain_name(name: str) -> bool:
    """Return whether a name is that of a file of a known format, and not a path on any system."""
    os.fsencode(name)  # a ValueError if no file can be called so
    path = Path(name)
    return path.name == name and path.suffix.lower() in FORMATS and not set(name) & set("/\\\0")


def _read_array(path: Path, threshold: float | None) -> tuple[NDArray[Any], bytes]:
    try:
        with path.open("rb") as stream:
            array = np.lib.format.read_array(stream, allow_pickle=False)
    except Exception as error:  # of whatever class: NumPy evaluates a header as Python
        raise ParameterError("images", "be an array", got=f"{str(path)!r}: {error}") from None
    if array.ndim not in (2, 3) or array.dtype.kind not in "biuf":
        rule = "be an array of one image or of images by rows by columns"
        raise ParameterError("images", rule, got=f"shape {array.shape} of {array.dtype}")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ParameterError("images", "be numbers", got=f"NaN in {str(path)!r}")
    pixels = _binary(array, threshold, path, (0, 1))
    dtype = array.dtype.str if threshold is None else "|u1"
    return pixels if array.ndim == 3 else pixels[None], _pack_form(ArrayForm(dtype, array.ndim))


def _read_pbm(path: Path) -> tuple[NDArray[Any], str]:
    """Return the pixels, and the header as it is."""
    data = path.read_bytes()
    found = HEADER.match(data[:MAX_HEADER])
    if found is None:
        raise ParameterError("images", "be raw PBM (P4)", got=f"{str(path)!r}")
    width, height = int(found[1]), int(found[2])
    stride = (width + 7) // 8
    if len(data) - found.end() != height * stride or not height * width:
        size = (
            f"{str(path)!r} with {len(data) - found.end():,} bytes for {width} x {height} pixels"
        )
        raise ParameterError("images", "hold one whole image each", got=size)
    packed = np.frombuffer(data, np.uint8, offset=found.end()).reshape(height, stride)
    bits = np.unpackbits(packed, axis=1)
    if bits[:, width:].any():
        got = f"other ones in {str(path)!r}"
        raise ParameterError("images", "have zeros after the end of each row (PBM)", got=got)
    return bits[:, :width].astype(bool), found[0].decode("latin-1")


def _read_png(path: Path, threshold: float | None) -> NDArray[Any]:
    module = _pillow()
    try:
        with module.open(path, formats=["PNG"]) as image:
            if image.width * image.height > MAX_SIZE:
                got = f"{str(path)!r} of {image.width} x {image.height}"
                raise ParameterError("images", f"have at most {MAX_SIZE:,} pixels", got=got)
            values = None
            if image.mode in ("1", "L") or threshold is not None:
                deep = image.mode.startswith("I")  # 16 bits, which would be cut to 8
                values = np.asarray(image if deep else image.convert("L"))
    except ParameterError:
        raise
    except (OSError, SyntaxError, ValueError, module.DecompressionBombError) as error:
        raise ParameterError("images", "be PNG", got=f"{str(path)!r}: {error}") from None
    return _binary(values, threshold, path, (0, 255))


def _binary(
    values: NDArray[Any] | None, threshold: float | None, path: Path, two: tuple[int, int]
) -> NDArray[Any]:
    """Return which values are above the threshold, or are the second of two."""
    if values is not None and threshold is not None:
        return values > threshold
    if values is None or not np.isin(values, two).all():
        rule = "be given for images that are not black and white"
        raise ParameterError("threshold", rule, got=f"none for {str(path)!r}")
    return values == two[1]


def _plain_header(image: NDArray[Any]) -> str:
    return f"P4\n{image.shape[1]} {image.shape[0]}\n"


def _size(image: NDArray[Any]) -> str:
    return f"{image.shape[1]} x {image.shape[0]}"


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("PNG files need Pillow: pip install 'herder[codec]'") from None
    return Image
