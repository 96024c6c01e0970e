"""A sample in a file: its numbers in memory, the other columns read again.

Columns that distances are taken over are read once. All columns of the chosen rows are read
again at the end, so that text and labels come along and nothing else is kept in memory.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, with_nearest
from herder.core.lanes import Progress
from herder.core.summary import listed
from herder.data.categories import Labels, most_categories, place_indicators, sorted_codes
from herder.data.dates import text_days
from herder.data.numerals import as_floats
from herder.data.numpy_table import read_array
from herder.data.rows import Rows, require_finite
from herder.data.source import Chunk, TableSource, require_room, silent
from herder.data.tables import open_table

__all__ = ["Roles", "Sample", "read_sample", "read_scores", "split_names"]

#: Bytes of one chunk while a file is read, and its share of a memory limit at most.
CHUNK_BYTES, CHUNK_SHARE = 32 * 2**20, 16

#: Rows that a trial of the output's format is made of, besides those with gaps.
N_TRIAL = 4


@dataclass(frozen=True)
class Roles:
    """What columns are for; the rest is used for distances.

    Parameters
    ----------
    columns : sequence of str
        Use only these; all when empty.
    drop : sequence of str
        Carry these along.
    label : str or None
        Column of labels.
    weight : str or None
        Column of weights, or of their logarithms.
    """

    columns: Sequence[str] = ()
    drop: Sequence[str] = ()
    label: str | None = None
    weight: str | None = None

    def used(self, path: Path, names: Sequence[str]) -> list[str]:
        """Return the columns that distances are taken over."""
        kept = split_names(self.columns, names, "columns", path)
        aside: dict[str, None] = {}
        for role, texts in {
            "drop": self.drop,
            "label_column": [self.label] if self.label is not None else [],
            "weight column": [self.weight] if self.weight is not None else [],
        }.items():
            found = split_names(texts, names, role, path)
            twice = [name for name in found if name in kept]
            if twice:
                raise ParameterError(role, "name none of the columns to use", twice[0])
            aside |= found
        used = [name for name in kept or names if name not in aside]
        if not used:
            raise ValueError(f"{path} must have a column left to measure distances by, got none")
        return used


@dataclass(frozen=True)
class Sample:
    """A sample as numbers, with a function that reads all columns of chosen rows.

    Parameters
    ----------
    path : Path
        Its file.
    names : sequence of str
        All columns.
    rows : Rows
        Those that distances are taken over, as `herder.thin` takes them: days since 1970 for
        dates, indicators of categories for text.
    labels, weight : ndarray of shape (n,) or None
        Of the rows.
    trial : mapping
        A few rows with all columns, some with the gaps that each column has.
    take : callable
        Returns all columns of the rows of given indices, in that order.
    """

    path: Path
    names: Sequence[str]
    rows: Rows
    labels: NDArray[Any] | None
    weight: NDArray[Any] | None
    trial: Chunk
    take: Callable[[NDArray[np.intp]], Chunk]

    @property
    def values(self) -> NDArray[np.floating]:
        """The numbers of the rows."""
        return self.rows.values


def read_sample(
    path: Path, roles: Roles, progress: Progress = silent, *, max_memory: int | None = None
) -> Sample:
    """Read a file of rows, or of chains and draws; text and booleans are categories, dates days.

    Parameters
    ----------
    path : Path
        The file.
    roles : Roles
        What its columns are for.
    progress : callable, optional
        Called with the share that has been read, and what is being done.
    max_memory : int, optional
        Refuse numbers that take more bytes, before they are read.
    """
    if path.suffix.lower() == ".npy":
        sample = _array_sample(path, roles, max_memory)
        require_finite(sample.rows)
    else:
        progress(0.0, f"opening {path.name}")
        source = open_table(path, max_memory=max_memory)
        progress(1.0, f"opening {path.name}")
        sample = _load_sample(source, roles, progress, max_memory)
        require_finite(sample.rows, source.place)
    return sample


def read_scores(path: Path, sample: Sample, max_memory: int | None = None) -> NDArray[Any]:
    """Read the gradients of the log density at the rows, one for every used column."""
    used = sample.rows.names
    odd = [name for name, own in zip(used, sample.rows.labels, strict=False) if own]
    if odd:
        _refuse_text(sample.path, odd, sample.labels is None)
    if path.suffix.lower() == ".npy":
        array = read_array(path, ndims=(2, 3), max_memory=max_memory)
        values = array.reshape(-1, array.shape[-1])
        names = [f"x{j}" for j in range(values.shape[1])]
    else:
        source = open_table(path, max_memory=max_memory)
        require_room(source.row_bytes * source.n_rows, max_memory, f"the rows of {path}")
        columns = source.whole()
        names, values = list(columns), np.column_stack(list(columns.values()))
    wanted = sample.values.shape
    if set(used) <= set(names):
        values = values[:, _places(used, names)]
    if values.shape != wanted:
        raise ValueError(
            f"{path} must have {wanted[0]:,} rows and a column for each of "
            f"{', '.join(used[:5])}, got shape {values.shape}"
        )
    if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
        raise ValueError(f"{path} must hold finite numbers only")
    return values


def _places(wanted: Sequence[str], names: Sequence[str]) -> list[int]:
    place = {name: j for j, name in enumerate(names)}
    return [place[name] for name in wanted]


def _array_sample(path: Path, roles: Roles, max_memory: int | None) -> Sample:
    array = read_array(path, ndims=(2, 3), max_memory=max_memory)
    shape = array.shape[:-1]
    flat = array.reshape(-1, array.shape[-1])
    names = [f"x{j}" for j in range(flat.shape[1])]
    used = roles.used(path, names)
    if flat.dtype.kind not in "biuf":
        _refuse_text(path, used, roles.label is None)
    dtype = np.dtype(np.float32 if flat.dtype in (np.float16, np.float32) else np.float64)
    part = flat
    if len(used) < len(names) or flat.dtype != dtype:
        size = flat.nbytes + len(flat) * len(used) * dtype.itemsize
        require_room(size, max_memory, f"{len(flat):,} rows of {path}")
        part = flat[:, _places(used, names)].astype(dtype, copy=False)

    def column(name: str | None) -> NDArray[Any] | None:
        return None if name is None else flat[:, names.index(name)].copy()

    def take(indices: NDArray[np.intp]) -> Chunk:
        rows = flat[indices]
        return {name: rows[:, j] for j, name in enumerate(names)}

    rows = Rows(part, tuple(used), shape, "file")
    labels, weight = column(roles.label), column(roles.weight)
    trial = take(np.arange(min(N_TRIAL, len(flat))))
    return Sample(path, names, rows, labels, weight, trial, take)


def _load_sample(
    source: TableSource, roles: Roles, progress: Progress, max_memory: int | None
) -> Sample:
    names, n = list(source.names), source.n_rows
    used = roles.used(source.path, names)
    values: NDArray[Any] = np.empty(0)
    others: dict[str, list[NDArray[Any]]] = {
        name: [] for name in (roles.label, roles.weight) if name is not None
    }
    trial: list[Chunk] = []
    texts: dict[str, _Texts] = {}
    start = 0
    share = CHUNK_BYTES if max_memory is None else max_memory // CHUNK_SHARE
    for chunk in source.chunks(min(CHUNK_BYTES, share)):
        if not start:
            narrow = all(chunk[name].dtype in (np.float32, np.float16) for name in used)
            dtype = np.dtype(np.float32 if narrow else np.float64)
            size = n * len(used) * dtype.itemsize
            require_room(size, max_memory, f"{n:,} rows of {source.path}")
            values = np.empty((n, len(used)), dtype)
        stop = start + len(chunk[names[0]])
        for j, name in enumerate(used):
            if name not in texts and not _has_text(chunk[name]):
                values[start:stop, j] = as_floats(chunk[name], float)
                continue
            known = texts.setdefault(name, _Texts(source.path, name, n))
            known.read(slice(start, stop), chunk[name].tolist())
        for name, parts in others.items():
            parts.append(chunk[name])
        trial += _examples(chunk, first=not start)
        start = stop
        progress(start / n, f"reading {source.path.name}")
    for name in [name for name, known in texts.items() if known.is_dates]:
        values[:, used.index(name)] = texts.pop(name).days
    categories: Labels = ()
    if texts:
        coded = {name: sorted_codes([*known.places], known.codes) for name, known in texts.items()}
        categories = tuple(coded[name][0] if name in coded else None for name in used)
        size = sum(1 if own is None else len(own) for own in categories) * n * values.itemsize
        require_room(values.nbytes + size, max_memory, f"the categories of {source.path}")
        numbers = values[:, [name not in coded for name in used]]
        codes = [coded[name][1] for name in used if name in coded]
        values = place_indicators(numbers, categories, codes)
    rows = Rows(values, tuple(used), (n,), "file", categories)
    kept = {name: np.concatenate(parts) for name, parts in others.items()}
    labels, weight = kept.get(roles.label or ""), kept.get(roles.weight or "")
    examples = {name: np.concatenate([part[name] for part in trial]) for name in names}
    return Sample(source.path, names, rows, labels, weight, examples, source.take)


class _Texts:
    """The categories or the dates of a column while it is read; missing ones are None."""

    def __init__(self, path: Path, name: str, n_rows: int) -> None:
        self.path, self.name, self.most = path, name, most_categories(n_rows)
        self.places: dict[Any, int] = {None: 0}
        self.codes = np.zeros(n_rows, dtype=np.intp)
        self.days, self.is_dates = np.full(n_rows, np.nan), True

    def read(self, rows: slice, items: list[Any]) -> None:
        """Note the category of each row, or its date as long as there are only dates."""
        days = text_days(items) if self.is_dates else None
        self.is_dates = days is not None
        if days is not None:
            self.days[rows] = days
        if len(self.places) <= self.most + 1:  # there are only dates if there are more
            self.codes[rows] = [self.places.setdefault(item, len(self.places)) for item in items]
        if len(self.places) > self.most + 1 and not self.is_dates:
            raise ValueError(
                f"{self.path} must have at most {self.most} categories in a column of text, got "
                f"more in {self.name!r}: pass drop={self.name} to carry it along"
            )


def _has_text(column: NDArray[Any]) -> bool:
    kind = column.dtype.kind
    return kind == "b" or (kind == "O" and any(isinstance(item, str | bool) for item in column))


def _examples(chunk: Chunk, *, first: bool) -> list[Chunk]:
    """Return the first rows of the file, and a row with a gap for each column that has one."""
    rows = list(range(min(N_TRIAL, len(next(iter(chunk.values())))))) if first else []
    for column in chunk.values():
        if column.dtype.kind == "O":
            gap = next((i for i, item in enumerate(column) if item is None), None)
            rows += [] if gap is None else [gap]
    return [{name: column[rows] for name, column in chunk.items()}] if rows else []


def _refuse_text(path: Path, odd: Sequence[str], unlabelled: bool) -> None:
    label = f", or pass label_column={odd[0]}" if unlabelled else ""
    raise ValueError(
        f"{path} must have columns of numbers, got text in {listed([repr(n) for n in odd], 5)}: "
        f"pass drop={','.join(odd)} to carry it along{label}"
    )


def split_names(
    texts: Sequence[str], names: Sequence[str], role: str, path: Path
) -> dict[str, None]:
    """Read names joined by commas, each once; a name that has a comma is given alone."""
    known = set(names)
    found: dict[str, None] = {}
    for text in texts:
        for part in [text] if text in known else map(str.strip, text.split(",")):
            if part not in known:
                rule = f"name columns of {path}, {listed(names, 20)}"
                raise ParameterError(role, rule, got=with_nearest(part, names))
            found[part] = None
    return found
