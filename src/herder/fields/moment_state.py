"""States of what a `MomentHerder` holds: moments, labels, and the form of its table.

Labels are kept as JSON has them, dates and bytes as text. Frames come back as frames, with the
dtypes of their columns as far as these have a name.
"""

from collections.abc import Hashable, Sequence
from dataclasses import asdict, astuple
from datetime import date, datetime
from importlib import import_module
from typing import Any

import numpy as np

from herder._errors import ParameterTypeError
from herder.core.plain import (
    POSITIVE,
    Arrays,
    Header,
    read_array,
    read_dtype,
    read_number,
    read_record,
    read_texts,
)
from herder.core.state import State
from herder.data.decoding import Decoder, TableForm
from herder.data.intervals import Interval, as_bins, inner_edges
from herder.data.variables import MAX_VALUES, Variable
from herder.models.consistency import Contradiction
from herder.models.layout import CliqueLayout
from herder.models.moments import Moments

__all__ = ["form_of_plain", "moments_from_state", "moments_to_state", "plain_form"]

#: Labels that JSON does not have: how they are written and read.
WRITTEN: dict[type, Any] = {
    datetime: datetime.isoformat,
    date: date.isoformat,
    bytes: bytes.hex,
    Interval: astuple,
}
READ: dict[str, Any] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "bytes": bytes.fromhex,
    "Interval": lambda plain: Interval(*plain),
}

#: Kinds of dtypes that a column may be decoded to.
KINDS = "biufUSMO"


def moments_to_state(moments: Moments) -> State:
    """Return counts and cliques, and the columns as JSON can hold them."""
    columns = [
        {
            "name": variable.name,
            "values": [_plain_label(value) for value in variable.values],
            "dtype": variable.dtype,
            "edges": variable.edges,
        }
        for variable in moments.variables
    ]
    arrays = {
        "counts": moments.counts,
        "totals": moments.totals,
        "members": moments.layout.members.astype(np.int64),
    }
    conflicts = [asdict(conflict) for conflict in moments.conflicts]
    from_rows = bool(moments.from_rows)
    header = {"variables": columns, "from_rows": from_rows, "conflicts": conflicts}
    return arrays, {**header, "rounding": float(moments.rounding)}


def moments_from_state(arrays: Arrays, header: Header) -> Moments:
    """Make moments of what `moments_to_state` returned."""
    variables = tuple(_variable(plain) for plain in header["variables"])
    width = len(variables)
    totals = read_array(
        arrays, "totals", (None,), low=POSITIVE
    )  # as many as the file has room for
    shape = (len(totals), None)
    members = read_array(arrays, "members", shape, np.int64, low=-1, high=width - 1)
    cliques = tuple(tuple(row[row >= 0].tolist()) for row in members)
    names = [variable.name for variable in variables]
    if not cliques or len(set(names)) != width:
        raise ValueError(f"{len(cliques)} cliques of columns {names}")
    if len(set(cliques)) < len(cliques) or any(not c or sorted({*c}) != [*c] for c in cliques):
        raise ValueError("cliques that are not sets of columns")
    layout = CliqueLayout.of([variable.n_values for variable in variables], cliques)
    counts = read_array(arrays, "counts", (int(layout.offsets[-1]),))
    # of contradictory counts a cell may be below zero: what the counts of ones leave for it
    most = np.repeat(totals * 2.0 ** members.shape[1], np.diff(layout.offsets))
    if (np.abs(counts) > most).any():
        raise ValueError(f"counts from {counts.min()} to {counts.max()} of {totals.max()} rows")
    return Moments(
        variables,
        cliques,
        counts,
        totals,
        read_number(header, "from_rows", bool),
        tuple(read_record(Contradiction, plain) for plain in header["conflicts"]),
        read_number({"rounding": 0.0, **header}, "rounding", float),
    )


def _variable(plain: Header) -> Variable:
    values = tuple(_label(value) for value in plain["values"])
    edges = plain["edges"]
    dtype = str(plain["dtype"])
    is_wide = np.dtype(dtype).kind in "US" and np.dtype(dtype).itemsize > 0  # texts: "str"
    if not isinstance(plain["name"], str) or np.dtype(dtype).kind not in KINDS or is_wide:
        raise ValueError(f"a column {plain['name']!r} of {dtype!r}")
    if not 0 < len(set(values)) == len(values) <= MAX_VALUES:
        raise ValueError(f"{len(values)} values of {plain['name']!r}, not all of them different")
    if edges is not None:
        cuts = np.array(edges, np.float64)
        if cuts.ndim != 1 or len(cuts) + 1 + (None in values) != len(values):
            raise ValueError(f"{len(edges)} edges of {plain['name']!r}")
        if not np.isfinite(cuts).all() or not (np.diff(cuts) > 0).all():
            raise ValueError(f"edges of {plain['name']!r} that are not in order")
        edges = tuple(cuts.tolist())
    labels = tuple(value for value in values if value is not None)
    is_binned = any(isinstance(label, Interval) for label in labels)
    if is_binned and (as_bins(labels, plain["name"]), inner_edges(labels)) != (labels, edges):
        raise ValueError(f"bins of {plain['name']!r} that are not in order")
    return Variable(plain["name"], values, dtype, edges)


def _plain_label(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) not in WRITTEN:
        kind = type(value).__name__
        raise ParameterTypeError("X", "hold numbers, texts and dates to be saved", got=kind)
    return {type(value).__name__: WRITTEN[type(value)](value)}


def _label(plain: Any) -> Hashable:
    if isinstance(plain, dict):
        ((kind, text),) = plain.items()
        return READ[kind](text)
    if plain is not None and type(plain) not in (bool, int, float, str):
        raise ValueError(f"the label {plain!r}")
    return plain


def plain_form(form: TableForm) -> Header:
    """Return the form of a table as JSON can hold it."""
    schema = form.schema and {n: _plain_dtype(form.kind, kind) for n, kind in form.schema.items()}
    labels = form.labels.tolist() if form.kind == "pandas" else None
    return {
        "kind": form.kind,
        "names": list(form.names),
        "dtype": None if form.dtype is None else np.dtype(form.dtype).str,
        "schema": schema,
        "labels": labels and [_plain_label(label) for label in labels],
    }


def form_of_plain(plain: Header, variables: Sequence[Variable]) -> TableForm:
    """Make the form that `plain_form` described; it must be one that rows can come back in."""
    form = _form(plain, variables)
    n_values = [variable.n_values for variable in variables]
    form.build(np.arange(max(n_values))[:, None] % n_values, Decoder(variables))
    return form


def _form(plain: Header, variables: Sequence[Variable]) -> TableForm:
    kind, names = plain["kind"], tuple(read_texts(plain["names"], "names"))
    width = len(variables)
    if kind in ("array", "sparse"):
        labels = [label for variable in variables for label in variable.values]
        return TableForm(kind, dtype=read_dtype(plain["dtype"], KINDS, labels))
    if len(names) != width:
        raise ValueError(f"{len(names)} names of {width} columns")
    if kind == "mapping":
        return TableForm(kind, names)
    if kind not in ("pandas", "polars") or plain["schema"].keys() != set(names):
        raise ValueError(f"a table of the form {kind!r}")
    frames: Any = import_module(kind)
    schema = {name: _dtype(kind, plain["schema"][name]) for name in names}
    labels = names if plain["labels"] is None else [_label(label) for label in plain["labels"]]
    if len(labels) != width:
        raise ValueError(f"{len(labels)} labels of {width} columns")
    index = frames.Index(labels) if kind == "pandas" else list(labels)
    return TableForm(kind, names, schema=schema, labels=index)


def _plain_dtype(kind: str, dtype: Any) -> Any:
    """Return the dtype of a column of a frame by its name, or by its categories."""
    if type(dtype).__name__ in ("CategoricalDtype", "Enum"):
        categories = dtype.categories
        values = None if categories is None else [_plain_label(v) for v in categories.to_list()]
        return {"categories": values, "ordered": bool(getattr(dtype, "ordered", False))}
    if _dtype(kind, str(dtype)) != dtype:
        raise ParameterTypeError("X", "have columns of plain dtypes to be saved", got=str(dtype))
    return str(dtype)


def _dtype(kind: str, plain: Any) -> Any:
    frames: Any = import_module(kind)
    if isinstance(plain, str):
        if kind == "pandas":
            return frames.api.types.pandas_dtype(plain)
        found = getattr(frames, plain, None)
        if not (isinstance(found, type) and issubclass(found, frames.DataType)):
            raise ParameterTypeError("X", "have columns of plain dtypes to be saved", got=plain)
        return found
    categories = plain["categories"]
    values = None if categories is None else [_label(value) for value in categories]
    if kind == "pandas":
        return frames.CategoricalDtype(values, ordered=plain["ordered"])
    return frames.Enum(values)
