"""Frames as the page reads them, and commands as it sends them."""

import json
from typing import Any

import numpy as np

from herder.explore.session import Session

FOUR = [[-1.4241, 0.1935], [-2.1078, -0.745], [-0.0889, -0.4909], [0.1229, 0.1573]]
SYSTEM = {"states": FOUR, "target": [[-1.1039, -0.2869]], "temperature": 0.0}


def unpack(message: bytes) -> dict[str, Any]:
    length = int.from_bytes(message[:4], "little")
    frame = json.loads(message[4 : 4 + length])
    place = 4 + length
    for name, kind, shape in frame.pop("arrays"):
        assert place % 8 == 0
        size = int(np.prod(shape))
        frame[name] = np.frombuffer(message, kind, size, place).reshape(shape)
        place += -(-frame[name].nbytes // 8) * 8
    assert place == len(message)
    return frame


def command(scene: str, what: str, number: int = 1, **settings: Any) -> str:
    return json.dumps({"id": number, "scene": scene, "do": what, "settings": settings})


def ask(session: Session, scene: str, what: str, **settings: Any) -> dict[str, Any]:
    return unpack(session.answer(command(scene, what, **settings)))
