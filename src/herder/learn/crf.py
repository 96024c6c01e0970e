r"""Pairwise conditional random fields: baselines of herding with inconsistent marginals.

A field on one input is a table for each node and each edge, the logarithm of what these
contribute, :math:`\log P(y) = \sum_i f_i(y_i) + \sum_e T_e(y_a, y_b) - \log Z`. Its most probable
labels are ``maximise_by_cut(fields, edges, tables, fields.argmax(axis=1))``, its marginals
``propagate(fields, edges, tables).marginals``.

**From local classifiers**, `piecewise_tables` [chen2014]_ (section 3.5.1): of probabilities
:math:`p_i = P(y_i = 1)` and :math:`q_{ij} = P(y_i \ne y_j)` it makes the energy

.. math:: E(y) = -\sum_i \log p_i(y_i) + \lambda \sum_{ij} [y_i \ne y_j] \, c(q_{ij}), \qquad
          c(q) = -\log q \ \text{ or } \ \max \Bigl( 0, \log \frac{1 - q}{q} \Bigr).

The thesis has the first cost, in equation 3.46, but without the minus signs: with that energy
improbable labels would be best. The second, the log odds, costs nothing where neighbours are as
likely to differ as not; negative odds are cut off, so that one cut maximises.

**With shared parameters**, `fit_shared`: two states s of -1 and +1,

.. math:: \log P(s) = \sum_i (u_i^T \theta) \, s_i + \sum_{ij} (v_{ij}^T \omega) \, s_i s_j
          - \log Z,

with features u of nodes and v of edges. In a model of Go they are indicators of the stones at a
point and at two neighbours [stern2004]_. Parameters minimise the negative log likelihood of a
node plus :math:`\alpha (|\theta|^2 + |\omega|^2)`, by L-BFGS. For ``"likelihood"`` log Z and its
derivatives, the expected features, are those of belief propagation; for ``"pseudo"`` a node is
predicted given its neighbours, :math:`P(s_i | s) = \sigma(2 s_i (u_i^T \theta + \sum_j
v_{ij}^T \omega \, s_j))` [besag1975]_.
"""

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import non_negative_number, one_of
from herder.core.blas import one_blas_thread
from herder.models.graph import finite_array
from herder.models.tables import check_ends, check_labels
from herder.samplers.belief import propagate

__all__ = ["fit_shared", "piecewise_tables", "shared_tables"]

#: Probabilities are kept this far from 0 and 1: their logarithms are finite.
SMALLEST = 1e-6

#: Products of two states -1 and +1.
PRODUCTS = np.array([[1.0, -1.0], [-1.0, 1.0]])

MAX_ITER = 500


def piecewise_tables(
    chances: ArrayLike, differ: ArrayLike, weight: float, *, clipped: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return fields (n, 2) and tables (m, 2, 2) of local probabilities.

    Parameters
    ----------
    chances : array-like of shape (n_nodes,)
        Probability of label 1 at each node.
    differ : array-like of shape (n_edges,)
        Probability that the labels of two neighbours differ.
    weight : float
        Lambda, the weight of the edges.
    clipped : bool, default True
        Whether unequal labels cost log odds, and none below zero; else -log q.

    Examples
    --------
    >>> fields, tables = piecewise_tables([0.9, 0.4], [0.2], 2.0)
    >>> tables.round(2).tolist()
    [[[0.0, -2.77], [-2.77, 0.0]]]
    """
    p, q = _probabilities(chances, "chances"), _probabilities(differ, "differ")
    cost = np.maximum(np.log((1 - q) / q), 0.0) if clipped else -np.log(q)
    cost *= non_negative_number(weight, "weight")
    return np.log(np.column_stack([1 - p, p])), cost[:, None, None] * (np.eye(2) - 1)


def shared_tables(
    biases: NDArray[np.float64], couplings: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return fields (n, 2) and tables (m, 2, 2) of biases and couplings of -1/+1 states.

    ``node_features @ theta`` are the biases and ``edge_features @ omega`` the couplings of what
    `fit_shared` returned.
    """
    return np.outer(biases, [-1.0, 1.0]), couplings[:, None, None] * PRODUCTS


@one_blas_thread()  # the same bits for any number of threads
def fit_shared(
    node_features: ArrayLike,
    edges: ArrayLike,
    edge_features: ArrayLike,
    labels: ArrayLike,
    *,
    method: str = "pseudo",
    alpha: float = 0.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit parameters that all nodes, and all edges, share; many inputs make one graph of parts.

    Parameters
    ----------
    node_features : array-like of shape (n_nodes, n_node_features)
        What the bias of a node is a weighted sum of.
    edges : array-like of int of shape (n_edges, 2)
        Neighbours.
    edge_features : array-like of shape (n_edges, n_edge_features)
        What the coupling of an edge is a weighted sum of.
    labels : array-like of shape (n_nodes,)
        0 for the state -1 and 1 for the state +1.
    method : {"pseudo", "likelihood"}
        Pseudo-likelihood, or likelihood by belief propagation.
    alpha : float, default 0.0
        Weight of the sum of squared parameters.

    Returns
    -------
    theta, omega : ndarray
        Parameters of the node features, and of the edge features.

    Examples
    --------
    >>> labels = [1, 1, 1, 0, 1, 1, 0, 0]
    >>> chain = [(i, i + 1) for i in range(7)]
    >>> theta, omega = fit_shared(np.ones((8, 1)), chain, np.ones((7, 1)), labels)
    >>> print(f"{theta[0]:.2f} {omega[0]:.2f}")
    0.19 0.14
    """
    one_of(method, "method", ("pseudo", "likelihood"))
    strength = non_negative_number(alpha, "alpha")
    own = _feature_rows(node_features, "node_features")
    pairs = check_ends(edges, len(own))
    both = _feature_rows(edge_features, "edge_features")
    if len(both) != len(pairs):
        rule = f"have a row for each of {len(pairs)} edges"
        raise ParameterError("edge_features", rule, got=f"{len(both)} rows")
    states = PRODUCTS[1, check_labels(labels, len(own), 2, "labels")]
    loss = _pseudo_loss if method == "pseudo" else _likelihood_loss
    n_own = own.shape[1]

    def objective(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        biases, couplings = own @ parameters[:n_own], both @ parameters[n_own:]
        value, by_bias, by_coupling = loss(biases, pairs, couplings, states)
        gradient = np.concatenate([by_bias @ own, by_coupling @ both]) / len(own)
        value = value / len(own) + strength * (parameters @ parameters)
        return float(value), gradient + 2 * strength * parameters

    from scipy.optimize import minimize

    start = np.zeros(n_own + both.shape[1])
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": MAX_ITER})
    if not found.success:
        from sklearn.exceptions import ConvergenceWarning

        text = f"fit_shared ended after {found.nit} iterations: {found.message}; raise alpha"
        warnings.warn(text, ConvergenceWarning, stacklevel=2)
    return found.x[:n_own], found.x[n_own:]


def _pseudo_loss(
    biases: NDArray[np.float64],
    edges: NDArray[np.intp],
    couplings: NDArray[np.float64],
    states: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return minus the log pseudo-likelihood, and its derivatives by biases and couplings."""
    one, other = edges.T
    n = len(biases)
    drive = biases + np.bincount(one, couplings * states[other], n)
    drive += np.bincount(other, couplings * states[one], n)
    value = np.logaddexp(0.0, -2 * states * drive).sum()
    missed = np.tanh(drive) - states  # of the expected state, given the neighbours
    return float(value), missed, missed[one] * states[other] + missed[other] * states[one]


def _likelihood_loss(
    biases: NDArray[np.float64],
    edges: NDArray[np.intp],
    couplings: NDArray[np.float64],
    states: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return minus the log likelihood, and its derivatives, by belief propagation."""
    fields, tables = shared_tables(biases, couplings)
    found = propagate(fields, edges, tables)
    products = states[edges].prod(axis=1)
    means = found.marginals[:, 1] - found.marginals[:, 0]
    expected = (found.pair_marginals * PRODUCTS).sum(axis=(1, 2))
    value = found.log_partition - biases @ states - couplings @ products
    return float(value), means - states, expected - products


def _probabilities(values: ArrayLike, name: str) -> NDArray[np.float64]:
    found = finite_array(values, name)
    if found.ndim != 1 or ((found < 0) | (found > 1)).any():
        raise ParameterError(name, "be a list of probabilities", got=f"shape {found.shape}")
    return np.clip(found, SMALLEST, 1 - SMALLEST)


def _feature_rows(values: ArrayLike, name: str) -> NDArray[np.float64]:
    found = finite_array(values, name)
    if found.ndim != 2:
        raise ParameterError(name, "be rows by columns", got=f"shape {found.shape}")
    return found
