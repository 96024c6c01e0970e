"""Graphs of pairwise models: couplings that are checked once, their edges and neighbours."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from herder._errors import ParameterError, ParameterTypeError

__all__ = [
    "Adjacency",
    "Couplings",
    "adjacency_of",
    "check_couplings",
    "check_edges",
    "check_names",
    "couplings_of_edges",
    "edges_of",
    "finite_array",
    "graph_edges",
    "grid_edges",
    "read_evidence",
    "row_blocks",
    "size_of",
    "split_couplings",
    "spread_field",
]

#: Dense or CSR, symmetric, with a zero diagonal.
Couplings = NDArray[np.float64] | sparse.csr_array

#: Couplings may differ from their mirror image by this much of the largest: what rounding does.
ASYMMETRY = 1e-10

#: Numbers that are handled at a time when many states are looked at.
BLOCK = 2**22


class Adjacency(NamedTuple):
    """Neighbours of all sites, row after row; those of a site are in order."""

    indptr: NDArray[np.intp]
    indices: NDArray[np.intp]
    weights: NDArray[np.float64]


def check_couplings(couplings: object) -> Couplings:
    """Return couplings as read-only float64, dense or CSR as they came."""
    if sparse.issparse(couplings):
        return _check_sparse(couplings)
    dense = finite_array(couplings, "couplings")
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1] or not dense.size:
        raise ParameterError("couplings", "be a square matrix", got=f"shape {dense.shape}")
    if dense.diagonal().any():
        site = int(np.flatnonzero(dense.diagonal())[0])
        raise _diagonal_error(site, dense[site, site])
    gap = np.abs(dense - dense.T)
    if gap.max() > ASYMMETRY * np.abs(dense).max():
        i, j = np.unravel_index(gap.argmax(), gap.shape)
        raise _symmetry_error(int(i), int(j), dense[i, j], dense[j, i])
    dense = dense / 2 + dense.T / 2
    dense.setflags(write=False)
    return dense


def _check_sparse(couplings: Any) -> sparse.csr_array:
    if couplings.ndim != 2 or couplings.shape[0] != couplings.shape[1] or not couplings.shape[0]:
        raise ParameterError("couplings", "be a square matrix", got=f"shape {couplings.shape}")
    rows = sparse.csr_array(couplings, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    if not np.isfinite(rows.data).all():
        wrong = rows.data[~np.isfinite(rows.data)][0]
        raise ParameterError("couplings", "be finite", wrong)
    diagonal = rows.diagonal()
    if diagonal.any():
        site = int(np.flatnonzero(diagonal)[0])
        raise _diagonal_error(site, diagonal[site])
    gap = sparse.coo_array(rows - rows.T)
    if gap.nnz and np.abs(gap.data).max() > ASYMMETRY * np.abs(rows.data).max():
        worst = int(np.abs(gap.data).argmax())
        i, j = int(gap.row[worst]), int(gap.col[worst])
        raise _symmetry_error(i, j, rows[i, j], rows[j, i])
    rows = sparse.csr_array(rows / 2 + rows.T / 2)
    rows.eliminate_zeros()
    rows.sort_indices()
    for part in (rows.data, rows.indices, rows.indptr):
        part.setflags(write=False)
    return rows


def _diagonal_error(site: int, value: float) -> ParameterError:
    return ParameterError(
        "couplings",
        "have a zero diagonal",
        got=f"{value:g} at site {site}: for 0/1 states half of it belongs into biases, for -1/+1 "
        "it is a constant",
    )


def _symmetry_error(i: int, j: int, one: float, other: float) -> ParameterError:
    return ParameterError(
        "couplings",
        "be symmetric",
        got=f"{one:g} at ({i}, {j}) and {other:g} at ({j}, {i}): (W + W.T) / 2 gives the same "
        "energies",
    )


def size_of(couplings: Couplings) -> int:
    """Return the number of sites."""
    shape: Any = couplings.shape
    return int(shape[0])


def row_blocks(n_rows: int, width: int) -> list[slice]:
    """Cut rows into blocks of about BLOCK numbers."""
    size = max(1, BLOCK // width)
    return [slice(start, start + size) for start in range(0, n_rows, size)]


def finite_array(values: object, name: str) -> NDArray[np.float64]:
    """Return a copy of ``values`` as float64 without NaN and infinity."""
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterTypeError(name, "be numbers", got=type(values).__name__) from None
    if not np.isfinite(found).all():
        raise ParameterError(name, "be finite", found[~np.isfinite(found)][0])
    return found


def spread_field(field: object, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a field as an array of the shape of all sites, from one number or many."""
    values = finite_array(field, "field")
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise ParameterError("field", f"fit the shape {shape}", values.shape) from None


def check_names(names: Iterable[object] | None, n_sites: int) -> tuple[str, ...] | None:
    """Return names of sites as texts, all different."""
    if names is None:
        return None
    if not isinstance(names, Iterable):
        raise ParameterTypeError("names", "be a list of texts", names)
    found = tuple(str(name) for name in names)
    if len(found) != n_sites or len(set(found)) != n_sites:
        raise ParameterError(
            "names",
            f"be {n_sites} different texts",
            got=f"{len(found)}, {len(set(found))} of them different",
        )
    return found


def edges_of(couplings: Couplings) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the edges (m, 2) with i < j, in row order, and their couplings."""
    if isinstance(couplings, np.ndarray):
        i, j = np.nonzero(np.triu(couplings, 1))
        weights = couplings[i, j]
    else:
        upper = sparse.coo_array(sparse.triu(couplings, 1, format="csr"))
        i, j, weights = upper.row, upper.col, upper.data
    edges, values = np.column_stack([i, j]).astype(np.intp), np.array(weights, dtype=np.float64)
    edges.setflags(write=False)
    values.setflags(write=False)
    return edges, values


def adjacency_of(couplings: Couplings) -> Adjacency:
    """Return the neighbours of all sites."""
    rows = sparse.csr_array(couplings)
    found = Adjacency(
        rows.indptr.astype(np.intp),
        rows.indices.astype(np.intp),
        np.array(rows.data, dtype=np.float64),
    )
    for part in found:
        part.setflags(write=False)
    return found


def couplings_of_edges(n_sites: int, edges: ArrayLike, weights: ArrayLike) -> sparse.csr_array:
    """Return CSR couplings from one weight for each edge; an edge given twice is an error."""
    pairs = check_edges(edges, n_sites)
    values = finite_array(weights, "weights")
    if values.shape not in ((), (len(pairs),)):
        raise ParameterError(
            "weights",
            f"be one number, or one for each of {len(pairs)} edges",
            got=f"shape {values.shape}",
        )
    values = np.broadcast_to(values, len(pairs))
    i, j = pairs.T
    both = (np.concatenate([i, j]), np.concatenate([j, i]))
    return sparse.csr_array((np.concatenate([values, values]), both), shape=(n_sites, n_sites))


def check_edges(edges: ArrayLike, n_sites: int, name: str = "edges") -> NDArray[np.intp]:
    """Return edges as (m, 2) with i < j, each once."""
    try:
        pairs = np.asarray(edges)
    except ValueError:
        raise ParameterError(
            name, "be pairs of site numbers", got="rows of unlike length"
        ) from None
    if not pairs.size:
        return np.empty((0, 2), dtype=np.intp)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ParameterError(name, "be pairs of site numbers", got=f"shape {pairs.shape}")
    if pairs.min() < 0 or pairs.max() >= n_sites:
        wrong = pairs[(pairs < 0) | (pairs >= n_sites)][0]
        raise ParameterError(name, f"name sites from 0 to {n_sites - 1}", wrong)
    pairs = np.sort(pairs, axis=1).astype(np.intp)
    if (pairs[:, 0] == pairs[:, 1]).any():
        site = pairs[pairs[:, 0] == pairs[:, 1]][0, 0]
        raise ParameterError(name, "join two sites", got=f"({site}, {site})")
    if len(np.unique(pairs[:, 0] * n_sites + pairs[:, 1])) != len(pairs):
        raise ParameterError(name, "be given once each", got="one twice")
    return pairs


def grid_edges(shape: int | Sequence[int], *, periodic: bool = False) -> NDArray[np.intp]:
    """Return the edges of a grid with any number of axes, sites in C order.

    A periodic axis of length 2 has one edge between its two sites, not two.
    """
    sizes = _check_shape(shape)
    sites = np.arange(math.prod(sizes), dtype=np.intp).reshape(sizes)
    parts = []
    for axis, size in enumerate(sizes):
        first = np.take(sites, range(size - 1), axis).ravel()
        parts.append(np.column_stack([first, np.take(sites, range(1, size), axis).ravel()]))
        if periodic and size > 2:
            ends = np.take(sites, 0, axis).ravel(), np.take(sites, size - 1, axis).ravel()
            parts.append(np.column_stack(ends))
    pairs = np.concatenate(parts)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _check_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if not sizes or any(
        isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1
        for size in sizes
    ):
        raise ParameterError("shape", "be positive integers such as (10, 10)", shape)
    return tuple(int(size) for size in sizes)


def graph_edges(graph: str | ArrayLike, n_sites: int) -> NDArray[np.intp]:
    """Return the edges of a graph by name, or check edges that are given."""
    if not isinstance(graph, str):
        return check_edges(graph, n_sites)
    if graph == "complete":
        return np.column_stack(np.triu_indices(n_sites, 1))
    if graph == "empty":
        return np.empty((0, 2), dtype=np.intp)
    if graph == "loop":
        return grid_edges(n_sites, periodic=True)
    if graph == "grid":
        side = math.isqrt(n_sites)
        if side**2 != n_sites:
            raise ParameterError("n_sites", "be a square number for a grid", n_sites)
        return grid_edges((side, side))
    raise ParameterError(
        "graph", "be 'complete', 'grid', 'loop', 'empty' or an array of edges", graph
    )


def read_evidence(
    evidence: Mapping[Any, Any] | None, n_sites: int, names: tuple[str, ...] | None
) -> tuple[NDArray[np.intp], list[Any]]:
    """Return the sites of evidence, in order, and the values they are held at."""
    if evidence is None:
        return np.empty(0, dtype=np.intp), []
    if not isinstance(evidence, Mapping):
        kind = type(evidence).__name__
        raise ParameterTypeError("evidence", "map sites to values", got=kind)
    found: dict[int, Any] = {}
    number = {} if names is None else {name: site for site, name in enumerate(names)}
    for key, value in evidence.items():
        site = _site_number(key, n_sites, number)
        if site in found:
            raise ParameterError("evidence", "name each site once", got=f"site {site} twice")
        found[site] = value
    sites = sorted(found)
    return np.array(sites, dtype=np.intp), [found[site] for site in sites]


def _site_number(key: object, n_sites: int, number: Mapping[str, int]) -> int:
    """Return the number of a site; a number may be a name as well, but not of another site."""
    if isinstance(key, str):
        if key not in number:
            known = f"known: {', '.join(list(number)[:5])}" if number else "the model has no names"
            raise ParameterError("evidence", "be on sites of the model", got=f"{key!r} ({known})")
        return number[key]
    if isinstance(key, bool) or not isinstance(key, int | np.integer):
        raise ParameterTypeError("evidence", "be on sites by number or name", key)
    named = number.get(str(key))
    if named is not None and named != key:
        if 0 <= key < n_sites:
            raise ParameterError(
                "evidence",
                "say which site it means",
                got=f"{key}: the site of that number, or that of the name {str(key)!r}, "
                f"which has the number {named}? A name is a text",
            )
        return named
    if not 0 <= key < n_sites:
        raise ParameterError("evidence", f"be on sites 0 to {n_sites - 1}", key)
    return int(key)


def split_couplings(
    couplings: Couplings, free: NDArray[np.intp], held: NDArray[np.intp]
) -> tuple[Couplings, Couplings, Couplings]:
    """Return the couplings among free sites, of free to held ones, and among held ones."""
    if isinstance(couplings, np.ndarray):
        return (
            couplings[np.ix_(free, free)],
            couplings[np.ix_(free, held)],
            couplings[np.ix_(held, held)],
        )
    rows = couplings[free]
    return rows[:, free], rows[:, held], couplings[held][:, held]
