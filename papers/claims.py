"""Claims of a paper (claims.toml), our measurements, and the verdict.

A check compares our number with the published one:

- ``factor``: within a factor of the tolerance, either way;
- ``within``: the difference is at most the tolerance;
- ``at_most``: ours is not above the tolerance, or not above a limit that the run measures;
- ``none``: shown without a verdict, because the paper gives no number or used other data.
"""

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKS = ("factor", "within", "at_most", "none")

#: Numbers above a limit by rounding errors only, such as a Tipi function's maximum, pass.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Claim:
    """One number of a paper, and the tolerance for ours."""

    id: str
    what: str
    paper: float | None = None
    spread: float | None = None
    check: str = "none"
    tolerance: float | None = None
    substitute: str = ""
    note: str = ""
    quick: bool = False


@dataclass(frozen=True)
class Row:
    """One number of ours; ``limit`` is a measured tolerance, ``spread`` a standard deviation."""

    id: str
    ours: float
    spread: float | None = None
    limit: float | None = None
    note: str = ""


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
    for part in parts:
        ids = [claim.id for claim in part.claims]
        if len(set(ids)) < len(ids):
            raise ValueError(f"{path}: ids of {part.module} must be distinct, got {ids}")
        for claim in part.claims:
            _check_claim(claim, f"{path}: {part.module} {claim.id}")
    return Paper(folder.name, content["title"], content["text"], tuple(parts))


def _check_claim(claim: Claim, where: str) -> None:
    if claim.check not in CHECKS:
        raise ValueError(f"{where}: check must be one of {CHECKS}, got {claim.check!r}")
    if claim.check in ("factor", "within") and (claim.paper is None or claim.tolerance is None):
        raise ValueError(f"{where}: {claim.check} needs paper and tolerance")
    if claim.check == "factor" and not (claim.tolerance or 0) > 1:
        raise ValueError(f"{where}: tolerance must be a factor above 1, got {claim.tolerance}")
    if claim.substitute and claim.check in ("factor", "within"):
        raise ValueError(f"{where}: a number on other data can have no {claim.check} check")


def verdict(claim: Claim, row: Row) -> str:
    """Return whether ours meets the claim: reproduced, missed, other data, or new."""
    limit = row.limit if row.limit is not None else claim.tolerance
    if claim.check == "none":
        return "other data" if claim.substitute and claim.paper is not None else "new"
    if limit is None or not math.isfinite(row.ours):
        return "missed"
    paper = claim.paper or 0.0
    if claim.check == "at_most":
        met = row.ours <= limit + ROUNDING
    elif claim.check == "within":
        met = abs(row.ours - paper) <= limit + ROUNDING
    else:
        met = paper / limit <= row.ours <= paper * limit
    return "reproduced" if met else "missed"
