"""Pictures of segmented images."""

from herder._validation import of_kind
from herder.apps.segment.segmentation import Segmentation
from herder.plots._style import GREY, INK, Figure, colour_bar, new_figure

__all__ = ["plot_segmentation"]


def plot_segmentation(result: Segmentation) -> Figure:
    """Draw an image with its outline, probabilities of the foreground, and of boundaries.

    Parameters
    ----------
    result : Segmentation
        What `herder.apps.segment.segment` returned.
    """
    of_kind(result, "result", Segmentation, "a Segmentation")
    height, width = result.mask.shape
    tall = min(max(height / width, 0.3), 3.0)
    figure, axes = new_figure(3, width=3.6, height=3.6 * tall + 0.3)
    chances = {"cmap": "gray", "vmin": 0, "vmax": 1, "interpolation": "nearest"}
    titles = ("outline", "P(foreground)", "P(boundary)")
    pictures = (result.overlay(), result.probability, result.boundary_map())
    for ax, title, picture in zip(axes, titles, pictures, strict=True):
        ax.imshow(picture, **chances)
        ax.grid(visible=False)
        ax.set(xticks=[], yticks=[])
        ax.set_title(title, fontsize=10, color=INK)
    axes[0].contour(result.unknown, levels=[0.5], colors=[GREY], linewidths=0.6)
    colour_bar(axes[2], axes[2].images[0], "probability")
    return figure
