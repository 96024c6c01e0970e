import re

import numpy as np
import pytest

from herder import PairwiseModel, PottsModel, gibbs, herded_gibbs
from herder.report import page_html

MODEL = PairwiseModel.grid((3, 3), 0.4, 0.1)


@pytest.fixture(scope="module")
def run():
    return gibbs(MODEL, 500, n_chains=2, burn_in=7)


def test_the_text_has_the_numbers_of_the_run(run):
    lines = str(run.summary()).splitlines()
    assert lines[0] == "1,000 states of 9 sites by Gibbs sampling"
    facts = dict(re.split("  +", line)[:2] for line in lines[1:] if "  " in line)
    assert facts["chains"] == "2"
    assert facts["R-hat"] == f"{run.r_hat.max():.4g}"
    assert facts["effective sample size"] == f"{run.ess.min():,.0f}"
    assert facts["standard error"] == f"{run.errors.max():.2g}"
    assert "after 7 of burn-in" in lines[1]
    assert f"at x{run.r_hat.argmax()}" in lines[2]


def test_the_page_shows_what_a_reader_asks(run):
    html = page_html(run.summary(shape=(3, 3)), command="herder sample grid")
    gap = np.abs(run.marginals - MODEL.exact().marginals).max()
    for words in (
        "<h1>1,000 states of 9 sites by Gibbs sampling</h1>",
        f"the largest error is {gap:.2e}",
        "Sites with the largest R-hat",
        "12 couplings of 0.4; a positive coupling",
        "<pre>herder sample grid</pre>",
    ):
        assert words in html
    assert html.count("<img ") == 3
    assert not re.search(r"https?:|//[a-z]|<link|<script|@import|url\(", html)


def test_the_worst_site_comes_first_and_is_right(run):
    first = re.search(r"<td>(x\d)</td><td>([\d.]+) ± ", page_html(run.summary()))
    assert first is not None
    worst = int(run.r_hat.argmax())
    assert first[1] == f"x{worst}"
    assert float(first[2]) == pytest.approx(run.marginals[worst], abs=1e-4)


def test_doubts_are_warnings():
    run = gibbs(MODEL, 20)
    html = page_html(run.summary())
    assert run.notes
    for note in run.notes:
        assert f'<p class="warning">{note}</p>' in html
        assert f"Warning: {note}" in str(run.summary())


def test_what_is_not_known_is_left_out():
    run = gibbs(MODEL, 50, keep=False, evidence={1: -1})
    summary = run.summary()
    assert summary.title == "marginals of 9 sites by Gibbs sampling"
    assert [section.title for section in summary.sections] == ["Site by site", "Couplings"]
    assert "largest error" not in page_html(summary)
    assert re.search(r"sites held +1 +by evidence", str(summary))


def test_models_without_couplings_and_with_more_states():
    loose = PairwiseModel(np.zeros((2, 2)), [90.0, 90.0])
    summary = gibbs(loose, 20).summary()
    assert [section.title for section in summary.sections] == ["Site by site", "Energies"]
    potts = PottsModel.random(3, 4, random_state=1)
    run = gibbs(potts, 200, temperatures=(1.0, 2.0, 3.0))
    html = page_html(run.summary())
    assert "P(3)" in html
    assert "3 couplings from" in html
    assert html.count("<img ") == 3
    swaps = ", ".join(f"{rate:.0%}" for rate in np.mean(run.diagnostics["swaps"], axis=0))
    assert f">{swaps}<" in html


def test_many_sites_and_many_weights():
    """A grid of 30 x 20 has 28 x 18 sites of 4 neighbours, 92 of 3 and 4 of 2, of two states."""
    grid = PairwiseModel.grid((30, 20), 0.3)
    html = page_html(herded_gibbs(grid, 30).summary(shape=(30, 20)))
    assert f">{28 * 18 * 2**4 + 92 * 2**3 + 4 * 2**2:,}<" in html
    assert html.count("<img ") == 3


def test_the_table_has_a_row_for_each_site(run):
    table = run.table()
    assert list(table) == ["probability", "error", "r_hat", "ess"]
    assert all(len(column) == 9 for column in table.values())
    potts = gibbs(PottsModel.random(3, 4, random_state=1), 20).table()
    assert sum(potts[f"probability_{k}"] for k in range(4)) == pytest.approx(1)
