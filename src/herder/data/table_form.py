"""The form a table came in, so that samples can be returned in the same form."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._validation import form_of, plain_array
from herder.data.columns import named_columns
from herder.data.decoding import Decoder

__all__ = ["TableForm", "read_form"]


@dataclass(frozen=True, slots=True)
class TableForm:
    """What kind of table: ``"array"``, ``"sparse"``, ``"mapping"``, ``"pandas"``, ``"polars"``.

    Parameters
    ----------
    kind : str
        One of the above.
    names : tuple of str
        Column names, empty when the table had none.
    dtype : numpy dtype, optional
        Of an array or sparse matrix.
    schema : object, optional
        Column dtypes of a frame.
    labels : sequence, optional
        Column labels of a pandas frame, which need not be text.

    Attributes
    ----------
    named : bool
        Whether the columns had names, all of them text.
    """

    kind: str
    names: tuple[str, ...] = ()
    dtype: Any = None
    schema: Any = None
    labels: Any = None
    named: bool = field(init=False)

    def __post_init__(self) -> None:
        texts = self.labels is None or all(isinstance(label, str) for label in self.labels)
        object.__setattr__(self, "named", bool(self.names) and texts)

    def build(self, codes: NDArray[np.integer], decoder: Decoder) -> Any:
        """Return a table of this form from the next codes."""
        if self.kind == "sparse":
            from scipy.sparse import csr_matrix

            return csr_matrix(codes, dtype=self.dtype)
        columns = decoder.columns(codes)
        if self.kind == "mapping":
            return columns
        binned = {v.name for v in decoder.variables if v.edges is not None}
        if self.kind == "array":
            dtype = np.result_type(self.dtype, *(columns[name].dtype for name in binned))
            return np.column_stack([c.astype(dtype) for c in columns.values()])
        if self.kind == "pandas":
            import pandas as pd

            frame = pd.DataFrame(columns)
            kept = {n: t for n, t in self.schema.items() if _keeps(frame[n], t)}
            return frame.astype(kept).set_axis(self.labels, axis="columns")
        import polars as pl

        frame = pl.DataFrame({n: pl.Series(n, column.tolist()) for n, column in columns.items()})
        odd = {n for n in binned if self.schema[n].is_integer() and not _is_whole(columns[n])}
        kept = {n: t for n, t in self.schema.items() if t != pl.Null and n not in odd}
        return frame.cast(kept, strict=False)

    def rows(self, codes: NDArray[np.integer], decoder: Decoder) -> Iterator[Any]:
        """Yield rows one by one: arrays for an array, else mappings of column to label."""
        if self.kind in ("array", "sparse"):
            yield from TableForm("array", dtype=self.dtype).build(codes, decoder)
            return
        columns = decoder.columns(codes)
        for r in range(len(codes)):
            yield {name: column[r] for name, column in columns.items()}


def read_form(X: Any) -> TableForm:
    """Return the form of a table, without reading its rows."""
    form = form_of(X)
    if form == "sparse":
        return TableForm("sparse", dtype=X.dtype)
    named = named_columns(X)
    if named is None:
        return TableForm("array", dtype=plain_array(X, "X", "be a table").dtype)
    if form not in ("pandas", "polars"):
        return TableForm("mapping", named[0])
    schema = dict(zip(named[0], X.dtypes, strict=True))
    return TableForm(form, named[0], schema=schema, labels=X.columns)


def _is_whole(column: NDArray[Any]) -> bool:
    """Return whether numbers can be integers: the means of bins, of older files, need not be."""
    return column.dtype.kind != "f" or bool((np.isnan(column) | (column == np.rint(column))).all())


def _keeps(column: Any, dtype: Any) -> bool:
    """Return whether a decoded pandas column may take its old dtype: binned integers may not."""
    kind = getattr(dtype, "kind", "O")
    if kind not in "iub" or column.dtype.kind != "f":
        return True
    present = column.dropna()
    nullable = hasattr(dtype, "na_value")
    return bool((nullable or len(present) == len(column)) and (present == present.round()).all())
