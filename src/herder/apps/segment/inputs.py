"""Images and trimaps as they are given, checked."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import plain_array
from herder.core.summary import listed

__all__ = ["BACKGROUND", "FAR", "FOREGROUND", "MAX_PIXELS", "UNKNOWN", "as_colours", "as_trimap"]

#: Greys of a trimap; colours of the background are those of 64 if there are any, else those of 0.
FAR, BACKGROUND, UNKNOWN, FOREGROUND = GREYS = (0, 64, 128, 255)

#: How far from one of them a grey may be; how many pixels may be farther, and are unknown then.
GREY_TOL, EDGE_SHARE = 16, 0.05

#: Pixels of an image: some gigabytes of memory.
MAX_PIXELS = 2**24

#: Greys that an error lists.
N_LISTED = 8


def as_colours(image: ArrayLike) -> NDArray[np.float64]:
    """Return an image as red, green and blue from 0 to 1; what is transparent becomes white.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, 1, 2, 3 or 4)
        Grey or colours, with an opacity last if there are 2 or 4: whole numbers up to 255 (up to
        65535 if they are uint16), or floats from 0 to 1.
    """
    given = plain_array(image, "image", "have rows of one length")
    if given.ndim == 2:
        given = given[..., None]
    if given.ndim != 3 or given.shape[2] not in (1, 2, 3, 4) or not given.size:
        rule = "be rows by columns, grey or by 3 colours, with an opacity or without"
        raise ParameterError("image", rule, got=f"shape {given.shape}")
    if given.shape[0] * given.shape[1] > MAX_PIXELS:
        got = f"{given.shape[1]:,} x {given.shape[0]:,}: scale it down"
        raise ParameterError("image", f"have at most {MAX_PIXELS:,} pixels", got=got)
    if given.dtype.kind not in "iuf":
        raise ParameterTypeError("image", "be numbers", got=f"dtype {given.dtype}")
    top = 1.0 if given.dtype.kind == "f" else 65535 if given.dtype == np.uint16 else 255
    if not ((given >= 0) & (given <= top)).all():
        rule = f"be {'floats' if top == 1 else given.dtype} from 0 to {top:g}"
        got = "NaN" if np.isnan(given).any() else f"{given.min():g} to {given.max():g}"
        raise ParameterError("image", rule, got=got)
    found = given.astype(np.float64) / top
    if given.shape[2] in (2, 4):
        opacity = found[..., -1:]
        found = opacity * found[..., :-1] + (1 - opacity)
    return np.ascontiguousarray(np.broadcast_to(found, (*found.shape[:2], 3)))


def as_trimap(trimap: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return a trimap of the four greys.

    Parameters
    ----------
    trimap : array-like of shape (height, width)
        Greys within 16 of 0, 64, 128 and 255 are these. Others, as at the edges of strokes, are
        unknown, and at most 5 % of the pixels.
    shape : tuple of int
        Height and width of the image.
    """
    given = plain_array(trimap, "trimap", "have rows of one length")
    if given.dtype.kind not in "iuf":
        raise ParameterTypeError("trimap", "be greys", got=f"dtype {given.dtype}")
    if given.shape != shape:
        got = f"shape {given.shape}"
        if given.ndim == 2:
            got = f"{given.shape[1]} x {given.shape[0]}"
        raise ParameterError("trimap", f"be of the size {shape[1]} x {shape[0]}", got=got)
    distances = np.abs(given[..., None].astype(np.float64) - np.array(GREYS))
    found = np.array(GREYS, np.uint8)[distances.argmin(axis=2)]
    others = ~(distances.min(axis=2) <= GREY_TOL)
    if others.mean() > EDGE_SHARE:
        rule = "have greys near 0, 64 (background), 128 (unknown) and 255 (foreground) in all but "
        rule += f"{EDGE_SHARE:.0%} of its pixels"
        raise ParameterError("trimap", rule, got=_greys(given))
    found[others] = UNKNOWN
    for name, which in (
        ("background (0 or 64)", found <= BACKGROUND),
        ("unknown (128)", found == UNKNOWN),
        ("foreground (255)", found == FOREGROUND),
    ):
        if not which.any():
            got = f"{_greys(given)}, which count as the nearest of 0, 64, 128 and 255"
            raise ParameterError("trimap", f"have pixels that are {name}", got=got)
    return found


def _greys(given: NDArray[Any]) -> str:
    """Return the greys of most pixels, in order."""
    values, counts = np.unique(given, return_counts=True)
    often = np.argsort(-counts, kind="stable")
    shown = [f"{value:g}" for value in sorted(values[often[:N_LISTED]].tolist())]
    return listed(shown) + (
        f" and {len(values) - N_LISTED} more" if len(values) > N_LISTED else ""
    )
