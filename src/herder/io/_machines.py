"""Files of Boltzmann machines: parameters, couplings and biases, how the fit went, a stream."""

from dataclasses import asdict, fields
from typing import Any

import numpy as np

from herder._validation import check_fitted
from herder.io._plain import Arrays, Header, fill, plain_params, read_names, read_params

__all__ = ["CLASSES", "home", "pack", "restore"]

#: Classes whose models can be saved.
CLASSES = ("BoltzmannMachine",)

#: Arrays that only some fits have.
DETAILS = ("alphas_", "cv_scores_", "node_couplings_", "node_biases_")

#: Numbers of every fit, and what they must be.
NUMBERS = {"n_iter_": int, "converged_": bool, "gradient_norm_": float, "objective_": float}

#: What a stream knows beside its fields, by number of axes: so that it goes on bit for bit.
LOOKED = {"_curvature": 1, "_scale": 2, "_vectors": 2, "_values": 2}


def home(name: str) -> Any:
    """Give the class of that name."""
    from herder.learn import boltzmann

    return getattr(boltzmann, name)


def pack(model: Any) -> tuple[Arrays, Header]:
    """Give what a fitted machine holds: arrays, and its part of the header."""
    check_fitted(model, "model_")
    arrays: Arrays = {"couplings": model.couplings_, "biases": model.biases_}
    arrays |= {name: getattr(model, name) for name in DETAILS if hasattr(model, name)}
    header = {
        "params": plain_params(model),
        "feature_names": getattr(model, "feature_names_in_", np.empty(0)).tolist(),
        "states": list(model.states_),
        "numbers": {name: kind(getattr(model, name)) for name, kind in NUMBERS.items()},
        "report": asdict(model.diagnostics_),
        "stream": None,
    }
    if model._stream is not None:
        own = vars(model._stream)
        arrays |= {f"stream.{k}": v for k, v in own.items() if isinstance(v, np.ndarray)}
        header["stream"] = {k: float(v) for k, v in own.items() if not isinstance(v, np.ndarray)}
    if getattr(model, "_sums", None) is not None:
        total, arrays["sums.means"], arrays["sums.pairs"] = model._sums
        header["total"] = float(total)
    return arrays, header


def restore(arrays: Arrays, header: Header) -> Any:
    """Make the machine that `pack` was given."""
    from herder.learn.fit import FitReport
    from herder.models.pairwise import PairwiseModel

    model = home("BoltzmannMachine")(**read_params(header["params"]))
    n = model.n_features_in_ = len(arrays["biases"])
    read_names(model, header["feature_names"])
    model.couplings_, model.biases_ = (
        _filled(arrays, "couplings", n, n),
        _filled(arrays, "biases", n),
    )
    names = getattr(model, "feature_names_in_", None)
    model.model_ = PairwiseModel(model.couplings_, model.biases_, header["states"], names=names)
    model.states_ = model.model_.states
    for name, kind in NUMBERS.items():
        if not isinstance(header["numbers"][name], kind):
            raise ValueError(f"{name} = {header['numbers'][name]!r}")
        setattr(model, name, header["numbers"][name])
    report = dict(header["report"])
    report["constant"] = tuple(report["constant"])
    model.diagnostics_ = FitReport(**report)
    str(model.diagnostics_)  # fails if what it holds makes no sense
    model.alpha_ = float(model.diagnostics_.alpha)
    for name in DETAILS:
        if name in arrays:
            setattr(model, name, _filled(arrays, name, *arrays[name].shape))
    model._partition = None
    model._stream = None if header["stream"] is None else _stream(arrays, header["stream"], n)
    if "total" in header:
        means, pairs = _filled(arrays, "sums.means", n), _filled(arrays, "sums.pairs", n, n)
        model._sums = float(header["total"]), means, pairs
    return model


def _filled(arrays: Arrays, name: str, *shape: int) -> Any:
    """Give an array of finite floats of that shape."""
    value = np.empty(shape)
    fill(value, arrays, name)
    return value


def _stream(arrays: Arrays, numbers: Header, n: int) -> Any:
    """Give the stream of `partial_fit`."""
    from herder.learn.online import Stream

    stream = Stream.begin(n)
    for field in fields(stream):
        begun = getattr(stream, field.name)
        if isinstance(begun, np.ndarray):
            fill(begun, arrays, f"stream.{field.name}")
        else:
            setattr(stream, field.name, type(begun)(numbers[field.name]))
    vars(stream)["_known"] = float(numbers["_known"])
    for name, n_axes in LOOKED.items():
        vars(stream)[name] = _filled(arrays, f"stream.{name}", *[n] * n_axes)
    return stream
