"""Frames: what a scene computes, as one binary message for the page.

A frame is a mapping of names to numbers, texts, lists and arrays. As a message it is the length of
a header, the header in JSON, and the bytes of the arrays one after the other, each from a multiple
of eight on; the header lists their names, types and shapes. A number is one float or integer in
the header.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

__all__ = ["Frame", "pack"]

Frame: TypeAlias = Mapping[str, Any]


def pack(frame: Frame) -> bytes:
    """Return a frame as a message.

    Examples
    --------
    >>> message = pack({"id": 1, "states": np.array([65, 66], np.uint8)})
    >>> message[4:].strip(bytes(1))
    b'{"id": 1, "arrays": [["states", "uint8", [2]]]}     AB'
    """
    arrays = {name: value for name, value in frame.items() if isinstance(value, np.ndarray)}
    header: dict[str, Any] = {k: value for k, value in frame.items() if k not in arrays}
    header["arrays"] = [[name, str(one.dtype), one.shape] for name, one in arrays.items()]
    text = json.dumps(header, allow_nan=False).encode()
    text += b" " * (-(len(text) + 4) % 8)
    parts = [len(text).to_bytes(4, "little"), text]
    for one in arrays.values():
        whole = one.astype(one.dtype.newbyteorder("<"), copy=False).tobytes()
        parts.append(whole + bytes(-len(whole) % 8))
    return b"".join(parts)
