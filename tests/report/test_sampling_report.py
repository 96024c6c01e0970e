import re
from dataclasses import replace

import numpy as np
import pytest

from herder import PairwiseModel, PottsModel, gibbs, herded_gibbs
from herder.report import SamplingReport, sampling_page

MODEL = PairwiseModel.grid((3, 3), 0.4, 0.1)


@pytest.fixture(scope="module")
def report():
    run = gibbs(MODEL, 500, n_chains=2)
    return SamplingReport(
        source="small <model>",
        model=MODEL,
        sampling=run,
        n_states=1000,
        names=[f"x{i}" for i in range(9)],
        energies=MODEL.energy(run.samples),
        last=run.samples[-1],
        shape=(3, 3),
        exact=MODEL.exact(),
        command="herder sample small",
        version="1.2.3",
    )


def test_the_page_tells_what_a_reader_asks(report):
    html = sampling_page(report).html()
    for words in (
        "1,000 states of small &lt;model&gt;, drawn by Gibbs sampling",
        "Nothing speaks against the run: its chains agree.",
        "with 12 couplings",
        "of 500 sweeps each, from the start",
        "the largest error of a marginal is",
        "Sites, those with the largest R-hat first",
        "12 couplings of 0.4; two sites",
        "herder sample small",
        "herder 1.2.3",
    ):
        assert words in html
    assert html.count("<img ") == 3
    assert not re.search(r"https?:|//[a-z]|<link|<script|@import|url\(", html)


def test_the_worst_site_comes_first_and_is_right(report):
    html = sampling_page(report).html()
    first = re.search(r"<td[^>]*>(x\d)</td>\s*<td[^>]*>([\d.]+) \+- ", html)
    assert first is not None
    worst = int(report.sampling.r_hat.argmax())
    assert first[1] == f"x{worst}"
    assert float(first[2]) == pytest.approx(report.sampling.marginals[worst], abs=1e-4)


def test_doubts_stand_at_the_top(report):
    html = sampling_page(replace(report, notes=["R-hat is above 1.01 at 3 sites"])).html()
    assert '<p class="warning">R-hat is above 1.01 at 3 sites</p>' in html
    assert "Nothing speaks against the run" not in html


def test_what_is_not_known_is_left_out(report):
    bare = replace(report, energies=None, last=None, exact=None, temperature=2.0, burn_in=7)
    html = sampling_page(replace(bare, evidence={"x1": -1})).html()
    assert "<h2>Energies</h2>" not in html
    assert "largest error of a marginal" not in html
    assert "x1 = -1" in html
    assert "after 7 that were left out" in html
    assert "all energies are divided by it" in html


def test_models_without_couplings_and_with_more_states():
    loose = PairwiseModel(np.zeros((2, 2)), [90.0, 90.0])
    run = gibbs(loose, 20)
    page = sampling_page(SamplingReport("loose", loose, run, 20, ["a", "b"]))
    assert "<h2>Couplings</h2>" not in page.html()
    potts = PottsModel.random(3, 4, random_state=1)
    run = gibbs(potts, 200, temperatures=(1.0, 2.0, 3.0))
    html = sampling_page(SamplingReport("potts", potts, run, 200, ["a", "b", "c"])).html()
    assert "P(3)" in html
    assert "3 couplings from" in html
    assert html.count("<img ") == 2
    assert "share that was taken, between neighbouring temperatures" in html


def test_many_sites_and_many_weights():
    """A grid of 30 x 20 has 28 x 18 sites of 4 neighbours, 92 of 3 and 4 of 2, of two states."""
    grid = PairwiseModel.grid((30, 20), 0.3)
    names = [f"x{i}" for i in range(600)]
    run = herded_gibbs(grid, 30)
    report = SamplingReport("grid", grid, run, 30, names, shape=(30, 20))
    html = sampling_page(report).html()
    assert "and R-hat, of 600 sites: a map of the grid." in html
    assert f">{28 * 18 * 2**4 + 92 * 2**3 + 4 * 2**2:,}<" in html
    assert "that herded Gibbs keeps" in html
    assert "of 600 sites: in order of size." in sampling_page(replace(report, shape=None)).html()
