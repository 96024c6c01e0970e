"""What ``herder predict`` does with a random field: fill gaps of rows, and list couplings."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress

from herder._errors import ParameterError
from herder.cli._border import heed_signals
from herder.core.summary import counted
from herder.data import TableSource, open_table, write_table
from herder.data.binary import binary_block
from herder.data.csv_table import write_csv_rows
from herder.learn.missing import conditional_probabilities
from herder.models.pairwise import PairwiseModel

__all__ = ["Filling", "field_of", "fill_gaps", "strongest"]

#: Rows that are filled between two looks at the keyboard.
CHUNK_BYTES = 2**20


@dataclass
class Filling:
    """Counts of what was filled."""

    rows: int = 0
    cells: int = 0
    gaps: int = 0
    sure: float = 0.0

    def lines(self, output: Path | None, probabilities: bool) -> list[str]:
        """Say it."""
        where = "" if output is None else f"{output}: "
        what = "probabilities of" if probabilities else "filled"
        share = f"{what} {counted(self.gaps, 'gap')} among {self.cells:,} cells"
        lines = [f"{where}{counted(self.rows, 'row')}, {share}"]
        if self.gaps:
            lines.append(
                f"expected share of gaps filled rightly, by the model: {self.sure / self.gaps:.4f}"
            )
        return lines


def field_of(model: Any, path: Path) -> PairwiseModel:
    """Give the field of a machine, or the model itself if it is one."""
    found = getattr(model, "model_", model)
    if not isinstance(found, PairwiseModel):
        raise ParameterError(
            "model",
            "have two states a site to fill gaps",
            got=f"the {type(model).__name__} of {path}: herder sample --evidence gives "
            "states of the sites that are not known",
        )
    return found


def fill_gaps(
    model: PairwiseModel,
    data: Path,
    output: Path | None,
    *,
    probabilities: bool,
    progress: Progress,
    out: TextIO | None,
) -> Filling:
    """Write the table with its gaps filled, or the probability of the upper state of each cell.

    Parameters
    ----------
    model : PairwiseModel
        The field; its sites are columns of the table.
    data : Path
        The table.
    output : Path or None
        Where it goes.
    probabilities : bool
        Whether probabilities are wanted.
    progress : Progress
        Shows how far it is.
    out : text file or None
        Takes csv if there is no output.
    """
    source = open_table(data)
    sites = model.names or tuple(f"x{i}" for i in range(model.n_sites))
    lacking = [name for name in sites if name not in source.names]
    if lacking:
        raise ValueError(f"{data} must have a column {lacking[0]!r}, as the model has, got none")
    names = list(sites) if probabilities else list(source.names)
    found = Filling()
    chunks = _chunks(model, source, sites, found, probabilities, progress)
    if output is not None:
        write_table(output, names, chunks)
    elif out is None:
        for _ in chunks:
            pass
    else:
        # what has been printed cannot be taken back
        for rows in source.blocks(CHUNK_BYTES):
            heed_signals()
            binary_block(source, rows, sites, states=model.states)
        write_csv_rows(out, names, chunks)
    return found


def _chunks(
    model: PairwiseModel,
    source: TableSource,
    sites: tuple[str, ...],
    found: Filling,
    probabilities: bool,
    progress: Progress,
) -> Iterator[dict[str, NDArray[Any]]]:
    task = progress.add_task("filling", total=source.n_rows, note="")
    for rows in source.blocks(CHUNK_BYTES):
        heed_signals()
        block = binary_block(source, rows, sites, states=model.states)
        gaps = np.isnan(block)
        chances = conditional_probabilities(model, block)
        found.rows += len(block)
        found.cells += block.size
        found.gaps += int(gaps.sum())
        found.sure += float(np.maximum(chances, 1 - chances)[gaps].sum())
        if probabilities:
            yield dict(zip(sites, chances.T, strict=True))
        else:
            low, high = model.states
            filled = np.where(gaps, np.where(chances > 0.5, high, low), block).astype(np.int64)
            yield rows.columns | dict(zip(sites, filled.T, strict=True))
        progress.update(task, completed=found.rows)


def strongest(model: PairwiseModel, top: int) -> list[str]:
    """List the couplings of largest size."""
    names = model.names or tuple(f"x{i}" for i in range(model.n_sites))
    order = np.argsort(-np.abs(model.edge_weights), kind="stable")[:top]
    lines = [f"{'coupling':>12}  sites"]
    for edge in map(int, order):
        i, j = model.edges[edge]
        lines.append(f"{model.edge_weights[edge]:>12.5g}  {names[i]}, {names[j]}")
    lines.append(f"{'bias':>12}  site")
    for site in map(int, np.argsort(-np.abs(model.biases), kind="stable")[:top]):
        lines.append(f"{model.biases[site]:>12.5g}  {names[site]}")
    return lines
