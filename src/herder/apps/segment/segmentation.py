"""The function that segments an image, and its result."""

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder.apps.segment.edges import follow_edges, sharpen
from herder.apps.segment.inputs import (
    BACKGROUND,
    FOREGROUND,
    UNKNOWN,
    as_colours,
    as_trimap,
)
from herder.apps.segment.local import herd_local, local_model
from herder.apps.segment.superpixels import borders_of
from herder.core.summary import Fact, Facts, Picture, Section, Summarised, Summary, counted

__all__ = ["Segmentation", "segment"]

#: An image of more pixels is herded at a smaller scale, near that of the images to which the
#: boundary model was fitted.
HERDED_PIXELS = 2**18

#: Probabilities of pixels that are called uncertain.
UNCERTAIN = (0.1, 0.9)

#: An overlay: how much of the background is left, and the colour of the outline.
FADED, OUTLINE = 0.35, (217, 119, 6)


@dataclass(frozen=True, eq=False)
class Segmentation(Summarised):
    """An object in an image.

    Parameters
    ----------
    mask : ndarray of bool of shape (height, width)
        Whether a pixel is foreground.
    probability : ndarray of shape (height, width)
        Probability that it is; 0 and 1 where the trimap says so.
    superpixels : ndarray of shape (height, width)
        Number of the superpixel of each pixel; they have about 40 pixels, and as many squares of
        pixels in images of more than 2^18.
    pairs : ndarray of shape (n_pairs, 2)
        Superpixels that meet.
    boundary : ndarray of shape (n_pairs,)
        Probability that one is foreground and the other is not.
    image : ndarray of uint8 of shape (height, width, 3)
        What was segmented.
    unknown : ndarray of bool of shape (height, width)
        Which pixels the trimap leaves open.
    """

    mask: NDArray[np.bool_]
    probability: NDArray[np.float64]
    superpixels: NDArray[np.intp]
    pairs: NDArray[np.intp]
    boundary: NDArray[np.float64]
    image: NDArray[np.uint8]
    unknown: NDArray[np.bool_]

    def __repr__(self) -> str:
        height, width = self.mask.shape
        return f"Segmentation({width} x {height} pixels, {self.mask.mean():.1%} foreground)"

    def overlay(self) -> NDArray[np.uint8]:
        """Return the image with a faded background and an outline of the foreground."""
        shown = np.where(self.mask[..., None], self.image, self.image * FADED + 255 * (1 - FADED))
        padded = np.pad(self.mask, 1, mode="edge")
        within = padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
        shown[self.mask & ~within] = OUTLINE
        return np.rint(shown).astype(np.uint8)

    def boundary_map(self) -> NDArray[np.float64]:
        """Return, for each pixel at a border of superpixels, the largest probability there."""
        borders, found = borders_of(self.superpixels), np.zeros(self.mask.size)
        for pixels in borders.pixels:
            np.maximum.at(found, pixels, self.boundary[borders.pair])
        return found.reshape(self.mask.shape)

    def summary(self) -> Summary:
        """Return how much is foreground, and how much of what was unknown is uncertain."""
        height, width = self.mask.shape
        low, high = UNCERTAIN
        chances = self.probability[self.unknown]
        uncertain = float(((chances > low) & (chances < high)).mean())
        facts = [
            Fact("foreground", float(self.mask.mean()), ".1%", "of the pixels"),
            Fact("unknown", float(self.unknown.mean()), ".1%", "of the pixels, in the trimap"),
            Fact("uncertain", uncertain, ".1%", f"of these, probability {low} to {high}"),
            Fact("superpixels", int(self.superpixels.max()) + 1, ",d"),
        ]
        picture = Picture(
            "segmentation",
            self,
            "The image with a faded background, the probability of the foreground, and the "
            "probability of a boundary between superpixels.",
        )
        title = f"{width} x {height} pixels, {counted(int(self.unknown.sum()), 'pixel')} unknown"
        return Summary(title, [Facts(facts)], [Section("Segmentation", [picture])])


def segment(image: ArrayLike, trimap: ArrayLike) -> Segmentation:
    """Return which pixels of an image belong to an object that is marked roughly.

    Colours of what is marked, and edges, say how probable each superpixel is foreground and
    each pair that meets a boundary. Herding finds the averages nearest to all of these, and a
    guided filter takes them to the edges between pixels.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, channels)
        Grey or RGB, also with an opacity, on white: uint8, uint16, or floats from 0 to 1.
    trimap : array-like of shape (height, width)
        0 and 64: background, whose colours are learnt from 64 if there is any, else from 0; 128:
        unknown; 255: foreground. Greys within 16 of these count as them, others, in at most 5 % of
        the pixels, as unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from herder.apps.segment import segment
    >>> rows, columns = np.mgrid[:60, :60] - 30
    >>> distance = np.hypot(rows, columns)
    >>> image = np.where(distance[..., None] < 17, [200, 60, 40], [40, 90, 160])
    >>> trimap = np.where(distance < 10, 255, np.where(distance < 24, 128, 0))
    >>> found = segment(image, trimap)
    >>> bool((found.mask == (distance < 17)).all())
    True
    """
    colours = as_colours(image)
    marked = as_trimap(trimap, colours.shape[:2])
    lab = _lab(colours)
    scale = ceil(sqrt(marked.size / HERDED_PIXELS))
    model = local_model(*_reduced(lab, marked, scale))
    reached, boundary = herd_local(model)
    labels = model.labels.repeat(scale, axis=0).repeat(scale, axis=1)
    labels = labels[: len(marked), : marked.shape[1]]
    unknown = marked == UNKNOWN
    chances = sharpen(follow_edges(reached[labels], lab, scale))
    probability = np.where(unknown, chances, marked == FOREGROUND)
    return Segmentation(
        mask=probability > 0.5,
        probability=probability,
        superpixels=labels,
        pairs=model.pairs,
        boundary=boundary,
        image=np.rint(255 * colours).astype(np.uint8),
        unknown=unknown,
    )


def _reduced(
    lab: NDArray[np.float64], trimap: NDArray[np.uint8], scale: int
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return means of squares of pixels, and what is marked in their middle."""
    if scale == 1:
        return lab, trimap
    height, width = trimap.shape
    after = -height % scale, -width % scale
    padded = np.pad(lab, ((0, after[0]), (0, after[1]), (0, 0)), mode="edge")
    squares = padded.reshape(len(padded) // scale, scale, -1, scale, 3)
    rows, columns = (np.arange(0, n, scale) + scale // 2 for n in trimap.shape)
    middle = np.ix_(np.minimum(rows, height - 1), np.minimum(columns, width - 1))
    marked = trimap[middle]
    if min((marked <= BACKGROUND).sum(), (marked == FOREGROUND).sum()) == 0:
        rule = f"have strokes more than {scale} pixels wide in an image of this size"
        raise ParameterError("trimap", rule, got="thinner ones")
    return squares.mean(axis=(1, 3)), marked


def _lab(colours: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return colours in CIELAB, where distances are those that people see."""
    try:
        from skimage.color import rgb2lab
    except ImportError:
        text = "segmentation needs scikit-image, which is not installed: "
        raise ImportError(f"{text}pip install 'herder[segment]'") from None
    return np.asarray(rgb2lab(colours), np.float64)
