"""What a learner is given: labels and the list of classes, rows to hold back or to keep."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import form_of, generator, one_of, plain_array, row_weights, share
from herder.core.plain import Arrays, read_array

__all__ = [
    "RandomState",
    "RowsLike",
    "class_factors",
    "distinct_labels",
    "hold_back",
    "place_labels",
    "read_known",
    "read_labels",
    "read_rows",
    "row_arrays",
]

#: Rows as they are given: an array, a list, a frame, or a sparse matrix.
RowsLike: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix

#: What ``random_state`` may be.
RandomState: TypeAlias = int | np.random.Generator | None

#: Kinds of arrays that are labels whatever they hold.
PLAIN_KINDS = "biuUS"


def read_labels(y: ArrayLike, n_rows: int) -> NDArray[Any]:
    """Return ``y`` as one label a row, none of them missing."""
    if type(y) is np.ndarray and y.shape == (n_rows,) and y.dtype.kind in PLAIN_KINDS:
        return y
    if y is None:
        got = "none: this estimator requires y to be passed, but the target y is None"
        raise ParameterError("y", "hold the class of each row", got=got)
    from sklearn.utils import validation

    check: Any = validation
    given: Any = plain_array(y, "y") if form_of(y) == "array" else y
    if getattr(getattr(given, "dtype", None), "kind", "") in ("c", "V"):
        raise ParameterTypeError("y", "hold labels", got=f"dtype {given.dtype}")
    labels = np.asarray(check.column_or_1d(given, warn=True))
    check.check_consistent_length(labels, np.empty(n_rows))
    if labels.dtype.kind == "f":
        check.assert_all_finite(labels, input_name="y")
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
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(labels)  # numbers to predict are no classes
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


def class_factors(
    class_weight: object, classes: NDArray[Any], places: NDArray[np.intp], *, whole: bool
) -> NDArray[np.float64]:
    """Return the factor of each row by its class; ``whole`` if these are all rows."""
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


def hold_back(
    n_rows: int, fraction: float | None, random_state: RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows to learn and those held out for early stopping, none without a fraction."""
    rows = np.arange(n_rows)
    if fraction is None:
        return rows, rows[:0]
    n_test = int(share(fraction, "validation_fraction") * n_rows)
    if not 0 < n_test < n_rows:
        raise ParameterError(
            "validation_fraction", "leave rows on both sides", got=f"{fraction!r} of {n_rows} rows"
        )
    mixed = generator(random_state).permutation(n_rows)
    return np.sort(mixed[n_test:]), np.sort(mixed[:n_test])


def row_arrays(rows: Any) -> Arrays:
    """Return rows that a model keeps, dense or CSR, as arrays by name."""
    if not sparse.issparse(rows):
        return {"supports": rows.copy()}
    parts = {name: getattr(rows, name).copy() for name in ("data", "indices", "indptr")}
    return parts | {"shape": np.array(rows.shape, np.int64)}


def read_rows(arrays: Arrays, n_rows: int, n_features: int) -> Any:
    """Take back what `row_arrays` gave; a table without rows may have no columns either."""
    if "supports" in arrays:
        rows, shape = arrays["supports"].copy(), arrays["supports"].shape
        values = rows
    else:
        shape = tuple(read_array(arrays, "shape", (2,), np.int64).tolist())
        values = read_array(arrays, "data", (None,), arrays["data"].dtype)
        parts = (values, *(arrays[name].copy() for name in ("indices", "indptr")))
        rows = sparse.csr_array(parts, shape=shape)
        rows.check_format(full_check=True)
    if shape != (n_rows, n_features) and (n_rows or shape[0]):
        raise ValueError(f"rows of shape {shape}, not {(n_rows, n_features)}")
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        raise ValueError("rows with values that are not finite")
    return rows
