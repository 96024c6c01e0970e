"""Model files: what a fitted model has learnt, to be used or taught further elsewhere.

A file is safetensors: arrays of numbers, and a header in JSON with the class of the model, its
parameters, its classes, how much it has seen, and the version of herder. Nothing in it is ever
run, unlike a pickle, so that a file from a stranger can at worst be refused.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._store import load_arrays, save_arrays, whole_file
from herder._store.files import PathLike
from herder._validation import check_fitted

__all__ = ["load", "read_model", "save"]

FORMAT = "herder model"

#: Goes up when older versions of herder could no longer read a file.
FORMAT_VERSION = 1

#: Classes whose models can be saved.
SAVED = (
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

Arrays = dict[str, NDArray[Any]]


def save(model: Any, path: PathLike, *, meta: Mapping[str, Any] | None = None) -> None:
    """Write a fitted online classifier to a file, whole or not at all.

    Parameters
    ----------
    model : NHERD, AROW, ConfidenceWeighted, PassiveAggressive, Perceptron or another of the family
        Fitted. Its parameters must be numbers and texts: a kernel that is a function cannot be
        saved, nor a random generator.
    path : str or path
        Usually ends in ``.safetensors``.
    meta : mapping, optional
        Plain facts to keep beside it, such as how rows are to be read; see `read_model`. By
        default those that the model was loaded with.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from herder import NHERD
    >>> from herder.io import load, save
    >>> model = NHERD().fit([[0.0, 1.0], [1.0, 0.0]], ["ham", "spam"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder, "model.safetensors"))
    ...     load(Path(folder, "model.safetensors")).predict([[0.9, 0.1]])
    array(['spam'], dtype='<U4')
    """
    from safetensors import SafetensorError

    import herder

    name = type(model).__name__
    if _home(name) is not type(model):
        raise TypeError(f"model must be one of {', '.join(SAVED)} to be saved, got {name}")
    check_fitted(model, "classes_")
    params = {key: _plain(key, value) for key, value in model.get_params(deep=False).items()}
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "herder": herder.__version__,
        "class": name,
        "params": params,
        "classes": _plain_classes(model.classes_),
        "counts": {count: int(getattr(model, count)) for count in COUNTS},
        "feature_names": getattr(model, "feature_names_in_", np.empty(0)).tolist(),
        "meta": dict(getattr(model, "_beside", {}) if meta is None else meta),
    }
    model._check_unchanged()
    try:
        with whole_file(path) as part:
            mode = part.stat().st_mode
            save_arrays(part, _pack(model._weights), header)
            part.chmod(mode)  # safetensors makes files that only their owner can read
    except SafetensorError as error:  # a full disk, among others
        raise OSError(f"{path} could not be written: {error}") from error


def load(path: PathLike) -> Any:
    """Read a model that `save` wrote; it predicts and goes on learning as if never saved.

    Parameters
    ----------
    path : str or path
        The file. One that is broken, not a model, or of a later format is refused.
    """
    return read_model(path)[0]


def read_model(path: PathLike) -> tuple[Any, dict[str, Any]]:
    """Read a model and the facts that were kept beside it.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    model, meta
        The model, and what `save` was given as ``meta``.
    """
    arrays, header = load_arrays(path)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"{path} must be a model file of herder, got another safetensors file")
    version = header.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise ValueError(
            f"{path} must be of format {FORMAT_VERSION} or before, got {version!r} from herder "
            f"{header.get('herder')}: a newer herder reads it"
        )
    try:
        model, meta = _restore(arrays, header), dict(header["meta"])
        model._beside = meta
        return model, meta
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        found = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} must be a whole model file of herder, got: {found}") from error


def _restore(arrays: Arrays, header: dict[str, Any]) -> Any:
    kind = _home(header["class"])
    if kind is None:
        raise ValueError(f"a model of the unknown class {header['class']!r}")
    model = kind(**{key: _value(value) for key, value in header["params"].items()})
    model._checked_rule()
    classes = np.array(header["classes"]["values"], dtype=header["classes"]["dtype"])
    if classes.dtype.kind not in "biufUO":
        raise ValueError(f"classes of dtype {classes.dtype}")
    if classes.ndim != 1 or (len(classes) > 1 and not (classes[:-1] < classes[1:]).all()):
        raise ValueError("classes that are not in order")
    model.classes_ = classes
    for count in COUNTS:
        value = header["counts"][count]
        if not isinstance(value, int) or value < 0:
            raise ValueError(f"{count} = {value!r}")
        setattr(model, count, value)
    if header["feature_names"]:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        if len(model.feature_names_in_) != model.n_features_in_:
            raise ValueError(f"{len(model.feature_names_in_)} names of features")
    _unpack(model, arrays)
    return model


def _home(name: object) -> Any:
    """Give the class of that name, or None if its models cannot be saved."""
    from herder import online

    return getattr(online, str(name)) if name in SAVED else None


def _plain(key: str, value: Any) -> Any:
    """Give a parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {"pairs": [[_plain(key, k), _plain(key, v)] for k, v in value.items()]}
    remedy = f"model.set_params({key}=...)"
    raise TypeError(
        f"{key} must be a number, a text or None to be saved, got {type(value).__name__}: {remedy}"
    )


def _value(plain: Any) -> Any:
    """Take back what `_plain` gave."""
    return dict(plain["pairs"]) if isinstance(plain, dict) else plain


def _plain_classes(classes: NDArray[Any]) -> dict[str, Any]:
    values = classes.tolist()
    if classes.dtype.kind not in "biufUO" or not all(
        isinstance(value, bool | int | float | str) for value in values
    ):
        raise TypeError(f"classes must be numbers or texts to be saved, got {values[:5]}")
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
        raise TypeError(f"model must not rest on {kind} to be saved")
    if drift is not None:
        found["drift"] = drift
    return found | {"seen": np.array([weights.seen], dtype=np.int64)}


def _unpack(model: Any, arrays: Arrays) -> None:
    """Give a model its weights; they are made anew, so that all shapes are known."""
    if getattr(model, "kernel", None) is not None:
        model._start(_kernel_weights(model, arrays))
        return
    width = model.n_features_in_ + bool(model.fit_intercept)
    mean = arrays["mean"]
    if mean.ndim != 2 or mean.shape[1] != width:
        raise ValueError(f"weights of shape {mean.shape} for {model.n_features_in_} features")
    weights = model._new_weights(model.n_features_in_, len(model.classes_))
    kind = type(weights).__name__
    linear = weights.last if kind == "Ballot" else weights
    if kind == "FullWeights":
        _fill(linear.means_, arrays, "mean")
        _fill(linear.roots, arrays, "root")
        drift = linear.drift
    else:
        _fill(linear.table[:, :, 0].T, arrays, "mean")
        _fill(linear.table[:, :, 1].T, arrays, "variance", positive=True)
        drift = None if linear.drift is None else linear.drift.T
    if drift is not None:
        _fill(drift, arrays, "drift")
    seen = np.zeros(1, dtype=np.int64)
    _fill(seen, arrays, "seen")
    linear.seen = int(seen[0])
    if kind == "Ballot":
        for b, voters in enumerate(weights.voters):
            front = f"{b}."
            own = {k.removeprefix(front): v for k, v in arrays.items() if k.startswith(front)}
            _unpack_voters(voters, own, model.n_features_in_)
    model._start(weights)


def _fill(into: NDArray[Any], arrays: Arrays, name: str, *, positive: bool = False) -> None:
    """Copy an array that must be of the shape and kind of ``into``."""
    value = arrays[name]
    if value.shape != into.shape or value.dtype != into.dtype:
        raise ValueError(f"{name} of shape {value.shape} and {value.dtype}, not {into.shape}")
    if not np.isfinite(value).all() or (positive and not (value > 0).all()):
        raise ValueError(f"{name} with values that are not {'positive' if positive else 'finite'}")
    into[...] = value


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
    voters.signs, voters.births = np.empty(size), np.empty(size)
    _fill(voters.signs, arrays, "signs")
    _fill(voters.births, arrays, "births")
    _fill(voters.base, arrays, "base")
    votes = np.empty(1)
    _fill(votes, arrays, "base_votes")
    voters.base_votes = float(votes[0])
    voters.mistakes = _rows(arrays, size, n_features)


def _kernel_weights(model: Any, arrays: Arrays) -> Any:
    weights = model._new_weights(model.n_features_in_, len(model.classes_))
    size = len(arrays["coef"])
    packed = size * (size + 1) // 2
    shapes = {"coef": size, "drift": size, "factor": packed, "cover": packed, "scales": 2}
    for name, length in shapes.items():
        _fill(np.empty(length), arrays, name)
    _fill(np.empty(1), arrays, "gamma", positive=True)
    counts, ends = np.empty(3, np.int64), np.empty((size, 2), np.int64)
    _fill(counts, arrays, "counts")
    _fill(ends, arrays, "ends")
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
