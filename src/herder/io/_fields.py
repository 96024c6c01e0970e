"""Files of random fields: couplings as a matrix or a list of edges, biases, names."""

from importlib import import_module
from typing import Any

import numpy as np

from herder.io._plain import Arrays, Header, read_states, take

__all__ = ["CLASSES", "home", "pack", "restore"]

_HOMES = {
    "PairwiseModel": "herder.models.pairwise",
    "PottsModel": "herder.models.potts",
}

#: Classes whose models can be saved.
CLASSES = tuple(_HOMES)


def home(name: str) -> Any:
    """Give the class of that name."""
    return getattr(import_module(_HOMES[name]), name)


def pack(model: Any) -> tuple[Arrays, Header]:
    """Give what a model holds: arrays, and its part of the header."""
    own = "fields" if hasattr(model, "fields") else "biases"
    arrays: Arrays = {own: getattr(model, own)}
    if model.is_sparse:
        arrays |= {"edges": model.edges.astype(np.int64), "edge_weights": model.edge_weights}
    else:
        arrays["couplings"] = model.couplings
    facts = {"offset": model.offset, "names": None if model.names is None else list(model.names)}
    if own == "biases":
        facts["states"] = list(model.states)
    return arrays, {"model": facts}


def restore(arrays: Arrays, header: Header) -> Any:
    """Make the model that `pack` was given; what it must be, its class checks."""
    from herder.models.graph import couplings_of_edges

    facts = header["model"]
    names = facts["names"]
    if names is not None and not (
        isinstance(names, list) and all(isinstance(name, str) for name in names)
    ):
        raise ValueError("names that are not texts")
    own = "fields" if header["class"] == "PottsModel" else "biases"
    local = _numbers(arrays, own)
    couplings: Any
    if "couplings" in arrays:
        couplings = _numbers(arrays, "couplings")
    else:
        couplings = couplings_of_edges(
            len(local), arrays["edges"], _numbers(arrays, "edge_weights")
        )
    common = {"offset": facts["offset"], "names": names}
    if own == "fields":
        return home("PottsModel")(couplings, local, **common)
    return home("PairwiseModel")(couplings, local, read_states(facts["states"]), **common)


def _numbers(arrays: Arrays, name: str) -> Any:
    """Give an array of finite floats, whatever its shape."""
    return take(arrays, name, *arrays[name].shape)
