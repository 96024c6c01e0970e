"""Checks at the public border. Every error reads ``name must be ..., got ...``."""

import operator
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import NDArray

from herder._csr import distinct_columns, sound_sparse
from herder._errors import ParameterError, ParameterTypeError, with_nearest

__all__ = [
    "check_fitted",
    "check_function",
    "finite_number",
    "fit_points",
    "fit_rows",
    "flag",
    "form_of",
    "function_or_none",
    "generator",
    "iterated",
    "listed",
    "mapping",
    "non_negative_int",
    "of_kind",
    "one_of",
    "plain_array",
    "positive_int",
    "positive_number",
    "real_array",
    "require_finite",
    "require_memory",
    "row_weights",
    "share",
    "whole_or_not",
]

T = TypeVar("T")

#: Forms by library and class.
_FORMS = {
    "pandas": {"DataFrame": "pandas", "Series": "series"},
    "polars": {"DataFrame": "polars", "LazyFrame": "lazy", "Series": "series"},
    "xarray": {"DataArray": "dataarray", "Dataset": "dataset", "DataTree": "tree"},
    "arviz": {"InferenceData": "tree"},
}

#: Forms that an estimator does not take as rows: what was passed, with a remedy.
_NO_ROWS = {
    "lazy": "a lazy frame: X.collect() reads it",
    "mapping": "a mapping of columns: pandas.DataFrame(X) makes it a table",
    "dataset": "an xarray Dataset: X.to_dataframe() makes it a table",
    "tree": "a tree of xarray Datasets: to_dataframe() makes one of them a table",
}


def form_of(table: Any) -> str:
    """Return the name of a table's form, without reading it or importing anything."""
    for base in type(table).__mro__:
        library = _FORMS.get(base.__module__.partition(".")[0], {})
        if base.__name__ in library:
            return library[base.__name__]
    if hasattr(table, "tocsr"):
        return "sparse"
    return "mapping" if isinstance(table, Mapping) else "array"


def plain_array(values: Any, name: str, rule: str = "have rows of one length") -> NDArray[Any]:
    """Return ``values`` as an array; hidden entries of masked ones become NaN, or None."""
    if form_of(values) == "lazy":
        raise ParameterTypeError(name, "be in memory", got=_NO_ROWS["lazy"])
    given: Any = values
    if isinstance(values, list | tuple) and any(isinstance(v, np.ma.MaskedArray) for v in values):
        given = np.ma.array(values)
    if not np.ma.is_masked(given):
        try:
            return np.asarray(given)
        except (TypeError, ValueError, OverflowError) as error:  # an xarray Dataset, ragged rows
            kind = ParameterError if isinstance(error, ValueError) else ParameterTypeError
            raise kind(name, rule, got=f"{type(values).__name__}: {error}") from None
    if given.dtype.kind == "f":
        return given.filled(np.nan)
    found = np.array(given.data, dtype=object)
    found[np.ma.getmaskarray(given)] = None
    return found


def real_array(values: Any, name: str, rule: str = "be numbers") -> NDArray[np.float64]:
    """Return ``values`` as float64, NaN where they are hidden by a mask; refuse complex ones."""
    try:
        given = plain_array(values, name)
        if given.dtype.kind not in "cmMVUS" and values is not None:
            with np.errstate(over="ignore"):  # to infinity, as any number that is too large
                return np.asarray(given, np.float64)
        found = f"dtype {given.dtype}"
    except (TypeError, ValueError, OverflowError):
        found = type(values).__name__
    raise ParameterTypeError(name, rule, got=found)


def check_fitted(estimator: object, attribute: str) -> None:
    """Raise scikit-learn's NotFittedError unless ``estimator`` has the fitted ``attribute``."""
    if not hasattr(estimator, attribute):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, attribute)


def fit_points(estimator: object, X: object, *, reset: bool = True) -> NDArray[Any]:
    """Return ``X`` as float64 or float32 rows, by scikit-learn's rules for estimators.

    ``reset`` is for ``fit``, which learns the number and names of the columns; elsewhere they
    must be the same.
    """
    return _validated(estimator, X, reset=reset)


def fit_rows(estimator: object, X: object, *, reset: bool = True, finite: bool = True) -> Any:
    """Return ``X`` as `fit_points` does, or as CSR if it is sparse, each column once in a row.

    Without ``finite`` the caller sees to it that NaN and infinity are refused. What is in the
    right form already goes past scikit-learn's validator: on a small batch that takes longer than
    learning it.
    """
    rows: Any = X
    known = vars(estimator)
    if _is_ready(rows, None if reset else known):
        known["n_features_in_"] = rows.shape[1]
        known.pop("feature_names_in_", None)
    else:
        options = {"accept_sparse": "csr", "accept_large_sparse": True, "order": "C"}
        rows = _validated(estimator, X, reset=reset, ensure_all_finite=finite, **options)
    unlike = rows
    if hasattr(rows, "indptr"):
        rows = distinct_columns(rows)
    if finite and (rows is X or rows is not unlike):
        require_finite(estimator, rows)
    return rows


def _validated(estimator: object, X: Any, **options: Any) -> Any:
    """Return what scikit-learn's validator makes of ``X``, in the byte order of the machine."""
    from sklearn.utils import validation

    form = form_of(X)
    if form in _NO_ROWS:
        raise ParameterTypeError("X", "be rows by columns in memory", got=_NO_ROWS[form])
    check: Any = validation.validate_data
    given = X
    if form in ("array", "sparse"):
        given = plain_array(X, "X") if form == "array" else sound_sparse(X)
        if given.dtype.kind == "c":
            raise ParameterTypeError("X", "be real", got="others: Complex data not supported")
        if given.dtype.kind in "mM":
            raise ParameterTypeError("X", "be rows of numbers", got=f"dtype {given.dtype}")
    if form == "pandas" and not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()][0]
        raise ParameterError("X", "have unique column names", got=f"{twice!r} twice")
    try:
        rows = check(estimator, given, dtype=[np.float64, np.float32], **options)
    except (TypeError, OverflowError) as error:
        raise ParameterTypeError("X", "be rows of numbers", got=f"{error}") from None
    return rows if rows.dtype.isnative else rows.astype(rows.dtype.newbyteorder("="))


def _is_ready(X: Any, known: Mapping[str, Any] | None) -> bool:
    """Whether ``X`` is rows of floats without names, as wide as what an estimator knows."""
    if type(X) is np.ndarray:
        is_plain = X.ndim == 2 and X.flags.c_contiguous
    else:
        is_plain = type(X).__name__ in ("csr_array", "csr_matrix") and X.ndim == 2
    if not is_plain or X.dtype not in (np.float64, np.float32) or 0 in X.shape:
        return False
    return known is None or (
        known.get("n_features_in_") == X.shape[1] and "feature_names_in_" not in known
    )


def require_finite(estimator: object, rows: Any) -> None:
    """Raise scikit-learn's ValueError if ``rows`` have NaN or infinity."""
    from sklearn.utils.validation import assert_all_finite

    data = rows.data if hasattr(rows, "indptr") else rows
    assert_all_finite(data, estimator_name=type(estimator).__name__, input_name="X")


def row_weights(
    weight: object, n_rows: int, name: str = "sample_weight", *, summed: bool = True
) -> NDArray[np.float64]:
    """Return ``weight`` as one non-negative number a row, 1 if it is None.

    If they are to be ``summed``, their sum must be finite.
    """
    if weight is None:
        return np.ones(n_rows)
    values = real_array(weight, name)
    if values.ndim == 0:
        values = np.full(n_rows, float(values))
    if values.shape != (n_rows,):
        raise ParameterError(name, f"have one number for each of {n_rows} rows", values.shape)
    wrong = ~np.isfinite(values) | (values < 0)
    if wrong.any():
        row = int(wrong.argmax())
        raise ParameterError(name, "be finite and not negative", got=f"{values[row]} in row {row}")
    with np.errstate(over="ignore"):
        if summed and not np.isfinite(values.sum()):
            raise ParameterError(name, "have a finite sum", got=f"numbers up to {values.max():g}")
    return values


def check_function(value: Any, name: str) -> Any:
    """Return ``value`` if it can be called."""
    if not callable(value):
        raise ParameterTypeError(name, "be callable", got=type(value).__name__)
    return value


def flag(value: Any, name: str) -> bool:
    """Return ``value`` as a bool; 0 and 1 count as well."""
    if isinstance(value, bool | np.bool_ | int | np.integer) and value in (0, 1):
        return bool(value)
    raise ParameterTypeError(name, "be True or False", got=_words(value))


def function_or_none(value: Any, name: str) -> Any:
    """Return ``value`` if it can be called or is None."""
    if value is not None and not callable(value):
        raise ParameterTypeError(name, "be callable or None", got=type(value).__name__)
    return value


def iterated(values: Any, name: str, what: str) -> Iterator[Any]:
    """Return what goes through such an iterable, one entry at a time."""
    try:
        if isinstance(values, str | bytes) or form_of(values) in ("lazy", "sparse"):
            raise TypeError
        return iter(values)
    except TypeError:
        raise ParameterTypeError(name, f"be a sequence of {what}", got=_words(values)) from None


def listed(values: Any, name: str, what: str) -> list[Any]:
    """Return the entries of an iterable that is no text, which are called ``what``."""
    return list(iterated(values, name, what))


def mapping(values: Any, name: str, what: str) -> Mapping[Any, Any]:
    """Return ``values`` if it is a mapping, of ``what``."""
    return of_kind(values, name, Mapping, f"a mapping of {what}")


def of_kind(value: Any, name: str, kinds: type[T] | tuple[type[T], ...], what: str) -> T:
    """Return ``value`` if it is an instance of ``kinds``, which are called ``what``."""
    if not isinstance(value, kinds):
        raise ParameterTypeError(name, f"be {what}", got=type(value).__name__)
    return value


def _words(value: object) -> str:
    """Return a short value as it is, else its type."""
    return repr(value) if isinstance(value, str | bytes | int | float) else type(value).__name__


def finite_number(value: object, name: str) -> float:
    """Return ``value`` as a finite float."""
    number = _real(value, name, "a number")
    if not np.isfinite(number):
        raise ParameterError(name, "be finite", value)
    return number


def generator(random_state: object) -> np.random.Generator:
    """Return a generator made from ``random_state``, or itself if it is one."""
    given: Any = random_state
    whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
    if not (given is None or whole or isinstance(given, np.random.Generator)):
        kind = type(given).__name__
        raise ParameterTypeError("random_state", "be an int, a Generator or None", got=kind)
    if isinstance(given, int | np.integer) and given < 0:
        raise ParameterError("random_state", "be 0 or more", given)
    return np.random.default_rng(given)


@contextmanager
def whole_or_not(estimator: object) -> Iterator[None]:
    """Leave an estimator as it was if anything fails."""
    state = vars(estimator)
    before = state.copy()
    try:
        yield
    except BaseException:
        state.clear()
        state.update(before)
        raise


def positive_number(value: object, name: str) -> float:
    """Return ``value`` as a finite float above 0."""
    number = _real(value, name, "a positive number")
    if not 0 < number < np.inf:
        raise ParameterError(name, "be a positive number", value)
    return number


def non_negative_number(value: object, name: str) -> float:
    """Return ``value`` as a finite float of at least 0."""
    number = _real(value, name, "0 or a positive number")
    if not 0 <= number < np.inf:
        raise ParameterError(name, "be 0 or a positive number", value)
    return number


def share(value: object, name: str) -> float:
    """Return ``value`` as a float from 0 to below 1."""
    number = _real(value, name, "a number from 0 to below 1")
    if not 0 <= number < 1:
        raise ParameterError(name, "be a number from 0 to below 1", value)
    return number


def positive_int(value: SupportsIndex, name: str) -> int:
    """Return ``value`` as an int of at least 1; NumPy integers count, booleans do not."""
    return _int_from(1, "a positive integer", value, name)


def non_negative_int(value: SupportsIndex, name: str) -> int:
    """Return ``value`` as an int of at least 0; NumPy integers count, booleans do not."""
    return _int_from(0, "a non-negative integer", value, name)


def one_of(value: T, name: str, allowed: Collection[T]) -> T:
    """Return ``value`` if it is one of ``allowed``."""
    # an array has no truth, and what is not hashable is in no mapping
    if not any(isinstance(value, type(option)) and value == option for option in allowed):
        options = ", ".join(repr(option) for option in allowed)
        got = with_nearest(value, allowed) if isinstance(value, str) else None
        raise ParameterError(name, f"be one of {options}", value, got=got)
    return value


def _real(value: Any, name: str, kind: str) -> float:
    real = int | float | np.integer | np.floating
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, real):
        raise ParameterTypeError(name, f"be {kind}", value)
    try:
        return float(value)
    except OverflowError:
        raise ParameterError(
            name, f"be {kind} that fits into a float", got="a larger one"
        ) from None


def _int_from(least: int, kind: str, value: SupportsIndex, name: str) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ParameterTypeError(name, f"be {kind}", value) from None
    if number < least:
        raise ParameterError(name, f"be {kind}", value)
    if number >= 2**63:
        raise ParameterError(name, f"be {kind} below 2**63", got="a larger one")
    return number


def require_memory(needed: float, limit: int, what: str, remedy: str = "") -> None:
    """Refuse work that needs more bytes than the limit, ``max_memory``."""
    if needed > limit:
        rule = f"be at least {np.ceil(needed / 2**20):,.0f}M for {what}"
        more = f": raise it, or {remedy}" if remedy else ""
        raise ParameterError("max_memory", rule, got=f"{limit / 2**20:,.0f}M{more}")
