"""Images and trimaps from files, and masks to files, by Pillow."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.apps.segment.inputs import MAX_PIXELS

__all__ = ["read_image", "read_trimap", "write_png"]


def read_image(path: Path) -> NDArray[Any]:
    """Return an image as `segment` takes it: greys of 8 or 16 bits, or RGB, with an opacity."""
    opened = _open(path, "image")
    if opened.mode.startswith("I;16"):
        return np.asarray(opened, np.uint16)
    if opened.mode in ("I", "F"):
        raise ParameterError("image", "have 8 or 16 bits", got=f"{str(path)!r} of more")
    return np.asarray(opened.convert("RGBA" if opened.has_transparency_data else "RGB"))


def read_trimap(path: Path) -> NDArray[Any]:
    """Return the greys of a trimap, from 0 to 255."""
    opened = _open(path, "trimap")
    if opened.mode.startswith("I;16"):
        return np.asarray(opened, np.uint16) / 257
    if opened.mode in ("I", "F"):
        raise ParameterError("trimap", "have 8 or 16 bits", got=f"{str(path)!r} of more")
    if opened.has_transparency_data and np.asarray(opened.convert("RGBA"))[..., 3].min() < 255:
        raise ParameterError("trimap", "have no transparent pixels", got=f"{str(path)!r}")
    colours = np.asarray(opened.convert("RGB"))
    if (np.ptp(colours, axis=2) > 0).any():
        place = np.ptp(colours, axis=2).argmax()
        got = f"the colour {tuple(colours.reshape(-1, 3)[place].tolist())} in {str(path)!r}"
        raise ParameterError("trimap", "be grey", got=got)
    return colours[..., 0]


def write_png(pixels: NDArray[np.uint8], path: Path) -> None:
    """Write greys or RGB as PNG."""
    _pillow().fromarray(pixels).save(path, "PNG")


def _open(path: Path, name: str) -> Any:
    """Return the image of a file, turned as it is shown."""
    module = _pillow()
    from PIL import ImageOps

    if not path.is_file():
        raise ParameterError(name, "name a file that exists", str(path))
    try:
        with module.open(path) as opened:
            width, height = opened.size
            if width * height > MAX_PIXELS:
                got = f"{str(path)!r} of {width:,} x {height:,}: scale it down"
                raise ParameterError(name, f"have at most {MAX_PIXELS:,} pixels", got=got)
            return ImageOps.exif_transpose(opened)
    except ParameterError:
        raise
    except (OSError, SyntaxError, ValueError, module.DecompressionBombError) as error:
        raise ParameterError(name, "be an image", got=str(error)) from None


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        text = "images need Pillow, which is not installed: pip install 'herder[segment]'"
        raise ImportError(text) from None
    return Image
