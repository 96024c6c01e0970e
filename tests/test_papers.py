"""Papers: claims are well formed, quick runs work, and the page says what was measured."""

import ast
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from papers import runner
from papers.__main__ import main
from papers.claims import (
    VERDICTS,
    Claim,
    Judged,
    Paper,
    Part,
    Row,
    joint_verdicts,
    judge,
    read_claims,
    verdict,
)
from papers.page import format_number, make_page, read_row

FOLDERS = runner.find_papers()
PUBLIC = {"herder", "herder.apps.codec", "herder.apps.go", "herder.datasets"}

#: Modules that sections 3.3 to 3.5 of the thesis look into: `herder` itself has no names for
#: their parts.
INNER = {
    "herder.apps.segment.boundaries",
    "herder.apps.segment.local",
    "herder.apps.segment.superpixels",
    "herder.fields.conditional",
    "herder.fields.conditional_engine",
    "herder.fields.hidden_engine",
    "herder.fields.hidden_system",
    "herder.fields.parametric",
    "herder.learn.crf",
    "herder.maximise.cut",
    "herder.models.bernoulli",
    "herder.samplers.belief",
}


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def toml(tmp_path: Path):
    def write(claim: str) -> Path:
        text = 'title = "T"\ntext = "t"\n[[parts]]\nmodule = "m"\ntitle = "M"\ntext = ""\n'
        (tmp_path / "claims.toml").write_text(f"{text}claims = [{claim}]\n", encoding="utf-8")
        return tmp_path

    return write


def test_there_is_a_paper() -> None:
    assert "welling2009_herding" in [folder.name for folder in FOLDERS]


def test_every_part_has_its_module_and_its_claims(folder: Path) -> None:
    for part in read_claims(folder).parts:
        assert (folder / f"{part.module}.py").is_file()
        assert {claim.quick for claim in part.claims} == {True, False}
        assert part.title
        assert part.text.strip()


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ('{id = "a", what = "", check = "nearly"}', "check must be one of"),
        ('{id = "a", what = "", check = "within", tolerance = 1.0}', "needs paper"),
        ('{id = "a", what = "", check = "factor", paper = 1.0, tolerance = 0.5}', "factor above"),
        ('{id = "a", what = ""}, {id = "a", what = ""}', "ids of m must be distinct"),
        (
            '{id = "a", what = "", check = "within", paper = 1, tolerance = 1, substitute = "b"}',
            "other data",
        ),
        (
            '{id = "a", what = "", check = "at_most", tolerance = 1, substitute = "b"}',
            "other data",
        ),
        ('{id = "a", what = "", expected = 1.0}', "expected and source"),
        ('{id = "a", what = "", source = "theory"}', "expected and source"),
        ('{id = "a", what = "", reads = "n"}', "needs paper or words"),
        (
            '{id = "a", what = "", paper = 1, reads = "n"}, '
            '{id = "b", what = "", paper = 2, reads = "n"}',
            "must have one paper",
        ),
    ],
)
def test_ill_formed_claims_are_refused(toml, claim: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_claims(toml(claim))


STATED = Claim("a", "", words='"so" (1)', check="at_most", tolerance=1.0)
EXPECTED = Claim("a", "", expected=2.0, source="s", check="within", tolerance=1.0)


@pytest.mark.parametrize(
    ("claim", "ours", "limit", "expected"),
    [
        (Claim("a", "", paper=1.0, check="factor", tolerance=2.0), 1.9, None, "reproduced"),
        (Claim("a", "", paper=1.0, check="factor", tolerance=2.0), 0.4, None, "missed"),
        (Claim("a", "", paper=1.0, check="within", tolerance=0.1), 1.05, None, "reproduced"),
        (Claim("a", "", paper=1.0, check="within", tolerance=0.1), 0.8, None, "missed"),
        (STATED, 0.9, None, "agrees"),
        (STATED, 1.1, None, "missed"),
        (replace(STATED, expected=2.0, source="s", check="within"), 2.9, None, "agrees"),
        (Claim("a", "", expected=2.0, source="s", check="within", tolerance=1), 2.9, None, "new"),
        (
            Claim("a", "", expected=2.0, source="s", check="within", tolerance=1),
            3.1,
            None,
            "missed",
        ),
        (Claim("a", "", check="at_most", tolerance=0.0), 1e-15, None, "new"),
        (Claim("a", "", check="at_most"), 0.5, 0.4, "missed"),
        (Claim("a", "", check="at_most"), 0.1, None, "missed"),
        (Claim("a", "", check="at_most", tolerance=1.0), float("nan"), None, "missed"),
        (Claim("a", "", paper=1.0, substitute="rolls"), 9.0, None, "other data"),
        (Claim("a", "", words='"so" (1)', substitute="rolls"), 9.0, None, "other data"),
        (Claim("a", "", substitute="rolls"), 9.0, None, "new"),
        (Claim("a", ""), 9.0, None, "new"),
    ],
)
def test_verdicts(claim: Claim, ours: float, limit: float | None, expected: str) -> None:
    assert verdict(claim, Row("a", ours, limit=limit)) == expected


def test_an_interval_must_be_below_the_limit_as_a_whole() -> None:
    assert verdict(STATED, Row("a", 0.9, upper=0.99)) == "agrees"
    assert verdict(STATED, Row("a", 0.9, upper=1.01)) == "missed"


def test_readings_of_one_number_are_one_claim() -> None:
    claims = [Claim(name, "", paper=1.0, check="within", tolerance=0.1) for name in "abcd"]
    readings = [replace(claim, reads="n") for claim in claims[:3]]
    rows = [Row(claim.id, 1.0) for claim in claims]

    def found(rows: list[Row]) -> list[str | None]:
        judged = zip([*readings, claims[3]], rows, strict=True)
        return joint_verdicts(Judged(c, r, verdict(c, r)) for c, r in judged)

    assert found(rows) == ["reproduced", None, None, "reproduced"]
    assert found([*rows[:2], Row("c", 2.0), rows[3]]) == ["missed", None, None, "reproduced"]
    assert found([*rows[:3], Row("d", 2.0)]) == ["reproduced", None, None, "missed"]


def test_rows_must_be_those_of_the_claims() -> None:
    part = Part("m", "M", "", (Claim("a", "A"),))
    with pytest.raises(ValueError, match="must give the rows that"):
        judge(part, [Row("b", 1.0)], quick=False)


def test_quick_run_gives_rows_with_verdicts(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr(runner, "quick_folder", lambda: tmp_path)
    monkeypatch.delenv("HERDER_DATA", raising=False)
    kept = (folder / "results.json").read_bytes()
    assert main([folder.name, "--quick"]) == 0
    results = json.loads((tmp_path / folder.name / "results.json").read_text(encoding="utf-8"))
    assert results["run"] == "quick"
    paper = read_claims(folder)
    for part in paper.parts:
        rows = results["parts"][part.module]
        assert [row["id"] for row in rows] == [c.id for c in part.claims if c.quick]
        judged = judge(part, map(read_row, rows), quick=True)
        assert {each.verdict for each in judged} <= {*VERDICTS} - {"missed"}, part.module
        if part.picture:
            assert (tmp_path / folder.name / part.picture).stat().st_size > 1000
    assert paper.parts[0].title in capsys.readouterr().out
    assert (folder / "results.json").read_bytes() == kept


def test_committed_results_are_those_of_the_claims(folder: Path) -> None:
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    paper = read_claims(folder)
    assert results["run"] == "full"
    assert set(results["parts"]) == {part.module for part in paper.parts}
    for part in paper.parts:
        judged = judge(part, map(read_row, results["parts"][part.module]), quick=False)
        assert {each.verdict for each in judged} <= {*VERDICTS}, part.module


def test_the_columns_hold_what_they_say(folder: Path) -> None:
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    for part in read_claims(folder).parts:
        for each in judge(part, map(read_row, results["parts"][part.module]), quick=False):
            claim = each.claim
            if each.verdict == "reproduced":
                assert claim.paper is not None, claim.id
            if each.verdict == "agrees":
                assert claim.words, claim.id
            if claim.words:
                # A quotation, then its section, proposition or figure.
                assert re.fullmatch(r'.*".+".*\([^()]*\d\w?\)', claim.words), claim.words


def test_committed_page_is_made_from_the_results() -> None:
    made = make_page([read_claims(folder) for folder in FOLDERS], runner.ROOT)
    assert runner.PAGE.read_text(encoding="utf-8") == made


def test_pictures_of_the_page_are_there_and_small(folder: Path) -> None:
    for part in read_claims(folder).parts:
        if part.picture:
            size = (runner.PICTURES / folder.name / part.picture).stat().st_size
            assert 1000 < size < 400_000, part.picture


def test_page_of_a_small_example(tmp_path: Path) -> None:
    claims = (
        Claim("a", "A | B", paper=1.0, spread=0.1, check="within", tolerance=0.1, reads="n"),
        Claim("b", "B", note="why"),
        Claim("c", "C", paper=1.0, check="within", tolerance=9.0, reads="n"),
        Claim("d", "D", words='"so" (1)', expected=2.0, source="theory", substitute="Rolls."),
    )
    part = Part("m", "Table 1", "What it is.", claims, picture="p.png", caption="a picture")
    paper = Paper("small", "Small 1999", "A paper.", (part,))
    rows = [
        {"id": "b", "ours": 2e-5},
        {"id": "a", "ours": 3.0, "spread": 0.2},
        {"id": "c", "ours": 1.0},
        {"id": "d", "ours": None},
    ]
    results = {"run": "full", "seed": 1, "versions": {"numpy": "2"}, "parts": {"m": rows}}
    (tmp_path / "small").mkdir()
    file = tmp_path / "small" / "results.json"
    file.write_text(json.dumps(results), encoding="utf-8")
    page = make_page([paper, replace(paper, name="not_run_yet")], tmp_path)
    assert "| A \\| B | 1.000 ± 0.100 | - | 3.000 ± 0.200 | **missed** |  |" in page
    assert "| B | - | - | 2.0e-05 | new | why |" in page
    assert "| C | 1 | - | 1 | reading |  |" in page
    assert '| D | "so" (1) | 2 | - | other data | Expected: theory. Rolls. |' in page
    assert "![a picture](_static/papers/small/p.png)" in page
    assert "Of 3 claims and measurements: 1 missed, 1 other data, 1 new." in page
    assert page.count("## Small 1999") == 1
    file.write_text(json.dumps({**results, "run": "quick"}), encoding="utf-8")
    with pytest.raises(ValueError, match="must come from a full run"):
        make_page([paper], tmp_path)


def test_a_part_run_alone_keeps_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr(runner, "quick_folder", lambda: tmp_path)
    for part in ("figure2", "figure3"):
        assert main(["welling2009_herding", "--quick", "--only", part]) == 0
    file = tmp_path / "welling2009_herding" / "results.json"
    assert set(json.loads(file.read_text(encoding="utf-8"))["parts"]) == {"figure2", "figure3"}
    shutil.rmtree(tmp_path / "welling2009_herding")
    capsys.readouterr()


def test_the_page_is_made_again_without_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a paper was run")

    page = tmp_path / "papers.md"
    monkeypatch.setattr(runner, "PAGE", page)
    monkeypatch.setattr("papers.__main__.run_paper", refuse)
    assert main(["--page"]) == 0
    assert page.read_text(encoding="utf-8") == (
        Path(__file__).parents[1] / "docs" / "papers.md"
    ).read_text(encoding="utf-8")
    assert "Written" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody1900"], "NAME must be one of"),
        (["welling2009_herding", "--quick", "--only", "table9"], "--only must be one of"),
        (["welling2009_herding", "--only", "table1"], "HERDER_DATA must name the folder"),
    ],
)
def test_what_cannot_run_says_why(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("HERDER_DATA", raising=False)
    monkeypatch.setattr(runner, "quick_folder", lambda: tmp_path)
    monkeypatch.setattr(runner, "PICTURES", tmp_path)
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


def test_papers_name_the_encoding_of_moments(folder: Path) -> None:
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                named = "encoding" in [keyword.arg for keyword in node.keywords]
                assert node.func.id not in ("MomentHerder", "moment_herd") or named, path


def test_papers_use_only_public_names(folder: Path) -> None:
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
                assert not any(alias.name.startswith("_") for alias in node.names), path
            allowed = PUBLIC | INNER if folder.name == "chen2013_thesis" else PUBLIC
            wrong = [n for n in names if n.split(".")[0] == "herder" and n not in allowed]
            assert not wrong, f"{path.name} imports {wrong}"


@pytest.mark.parametrize(
    ("value", "spread", "text"),
    [
        (None, None, "-"),
        (float("nan"), None, "-"),
        (0.0, None, "0"),
        (0.25, None, "0.25"),
        (8e-4, None, "8.0e-04"),
        (7000.0, None, "7,000"),
        (2.5, 0.1, "2.500 ± 0.100"),
    ],
)
def test_format_number(value: float | None, spread: float | None, text: str) -> None:
    assert format_number(value, spread) == text
