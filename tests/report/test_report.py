import re
from dataclasses import replace

import numpy as np
import pytest

from herder import Moments, count_distribution, moment_herd
from herder.core.diagnostics import Diagnosis
from herder.data.variables import Codes
from herder.plots import plot_count_distribution
from herder.report import Facts, Page, Picture, Synthesis, Table, Text, synthesis_page
from herder.report.synthesis import VERDICTS, worst_cells

ROWS = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]])


@pytest.fixture(scope="module")
def synthesis():
    moments = Moments.from_data(ROWS)
    herding = moment_herd(moments, 200)
    return Synthesis(
        source="rows.csv",
        moments=moments,
        reached=Moments.from_codes(Codes(moments.variables, herding.samples)),
        diagnostics=replace(herding.diagnostics, copied=0.25, duplicate_share=0.5),
        n_rows=200,
        table_counts=count_distribution(ROWS),
        sample_counts=count_distribution(herding.samples),
        command="herder synth rows.csv -n 200",
        version="1.2.3",
    )


def picture() -> Picture:
    return Picture(plot_count_distribution({"a": [0.5, 0.5]}), "two bars", "A caption")


def test_page_has_its_blocks_and_escapes_text():
    page = Page("A <title>", "lead & more")
    page.add("One", Text("a < b"), Text("x = 1", "code"), Facts([("rows", "2", "few")]))
    page.add("Two", Table(("name", "share"), [("a<b>", "1.5%")], "a caption"), picture())
    html = page.html()
    assert "<title>A &lt;title&gt;</title>" in html
    assert "a &lt; b" in html
    assert "<pre>x = 1</pre>" in html
    assert '<td class="number">1.5%</td>' in html
    assert html.count("<section>") == 2
    assert 'alt="two bars"' in html


def test_pictures_are_embedded_and_deterministic():
    assert picture().uri() == picture().uri()
    assert picture().uri().startswith("data:image/svg+xml;base64,")


def test_save_is_whole_or_not_at_all(tmp_path):
    page = Page("Title")
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html()
    page.add("Broken", Table(("a", "b"), [("only one",)]))
    with pytest.raises(Exception, match="has no element"):
        page.save(tmp_path / "page.html")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_synthesis_page_tells_what_an_auditor_asks(synthesis):
    html = synthesis_page(synthesis).html()
    for words in (
        "200 rows that were made from the counts of rows.csv",
        "3 single columns, 3 pairs",
        "exact",
        "Pair by pair",
        "How many ones a row has",
        "25.00%",
        "50.00%",
        "No row of a table entered the run",
        "herder synth rows.csv -n 200",
        "herder 1.2.3",
    ):
        assert words in html
    assert html.count("<img ") == 4


def test_synthesis_page_is_self_contained(synthesis):
    html = synthesis_page(synthesis).html()
    assert not re.search(r"https?:|//[a-z]|<link|<script|@import|url\(", html)
    assert set(re.findall(r'src="([a-z]+:)', html)) == {"data:"}


@pytest.mark.parametrize("verdict", list(VERDICTS))
def test_every_verdict_has_words(synthesis, verdict):
    growth = Diagnosis(verdict, "a reason")
    html = synthesis_page(
        replace(synthesis, diagnostics=replace(synthesis.diagnostics, growth=growth))
    ).html()
    assert VERDICTS[verdict][1][:20] in html


def test_synthesis_page_without_a_table(synthesis):
    html = synthesis_page(
        replace(
            synthesis,
            diagnostics=replace(synthesis.diagnostics, copied=None, duplicate_share=None),
            table_counts=None,
            contradictions=["P(a) = 2 must lie between 0 and 1"],
            tail=["P(more than 1) = 0.5"],
            where=("x0=1",),
            restarts="rows",
        )
    ).html()
    assert "nothing was compared" in html
    assert "Once the given numbers rule each other out" in html
    assert "P(more than 1) = 0.5" in html
    assert "those where x0=1" in html
    assert "rows of it did enter" in html


def test_worst_cells_come_worst_first(synthesis):
    rows = worst_cells(synthesis.moments, synthesis.reached, 3)
    gaps = [abs(float(row[3].rstrip("%"))) for row in rows]
    assert len(rows) == 3
    assert gaps == sorted(gaps, reverse=True)
    expected = np.abs(synthesis.reached.probabilities() - synthesis.moments.probabilities())
    pairs = expected[synthesis.moments.layout.offsets[3] :]
    assert gaps[0] == pytest.approx(100 * pairs.max(), abs=1e-4)
