"""Files of the online learners: parameters, classes, counts, and the arrays of their weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterTypeError
from herder._validation import check_fitted
from herder.io._plain import (
    Arrays,
    Header,
    check,
    fill,
    plain_params,
    read_names,
    read_params,
    take,
)

__all__ = ["CLASSES", "home", "pack", "restore"]

#: Classes whose models can be saved.
CLASSES = (
    "AROW",
    "ConfidenceWeighted",
    "NHERD",
    "PassiveAggressive",
    "Perceptron",
    "SecondOrderPerceptron",
    "VotedPerceptron",
)

#: Attributes of a fitted model that are whole numbers.
COUNTS = ("n_iter_", "n_seen_", "n_updates_", "n_features_in_", "_wrong", "_tested")


def home(name: str) -> Any:
    """Give the class of that name."""
    from herder import online

    return getattr(online, name)


def pack(model: Any) -> tuple[Arrays, Header]:
    """Give what a fitted model holds: arrays, and its part of the header."""
    check_fitted(model, "classes_")
    header = {
        "params": plain_params(model),
        "classes": _plain_classes(model.classes_),
        "counts": {count: int(getattr(model, count)) for count in COUNTS},
        "feature_names": getattr(model, "feature_names_in_", np.empty(0)).tolist(),
        "meta": dict(getattr(model, "_beside", {})),
    }
    model._check_unchanged()
    return _pack(model._weights), header


def restore(arrays: Arrays, header: Header) -> Any:
    """Make the model that `pack` was given."""
    model = home(header["class"])(**read_params(header["params"]))
    model._checked_rule()
    classes = np.array(header["classes"]["values"], dtype=header["classes"]["dtype"])
    if classes.dtype.kind not in "biufUO":
        raise ValueError(f"classes of dtype {classes.dtype}")
    if classes.ndim != 1 or (len(classes) > 1 and not (classes[:-1] < classes[1:]).all()):
        raise ValueError("classes that are not in order")
    model.classes_ = classes
    for count in COUNTS:
        value = header["counts"][count]
        if type(value) is not int or value < 0:
            raise ValueError(f"{count} = {value!r}")
        setattr(model, count, value)
    read_names(model, header["feature_names"])
    _unpack(model, arrays)
    model._beside = dict(header["meta"])
    return model


def _plain_classes(classes: NDArray[Any]) -> dict[str, Any]:
    values = classes.tolist()
    if classes.dtype.kind not in "biufUO" or not all(
        isinstance(value, bool | int | float | str) for value in values
    ):
        raise ParameterTypeError("classes", "be numbers or texts to be saved", values[:5])
    return {"dtype": classes.dtype.str if classes.dtype.kind != "O" else "O", "values": values}


def _pack(weights: Any) -> Arrays:
    """Give all that weights hold, as arrays by name."""
    kind = type(weights).__name__
    if kind == "DiagonalWeights":
        found = {"mean": weights.table[:, :, 0].T, "variance": weights.table[:, :, 1].T}
        drift = None if weights.drift is None else weights.drift.T
    elif kind == "FullWeights":
        found = {"mean": weights.means_, "root": weights.roots}
        drift = weights.drift
    elif kind == "KernelWeights":
        return weights.dual.arrays()
    elif kind == "Ballot":
        found = _pack(weights.last)
        for b, voters in enumerate(weights.voters):
            found |= {f"{b}.{name}": value for name, value in _pack_voters(voters).items()}
        return found
    else:
        raise ParameterTypeError("model", f"not rest on {kind} to be saved")
    if drift is not None:
        found["drift"] = drift
    return found | {"seen": np.array([weights.seen], dtype=np.int64)}


def _unpack(model: Any, arrays: Arrays) -> None:
    """Give a model its weights; they are made anew, so that all shapes are known."""
    if getattr(model, "kernel", None) is not None:
        model._start(_kernel_weights(model, arrays))
        return
    width = model.n_features_in_ + bool(model.fit_intercept)
    few = len(model.classes_) == 2 and model.new_classes == "error"
    mean = arrays["mean"]
    if mean.shape != (1 if few else len(model.classes_), width):
        raise ValueError(
            f"mean of shape {mean.shape} for {model.n_features_in_} features and "
            f"{len(model.classes_)} classes"
        )
    if getattr(model, "covariance", None) == "full" and arrays["root"].size < mean.size * width:
        raise ValueError(f"root of shape {arrays['root'].shape} for {mean.size} weights")
    weights = model._new_weights(model.n_features_in_, len(model.classes_))
    kind = type(weights).__name__
    linear = weights.last if kind == "Ballot" else weights
    if kind == "FullWeights":
        fill(linear.means_, arrays, "mean")
        fill(linear.roots, arrays, "root")
        drift = linear.drift
    else:
        fill(linear.table[:, :, 0].T, arrays, "mean")
        fill(linear.table[:, :, 1].T, arrays, "variance", positive=True)
        drift = None if linear.drift is None else linear.drift.T
    if drift is not None:
        fill(drift, arrays, "drift")
    seen = np.zeros(1, dtype=np.int64)
    fill(seen, arrays, "seen")
    linear.seen = int(seen[0])
    if kind == "Ballot":
        for b, voters in enumerate(weights.voters):
            front = f"{b}."
            own = {k.removeprefix(front): v for k, v in arrays.items() if k.startswith(front)}
            _unpack_voters(voters, own, model.n_features_in_)
    model._start(weights)


def _pack_voters(voters: Any) -> Arrays:
    found = {"signs": voters.signs, "births": voters.births, "base": voters.base}
    found["base_votes"] = np.array([voters.base_votes])
    rows = voters.mistakes
    if hasattr(rows, "indptr"):
        parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
        return found | parts | {"shape": np.array(rows.shape, np.int64)}
    return found | {"supports": rows}


def _unpack_voters(voters: Any, arrays: Arrays, n_features: int) -> None:
    size = len(arrays["signs"])
    voters.signs, voters.births = take(arrays, "signs", size), take(arrays, "births", size)
    fill(voters.base, arrays, "base")
    voters.base_votes = float(take(arrays, "base_votes", 1)[0])
    voters.mistakes = _rows(arrays, size, n_features)


def _kernel_weights(model: Any, arrays: Arrays) -> Any:
    weights = model._new_weights(model.n_features_in_, len(model.classes_))
    size = len(arrays["coef"])
    packed = size * (size + 1) // 2
    shapes = {"coef": size, "drift": size, "factor": packed, "cover": packed, "scales": 2}
    for name, length in shapes.items():
        check(arrays, name, (length,), np.float64)
    check(arrays, "gamma", (1,), np.float64, positive=True)
    counts = check(arrays, "counts", (3,), np.int64)
    ends = check(arrays, "ends", (size, 2), np.int64)
    n_blocks = weights.dual.n_blocks
    if size > model.budget or counts[0] != n_blocks:
        raise ValueError(f"{size} supports of {counts[0]} blocks, not {n_blocks}")
    if ((ends < 0) | (ends >= n_blocks)).any():
        raise ValueError("supports of classes that there are not")
    _rows(arrays, size, model.n_features_in_)
    weights.dual = type(weights.dual).from_arrays(
        arrays,
        model.kernel,
        degree=model.degree,
        coef0=model.coef0,
        budget=model.budget,
        fit_intercept=bool(model.fit_intercept),
        together=weights.dual.together,
    )
    return weights


def _rows(arrays: Arrays, size: int, n_features: int) -> Any:
    """Give rows that were kept, dense or sparse, after a look at them."""
    from scipy import sparse

    if "supports" in arrays:
        rows: Any = arrays["supports"]
        values = rows
    else:
        shape = tuple(arrays["shape"].tolist())
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        rows = sparse.csr_array(parts, shape=shape)
        rows.check_format(full_check=True)
        values = rows.data
    if size and rows.shape != (size, n_features):
        raise ValueError(f"rows of shape {rows.shape}, not {(size, n_features)}")
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        raise ValueError("rows with values that are not finite")
    return rows
