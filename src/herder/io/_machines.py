"""Files of Boltzmann machines: parameters, couplings and biases, how the fit went, a stream."""

from dataclasses import asdict
from typing import Any

import numpy as np

from herder._validation import check_fitted
from herder.io._plain import (
    Arrays,
    Header,
    plain_params,
    read_names,
    read_params,
    read_record,
    read_states,
    take,
)

__all__ = ["CLASSES", "home", "pack", "restore"]

#: Classes whose models can be saved.
CLASSES = ("BoltzmannMachine",)

#: Arrays that only some fits have.
DETAILS = ("alphas_", "cv_scores_", "node_couplings_", "node_biases_")

#: Numbers of every fit, and what they must be.
NUMBERS = {"n_iter_": int, "converged_": bool, "gradient_norm_": float, "objective_": float}

#: Arrays of the stream of `partial_fit` begin with this.
STREAM = "stream."

#: Shares may be above 1 by rounding.
ROUNDING = 1e-9


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
        own, header["stream"] = model._stream.state()
        arrays |= {f"{STREAM}{name}": value for name, value in own.items()}
    if getattr(model, "_sums", None) is not None:
        total, arrays["sums.means"], arrays["sums.pairs"] = model._sums
        header["total"] = float(total)
    return arrays, header


def restore(arrays: Arrays, header: Header) -> Any:
    """Make the machine that `pack` was given."""
    from herder.learn.fit import FitReport
    from herder.learn.online import Stream
    from herder.models.pairwise import PairwiseModel

    model = home("BoltzmannMachine")(**read_params(header["params"]))
    n = model.n_features_in_ = arrays["biases"].size
    read_names(model, header["feature_names"])
    model.couplings_, model.biases_ = take(arrays, "couplings", n, n), take(arrays, "biases", n)
    names, states = getattr(model, "feature_names_in_", None), read_states(header["states"])
    model.model_ = PairwiseModel(model.couplings_, model.biases_, states, names=names)
    model.states_ = model.model_.states
    for name, kind in NUMBERS.items():
        value = header["numbers"][name]
        if type(value) is not kind or (kind is int and value < 0):
            raise ValueError(f"{name} = {value!r}")
        setattr(model, name, value)
    model.diagnostics_ = read_record(FitReport, header["report"])
    model.alpha_ = model.diagnostics_.alpha
    if not model.alpha_ >= 0 or not np.isfinite([model.alpha_, model.diagnostics_.n_rows]).all():
        raise ValueError(f"a report of {model.diagnostics_.n_rows} rows, alpha {model.alpha_}")
    _read_details(model, arrays, n)
    model._partition = None
    model._stream = None
    if header["stream"] is not None:
        own = {k.removeprefix(STREAM): v for k, v in arrays.items() if k.startswith(STREAM)}
        model._stream = Stream.from_state(own, header["stream"], n)
    if "total" in header:
        model._sums = _sums(arrays, header["total"], n)
    return model


def _read_details(model: Any, arrays: Arrays, n: int) -> None:
    """Give a machine the arrays that only some fits have."""
    found = [name for name in DETAILS if name in arrays]
    if "alphas_" in found or "cv_scores_" in found:
        scores = arrays["cv_scores_"]
        n_folds = scores.shape[1] if scores.ndim == 2 else 1
        model.alphas_ = take(arrays, "alphas_", arrays["alphas_"].size)
        model.cv_scores_ = take(arrays, "cv_scores_", model.alphas_.size, n_folds)
    if "node_couplings_" in found or "node_biases_" in found:
        model.node_couplings_ = take(arrays, "node_couplings_", n, n)
        model.node_biases_ = take(arrays, "node_biases_", n)


def _sums(arrays: Arrays, total: Any, n: int) -> tuple[float, Any, Any]:
    """Give how many rows there were, and the shares of ones and of pairs."""
    if not isinstance(total, float) or not 0 <= total < float("inf"):
        raise ValueError(f"total = {total!r}")
    means, pairs = take(arrays, "sums.means", n), take(arrays, "sums.pairs", n, n)
    for name, shares in (("sums.means", means), ("sums.pairs", pairs)):
        if ((shares < 0) | (shares > 1 + ROUNDING)).any():
            raise ValueError(f"{name} with values that are not shares")
    return total, means, pairs
