r"""Graph cuts: the labels of a graph that maximise a sum of fields and tables.

.. math:: S(s) = \sum_i f_i(s_i) + \sum_{e = (a, b)} T_e(s_a, s_b)

With two labels and :math:`T(0, 0) + T(1, 1) \ge T(0, 1) + T(1, 0)` on every edge, a minimum cut
finds the maximum [kolmogorov2004]_. A table that breaks this is lowered at pairs other than that
of the labels so far, by just as much as it takes. What is cut then bounds S from below and equals
it at these labels, so that a cut never lowers S [gorelick2014]_; cuts follow each other until one
does not raise it.

With K > 2 labels a move lets every site keep its label or take the label alpha, the best by such
a cut; moves go round all alpha until none raises S. For Potts tables, and utilities of at most
zero, the result is within a factor of two of the maximum [boykov2001]_.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder.models.tables import check_labels, check_tables, total_score

__all__ = ["maximise_by_cut"]

#: A gain below this share of the largest number is rounding, and labels stay.
TIE_TOL = 1e-12


def maximise_by_cut(
    fields: ArrayLike, edges: ArrayLike, tables: ArrayLike, start: ArrayLike
) -> NDArray[np.intp]:
    """Return labels whose score is that of ``start`` or higher, by graph cuts.

    Parameters
    ----------
    fields : array-like of shape (n_sites, n_labels)
        Score of each label at each site.
    edges : array-like of int of shape (n_edges, 2)
        Ends of the edges.
    tables : array-like of shape (n_edges, n_labels, n_labels)
        Score of an edge by the labels of its first and its second end.
    start : array-like of int of shape (n_sites,)
        Labels to begin with, from 0; they are kept where nothing raises the score.
    """
    gains, pairs, own = check_tables(fields, edges, tables)
    n, k = gains.shape
    labels = check_labels(start, n, k, "start")
    least = TIE_TOL * max(np.abs(gains).max(), np.abs(own).max(initial=0.0))
    score = total_score(gains, pairs, own, labels)
    moves = [None] if k == 2 else list(range(k))
    one_cut_does = k == 2 and bool((_preference(own) >= 0).all())
    turn = idle = 0
    while idle < len(moves):
        found = _move(gains, pairs, own, labels, moves[turn])
        reached = total_score(gains, pairs, own, found)
        idle += 1
        if reached > score + least:
            labels, score, idle = found, reached, int(one_cut_does)
        turn = (turn + 1) % len(moves)
    return labels


def _move(
    fields: NDArray[np.float64],
    edges: NDArray[np.intp],
    tables: NDArray[np.float64],
    labels: NDArray[np.intp],
    alpha: int | None,
) -> NDArray[np.intp]:
    """Return the labels after a cut: between two labels, or between keeping one and ``alpha``."""
    if alpha is None:
        return _cut(fields, edges, tables, labels)
    either = np.column_stack([labels, np.full_like(labels, alpha)])
    one, other = either[edges[:, 0]], either[edges[:, 1]]
    gains = np.take_along_axis(fields, either, axis=1)
    pairs = tables[np.arange(len(edges))[:, None, None], one[:, :, None], other[:, None, :]]
    return np.where(_cut(gains, edges, pairs, np.zeros_like(labels)), alpha, labels)


def _cut(
    fields: NDArray[np.float64],
    edges: NDArray[np.intp],
    tables: NDArray[np.float64],
    start: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Return the 0/1 states of the best score; of a bound from below where that is no cut."""
    one, other = edges.T
    own = tables.copy()
    equal = _preference(own)
    # half of what is missing from each unequal pair, all from the one that is not at the start
    excess, lean = np.maximum(-equal, 0.0) / 2, start[one] - start[other]
    own[:, 0, 1] -= excess * (1 + lean)
    own[:, 1, 0] -= excess * (1 - lean)
    raised = fields[:, 1] - fields[:, 0]
    raised += np.bincount(one, own[:, 1, 0] - own[:, 0, 0], len(fields))
    raised += np.bincount(other, own[:, 1, 1] - own[:, 1, 0], len(fields))

    graph = _library().Graph[float](len(fields), len(edges))
    graph.add_nodes(len(fields))
    for site, gain in enumerate(raised.tolist()):
        graph.add_tedge(site, max(-gain, 0.0), max(gain, 0.0))
    joined = equal > 0
    weights = equal[joined]
    graph.add_edges(one[joined], other[joined], weights, np.zeros_like(weights))
    graph.maxflow()
    return np.array([graph.get_segment(site) for site in range(len(fields))], dtype=np.intp)


def _preference(tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each edge gains by equal states."""
    return tables[:, 0, 0] + tables[:, 1, 1] - tables[:, 0, 1] - tables[:, 1, 0]


def _library() -> Any:
    try:
        import maxflow
    except ImportError:
        text = "graph cuts need PyMaxflow, which is not installed: pip install 'herder[cut]'"
        raise ImportError(text) from None
    return maxflow
