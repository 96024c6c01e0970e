r"""Patches of a board: who owns their points in the end, given the stones on them.

Section 3.5.4 of [chen2014]_ has single points, pairs of neighbours, squares of four and crosses
of five. :math:`P(s_\alpha | c_\alpha)` of points s given stones c is a relative frequency in
games that were played to the end, with one more observation, spread evenly (a uniform prior).
Patches that are turned, mirrored or of inverse colours share their counts. A point that nobody
owns counts half for each player; so does one off the board, which has a symbol of its own.

Where a patch has no stone, a state and its inverse are one feature: the patch does not know
whose influence it is under, and both of them together are as probable as they were.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder.apps.go.board import SIZE
from herder.models.marginals import PatchTables

__all__ = [
    "as_games",
    "learn_patches",
    "line_of_points",
    "pack_table",
    "patch_marginals",
    "unpack_table",
]

Floats, Codes = NDArray[np.float64], NDArray[np.intp]

#: Points of a patch: rows and columns from the first of them. Those of a cross on an edge are off
#: the board.
KINDS = {
    "single": [(0, 0)],
    "pair": [(0, 0), (0, 1)],
    "square": [(0, 0), (0, 1), (1, 0), (1, 1)],
    "cross": [(0, 0), (-1, 0), (0, -1), (0, 1), (1, 0)],
    "edge cross": [(0, 0), (-1, 0), (0, -1), (0, 1), (1, 0)],
}

#: Symbols of a point: empty, black, white, and off the board; and those of inverse colours.
OFF, INVERSE = 3, np.array([0, 2, 1, 3])

#: Lines from the edge that are distinguished by an edge cross: the first three, and all others.
N_LINES = 4

#: Observations of each pattern that are spread evenly over its states.
PRIOR = 1.0


def line_of_points() -> Codes:
    """Return the line of each point from the edge, from 0 to 3, which is the fourth and beyond."""
    line = np.minimum(np.arange(SIZE), np.arange(SIZE)[::-1])
    return np.minimum(np.minimum.outer(line, line), N_LINES - 1)


def _places(kind: str) -> Codes:
    """Return the points of all patches of a kind on a board with a margin, (n, size)."""
    turns = [KINDS[kind], [(b, a) for a, b in KINDS[kind]]] if kind == "pair" else [KINDS[kind]]
    found = [
        [(row + a, column + b) for a, b in points]
        for points in turns
        for row in range(SIZE)
        for column in range(SIZE)
    ]
    if "cross" not in kind:
        found = [own for own in found if max(max(point) for point in own) < SIZE]
    places = np.array(found) + 1
    return places[..., 0] * (SIZE + 2) + places[..., 1]


def _moved(kind: str) -> tuple[Codes, Codes]:
    """Return what patterns and states become under each symmetry, (n_symmetries, n) each."""
    points = np.array(KINDS[kind])
    centred = 2 * points - points.min(axis=0) - points.max(axis=0)
    size = len(points)
    orders = set()
    for axes in ([0, 1], [1, 0]):
        for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            image = (centred[:, axes] * signs).tolist()
            if sorted(image) == sorted(centred.tolist()):
                orders.add(tuple(image.index(point) for point in centred.tolist()))
    symbols = np.stack(np.unravel_index(np.arange(4**size), (4,) * size))
    states = np.stack(np.unravel_index(np.arange(2**size), (2,) * size))
    patterns, cells = [], []
    for order in sorted(orders):
        for own, sides in ((symbols, states), (INVERSE[symbols], 1 - states)):
            patterns.append(np.ravel_multi_index(tuple(own[list(order)]), (4,) * size))
            cells.append(np.ravel_multi_index(tuple(sides[list(order)]), (2,) * size))
    return np.array(patterns), np.array(cells)


PLACES = {kind: _places(kind) for kind in KINDS}
MOVED = {kind: _moved(kind) for kind in KINDS}


def as_games(boards: ArrayLike, owners: ArrayLike) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return positions and the owners of their points in the end, checked."""
    found = []
    for name, values in (("boards", boards), ("owners", owners)):
        given = np.asarray(values)
        if (
            given.ndim != 3
            or given.shape[1:] != (SIZE, SIZE)
            or not np.isin(given, (-1, 0, 1)).all()
        ):
            rule = f"be n x {SIZE} x {SIZE} numbers -1, 0 and 1"
            raise ParameterError(name, rule, got=f"shape {given.shape}")
        found.append(given.astype(np.int8))
    if len(found[0]) != len(found[1]):
        raise ParameterError("owners", f"be {len(found[0])}, as the boards", len(found[1]))
    return found[0], found[1]


def _patterns(boards: NDArray[np.int8], kind: str) -> Codes:
    """Return the pattern of each patch, (n_boards, n_patches)."""
    symbols = np.full((len(boards), SIZE + 2, SIZE + 2), OFF)
    symbols[:, 1:-1, 1:-1] = np.where(boards < 0, 2, boards)
    size = len(KINDS[kind])
    found = symbols.reshape(len(boards), -1)[:, PLACES[kind]] @ 4 ** np.arange(size)[::-1]
    return found + line_of_points().ravel() * 4**size if kind == "edge cross" else found


def learn_patches(
    boards: ArrayLike, owners: ArrayLike, kinds: Any = ("single", "pair", "square", "cross")
) -> dict[str, Floats]:
    """Return the probability of the states of patches of each pattern, (n_patterns, n_states).

    Parameters
    ----------
    boards : array-like of shape (n, 19, 19)
        Positions: 1 is a black stone, -1 a white one.
    owners : array-like of shape (n, 19, 19)
        Who owns the points in the end: 1, -1, or 0 for nobody.
    kinds : sequence of {"single", "pair", "square", "cross", "edge cross"}
        Patches; an edge cross distinguishes the first three lines from the edge.
    """
    positions, ends = as_games(boards, owners)
    black = np.full((len(ends), SIZE + 2, SIZE + 2), 0.5)
    black[:, 1:-1, 1:-1] = 0.5 + 0.5 * ends
    black = black.reshape(len(ends), -1)
    found = {}
    for kind in kinds:
        if kind not in KINDS:
            raise ParameterError("kinds", f"be among {', '.join(KINDS)}", kind)
        patterns, size = _patterns(positions, kind).ravel(), len(KINDS[kind])
        n_lines = N_LINES if kind == "edge cross" else 1
        counts = np.empty((n_lines, 4**size, 2**size))
        for cell in range(2**size):
            share = np.ones(1)
            for place, side in enumerate(np.unravel_index(cell, (2,) * size)):
                own = black[:, PLACES[kind][:, place]]
                share = share * (own if side else 1 - own)
            counts[..., cell] = np.bincount(patterns, share.ravel(), n_lines * 4**size).reshape(
                n_lines, -1
            )
        moved = zip(*MOVED[kind], strict=True)
        shared = sum(counts[:, codes][:, :, cells] for codes, cells in moved) + PRIOR / 2**size
        table = np.asarray(shared).reshape(-1, 2**size)
        found[kind] = table / table.sum(axis=1, keepdims=True)
    return found


def patch_marginals(
    board: NDArray[np.int8], tables: Mapping[str, Floats], *, blind: bool = False
) -> dict[Any, PatchTables]:
    """Return the marginals of all patches of a position, for `herd_marginals`.

    Parameters
    ----------
    board : ndarray of shape (19, 19)
        The position.
    tables : mapping of str to ndarray
        What `learn_patches` returned.
    blind : bool, default False
        Whether to take a state and its inverse for one feature everywhere: then patches say which
        points go together, but not whose they are.
    """
    found: dict[Any, PatchTables] = {}
    for kind, table in tables.items():
        places, size = PLACES[kind], len(KINDS[kind])
        row, column = np.divmod(places, SIZE + 2)
        inside = ((np.minimum(row, column) > 0) & (np.maximum(row, column) <= SIZE)).astype(bool)
        pattern = _patterns(board[None], kind)[0]
        symbols = np.stack(np.unravel_index(pattern % 4**size, (4,) * size), axis=1)
        merged = ~np.isin(symbols, (1, 2)).any(axis=1) | blind
        rows = table[pattern].reshape(-1, *[2] * size)
        for number, there in enumerate(np.unique(inside, axis=0)):
            off = tuple(1 + np.flatnonzero(~there))
            sites = (SIZE * (row - 1) + column - 1)[:, there]
            for match in ("cells", "inverse"):
                own = (inside == there).all(axis=1) & (merged == (match == "inverse"))
                if own.any():
                    name = (kind, number, match)
                    found[name] = PatchTables(sites[own], rows[own].sum(axis=off), match)
    return found


def pack_table(table: Floats, kind: str) -> Floats:
    """Return one row of a table for all patterns that share it, (n_lines, n_rows, n_states)."""
    patterns = MOVED[kind][0]
    return table.reshape(-1, patterns.shape[1], table.shape[1])[:, np.unique(patterns.min(axis=0))]


def unpack_table(rows: Floats, kind: str) -> Floats:
    """Return the table again, (n_patterns, n_states)."""
    patterns, cells = MOVED[kind]
    number = np.unique(patterns.min(axis=0), return_inverse=True)[1]
    found = rows[:, number[:, None], cells[patterns.argmin(axis=0)]]
    return found.reshape(-1, cells.shape[1])
