"""Labels: what may be one, the list of classes, and the place of a label in it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import check_classes, column_of_labels, one_of, plain_array, row_weights

__all__ = [
    "class_factors",
    "distinct_labels",
    "join_labels",
    "place_labels",
    "read_known",
    "read_labels",
]

#: Kinds of arrays that are labels whatever they hold.
PLAIN_KINDS = "biuUS"


def read_labels(y: ArrayLike, n_rows: int) -> NDArray[Any]:
    """Return ``y`` as one label a row, none of them missing."""
    if type(y) is np.ndarray and y.shape == (n_rows,) and y.dtype.kind in PLAIN_KINDS:
        return y
    if y is None:
        got = "none: this estimator requires y to be passed, but the target y is None"
        raise ParameterError("y", "hold the class of each row", got=got)
    labels = column_of_labels(y, n_rows)
    if labels.dtype == object:
        for row, label in enumerate(labels.tolist()):
            if label is None or label != label:
                raise ParameterError(
                    "y", "have a label in every row", got=f"{label!r} in row {row}"
                )
        kinds = {type(label) for label in labels.tolist()}
        if str in kinds and len(kinds) > 1:
            names = " and ".join(sorted(kind.__name__ for kind in kinds))
            raise ParameterError("y", "have labels of one kind", got=names)
    return labels


def distinct_labels(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the classes in order, and the place of each label among them."""
    if labels.ndim != 1 or labels.dtype.kind not in PLAIN_KINDS:
        check_classes(labels)
    return np.unique(labels, return_inverse=True)


def read_known(classes: ArrayLike) -> NDArray[Any]:
    """Return a list of classes in order, none of them missing."""
    labels = plain_array(classes, "classes")
    if labels.dtype.kind == "c" or labels.ndim != 1:
        got = f"shape {labels.shape} of {labels.dtype}"
        raise ParameterTypeError("classes", "be a list of labels", got=got)
    for label in labels.ravel().tolist():
        if label is None or label != label:
            raise ParameterError("classes", "be labels", got=repr(label))
    return distinct_labels(labels)[0]


def place_labels(
    labels: NDArray[Any], known: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the place of each label among ``known``, and which ones are not there."""
    if _is_text(labels) != _is_text(known):
        raise ParameterError(
            "y", f"have labels of the kind of {known.tolist()[0]!r}", labels.tolist()[0]
        )
    if len(known) == 2:
        second = labels == known[1]
        return second.astype(np.intp), ~(second | (labels == known[0]))
    places = np.minimum(np.searchsorted(known, labels), len(known) - 1)
    return places, known[places] != labels


def join_labels(known: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """Return the classes of both, in order."""
    return np.union1d(known, distinct_labels(labels)[0])


def class_factors(
    class_weight: object, classes: NDArray[Any], places: NDArray[np.intp], *, whole: bool
) -> NDArray[np.float64] | float:
    """Return the factor of each row by its class; ``whole`` if these are all rows."""
    if class_weight is None:
        return 1.0
    if isinstance(class_weight, str):
        one_of(class_weight, "class_weight", ("balanced",))
        if not whole:
            raise ParameterError(
                "class_weight",
                "be numbers for partial_fit, which does not see all rows; got 'balanced'",
            )
        counts = np.bincount(places, minlength=len(classes))
        return (len(places) / (len(classes) * np.maximum(counts, 1)))[places]
    if not isinstance(class_weight, Mapping):
        raise ParameterTypeError(
            "class_weight", "be 'balanced' or a dict of factors by class", class_weight
        )
    given = dict(class_weight)
    factors = [given.pop(label, 1.0) for label in classes.tolist()]
    if given and whole:
        raise ParameterError(
            "class_weight", f"name classes among {classes.tolist()}", next(iter(given))
        )
    return row_weights(factors, len(classes), "class_weight")[places]


def _is_text(labels: NDArray[Any]) -> bool:
    if labels.dtype.kind in "OT":
        return isinstance(labels.tolist()[0], str)
    return labels.dtype.kind in "US"
