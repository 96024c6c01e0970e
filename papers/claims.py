"""Claims of a paper (claims.toml), our measurements, and the verdicts.

A claim is what the paper prints: a number (``paper``) or a statement, quoted with its section
(``words``). What it does not print, such as a value from theory or our own reading of a
statement, is ``expected``, with its ``source``. A check compares our number with these:

- ``factor``: within a factor of the tolerance, either way, of the paper's or expected number;
- ``within``: the difference is at most the tolerance;
- ``at_most``: ours is not above the tolerance, or not above a limit that the run measures;
- ``none``: shown without a verdict. A row on other data than the paper's has no other check.

Verdicts: *reproduced* (a printed number, met), *agrees* (a statement, met), *missed*, *other
data*, and *new* (the paper does not state it). Rows with the same ``reads`` are readings of one
printed number or sentence: together they are one claim, missed if one reading misses it.
"""

import math
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKS = ("factor", "within", "at_most", "none")
VERDICTS = ("reproduced", "agrees", "missed", "other data", "new")

#: Numbers above a limit by rounding errors only, such as a Tipi function's maximum, pass.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Claim:
    """One row of the page: what the paper says, what is expected, and the tolerance for ours."""

    id: str
    what: str
    paper: float | None = None
    spread: float | None = None
    words: str = ""
    expected: float | None = None
    source: str = ""
    check: str = "none"
    tolerance: float | None = None
    substitute: str = ""
    reads: str = ""
    note: str = ""
    quick: bool = False


@dataclass(frozen=True)
class Row:
    """One number of ours, as a run measures it.

    ``spread`` is a standard deviation, ``limit`` a tolerance that the run measures, and ``upper``
    the upper end of an interval, which a check ``at_most`` takes in place of ``ours``.
    """

    id: str
    ours: float
    spread: float | None = None
    limit: float | None = None
    upper: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim, our number, and the verdict."""

    claim: Claim
    row: Row
    verdict: str

    @property
    def note(self) -> str:
        """What was replaced, what the run notes, and what the claim notes."""
        texts = (self.claim.substitute, self.row.note, self.claim.note)
        return " ".join(text for text in texts if text)


@dataclass(frozen=True)
class Part:
    """One table or figure: its module, title, claims, and picture if there is one."""

    module: str
    title: str
    text: str
    claims: tuple[Claim, ...]
    picture: str = ""
    caption: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper's claims, in the order of its tables and figures."""

    name: str
    title: str
    text: str
    parts: tuple[Part, ...]


def read_claims(folder: Path) -> Paper:
    """Read ``claims.toml``; raise a ValueError that names what is invalid in it."""
    path = folder / "claims.toml"
    content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    parts = []
    for entry in content["parts"]:
        given = {**entry, "claims": tuple(Claim(**claim) for claim in entry["claims"])}
        parts.append(Part(**given))
    printed: dict[str, float | None] = {}
    for part in parts:
        ids = [claim.id for claim in part.claims]
        if len(set(ids)) < len(ids):
            raise ValueError(f"{path}: ids of {part.module} must be distinct, got {ids}")
        for claim in part.claims:
            where = f"{path}: {part.module} {claim.id}"
            _check_claim(claim, where)
            if claim.reads and printed.setdefault(claim.reads, claim.paper) != claim.paper:
                raise ValueError(f"{where}: all readings of {claim.reads!r} must have one paper")
    return Paper(folder.name, content["title"], content["text"], tuple(parts))


def _check_claim(claim: Claim, where: str) -> None:
    if claim.check not in CHECKS:
        raise ValueError(f"{where}: check must be one of {CHECKS}, got {claim.check!r}")
    aim = claim.paper if claim.paper is not None else claim.expected
    if claim.check in ("factor", "within") and (aim is None or claim.tolerance is None):
        raise ValueError(f"{where}: {claim.check} needs paper or expected, and tolerance")
    if claim.check == "factor" and not (claim.tolerance or 0) > 1:
        raise ValueError(f"{where}: tolerance must be a factor above 1, got {claim.tolerance}")
    if claim.substitute and claim.check != "none":
        raise ValueError(f"{where}: a number on other data can have no {claim.check} check")
    if (claim.expected is None) != (not claim.source):
        raise ValueError(f"{where}: expected and source must be given together")
    if claim.reads and claim.paper is None and not claim.words:
        raise ValueError(f"{where}: a reading of {claim.reads!r} needs paper or words")


def verdict(claim: Claim, row: Row) -> str:
    """Return whether ours meets the claim: one of `VERDICTS`."""
    if claim.check == "none":
        stated = claim.paper is not None or claim.words
        return "other data" if claim.substitute and stated else "new"
    if not _met(claim, row):
        return "missed"
    if claim.paper is not None:
        return "reproduced"
    return "agrees" if claim.words else "new"


def _met(claim: Claim, row: Row) -> bool:
    limit = row.limit if row.limit is not None else claim.tolerance
    if limit is None or not math.isfinite(row.ours):
        return False
    if claim.check == "at_most":
        return (row.ours if row.upper is None else row.upper) <= limit + ROUNDING
    aim = (claim.paper if claim.paper is not None else claim.expected) or 0.0
    if claim.check == "within":
        return abs(row.ours - aim) <= limit + ROUNDING
    return aim / limit <= row.ours <= aim * limit


def judge(part: Part, rows: Iterable[Row], *, quick: bool) -> list[Judged]:
    """Join our numbers with the claims, in the order of the claims, each with its verdict."""
    given = {row.id: row for row in rows}
    claims = [claim for claim in part.claims if claim.quick == quick]
    if sorted(given) != sorted(claim.id for claim in claims):
        unlike = sorted(set(given) ^ {claim.id for claim in claims})
        raise ValueError(f"{part.module} must give the rows that claims.toml lists: {unlike}")
    return [Judged(c, given[c.id], verdict(c, given[c.id])) for c in claims]


def joint_verdicts(judged: Iterable[Judged]) -> list[str | None]:
    """Verdicts of a paper's rows, where the readings of one number or sentence share one.

    The first reading has the verdict of all, missed if one of them is; the others have none.
    """
    rows = list(judged)
    missed = {row.claim.reads for row in rows if row.claim.reads and row.verdict == "missed"}
    seen: set[str] = set()
    found: list[str | None] = []
    for row in rows:
        reads = row.claim.reads
        found.append(None if reads in seen else "missed" if reads in missed else row.verdict)
        if reads:
            seen.add(reads)
    return found
