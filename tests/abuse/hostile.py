"""Hostile values by name, for any parameter: each is made of the valid value that it replaces.

`PLAIN` need no valid value. `ARRAYS` are made of one that NumPy reads as an array: other shapes,
dtypes, containers and numbers. A function that cannot make its value of this one raises, and the
case is not used.
"""

import datetime
import decimal
import fractions
import pathlib
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import xarray as xr
from scipy import sparse

__all__ = ["ARRAYS", "PLAIN", "RaisedError", "hostile"]


class RaisedError(Exception):
    """What a user's own function raises: it must come through as it is."""


class Anything:
    """A class that is made of anything, and answers nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass


def _raise(*args: Any, **kwargs: Any) -> Any:
    raise RaisedError("from a function of the user's own")


PLAIN: dict[str, Callable[[], Any]] = {
    "0": lambda: 0,
    "1": lambda: 1,
    "-1": lambda: -1,
    "1.5": lambda: 1.5,
    "-0.0": lambda: -0.0,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "1e308": lambda: 1e308,
    "1e-308": lambda: 1e-308,
    "10**30": lambda: 10**30,
    "-10**30": lambda: -(10**30),
    "10**400": lambda: 10**400,
    "2**63": lambda: 2**63,
    "True": lambda: True,
    "False": lambda: False,
    "None": lambda: None,
    "...": lambda: ...,
    "'a'": lambda: "a",
    "''": lambda: "",
    "nul": lambda: "a\0b",
    "long text": lambda: "x" * 300,
    "surrogate": lambda: "\udc80",
    "b'a'": lambda: b"a",
    "[]": list,
    "()": tuple,
    "{}": dict,
    "set": lambda: {1, 2},
    "[1, 2]": lambda: [1, 2],
    "['a', 'b']": lambda: ["a", "b"],
    "[None]": lambda: [None],
    "[[]]": lambda: [[]],
    "[nan]": lambda: [float("nan")],
    "[10**30]": lambda: [10**30],
    "['a', 1]": lambda: ["a", 1],
    "ragged": lambda: [[1.0, 2.0], [3.0]],
    "deep list": lambda: [[[[1.0]]]],
    "{'a': 1}": lambda: {"a": 1},
    "{0: 1}": lambda: {0: 1},
    "{0: 'a'}": lambda: {0: "a"},
    "{(): []}": lambda: {(): []},
    "{None: None}": lambda: {None: None},
    "range": lambda: range(5),
    "slice": lambda: slice(None),
    "generator": lambda: (k for k in range(3)),
    "complex": lambda: 1 + 1j,
    "int8": lambda: np.int8(3),
    "uint64": lambda: np.uint64(2**63),
    "float16": lambda: np.float16(0.5),
    "bool_": lambda: np.bool_(True),
    "str_": lambda: np.str_("a"),
    "0-d": lambda: np.array(3),
    "0-d object": lambda: np.array(None, dtype=object),
    "empty array": lambda: np.array([]),
    "structured": lambda: np.zeros(3, dtype=[("a", float), ("b", int)]),
    "datetime64": lambda: np.datetime64("2020-01-01"),
    "datetime": lambda: datetime.datetime(2020, 1, 1),
    "Fraction": lambda: fractions.Fraction(1, 3),
    "Decimal": lambda: decimal.Decimal("0.5"),
    "NaT": lambda: pd.NaT,
    "NA": lambda: pd.NA,
    "object": object,
    "class": lambda: Anything,
    "module": lambda: np,
    "path": lambda: pathlib.Path("nowhere", "at.all"),
    "function of None": lambda: lambda *args, **kwargs: None,
    "function of text": lambda: lambda *args, **kwargs: "a",
    "function of nan": lambda: lambda *args, **kwargs: float("nan"),
    "function of list": lambda: lambda *args, **kwargs: [[1.0], [2.0, 3.0]],
    "function that raises": lambda: _raise,
    "function of nothing": lambda: lambda: 0,
    "csr": lambda: sparse.csr_matrix(np.eye(3)),
    "frame": lambda: pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}),
    "empty frame": lambda: pd.DataFrame(),
    "generator of numbers": lambda: np.random.default_rng(3),
}


def _ragged(a: Any) -> Any:
    rows = a.tolist()
    rows[0] = rows[0][:-1] if isinstance(rows[0], list) else [rows[0], rows[0]]
    return rows


def _frame(a: Any, names: Any = None) -> pd.DataFrame:
    return pd.DataFrame(_two(a), columns=names)


def _two(a: Any) -> Any:
    if a.ndim not in (1, 2):
        raise TypeError("no table")
    return a.reshape(len(a), -1)


def _names(a: Any) -> list[str]:
    return [f"c{j}" for j in range(_two(a).shape[1])]


def _masked(a: Any) -> Any:
    hidden = np.zeros(a.shape, bool)
    hidden.flat[0] = True
    return np.ma.masked_array(a, hidden)


def _mapped(a: Any) -> Any:
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=a.dtype, mode="w+", shape=a.shape)
        mapped[...] = a
    return mapped


def _read_only(a: Any) -> Any:
    copy = a.copy()
    copy.flags.writeable = False
    return copy


def _structured(a: Any) -> Any:
    return np.rec.fromarrays(list(_two(a).T))


def _with(number: Any, dtype: Any = np.float64) -> Callable[[Any], Any]:
    def change(a: Any) -> Any:
        copy = a.astype(dtype)
        copy.flat[copy.size // 2] = number
        return copy

    return change


def _all(number: Any, dtype: Any = np.float64) -> Callable[[Any], Any]:
    return lambda a: np.full(a.shape, number, dtype)


def _objects(a: Any) -> Any:
    made = a.astype(object)
    made.flat[0] = None
    return made


def _mixed(a: Any) -> Any:
    made = a.astype(object)
    made.flat[0] = "x"
    made.flat[-1] = {}
    return made


def _csr(edit: Callable[[Any], None]) -> Callable[[Any], Any]:
    def make(a: Any) -> Any:
        rows = sparse.csr_matrix(_two(a).astype(np.float64))
        edit(rows)
        return rows

    return make


def _beyond(rows: Any) -> None:
    rows.indices[-1] = 10**8


def _before(rows: Any) -> None:
    rows.indices[-1] = -1


def _repeated(rows: Any) -> None:
    rows.indices[:] = 0


def _broken(rows: Any) -> None:
    rows.indptr[-1] = 10**6


ARRAYS: dict[str, Callable[[Any], Any]] = {
    # shapes
    "no rows": lambda a: a[:0],
    "no columns": lambda a: _two(a)[:, :0],
    "one row": lambda a: a[:1],
    "two rows": lambda a: a[:2],
    "one column": lambda a: _two(a)[:, :1],
    "flat": np.ravel,
    "3-D": lambda a: a[None],
    "3-D inside": lambda a: a[..., None],
    "scalar": lambda a: a.flat[0],
    "ragged rows": _ragged,
    "transposed": lambda a: a.T,
    "one row less": lambda a: a[:-1],
    "one row more": lambda a: np.concatenate([a, a[:1]]),
    "one column less": lambda a: _two(a)[:, :-1],
    "one column more": lambda a: np.hstack([_two(a), _two(a)[:, :1]]),
    # dtypes
    "as float16": lambda a: a.astype(np.float16),
    "as float32": lambda a: a.astype(np.float32),
    "as float64": lambda a: a.astype(np.float64),
    "as longdouble": lambda a: a.astype(np.longdouble),
    "as >f8": lambda a: a.astype(">f8"),
    "as >i4": lambda a: a.astype(">i4"),
    "as int8": lambda a: a.astype(np.int8),
    "as uint64": lambda a: np.abs(a).astype(np.uint64),
    "as bool": lambda a: a.astype(bool),
    "as complex": lambda a: a + 1j,
    "as object": lambda a: a.astype(object),
    "as text": lambda a: a.astype(str),
    "as bytes": lambda a: a.astype("S"),
    "as letters": lambda a: np.full(a.shape, "a"),
    "as datetime64": lambda a: a.astype(np.int64).astype("M8[s]"),
    "as timedelta64": lambda a: a.astype(np.int64).astype("m8[s]"),
    "as Fractions": lambda a: np.vectorize(fractions.Fraction, otypes="O")(a.astype(float)),
    "as Decimals": lambda a: np.vectorize(decimal.Decimal, otypes="O")(a.astype(float)),
    "fields": _structured,
    "with None": _objects,
    "mixed": _mixed,
    # containers
    "as list": lambda a: a.tolist(),
    "as tuple": lambda a: tuple(map(tuple, a.tolist())),
    "as generator": iter,
    "as dict": lambda a: dict(zip(_names(a), _two(a).T, strict=True)),
    "as frame": _frame,
    "as named frame": lambda a: _frame(a, _names(a)),
    "twice the name": lambda a: _frame(a, ["c"] * _two(a).shape[1]),
    "two levels of names": lambda a: _frame(
        a, pd.MultiIndex.from_tuples([(name, 1) for name in _names(a)])
    ),
    "nullable frame": lambda a: _frame(a, _names(a)).convert_dtypes(),
    "frame with NA": lambda a: _frame(_with(np.nan)(a), _names(a)).convert_dtypes(),
    "frame of categories": lambda a: _frame(a, _names(a)).astype("category"),
    "frame of text": lambda a: _frame(a.astype(str), _names(a)),
    "frame of dates": lambda a: _frame(a.astype(np.int64).astype("M8[s]")),
    "frame of >f8": lambda a: _frame(a.astype(">f8")),
    "frame with other index": lambda a: _frame(a).set_index(np.arange(len(a))[::-1]),
    "sparse frame": lambda a: _frame(a, _names(a)).astype(pd.SparseDtype("float", 0.0)),
    "series": lambda a: pd.Series(list(_two(a)[:, 0])),
    "series with other index": lambda a: pd.Series(
        list(_two(a)[:, 0]), index=np.arange(len(a))[::-1]
    ),
    "as polars": lambda a: pl.DataFrame(_two(a), schema=_names(a)),
    "as LazyFrame": lambda a: pl.DataFrame(_two(a), schema=_names(a)).lazy(),
    "polars with null": lambda a: pl.DataFrame(_two(a), schema=_names(a)).with_columns(
        pl.lit(None).alias("c0")
    ),
    "polars Series": lambda a: pl.Series("c", _two(a)[:, 0]),
    "arrow": lambda a: pa.table(dict(zip(_names(a), _two(a).T, strict=True))),
    "as DataArray": lambda a: xr.DataArray(a),
    "as Dataset": lambda a: xr.Dataset({"a": xr.DataArray(a)}),
    **{
        f"as {form}": lambda a, form=form: sparse.csr_matrix(_two(a)).asformat(form)
        for form in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")
    },
    "as csr_array": lambda a: sparse.csr_array(_two(a)),
    "csr beyond": _csr(_beyond),
    "csr before": _csr(_before),
    "csr repeated": _csr(_repeated),
    "csr broken": _csr(_broken),
    "csr of int64": lambda a: sparse.csr_matrix(_two(a).astype(np.int64)),
    "csr with nan": lambda a: sparse.csr_matrix(_two(_with(np.nan)(a))),
    "masked": _masked,
    "all masked": lambda a: np.ma.masked_all(a.shape, a.dtype),
    "mapped": _mapped,
    "read-only": _read_only,
    "Fortran": np.asfortranarray,
    "backwards": lambda a: a[::-1],
    "strided": lambda a: np.repeat(a, 2, axis=0)[::2],
    "matrix": lambda a: np.asmatrix(_two(a)),
    "list of arrays": list,
    # numbers
    "with nan": _with(np.nan),
    "with inf": _with(np.inf),
    "with -inf": _with(-np.inf),
    "with 1e308": _with(1e308),
    "with -1e308": _with(-1e308),
    "with 1e-308": _with(1e-308),
    "with -0.0": _with(-0.0),
    "with -1": _with(-1),
    "with 0.5": _with(0.5),
    "with 10**6": _with(10**6),
    "with 2**62": _with(2**62, np.int64),
    "with -2**63": _with(-(2**63), np.int64),
    "with 2**64 - 1": _with(2**64 - 1, np.uint64),
    "with 10**30": _with(10**30, object),
    "all nan": _all(np.nan),
    "all 0": _all(0),
    "all 1": _all(1),
    "all 7": _all(7, np.int64),
    "all 1e308": _all(1e308),
    "all 1e-320": _all(1e-320),
    "all 1e200": _all(1e200),
    "times 1e200": lambda a: a * 1e200,
    "times 1e-200": lambda a: a * 1e-200,
    "plus 1e15": lambda a: a + 1e15,
    "constant column": lambda a: np.where(np.arange(_two(a).shape[1]) == 0, 1, _two(a)),
    "duplicates": lambda a: np.repeat(a[:1], len(a), axis=0),
    "negative": lambda a: -np.abs(a) - 1,
    "many columns": lambda a: np.zeros((2, 2_000), a.dtype),
}


def hostile(name: str, valid: Any) -> Any:
    """Return the hostile value of that name, made of the valid one."""
    if name in PLAIN:
        return PLAIN[name]()
    array = np.array(valid)
    if array.dtype.kind not in "biuf" or not array.ndim:
        raise TypeError("no array of numbers")
    with np.errstate(all="ignore"):
        return ARRAYS[name](array)
