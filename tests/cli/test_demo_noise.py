import numpy as np
import pytest

from herder import NHERD, Perceptron
from herder.cli.demo import noise as part
from herder.report import Page


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(part, "STRIDE", 20)
    monkeypatch.setattr(part, "RATES", (0.001, 0.1))
    monkeypatch.setattr(part, "N_STREAM", 600)


def test_the_page_has_a_line_for_each_noise(small, tmp_path):
    page = Page("demo", "of one part")
    rows = part.part(page)
    assert [row.job for row in rows] == [
        f"learn with {n} wrong labels" for n in ("0%", "10%", "30%")
    ]
    page.save(tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    for words in ("Labels that are wrong", "passive-aggressive, PA-II", "30% wrong", "C = 0.001"):
        assert words in html
    assert html.count("<svg") + html.count("<img") == 3


def test_labels_of_a_task_are_flipped_and_those_of_the_test_are_not():
    digit = np.repeat([3, 5, 8], 3000)
    pixels = digit[:, None].astype(float)
    task = part.make_task(pixels, digit, (3, 8), 0.3)
    assert len(task.labels) == 4000
    assert len(task.test_labels) == 2000
    assert set(task.rows[:, 0]) == {3.0, 8.0}
    assert np.array_equal(task.test_labels, task.test_rows[:, 0] == 8)
    # 4,000 flips with probability 0.3 spread by 0.007
    assert np.mean(task.labels != (task.rows[:, 0] == 8)) == pytest.approx(0.3, abs=0.03)


def test_c_is_chosen_by_the_rows_left_out(monkeypatch):
    monkeypatch.setattr(part, "RATES", (1e-9, 1.0))
    rng = np.random.default_rng(0)
    rows = rng.normal((3.0, 0.0), size=(90, 2))  # with C = 1e-9 all of them go to one class
    labels = rows[:, 0] > 3
    task = part.Task(rows, labels, rows, labels)
    assert part.choose_rate(lambda C: NHERD(C), task) == 1.0
    assert part.choose_rate(lambda C: Perceptron(), task) == 1e-9  # has no C
