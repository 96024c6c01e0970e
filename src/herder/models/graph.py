"""Graphs of pairwise models: couplings that are checked once, their edges and neighbours."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from herder._csr import summed_csr
from herder._errors import ParameterError, ParameterTypeError
from herder._validation import finite_number, flag, plain_array, real_array

__all__ = [
    "Adjacency",
    "Couplings",
    "adjacency_of",
    "check_couplings",
    "check_edges",
    "check_names",
    "check_shape",
    "couplings_of_edges",
    "edges_of",
    "finite_array",
    "graph_edges",
    "grid_edges",
    "random_couplings",
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
    rows: Any = couplings
    is_sparse = sparse.issparse(couplings)
    if not is_sparse:
        rows = finite_array(couplings, "couplings")
    if rows.ndim != 2 or rows.shape[0] != rows.shape[1] or not rows.shape[0]:
        raise ParameterError("couplings", "be a square matrix", got=f"shape {rows.shape}")
    if is_sparse:
        rows = summed_csr(rows, "couplings")
        finite_array(rows.data, "couplings")
        rows = sparse.csr_array(rows, dtype=np.float64)
    diagonal = rows.diagonal()
    if diagonal.any():
        site = int(np.flatnonzero(diagonal)[0])
        remedy = "for 0/1 states half of it belongs into biases, for -1/+1 it is a constant"
        found = f"{diagonal[site]:g} at site {site}: {remedy}"
        raise ParameterError("couplings", "have a zero diagonal", got=found)
    gap = abs(rows - rows.T)
    if gap.max() > ASYMMETRY * abs(rows).max():
        i, j = divmod(int(gap.argmax()), rows.shape[0])
        found = f"{rows[i, j]:g} at ({i}, {j}) and {rows[j, i]:g} at ({j}, {i})"
        remedy = "(W + W.T) / 2 has the same energies"
        raise ParameterError("couplings", "be symmetric", got=f"{found}: {remedy}")
    rows = rows / 2 + rows.T / 2
    if not is_sparse:
        return _read_only(rows)
    rows = sparse.csr_array(rows)
    rows.eliminate_zeros()
    rows.sort_indices()
    for part in (rows.data, rows.indices, rows.indptr):
        _read_only(part)
    return rows


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


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
    found = real_array(values, name).copy()
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
    if not isinstance(names, Iterable) or getattr(names, "ndim", 1) == 0:
        raise ParameterTypeError("names", "be a list of texts", names)
    found = tuple(str(name) for name in names)
    if len(found) != n_sites or len(set(found)) != n_sites:
        given = f"{len(found)}, {len(set(found))} of them different"
        raise ParameterError("names", f"be {n_sites} different texts", got=given)
    return found


def edges_of(couplings: Couplings) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the edges (m, 2) with i < j, in row order, and their couplings."""
    if isinstance(couplings, np.ndarray):
        i, j = np.nonzero(np.triu(couplings, 1))
        weights = couplings[i, j]
    else:
        upper = sparse.coo_array(sparse.triu(couplings, 1, format="csr"))
        i, j, weights = upper.row, upper.col, upper.data
    edges = np.column_stack([i, j]).astype(np.intp)
    return _read_only(edges), _read_only(np.array(weights, dtype=np.float64))


def adjacency_of(couplings: Couplings) -> Adjacency:
    """Return the neighbours of all sites."""
    rows = sparse.csr_array(couplings)
    kept = np.intp, np.intp, np.float64
    parts = zip((rows.indptr, rows.indices, rows.data), kept, strict=True)
    return Adjacency._make(_read_only(part.astype(kind)) for part, kind in parts)


def couplings_of_edges(n_sites: int, edges: ArrayLike, weights: ArrayLike) -> sparse.csr_array:
    """Return CSR couplings from one weight for each edge; an edge given twice is an error."""
    pairs = check_edges(edges, n_sites)
    values = finite_array(weights, "weights")
    if values.shape not in ((), (len(pairs),)):
        rule = f"be one number, or one for each of {len(pairs)} edges"
        raise ParameterError("weights", rule, got=f"shape {values.shape}")
    both = np.concatenate([pairs, pairs[:, ::-1]]).T
    twice = np.tile(np.broadcast_to(values, len(pairs)), 2)
    return sparse.csr_array((twice, tuple(both)), shape=(n_sites, n_sites))


def random_couplings(
    n_sites: int, graph: str | ArrayLike, coupling_sd: float, rng: np.random.Generator
) -> Couplings:
    """Draw normal couplings of zero mean on a graph; those of a complete one are dense."""
    edges = graph_edges(graph, n_sites)
    weights = rng.normal(size=len(edges)) * finite_number(coupling_sd, "coupling_sd")
    rows = couplings_of_edges(n_sites, edges, weights)
    return rows.toarray() if isinstance(graph, str) and graph == "complete" else rows


def check_edges(edges: ArrayLike, n_sites: int, name: str = "edges") -> NDArray[np.intp]:
    """Return edges as (m, 2) with i < j, each once."""
    pairs = plain_array(edges, name, "be pairs of site numbers")
    if not pairs.size:
        return np.empty((0, 2), dtype=np.intp)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ParameterError(name, "be pairs of site numbers", got=f"shape {pairs.shape}")
    if pairs.min() < 0 or pairs.max() >= n_sites:
        wrong = pairs[(pairs < 0) | (pairs >= n_sites)][0]
        raise ParameterError(name, f"name sites from 0 to {n_sites - 1}", wrong)
    pairs = np.sort(pairs, axis=1).astype(np.intp)
    loops = pairs[pairs[:, 0] == pairs[:, 1]]
    if len(loops):
        raise ParameterError(name, "join two sites", tuple(loops[0].tolist()))
    if len(np.unique(pairs[:, 0] * n_sites + pairs[:, 1])) != len(pairs):
        raise ParameterError(name, "be given once each", got="one twice")
    return pairs


def grid_edges(shape: int | Sequence[int], *, periodic: bool = False) -> NDArray[np.intp]:
    """Return the edges of a grid with any number of axes, sites in C order.

    A periodic axis of length 2 has one edge between its two sites, not two.
    """
    sizes = check_shape(shape)
    periodic = flag(periodic, "periodic")
    sites = np.arange(math.prod(sizes), dtype=np.intp).reshape(sizes)
    parts = []
    for axis, size in enumerate(sizes):
        along = np.moveaxis(sites, axis, 0)
        parts.append(np.column_stack([along[:-1].ravel(), along[1:].ravel()]))
        if periodic and size > 2:
            parts.append(np.column_stack([along[0].ravel(), along[-1].ravel()]))
    pairs = np.concatenate(parts)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def check_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    """Return the lengths of the axes of a grid."""
    axes = (shape,) if isinstance(shape, int | np.integer) else shape
    try:
        sizes = tuple(axes)
    except (TypeError, ValueError, NotImplementedError):  # some sparse matrices
        sizes = ()
    if not sizes or any(
        isinstance(size, bool | np.timedelta64)  # which NumPy counts among the integers
        or not isinstance(size, int | np.integer)
        or size < 1
        for size in sizes
    ):
        raise ParameterError("shape", "be positive integers such as (10, 10)", shape)
    if math.prod(map(int, sizes)) >= 2**31:
        raise ParameterError("shape", "have less than 2**31 sites", shape)
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
    rule = "be 'complete', 'grid', 'loop', 'empty' or an array of edges"
    raise ParameterError("graph", rule, graph)


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
    if isinstance(key, str | tuple):
        key = str(key)  # a node of a grid, (row, column), is named by its text
        if key not in number:
            known = f"known: {', '.join(list(number)[:5])}" if number else "the model has no names"
            raise ParameterError("evidence", "be on sites of the model", got=f"{key!r} ({known})")
        return number[key]
    if isinstance(key, bool) or not isinstance(key, int | np.integer):
        raise ParameterTypeError("evidence", "be on sites by number or name", key)
    named = number.get(str(key))
    if named is not None and named != key:
        if 0 <= key < n_sites:
            found = f"{key}, which is also the name of site {named}: a name must be a text"
            raise ParameterError("evidence", "name its sites unambiguously", got=found)
        return named
    if not 0 <= key < n_sites:
        raise ParameterError("evidence", f"be on sites 0 to {n_sites - 1}", key)
    return int(key)


def split_couplings(
    couplings: Couplings, free: NDArray[np.intp], held: NDArray[np.intp]
) -> tuple[Couplings, Couplings, Couplings]:
    """Return the couplings among free sites, of free to held ones, and among held ones."""
    blocks = (free, free), (free, held), (held, held)
    among, across, fixed = (couplings[np.ix_(*block)] for block in blocks)
    return among, across, fixed
