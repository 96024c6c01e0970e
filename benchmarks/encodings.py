"""How near herded rows are to what pairs do not determine, by encoding: P(k) of real 0/1 tables.

Run with ``python benchmarks/encodings.py``. Only singles and pairs are matched; columns drawn
independently with the right singles are shown beside. The papers' data are read from the folder
named by HERDER_DATA; without it only bundled tables are used, and the output says so.
"""

import os
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.pairing import write_results
from herder import Moments, datasets, moment_herd
from herder.metrics import count_distribution, total_variation
from papers.welling2009_herding import data

N_ROWS = 50_000

#: Reported: the probability of more ones than this.
K = 5

ENCODINGS = ("indicator", "+-1", "01")


def tables() -> dict[str, np.ndarray]:
    """Tables of 0/1 columns, each 1 where a measurement is above its mean, or a thing occurs."""
    found = {
        "breast cancer, 30 measurements": np.asarray(datasets.load_breast_cancer_binary().X),
        "digits, 64 pixels": np.asarray(datasets.load_digits_binary().X),
    }
    if "HERDER_DATA" not in os.environ:
        return found
    words = data.news()
    common = np.argsort(-words.sum(axis=0), kind="stable")[:20]
    return found | {
        "Abalone, 9 measurements": data.abalone(),
        "duckpin, 10 pins": data.bowling(),
        "USPS 3 and 5, 64 pixels": data.digits()[0],
        "News, 20 common words": words[:, np.sort(common)],
        "News, 100 words": words,
    }


def measure(name: str, rows: np.ndarray) -> list[dict[str, object]]:
    """Total variation of P(k) from the table, and the error of P(more than K), each way."""
    width, true = rows.shape[1], count_distribution(rows)
    moments = Moments.from_data(rows)
    shares, errors = {}, {}
    for encoding in ENCODINGS:
        herding = moment_herd(moments, N_ROWS, encoding=encoding)
        shares[encoding] = count_distribution(herding.samples, width)
        errors[encoding] = herding.diagnostics.moment_error
    shares["independent"] = data.independent(rows)
    return [
        {
            "data": name,
            "encoding": key,
            "total_variation": total_variation(true, share),
            "tail_error": float(share[K + 1 :].sum() - true[K + 1 :].sum()),
            "moment_error": errors.get(key),
        }
        for key, share in shares.items()
    ]


def main() -> None:
    console = Console(width=110)
    ways = (*ENCODINGS, "independent")
    rows = [row for name, table in tables().items() for row in measure(name, table)]
    for key, title in (
        ("total_variation", "Total variation between P(k) of the table and of the rows"),
        ("tail_error", f"Error of P(more than {K} ones)"),
    ):
        table = Table(title=f"{title}, {N_ROWS:,} rows from pairs")
        for name in ("data", *ways):
            table.add_column(name, justify="left" if name == "data" else "right")
        for name in tables():
            form = ".3f" if key == "total_variation" else "+.3f"
            found = [format(row[key], form) for row in rows if row["data"] == name]
            table.add_row(name, *found)
        console.print(table)
    if "HERDER_DATA" not in os.environ:
        console.print("HERDER_DATA is not set: papers' data omitted, results are not stored")
        return
    console.print(f"results stored in {write_results('encodings', rows).name}")


if __name__ == "__main__":
    main()
