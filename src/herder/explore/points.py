"""The second scene: points herded from a sample beside random ones, with the MMD of both.

The herded points are those of ``thin(..., refine=False)``: an order whose first points represent
the sample best so far. The MMD is that of the energy kernel, the default of `herder.thin`.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import one_of
from herder.data.rows import Rows, read_rows
from herder.data.sample import Roles, read_sample
from herder.explore.frames import Frame
from herder.explore.settings import Settings
from herder.kernel.bandwidth import resolve_kernel
from herder.kernel.mmd import mean_at
from herder.kernel.thinning import thin

__all__ = ["MOST_UPLOAD", "PointsScene"]

Floats = NDArray[np.float64]

#: Characters of an uploaded table, rows of it that are used, and columns (categories count each).
MOST_UPLOAD, MOST_ROWS, MOST_COLUMNS = 4_000_000, 5_000, 100

#: Points that are chosen at most, and dabs of a drawn density.
MOST_PICKS, MOST_DABS = 200, 2_000

#: Rows of the samples that are not uploaded, and the spread of a dab in a unit square.
N_DRAWN, DAB = 1_500, 0.035


class PointsScene:
    """Points of a sample that appear one by one.

    Parameters
    ----------
    settings : Settings
        ``source``: "ring", "clusters", "banana", "drawn" with the dabs of a brush ``dabs`` in a
        unit square, or "csv" with a ``text`` and the ``name`` of its file.
    previous : object
        The scene before.
    """

    def __init__(self, settings: Settings, previous: object) -> None:
        source = one_of(settings.text("source"), "source", [*SAMPLES, "drawn", "csv"])
        self.names: list[str] = ["x", "y"]
        if source == "csv":
            rows, self.names = _uploaded(settings)
        else:
            rng = np.random.default_rng(0)
            if source == "drawn":
                dabs = settings.points("dabs", MOST_DABS)
                centres = dabs[rng.integers(len(dabs), size=N_DRAWN)]
                values = centres + DAB * rng.normal(size=(N_DRAWN, 2))
            else:
                values = SAMPLES[source](rng)
            rows = read_rows(values)
        self.n_rows = rows.n_rows
        if self.n_rows < 2:
            raise ParameterError("rows", "be two or more", self.n_rows)
        spread = np.linspace(0, self.n_rows - 1, min(self.n_rows, MOST_ROWS)).astype(np.intp)
        values = np.asarray(rows.values, dtype=np.float64)[spread]
        if not (values != values[0]).any():
            raise ParameterError("rows", "differ", got="equal rows")
        self.values, self.done = values, 0
        n_picks = min(MOST_PICKS, len(values))
        self.herded = thin(values, n_picks, refine=False, n_jobs=1).indices
        self.random = np.random.default_rng(1).permutation(len(values))[:n_picks]
        both = [self.herded, self.random]
        self.herded_mmd, self.random_mmd = _distances(values, both)

    def first(self) -> Frame:
        """Return the sample: two columns of it to be drawn."""
        shown = self.values[:, :2]
        names = self.names[:2]
        if shown.shape[1] == 1:  # spread over the height, in no order that means anything
            height = np.arange(len(shown)) * 0.618033988749895 % 1
            shown, names = np.column_stack([shown[:, 0], height]), [*names, ""]
        return {
            "rows": shown.astype(np.float32),
            "names": names,
            "n_rows": self.n_rows,
            "n_columns": self.values.shape[1],
            "limit": len(self.herded),
        }

    def advance(self, settings: Settings) -> Frame:
        """Return some more points, with the MMD after each of them."""
        low = self.done
        self.done = min(low + settings.whole("n", MOST_PICKS), len(self.herded))
        part = slice(low, self.done)
        return {
            "t": self.done,
            "herded": self.herded[part].astype(np.int32),
            "random": self.random[part].astype(np.int32),
            "herded_mmd": self.herded_mmd[part],
            "random_mmd": self.random_mmd[part],
        }


def _uploaded(settings: Settings) -> tuple[Rows, list[str]]:
    """Read a table that was uploaded; its errors name the file as the user does."""
    text = settings.text("text", MOST_UPLOAD)
    name = settings.text("name", 200)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text(text, encoding="utf-8", newline="")
        try:
            sample = read_sample(path, Roles())
        except ValueError as error:
            if isinstance(error, ParameterError):
                error.name = name
            found = str(error).replace(str(path), name)
            raise ValueError(found.partition(", or pass ")[0]) from error  # there are no options
    rows = sample.rows
    if rows.values.shape[1] > MOST_COLUMNS:
        raise ParameterError(name, f"have at most {MOST_COLUMNS} columns", rows.values.shape[1])
    return rows, list(rows.names)


def _distances(values: Floats, orders: list[NDArray[np.intp]]) -> list[Floats]:
    """Return the MMD between all rows and the first 1, 2, ... rows of each order."""
    rows = read_rows(values)
    kernel = resolve_kernel("energy", "median", rows, standardise=True)
    equal = np.full(len(values), 1 / len(values))
    means = mean_at(values, values, kernel, equal, n_jobs=1)
    found = []
    for order in orders:
        gram = kernel(values[order], values[order])
        k = np.arange(1, len(order) + 1)
        own = np.cumsum(2 * np.tril(gram).sum(axis=1) - gram.diagonal())
        squares = means.mean() - 2 * np.cumsum(means[order]) / k + own / k**2
        found.append(np.sqrt(np.maximum(squares, 0.0)))
    return found


def _ring(rng: np.random.Generator) -> Floats:
    angle = rng.uniform(0, 2 * np.pi, N_DRAWN)
    length = rng.normal(1, 0.08, N_DRAWN)
    return np.column_stack([length * np.cos(angle), length * np.sin(angle)])


def _clusters(rng: np.random.Generator) -> Floats:
    centres = np.array([[-1.0, -0.6], [1.0, -0.4], [0.1, 0.9]])
    which = rng.choice(3, N_DRAWN, p=[0.5, 0.3, 0.2])
    return centres[which] + 0.22 * rng.normal(size=(N_DRAWN, 2))


def _banana(rng: np.random.Generator) -> Floats:
    x = rng.normal(size=N_DRAWN)
    return np.column_stack([x, 0.6 * x**2 + 0.3 * rng.normal(size=N_DRAWN)])


#: Samples by name.
SAMPLES: dict[str, Any] = {"ring": _ring, "clusters": _clusters, "banana": _banana}
