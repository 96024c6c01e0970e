"""
An object cut out of a photograph
=================================

A trimap marks some of the foreground and some of the background, and leaves a band between them.
Colours and edges say how probable each superpixel is foreground and where boundaries are. These
probabilities contradict each other; herding finds the averages nearest to all of them.
"""

import numpy as np
from skimage import data

from herder.apps.segment import segment
from herder.plots import plot_segmentation

# %%
# The trimap is painted with a few discs: 255 for the foreground, 64 for the background, 128 for
# what is to be decided.

image = data.astronaut()[:400:2, 60:400:2]
rows, columns = np.mgrid[: image.shape[0], : image.shape[1]]


def disc(row, column, height, width):
    return np.hypot((rows - row) / height, (columns - column) / width) < 1


inner = disc(48, 82, 30, 20) | disc(98, 82, 12, 34) | disc(180, 85, 60, 50)
outer = disc(50, 82, 50, 42) | disc(100, 80, 32, 60) | disc(190, 80, 92, 90)
trimap = np.where(inner, 255, np.where(outer, 128, 64))

# %%
# Hair and collar are found by their edges, although little of their colours is marked. Where a
# sleeve meets a flag of nearly the same red the probability is near one half.

found = segment(image, trimap)
print(found)
figure = plot_segmentation(found)
