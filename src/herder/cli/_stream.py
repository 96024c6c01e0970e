"""Labelled rows from one or more files, or from the standard input, in batches."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from herder._errors import ParameterError
from herder.cli._batch import Batch, Faults, counted
from herder.cli._border import heed_signals
from herder.cli._columns import Columns, Table, read_columns
from herder.cli._csv_lines import open_csv_lines
from herder.cli._svmlight import STDIN, SVMLIGHT_SUFFIXES, is_svmlight, read_svmlight
from herder.data import open_table

__all__ = ["TABLE_SUFFIXES", "Facts", "Input", "Stream", "open_stream"]

TABLE_SUFFIXES = (".csv", ".npy", ".npz", ".parquet")

#: A file with more different labels than this holds measurements, not classes.
MAX_CLASSES = 10_000


@dataclass(frozen=True)
class Input:
    """How rows become features; kept with the model.

    Parameters
    ----------
    columns : Columns or None
        Of a table; None for svmlight lines, whose indices are the features.
    normalise : bool
        Whether every row is divided by its length.
    """

    columns: Columns | None = None
    normalise: bool = False

    def to_json(self) -> dict[str, Any]:
        """Give a plain form."""
        columns = None if self.columns is None else self.columns.to_json()
        return {"columns": columns, "normalise": self.normalise}

    @classmethod
    def of_model(cls, path: Path, meta: Mapping[str, Any]) -> "Input | None":
        """Take what was kept with a model; None if it was saved from Python."""
        if "input" not in meta:
            return None
        try:
            columns = meta["input"]["columns"]
            kept = None if columns is None else Columns.from_json(columns)
            return cls(kept, bool(meta["input"]["normalise"]))
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"{path} must say how its rows became features, got {meta['input']!r}"
            ) from error


@dataclass
class Facts:
    """What a first look at all rows tells.

    Parameters
    ----------
    n_rows, n_values : int
        Rows, and values other than zero.
    width : int
        Features.
    labels : Counter
        How often each label occurs, as written.
    """

    n_rows: int = 0
    n_values: int = 0
    width: int = 0
    labels: Counter[str] = field(default_factory=Counter)

    def add(self, batch: Batch) -> None:
        """Count a batch."""
        self.n_rows += len(batch)
        self.n_values += batch.X.nnz if hasattr(batch.X, "nnz") else batch.X.size
        self.width = max(self.width, batch.X.shape[1])
        counts = np.bincount(batch.codes[batch.codes >= 0], minlength=len(batch.names))
        for name, count in zip(batch.names, counts.tolist(), strict=True):
            if count:
                self.labels[name] += count
        if len(self.labels) > MAX_CLASSES:
            examples = ", ".join(list(self.labels)[:4])
            raise ValueError(
                f"labels must be at most {MAX_CLASSES:,} classes, got more by "
                f"{batch.place(-1)}: {examples}, ...; herder learn tells classes apart"
            )


@dataclass(frozen=True)
class Stream:
    """Files of one kind, read one after the other.

    Parameters
    ----------
    paths : sequence of Path
        The files.
    tables : sequence of TableSource or CsvLines
        The same, opened, if they are tables.
    input : Input
        How rows become features.
    weight : str or None
        Column of weights.
    need_label : bool
        Whether rows without a label are broken.
    n_features : int or None
        Rows of svmlight with an index from here on are broken.
    """

    paths: Sequence[Path]
    tables: Sequence[Table] = ()
    input: Input = Input()
    weight: str | None = None
    need_label: bool = True
    n_features: int | None = None

    @property
    def can_repeat(self) -> bool:
        """Whether the rows can be read again."""
        return all(path.is_file() for path in self.paths)

    @property
    def size(self) -> int | None:
        """All there is to read, in the measure of ``Batch.done``."""
        if self.tables:
            return sum(source.n_rows or 0 for source in self.tables)
        return sum(path.stat().st_size for path in self.paths) if self.can_repeat else None

    def batches(self, faults: Faults, *, features: bool = True) -> Iterator[Batch]:
        """Yield all rows; without ``features`` those of tables have no hashed ones."""
        before = 0
        for k, path in enumerate(self.paths):
            done, columns = 0, self.input.columns
            if columns is None:
                batches = read_svmlight(
                    path, faults, need_label=self.need_label, n_features=self.n_features
                )
            else:
                batches = read_columns(
                    self.tables[k],
                    columns,
                    faults,
                    weight=self.weight,
                    need_label=self.need_label,
                    hashed=features,
                )
            for batch in batches:
                heed_signals()
                done = batch.done
                batch = replace(batch, done=before + done)
                yield _normalised(batch) if features and self.input.normalise else batch
            before += done

    def scan(self, faults: Faults, progress: Progress) -> Facts:
        """Read all rows once, to know them before anything is learnt."""
        facts = Facts()
        task = progress.add_task("reading", total=self.size, note="")
        for batch in self.batches(faults, features=False):
            facts.add(batch)
            progress.update(task, completed=batch.done, note=counted(facts.n_rows, "row"))
        if self.input.columns is not None:
            facts.width = self.input.columns.width
        self.require_rows(facts.n_rows, faults)
        return facts

    def require_rows(self, n_rows: int, faults: Faults) -> None:
        """Refuse to go on with nothing."""
        if not n_rows:
            found = f"{counted(faults.count, 'broken line')}, the first: {faults.first}"
            names = ", ".join(str(path) for path in self.paths)
            raise ValueError(f"{names} must hold rows, got {found if faults.count else 'none'}")


def open_stream(
    paths: Sequence[Path], *, role: str = "path", skip_broken: bool = False, **options: Any
) -> Stream:
    """Open files of svmlight lines or tables.

    Parameters
    ----------
    paths : sequence of Path
        The files.
    role : str
        What they are called if they cannot be read.
    skip_broken : bool
        Whether rows of a csv file may have too few or too many fields; they are left out then.
    **options
        Of `Stream`.
    """
    kinds = set()
    for path in paths:
        if path != STDIN and not path.exists():
            raise FileNotFoundError(f"{role} must name a file that exists, got {str(path)!r}")
        if path.is_dir():
            raise ParameterError(role, "name a file", got=f"the folder {str(path)!r}")
        if not is_svmlight(path) and path.suffix.lower() not in TABLE_SUFFIXES:
            known = ", ".join([*SVMLIGHT_SUFFIXES, *TABLE_SUFFIXES])
            raise ParameterError(
                role, f"end in one of {known} (svmlight also with .gz)", str(path)
            )
        kinds.add(is_svmlight(path))
    if len(kinds) > 1:
        names = ", ".join(str(path) for path in paths)
        raise ValueError(f"files must be all svmlight or all tables, got {names}")
    if [str(path) for path in paths].count("-") > 1:
        raise ValueError("files must name the standard input once, got - twice")
    tables = () if kinds == {True} else tuple(_opened(path, skip_broken) for path in paths)
    return Stream(paths, tables, **options)


def _opened(path: Path, skip_broken: bool) -> Table:
    if path.suffix.lower() == ".csv":
        return open_csv_lines(path, skip_broken=skip_broken)
    return open_table(path)


def _normalised(batch: Batch) -> Batch:
    from sklearn.preprocessing import normalize

    return replace(batch, X=normalize(batch.X))
