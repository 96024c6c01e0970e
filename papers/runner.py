"""Run the tables and figures of a paper, print them, and store the results of a full run."""

import json
import math
import platform
import tempfile
import time
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from papers.claims import Paper, Part, Row, read_claims, verdict
from papers.page import format_number, write_page

ROOT = Path(__file__).resolve().parent
PICTURES = ROOT.parent / "docs" / "_static" / "papers"
PAGE = ROOT.parent / "docs" / "papers.md"
LIBRARIES = ("herder", "numba", "numpy", "scikit-learn", "scipy")
COLOURS = {"reproduced": "green", "missed": "red", "other data": "cyan", "new": "cyan"}


def find_papers() -> list[Path]:
    """Folders that hold a claims.toml, in alphabetical order."""
    return sorted(path.parent for path in ROOT.glob("*/claims.toml"))


def quick_folder() -> Path:
    """Where quick runs write: never into the repository."""
    return Path(tempfile.gettempdir()) / "herder-papers"


def run_paper(
    folder: Path, *, quick: bool = False, only: str | None = None, console: Console | None = None
) -> dict[str, Any]:
    """Run a paper, print it, write its results and return them."""
    console = console or Console()
    paper = read_claims(folder)
    chosen = [part for part in paper.parts if only in (None, part.module)]
    if not chosen:
        known = ", ".join(part.module for part in paper.parts)
        raise ValueError(f"--only must be one of {known}, got {only!r}")
    home = quick_folder() / folder.name if quick else folder
    pictures = home if quick else PICTURES / folder.name
    pictures.mkdir(parents=True, exist_ok=True)
    console.print(f"[bold]{escape(paper.title)}[/]" + (" (quick)" if quick else ""))
    found: dict[str, list[dict[str, Any]]] = {}
    for part in chosen:
        module = import_module(f"papers.{folder.name}.{part.module}")
        started = time.process_time()
        rows = module.run(quick, pictures)
        seconds = time.process_time() - started
        found[part.module] = join(part, rows, quick=quick)
        console.print(show(part, found[part.module]))
        console.print(f"{seconds:.1f} s of CPU time\n")
    path = home / "results.json"
    results = _results(paper, found, path if only else None, quick=quick)
    path.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    console.print(f"Written: {path}")
    if not quick:
        write_page([read_claims(f) for f in find_papers()], ROOT, PAGE)
        console.print(f"Written: {PAGE}")
    return results


def join(part: Part, rows: Iterable[Row], *, quick: bool) -> list[dict[str, Any]]:
    """Join our numbers with the claims, in the order of the claims, with verdicts."""
    given = {row.id: row for row in rows}
    claims = [claim for claim in part.claims if claim.quick == quick]
    if sorted(given) != sorted(claim.id for claim in claims):
        unlike = sorted(set(given) ^ {claim.id for claim in claims})
        raise ValueError(f"{part.module} must give the rows that claims.toml lists: {unlike}")
    joined = []
    for claim in claims:
        row = given[claim.id]
        limit = row.limit if row.limit is not None else claim.tolerance
        joined.append(
            {
                "id": claim.id,
                "what": claim.what,
                "paper": claim.paper,
                "paper_spread": claim.spread,
                "ours": _round(row.ours),
                "spread": _round(row.spread),
                "check": claim.check,
                "limit": _round(limit) if claim.check != "none" else None,
                "verdict": verdict(claim, row),
                "note": " ".join(
                    text for text in (claim.substitute, row.note, claim.note) if text
                ),
            }
        )
    return joined


def show(part: Part, rows: list[dict[str, Any]]) -> Table:
    """Format the rows as a table for the terminal."""
    table = Table(title=escape(part.title), title_justify="left", show_lines=False)
    for heading, align in (("", "left"), ("paper", "right"), ("ours", "right"), ("", "left")):
        table.add_column(heading, justify="right" if align == "right" else "left")
    table.add_column("note", overflow="fold")
    for row in rows:
        colour = COLOURS[row["verdict"]]
        table.add_row(
            escape(row["what"]),
            format_number(row["paper"], row["paper_spread"]),
            format_number(row["ours"], row["spread"]),
            f"[{colour}]{row['verdict']}[/]",
            escape(row["note"]),
        )
    return table


def _results(
    paper: Paper, found: dict[str, Any], earlier: Path | None, *, quick: bool
) -> dict[str, Any]:
    """Collect the results; with ``earlier``, parts that were not run are kept from that file."""
    parts = dict(found)
    if earlier is not None and earlier.exists():
        kept = json.loads(earlier.read_text(encoding="utf-8"))["parts"]
        known = {part.module for part in paper.parts}
        parts = {k: v for k, v in kept.items() if k in known} | found
    package = import_module(f"papers.{paper.name}.data")
    return {
        "paper": paper.name,
        "run": "quick" if quick else "full",
        "seed": package.SEED,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in LIBRARIES},
        },
        "parts": parts,
    }


def _round(value: float | None) -> float | None:
    """Round to five digits, which should be reproducible on another machine."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.5g}")
