r"""Orders in which a graph is summed out site by site, and what each costs.

When sites are added one by one, the *frontier* is the set of sites that were added and still
have a neighbour to come. A sum site by site keeps one number for each state of the frontier, so
that the cost of an order is the sum of :math:`q^{|frontier|}` over its steps. Four orders are
tried: the sites as they are numbered, reverse Cuthill-McKee, a greedy one that adds next the site
which leaves the smallest frontier, and a walk down a spanning tree into small branches first.
On a tree of n sites the last has a frontier of at most :math:`1 + \log_2 n`: a site waits only
while the walk is in a branch that is not its largest, and that halves the tree.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

__all__ = ["MAX_CELLS", "Plan", "Step", "plan_sum"]

#: Largest table that is kept: 16 MB, a frontier of 20 binary sites and the one that is added.
MAX_CELLS = 2**21

#: The greedy order looks at so many sites before it adds one.
MAX_CANDIDATES = 64


#: Neighbours of each site, with the number of the edge.
Links = list[dict[int, int]]


@dataclass(frozen=True, slots=True)
class Step:
    """One site is added in front of the frontier, then some sites are summed out.

    Parameters
    ----------
    site : int
        The site that is added; it becomes axis 0.
    frontier : tuple of int
        Sites of the axes, the new one first.
    links : tuple of (int, int)
        Axes of its neighbours in the frontier, and the number of the edge.
    drops : tuple of int
        Axes that are summed out, one after the other, each counted when its turn comes.
    """

    site: int
    frontier: tuple[int, ...]
    links: tuple[tuple[int, int], ...]
    drops: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps of a sum over all sites, and the numbers they write in all."""

    steps: tuple[Step, ...]
    cost: int


def plan_sum(
    n_sites: int, edges: NDArray[np.intp], n_states: int, max_cells: int = MAX_CELLS
) -> Plan | None:
    """Return the cheapest of a few orders, or None if every one needs too large a table."""
    width = 1  # axes of the largest table
    while n_states ** (width + 1) <= max_cells:
        width += 1
    if len(edges) > n_sites * (width - 1):  # each edge joins a new site and one of the frontier
        return None
    links: Links = [{} for _ in range(n_sites)]
    for edge, (i, j) in enumerate(edges.tolist()):
        links[i][j] = links[j][i] = edge
    best: tuple[int, Sequence[int]] | None = None
    for order in _orders(links, width):
        cost = _cost(links, order, n_states, width)
        if cost is not None and (best is None or cost < best[0]):
            best = cost, order
    return None if best is None else Plan(_steps(links, best[1]), best[0])


def _orders(links: Links, width: int) -> Iterator[Sequence[int]]:
    n_sites = len(links)
    yield range(n_sites)
    starts = np.cumsum([0, *map(len, links)])
    ends = np.fromiter(chain.from_iterable(links), dtype=np.int32, count=starts[-1])
    rows = sparse.csr_array((np.ones(len(ends)), ends, starts), shape=(n_sites, n_sites))
    yield reverse_cuthill_mckee(rows, symmetric_mode=True).tolist()
    yield _down_a_tree(links)
    greedy = _greedy(links, width)
    if greedy is not None:
        yield greedy


def _cost(links: Links, order: Sequence[int], n_states: int, width: int) -> int | None:
    """Sum up the cells that an order writes; None if a table has more than ``width`` axes."""
    to_come = [*map(len, links)]
    seen = bytearray(len(links))
    total = size = 0
    for site in order:
        size += 1
        if size > width:
            return None
        total += n_states**size
        seen[site] = 1
        for other in links[site]:
            to_come[other] -= 1
            size -= seen[other] and to_come[other] == 0
        size -= to_come[site] == 0
    return total


def _steps(links: Links, order: Sequence[int]) -> tuple[Step, ...]:
    to_come = [*map(len, links)]
    frontier: list[int] = []
    steps = []
    for site in order:
        frontier.insert(0, site)
        place = {other: axis for axis, other in enumerate(frontier)}
        for other in links[site]:
            to_come[other] -= 1
        seen = tuple((place[i], edge) for i, edge in links[site].items() if i in place)
        before, drops = tuple(frontier), []
        for other in before[::-1]:  # the last axes first: these are strided least
            if to_come[other] == 0:
                drops.append(frontier.index(other))
                frontier.remove(other)
        steps.append(Step(site, before, seen, tuple(drops)))
    return tuple(steps)


def _down_a_tree(links: Links) -> list[int]:
    """Walk down spanning trees, into the smallest branch first."""
    seen = bytearray(len(links))
    order: list[int] = []
    for start in np.argsort([*map(len, links)], kind="stable").tolist():
        if seen[start]:
            continue
        seen[start] = 1
        tree, above = [start], {}
        for site in tree:  # it grows on the way: nearest sites first
            for other in links[site]:
                if not seen[other]:
                    seen[other] = 1
                    above[other] = site
                    tree.append(other)
        size, children = dict.fromkeys(tree, 1), {site: [] for site in tree}
        for site in reversed(tree[1:]):
            size[above[site]] += size[site]
            children[above[site]].append(site)
        waiting = [start]
        while waiting:
            site = waiting.pop()
            order.append(site)
            waiting += sorted(children[site], key=size.__getitem__, reverse=True)
    return order


def _greedy(links: Links, width: int) -> list[int] | None:
    """Add the site that leaves the smallest frontier; of several, a neighbour of the oldest."""
    starts = iter(np.argsort([*map(len, links)], kind="stable").tolist())
    seen = bytearray(len(links))
    n_unseen = [*map(len, links)]
    to_come: dict[int, dict[int, None]] = {}  # frontier sites, oldest first: unseen neighbours
    order: list[int] = []
    while len(order) < len(links):
        if to_come:
            site = _next_site(to_come, n_unseen)
        else:
            site = next(start for start in starts if not seen[start])
        if len(to_come) + 1 > width:
            return None
        seen[site] = 1
        order.append(site)
        around = links[site]
        for other in around:
            n_unseen[other] -= 1
            if seen[other]:
                del to_come[other][site]
                if not to_come[other]:
                    del to_come[other]
        unseen = {other: None for other in around if not seen[other]}
        if unseen:
            to_come[site] = unseen
    return order


def _next_site(to_come: dict[int, dict[int, None]], n_unseen: list[int]) -> int:
    share = MAX_CANDIDATES // len(to_come) + 1
    growth: dict[int, int] = {}
    for unseen in to_come.values():
        for site in islice(unseen, share):
            if site not in growth:
                leave = sum(len(rest) == 1 and site in rest for rest in to_come.values())
                growth[site] = (n_unseen[site] > 0) - leave
    return min(growth, key=growth.__getitem__)
