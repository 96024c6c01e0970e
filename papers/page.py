"""The results page docs/papers.md, made from the results.json of every full run."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from papers.claims import Paper, Part

HEAD = """\
<!-- Made by `python -m papers` from papers/*/results.json. Do not edit: run it again. -->

# Papers

What the papers printed, what this library gives, and whether the two agree. *Reproduced* and
*missed* compare with the number in the paper, within the tolerance that
`papers/NAME/claims.toml` set for it; *other data* means that the paper's data or label could not
be had, so that the numbers stand side by side without a verdict; *new* has no number in the
paper. Standard deviations follow the sign ±. To run it all again: `make papers`, with the
environment variable `HERDER_DATA` naming the folder of the data sets.
"""


def write_page(papers: Iterable[Paper], root: Path, path: Path) -> None:
    """Write the page of all papers that have results below ``root``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(make_page(papers, root), encoding="utf-8")


def make_page(papers: Iterable[Paper], root: Path) -> str:
    """Return the page as Markdown."""
    sections = [HEAD]
    for paper in papers:
        file = root / paper.name / "results.json"
        if file.exists():
            sections.append(_section(paper, json.loads(file.read_text(encoding="utf-8"))))
    return "\n".join(sections)


def format_number(value: float | None, spread: float | None = None) -> str:
    """Two or three figures, as the papers print them; a dash for none."""
    if value is None:
        return "-"
    if spread is not None:
        return f"{value:.3f} ± {spread:.3f}"
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.3g}"
    return f"{value:.1e}"


def _section(paper: Paper, results: dict[str, Any]) -> str:
    if results["run"] != "full":
        raise ValueError(f"{paper.name}: results.json must come from a full run")
    tally = Counter(
        row["verdict"] for part in paper.parts for row in results["parts"].get(part.module, [])
    )
    counted = ", ".join(f"{tally[name]} {name}" for name in sorted(tally, reverse=True))
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    lines = [
        f"## {paper.title}",
        "",
        paper.text.strip(),
        "",
        f"Of {tally.total()} numbers: {counted}. "
        f"Run with `python -m papers {paper.name}`, seed {results['seed']}; {versions}.",
        "",
    ]
    for part in paper.parts:
        if part.module in results["parts"]:
            lines += _part(paper, part, results["parts"][part.module])
    return "\n".join(lines)


def _part(paper: Paper, part: Part, rows: list[dict[str, Any]]) -> list[str]:
    lines = [f"### {part.title}", "", part.text.strip(), ""]
    if part.picture:
        lines += [f"![{part.caption}](_static/papers/{paper.name}/{part.picture})", ""]
    lines += ["| | paper | ours | verdict | note |", "|---|---|---|---|---|"]
    for row in rows:
        numbers = (
            format_number(row["paper"], row["paper_spread"]),
            format_number(row["ours"], row["spread"]),
        )
        mark = f"**{row['verdict']}**" if row["verdict"] == "missed" else row["verdict"]
        cells = (row["what"], *numbers, mark, row["note"])
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return [*lines, ""]
