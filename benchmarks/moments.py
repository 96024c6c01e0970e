"""Moment herding compared with the textbook loop: same states, one thread, paired CPU times.

Then the default encoding, "indicator", compared with "01" in the same loop: its bar is 0.7 times
the states per CPU second, as the median over the data sets, for pairs and for triples.

Run with ``python benchmarks/moments.py``. The papers' data are read from the folder named by
HERDER_DATA; without it only bundled and synthetic data are used, and the output says so.
"""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.pairing import paired_rounds, write_results
from herder import Moments, datasets
from herder.fields.binary import BinaryHerd
from herder.fields.live import MomentHerd
from herder.fields.system import Pool, Setup
from herder.metrics import count_distribution, kl_divergence
from herder.models import CliqueFeatures
from papers.welling2009_herding import data
from tests.naive import textbook_herd


@dataclass(frozen=True)
class Case:
    """A 0/1 table, the order of its moments, steps of both loops, and the target speed-up."""

    name: str
    rows: np.ndarray
    order: int
    base_steps: int
    our_steps: int
    bar: float


def random_table(width: int) -> np.ndarray:
    rng = np.random.default_rng(width)
    return (rng.random((1000, width)) < rng.random((1000, 1))).astype(np.int8)


def cases() -> list[Case]:
    found = [
        *(Case(f"random D={d}", random_table(d), 2, 60_000, 120_000, 1.0) for d in (8, 9, 10)),
        Case("random D=10", random_table(10), 3, 20_000, 40_000, 1.0),
        Case("digits D=64", np.asarray(datasets.load_digits_binary().X), 2, 3_000, 20_000, 1.0),
    ]
    if "HERDER_DATA" not in os.environ:
        return found
    news, usps, abalone = data.news(), data.digits()[0], data.abalone()
    return [
        Case("News w100", news, 2, 5_000, 80_000, 15.0),
        Case("USPS 3/5 8x8", usps, 2, 3_000, 40_000, 4.0),
        Case("Abalone", abalone, 2, 60_000, 120_000, 1.0),
        Case("News w100", news, 3, 300, 40_000, 80.0),
        Case("USPS 3/5 8x8", usps, 3, 500, 12_000, 15.0),
        Case("Abalone", abalone, 3, 20_000, 40_000, 1.0),
        *found,
    ]


def textbook_counts(features: CliqueFeatures, order: int) -> list[np.ndarray]:
    width = features.n_variables
    counts = [np.zeros((width,) * k, dtype=np.int64) for k in (1, 2)]
    counts.append(np.zeros((width,) * 3 if order == 3 else (0, 0, 0), dtype=np.int64))
    members = features.layout.members
    for clique, target in zip(members, features.target, strict=True):
        inside = tuple(clique[clique >= 0])
        counts[len(inside) - 1][inside] = target
    return counts


def herd_for(features: CliqueFeatures) -> BinaryHerd:
    width = features.n_variables
    start, state = features.start_weights(), np.zeros(width, dtype=np.int8)
    no_restarts = Pool(np.zeros((0, width), dtype=np.int8))
    return BinaryHerd(features, Setup(start, state, 0, no_restarts, np.arange(width)))


def measure(case: Case, rounds: int) -> dict[str, object]:
    n_rows, width = case.rows.shape
    features = CliqueFeatures.of(Moments.from_data(case.rows, case.order), "01")
    n1, n2, n3 = textbook_counts(features, case.order)
    base_out = np.empty((case.base_steps, width), dtype=np.int8)
    our_out = np.empty((case.our_steps, width), dtype=np.int8)

    def base() -> int:
        textbook_herd(n_rows, n1, n2, n3, case.order, base_out)
        return case.base_steps

    live = [herd_for(features) for _ in range(rounds)]

    def ours() -> int:
        live.pop().run(our_out)
        return case.our_steps

    textbook_herd(n_rows, n1, n2, n3, case.order, base_out[:2])  # compile before timing
    herd_for(features).run(our_out[:2])
    speed = paired_rounds(base, ours, rounds=rounds)
    shared = min(case.base_steps, case.our_steps)
    data_counts = count_distribution(case.rows, width)
    return {
        "data": case.name,
        "order": case.order,
        "ones": float(our_out.sum(axis=1).mean()),
        "textbook_per_s": speed.base_per_second,
        "ours_per_s": speed.ours_per_second,
        "ratio": speed.ratio,
        "lowest": speed.lowest,
        "highest": speed.highest,
        "bar": case.bar,
        "same_states": bool((base_out[:shared] == our_out[:shared]).all()),
        "kl": kl_divergence(data_counts, count_distribution(our_out, width)),
    }


def encoding_speed(case: Case, rounds: int) -> dict[str, object]:
    """Speed of "indicator" against "01"; the states differ, so the flips for each are given."""
    moments = Moments.from_data(case.rows, case.order)
    out = np.empty((case.our_steps, case.rows.shape[1]), dtype=np.int8)
    flips = {}

    def runner(encoding: str) -> Callable[[], int]:
        features = CliqueFeatures.of(moments, encoding)
        live = [herd_for(features) for _ in range(rounds + 1)]
        live.pop().run(out[:2])  # compile before timing

        def run() -> int:
            herd = live.pop()
            herd.run(out)
            flips[encoding] = herd.step_counts.flips / len(out)
            return len(out)

        return run

    speed = paired_rounds(runner("01"), runner("indicator"), rounds=rounds)
    return {
        "data": case.name,
        "order": case.order,
        "base": "01",
        "base_per_s": speed.base_per_second,
        "indicator_per_s": speed.ours_per_second,
        "ratio": speed.ratio,
        "lowest": speed.lowest,
        "highest": speed.highest,
        "flips": flips["01"],
        "indicator_flips": flips["indicator"],
    }


def show_encodings(console: Console, rounds: int) -> list[dict[str, object]]:
    table = Table(title='States per CPU second, "indicator" against "01"')
    for name in ("data", "order", "01/s", "indicator/s", "ratio", "range", "flips", "flips "):
        table.add_column(name, justify="left" if name == "data" else "right")
    rows = [encoding_speed(case, rounds) for case in cases()]
    for row in rows:
        numbers = [f"{row['base_per_s']:,.0f}", f"{row['indicator_per_s']:,.0f}"]
        numbers += [f"{row['ratio']:.2f}x", f"{row['lowest']:.2f}-{row['highest']:.2f}"]
        numbers += [f"{row['flips']:.1f}", f"{row['indicator_flips']:.1f}"]
        table.add_row(str(row["data"]), str(row["order"]), *numbers)
    console.print(table)
    for order in (2, 3):
        ratio = np.median([float(str(row["ratio"])) for row in rows if row["order"] == order])
        console.print(f"order {order}: median ratio {ratio:.2f}, bar 0.70")
    return rows


def categorical_speed() -> dict[str, object]:
    """Speed of the general loop on 40 columns of ten values."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 10, 50_000)
    columns = [
        np.where(rng.random(50_000) < 0.5, hidden * (j % 3 + 1) % 10, rng.integers(0, 10, 50_000))
        for j in range(40)
    ]
    live = MomentHerd(Moments.from_data(np.stack(columns, axis=1)))
    live.advance(64)
    start = time.process_time()
    live.advance(20_000)
    seconds = time.process_time() - start
    return {
        "data": "categorical 40 x 10",
        "order": 2,
        "ours_per_s": 20_000 / seconds,
        "moment_error": float(live.trace.error[-1]),
    }


def main(rounds: int = 5) -> None:
    console = Console(width=110)
    table = Table(title="States per CPU second, one thread, PCT checked at each step")
    for name in ("data", "order", "ones", "textbook/s", "herder/s", "ratio", "range", "target"):
        table.add_column(name, justify="left" if name == "data" else "right")
    table.add_column("same states")
    table.add_column("KL of P(k)", justify="right")
    rows = []
    for case in cases():
        row = measure(case, rounds)
        rows.append(row)
        table.add_row(
            str(row["data"]),
            str(row["order"]),
            f"{row['ones']:.1f}",
            f"{row['textbook_per_s']:,.0f}",
            f"{row['ours_per_s']:,.0f}",
            f"{row['ratio']:.1f}x",
            f"{row['lowest']:.1f}-{row['highest']:.1f}",
            f"{row['bar']:.0f}x",
            "yes" if row["same_states"] else "NO",
            f"{row['kl']:.1e}",
        )
    console.print(table)
    rows += show_encodings(console, rounds)
    many = categorical_speed()
    rows.append(many)
    console.print(
        f"{many['data']}: {many['ours_per_s']:,.0f} states per CPU second, "
        f"moment error {many['moment_error']:.1e} after 20,000"
    )
    if "HERDER_DATA" not in os.environ:
        console.print("HERDER_DATA is not set: papers' data omitted, results are not stored")
        return
    console.print(f"results stored in {write_results('moments', rows).name}")


if __name__ == "__main__":
    main()
