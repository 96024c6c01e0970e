"""``herder predict``: labels of rows, or values for their gaps, and what a model has learnt."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import numpy as np
import typer
from numpy.typing import NDArray

from herder._errors import ParameterError, with_nearest
from herder.cli._verb import INPUT, MODELS, OUTPUT, Run, option, output_option, verb
from herder.core.summary import Block, Summary, Text, counted

if TYPE_CHECKING:
    from herder.data.broken import BrokenRows
    from herder.data.features import FeatureColumns
    from herder.data.labelled import InputSpec, LabelledFiles
    from herder.learn.boosting import BoostedField

__all__ = ["predict"]

#: Bytes of a chunk of a table whose gaps are filled.
CHUNK_BYTES = 2**20


@verb(
    example="herder predict model.safetensors new.svm -o labels.csv",
    outputs={"output": (".csv", ".npz", ".parquet")},
    inputs=("model", "data"),
    options={"X": "data", "n_sweeps": None},
)
def predict(
    run: Run,
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model of `herder learn` (.safetensors).")
    ],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="Rows like those it learnt from: svmlight lines (- for the standard input) or a "
            "table. Labels may be there or not. For a random field: a table with gaps; for a "
            "boosted field: a table without.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        output_option(
            "File for the predictions (.csv, .npz, .parquet); to the standard output as csv "
            "by default."
        ),
    ] = None,
    explain: Annotated[
        bool,
        option(
            OUTPUT,
            "List the strongest features: weight and, of models with variances, standard "
            "deviation and z, the weight in standard deviations. Hashed words are named, with "
            "the right sign, if they occur in DATA.",
            "--explain",
        ),
    ] = False,
    top: Annotated[
        int, option(OUTPUT, "Features to list, for each class.", min=1, metavar="N")
    ] = 20,
    by: Annotated[
        Literal["weight", "confidence"],
        option(OUTPUT, "List the largest weights, or the surest (largest z)."),
    ] = "weight",
    probabilities: Annotated[
        bool,
        option(
            OUTPUT,
            "For a random field: write the probability of the upper state of every cell "
            "instead of a filled table.",
            "--probabilities",
        ),
    ] = False,
    label: Annotated[
        str | None,
        option(
            INPUT,
            "Labels of a table, to compute the error; the column of training by default.",
            metavar="COLUMN",
        ),
    ] = None,
    skip_broken: Annotated[
        bool,
        option(
            INPUT,
            "Leave broken lines out and count them; predictions get numbers.",
            "--skip-broken",
        ),
    ] = False,
) -> Summary:
    """Predict the labels of rows.

    The columns are, for each row in turn: label, probability (of models with variances; the
    share of votes of conditional herding) and margin, which is how far the label is ahead of the
    next one. If the rows have labels of their own, the error is printed. Svmlight rows may have
    features that the model has not seen: they leave the margin as it is, and make models with
    variances less sure.

    A random field has no labels: it fills the gaps of a table (empty cells, NA, N/A, NaN, null,
    None and ?), each with its more probable value given the other cells of the row, and is
    explained by its couplings.

    Of a boosted field (`herder learn boosted`) the columns are log_density, and outlier: 1 or 0.
    """
    if not model.exists():
        raise FileNotFoundError(f"model must name a file that exists, got {str(model)!r}")
    if model.suffix.lower() not in MODELS:
        rule = "be a model of herder learn (.safetensors)"
        raise ParameterError("model", rule, got=f"a file {model.suffix or 'without a suffix'}")
    if data is None and not explain:
        raise ParameterError("data", "be given, unless you only --explain the model", got="none")
    if not explain:
        run.refuse(("top", "by"), "without --explain")
    if data is None and output is not None:
        raise ParameterError("output", "be left out without DATA", str(output))
    from herder.data.broken import BrokenRows
    from herder.data.labelled import InputSpec
    from herder.io import read_model
    from herder.online.fitted import rank_features

    fitted, meta = read_model(model)
    broken = BrokenRows(skip_broken, "--skip-broken leaves such {unit}s out")
    if not hasattr(fitted, "classes_"):
        from herder.learn.boosting import BoostedField

        if isinstance(fitted, BoostedField):
            run.refuse(("label", "explain", "probabilities"), "for a boosted field")
            files = _open_data(cast(Path, data), model, fitted, None, None, broken)
            return _predict_density(run, fitted, files, broken, output)
        run.refuse(("label", "skip_broken", "by"), "for a random field")
        return _predict_field(run, fitted, model, data, output, probabilities, explain, top)
    run.refuse(("probabilities",), f"for {type(fitted).__name__}, which writes them anyway")
    kept = InputSpec.of_model(model, meta)
    files = None
    if data is not None:
        files = _open_data(data, model, fitted, kept, label, broken)
    # what cannot be explained is refused before any prediction
    ranked = rank_features(fitted, top, by) if explain else []
    places = {place for block in ranked for place in block}
    lines = [] if files is None else _predict_rows(run, fitted, files, broken, output, explain)
    title, *rest = lines or [""]
    blocks: list[Block] = [Text(line) for line in rest]
    if explain:
        columns = None if kept is None else kept.columns
        found = _explained(fitted, places, columns, files, top, by)
        blocks += [*([Text(found.title)] if title else []), *found.blocks]
        title = title or found.title
    return Summary(title, blocks)


def _open_data(
    data: Path,
    path: Path,
    model: Any,
    kept: "InputSpec | None",
    label: str | None,
    broken: "BrokenRows",
) -> "LabelledFiles":
    """Open the rows, and find the features of the model among their columns."""
    from herder.data.features import FeatureColumns
    from herder.data.labelled import InputSpec, open_labelled

    files = open_labelled([data], role="data", broken=broken, need_label=False)
    if not files.tables and label is not None:
        raise ParameterError("label", "be left out for svmlight lines", label)
    if kept is not None:
        files = replace(files, input=kept.for_files(files, "data", path, label))
    if not files.tables:
        return files
    (source,) = files.tables
    if kept is None:
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            names = [name for name in source.names if name != (label or "label")]
            if len(names) != model.n_features_in_:
                raise ValueError(
                    f"{data} must have the {model.n_features_in_:,} features of {path} besides a "
                    f"column {label or 'label'!r}, got {len(names):,} columns"
                )
        columns = FeatureColumns(label or "label", tuple(names))
        files = replace(files, input=InputSpec(columns))
    if label is not None and label not in source.names:
        rule = f"name a column of {data}"
        raise ParameterError("label", rule, got=with_nearest(label, source.names))
    return files


def _predict_rows(
    run: Run,
    model: Any,
    files: "LabelledFiles",
    broken: "BrokenRows",
    output: Path | None,
    explain: bool,
) -> list[str]:
    """Write the predictions; return how many there are, and how good."""
    from herder.online.prediction import ErrorCount, Predictor

    errors, predictor = ErrorCount(model.classes_), Predictor(model)

    def chunks() -> Iterator[dict[str, NDArray[Any]]]:
        for batch, found in predictor.predict_files(files, broken):
            errors.add(batch, found)
            run.progress(batch.done / (files.size or 1), "predicting")
            # rows are numbered if some may be missing
            columns: dict[str, NDArray[Any]] = {batch.unit: batch.places} if broken.skip else {}
            text = found.labels.dtype.kind == "U"
            columns["label"] = found.labels.astype(object) if text else found.labels
            if found.probabilities is not None:
                columns["probability"] = found.probabilities
            yield columns | {"margin": found.margins}

    found = chunks()
    first = next(found, {})
    if not first:
        raise files.no_rows(broken)
    _write(run, output, list(first), itertools.chain([first], found), shown=not explain)
    n_rows = errors.rows + errors.unknown + errors.unlabelled
    lines = [f"{counted(n_rows, 'row')} predicted", *errors.lines("error")]
    if predictor.unseen:
        verb = "is" if predictor.unseen == 1 else "are"
        values = f"{counted(predictor.unseen, 'value')} {verb} of features"
        lines.append(f"{values} that the model has not seen")
    return lines + broken.lines()


def _write(
    run: Run,
    output: Path | None,
    names: list[str],
    chunks: Iterable[dict[str, NDArray[Any]]],
    *,
    shown: bool,
) -> None:
    """Write a table to a file, or to the standard output if it is to be shown."""
    from herder.data.csv_table import write_csv_rows
    from herder.data.tables import write_table

    if output is not None:
        write_table(run.part(output), names, chunks)
    elif shown:
        write_csv_rows(run.take_output(), names, chunks)
        run.out.flush()
    else:
        for _ in chunks:
            pass


def _explained(
    model: Any,
    places: set[int],
    columns: "FeatureColumns | None",
    files: "LabelledFiles | None",
    top: int,
    by: str,
) -> Summary:
    """Return the strongest features; hashed words are named if they occur in the files."""
    from herder.data.features import CHUNK_BYTES, HashedWords

    if columns is None:
        return model.summary(top=top, by=by)
    words = HashedWords(columns, places)
    for source in files.tables if files is not None and columns.is_hashed else ():
        for chunk in source.chunks(CHUNK_BYTES):
            words.look(chunk)
    summary = model.summary(top=top, by=by, name=words.name)
    if not words.nameless:
        return summary
    text = "hashed features whose words are not in DATA may have the wrong sign"
    if files is None:
        text = (
            "hashed features: words are named, and their weights have the right sign, only with "
            "DATA, a table in which the words occur"
        )
    return replace(summary, blocks=[Text(text, "warning"), *summary.blocks])


def _predict_field(
    run: Run,
    model: Any,
    path: Path,
    data: Path | None,
    output: Path | None,
    probabilities: bool,
    explain: bool,
    top: int,
) -> Summary:
    """Fill gaps with a random field, and list its couplings."""
    from herder.data.binary import binary_block
    from herder.data.tables import open_table
    from herder.learn.missing import conditional_probabilities
    from herder.models.pairwise import PairwiseModel
    from herder.models.rbm import RBMModel

    field = getattr(model, "model_", model)
    if not isinstance(field, PairwiseModel | RBMModel):
        raise ParameterError(
            "model",
            "have two states a site to fill gaps",
            got=f"the {type(model).__name__} of {path}: herder sample --evidence gives states of "
            "the sites that are not known",
        )
    if isinstance(field, PairwiseModel):
        explained, names = field.summary(top=top), field.names
        n_sites, fill = field.n_sites, partial(conditional_probabilities, field)
    else:
        explained, names = model.summary(), vars(model).get("feature_names_in_")
        n_sites, fill = field.n_visible, lambda cells: model.conditional(_named(names, cells))
    if data is None:
        return explained
    source = open_table(data)
    sites = tuple(f"x{i}" for i in range(n_sites)) if names is None else tuple(names)
    known = set(source.names)
    lacking = [name for name in sites if name not in known]
    if lacking:
        rule = f"{data} must have a column {lacking[0]!r}, as the random field {path} has"
        raise ValueError(f"{rule}, got none")
    low, high = field.states
    counts = {"rows": 0, "cells": 0, "gaps": 0, "sure": 0.0}

    def chunks() -> Iterator[dict[str, NDArray[Any]]]:
        for block in source.blocks(CHUNK_BYTES):
            cells = binary_block(source, block, sites, states=field.states)
            gaps = np.isnan(cells)
            chances = fill(cells)
            sure = float(np.maximum(chances, 1 - chances)[gaps].sum())
            for name, n in zip(
                counts, (len(cells), cells.size, int(gaps.sum()), sure), strict=True
            ):
                counts[name] += n
            run.progress(counts["rows"] / source.n_rows, "filling")
            if probabilities:
                yield dict(zip(sites, chances.T, strict=True))
                continue
            filled = np.where(gaps, np.where(chances > 0.5, high, low), cells).astype(np.int64)
            yield block.columns | dict(zip(sites, filled.T, strict=True))

    if output is None and not explain:
        # what has been printed cannot be taken back
        for block in source.blocks(CHUNK_BYTES):
            binary_block(source, block, sites, states=field.states)
    names = list(sites) if probabilities else list(source.names)
    _write(run, output, names, chunks(), shown=not explain)
    n_gaps = int(counts["gaps"])
    what = "probabilities of" if probabilities else "filled"
    found = f"{what} {counted(n_gaps, 'gap')} among {int(counts['cells']):,} cells"
    blocks: list[Block] = [*explained.blocks] if explain else []
    if n_gaps:
        share = counts["sure"] / n_gaps
        blocks.insert(0, Text(f"expected share of gaps filled rightly, by the model: {share:.4f}"))
    return Summary(f"{counted(int(counts['rows']), 'row')}, {found}", blocks)


def _predict_density(
    run: Run,
    field: "BoostedField",
    files: "LabelledFiles",
    broken: "BrokenRows",
    output: Path | None,
) -> Summary:
    """Write the log density of each row; return how many are outliers."""
    if not files.tables:
        raise ParameterError("data", "be a table for a boosted field", str(files.paths[0]))
    vars(field).pop("feature_names_in_", None)  # rows come as arrays, in their order
    n_rows = n_outliers = 0

    def chunks() -> Iterator[dict[str, NDArray[Any]]]:
        nonlocal n_rows, n_outliers
        for batch in files.batches(broken):
            scores = field.score_samples(batch.X)
            outlier = (scores < field.offset_).astype(np.int8)
            n_rows, n_outliers = n_rows + len(batch), n_outliers + int(outlier.sum())
            run.progress(batch.done / (files.size or 1), "predicting")
            # rows are numbered if some may be missing
            columns: dict[str, NDArray[Any]] = {batch.unit: batch.places} if broken.skip else {}
            yield columns | {"log_density": scores, "outlier": outlier}

    found = chunks()
    first = next(found, {})
    if not first:
        raise files.no_rows(broken)
    _write(run, output, list(first), itertools.chain([first], found), shown=True)
    share = f"{100 * field.contamination:.3g} % of the rows that it learnt from"
    text = f"outliers have a log density below {field.offset_:.4g}, as {share}"
    title = f"{counted(n_rows, 'row')}, {counted(n_outliers, 'outlier')}"
    return Summary(title, [*map(Text, [text, *broken.lines()])])


def _named(names: Any, cells: NDArray[Any]) -> Any:
    """Return columns by name, where they have names, or the rows as they are."""
    return cells if names is None else dict(zip(names, cells.T, strict=True))
