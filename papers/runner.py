"""Run the tables and figures of a paper, print them, and store the results of a full run."""

import json
import math
import platform
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from papers.claims import Judged, Paper, Part, Row, judge, read_claims
from papers.page import format_number, format_paper, write_page

ROOT = Path(__file__).resolve().parent
PICTURES = ROOT.parent / "docs" / "_static" / "papers"
PAGE = ROOT.parent / "docs" / "papers.md"
LIBRARIES = ("herder", "numba", "numpy", "scikit-learn", "scipy")
COLOURS = {
    "reproduced": "green",
    "agrees": "green",
    "missed": "red",
    "other data": "cyan",
    "new": "cyan",
}


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
        judged = judge(part, module.run(quick, pictures), quick=quick)
        seconds = time.process_time() - started
        found[part.module] = [_stored(each.row) for each in judged]
        console.print(show(part, judged))
        console.print(f"{seconds:.1f} s of CPU time\n")
    path = home / "results.json"
    results = _results(paper, found, path if only else None, quick=quick)
    path.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    console.print(f"Written: {path}")
    if not quick:
        rewrite_page(console)
    return results


def rewrite_page(console: Console | None = None) -> None:
    """Make the page from the stored results and the present claims, without a run."""
    write_page([read_claims(folder) for folder in find_papers()], ROOT, PAGE)
    (console or Console()).print(f"Written: {PAGE}")


def show(part: Part, judged: Iterable[Judged]) -> Table:
    """Format the rows as a table for the terminal."""
    table = Table(title=escape(part.title), title_justify="left", show_lines=False)
    table.add_column("")
    table.add_column("paper", overflow="fold")
    for heading in ("expected", "ours"):
        table.add_column(heading, justify="right")
    table.add_column("")
    table.add_column("note", overflow="fold")
    for each in judged:
        table.add_row(
            escape(each.claim.what),
            escape(format_paper(each.claim)),
            format_number(each.claim.expected),
            format_number(each.row.ours, each.row.spread),
            f"[{COLOURS[each.verdict]}]{each.verdict}[/]",
            escape(each.note),
        )
    return table


def _stored(row: Row) -> dict[str, Any]:
    """Return what a run measured, rounded, without what it did not measure."""
    numbers = ("ours", "spread", "limit", "upper")
    entry = {k: _round(v) if k in numbers else v for k, v in asdict(row).items()}
    return {k: v for k, v in entry.items() if k in ("id", "ours") or v not in (None, "")}


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
