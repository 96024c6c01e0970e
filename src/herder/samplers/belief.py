r"""Loopy belief propagation: fast approximate marginals, without sampling.

With fields f and a table T for each edge, :math:`\log P(x) = \sum_i f_i(x_i) + \sum_{ij}
T_{ij}(x_i, x_j) - \log Z`, every site sends its neighbours what it expects of them given the rest
of its neighbourhood,

.. math:: m_{i \to j}(b) = \log \sum_a \exp \Bigl( T_{ij}(a, b) + f_i(a)
          + \sum_{k \ne j} m_{k \to i}(a) \Bigr) + \text{const},

until messages no longer change. Then :math:`b_i = f_i + \sum_k m_{k \to i}` are the log marginals
of the sites, and :math:`b_{ij} = T_{ij} + b_i - m_{j \to i} + b_j - m_{i \to j}` those of the
edges, both up to a constant, and

.. math:: \log Z \approx \sum_i \log Z_i + \sum_{ij} (\log Z_{ij} - \log Z_i - \log Z_j), \qquad
          Z_i = \sum_a e^{b_i(a)}, \quad Z_{ij} = \sum_{a, b} e^{b_{ij}(a, b)},

is the Bethe approximation, of which fixed points are the stationary points [yedidia2005]_. On
forests all of this is exact [pearl1988]_. On graphs with loops marginals are too extreme where
couplings are strong, and messages may never settle [murphy1999]_.

An iteration sends every message once: to earlier sites while it goes back from the last site, to
later ones on the way forth, in an order where neighbours are near each other and a tree is done
in one iteration. This took a quarter to a half of the messages of all sites at once, converged on
more models, and was rarely behind sending the message of the largest change first. Each message
moves by a share of :math:`1 - \text{damping}` of its change: 0.1 converged on as many random grids
as any damping or on more, and two to five times faster than 0.5. Sites whose messages no longer
change are passed over, until a last iteration over all of them confirms it.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.special import logsumexp

from herder._validation import positive_int, positive_number, share
from herder.core.summary import Fact, Facts, Summarised, Summary, Text, counted
from herder.models.factors import factors_of
from herder.models.pairwise import PairwiseModel
from herder.models.tables import check_tables
from herder.samplers import _belief_jit as _jit
from herder.samplers.orders import Field, check_model

__all__ = ["BeliefPropagation", "loopy_bp", "propagate"]


@dataclass(frozen=True, slots=True, eq=False)
class BeliefPropagation(Summarised):
    """Approximate answers on a field, exact on forests.

    Parameters
    ----------
    log_partition : float
        Bethe approximation of log Z, the offset of the energy included.
    marginals : ndarray of shape (n_sites,) or (n_sites, n_states)
        Probability of the upper state of each binary site; of each state for a `PottsModel`.
    edges : ndarray of intp of shape (n_edges, 2)
        Pairs of coupled sites.
    pair_marginals : ndarray of shape (n_edges, n_states, n_states)
        Probability of each pair of states on each edge; for binary sites 1 is the upper state.
    converged : bool
        Whether the last iteration changed no message by more than the tolerance.
    n_iter : int
        Iterations; each sends every message once.
    change : float
        Largest change of a log message in the last iteration, of large messages relative to them.
    """

    log_partition: float
    marginals: NDArray[np.float64]
    edges: NDArray[np.intp]
    pair_marginals: NDArray[np.float64]
    converged: bool
    n_iter: int
    change: float

    def summary(self) -> Summary:
        """Return whether messages converged, and the Bethe approximation of log Z."""
        iterations = counted(self.n_iter, "iteration")
        ending = "converged" if self.converged else "did NOT converge"
        facts = [
            Fact("log Z", self.log_partition, ".6f", "Bethe approximation"),
            Fact("last change", self.change, ".1e", "of a log message, at most"),
        ]
        blocks: list[Any] = [Facts(facts)]
        if not self.converged:
            blocks.append(Text(f"not to be trusted: {_REMEDY}", "warning"))
        sites = counted(len(self.marginals), "site")
        return Summary(f"Belief propagation on {sites}: {ending} in {iterations}", blocks)


_REMEDY = "messages still change; raise damping or max_iter, or sample with gibbs"


def loopy_bp(
    model: Field,
    *,
    max_iter: SupportsIndex = 1000,
    damping: float = 0.1,
    tol: float = 1e-8,
) -> BeliefPropagation:
    """Approximate all marginals of a model and its partition function by belief propagation.

    Parameters
    ----------
    model : PairwiseModel or PottsModel
        The field; `PairwiseModel.given` holds sites at known states.
    max_iter : int, default 1000
        Most iterations; each sends every message once.
    damping : float, default 0.1
        Share of the old message that is kept, from 0 to below 1; more where messages oscillate.
    tol : float, default 1e-8
        Change of a log message below which it has converged.

    Returns
    -------
    BeliefPropagation
        Marginals of sites and edges, log Z, and whether messages converged.

    Examples
    --------
    >>> from herder import PairwiseModel, loopy_bp
    >>> model = PairwiseModel.grid((5, 5), coupling=0.3, field=0.1)
    >>> found, exact = loopy_bp(model), model.exact()
    >>> print(f"{abs(found.marginals - exact.marginals).max():.3f}")
    0.020
    """
    check_model(model)
    factors = factors_of(model)
    tables = factors.weights[:, None, None] * factors.table
    options = {"max_iter": max_iter, "damping": damping, "tol": tol}
    found = propagate(factors.fields, factors.edges, tables, **options)
    if not found.converged:
        from sklearn.exceptions import ConvergenceWarning

        text = f"belief propagation ended after {found.n_iter} iterations: {_REMEDY}"
        warnings.warn(text, ConvergenceWarning, stacklevel=2)
    binary = isinstance(model, PairwiseModel)
    marginals = found.marginals[:, 1].copy() if binary else found.marginals
    return replace(found, log_partition=found.log_partition - model.offset, marginals=marginals)


def propagate(
    fields: ArrayLike,
    edges: ArrayLike,
    tables: ArrayLike,
    *,
    max_iter: SupportsIndex = 1000,
    damping: float = 0.1,
    tol: float = 1e-8,
) -> BeliefPropagation:
    """Pass messages on any graph with a table for each edge; marginals are (n_sites, n_states).

    Parameters
    ----------
    fields : array-like of shape (n_sites, n_states)
        Logarithm of what a site contributes in each state.
    edges : array-like of int of shape (n_edges, 2)
        Ends of the edges.
    tables : array-like of shape (n_edges, n_states, n_states)
        Logarithm of what an edge contributes, by the states of its first and its second end.
    max_iter, damping, tol
        As in `loopy_bp`.
    """
    limit, goal = positive_int(max_iter, "max_iter"), positive_number(tol, "tol")
    kept = share(damping, "damping")
    gains, pairs, own = check_tables(fields, edges, tables)
    (n, k), m = gains.shape, len(pairs)
    halves = _halves(pairs, n)
    messages = np.zeros((2 * m, k))
    leaving = np.stack([own.transpose(0, 2, 1), own], axis=1).reshape(2 * m, k, k)
    n_iter, change = _jit.propagate(gains, halves, leaving, messages, kept, goal, limit)

    beliefs = gains.copy()
    np.add.at(beliefs, halves.ends, messages)
    cavity = (beliefs[halves.ends] - messages).reshape(m, 2, k)
    joint = cavity[:, 0, :, None] + own + cavity[:, 1, None, :]
    alone: Any = logsumexp(beliefs, axis=1, keepdims=True)
    together: Any = logsumexp(joint.reshape(m, k * k), axis=1)
    value = alone.sum() + (together - alone[pairs].sum(axis=(1, 2))).sum()
    return BeliefPropagation(
        log_partition=float(value),
        marginals=np.exp(beliefs - alone),
        edges=pairs,
        pair_marginals=np.exp(joint - together[:, None, None]),
        converged=change <= goal,
        n_iter=n_iter,
        change=change,
    )


def _halves(edges: NDArray[np.intp], n_sites: int) -> _jit.Halves:
    """Return the halves of the edges by site, and an order that goes through the graph."""
    ends = edges.ravel()
    starts = np.concatenate([[0], np.bincount(ends, minlength=n_sites).cumsum()]).astype(np.intp)
    by_site = np.argsort(ends, kind="stable")
    near: Any = sparse.csr_array(
        (np.ones(len(ends)), ends[by_site ^ 1], starts), (n_sites, n_sites)
    )
    near.sum_duplicates()
    order = reverse_cuthill_mckee(near, symmetric_mode=True)[::-1].astype(np.intp)
    return _jit.Halves(ends, starts, by_site, order, np.argsort(order))
