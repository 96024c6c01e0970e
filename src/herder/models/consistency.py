r"""Contradictions in published moments: what no table of rows can have.

Necessary conditions, in probabilities:

- **range**: cells lie in [0, 1]. For two 0/1 columns this is Frechet's inequality
  :math:`\max(0, p_i + p_j - 1) \le p_{ij} \le \min(p_i, p_j)`;
- **sum**: a table sums to its total;
- **marginal**: tables that share columns agree on them;
- **triangle**: for three 0/1 columns :math:`p_{ij} + p_{ik} - p_{jk} \le p_i` and
  :math:`p_i + p_j + p_k - p_{ij} - p_{ik} - p_{jk} \le 1`.

Before these come the cells that a file **stated** more than once, with different
probabilities; the moments hold their means (see `herder.models.published`).

Of counts that were rounded, each on its own to multiples of B, every count is off by at most
B / 2, and so are differences as far as this explains.

For three 0/1 columns and their pairs these are all the conditions there are; for more
columns, moments that pass may still be inconsistent, which herding shows by weights that
grow without end.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from herder._errors import ParameterError
from herder._validation import of_kind
from herder.models.moments import Moments
from herder.models.plain_text import shown

__all__ = [
    "Contradiction",
    "clique_title",
    "find_contradictions",
    "refuse_contradictions",
]

#: From the simplest rule to the least simple.
KINDS = ("stated", "range", "sum", "marginal", "triangle")

#: Differences in probability below this are rounding of counts that were divided.
ROUNDING = 1e-9

#: At most so many contradictions of a kind are listed: one wrong entry among 200 columns
#: breaks 20,000 triangles.
MAX_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class Contradiction:
    """One entry that the others rule out.

    Parameters
    ----------
    kind : str
        ``"stated"``, ``"range"``, ``"sum"``, ``"marginal"`` or ``"triangle"``.
    columns : tuple of str
        The columns concerned.
    size : float
        By how much, in probability.
    message : str
        The entry, its value and what it must be.
    """

    kind: str
    columns: tuple[str, ...]
    size: float
    message: str

    def __str__(self) -> str:
        return f"{self.message} (off by {self.size:.3g})"


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Cliques whose tables have one shape: probabilities (n, ...) and members (n, m)."""

    cliques: NDArray[np.intp]
    members: NDArray[np.intp]
    tables: NDArray[np.float64]


def find_contradictions(moments: Moments) -> list[Contradiction]:
    """List the contradictions in ``moments``, worst first, at most 1,000 of each kind.

    Examples
    --------
    >>> wrong = Moments.from_counts([[40, 50], [50, 60]], total=100, contradictions="allow")
    >>> print(find_contradictions(wrong)[0])
    P(x0=1, x1=1) = 0.5 must lie between max(0, p_a + p_b - 1) = 0 and min(p_a, p_b) = 0.4,
    with p_a = P(x0=1) = 0.4 and p_b = P(x1=1) = 0.6 (off by 0.1)
    """
    of_kind(moments, "moments", Moments, "Moments")
    groups = list(_groups(moments))
    found = [
        *moments.conflicts,
        *_ranges(moments, groups),
        *_sums(moments, groups),
        *_marginals(moments, groups),
        *_triangles(moments, groups),
    ]
    # of two as bad, the simpler rule first; rounding must not decide which
    return sorted(found, key=lambda c: (-round(c.size, 9), KINDS.index(c.kind), c.columns))


def _groups(moments: Moments) -> Iterator[_Group]:
    layout = moments.layout
    radix = np.where(layout.members >= 0, layout.n_values[layout.members], 0)
    shapes, which = np.unique(radix, axis=0, return_inverse=True)
    p = moments.probabilities()
    order = np.argsort(which, kind="stable")
    edges = np.searchsorted(which[order], np.arange(len(shapes) + 1))
    for g, shape in enumerate(shapes):
        cliques = order[edges[g] : edges[g + 1]]
        size = [int(k) for k in shape if k > 0]
        cells = layout.offsets[cliques][:, None] + np.arange(int(np.prod(size)))
        tables = p[cells].reshape(len(cliques), *size)
        yield _Group(cliques, layout.members[cliques][:, : len(size)], tables)


def _slack(moments: Moments, cliques: NDArray[np.intp], n_cells: int) -> NDArray[np.float64]:
    """Return how far rounding can take the sum of some cells of cliques, and their total."""
    return (n_cells + 1) * moments.rounding / 2 / moments.totals[cliques]


def _worst(size: NDArray[np.float64], slack: NDArray[np.float64] | float) -> NDArray[np.intp]:
    """Return positions of the largest sizes above rounding, largest first, ties in order."""
    over = np.flatnonzero(size > ROUNDING + slack)
    if len(over) > MAX_LISTED:
        over = np.sort(over[np.argpartition(-size[over], MAX_LISTED)[:MAX_LISTED]])
    return over[np.argsort(-size[over], kind="stable")]


def _ranges(moments: Moments, groups: list[_Group]) -> Iterator[Contradiction]:
    for group in groups:
        flat = group.tables.reshape(len(group.tables), -1)
        excess = np.maximum(-flat, flat - 1.0)
        size = excess.max(axis=1)
        for n in _worst(size, _slack(moments, group.cliques, flat.shape[1])):
            members = tuple(group.members[n].tolist())
            table = group.tables[n]
            if table.shape == (2, 2):
                message = _frechet(moments, members, table)
            else:
                cell = np.unravel_index(int(np.argmax(excess[n])), table.shape)
                event = _event(moments, members, cell)
                message = f"{event} = {table[cell]:.6g} must lie between 0 and 1"
            yield Contradiction("range", _columns(moments, members), float(size[n]), message)


def _frechet(moments: Moments, members: tuple[int, ...], table: NDArray[np.float64]) -> str:
    a, b = (_event(moments, (member,), (1,)) for member in members)
    p_a, p_b = table[1].sum(), table[:, 1].sum()
    return (
        f"{_event(moments, members, (1, 1))} = {table[1, 1]:.6g} must lie between "
        f"max(0, p_a + p_b - 1) = {max(0.0, p_a + p_b - 1):.6g} and min(p_a, p_b) = "
        f"{min(p_a, p_b):.6g}, with p_a = {a} = {p_a:.6g} and p_b = {b} = {p_b:.6g}"
    )


def _sums(moments: Moments, groups: list[_Group]) -> Iterator[Contradiction]:
    for group in groups:
        flat = group.tables.reshape(len(group.tables), -1)
        size = np.abs(flat.sum(axis=1) - 1.0)
        for n in _worst(size, _slack(moments, group.cliques, flat.shape[1])):
            columns = _columns(moments, group.members[n])
            total = moments.totals[group.cliques[n]]
            rule = f"the counts of {clique_title(columns)} must add up to their total {total:.6g}"
            message = f"{rule}, got {total * group.tables[n].sum():.6g}"
            yield Contradiction("sum", columns, float(size[n]), message)


def _marginals(moments: Moments, groups: list[_Group]) -> Iterator[Contradiction]:
    """Compare all tables over the same columns with the first one."""
    shared: dict[tuple[int, ...], list[tuple[_Group, tuple[int, ...]]]] = defaultdict(list)
    for group in groups:
        width = group.members.shape[1]
        for k in range(1, width + 1):
            for axes in combinations(range(width), k):
                shape = tuple(group.tables.shape[1 + axis] for axis in axes)
                shared[shape].append((group, axes))
    for shape, parts in shared.items():
        if any(len(axes) < group.members.shape[1] for group, axes in parts):
            yield from _disagreements(moments, shape, parts)


def _disagreements(
    moments: Moments, shape: tuple[int, ...], parts: list[tuple[_Group, tuple[int, ...]]]
) -> Iterator[Contradiction]:
    columns = np.concatenate([group.members[:, axes] for group, axes in parts])
    clique = np.concatenate([group.cliques for group, _ in parts])
    marginal = np.concatenate([_marginal(group, axes) for group, axes in parts])
    n_cells = [group.tables[0].size // math.prod(shape) for group, _ in parts]
    slack = np.concatenate(
        [_slack(moments, part[0].cliques, n) for part, n in zip(parts, n_cells, strict=True)]
    )
    # cliques are listed short first, so the clique of just these columns, if any, leads
    order = np.lexsort((clique, *columns.T[::-1]))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (columns[order[1:]] != columns[order[:-1]]).any(axis=1)
    first = np.empty(len(order), dtype=np.intp)
    first[order] = order[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]
    difference = np.abs(marginal - marginal[first])
    size = difference.max(axis=1)
    for n in _worst(size, slack + slack[first]):
        members = tuple(columns[n].tolist())
        flat = int(np.argmax(difference[n]))
        cell = np.unravel_index(flat, shape)
        here, there = (_columns(moments, moments.cliques[clique[k]]) for k in (n, first[n]))
        message = (
            f"{clique_title(here)} gives {_event(moments, members, cell)} = "
            f"{marginal[n, flat]:.6g}, but {clique_title(there)} gives "
            f"{marginal[first[n], flat]:.6g}"
        )
        yield Contradiction("marginal", here, float(size[n]), message)


def _marginal(group: _Group, axes: tuple[int, ...]) -> NDArray[np.float64]:
    """Sum the tables of a group over all other axes: shape (n, cells)."""
    others = tuple(1 + axis for axis in range(group.members.shape[1]) if axis not in axes)
    return group.tables.sum(axis=others).reshape(len(group.members), -1)


def _triangles(moments: Moments, groups: list[_Group]) -> Iterator[Contradiction]:
    """Check all triples of two-valued columns whose three pairs are known."""
    pairs = [group for group in groups if group.tables.shape[1:] == (2, 2)]
    if not pairs:
        return
    i, j = pairs[0].members.T
    width = moments.n_variables
    both_one = pairs[0].tables[:, 1, 1]
    one = np.full(width, np.nan)
    one[i], one[j] = pairs[0].tables[:, 1].sum(axis=1), pairs[0].tables[:, :, 1].sum(axis=1)
    for group in groups:
        if group.tables.shape[1:] == (2,):
            one[group.members[:, 0]] = group.tables[:, 1]
    # which pair it is, counted from 1: 0 is a pair that is not known
    number = np.tile(np.arange(1, len(i) + 1), 2)
    ends = (np.concatenate([i, j]), np.concatenate([j, i]))
    known = sparse.csr_array((number, ends), shape=(width, width))
    shares = np.concatenate([[np.nan], both_one])
    # three pairs, and three singles that may be sums of two cells, each over its total
    slack = 15 * moments.rounding / 2 / moments.totals.min()
    found = [np.empty((0, 5))]  # excess, which of the two rules, and the columns
    for a in range(width):
        near = np.sort(known.indices[known.indptr[a] : known.indptr[a + 1]])
        if len(near) < 2:
            continue
        with_a = shares[known[[a]].toarray()[0, near]]
        among = shares[known[near][:, near].toarray()]
        apex = with_a[:, None] + with_a[None, :] - among - one[a]
        cover = one[a] + one[near, None] + one[near] - with_a[:, None] - with_a - among - 1.0
        for kind, excess in enumerate((apex, cover)):
            allowed = near[:, None] < near[None, :]
            if kind:  # symmetric in all three columns
                allowed = allowed & (near[:, None] > a)
            excess = np.where(allowed, excess, np.nan)
            b, c = np.unravel_index(_worst(excess.ravel(), slack), excess.shape)
            triple = (np.full(len(b), kind), np.full(len(b), a), near[b], near[c])
            found.append(np.column_stack([excess[b, c], *triple]))
    rows = np.concatenate(found)
    for n in _worst(rows[:, 0], slack):
        size, (kind, a, b, c) = float(rows[n, 0]), rows[n, 1:].astype(np.intp).tolist()
        both = [_event(moments, sorted(pair), (1, 1)) for pair in ((a, b), (a, c), (b, c))]
        alone = [_event(moments, (k,), (1,)) for k in (a, b, c)]
        if kind:
            rule, bound = f"{' + '.join(alone)} - {' - '.join(both)}", "1"
            value = 1.0 + size
        else:
            rule, bound = f"{both[0]} + {both[1]} - {both[2]}", f"{alone[0]} = {one[a]:.6g}"
            value = one[a] + size
        message = f"{rule} = {value:.6g} must be at most {bound}"
        columns = _columns(moments, sorted((a, b, c)))
        yield Contradiction("triangle", columns, size, message)


def _columns(moments: Moments, members: Iterable[int]) -> tuple[str, ...]:
    return tuple(moments.names[i] for i in members)


def clique_title(columns: Sequence[str]) -> str:
    """Return what messages call a group of columns."""
    kind = {1: "the single", 2: "the pair", 3: "the triple"}.get(len(columns), "the clique")
    return f"{kind} {', '.join(columns)}"


def _event(moments: Moments, members: Sequence[int], cell: Sequence[int | np.intp]) -> str:
    parts = [
        f"{moments.names[i]}={shown(moments.variables[i].values[code])}"
        for i, code in zip(members, cell, strict=True)
    ]
    return f"P({', '.join(parts)})"


def refuse_contradictions(moments: Moments) -> None:
    """Raise a ValueError that names the worst contradiction, if there is one."""
    found = moments.contradictions()
    if found:
        # what is stated twice may be the reason of all the others
        worst = (moments.conflicts or found)[0]
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        ways = 'pass contradictions="nearest" when herding; contradictions="allow" when reading'
        rule = f"not contradict each other, got: {worst}{more}; correct them, or herd to the"
        raise ParameterError("moments", f"{rule} nearest possible ones ({ways})")
