import numpy as np
import pytest

from herder.core.summary import (
    Fact,
    Facts,
    Picture,
    Section,
    Summarised,
    Summary,
    Table,
    Text,
    block_html,
    counted,
    listed,
    show,
)


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [
        (12345, "", "12,345"),
        (np.int64(7), "", "7"),
        (0.000123456, "", "0.000123"),
        (np.float32(0.5), ".1%", "50.0%"),
        (float("nan"), ".3f", "nan"),
        (True, "", "yes"),
        (None, ".3f", "-"),
        ("a word", ".3f", "a word"),
        (3.0, "", "3"),
    ],
)
def test_values_have_one_form(value, spec, text):
    assert show(value, spec) == text


def test_text_is_aligned_and_numbers_stand_to_the_right():
    table = Table(("name", "error"), [("a", 0.12345), ("b" * 40, -1.5)], ("", "+.2f"), "Errors")
    facts = Facts([Fact("rows", 1000), Fact("moment error", 0.01234, ".3f", "at most")])
    summary = Summary(
        "Title", [facts, table, Text("mind the gap", "warning"), Text("fine", "good")]
    )
    assert str(summary).splitlines() == [
        "Title",
        "rows          1,000",
        "moment error  0.012  at most",
        "Errors",
        "name                          error",
        "a                             +0.12",
        "bbbbbbbbbbbbbbbbbbbbbbbbb...  -1.50",
        "Warning: mind the gap",
        "fine",
    ]


def test_html_is_escaped_and_has_no_pictures():
    blocks = [Text("a < b"), Facts([Fact("<x>", 2)]), Table(("a&b",), [("<c>",)], (), "<cap>")]
    picture = Picture("shape", object(), "a shape")
    html = Summary("T <b>", [*blocks, picture])._repr_html_()
    for words in ("T &lt;b&gt;", "a &lt; b", "&lt;x&gt;", "a&amp;b", "&lt;c&gt;", "&lt;cap&gt;"):
        assert words in html
    assert "<img" not in html
    assert "<figure><img>" in block_html(picture, lambda _: "<img>")


def test_sections_are_for_pages_only():
    summary = Summary("Title", [Text("short")], [Section("More", [Text("long")])])
    assert "long" not in str(summary) + summary.html()


def test_a_table_refuses_rows_of_another_length():
    with pytest.raises(ValueError, match="zip"):
        Table(("a", "b"), [("only one",)]).cells()


def test_mixin_prints_the_summary():
    class Result(Summarised):
        def summary(self) -> Summary:
            return Summary("Done", [Text("well")])

    assert str(Result()) == "Done\nwell"
    assert "Done" in Result()._repr_html_()


def test_words_for_numbers_and_lists():
    assert (counted(1, "row"), counted(2000, "row")) == ("1 row", "2,000 rows")
    assert listed(["a", "b", "c"], 2) == "a, b, ..."
