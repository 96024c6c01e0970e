"""What the pages and docstrings must hold, which the build of the site would find much later."""

import json
import re
from pathlib import Path

from benchmarks import boosting, conditional, go, segment
from benchmarks.synthetic import page
from herder.apps.segment import edges, local

ROOT = Path(__file__).parents[1]


def test_fractions_have_braces() -> None:
    # docutils reads \\tfrac12 x as 12/x; the build of the site refuses it as well
    files = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/api/*.md"), *ROOT.glob("src/**/*.py")]
    files += [*ROOT.glob("papers/**/*.py"), *ROOT.glob("examples/**/*.py")]
    assert len(files) > 100
    bare = {path.name: found for path in files if (found := _bare_fractions(path.read_text()))}
    assert bare == {}


def _bare_fractions(text: str) -> list[str]:
    return re.findall(r"\\[a-z]?frac\s*[0-9].*", text)


def test_a_fraction_without_braces_is_found() -> None:
    assert _bare_fractions(r"E = \tfrac12 x") == [r"\tfrac12 x"]
    assert _bare_fractions(r"E = \tfrac{1}{2} x") == []


def test_the_page_of_moments_has_the_stored_figures_of_synthetic_rows() -> None:
    stored = json.loads((ROOT / "benchmarks/results/synthetic.json").read_text())
    assert page(stored["rows"]) in (ROOT / "docs/moments.md").read_text()


def test_the_pages_of_hidden_units_have_the_stored_figures() -> None:
    rows = json.loads((ROOT / "benchmarks/results/hidden.json").read_text())["rows"]
    cells = {}
    for row in rows:
        key, table = row.get("setting") or row.get("features"), row["table"]
        if row["scene"] == "settings":
            cells[key, table] = f"{row['score']:.1f}" + ("" if row["reliable"] else "*")
        elif row["scene"] == "features":
            cells[key, table] = f"{row['accuracy']:.3f}"
        elif row["scene"] == "speed":
            cells[f"{row['n_hidden']}, {row['batch']}", table, row["dtype"]] = (
                f"{row['ratio']:.1f}"
            )
    tables = "digits", "USPS", "MNIST", "News"
    pages = {name: (ROOT / f"docs/{name}.md").read_text() for name in ("rbm", "hidden")}
    for setting in ("default", "50 epochs", "pcd", "fast weights", "herding", "scikit-learn"):
        line = " | ".join(cells[setting, table] for table in tables)
        assert f" | {line} |\n" in pages["rbm"], setting
    for sizes in ("100, 10", "256, 10", "256, 100"):
        kinds = [(table, kind) for table in tables[:2] for kind in ("float32", "float64")]
        line = " | ".join(cells[sizes, table, kind] for table, kind in kinds)
        assert f"| {sizes} | {line} |\n" in pages["rbm"], sizes
    for features in ("pixels", "herding, 100", "RBM, 100", "herding, 400", "RBM, 400"):
        line = " | ".join(cells[features, table] for table in tables[:3])
        assert f"| {features} | {line} |\n" in pages["hidden"], features
    steps = [f"{row['ratio']:.1f}" for row in rows if row["scene"] == "herding"]
    text = " ".join(pages["hidden"].split())
    assert (
        "there are {} steps on digits (64 pixels), {} on USPS (256) and {} on MNIST".format(*steps)
        in text
    )


def test_the_page_of_conditional_herding_has_the_stored_figures() -> None:
    stored = json.loads((ROOT / "benchmarks/results/conditional.json").read_text())
    assert conditional.page(stored["rows"]) in (ROOT / "docs/conditional.md").read_text()


def test_the_page_of_boosting_has_the_stored_figures() -> None:
    stored = json.loads((ROOT / "benchmarks/results/boosting.json").read_text())
    assert boosting.page(stored["rows"]) in (ROOT / "docs/boosting.md").read_text()


def test_the_page_of_segmentation_has_the_stored_figures() -> None:
    rows = json.loads((ROOT / "benchmarks/results/segment.json").read_text())["rows"]
    assert segment.page(rows) in (ROOT / "docs/segment.md").read_text()
    # settings that ship are those that were chosen
    chosen = {row.get("method"): row.get("setting") for row in rows}
    assert chosen["herding, edges"] == [local.TRUST, local.WEIGHT]
    (contrast,) = (row["setting"] for row in rows if row["scene"] == "contrast")
    assert contrast == edges.CONTRAST


def test_the_page_of_go_has_the_stored_figures() -> None:
    rows = json.loads((ROOT / "benchmarks/results/go.json").read_text())["rows"]
    text = (ROOT / "docs/go.md").read_text()
    assert go.page(rows) in text
    own = [row for row in rows if "gain" in row]
    prose = " ".join(text.split())
    gains = [f"{row['gain']:.4f} +- {row['gain_error']:.4f}" for row in own]
    assert "{}, {} and {} nats".format(*gains) in prose
    for n in (1, 2):
        shares = [f"{100 * row[f'within_{n}']:.0f}" for row in own]
        assert "{}, {} and {} %".format(*shares) in prose


def test_the_page_of_the_codec_has_the_stored_figures() -> None:
    rows = json.loads((ROOT / "benchmarks/results/codec.json").read_text())["rows"]
    bits = {(row["set"], row["format"]): row["bits_per_image"] for row in rows}
    sets, formats = (list(dict.fromkeys(keys)) for keys in zip(*bits, strict=True))
    page = (ROOT / "docs/codec.md").read_text().replace("**", "")
    for name in formats:
        cells = (f"{bits[given, name]:.1f}" if (given, name) in bits else "" for given in sets)
        assert f"| {name} | {' | '.join(cells)} |\n" in page, name
    readme = (ROOT / "README.md").read_text()
    chain, other, deflate = (bits["USPS", name] for name in ("herder, chain", "JBIG1", "zlib -9"))
    assert f"{chain:.1f} bits an image instead of {other:.1f} (zlib {deflate:.1f})" in readme
