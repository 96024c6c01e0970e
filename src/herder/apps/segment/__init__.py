"""Cut an object out of an image, by herding of colours and boundaries."""

from herder.apps.segment.segmentation import Segmentation, segment

__all__ = ["Segmentation", "segment"]
