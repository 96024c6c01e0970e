"""Labelled rows from one or more files, or from the standard input, in batches."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from herder._errors import ParameterError
from herder._validation import require_memory
from herder.core.lanes import Progress
from herder.core.plain import read_record
from herder.core.state import ModelFileError
from herder.core.summary import counted
from herder.data.batches import Batch, join_batches
from herder.data.broken import BrokenRows
from herder.data.features import FeatureColumns, read_features
from herder.data.source import TableSource, file_stamp, require_unchanged, silent
from herder.data.svmlight import STDIN, read_svmlight
from herder.data.tables import TABLE_SUFFIXES, open_table

__all__ = ["InputSpec", "LabelledFiles", "LabelledScan", "open_labelled"]

SVMLIGHT_SUFFIXES = (".svm", ".svmlight", ".libsvm", ".txt")

#: A file with more different labels than this holds measurements, not classes.
MAX_CLASSES = 10_000

#: Words of a model file share at most 2 to this power features, as `herder learn` allows.
MAX_HASH_BITS = 30


@dataclass(frozen=True)
class InputSpec:
    """How rows become features; kept with the model.

    Parameters
    ----------
    columns : FeatureColumns or None
        Of a table; None for svmlight lines, whose indices are the features.
    normalise : bool
        Whether every row is divided by its length.
    """

    columns: FeatureColumns | None = None
    normalise: bool = False

    @classmethod
    def of_model(cls, path: Path, meta: Mapping[str, Any]) -> "InputSpec | None":
        """Return what was kept with a model; None if it was saved from Python."""
        if "input" not in meta:
            return None
        try:
            found = read_record(cls, meta["input"])
            if found.columns is not None and not 0 < found.columns.hash_bits <= MAX_HASH_BITS:
                raise ValueError(f"hash_bits = {found.columns.hash_bits}")
            return found
        except ValueError as error:
            raise ModelFileError(
                f"{path} must say how rows become features, got {error}"
            ) from error

    def for_files(
        self, files: "LabelledFiles", role: str, path: Path, label: str | None
    ) -> "InputSpec":
        """Return how rows of files become features, if they are such as a model learnt from.

        Parameters
        ----------
        files : LabelledFiles
            The rows.
        role : str
            What they are called if they are of the other kind.
        path : Path
            The file of the model.
        label : str or None
            Column of labels, if it is another one.
        """
        if self.columns is None and files.tables:
            raise ParameterError(role, f"be svmlight lines, as for {path}", got="a table")
        if self.columns is not None and not files.tables:
            raise ParameterError(role, f"be a table, which {path} learnt from", got="lines")
        if self.columns is None or label is None:
            return self
        return replace(self, columns=replace(self.columns, label=label))


@dataclass(frozen=True)
class LabelledScan:
    """What a first look at all rows finds.

    Parameters
    ----------
    n_rows : int
        Rows.
    width : int
        Features.
    labels : Counter
        How often each label occurs, as written.
    """

    n_rows: int
    width: int
    labels: Counter[str]


@dataclass(frozen=True)
class LabelledFiles:
    """Files of one kind, read one after the other.

    Parameters
    ----------
    paths : sequence of Path
        The files.
    tables : sequence of TableSource
        The same, opened, if they are tables.
    input : InputSpec
        How rows become features.
    weight : str or None
        Column of weights.
    need_label : bool
        Whether rows without a label are broken.
    n_features : int or None
        Rows of svmlight with an index from here on are broken.
    stamps : mapping of Path to tuple of int
        Size and time of files of svmlight lines when they were opened; a pipe has none.
    """

    paths: Sequence[Path]
    tables: Sequence[TableSource] = ()
    input: InputSpec = InputSpec()
    weight: str | None = None
    need_label: bool = True
    n_features: int | None = None
    stamps: Mapping[Path, tuple[int, int]] = field(default_factory=dict)

    @property
    def can_repeat(self) -> bool:
        """Whether the rows can be read again."""
        return all(path.is_file() for path in self.paths)

    @property
    def size(self) -> int | None:
        """All there is to read, in the measure of ``Batch.done``."""
        if self.tables:
            return sum(source.n_rows for source in self.tables)
        return sum(path.stat().st_size for path in self.paths) if self.can_repeat else None

    def batches(self, broken: BrokenRows, *, features: bool = True) -> Iterator[Batch]:
        """Yield all rows; without ``features`` those of tables have no hashed ones."""
        before = 0
        columns, need_label = self.input.columns, self.need_label
        for k, path in enumerate(self.paths):
            if columns is None:
                batches = read_svmlight(
                    path, broken, need_label=need_label, n_features=self.n_features
                )
            else:
                options: Any = {"weight": self.weight, "need_label": need_label}
                batches = read_features(
                    self.tables[k], columns, broken, hashed=features, **options
                )
            done = 0
            require_unchanged(path, self.stamps.get(path))
            for batch in batches:
                done = batch.done
                batch = replace(batch, done=before + done)
                yield _normalised(batch) if features and self.input.normalise else batch
            require_unchanged(path, self.stamps.get(path))
            before += done

    def scan(self, broken: BrokenRows, progress: Progress = silent) -> LabelledScan:
        """Read all rows once, to know them before anything is learnt."""
        size, n_rows, width = max(self.size or 0, 1), 0, 0
        labels: Counter[str] = Counter()
        for batch in self.batches(broken, features=False):
            n_rows += len(batch.codes)
            width = max(width, batch.X.shape[1])
            counts = np.bincount(batch.codes[batch.codes >= 0], minlength=len(batch.names))
            for name, count in zip(batch.names, counts.tolist(), strict=True):
                if count:
                    labels[name] += count
            if len(labels) > MAX_CLASSES:
                examples = ", ".join(list(labels)[:4])
                raise ValueError(
                    f"labels must be at most {MAX_CLASSES:,} classes, got more by "
                    f"{batch.place(-1)}: {examples}, ..., which seem to be measurements"
                )
            progress(batch.done / size, f"reading, {n_rows:,} rows")
        if not n_rows:
            raise self.no_rows(broken)
        columns = self.input.columns
        return LabelledScan(n_rows, width if columns is None else columns.width, labels)

    def whole(
        self, broken: BrokenRows, max_memory: int, progress: Progress = silent, remedy: str = ""
    ) -> Batch:
        """Read all rows; ``remedy`` is what to do if they do not fit into memory."""
        kept: list[Batch] = []
        for batch in self.batches(broken):
            kept.append(batch)
            # the rows, and once more while they are put together
            needed = 2 * sum(part.nbytes for part in kept)
            require_memory(needed, max_memory, "all rows, which are held in memory", remedy)
            progress(batch.done / (self.size or 1), "reading all rows")
        if not sum(map(len, kept)):
            raise self.no_rows(broken)
        return join_batches(kept)

    def no_rows(self, broken: BrokenRows) -> ValueError:
        """Return the error of files without rows."""
        names, found = ", ".join(map(str, self.paths)), "none"
        if broken.count:
            found = f"{counted(broken.count, 'broken line')}, the first: {broken.first}"
        return ValueError(f"{names} must hold rows, got {found}")


def is_svmlight(path: Path) -> bool:
    """Whether a file is read as svmlight lines, by its name; pipes are."""
    if path == STDIN or path.is_fifo():
        return True
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return name.suffix.lower() in SVMLIGHT_SUFFIXES


def open_labelled(
    paths: Sequence[Path],
    *,
    role: str = "path",
    broken: BrokenRows | None = None,
    max_memory: int | None = None,
    **options: Any,
) -> LabelledFiles:
    """Open files of svmlight lines or tables.

    Parameters
    ----------
    paths : sequence of Path
        The files.
    role : str
        What they are called if they cannot be read.
    broken : BrokenRows, optional
        Says whether rows of a csv file with too few or too many fields are left out; it is not
        changed.
    max_memory : int, optional
        Refuse a table of which one row takes more bytes.
    **options
        Of `LabelledFiles`.
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
    if kinds == {True}:
        stamps = {path: file_stamp(path) for path in paths if path.is_file()}
        return LabelledFiles(paths, stamps=stamps, **options)
    tables = [
        open_table(path, broken=replace(broken or BrokenRows()), max_memory=max_memory)
        for path in paths
    ]
    return LabelledFiles(paths, tables, **options)


def _normalised(batch: Batch) -> Batch:
    from sklearn.preprocessing import normalize

    return replace(batch, X=normalize(batch.X))
