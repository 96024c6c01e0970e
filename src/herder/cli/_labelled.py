"""What verbs that learn classes share: a model to go on from, labelled rows, the test error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from herder._errors import ParameterError
from herder.cli._verb import Run
from herder.data.broken import BrokenRows
from herder.data.features import FeatureColumns, choose_columns
from herder.data.labelled import InputSpec, LabelledFiles, open_labelled
from herder.data.svmlight import STDIN
from herder.io import read_model
from herder.online.prediction import ErrorCount, Predictor

__all__ = ["StartModel", "error_lines", "open_test", "open_train", "read_start"]


@dataclass(frozen=True)
class StartModel:
    """A model that learns on, or none.

    Parameters
    ----------
    path : Path or None
        Its file.
    model : estimator or None
        The model.
    input : InputSpec or None
        How its rows became features, if that is known.
    """

    path: Path | None = None
    model: Any = None
    input: InputSpec | None = None


def read_start(path: Path | None, kind: type, verb: str) -> StartModel:
    """Read the model of ``--continue``, which must be one of those that a verb learns."""
    if path is None:
        return StartModel()
    if not path.exists():
        raise ParameterError("start", "name a file that exists", str(path))
    model, meta = read_model(path)
    if not isinstance(model, kind):
        got = f"the {type(model).__name__} of {path}"
        raise ParameterError("start", f"name a model of {verb}", got=got)
    return StartModel(path, model, InputSpec.of_model(path, meta))


def open_train(
    run: Run,
    paths: Sequence[Path],
    start: StartModel,
    roles: Mapping[str, Any],
    *,
    normalise: bool = False,
    **options: Any,
) -> LabelledFiles:
    """Open the rows to learn from, and decide what their columns are for.

    Parameters
    ----------
    run : Run
        Refuses options that have no effect.
    paths : sequence of Path
        The files.
    start : StartModel
        Its columns are used again.
    roles : mapping
        Arguments of `choose_columns`.
    normalise : bool
        Whether every row is divided by its length.
    **options
        Of `open_labelled`.
    """
    files = open_labelled(paths, role="train", **options)
    if not files.tables:
        run.refuse(("text", "category", "drop", "label", "weight"), "for svmlight lines")
    elif start.input is None:
        run.refuse(("features",), "for tables")
    else:
        run.refuse(("text", "category", "drop"), "with --continue")
    if start.input is not None and start.path is not None:
        kept = start.input.for_files(files, "train", start.path, roles["label"])
        return replace(files, input=kept)
    columns = choose_columns(files.tables[0], **roles) if files.tables else None
    if start.model is not None and columns is not None:
        _require_columns(start, columns)
    return replace(files, input=InputSpec(columns, normalise))


def open_test(path: Path, files: LabelledFiles, reading: Mapping[str, Any]) -> LabelledFiles:
    """Open held-out rows, which are read as those to learn from are."""
    if path == STDIN and STDIN in files.paths:
        raise ParameterError("test", "not be the standard input if the rows come from it", got="-")
    tests = open_labelled([path], role="test", input=files.input, **reading)
    if bool(tests.tables) != bool(files.tables):
        raise ParameterError("test", "be a file like the one to learn from", str(path))
    return tests


def error_lines(run: Run, tests: LabelledFiles, model: Any, broken: BrokenRows) -> list[str]:
    """Return the error on held-out rows, and how many were broken."""
    errors, predictor = ErrorCount(model.classes_), Predictor(model)
    for batch, found in predictor.predict_files(tests, broken):
        errors.add(batch, found)
        run.progress(batch.done / (tests.size or 1), "testing")
    if not errors.rows + errors.unknown:
        raise tests.no_rows(broken)
    return errors.lines(f"error on {tests.paths[0]}") + broken.lines()


def _require_columns(start: StartModel, columns: FeatureColumns) -> None:
    """Refuse columns that are not the features of a model saved from Python."""
    width, names = start.model.n_features_in_, getattr(start.model, "feature_names_in_", None)
    is_other = names is not None and tuple(names) != columns.numbers
    if columns.width != width or is_other:
        raise ParameterError(
            "train",
            f"have the {width:,} features of {start.path}",
            got=f"{columns.width:,}: {', '.join(columns.numbers[:5])}",
        )
