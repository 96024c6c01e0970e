import re

import numpy as np
import pytest

from herder.learn.boltzmann import BoltzmannMachine
from herder.report import page_html

rng = np.random.default_rng(7)
X = (rng.random((400, 6)) < 0.1 + 0.7 * rng.random((400, 1))).astype(np.int64)


def page_of(machine, rows) -> str:
    return page_html(machine.check(rows).summary())


def cells(html: str, caption: str) -> list[list[str]]:
    """Rows of the table with that caption."""
    table = next(t for t in re.findall(r"<table.*?</table>", html, re.DOTALL) if caption in t)
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    found = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]
    return [row for row in found if row]


@pytest.fixture(scope="module")
def fitted():
    machine = BoltzmannMachine(alpha="cv").fit(X)
    return machine, page_of(machine, X)


def test_the_page_tells_what_a_reader_asks(fitted):
    machine, html = fitted
    for words in (
        "400 rows compared with the model: exact probabilities",
        f'<p class="good">{machine.check(X).verdict}</p>',
        "standard errors off at most",
        "One dot for each combination of values",
    ):
        assert words in html
    assert html.count("<img ") == 3
    assert not re.search(r"https?:|//[a-z]|<link|<script|@import|url\(", html)


def test_tables_hold_the_numbers_of_rows_and_model(fitted):
    machine, html = fitted
    strongest = cells(html, "The strongest couplings")
    W = np.triu(machine.couplings_, 1)
    assert len(strongest) == 15
    assert float(strongest[0][1]) == pytest.approx(W.flat[np.abs(W).argmax()], abs=1e-4)
    for name, bias, share, _ in cells(html, "The strongest biases"):
        column = int(name[1:])
        assert float(bias) == pytest.approx(machine.biases_[column], abs=1e-4)
        assert float(share) == pytest.approx(X[:, column].mean(), abs=1e-4)
    for pair, share, _, _ in cells(html, "The pairs that agree least"):
        i, j = (int(name[1:]) for name in pair.split(", "))
        assert float(share) == pytest.approx((X[:, i] * X[:, j]).mean(), abs=1e-4)


def test_doubts_are_warnings():
    twice = np.column_stack([X, X[:, 0]])
    html = page_of(BoltzmannMachine(alpha=100.0).fit(twice), twice)
    assert '<p class="warning">Do not trust it: pairs are off by' in html
    few = BoltzmannMachine().fit(X[:40])
    assert '<p class="warning">' in page_html(few.diagnostics_.summary())


def test_wide_and_lone_machines():
    wide = (rng.random((300, 260)) < 0.3).astype(np.int64)
    html = page_of(BoltzmannMachine().fit(wide), wide)
    assert html.count("<img ") == 2
    assert "300 rows compared with the model: 10,000 samples, R-hat" in html
    one = BoltzmannMachine().fit(X[:, :1])
    html = page_of(one, X[:, :1])
    assert "There are none: all columns are independent." in html
    plus = BoltzmannMachine().fit(2 * X - 1)
    assert "States are -1 and 1." in page_of(plus, 2 * X - 1)
