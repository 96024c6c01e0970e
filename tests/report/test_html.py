import re

import pytest

from herder.core.summary import Fact, Facts, Picture, Section, Summary, Table, Text
from herder.plots import plot_count_distribution
from herder.report import page_html, save_page


def picture() -> Picture:
    figure = plot_count_distribution({"a": [0.5, 0.5]})
    return Picture("any", figure, "two bars", "A caption")


def test_a_page_has_its_blocks_and_escapes_text():
    summary = Summary(
        "A <title>",
        [Text("a < b"), Text("x = 1", "code"), Facts([Fact("rows", 2, "", "few")])],
        [Section("Two", [Table(("name", "share"), [("a<b>", 0.015)], ("", ".1%")), picture()])],
    )
    html = page_html(summary)
    assert "<title>A &lt;title&gt;</title>" in html
    assert "a &lt; b" in html
    assert "<pre>x = 1</pre>" in html
    assert "<td>a&lt;b&gt;</td>" in html
    assert '<td class="number">1.5%</td>' in html
    assert html.count("<section>") == 3  # the short form, the section, and how to repeat it
    assert 'alt="two bars"' in html
    assert "<figcaption>A caption</figcaption>" in html


def test_pictures_are_embedded_and_deterministic():
    pages = [page_html(Summary("One", [picture()])) for _ in range(2)]
    assert pages[0] == pages[1]
    assert re.findall(r'src="([a-z]+:[a-z/+]+);base64,', pages[0]) == ["data:image/svg+xml"]


def test_a_page_is_saved_whole_or_not_at_all(tmp_path):
    path = tmp_path / "page.html"
    save_page(Summary("Title"), path, command="herder")
    assert path.read_text(encoding="utf-8") == page_html(Summary("Title"), command="herder")
    broken = Summary("Broken", [Table(("a", "b"), [("only one",)])])
    with pytest.raises(IndexError):
        save_page(broken, path)
    assert "<h1>Title</h1>" in path.read_text(encoding="utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
