r"""Sums over all states, site by site: chains, rings, trees and narrow grids of any length.

Sites are added in some order. The message after k sites is a table over the states of the
frontier, the sites that still have a neighbour to come,

.. math:: A_k(x_F) = \sum_{x\,seen,\,not\,in\,F}
          \exp \Big( \sum_{i\,seen} h_i(x_i)
          + \sum_{(i, j)\,seen} w_{ij} T(x_i, x_j) \Big).

To add a site is to multiply by its factors along a new axis; a site whose neighbours have all
come is summed out. The last message is Z. Messages :math:`B_k` that run backwards hold
all factors of the sites to come. With the factors of the site that is added at step k,
:math:`A_{k-1}` times these times :math:`B_k` is the marginal of the old frontier and the new
site, and so of every edge that ends in it. States are drawn backwards from the :math:`A_k`.

Tables hold logarithms with the largest taken out, so that huge parameters neither overflow
nor lose what looks unlikely at first and turns out to be the best. When all messages would take
too much memory only every k-th is kept, k about the root of the number of sites, and those
between are made again.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from herder.models.factors import Factors, Sums
from herder.models.frontier import Plan, Step

__all__ = ["draw", "transfer_sums"]

#: Numbers in all forward messages that are kept at once: 256 MB.
MAX_KEPT = 2**25


def transfer_sums(factors: Factors, plan: Plan) -> Sums:
    """Return the partition function and the marginals of sites and edges."""
    q = factors.n_states
    marginals = np.empty((factors.n_sites, q))
    pairs = np.empty((len(factors.edges), q, q))
    kept, log_partition = _forward(factors, plan)
    after = np.zeros(1)
    for step, before in _backwards(factors, plan, kept):
        for axis in reversed(step.drops):
            after = _repeat(after, axis, q)
        after = _add_factors(after.reshape(q, -1), step, factors)
        joint = after + before
        joint -= joint.max()
        np.exp(joint, out=joint)
        joint /= joint.sum()
        marginals[step.site] = joint.sum(axis=1)
        for axis, edge in step.links:
            table = joint.reshape(q, q ** (axis - 1), q, -1).sum(axis=(1, 3))
            pairs[edge] = table if factors.edges[edge, 0] == step.site else table.T
        after = _log_sum(after, 0, q)
        after -= after.max()
    return Sums(log_partition, marginals, pairs)


def draw(
    factors: Factors, plan: Plan, n_samples: int, rng: np.random.Generator
) -> NDArray[np.int8]:
    """Draw independent states, the last site first."""
    q = factors.n_states
    states = np.zeros((n_samples, factors.n_sites), dtype=np.int8)
    kept, _ = _forward(factors, plan)
    for step, before in _backwards(factors, plan, kept):
        tables, sites = _dropped(before, step, factors)
        for table, axis, axes in zip(tables, step.drops[::-1], sites, strict=True):
            strides = q ** np.arange(len(axes))[::-1]
            known = [place for place in range(len(axes)) if place != axis]
            cells = states[:, [axes[place] for place in known]].astype(np.intp) @ strides[known]
            scores = table[cells[:, None] + strides[axis] * np.arange(q)]
            sums = np.cumsum(np.exp(scores - scores.max(axis=1, keepdims=True)), axis=1)
            below = sums[:, :-1] <= rng.random((n_samples, 1)) * sums[:, -1:]
            states[:, axes[axis]] = below.sum(axis=1)
    return states


def _dropped(
    message: NDArray[np.float64], step: Step, factors: Factors
) -> tuple[list[NDArray[np.float64]], list[list[int]]]:
    """Return tables and their sites before each site is summed out, the last first."""
    table = _extend(message, step, factors)
    axes = list(step.frontier)
    tables, sites = [], []
    for axis in step.drops:
        tables.append(table)
        sites.append(axes.copy())
        table = _log_sum(table, axis, factors.n_states)
        del axes[axis]
    return tables[::-1], sites[::-1]


def _forward(factors: Factors, plan: Plan) -> tuple[dict[int, NDArray[np.float64]], float]:
    """Return some of the messages, by the number of sites in them, and log Z."""
    n_steps = len(plan.steps)
    stride = 1 if plan.cost <= MAX_KEPT else math.isqrt(n_steps) + 1
    message, levels = np.zeros(1), []
    kept: dict[int, NDArray[np.float64]] = {}
    for k, step in enumerate(plan.steps):
        if k % stride == 0:
            kept[k] = message
        message, level = _advance(message, step, factors)
        levels.append(level)
    return kept, math.fsum(levels) + float(message[0])


def _backwards(
    factors: Factors, plan: Plan, kept: dict[int, NDArray[np.float64]]
) -> Iterator[tuple[Step, NDArray[np.float64]]]:
    """Yield each step, the last first, and the message before it."""
    end = len(plan.steps)
    for start in sorted(kept, reverse=True):
        messages = [kept.pop(start)]
        for step in plan.steps[start : end - 1]:
            messages.append(_advance(messages[-1], step, factors)[0])
        for step in reversed(plan.steps[start:end]):
            yield step, messages.pop()
        end = start


def _advance(
    message: NDArray[np.float64], step: Step, factors: Factors
) -> tuple[NDArray[np.float64], float]:
    """Return the next message, its largest entry 0, and what was taken out."""
    table = _extend(message, step, factors)
    for axis in step.drops:
        table = _log_sum(table, axis, factors.n_states)
    level = float(table.max())
    return table - level, level


def _extend(message: NDArray[np.float64], step: Step, factors: Factors) -> NDArray[np.float64]:
    table = np.repeat(message[None], factors.n_states, axis=0)
    return _add_factors(table, step, factors).ravel()


def _add_factors(table: NDArray[np.float64], step: Step, factors: Factors) -> NDArray[np.float64]:
    """Add the logarithms of the new site's factors to a table (q, cells), in place."""
    q = factors.n_states
    table += factors.fields[step.site][:, None]
    for axis, edge in step.links:
        gains = factors.weights[edge] * factors.table
        view = table.reshape(q, q ** (axis - 1), q, -1)
        view += gains[:, None, :, None]
    return table


def _log_sum(table: NDArray[np.float64], axis: int, q: int) -> NDArray[np.float64]:
    """Sum one axis out of a table of logarithms."""
    parts = table.reshape(q**axis, q, -1)
    top = parts[:, 0].copy()
    for state in range(1, q):
        np.maximum(top, parts[:, state], out=top)
    total = np.zeros_like(top)
    for state in range(q):
        total += np.exp(parts[:, state] - top)
    np.log(total, out=total)
    total += top
    return total.ravel()


def _repeat(table: NDArray[np.float64], axis: int, q: int) -> NDArray[np.float64]:
    """Restore the axis of a table that was summed out."""
    return np.repeat(table.reshape(q**axis, 1, -1), q, axis=1).ravel()
