import base64
import re
import time

import pytest

from herder.core.summary import Fact, Facts, Picture, Section, Summary, Table, Text
from herder.plots import plot_count_distribution
from herder.plots._style import colour_bar, new_figure
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


def test_the_page_says_from_which_files_and_when_it_was_made():
    html = page_html(Summary("Few rows"), source="my <draws>.csv")
    assert "<title>Few rows, my &lt;draws&gt;.csv</title>" in html
    today = time.strftime("%d %B %Y").lstrip("0")
    assert f'<h1>Few rows</h1>\n<p class="lead">my &lt;draws&gt;.csv, {today}</p>' in html


def svg(address: str) -> str:
    return base64.b64decode(address.partition("base64,")[2]).decode()


def test_panels_are_stacked_on_narrow_screens():
    figure, axes = new_figure(2)
    axes[0].plot([0, 1])
    colour_bar(axes[1], axes[1].imshow([[0, 1]]), "share")
    before = [ax.get_position().bounds for ax in axes]
    html = page_html(Summary("Two", [Picture("two", figure, "a line and two cells")]))
    (narrow,) = re.findall(r'<source media="\(max-width: 600px\)" srcset="([^"]*)">', html)
    (wide,) = re.findall(r'<img src="([^"]*)"', html)
    sizes = [
        [float(x) for x in re.findall(r'viewBox="0 0 (\S+) (\S+)"', svg(page))[0]]
        for page in (narrow, wide)
    ]
    assert sizes[0][0] == pytest.approx(sizes[1][0] / 2)
    assert sizes[0][1] == pytest.approx(sizes[1][1] * 2)
    assert len(figure.axes) == 3  # the figure is the caller's, and stays as it was
    figure.draw_without_rendering()
    for ax, bounds in zip(axes, before, strict=True):
        assert ax.get_subplotspec().get_gridspec().get_geometry() == (1, 2)
        assert ax.get_position().bounds[1] == pytest.approx(bounds[1], abs=0.2)
    assert "<source" not in page_html(Summary("One", [picture()]))


def test_every_figure_can_be_saved_as_svg():
    html = page_html(Summary("One", [picture(), Picture("two", picture().result, "again")]))
    assert re.findall(r'download="(\w+\.svg)"', html) == ["any.svg", "two.svg"]
    assert html.count("Save as SVG") == 2


def test_the_page_has_colours_for_dark_screens():
    assert "prefers-color-scheme: dark" in page_html(Summary("One"))
