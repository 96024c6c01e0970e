"""A session: the commands of one page, answered by frames.

The page asks for each frame: it is never sent more than it has drawn, and a pause is a page that
asks for nothing. A command is JSON,

    {"id": 7, "scene": "system", "do": "advance", "settings": {"n": 200}}

and the answer a frame with the same ``id``. What a user can mend comes as a frame with the text
``error``.
"""

import json
from typing import Any, Protocol

from herder._errors import ParameterError
from herder._validation import one_of
from herder.explore.frames import Frame, pack
from herder.explore.grids import FieldScene
from herder.explore.points import MOST_UPLOAD, PointsScene
from herder.explore.settings import Settings
from herder.explore.spikes import NeuronScene
from herder.explore.system import SystemScene

__all__ = ["MOST_BYTES", "Session"]

#: Bytes of a command: an upload of which every character takes two in JSON, such as quotes.
MOST_BYTES = 2 * MOST_UPLOAD + 2**16


class Scene(Protocol):
    """What is shown in one tab."""

    def first(self) -> Frame:
        """Return what is known before the first step."""
        ...

    def advance(self, settings: Settings) -> Frame:
        """Go on by some steps and return what they did."""
        ...


#: Scenes by the name of their tab.
SCENES: dict[str, Any] = {
    "system": SystemScene,
    "points": PointsScene,
    "neuron": NeuronScene,
    "field": FieldScene,
}


class Session:
    """The scenes of one page."""

    def __init__(self) -> None:
        self.scenes: dict[str, Scene] = {}

    def answer(self, message: str) -> bytes:
        """Return the frame that a command asks for."""
        number: Any = None
        try:
            if len(message) > MOST_BYTES:
                raise ParameterError("message", f"have at most {MOST_BYTES:,} bytes", len(message))
            command = Settings(json.loads(message))
            number = command.whole("id", 2**53)
            name = one_of(command.text("scene"), "scene", SCENES)
            settings = Settings(command.given.get("settings", {}))
            if one_of(command.text("do"), "do", ["start", "advance"]) == "start":
                scene = SCENES[name](settings, self.scenes.get(name))
                self.scenes[name] = scene
                return pack({"id": number, **scene.first()})
            if name not in self.scenes:
                raise ParameterError("do", "be 'start' first", "advance")
            return pack({"id": number, **self.scenes[name].advance(settings)})
        except (ValueError, OverflowError, RecursionError) as error:
            return pack({"id": number, "error": str(error)})
