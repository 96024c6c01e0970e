"""Hostile calls of every public name, drawn from a seed, and what each ended in.

A case is the name of a call and the hostile values of one or two of its parameters, by name:
``["thin", {"X": "as complex", "n_select": "nan"}]``. Its outcome is one of

- ``answered``;
- ``refused``: an error that names a parameter, one of scikit-learn's validators, one that Python
  raises for a wrong keyword, or one that names a file;
- ``mutated``: an argument is not what it was;
- ``not finite``: an answer that must be finite is not;
- ``foreign``: any other exception, or a warning that is neither ours nor scikit-learn's.

One case again, with its traceback:

    python -m tests.abuse.running tests.abuse.generator:make '["mmd", {"X": "as complex"}]'
"""

import os
import pickle
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from tests.abuse.calls import CALLS, folder
from tests.abuse.hostile import ARRAYS, PLAIN, RaisedError, hostile
from tests.abuse.running import REFUSED

__all__ = ["ANSWERED", "MUTATED", "NOT_FINITE", "cases", "make"]

ANSWERED = "answered"
MUTATED = "mutated"
NOT_FINITE = "not finite"

#: Numbers of results that may be NaN or infinite: they say that something is not known.
OPEN = {
    *("r_hat", "ess", "errors", "mmd_random", "gain", "gain_error", "score", "log_weights"),
    *("squared_norm", "effective_chains", "rate", "squares", "average_errors"),
}

#: Calls that pass on what they were given, NaN and infinity too.
PASSING = (", on rows", "Thinning.take", "Variable")


def cases(n_cases: int, seed: int) -> list[tuple[str, dict[str, str]]]:
    """Draw cases: every call equally often, one parameter or two."""
    rng = np.random.default_rng(seed)
    valid = {name: make_call().arguments for name, make_call in CALLS.items()}
    names = [name for name, own in valid.items() if own]
    values = [*PLAIN, *ARRAYS]
    drawn = []
    while len(drawn) < n_cases:
        name = names[len(drawn) % len(names)]
        n_hostile = min(len(valid[name]), 1 + int(rng.random() < 0.3))
        chosen = rng.choice(sorted(valid[name]), n_hostile, replace=False)
        case = {str(one): str(rng.choice(values)) for one in chosen}
        if _changed(valid[name], case) is not None:
            drawn.append((name, case))
    return drawn


def _changed(valid: dict[str, Any], case: dict[str, str]) -> dict[str, Any] | None:
    """Return the hostile arguments of a case, None if a value cannot be made."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {name: hostile(value, valid[name]) for name, value in case.items()}
    except Exception:
        return None


def make() -> Callable[[tuple[str, dict[str, str]]], str]:
    """Call everything validly once, so that nothing is compiled in a case."""
    os.environ["MPLBACKEND"] = "agg"
    os.chdir(folder())
    for make_call in CALLS.values():
        call = make_call()
        call.function(**call.arguments)
    return attempt


def attempt(case: tuple[str, dict[str, str]]) -> str:
    """Run one case and return its outcome; a foreign exception comes through."""
    name, values = case
    call = CALLS[name]()
    changed = _changed(call.arguments, values)
    if changed is None:
        raise ValueError(f"{case} cannot be made")
    arguments = call.arguments | changed
    before = {key: fingerprint(value) for key, value in arguments.items()}
    error: Exception | None = None
    answer: Any = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = call.function(**arguments)
        except Exception as found:
            error = found
    after = {key: fingerprint(value) for key, value in arguments.items()}
    _close_figures()
    for one in caught:
        if not _is_known_warning(one):
            raise RuntimeError(f"{one.category.__name__}: {one.message} ({one.filename})")
    if error is not None and not is_refusal(error):
        raise error
    if before != after:
        return MUTATED
    if error is not None:
        return REFUSED
    return ANSWERED if name.endswith(PASSING) or all_finite(answer) else NOT_FINITE


def _close_figures() -> None:
    import matplotlib.pyplot as plt

    plt.close("all")


def _is_known_warning(one: Any) -> bool:
    home = one.category.__module__
    return (
        home.startswith(("herder.", "sklearn."))
        or "/sklearn/" in one.filename
        or (one.category is DeprecationWarning and "is deprecated: use" in str(one.message))
        or (one.category is RuntimeWarning and "rows were left out" in str(one.message))
    )


def is_refusal(error: Exception) -> bool:
    """Return whether an error names what the caller can mend."""
    import herder

    frames = traceback.extract_tb(error.__traceback__)
    text = str(error)
    if isinstance(
        error, herder.ParameterError | herder.ModelFileError | NotFittedError | RaisedError
    ):
        return True
    if any("/sklearn/utils/" in frame.filename for frame in frames):
        return True
    if isinstance(error, OSError):
        return error.filename is not None or "path must" in text
    if isinstance(error, ImportError):
        return "pip install" in text
    if isinstance(error, TypeError) and re.search(
        r"\(\) (got an unexpected|got multiple|missing|takes) .*argument", text
    ):
        return True
    if isinstance(error, AssertionError):
        return frames[-1].filename.endswith("testing.py")  # a law that check_system found broken
    by_us = "/src/herder/" in frames[-1].filename and (frames[-1].line or "").startswith("raise")
    if isinstance(error, MemoryError):
        return by_us
    return isinstance(error, ValueError | TypeError | OverflowError) and by_us and " must " in text


def all_finite(answer: Any, depth: int = 0) -> bool:
    """Return whether all numbers in an answer are finite, but those that may be unknown."""
    if isinstance(answer, float | np.floating):
        return bool(np.isfinite(answer))
    if isinstance(answer, np.ndarray):
        return answer.dtype.kind not in "fc" or bool(np.isfinite(answer).all())
    if depth > 3:
        return True
    return all(all_finite(part, depth + 1) for part in _parts(answer))


def _parts(answer: Any) -> Iterator[Any]:
    if isinstance(answer, list | tuple):
        yield from answer
    elif isinstance(answer, dict):
        yield from answer.values()
    elif sparse.issparse(answer):
        yield answer.data
    elif is_dataclass(answer) and type(answer).__module__.startswith("herder."):
        for one in fields(answer):
            if one.name not in OPEN:
                yield getattr(answer, one.name)
    else:
        yield getattr(answer, "coef_", 0)


def fingerprint(value: Any) -> Any:
    """Return what changes with the value."""
    if isinstance(value, np.ma.MaskedArray):
        return fingerprint(value.data), fingerprint(np.ma.getmaskarray(value))
    if isinstance(value, np.ndarray):
        content = value.tolist() if value.dtype.hasobject else value.tobytes()
        return value.dtype.str, value.shape, value.strides, repr(content)
    if sparse.issparse(value):
        parts = ("data", "indices", "indptr", "row", "col", "offsets", "rows")
        held = {
            part: getattr(value, part)
            for part in parts
            if isinstance(getattr(value, part, None), np.ndarray)
        }
        return value.shape, {part: fingerprint(one) for part, one in held.items()}
    if isinstance(value, list | tuple):
        return type(value).__name__, [fingerprint(one) for one in value]
    if isinstance(value, dict):
        return [(repr(key), fingerprint(one)) for key, one in value.items()]
    if type(value).__module__.startswith(("pandas.", "polars.", "xarray.", "pyarrow.")):
        return repr(value), _pickled(value)
    if is_dataclass(value) and not isinstance(value, type):
        return [fingerprint(getattr(value, one.name)) for one in fields(value)]
    if type(value).__module__.startswith("herder.") and not isinstance(value, type | ModuleType):
        return [(key, fingerprint(one)) for key, one in sorted(vars(value).items())]
    return repr(value)


def _pickled(value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception:
        return b""
