"""Folders and files of binary images, in and out.

A raw PBM comes back byte for byte, its header kept as it was. A PNG comes back with the same
pixels, black and white, not the same bytes. An array (.npy) comes back with its shape and dtype.
"""

import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.apps.codec.coder import broken
from herder.apps.codec.container import MAX_SIZE, Archive

__all__ = ["FORMATS", "is_folder", "read_images", "suffix_of", "write_images"]

#: Files of one image each; an array holds a whole set.
FORMATS = (".pbm", ".png")

#: A header of a raw PBM: white space and comments, and one white space before the pixels.
HEADER = re.compile(rb"P4(?:\s|#[^\n]*\n)+(\d{1,9})(?:\s|#[^\n]*\n)+(\d{1,9})\s")

#: Bytes of a header; of all notes, when they are unpacked.
MAX_HEADER, MAX_NOTES = 4096, 2**27


def read_images(path: Path, threshold: float | None = None) -> tuple[NDArray[Any], bytes]:
    """Read a folder of .pbm and .png files, one of them, or an array .npy of images.

    Returns images (n, height, width) of 0/1, and notes for `write_images`.
    """
    if path.suffix.lower() == ".npy" and path.is_file():
        return _read_array(path, threshold)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    images, headers = [], {}
    for file in files:
        if file.suffix.lower() not in FORMATS or not file.is_file():
            rule = "be a folder of .pbm and .png files only, such a file, or .npy"
            raise ParameterError("images", rule, str(file))
        pbm = file.suffix.lower() == ".pbm"
        image, header = _read_pbm(file) if pbm else (_read_png(file, threshold), "")
        if images and image.shape != images[0].shape:
            sizes = f"{file} of {_size(image)}, the first is of {_size(images[0])}"
            raise ParameterError("images", "be of one size", got=sizes)
        if pbm and header != _plain_header(image):
            headers[str(len(images))] = header
        images.append(image)
    notes = {"folder": path.is_dir(), "names": [f.name for f in files], "headers": headers}
    pixels = np.array(images) if images else np.zeros((0, 0, 0), dtype=bool)
    return pixels, _pack_notes(notes)


def is_folder(archive: Archive) -> bool:
    """Return whether a file holds a folder."""
    return bool(_unpack_notes(archive).get("folder"))


def write_images(archive: Archive, path: Path) -> None:
    """Write images as they were read: files into the folder ``path``, or the file ``path``."""
    notes = _unpack_notes(archive)
    if "names" not in notes:
        shape = archive.images.shape[3 - notes["ndim"] :]
        with path.open("wb") as stream:
            np.save(stream, archive.images.reshape(shape).astype(notes["dtype"]))
        return
    for k, (name, image) in enumerate(zip(notes["names"], archive.images, strict=True)):
        file = path / name if notes["folder"] else path
        if Path(name).suffix.lower() == ".pbm":
            header = notes["headers"].get(str(k), _plain_header(image)).encode("latin-1")
            file.write_bytes(header + np.packbits(image, axis=1).tobytes())
        else:
            _pillow().fromarray(image * np.uint8(255)).convert("1").save(file, "PNG")


def suffix_of(archive: Archive) -> str:
    """Return the ending of the one file that was compressed."""
    names = _unpack_notes(archive).get("names", [".npy"])
    return Path(f"x{names[0]}").suffix.lower()


def _pack_notes(notes: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(notes).encode("ascii"), 9)


def _unpack_notes(archive: Archive) -> dict[str, Any]:
    """Return notes, checked as if a stranger had written them."""
    if not archive.notes:  # made in Python
        return {"dtype": "uint8", "ndim": 3}
    error = broken("its notes are strange")
    try:
        stream = zlib.decompressobj()
        text = stream.decompress(archive.notes, MAX_NOTES)
        notes = json.loads(text)
        if "names" in notes:
            names, headers = notes["names"], notes["headers"]
            good = len(names) == len(set(names)) == len(archive.images)
            good &= all(Path(n).name == n and not set(n) & set("/\\\0") for n in names)
            good &= all(Path(n).suffix.lower() in FORMATS for n in names)
            good &= all(isinstance(one, str) for one in headers.values())
            good &= notes["folder"] in (True, False) and (notes["folder"] or len(names) == 1)
        else:
            good = np.dtype(notes["dtype"]).kind in "biuf" and notes["ndim"] in (2, 3)
            good &= notes["ndim"] == 3 or len(archive.images) == 1
    except (zlib.error, ValueError, KeyError, TypeError, AttributeError):
        raise error from None
    if not (good and stream.eof):
        raise error
    return notes


def _read_array(path: Path, threshold: float | None) -> tuple[NDArray[Any], bytes]:
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ParameterError("images", "be an array", got=f"{str(path)!r}: {error}") from None
    if array.ndim not in (2, 3) or array.dtype.kind not in "biuf":
        rule = "be an array of one image or of images by rows by columns"
        raise ParameterError("images", rule, got=f"shape {array.shape} of {array.dtype}")
    pixels = _binary(array, threshold, path, (0, 1))
    dtype = array.dtype.str if threshold is None else "|u1"
    notes = {"dtype": dtype, "ndim": array.ndim}
    return pixels if array.ndim == 3 else pixels[None], _pack_notes(notes)


def _read_pbm(path: Path) -> tuple[NDArray[Any], str]:
    """Return the pixels, and the header as it is."""
    data = path.read_bytes()
    found = HEADER.match(data[:MAX_HEADER])
    if found is None:
        raise ParameterError("images", "be raw PBM (P4)", got=f"{str(path)!r}")
    width, height = int(found[1]), int(found[2])
    stride = (width + 7) // 8
    if len(data) - found.end() != height * stride or not height * width:
        size = f"{path} with {len(data) - found.end():,} bytes for {width} x {height} pixels"
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
                got = f"{path} of {image.width} x {image.height}"
                raise ParameterError("images", f"have at most {MAX_SIZE:,} pixels", got=got)
            grey = image.mode in ("1", "L") or threshold is not None
            values = np.asarray(image.convert("L")) if grey else None
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
