"""A lossless codec for sets of binary images of one size."""

from herder.apps.codec.container import decode, encode

__all__ = ["decode", "encode"]
