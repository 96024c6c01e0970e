"""Online learners compared with other packages: paired CPU times, and held-out errors.

Run with ``python benchmarks/online.py`` after ``pip install -e '.[bench]'``. Benchmarks can be
selected by name (``text wide images classes noise full wabbit river first``); results are stored
only if all are run. One thread; a run is one pass of a new learner over the rows in order, input
validation included. If HERDER_DATA names the papers' data, MNIST is among the images. For errors
with tuned C on noisy labels see ``python -m papers crammer2010_nherd``.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

from rich import box
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.pairing import write_results
from benchmarks.streams.cases import (
    Stream,
    dict_rows,
    draw_dense,
    draw_images,
    draw_text,
    in_two,
    load_mnist,
    mislabelled,
)
from benchmarks.streams.first import first_calls
from benchmarks.streams.learners import BASE, NHERD_NAME, OURS, PEERS, Maker, error_of, one_pass
from benchmarks.streams.pond import RIVER_BASE, RIVER_OURS, river_error, river_runs
from benchmarks.streams.rounds import Bar, Run, compare, play
from benchmarks.streams.wabbit import FORMS, Wabbit
from herder import NHERD

PACKAGES = ("river", "vowpalwabbit")
SINGLE = f"{NHERD_NAME}, float32"
#: Tokens per row for about 140 distinct words, with 50,000 and with 2^20 words.
TOKENS = {50_000: 170, 2**20: 158}

Rows = list[dict[str, Any]]

console = Console(width=130)


def made_text(n_words: int) -> Stream:
    return draw_text(20_000, n_words, tokens=TOKENS[n_words])


def show(
    title: str,
    spent: Mapping[str, list[float]],
    base: str,
    n_rows: int,
    errors: Mapping[str, float],
) -> Rows:
    """Print and return the speed of every method, its ratio to the base, and its error."""
    table = Table(title=title, box=box.MARKDOWN)
    table.add_column("learner")
    for column in ("rows / CPU s", f"speed / {base}", "quartiles", "best", "test error %"):
        table.add_column(column, justify="right")
    rows = []
    for name, seconds in spent.items():
        speed = compare(spent, name, base)
        per_second = n_rows / median(seconds)
        error = errors.get(name)
        table.add_row(
            name,
            f"{per_second:,.0f}",
            f"{speed.ratio:.2f}",
            f"{speed.lower:.2f} to {speed.upper:.2f}",
            f"{speed.best:.2f}",
            "" if error is None else f"{100 * error:.2f}",
        )
        row = {"scene": title, "learner": name, "rows_per_cpu_s": per_second, "base": base}
        rows.append({**row, **speed._asdict(), "test_error": error})
    console.print(table)
    return rows


def duel(text: str, limit: float, base: Run, ours: Run) -> Rows:
    """Compare a speed with its target, in rounds of the two methods alone."""
    speed = compare(play({"base": base, "ours": ours}, 8), "ours", "base")
    found = Bar(text, limit, *speed[:4])
    console.print(
        f"target: {text}: at least {limit:.2f}x, measured {speed.ratio:.2f}x "
        f"({speed.lower:.2f} to {speed.upper:.2f} in {speed.rounds} rounds, "
        f"best times {speed.best:.2f}x): {'met' if found.met else 'NOT MET'}\n"
    )
    return [{"scene": "bar", **found._asdict(), "met": found.met}]


def race(
    stream: Stream,
    names: list[str],
    seconds: float,
    *,
    limit: float | None = None,
    single: bool = False,
) -> Rows:
    """One pass of each learner over a stream, compared with scikit-learn's PA-II."""
    makers: dict[str, Maker] = {name: (PEERS | OURS)[name] for name in names}
    runs: dict[str, Run] = {name: one_pass(make, stream) for name, make in makers.items()}
    errors = {name: error_of(make, stream) for name, make in makers.items()}
    if single:
        runs[SINGLE] = one_pass(NHERD, stream.single())
        errors[SINGLE] = error_of(NHERD, stream.single())
    title = f"{stream.name}, {len(stream.y):,} rows"
    rows = show(title, play(runs, seconds), BASE, len(stream.y), errors)
    if limit is not None:
        text = f"{stream.name}: speed of NHERD / scikit-learn's PA-II"
        rows += duel(text, limit, runs[BASE], runs[NHERD_NAME])
    return rows


def text_scene() -> Rows:
    return race(made_text(50_000), [*PEERS, *OURS], 15, limit=1.0, single=True)


def wide_scene() -> Rows:
    names = [*PEERS, NHERD_NAME, "herder AROW, project", "herder PA-II"]
    return race(made_text(2**20), names, 12, limit=0.8, single=True)


def images_scene() -> Rows:
    streams = [draw_images(), load_mnist()]
    rows = []
    for stream in streams:
        if stream is not None:
            rows += race(in_two(stream), [*PEERS, *OURS], 10, limit=2.5, single=True)
    return rows


def classes_scene() -> Rows:
    """Ten classes: ours by max-margin, scikit-learn's one-vs-rest."""
    names = [*PEERS, NHERD_NAME, "herder AROW, project", "herder PA-II", "herder Perceptron"]
    return race(load_mnist() or draw_images(), names, 8)


def noise_scene() -> Rows:
    names = [*PEERS, NHERD_NAME, "herder AROW, project", "herder PA-II"]
    return race(mislabelled(made_text(50_000), 0.3), names, 8)


def full_scene() -> Rows:
    """Full covariance, 500 rows of 784 columns: no target."""
    stream = in_two(draw_images(500))
    runs = {
        BASE: one_pass(PEERS[BASE], stream),
        NHERD_NAME: one_pass(NHERD, stream),
        "herder NHERD, full": one_pass(lambda: NHERD(covariance="full"), stream),
    }
    errors = {
        BASE: error_of(PEERS[BASE], stream),
        NHERD_NAME: error_of(NHERD, stream),
        "herder NHERD, full": error_of(lambda: NHERD(covariance="full"), stream),
    }
    spent = play(runs, 5)
    return show(f"{stream.name}, {len(stream.y):,} rows", spent, BASE, len(stream.y), errors)


def wabbit_scene() -> Rows:
    """Vowpal Wabbit on parsed examples, and its driver on a file (no target)."""
    stream = made_text(50_000)
    forms = {name: Wabbit(stream, options) for name, options in FORMS.items()}
    runs: dict[str, Run] = {name: form.learn for name, form in forms.items()}
    runs[NHERD_NAME] = one_pass(NHERD, stream)
    errors = {name: form.error() for name, form in forms.items()}
    errors[NHERD_NAME] = error_of(NHERD, stream)
    with tempfile.TemporaryDirectory() as folder:
        runs["VW, its driver on a file"] = forms["VW"].driver(Path(folder))
        spent = play(runs, 10)
    title = f"{stream.name}, {len(stream.y):,} rows, Vowpal Wabbit"
    rows = show(title, spent, "VW", len(stream.y), errors)
    return rows + duel("NHERD / VW on parsed examples", 5.0, runs["VW"], runs[NHERD_NAME])


def river_scene() -> Rows:
    """Rows as dicts, one at a time, with ten and with 140 features."""
    rows = []
    for stream in (draw_dense(10), draw_dense(140), made_text(50_000)):
        data = dict_rows(stream, 2000)
        for what, runs in river_runs(data).items():
            errors = {name: river_error(run(), stream) for name, run in runs.items()}
            title = f"river, {stream.name}: {what}"
            rows += show(title, play(runs, 3), RIVER_BASE, len(data[1]), errors)
            text = f"{title}: NHERD / PAClassifier"
            rows += duel(text, 1.0, runs[RIVER_BASE], runs[RIVER_OURS])
    return rows


def first_scene() -> Rows:
    rows = first_calls()
    for row in rows:
        console.print(
            f"first call of NHERD, {row['rows']} rows: {row['compiled_cpu_s']:.1f} CPU s "
            f"to compile, {row['loaded_cpu_s']:.2f} with compiled code on disk, "
            f"then {1000 * row['second_call_cpu_s']:.2f} ms per call"
        )
    return rows


SCENES: dict[str, Callable[[], Rows]] = {
    "text": text_scene,
    "wide": wide_scene,
    "images": images_scene,
    "classes": classes_scene,
    "noise": noise_scene,
    "full": full_scene,
    "wabbit": wabbit_scene,
    "river": river_scene,
    "first": first_scene,
}


def main(names: list[str]) -> None:
    if unknown := set(names) - set(SCENES):
        raise SystemExit(f"benchmarks are {', '.join(SCENES)}, got {', '.join(unknown)}")
    rows: Rows = [{"scene": "versions", **{name: version(name) for name in PACKAGES}}]
    for name in names or SCENES:
        load = os.getloadavg()[0]
        console.print(f"load average before {name}: {load:.1f}")
        rows += [{"scene": "load", "before": name, "load": load}, *SCENES[name]()]
    bars = [row for row in rows if row["scene"] == "bar"]
    missed = [str(row["text"]) for row in bars if not row["met"]]
    console.print(f"targets: {len(bars)}, missed: {'; '.join(missed) or 'none'}")
    console.print("errors with tuned C on noisy labels: python -m papers crammer2010_nherd")
    if names:
        console.print("not all benchmarks were run: results are not stored")
        return
    console.print(f"results stored in {write_results('online', rows).name}")


if __name__ == "__main__":
    main(sys.argv[1:])
