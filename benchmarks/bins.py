"""How near the numbers of synthetic tables are to those of real tables, by the number of bins.

Run with ``python benchmarks/bins.py``. As many rows are made as the table has, and ten times as
many, from pairs. Errors of quantiles are in standard deviations of their column, and so are means
over the columns that are binned; errors of correlations are means over all pairs of columns.
Abalone is read from the folder named by HERDER_DATA; without it the output says so.
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import rankdata
from sklearn.datasets import load_breast_cancer, load_diabetes

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.pairing import write_results
from herder import MomentHerder, datasets

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
WAYS = (4, 8, 12, 20, "auto")


def tables() -> dict[str, np.ndarray]:
    """Tables of measurements."""
    diabetes: Any = load_diabetes(as_frame=True, scaled=False)
    cancer: Any = load_breast_cancer()
    found = {
        "diabetes": diabetes.frame.to_numpy(),
        "breast cancer, 10": np.column_stack([cancer.data[:, :10], cancer.target]),
    }
    if "HERDER_DATA" in os.environ:
        found["Abalone"] = np.asarray(datasets.abalone().X, float)
    return found


def correlations(rows: np.ndarray) -> np.ndarray:
    """Rank correlations of all pairs of columns."""
    return np.corrcoef(rankdata(rows, axis=0).T)[np.triu_indices(rows.shape[1], 1)]


def measure(name: str, rows: np.ndarray, bins: Any) -> dict[str, object]:
    """Errors of the rows that are made with so many bins."""
    model = MomentHerder(bins=bins).fit(rows)
    variables = model.moments_.variables
    binned = [j for j, variable in enumerate(variables) if variable.edges is not None]
    made = np.asarray(model.sample(10 * len(rows)), float)
    sd, first = rows[:, binned].std(axis=0), made[: len(rows)]
    gaps = np.quantile(first[:, binned], LEVELS, axis=0) - np.quantile(
        rows[:, binned], LEVELS, axis=0
    )
    true = correlations(rows)
    return {
        "data": name,
        "rows": len(rows),
        "bins": bins,
        "values": float(np.mean([variables[j].n_values for j in binned])),
        "quantiles": float(np.abs(gaps / sd).mean()),
        "worst_quantile": float(np.abs(gaps / sd).max()),
        "sd": float((first[:, binned].std(axis=0) / sd).mean()),
        "correlations": float(np.abs(correlations(first) - true).mean()),
        "correlations_10": float(np.abs(correlations(made) - true).mean()),
    }


def main() -> None:
    console = Console(width=110)
    heads = ("data", "bins", "quantiles", "worst", "sd ratio", "correlations", "10 x rows")
    table = Table(*heads, title="Errors of as many rows as the table has, from pairs")
    found = [measure(name, rows, bins) for name, rows in tables().items() for bins in WAYS]
    keys = ("quantiles", "worst_quantile", "sd", "correlations", "correlations_10")
    for row in found:
        bins = f"{row['bins']} ({row['values']:.0f})"
        data = f"{row['data']}, {row['rows']:,} rows"
        table.add_row(data, bins, *(format(row[key], ".3f") for key in keys))
    console.print(table)
    if "HERDER_DATA" not in os.environ:
        console.print("HERDER_DATA is not set: Abalone omitted, results are not stored")
        return
    console.print(f"results stored in {write_results('bins', found).name}")


if __name__ == "__main__":
    main()
