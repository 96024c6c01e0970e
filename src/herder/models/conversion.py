r"""Models to and from dimod and networkx.

dimod minimises :math:`E = \sum_i h_i x_i + \sum_{i < j} J_{ij} x_i x_j + c`, over 0/1
(``BINARY``) or -1/+1 (``SPIN``), so that :math:`h = -b` and :math:`J = -W`: energies are the
same on both sides. A graph of networkx holds W on its edges (``weight``) and b on its nodes
(``bias``).
Labels become names, and names labels; a model without names has the labels 0 to n - 1. Names are
texts: that of a tuple, such as ``"(0, 1)"`` for a site of a grid, becomes the tuple again, and
where all names are those of integers, integers.
"""

import re
from ast import literal_eval
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from herder._errors import ParameterError, ParameterTypeError
from herder.data.states import check_alphabet
from herder.models.pairwise import PairwiseModel

__all__ = ["from_dimod", "from_networkx", "to_dimod", "to_networkx"]


def to_dimod(model: PairwiseModel) -> Any:
    """Return a dimod BinaryQuadraticModel with the same energies.

    Parameters
    ----------
    model : PairwiseModel
        The model. Its states decide between ``BINARY`` and ``SPIN``.

    Examples
    --------
    >>> from herder.models.pairwise import PairwiseModel
    >>> model = PairwiseModel([[0, 2], [2, 0]], [0.5, 0], names=["a", "b"])
    >>> to_dimod(model).energy({"a": 1, "b": 1}), model.energy([1, 1])
    (np.float64(-2.5), -2.5)
    """
    dimod = _import("dimod", "to_dimod")
    labels = _labels(model)
    quadratic = dimod.BinaryQuadraticModel(dimod.BINARY if 0 in model.states else dimod.SPIN)
    quadratic.add_linear_from(zip(labels, (-model.biases).tolist(), strict=True))
    ends, weights = model.edges.tolist(), (-model.edge_weights).tolist()
    quadratic.add_quadratic_from(
        (labels[i], labels[j], weight) for (i, j), weight in zip(ends, weights, strict=True)
    )
    quadratic.offset = model.offset
    return quadratic


def from_dimod(quadratic: Any) -> PairwiseModel:
    """Make the model whose energies are those of a dimod BinaryQuadraticModel.

    Parameters
    ----------
    quadratic : dimod.BinaryQuadraticModel
        Of either vartype.
    """
    needed = ("vartype", "linear", "quadratic", "offset")
    if not all(hasattr(quadratic, name) for name in needed):
        kind = type(quadratic).__name__
        raise ParameterTypeError("quadratic", "be a dimod BinaryQuadraticModel", got=kind)
    labels = list(quadratic.linear)
    if not labels:
        raise ParameterError("quadratic", "have variables", got="none")
    weights = {edge: -float(weight) for edge, weight in quadratic.quadratic.items()}
    biases = [-float(bias) for bias in quadratic.linear.values()]
    states = (0, 1) if quadratic.vartype.name == "BINARY" else (-1, 1)
    return _model(labels, weights, biases, states, float(quadratic.offset))


def to_networkx(model: PairwiseModel) -> Any:
    """Return a networkx graph with the weights of edges and the biases of nodes.

    The graph's own attributes hold ``states`` and ``offset``.

    Parameters
    ----------
    model : PairwiseModel
        The model.
    """
    networkx = _import("networkx", "to_networkx")
    labels = _labels(model)
    graph = networkx.Graph(states=model.states, offset=model.offset)
    for label, bias in zip(labels, model.biases.tolist(), strict=True):
        graph.add_node(label, bias=bias)
    for (i, j), weight in zip(model.edges.tolist(), model.edge_weights.tolist(), strict=True):
        graph.add_edge(labels[i], labels[j], weight=weight)
    return graph


def from_networkx(
    graph: Any, states: Sequence[int] | None = None, *, weight: str = "weight"
) -> PairwiseModel:
    """Make a model from a graph: edges have a ``weight``, nodes may have a ``bias``.

    Parameters
    ----------
    graph : networkx.Graph
        Undirected, without parallel edges and loops.
    states : (0, 1) or (-1, 1), optional
        The two values of a site; by default those that `to_networkx` wrote, or (0, 1). Others
        than it wrote are refused: the weights would mean another distribution.
    weight : str, default "weight"
        Attribute of the edges that holds their couplings.

    Examples
    --------
    >>> import networkx
    >>> graph = networkx.path_graph(3)
    >>> networkx.set_edge_attributes(graph, 0.5, "weight")
    >>> from_networkx(graph, (-1, 1))
    PairwiseModel(3 sites, 2 edges, states=(-1, 1))
    """
    if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed")):
        raise ParameterTypeError("graph", "be a networkx Graph", got=type(graph).__name__)
    if graph.is_directed() or graph.is_multigraph():
        kind = type(graph).__name__
        raise ParameterError("graph", "be undirected and have no parallel edges", got=kind)
    if not isinstance(weight, str):
        raise ParameterTypeError("weight", "be the name of an attribute", weight)
    wanted = (0, 1) if states is None else check_alphabet(states)
    written = check_alphabet(graph.graph.get("states", wanted))
    if states is not None and wanted != written:
        raise ParameterError("states", f"be {written} as in the graph", states)
    labels = list(graph.nodes)
    if not labels:
        raise ParameterError("graph", "have nodes", got="none")
    weights = {}
    for one, other, coupling in graph.edges(data=weight):
        if one == other:
            raise ParameterError("graph", "have no self-loops", got=f"one at {one!r}")
        if coupling is None:
            at = f"none at {(one, other)}"
            raise ParameterError("graph", f"have a {weight} on every edge", got=at)
        weights[one, other] = coupling
    biases = [bias for _, bias in graph.nodes(data="bias", default=0.0)]
    return _model(labels, weights, biases, written, graph.graph.get("offset", 0.0))


def _model(
    labels: list[Any],
    weights: Mapping[tuple[Any, Any], Any],
    biases: list[Any],
    states: Sequence[int],
    offset: float,
) -> PairwiseModel:
    """Make a model of labelled sites; labels 0 to n - 1 are those of a model without names."""
    place = {label: i for i, label in enumerate(labels)}
    edges = np.array([(place[i], place[j]) for i, j in weights], dtype=np.intp)
    names = None if labels == list(range(len(labels))) else labels
    values = list(weights.values())
    return PairwiseModel.from_edges(
        len(labels), edges, values, biases, states, offset=offset, names=names
    )


def _labels(model: PairwiseModel) -> list[Any]:
    if model.names is None:
        return list(range(model.n_sites))
    # One digit among names, such as "1" beside "a", is a name like the others.
    if all(re.fullmatch("0|-?[1-9][0-9]*", name) for name in model.names):
        return [int(name) for name in model.names]
    return [_label(name) for name in model.names]


def _label(name: str) -> Any:
    """Return the tuple whose text a name is, else the name."""
    if not (name.startswith("(") and name.endswith(")")):
        return name
    try:
        found = literal_eval(name)
    except (ValueError, SyntaxError):
        return name
    return found if isinstance(found, tuple) and str(found) == name else name


def _import(library: str, needs: str) -> Any:
    """Import a library; the error names how to install it."""
    try:
        return import_module(library)
    except ModuleNotFoundError:
        missing = f"{needs} needs {library}, which is not installed: pip install {library}"
        raise ModuleNotFoundError(missing) from None
