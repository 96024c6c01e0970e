r"""The forms a sample comes in: its columns as numbers, and chosen rows in the same form.

A sample is a table of n rows and d columns. Draws of several chains are counted chain by chain:
with D draws in each, row :math:`i` is draw :math:`i \bmod D` of chain
:math:`\lfloor i / D \rfloor`. Whatever else an array has per draw is flattened into columns.

Libraries that a user may have are known by the names of their classes, so that none is imported
before something of its own is given.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from herder._csr import sound_sparse
from herder._errors import ParameterError, ParameterTypeError
from herder._validation import form_of, plain_array
from herder.data.categories import Labels, find_categories, place_indicators, sorted_codes
from herder.data.dates import read_days
from herder.data.source import repeated

__all__ = ["form_of", "locate", "read_mixed", "read_numbers", "take_rows"]

#: Forms that are refused: what X must be, and what was passed with a remedy.
_REFUSED = {
    "sparse": ("be dense", "a sparse matrix: X.toarray(), or TruncatedSVD for fewer columns"),
    "series": ("be 2-D, rows by columns", "a series: X.to_frame() makes it one column"),
    "lazy": ("be a frame in memory", "a lazy frame: X.collect() reads it"),
}

#: Groups of an ArviZ object whose draws are not those of the posterior.
_OTHER_DRAWS = re.compile("prior|sample_stats_prior|unconstrained_prior|warmup_")

_KINDS = {"U": "text", "S": "text", "M": "dates", "m": "durations", "O": "objects"}

#: A sample as numbers: values (n, d), d names, and the leading shape of its rows.
Numbers: TypeAlias = tuple[NDArray[Any], tuple[str, ...], tuple[int, ...]]


def locate(
    indices: NDArray[np.intp], shape: tuple[int, ...]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return chain and draw of rows that are counted chain by chain."""
    if len(shape) != 2:
        raise ParameterError("X", "have chains and draws", got="rows, located by their indices")
    chains, draws = np.divmod(np.asarray(indices, dtype=np.intp), shape[1])
    return chains, draws


def read_numbers(table: Any, form: str) -> Numbers:
    """Return a table of a known form as numbers; columns of other kinds are refused by name.

    They are float64, short floats float32; a copy only where one is needed.
    """
    if form in _REFUSED:
        rule, got = _REFUSED[form]
        raise ParameterTypeError("X", rule, got=got)
    if form == "dataarray":
        table = table.to_dataset(name="x" if table.name is None else table.name)
    elif form == "tree":
        table = _posterior(table)
    readers: dict[str, Callable[[Any], Numbers]] = {
        "array": _read_array,
        "mapping": _read_mapping,
        "pandas": _read_pandas,
        "polars": _read_polars,
    }
    try:
        values, names, shape = readers.get(form, _read_xarray)(table)
        narrow = values.dtype.kind == "f" and values.dtype.itemsize <= 4
        return values.astype(np.float32 if narrow else np.float64, copy=False), names, shape
    except OverflowError as error:
        raise ParameterError("X", f"hold numbers of ordinary size, got: {error}") from None


def read_mixed(table: Any, form: str) -> tuple[Numbers, Labels]:
    """Return a table as numbers, with an indicator for each category, and the categories.

    Columns of frames and mappings may hold dates, which are days since 1970, text, booleans and
    categories; other forms hold numbers only.
    """
    if form not in ("pandas", "polars", "mapping"):
        return read_numbers(table, form), ()
    table = _with_days(table, form)
    columns = _columns(table, form)
    maybe = {name: values for name, values in columns.items() if _may_be_text(values, form)}
    n = len(next(iter(maybe.values()), ()))
    drop = {"pandas": "drop it with X.drop(columns={})", "polars": "drop it with X.drop({})"}
    found = find_categories(maybe, n, drop.get(form, "leave it out of the mapping"))
    if not found:
        return read_numbers(table, form), ()
    keep = [j for j, name in enumerate(columns) if name not in found]
    if form == "mapping":
        rest: Any = {name: values for name, values in columns.items() if name not in found}
    else:
        rest = table.iloc[:, keep] if form == "pandas" else table[:, keep]
    numbers, _, shape = read_numbers(rest, form) if keep else (np.empty((n, 0)), (), (n,))
    lengths = {shape, *((len(column.index),) for column in found.values())}
    if len(lengths) > 1:
        raise ParameterError("X", "have columns of one length", got=f"lengths {sorted(lengths)}")
    coded = {name: sorted_codes(column.labels, column.index) for name, column in found.items()}
    labels = tuple(coded[name][0] if name in coded else None for name in columns)
    codes = [coded[name][1] for name in columns if name in coded]
    return (place_indicators(numbers, labels, codes), tuple(columns), shape), labels


def _columns(table: Any, form: str) -> dict[str, Any]:
    """Return the columns of a frame or a mapping by name."""
    if form == "pandas":
        return {name: table.iloc[:, j] for j, name in enumerate(_pandas_names(table))}
    if form == "polars":
        return {name: table[name] for name in table.columns}
    return {str(name): plain_array(values, "X") for name, values in table.items()}


def _with_days(table: Any, form: str) -> Any:
    """Return a frame or a mapping with days in place of dates."""
    read = {name: read_days(values) for name, values in _columns(table, form).items()}
    days = {name: values for name, values in read.items() if values is not None}
    if not days:
        return table
    if form == "mapping":
        return {str(name): days.get(str(name), values) for name, values in table.items()}
    if form == "polars":
        return table.with_columns(**days)
    copy = table.copy(deep=False)  # whose columns can be replaced
    for j, name in enumerate(read):
        if name in days:
            copy.isetitem(j, days[name])
    return copy


def _may_be_text(values: Any, form: str) -> bool:
    """Whether a column is no series of numbers or dates."""
    if form == "polars":
        return str(values.dtype).partition("(")[0] in ("Boolean", "String", "Categorical", "Enum")
    return values.ndim == 1 and getattr(values.dtype, "kind", "O") in "bOUS"


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
    if form == "tree":
        return _take_groups(table, indices, shape)
    if form in ("dataarray", "dataset"):
        return _take_draws(table, indices, shape)
    if form == "mapping":
        return {name: take_rows(values, indices, shape) for name, values in table.items()}
    if form == "lazy":
        raise ParameterTypeError("table", "be a frame in memory", got="a lazy one: collect() it")
    if form == "array":
        try:
            table = np.asanyarray(table)
        except ValueError as error:
            raise ParameterError("table", "have rows of one length", got=str(error)) from None
    if form == "array" and len(shape) == 2 and table.shape[:2] == shape:
        rows = table[locate(indices, shape)]
    elif table.shape[:1] != (n,):
        raise ParameterError("table", f"have {n:,} rows, as X has", got=f"shape {table.shape}")
    elif form == "sparse":
        rows = sound_sparse(table, "table").tocsr()[indices]
    else:
        try:
            rows = table.iloc[indices] if hasattr(table, "iloc") else table[indices]
        except ValueError as error:  # pandas takes no rows of numbers in another byte order
            raise ParameterError("table", "be one to take rows of", got=str(error)) from None
    return np.asarray(rows) if isinstance(rows, np.memmap) else rows


def _take_draws(data: Any, indices: NDArray[np.intp], shape: tuple[int, ...]) -> Any:
    """Take draws of an xarray object along one new dimension, ``sample``."""
    import xarray as xr

    places = _places(data, indices, shape)
    if len(places) == 1:
        return data.isel(places)
    picked = data.isel({dim: xr.DataArray(at, dims="sample") for dim, at in places.items()})
    bare = {dim: ("sample", at) for dim, at in places.items() if dim not in picked.coords}
    return picked.assign_coords(bare).transpose("sample", ...)


def _take_groups(tree: Any, indices: NDArray[np.intp], shape: tuple[int, ...]) -> Any:
    """Take draws of an ArviZ object: one chain in each group that has them, other groups whole."""
    if not hasattr(tree, "subtree"):  # InferenceData, a mapping
        groups = {name: _take_group(tree[name], name, indices, shape) for name in tree}
        return type(tree)(attrs=tree.attrs, **groups)
    root = tree.path.rstrip("/")
    parts = {node.path[len(root) :] or "/": node for node in tree.subtree}
    groups = {
        path: _take_group(node.to_dataset(), node.name or "", indices, shape)
        for path, node in parts.items()
    }
    return type(tree).from_dict(groups, name=tree.name)


def _take_group(data: Any, name: str, indices: NDArray[np.intp], shape: tuple[int, ...]) -> Any:
    """Take draws of one group as chain 0 and draws 0, 1, ...; where they were are coordinates."""
    import xarray as xr

    if not {"chain", "draw"} <= set(data.dims) or _OTHER_DRAWS.match(name):
        return data
    places = _places(data, indices, shape)
    before = {dim: f"original_{dim}" for dim in places}
    at = {
        before[dim]: xr.DataArray([rows], dims=("chain", "draw")) for dim, rows in places.items()
    }
    picked = data.rename(before).isel(at)
    bare = {dim: rows for dim, rows in at.items() if dim not in picked.coords}
    draws = {"chain": [0], "draw": np.arange(len(indices))}
    return picked.assign_coords(bare | draws).transpose("chain", "draw", ...)


def _places(
    data: Any, indices: NDArray[np.intp], shape: tuple[int, ...]
) -> dict[str, NDArray[np.intp]]:
    """Return where rows are in an xarray object that is aligned with the sample, by dimension."""
    lead = _leading(data.dims)
    sizes = tuple(int(data.sizes[dim]) for dim in lead)
    apart = len(lead) == len(shape) == 2 and sizes != shape
    if not lead or apart or math.prod(sizes) != math.prod(shape):
        found = dict(data.sizes)
        raise ParameterError("table", f"have the chains and draws of X, {shape}", found)
    at = (indices,) if len(lead) == 1 else locate(indices, sizes)
    return dict(zip(lead, at, strict=True))


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
            "X", "have no masked values", got=f"{n}; drop these rows or fill them"
        )
    values = plain_array(table, "X")
    if values.dtype.names:
        remedy = "numpy.lib.recfunctions.structured_to_unstructured flattens it"
        raise ParameterTypeError("X", "be a plain 2-D array", got=f"a structured one: {remedy}")
    if values.ndim == 0:
        raise ParameterTypeError("X", "be an array, a frame or draws", got=type(table).__name__)
    if values.ndim == 1:
        remedy = "Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row"
        raise ParameterError("X", "be 2-D, rows by columns", got=f"shape {values.shape}. {remedy}")
    if values.dtype.kind == "c":
        raise ParameterTypeError("X", "be real", got="others: Complex data not supported")
    shape = values.shape[: 1 if values.ndim == 2 else 2]
    rest = values.shape[len(shape) :]
    names = [f"x{j}" for j in range(rest[0])] if len(rest) == 1 else _cells("x", map(range, rest))
    flat = values.reshape(math.prod(shape), math.prod(rest))
    if flat.dtype.kind not in "biuf":
        kinds = map(_odd_kind, flat.T)
        _require_numbers(names, kinds, "leave them out, or encode them as numbers")
    return flat, tuple(names), shape


def _read_mapping(table: Mapping[Any, Any]) -> Numbers:
    arrays = {str(name): plain_array(values, "X") for name, values in table.items()}
    shapes = {values.shape[:2] if values.ndim > 1 else values.shape for values in arrays.values()}
    if len(shapes) != 1 or shapes == {()}:
        found = {name: values.shape for name, values in arrays.items()}
        rule = "hold arrays of shape (chain, draw, ...), or columns of one length"
        raise ParameterError("X", rule, found)
    shape = shapes.pop()
    parts = []
    for name, values in arrays.items():
        rest = values.shape[len(shape) :]
        flat = values.reshape(math.prod(shape), math.prod(rest))
        parts.append((name, _cells(name, map(range, rest)), flat))
    return _join(parts, shape, "leave them out of the mapping, or encode them as numbers")


def _read_xarray(data: Any) -> Numbers:
    """Read a Dataset: one column for every variable and every cell of its other dimensions."""
    named = {str(name): variable for name, variable in data.data_vars.items()}
    leads = {name: _leading(variable.dims) for name, variable in named.items()}
    lead = next((found for found in leads.values() if found), ())
    other = [name for name, found in leads.items() if found != lead or not found]
    if other:
        dims = {name: tuple(named[name].dims) for name in other[:3]}
        remedy = f"drop these with X.drop_vars({other[:3]}), or rename their dimensions"
        rule = "have the dimensions chain and draw in every variable"
        raise ParameterError("X", rule, got=f"{dims}; {remedy}")
    parts = []
    for name, variable in named.items():
        variable = variable.transpose(*lead, ...)
        rest = variable.dims[len(lead) :]
        names = _cells(name, [variable[dim].values for dim in rest])  # indices if it has none
        parts.append((name, names, variable.values.reshape(-1, len(names))))
    shape = tuple(int(data.sizes[dim]) for dim in lead)
    return _join(parts, shape, "drop them with X.drop_vars({}), or encode them as numbers")


def _cells(name: str, labels: Iterable[Iterable[Any]]) -> list[str]:
    """Return the names of the cells of an array: ``theta``, ``theta[0]``, ``theta[0, 1]``."""
    cells = list(itertools.product(*labels))
    return [f"{name}[{', '.join(map(str, cell))}]" for cell in cells] if cells != [()] else [name]


def _join(
    parts: Sequence[tuple[str, Sequence[str], NDArray[Any]]], shape: tuple[int, ...], remedy: str
) -> Numbers:
    columns, cells, tables = zip(*parts, strict=True)
    _require_numbers(columns, map(_odd_kind, tables), remedy)
    blocks = [table if table.dtype.kind == "f" else table.astype(np.float64) for table in tables]
    values = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
    return values, tuple(itertools.chain.from_iterable(cells)), shape


def _pandas_names(frame: Any) -> tuple[str, ...]:
    labels = [label if isinstance(label, tuple) else (label,) for label in frame.columns]
    names = tuple(".".join(map(str, label)) for label in labels)
    if len(set(names)) < len(names):
        raise ParameterError("X", "have unique column names", got=f"{repeated(names)!r} twice")
    return names


def _read_pandas(frame: Any) -> Numbers:
    names = _pandas_names(frame)
    dtypes = list(frame.dtypes)
    kinds = ["" if getattr(t, "kind", "O") in "biuf" else str(t) for t in dtypes]
    remedy = "drop them with X.drop(columns={}), or encode them as numbers"
    _require_numbers(names, kinds, remedy)
    if dtypes and dtypes == dtypes[:1] * len(dtypes) and isinstance(dtypes[0], np.dtype):
        return frame.to_numpy(), names, (len(frame),)
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

    plain = [t.is_numeric() or t in (pl.Boolean, pl.Null) for t in frame.dtypes]
    kinds = ["" if known else str(t) for t, known in zip(frame.dtypes, plain, strict=True)]
    _require_numbers(frame.columns, kinds, "drop them with X.drop({}), or encode them as numbers")
    narrow = all(t == pl.Float32 for t in frame.dtypes)
    values = frame.cast(pl.Float32 if narrow else pl.Float64).to_numpy()
    return values, tuple(frame.columns), (frame.height,)


def _odd_kind(values: NDArray[Any]) -> str:
    """Return what a column holds that is not numbers, "" if it holds numbers."""
    kind, numbers = values.dtype.kind, (Real, np.bool_, type(None))
    if kind in "biuf" or (kind == "O" and all(isinstance(item, numbers) for item in values.flat)):
        return ""
    return _KINDS.get(kind, str(values.dtype))


def _require_numbers(names: Iterable[str], kinds: Iterable[str], remedy: str) -> None:
    """Refuse columns with a kind other than ""; the remedy has {} for the list of their names."""
    odd = {name: kind for name, kind in zip(names, kinds, strict=True) if kind}
    if odd:
        shown = [f"{kind} in {name!r}" for name, kind in odd.items()]
        more = f" and in {len(odd) - 5} more columns" if len(odd) > 5 else ""
        found = f"{', '.join(shown[:5])}{more}; {remedy.format(list(odd))}"
        raise ParameterError("X", "have columns of numbers only", got=found)
