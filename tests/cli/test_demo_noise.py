import re

import numpy as np
import pytest

from herder import NHERD, Perceptron
from herder.cli.demo import load_job
from herder.core.summary import Table
from herder.report import page_html

script = load_job("noise")


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(script, "STRIDE", 20)
    monkeypatch.setattr(script, "RATES", (0.001, 0.1))
    monkeypatch.setattr(script, "N_STREAM", 600)


def test_the_page_has_a_line_for_each_noise(small):
    summary = script.job()
    (table,) = summary.blocks
    assert [row[0] for row in table.cells()] == [
        f"learn with {n} label noise" for n in ("0%", "10%", "30%")
    ]
    (errors, *_) = (block for block in summary.sections[0].blocks if isinstance(block, Table))
    for k, (*_, ours, theirs) in enumerate(table.cells(), start=1):
        lowest = min(float(row[k]) for row in errors.cells())
        found = re.findall(r"([\d.]+) \(([\w-]+)(, best)?\)", f"{ours}, {theirs}")
        assert [name for _, name, _ in found] == ["NHERD", "AROW", "PA-I", "PA-II", "perceptron"]
        assert [bool(best) for *_, best in found] == [float(e) == lowest for e, *_ in found]
    html = page_html(summary)
    for words in ("Noisy labels", "passive-aggressive, PA-II", "30% noise", "C = 0.001"):
        assert words in html
    assert html.count("<svg") + html.count("<img") == 3


def test_labels_of_a_task_are_flipped_and_those_of_the_test_are_not():
    digit = np.repeat([3, 5, 8], 3000)
    pixels = digit[:, None].astype(float)
    task = script.make_task(pixels, digit, (3, 8), 0.3)
    assert len(task.labels) == 4000
    assert len(task.test_labels) == 2000
    assert set(task.rows[:, 0]) == {3.0, 8.0}
    assert np.array_equal(task.test_labels, task.test_rows[:, 0] == 8)
    # 4,000 flips with probability 0.3 spread by 0.007
    assert np.mean(task.labels != (task.rows[:, 0] == 8)) == pytest.approx(0.3, abs=0.03)


def test_c_is_chosen_by_the_rows_left_out(monkeypatch):
    monkeypatch.setattr(script, "RATES", (1e-9, 1.0))
    rng = np.random.default_rng(0)
    rows = rng.normal((3.0, 0.0), size=(90, 2))  # with C = 1e-9 all of them go to one class
    labels = rows[:, 0] > 3
    task = script.Task(rows, labels, rows, labels)
    assert script.choose_rate(lambda C: NHERD(C), task) == 1.0
    assert script.choose_rate(lambda C: Perceptron(), task) == 1e-9  # has no C
