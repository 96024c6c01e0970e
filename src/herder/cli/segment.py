"""``herder segment``: an object that is marked roughly, cut out of an image."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from herder.cli._verb import INPUT, OUTPUT, Run, option, output_option, verb
from herder.core.summary import Summary

__all__ = ["segment"]

PNG = (".png",)


@verb(
    example="herder segment photo.jpg --trimap marked.png -o mask.png --overlay overlay.png",
    outputs={"output": PNG, "probability": PNG, "overlay": PNG},
    inputs=("image", "trimap"),
    report="the overlay, probabilities of pixels and of boundaries",
)
def segment(
    run: Run,
    image: Annotated[
        Path,
        typer.Argument(
            metavar="IMAGE",
            help="An image that Pillow reads (.png, .jpg, .tif, ...): RGB or grey, of 8 or 16 "
            "bits. What is transparent counts as white.",
        ),
    ],
    trimap: Annotated[
        Path,
        option(
            INPUT,
            "A grey image of the same size: 0 or 64 background (its colours are learnt from 64 "
            "if there is any), 128 unknown, 255 foreground. Greys within 16 of these count as "
            "them; up to 5 % of the pixels may have others, as at the edges of strokes, and "
            "count as unknown.",
            "--trimap",
            metavar="FILE",
        ),
    ],
    output: Annotated[
        Path, output_option("File for the mask (.png): 255 foreground, 0 background.")
    ],
    probability: Annotated[
        Path | None,
        option(
            OUTPUT,
            "File for the probability of the foreground (.png), 255 for 1.",
            "--probability",
            metavar="FILE",
        ),
    ] = None,
    overlay: Annotated[
        Path | None,
        option(
            OUTPUT,
            "File for the image with a faded background and an outline of the foreground (.png).",
            "--overlay",
            metavar="FILE",
        ),
    ] = None,
) -> Summary:
    """Cut an object out of an image in which it is marked roughly.

    Only pixels that the trimap leaves unknown are decided, from colours and edges. Paint
    some foreground and some background, and leave a band of unknown pixels around the
    outline of the object.
    """
    from herder.apps.segment.files import read_image, read_trimap, write_png
    from herder.apps.segment.segmentation import segment as segment_image

    found = segment_image(read_image(image), read_trimap(trimap))
    write_png(found.mask * np.uint8(255), run.part(output))
    if probability is not None:
        grey = np.rint(255 * found.probability).astype(np.uint8)
        write_png(grey, run.part(probability))
    if overlay is not None:
        write_png(found.overlay(), run.part(overlay))
    return found.summary()
