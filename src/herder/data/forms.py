r"""The forms a sample comes in: its columns as numbers, and chosen rows in the same form.

A sample is a table of n rows and d columns. Draws of several chains are counted chain by chain:
with D draws in each, row :math:`i` is draw :math:`i \bmod D` of chain
:math:`\lfloor i / D \rfloor`. Whatever else an array has per draw is flattened into columns.

Libraries that a user may have are known by the names of their classes, so that none is imported
before something of its own is given.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError

__all__ = ["form_of", "locate", "read_numbers", "take_rows"]

_FORMS = {
    ("pandas", "DataFrame"): "pandas",
    ("pandas", "Series"): "series",
    ("polars", "DataFrame"): "polars",
    ("polars", "LazyFrame"): "lazy",
    ("polars", "Series"): "series",
    ("xarray", "DataArray"): "dataarray",
    ("xarray", "Dataset"): "dataset",
    ("xarray", "DataTree"): "tree",
    ("arviz", "InferenceData"): "tree",
}

_KINDS = {"U": "text", "S": "text", "M": "dates", "m": "durations", "O": "objects"}


#: A sample as numbers: values (n, d), d names, and the leading shape of its rows.
Numbers: TypeAlias = tuple[NDArray[np.floating], tuple[str, ...], tuple[int, ...]]


def form_of(table: Any) -> str:
    """Name the form of a table, without reading it or importing anything."""
    for base in type(table).__mro__:
        form = _FORMS.get((base.__module__.partition(".")[0], base.__name__))
        if form is not None:
            return form
    if hasattr(table, "tocsr"):
        return "sparse"
    if hasattr(table, "posterior"):
        return "tree"
    return "mapping" if isinstance(table, Mapping) else "array"


def locate(
    indices: NDArray[np.intp], shape: tuple[int, ...]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return chain and draw of rows that are counted chain by chain."""
    if len(shape) != 2:
        raise ParameterError(
            "X",
            "have chains and draws for rows to be located",
            got="a table of rows: its indices say where they are",
        )
    chains, draws = np.divmod(np.asarray(indices, dtype=np.intp), shape[1])
    return chains, draws


def read_numbers(table: Any, form: str) -> Numbers:
    """Turn a table of a known form into numbers; what is not numbers is refused by name."""
    if form not in _READERS:
        raise _refused(table, form)
    return _READERS[form](table)


def take_rows(table: Any, indices: NDArray[np.intp], shape: tuple[int, ...]) -> Any:
    """Return rows of a table that is aligned with a sample of that leading shape, in its own form.

    Parameters
    ----------
    table : array, frame, series, sparse matrix, xarray object, ArviZ object or mapping of arrays
        As many rows as the sample has, or its chains and draws.
    indices : ndarray of intp
        Rows, counted chain by chain.
    shape : tuple of int
        (n,) or (chains, draws) of the sample.
    """
    form = form_of(table)
    n = math.prod(shape)
    if form in ("dataarray", "dataset", "tree"):
        return _take_draws(_posterior(table) if form == "tree" else table, indices, shape)
    if form == "mapping":
        return {name: take_rows(values, indices, shape) for name, values in table.items()}
    if form == "lazy":
        raise _refused(table, form)
    if form == "array":
        values = table if isinstance(table, np.ndarray) else np.asarray(table)
        if len(shape) == 2 and values.shape[:2] == shape:
            return _in_memory(values[locate(indices, shape)])
        _require_length(values.shape[0] if values.ndim else 0, n, values.shape)
        return _in_memory(values[indices])
    _require_length(table.shape[0], n, table.shape)
    if form == "sparse":
        return table.tocsr()[indices]
    return table.iloc[indices] if hasattr(table, "iloc") else table[indices]


def _in_memory(rows: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(rows) if isinstance(rows, np.memmap) else rows


def _require_length(found: int, n: int, shape: Any) -> None:
    if found != n:
        raise ParameterError("table", f"have {n:,} rows, as X has", got=f"shape {tuple(shape)}")


def _take_draws(data: Any, indices: NDArray[np.intp], shape: tuple[int, ...]) -> Any:
    """Take draws of an xarray object along one new dimension, ``sample``."""
    import xarray as xr

    lead = _leading(data.dims)
    sizes = tuple(int(data.sizes[dim]) for dim in lead)
    apart = len(lead) == len(shape) == 2 and sizes != shape
    if not lead or apart or math.prod(sizes) != math.prod(shape):
        found = dict(data.sizes)
        raise ParameterError("table", f"have the chains and draws of X, {shape}", found)
    if len(lead) == 1:
        return data.isel({lead[0]: indices})
    places = dict(zip(lead, locate(indices, sizes), strict=True))
    picked = data.isel({dim: xr.DataArray(at, dims="sample") for dim, at in places.items()})
    bare = {dim: ("sample", at) for dim, at in places.items() if dim not in picked.coords}
    return picked.assign_coords(bare).transpose("sample", ...)


def _leading(dims: Iterable[Any]) -> tuple[str, ...]:
    """Return the dimensions that count rows; empty when there are none."""
    found = set(dims)
    if {"chain", "draw"} <= found:
        return ("chain", "draw")
    return next(((dim,) for dim in ("sample", "draw") if dim in found), ())


def _posterior(tree: Any) -> Any:
    """Return the posterior of an ArviZ object as an xarray Dataset."""
    node = getattr(tree, "posterior", None)
    if node is None:
        # A tree's own branch, such as ``tree["posterior"]``, is a tree as well.
        if not getattr(tree, "data_vars", ()):
            groups = list(getattr(tree, "children", ()) or getattr(tree, "groups", list)())
            raise ParameterError("X", "have a group 'posterior'", got=f"the groups {groups}")
        node = tree
    return node.to_dataset() if hasattr(node, "children") else node


def _read_array(table: Any) -> Numbers:
    if np.ma.is_masked(table):
        n = int(np.ma.count_masked(table))
        raise ParameterError(
            "X", "have no masked values", got=f"{n}; drop those rows or fill them"
        )
    try:
        values = np.asarray(table)
    except ValueError as error:
        raise ParameterError("X", f"have rows of one length, got: {error}") from None
    if values.dtype.names:
        remedy = "numpy.lib.recfunctions.structured_to_unstructured flattens it"
        raise ParameterTypeError("X", "be a plain 2-D array", got=f"a structured one: {remedy}")
    if values.ndim == 0:
        raise ParameterTypeError("X", "be an array, a frame or draws", got=type(table).__name__)
    if values.ndim == 1:
        raise ParameterError(
            "X",
            "be 2-D, rows by columns",
            got=f"shape {values.shape}. Reshape your data: X.reshape(-1, 1) if it is one "
            "column, X.reshape(1, -1) if it is one row",
        )
    if values.ndim == 2:
        names = tuple(f"x{j}" for j in range(values.shape[1]))
        return _floats(values, names, "X[:, {}]"), names, values.shape[:1]
    rest = values.shape[2:]
    names = _cells("x", [[str(i) for i in range(k)] for k in rest])
    if len(rest) == 1:
        names = [f"x{j}" for j in range(rest[0])]
    flat = values.reshape(math.prod(values.shape[:2]), math.prod(rest))
    return _floats(flat, names, "X[:, :, {}]"), tuple(names), values.shape[:2]


def _read_mapping(table: Mapping[Any, Any]) -> Numbers:
    arrays = {str(name): np.asarray(values) for name, values in table.items()}
    shapes = {values.shape[:2] if values.ndim > 1 else values.shape for values in arrays.values()}
    if len(shapes) != 1 or shapes == {()}:
        found = {name: values.shape for name, values in arrays.items()}
        raise ValueError(
            "X as a mapping must hold arrays of shape (chain, draw, ...), or columns of one "
            f"length, got {found}"
        )
    shape = shapes.pop()
    parts = []
    for name, values in arrays.items():
        rest = values.shape[len(shape) :]
        names = _cells(name, [[str(i) for i in range(k)] for k in rest])
        parts.append((name, names, values.reshape(math.prod(shape), math.prod(rest))))
    return _join(parts, shape, "leave them out of the mapping, or encode them as numbers")


def _read_xarray(data: Any) -> Numbers:
    """Read a Dataset: one column for every variable and every cell of its other dimensions."""
    named = {str(name): variable for name, variable in data.data_vars.items()}
    leads = {name: _leading(variable.dims) for name, variable in named.items()}
    lead = next((found for found in leads.values() if found), ())
    other = [name for name, found in leads.items() if found != lead or not found]
    if other:
        dims = {name: tuple(named[name].dims) for name in other[:3]}
        raise ParameterError(
            "X",
            "have the dimensions chain and draw in every variable",
            got=f"{dims}; drop these with X.drop_vars({other[:3]}), or rename their dimensions",
        )
    parts = []
    for name, variable in named.items():
        variable = variable.transpose(*lead, ...)
        rest = variable.dims[len(lead) :]
        labels = [
            [str(label) for label in variable.coords[dim].values]
            if dim in variable.coords
            else [str(i) for i in range(variable.sizes[dim])]
            for dim in rest
        ]
        flat = variable.values.reshape(-1, math.prod(map(len, labels)))
        parts.append((name, _cells(name, labels), flat))
    shape = tuple(int(data.sizes[dim]) for dim in lead)
    return _join(parts, shape, "drop them with X.drop_vars, or encode them as numbers")


def _read_dataarray(array: Any) -> Numbers:
    return _read_xarray(array.to_dataset(name=array.name if array.name is not None else "x"))


def _cells(name: str, labels: Sequence[Sequence[str]]) -> list[str]:
    """Name the cells of an array: ``theta``, ``theta[0]``, ``theta[0, 1]``."""
    if not labels:
        return [name]
    return [f"{name}[{', '.join(cell)}]" for cell in itertools.product(*labels)]


def _join(
    parts: Sequence[tuple[str, Sequence[str], NDArray[Any]]], shape: tuple[int, ...], remedy: str
) -> Numbers:
    odd = {name: _odd_kind(values) for name, _, values in parts}
    _require_numbers({name: kind for name, kind in odd.items() if kind}, remedy)
    blocks = [_floats(values, names, "") for _, names, values in parts]
    values = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
    return values, tuple(name for _, names, _ in parts for name in names), shape


def _read_pandas(frame: Any) -> Numbers:
    names = tuple(_label(label) for label in frame.columns)
    dtypes = list(frame.dtypes)
    odd = {
        name: str(dtype)
        for name, dtype in zip(names, dtypes, strict=True)
        if getattr(dtype, "kind", "O") not in "biuf"
    }
    _require_numbers(odd, f"drop them with X.drop(columns={list(odd)}), or encode them as numbers")
    if dtypes and dtypes == dtypes[:1] * len(dtypes) and isinstance(dtypes[0], np.dtype):
        return _floats(frame.to_numpy(), names, ""), names, (len(frame),)
    narrow = all(t.kind == "f" and getattr(t, "itemsize", 8) <= 4 for t in dtypes)
    dtype = np.dtype(np.float32 if narrow and dtypes else np.float64)
    # Column by column, so that a frame of many kinds is not first made one of objects.
    values = np.empty((len(frame), len(names)), dtype=dtype, order="F")
    for j, kind in enumerate(dtypes):
        gaps = {} if isinstance(kind, np.dtype) else {"na_value": np.nan}
        values[:, j] = frame.iloc[:, j].to_numpy(dtype=dtype, **gaps)
    return values, names, (len(frame),)


def _read_polars(frame: Any) -> Numbers:
    import polars as pl

    names = tuple(frame.columns)
    kinds = dict(frame.schema)
    odd = {
        name: str(kind)
        for name, kind in kinds.items()
        if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null))
    }
    listed = ", ".join(repr(name) for name in odd)
    _require_numbers(odd, f"drop them with X.drop({listed}), or encode them as numbers")
    narrow = all(kind == pl.Float32 for kind in kinds.values())
    values = frame.cast(pl.Float32 if narrow else pl.Float64).to_numpy()
    return values, names, (frame.height,)


def _label(label: Any) -> str:
    return ".".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _odd_kind(values: NDArray[Any]) -> str:
    """Say what a column holds that is not numbers; nothing when it holds numbers."""
    kind = values.dtype.kind
    if kind in "biuf":
        return ""
    if kind == "O" and all(_is_number(item) for item in values.flat):
        return ""
    return _KINDS.get(kind, str(values.dtype))


def _is_number(item: Any) -> bool:
    return item is None or isinstance(item, Real | np.bool_)


def _floats(values: NDArray[Any], names: Sequence[str], place: str) -> NDArray[np.floating]:
    """Return numbers as float64, or as the float32 they are; a copy only where one is needed."""
    if values.dtype.kind == "c":
        raise ParameterError(
            "X", "hold real numbers", got="complex ones. Complex data not supported"
        )
    if values.dtype.kind == "O":
        odd = {name: _odd_kind(values[:, j]) for j, name in enumerate(names)}
        odd = {name: kind for name, kind in odd.items() if kind}
    else:
        odd = dict.fromkeys(names, kind) if (kind := _odd_kind(values)) else {}
    where = [place.format(j) for j, name in enumerate(names) if name in odd][:3]
    _require_numbers(odd, f"leave out {', '.join(where)}, or encode it as numbers")
    if values.dtype.kind == "f" and values.dtype.itemsize in (4, 8):
        return values.astype(values.dtype.newbyteorder("="), copy=False)
    narrow = values.dtype.kind == "f" and values.dtype.itemsize == 2
    return values.astype(np.float32 if narrow else np.float64)


def _require_numbers(odd: Mapping[str, str], remedy: str) -> None:
    if not odd:
        return
    shown = ", ".join(f"{kind} in {name!r}" for name, kind in itertools.islice(odd.items(), 5))
    more = f" and in {len(odd) - 5} more columns" if len(odd) > 5 else ""
    raise ParameterError("X", "have columns of numbers only", got=f"{shown}{more}; {remedy}")


_READERS: dict[str, Callable[[Any], Numbers]] = {
    "array": _read_array,
    "mapping": _read_mapping,
    "pandas": _read_pandas,
    "polars": _read_polars,
    "dataarray": _read_dataarray,
    "dataset": _read_xarray,
    "tree": lambda tree: _read_xarray(_posterior(tree)),
}

#: Forms that are not taken: the rule, and what came instead with a remedy.
_REFUSED = {
    "sparse": (
        "be dense",
        "a sparse matrix of shape {shape}: distances between its rows are dense; use "
        "X.toarray(), or reduce its columns first (TruncatedSVD)",
    ),
    "series": ("be 2-D, rows by columns", "a series; X.to_frame() makes it one column"),
    "lazy": ("be a frame in memory", "a lazy one; X.collect() makes it"),
}


def _refused(table: Any, form: str) -> ParameterTypeError:
    rule, got = _REFUSED[form]
    return ParameterTypeError("X", rule, got=got.format(shape=getattr(table, "shape", "")))
