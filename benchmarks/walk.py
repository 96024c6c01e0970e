"""Functions, files and file switches of three calls, and lines of code per folder.

``python benchmarks/walk.py`` runs three calls under ``sys.setprofile``: ``herder synth --report``,
``herder learn`` on svmlight lines, and ``thin(X, 200)``. For each it prints the number of our
functions that are called, the number of files that contain them, and the number of switches: how
often, in the order of their first calls, the next function is in another file. Compiled functions
and code that runs at import are not counted. It then prints the lines of code of each folder of
``src``, without docstrings, comments and blank lines. ``--keep`` writes the numbers to
``results/walk.json``, with which later runs are compared.
"""

import argparse
import ast
import io
import itertools
import json
import sys
import tempfile
import threading
import tokenize
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import herder

PACKAGE = Path(herder.__file__).parent
KEPT = Path(__file__).with_name("results") / "walk.json"

#: Tokens that are not code.
SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def walk(call: Callable[[], Any]) -> dict[str, int]:
    """Count the functions, files and switches of a call."""
    seen: dict[tuple[str, int], None] = {}
    front = str(PACKAGE)

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        ours = code.co_filename.startswith(front) and not code.co_filename.endswith("_jit.py")
        if event == "call" and ours and not code.co_name.startswith("<"):
            seen.setdefault((code.co_filename, code.co_firstlineno))

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    files = [file for file, _ in seen]
    switches = sum(a != b for a, b in itertools.pairwise(files))
    return {"functions": len(seen), "files": len(set(files)), "switches": switches}


def run_verb(*words: str) -> None:
    """Run the command line in this process and discard its output."""
    from herder.cli import app

    with redirect_stdout(io.StringIO()):
        app(list(words), standalone_mode=False)


def synth(folder: Path) -> Callable[[], Any]:
    """Generate rows from a 0/1 table, with a report."""
    bits = np.random.default_rng(0).random((200, 4)) < [0.2, 0.4, 0.6, 0.7]
    table, rows = folder / "table.csv", folder / "rows.csv"
    np.savetxt(table, bits.astype(int), "%d", ",", header="a,b,c,d", comments="")
    words = ("synth", str(table), "-n", "200", "-o", str(rows))
    return lambda: run_verb(*words, "--report", str(folder / "page.html"))


def learn(folder: Path) -> Callable[[], Any]:
    """Learn a classifier from svmlight lines."""
    rng = np.random.default_rng(1)
    rows, signs = rng.normal(size=(200, 5)), np.where(rng.random(200) < 0.5, "spam", "ham")
    lines = [
        f"{sign} " + " ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(row))
        for sign, row in zip(signs, rows, strict=True)
    ]
    file = folder / "tickets.svm"
    file.write_text("\n".join(lines) + "\n")
    return lambda: run_verb("learn", str(file), "-o", str(folder / "model.safetensors"))


def thin(_: Path) -> Callable[[], Any]:
    """Choose 200 of 5,000 rows."""
    rows = np.random.default_rng(2).normal(size=(5000, 3))
    return lambda: herder.thin(rows, 200)


WALKS = {"herder synth --report": synth, "herder learn tickets.svm": learn, "thin(X, 200)": thin}


def code_lines(path: Path) -> int:
    """Count the lines of code, without docstrings, comments and blank lines."""
    text = path.read_text(encoding="utf-8")
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            documented.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - documented)


def folders() -> dict[str, int]:
    """Count the lines of code of each folder of the package, and of all."""
    found: dict[str, int] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).parts
        folder = parts[0] if len(parts) > 1 else "herder"
        found[folder] = found.get(folder, 0) + code_lines(path)
    return {**found, "all": sum(found.values())}


def measure() -> dict[str, dict[str, Any]]:
    """Run each call twice: imports and compilation of the first are not counted."""
    walks = {}
    for name, prepare in WALKS.items():
        with tempfile.TemporaryDirectory() as folder:
            call = prepare(Path(folder))
            call()
            walks[name] = walk(call)
    return {"walks": walks, "lines": folders()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Functions and files involved in three calls.")
    parser.add_argument("--keep", action="store_true", help="write results/walk.json")
    keep = parser.parse_args().keep
    found = measure()
    before = json.loads(KEPT.read_text()) if KEPT.exists() else found
    for name, numbers in found["walks"].items():
        then = before["walks"][name]
        shown = ", ".join(f"{n} {what} (baseline {then[what]})" for what, n in numbers.items())
        print(f"{name}: {shown}")
    print("\nlines of code (baseline)")
    for folder in sorted(
        {*found["lines"], *before["lines"]}, key=lambda folder: (folder == "all", folder)
    ):
        print(f"{folder:>12} {found['lines'].get(folder, 0):6} {before['lines'].get(folder, 0):6}")
    if keep:
        KEPT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
