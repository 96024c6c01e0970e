"""Table files, read in chunks and written whole or not at all.

A table file has named columns. The formats hold different kinds of them:

========  ==========================================================================
suffix    columns
========  ==========================================================================
.csv      header required. A column of int64 or float64 where every field is such a
          number in plain form (``007`` is text), else of str; an empty field is
          missing. ``True`` and ``False`` stay text.
.npy      one 2-D array; the columns are ``x0``, ``x1``, ...
.npz      one 2-D array and, if wanted, its ``names``; or 1-D arrays of equal length.
.parquet  flat columns; dictionaries are decoded, dates and decimals become text.
========  ==========================================================================

A missing value is NaN in a float column and None elsewhere (the column is then of objects).
"""

from herder.data.numpy_table import read_array
from herder.data.source import TableSource
from herder.data.tables import check_format, open_table, write_table

__all__ = [
    "TableSource",
    "check_format",
    "open_table",
    "read_array",
    "write_table",
]
